"""The values that travel between the steps. Offsets are in characters of the decoded text, and ends are
exclusive. Lines count from 1."""

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
"""The kind of search result: a document with its best passage, or each passage alone."""
Sort = Literal["best", "newest", "oldest", "name"]
"""The order of results that fit. Near misses follow, ordered by score."""
SORTS: tuple[Sort, ...] = get_args(Sort)
Facets = dict[str, dict[str, int]]
"""``{"type", "tag", "folder", "store", "year"}``: each value with its number of documents, the largest
first."""
Metric = Literal["cosine", "euclidean", "dot_product"]
"""How a vector index compares vectors. As vectors have length 1, all metrics give the same order.
``similarity`` is always the cosine."""
METRICS: tuple[Metric, ...] = get_args(Metric)

TitleSource = Literal["front matter", "heading", "section", "file name"]
"""Where a title is from. A ``heading`` is the first Markdown heading of level 1. A ``section`` is the first
one of level 2, if no heading has level 1."""
Phase = Literal["scanning", "reading", "embedding", "pictures", "sending", "done"]
FileState = Literal["fresh", "waiting", "changed", "missing", "unknown", "failed", "skipped", "excluded"]
JobState = Literal["running", "done", "cancelled", "failed", "interrupted"]
Outcome = Literal[
    "added", "changed", "reread", "moved", "unchanged", "deleted", "excluded", "skipped", "failed"
]


@dataclass(frozen=True, slots=True)
class Viewer:
    """The person who asks; every read of the library takes one. ``may_ask`` says whether the person may also
    ask the owner's model questions."""

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
"""The anchor type of a file that is not read. Its only passage is its name, so that people can find it."""

DATA = "data"  # the anchor type of base64 and minified code: without a vector, and never a hit that fits


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a document that no chunk crosses: a section, a definition, a page."""

    start: int
    end: int
    heading_path: tuple[str, ...] = ()  #: The headings or names that lead to this part, outermost first.
    anchor_type: str = "text"  #: The kind of place that the part is, such as ``page``.
    anchor_ref: str = ""  #: The number or name of that place, such as ``12``.
    levels: tuple[int, ...] = ()  #: The levels of Markdown headings in ``heading_path``; () in other files.


KNOWN_KEYS = frozenset("title aliases alias tags tag keywords private".split())
"""The keys of front matter that are not properties."""

DESCRIPTION: Final = "What the picture shows, by a model"
"""The heading of a picture's description. As the description is in no file, it is never quoted."""


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
    in_part: bool = False  #: Whether some of it could not be read; the warnings say what.
    waits: str = ""  #: Why some of its pictures wait for a server; '' if none waits.
    pictures_left: int = 0  #: Number of pictures and scanned pages in it whose text is not read yet.


@dataclass(frozen=True, slots=True)
class ChunkSpec:
    """How to cut documents into passages of at most ``max_tokens`` tokens. ``sizes`` are (size, overlap) in
    characters by file type. ``chunkers`` are the names of chunkers from packages, by file type."""

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
    end_line: int  #: The last line of the passage, inclusive.
    heading_path: tuple[str, ...]
    anchor_type: str  #: The kind of place in the document, such as ``page``.
    anchor_ref: str  #: The number or name of that place, such as ``12``.
    split_part: int = 0  #: Number of this part within its segment, from 1; 0 for a whole segment.
    prefix: str = ""  #: The text embedded before the passage: title and headings.
    headings: str = ""  #: The headings in one line.
    kept: str | None = None  #: The spans without furniture (such as footers), as JSON; None without any.


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """What a vector depends on. Two stores may share vectors only if their identities are equal."""

    provider: str
    model: str
    digest: str  #: Hash of the weights; '' if unknown.
    dimension: int  #: Length of a vector.
    prompts: str  #: Hash of the prompt before passages, by `prompt_scheme`; ``none`` without one.

    def __str__(self) -> str:
        digest = self.digest[:12] or "unknown"
        return f"{self.provider}:{self.model}@{digest}/{self.dimension}/{self.prompts}"


