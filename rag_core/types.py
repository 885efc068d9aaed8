"""The values that travel between the steps. Offsets are in characters of the decoded text, ends are
exclusive; lines count from 1."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from rag_core.hits import Document as Document
from rag_core.hits import Hit as Hit
from rag_core.hits import PrivateBy as PrivateBy
from rag_core.messages import Message
from rag_core.views import DocumentLink as DocumentLink
from rag_core.views import DocumentView as DocumentView
from rag_core.views import FilePart as FilePart
from rag_core.views import LinkType as LinkType
from rag_core.views import Neighbour as Neighbour
from rag_core.views import Similar as Similar

Vectors = npt.NDArray[np.float32]
"""Shape (n, dimension), each row of length 1."""

Mode = Literal["hybrid", "vector", "lexical"]
Group = Literal["document", "none"]
"""What a result is: a document with its best passage, or every passage."""
Sort = Literal["best", "newest", "oldest", "name"]
"""The order of the results that fit. Near misses follow, the best first."""
SORTS: tuple[Sort, ...] = get_args(Sort)
Facets = dict[str, dict[str, int]]
"""``{"type", "tag", "folder", "store", "year"}``: each value with its number of documents, most first."""
Metric = Literal["cosine", "euclidean", "dot_product"]
"""How a vector index compares. Vectors have length 1, so all give one order; ``similarity`` is the cosine."""
METRICS: tuple[Metric, ...] = get_args(Metric)

TitleSource = Literal["front matter", "heading", "section", "file name"]
"""Where a title is from. A ``section`` is one of several: its heading is not above the others."""
Phase = Literal["scanning", "reading", "embedding", "pictures", "sending", "done"]
FileState = Literal["fresh", "waiting", "changed", "missing", "unknown", "failed", "skipped", "excluded"]
JobState = Literal["running", "done", "cancelled", "failed", "interrupted"]
Outcome = Literal[
    "added", "changed", "reread", "moved", "unchanged", "deleted", "excluded", "skipped", "failed"
]


@dataclass(frozen=True, slots=True)
class Viewer:
    """The person who asks; every read of the library takes one. ``may_ask`` says that the person may also ask
    questions, which the owner's model answers."""

    login: str
    is_owner: bool = False
    stores: frozenset[str] = frozenset()
    may_ask: bool = False

    def may_see(self, store: str) -> bool:
        """Whether this viewer may know that ``store`` exists."""
        return self.is_owner or store in self.stores


OWNER = Viewer(login="owner", is_owner=True, may_ask=True)


@dataclass(frozen=True, slots=True)
class Link:
    """A link ``[[target#heading|label]]`` in a document, as written. ``start`` is its offset."""

    type: LinkType
    target: str
    heading: str
    label: str
    start: int


NAME = "name"
"""The anchor type of the one passage of a file that is not read: its name, by which it is found."""

DATA = "data"  # the anchor type of base64 and minified code, which has no vector and fits nothing


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a document that a chunk never crosses: a section, a definition, a page."""

    start: int
    end: int
    heading_path: tuple[str, ...] = ()  #: The headings or names that lead to it, outermost first.
    anchor_type: str = "text"  #: As in `Passage`, like ``anchor_ref``.
    anchor_ref: str = ""
    levels: tuple[int, ...] = ()  #: The levels of Markdown headings in ``heading_path``; () in other files.


KNOWN_KEYS = frozenset("title aliases alias tags tag keywords private".split())
"""The keys of front matter that are no other properties."""

DESCRIPTION: Final = "What the picture shows, by a model"
"""The heading of a description of a picture: it stands in no file, so it is never quoted."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """A file's text with everything that later steps need, independent of the file system."""

    text: str
    file_type: str
    encoding: str
    title: str
    title_from: TitleSource
    segments: tuple[Segment, ...]
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    date: str | None = None
    private: bool = False
    metadata: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    waits: str = ""  #: Why pictures in it wait for a server; '' if none does.
    pictures_left: int = 0  #: Pictures and scanned pages in it whose text is not read yet.