@dataclass(frozen=True, slots=True)
class Filters:
    """The conditions on a document. Values of one field are joined by *or*, fields by *and*."""

    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  #: ``a`` also matches ``a/b``.
    #: First folders of a path, ``""`` for files at the root, or a glob with ``*``.
    paths: tuple[str, ...] = ()
    files: tuple[str, ...] = ()  #: Last segments of a path, at least the file name.
    titles: tuple[str, ...] = ()  #: Words of the title, in the same order.
    headings: tuple[str, ...] = ()  #: Words of the headings above a passage, in the same order.
    pages: tuple[str, ...] = ()  #: Pages and slides, by their number.
    places: tuple[str, ...] = ()  #: Other places in a document, such as ``chapter 3``.
    symbols: tuple[str, ...] = ()  #: Definitions in Python: the last segments of their dotted path.
    properties: tuple[str, ...] = ()  #: ``key:value``; values of one key are joined by *or*, keys by *and*.
    dates: tuple[str, ...] = ()  #: Such as ``2025-03`` and ``last week``.
    after: str | None = None  #: An ISO date, inclusive.
    before: str | None = None  #: An ISO date, exclusive.
    #: Read by an index run at this time or later: ISO 8601, UTC. Queries cannot set it.
    since: str | None = None


@dataclass(frozen=True, slots=True)
class Number:
    """A number, a date or a code in a text, with the forms that all its spellings share."""

    span: tuple[int, int]  #: Its (start, end) in the text.
    parts: tuple[str, ...]  #: Its words and digits, in lower case.
    wholes: tuple[str, ...] = ()  #: The forms that all its spellings share, such as ``20251206``.
    month: str = ""  #: The name of a date's month.
    day: str = ""  #: A date without its year, such as ``december6``.


@dataclass(frozen=True, slots=True)
class Forms:
    """The words in a text that count as one unit of a query."""

    whole: str  #: The unit as it was typed, folded.
    stem: str = ""  #: A ``word`` matches if it has this stem.
    beginning: str = ""  #: The beginning that all matching words share.
    is_open: bool = False  #: Whether every word that begins with ``whole`` matches.
    #: ``word``: a word. ``name``: an identifier of code as a whole. ``pair``: two characters of a script
    #: without spaces, anywhere. ``any``: one of ``others``. ``row``: both ``others`` in a row.
    kind: Literal["word", "name", "pair", "any", "row"] = "word"
    others: tuple[Forms, ...] = ()  #: Other spellings of the word, or corrections of a misspelled one.


@dataclass(frozen=True, slots=True)
class Phrase:
    """Exact words of a query."""

    text: str  #: The words as typed.
    units: tuple[str, ...]  #: The words in the form that the index has.
    pattern: re.Pattern[str]  #: Finds the phrase in a folded text.