@dataclass(frozen=True, slots=True)
class ChunkSpec:
    """How to cut documents: ``sizes`` are (size, overlap) in characters by file type, and ``chunkers`` the
    chunkers of packages."""

    max_tokens: int
    sizes: dict[str, tuple[int, int]]
    chunkers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Passage:
    """One chunk as cut from a document: ``document_text[start:end] == text``."""

    text: str
    start: int
    end: int
    start_line: int  #: From 1.
    end_line: int  #: The last line, included.
    heading_path: tuple[str, ...]
    anchor_type: str  #: What part of the document it is in, such as ``page``.
    anchor_ref: str  #: Which of these parts, such as ``12``.
    split_part: int = 0  #: Which part of its segment it is, from 1; 0 for a whole segment.
    prefix: str = ""  #: What is embedded before the text: title and headings.
    headings: str = ""  #: The headings in one line.
    kept: str | None = None  #: The spans that are no furniture, as JSON; None if nothing is.


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """What a vector depends on: two stores may share vectors only if this is equal."""

    provider: str
    model: str
    digest: str  #: Hash of the weights; '' if unknown.
    dimension: int  #: Numbers of a vector.
    prompts: str  #: Hash of the prompt before passages, by `prompt_scheme`; ``none`` without one.

    def __str__(self) -> str:
        digest = self.digest[:12] or "unknown"
        return f"{self.provider}:{self.model}@{digest}/{self.dimension}/{self.prompts}"


@dataclass(frozen=True, slots=True)
class Filters:
    """The conditions on a document. Values of one field are joined by *or*, fields by *and*."""

    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  #: ``a`` also matches ``a/b``.
    paths: tuple[str, ...] = ()  #: Leading segments, ``""`` for files at the root, or a glob with ``*``.
    files: tuple[str, ...] = ()  #: Any tail of a path.
    titles: tuple[str, ...] = ()  #: Words of the title, in this order.
    headings: tuple[str, ...] = ()  #: Words of the headings above a passage, in this order.
    pages: tuple[str, ...] = ()  #: Pages and slides, by their number.
    places: tuple[str, ...] = ()  #: Other places in a document, such as ``chapter 3``.
    symbols: tuple[str, ...] = ()  #: Definitions in Python, by any tail of their path.
    properties: tuple[str, ...] = ()  #: ``key:value``; those of one key are joined by *or*, keys by *and*.
    dates: tuple[str, ...] = ()  #: Such as ``2025-03`` and ``last week``.
    after: str | None = None  #: An ISO date, inclusive.
    before: str | None = None  #: An ISO date, exclusive.
    since: str | None = None  #: Read by an index run at this time or later; ISO 8601, UTC. In no query.


@dataclass(frozen=True, slots=True)
class Number:
    """A number, a date or a code in a text: its place, its parts, and the forms that all its spellings
    share."""

    span: tuple[int, int]  #: Its (start, end).
    parts: tuple[str, ...]  #: Its words and digits, lower case.
    wholes: tuple[str, ...] = ()  #: What all its spellings share, such as ``20251206``.
    month: str = ""  #: The name of a date's month.
    day: str = ""  #: A date without its year, such as ``december6``.


@dataclass(frozen=True, slots=True)
class Forms:
    """The words in a text that count as one unit of a query."""

    whole: str  #: The unit as it was typed, folded.
    stem: str = ""  #: A ``word`` counts if it has this stem.
    beginning: str = ""  #: All words that count begin so.
    is_open: bool = False  #: Whether every word counts that begins with ``whole``.
    #: ``name``: an identifier of code, whole. ``pair``: two characters of a script without spaces, anywhere.
    #: ``any``: one of ``others``. ``row``: both of ``others``, one after the other.
    kind: Literal["word", "name", "pair", "any", "row"] = "word"
    others: tuple[Forms, ...] = ()  #: Other spellings of the word, or what a misspelled one may mean.


@dataclass(frozen=True, slots=True)
class Phrase:
    """Exact words of a query."""

    text: str  #: As typed.
    units: tuple[str, ...]  #: Its words, as the index has them.
    pattern: re.Pattern[str]  #: Finds them in a folded text.


@dataclass(frozen=True, slots=True)
class Terms:
    """How the words of a query are matched."""

    words: tuple[str, ...] = ()  #: The units by which passages are weighed.
    name: str = ""  #: The text, or without one the day of ``date:``, as names are compared.
    forms: Mapping[str, Forms] = field(default_factory=dict)  #: The forms of each unit that count as it.
    loose: Mapping[str, Forms] = field(default_factory=dict)  #: The same for units outside of phrases.
    typed: tuple[tuple[str, tuple[str, ...]], ...] = ()  #: The words as typed, each with its units.
    numbers: tuple[Number, ...] = ()  #: Numbers, dates and codes.
    stop_words: frozenset[str] = frozenset()  #: The stop words in the text.
    corrected: tuple[tuple[str, tuple[str, ...]], ...] = ()  #: Words no passage has, with others.
    completed: str = ""  #: The last word, if only longer words are found for it.


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query."""

    raw: str  #: As it was typed.
    text: str  #: What is embedded and shown: the words without operators.
    terms: Terms = Terms()  #: How the words of ``text`` are matched.
    phrases: tuple[Phrase, ...] = ()  #: What a passage must hold.
    without: tuple[Phrase, ...] = ()  #: What a passage must not hold.
    stores: tuple[str, ...] = ()  #: The stores that the query names.
    filters: Filters = Filters()  #: What a document must fit.
    beside: Filters = Filters()  #: More that it must fit.
    excluded: Filters = Filters()  #: A document that fits any field of it is left out.
    remarks: tuple[Message, ...] = ()  #: What of it is not searched as it was typed.


MAX_DEPTH = 1000  # hits of a search at most, over all its pages


@dataclass(frozen=True, slots=True)
class Notice(Message):
    """A remark on an answer, such as a warning, and the stores that it is about."""

    stores: tuple[str, ...] = ()

    @classmethod
    def of(cls, message: Message, *stores: str) -> Notice:
        """Make a notice of a message."""
        return cls(message.code, message.data, stores)

    @property
    def message(self) -> str:
        """The sentence that interfaces show; pages may use their own."""
        return str(self)


def score_counts(scores: Sequence[float]) -> tuple[int, ...]:
    """Return 11 counts: the numbers of scores that are at least 0.0, 0.1, … 1.0."""
    rising = sorted(scores)
    return tuple([len(rising) - bisect_left(rising, tenth / 10) for tenth in range(11)])


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a search. If ``group`` is ``document``, all numbers count documents."""

    query: Query
    stores: tuple[str, ...]  #: The stores that were searched.
    mode: Mode
    hits: tuple[Hit, ...]  #: The best ``top_k`` after the first ``offset``, good enough or not.
    convincing: bool  #: Whether anything is good enough.
    notices: tuple[Notice, ...]
    pending: int  #: Passages that are not embedded yet.
    query_time_ms: float = 0.0
    timestamp: str = ""  #: When it was asked: ISO 8601, UTC.
    offset: int = 0
    has_more: bool = False  #: Whether more hits that are good enough follow.
    unshown: int = 0  #: Near misses that follow, at least.
    fitting: int = 0  #: Hits of the whole list that are good enough.
    fits_more: bool = False  #: Whether ``fitting`` is a lower bound.
    by_words: tuple[str, ...] = ()  #: Stores that were searched by words only.
    group: Group = "none"
    facets: Facets | None = None  #: Counts of what fits, where they were asked for.
    sort: Sort = "best"  #: The order of what fits; near misses follow, the best first.
    reordered: bool = False  #: Whether a reranker ordered the first hits: scores may rise down the list.
    score_counts: tuple[int, ...] = ()  #: Hits with a score of at least 0.0, 0.1 … 1.0, without `min_score`.
    properties: Facets | None = None  #: The commonest properties of what fits, as ``facets``.

    @property
    def counts_more(self) -> bool:
        """Whether ``facets`` and ``properties`` are lower bounds."""
        return self.fits_more and bool(self.query.text)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The sentences of all notices."""
        return tuple(notice.message for notice in self.notices)


@dataclass(frozen=True, slots=True)
class Named:
    """A document's names, to be shown in a list of choices. ``date`` is ISO 8601."""

    store: str
    path: str
    title: str
    date: str


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Completions of a search that is being typed, or recent ones before anything is typed."""

    documents: tuple[Named, ...] = ()  #: Documents with a name that begins with the text.
    #: Tags that begin with the text, each with its number of documents.
    tags: tuple[tuple[str, int], ...] = ()
    searches: tuple[str, ...] = ()  #: The owner's last searches; () once something is typed.
    opened: tuple[Named, ...] = ()  #: Documents that the owner opened last; () once something is typed.
    changed: tuple[Named, ...] = ()  #: Documents whose files changed last; () once something is typed.


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a running job at one moment."""

    phase: Phase
    done: int  #: Steps of the phase that are done.
    total: int  #: Steps of the phase; 0 if unknown.
    rate: float = 0.0  #: Steps a second, over the last minute.
    eta: float | None = None  #: Seconds until the whole run is done; None if nothing tells.
    current: str = ""  #: What is being done, or was done last.
    idle: float = 0.0  #: Seconds since the last step was done.