@dataclass(frozen=True, slots=True)
class Terms:
    """How the words of a query are matched."""

    words: tuple[str, ...] = ()  #: The units that give a passage its score: words, or pairs of characters.
    #: The text, or the day of ``date:`` if there is no text, in the form in which names are compared.
    name: str = ""
    forms: Mapping[str, Forms] = field(default_factory=dict)  #: The forms of each unit that match.
    loose: Mapping[str, Forms] = field(default_factory=dict)  #: The forms of each unit outside phrases.
    typed: tuple[tuple[str, tuple[str, ...]], ...] = ()  #: The words as typed, each with its units.
    numbers: tuple[Number, ...] = ()  #: Numbers, dates and codes.
    stop_words: frozenset[str] = frozenset()  #: The stop words of the text.
    #: Words that no passage has, with their corrections.
    corrected: tuple[tuple[str, tuple[str, ...]], ...] = ()
    completed: str = ""  #: The last word, if only longer words match it.


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query."""

    raw: str  #: The query as typed.
    text: str  #: The words without operators, which are embedded and shown.
    terms: Terms = Terms()  #: How the words of ``text`` are matched.
    phrases: tuple[Phrase, ...] = ()  #: Phrases that a passage must contain.
    without: tuple[Phrase, ...] = ()  #: Phrases that a passage must not contain.
    stores: tuple[str, ...] = ()  #: The stores named in the query.
    filters: Filters = Filters()  #: The conditions that a document must meet.
    beside: Filters = Filters()  #: Conditions that it must meet, too, on fields that ``filters`` has.
    excluded: Filters = Filters()  #: A document that meets any of these conditions is left out.
    remarks: tuple[Message, ...] = ()  #: Remarks on what is not searched as typed.


MAX_DEPTH = 1000  # maximum number of hits of a search, over all its pages


@dataclass(frozen=True, slots=True)
class Notice(Message):
    """A remark on an answer, such as a warning, with the stores that it concerns."""

    stores: tuple[str, ...] = ()

    @classmethod
    def of(cls, message: Message, *stores: str) -> Notice:
        """Create a notice from a message."""
        return cls(message.code, message.data, stores)

    @property
    def message(self) -> str:
        """The sentence that interfaces show. Pages may show their own text instead."""
        return str(self)


def score_counts(scores: Sequence[float]) -> tuple[int, ...]:
    """Return 11 counts: the number of scores that are at least 0.0, 0.1, … 1.0."""
    rising = sorted(scores)
    return tuple([len(rising) - bisect_left(rising, tenth / 10) for tenth in range(11)])


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a search. If ``group`` is ``document``, every number counts documents."""

    query: Query
    stores: tuple[str, ...]  #: The stores that were searched.
    mode: Mode
    hits: tuple[Hit, ...]  #: The best ``top_k`` after the first ``offset``, whether they fit or not.
    convincing: bool  #: Whether any hit fits well enough.
    notices: tuple[Notice, ...]
    pending: int  #: Passages that are not embedded yet.
    query_time_ms: float = 0.0
    timestamp: str = ""  #: When it was asked: ISO 8601, UTC.
    offset: int = 0
    has_more: bool = False  #: Whether more hits that fit follow.
    unshown: int = 0  #: Number of near misses that follow, a lower bound.
    fitting: int = 0  #: Number of all hits that fit.
    fits_more: bool = False  #: Whether ``fitting`` is a lower bound.
    by_words: tuple[str, ...] = ()  #: Stores that were searched by words only.
    group: Group = "none"
    facets: Facets | None = None  #: Counts of the documents that fit, if they were requested.
    sort: Sort = "best"  #: The order of hits that fit; near misses follow, ordered by score.
    #: Whether a reranker ordered the first hits, so that scores may rise down the list.
    reordered: bool = False
    #: Number of hits with a score of at least 0.0, 0.1 … 1.0, before `min_score` applies.
    score_counts: tuple[int, ...] = ()
    #: The commonest properties of the documents that fit, in the form of ``facets``.
    properties: Facets | None = None

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
    """The names of a document, for a list of choices. ``date`` is ISO 8601."""

    store: str
    path: str
    title: str
    date: str


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Completions of a search that is being typed, or recent searches and documents before anything is
    typed."""

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
    done: int  #: Finished steps of the phase.
    total: int  #: Steps of the phase; 0 if unknown.
    rate: float = 0.0  #: Steps a second, over the last minute.
    eta: float | None = None  #: Seconds until the whole run is finished; None if unknown.
    current: str = ""  #: The present step, or the last one.
    idle: float = 0.0  #: Seconds since the last step finished.


@dataclass(frozen=True, slots=True)
class FileResult:
    """The result of a job for one file."""

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
    """A folder and the globs that choose files in it."""

    id: int  #: 0 before the folder is added.
    root: str
    include: tuple[str, ...]
    exclude: tuple[str, ...] = ()
    label: str = ""  #: The first part of the paths of its files in the store; '' for the first source.
    paused: bool = False  #: Whether runs skip the folder unless it is requested.
    removed: bool = False  #: Whether the next run removes the folder from the index.


@dataclass(frozen=True, slots=True)
class Freshness:
    """How far stores are behind the files in their folders."""

    looking: bool  #: Whether a job is still looking for changed files.
    reading: int  #: Files that a job still has to read.
    waiting: int  #: Passages that are not embedded yet.
    failed: int  #: Files that could not be read.
    eta: float | None = None  #: Seconds until the job has finished its present phase; None if unknown.
    pictures: int = 0  #: Number of pictures and scanned pages whose text a job still has to read.


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
    file_count: int  #: Number of files that were read, without failed, skipped and excluded ones.
    chunk_count: int
    pending: int  #: Texts to embed.
    failed: int
    skipped: int
    size_bytes: int
    generation: int
    sources: tuple[Source, ...] = ()
    types: dict[str, int] = field(default_factory=dict)
    notices: tuple[str, ...] = ()  # messages from an import, in sentences
    excluded: int = 0  #: Files that the owner excluded.
    withheld: int = 0  #: Number of private texts that are not sent to the embedder's server.
    unreadable: int = 0  #: Number of passages in a script that the embedder cannot read.
    address: str = ""  #: The address of the vector index; '' if it is in the store's file.
    unsent: int = 0  #: Number of changes still to send to the vector index.
    refused: int = 0  #: Number of changes that the vector index refused.
    switching: str = ""  #: The new embedder or index during a switch; '' without a switch.
    to_switch: int = 0  #: Number of texts still to embed for the switch.
    sends_private: bool = False
    attached: bool = False  #: Whether it is a read-only copy of another installation's index.
    calibrated: int = 0  #: Passages used to calibrate the embedder's similarities.
    #: Measured share of the exact ten nearest vectors that the store's own index finds. It is 1 if the index
    #: compares all vectors.
    recall: float = 1.0