@dataclass(frozen=True, slots=True)
class FileResult:
    """What became of one file in a job."""

    source_file: str
    status: Literal["success", "failure"]
    outcome: Outcome
    chunks_added: int = 0
    chunks_skipped: int = 0
    message: str = ""
    processing_time_ms: int = 0


@dataclass(frozen=True, slots=True)
class Job:
    """One indexing run, running or ended. Times are ISO 8601 UTC."""

    id: int
    store: str
    state: JobState
    start_time: str
    progress: Progress
    end_time: str | None = None
    duration_ms: int = 0
    total_files: int = 0
    succeeded: int = 0
    failed: int = 0
    total_chunks_added: int = 0
    texts_embedded: int = 0
    message: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    results: tuple[FileResult, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """A folder and the globs that choose files below it."""

    id: int  #: 0 before it is added.
    root: str
    include: tuple[str, ...]
    exclude: tuple[str, ...] = ()
    label: str = ""  #: Leads the paths of its files in the store; '' for the first source.
    paused: bool = False  #: Whether runs pass over it unless they are asked for it.
    removed: bool = False  #: Whether the next run forgets it.


@dataclass(frozen=True, slots=True)
class Freshness:
    """How many changes in their folders stores have not taken in yet."""

    looking: bool  #: Whether a job still looks for changed files.
    reading: int  #: Files that a job still has to read.
    waiting: int  #: Passages that are not embedded yet.
    failed: int  #: Files that could not be read.
    eta: float | None = None  #: Seconds that a job still takes for what it does now; None if unknown.
    pictures: int = 0  #: Pictures and pages of scans whose text a job still has to read.


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """A store's properties and counts, read from its own file."""

    name: str
    created_at: str
    embedder: str
    identity: str
    dimension: int
    distance_metric: str
    backend: str
    file_count: int  #: Files that were read: not failed, skipped or excluded ones.
    chunk_count: int
    pending: int  #: Texts to embed.
    failed: int
    skipped: int
    size_bytes: int
    generation: int
    sources: tuple[Source, ...] = ()
    types: dict[str, int] = field(default_factory=dict)
    notices: tuple[str, ...] = ()  # what an import has to say, in sentences
    excluded: int = 0  #: Files that the owner excluded.
    withheld: int = 0  #: Private texts that the embedder's server does not get.
    unreadable: int = 0  #: Passages in a script that the embedder cannot read.
    address: str = ""  #: The vector index outside of its file; '' if there is none.
    unsent: int = 0  #: Changes that the vector index has to get.
    refused: int = 0  #: Changes that it refused.
    switching: str = ""  #: The embedder or index that a switch leads to; '' without one.
    to_switch: int = 0  #: Texts that the switch has to embed.
    sends_private: bool = False
    attached: bool = False  #: Whether it is a read-only copy of another installation's index.
    calibrated: int = 0  #: Passages used to calibrate the embedder's similarities.
    #: Share of the exact ten nearest vectors that the store's own index finds, as it measured it; 1 where it
    #: compares all.
    recall: float = 1.0
