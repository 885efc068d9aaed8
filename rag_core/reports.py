"""Reports for the owner: folders, work, connections and health. All are frozen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from rag_core.messages import Message
from rag_core.types import Filters, Job, Mode, Sort, Source, StoreInfo

Severity = Literal["fault", "note"]
VECTOR_INDEX = "vector index"  # the check of a remote vector index against its store
ProblemKind = Literal["failed", "waiting", "refused", "skipped"]
Door = Literal["pages", "rest", "mcp"]
ConnectionKind = Literal["embedder", "llm", "reranker", "pictures", "vectors"]
ConnectionState = Literal["ready", "not set up", "unreachable", "refused"]
TailscaleState = Literal[
    "not installed", "no answer", "logged out", "stopped", "not approved", "starting", "running"
]


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """A folder of a store with its numbers of files by state. *missing* says that the folder is not on the
    disk."""

    source: Source
    indexed: int
    failed: int
    skipped: int
    missing: bool


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """A request to a store's run: to bring folders up to date, or to read some files again."""

    folders: tuple[str, ...] | None  #: None for all that are not paused, () to embed only.
    files: int = 0  #: Number of files to read again; 0 for whole folders.
    force: bool = False  #: Whether unchanged files are read, too.


@dataclass(frozen=True, slots=True)
class Problem:
    """A reason why some files or texts are not in the index, or not with all of their pictures."""

    #: *waiting*: for the server that reads pictures; *refused*: texts that are not embedded.
    kind: ProblemKind
    reason: str
    count: int  #: Number of files; of texts if they were *refused*.
    files: tuple[str, ...]  #: Paths of the files, or of those that the texts are in.


@dataclass(frozen=True, slots=True)
class VisibleIndexes:
    """The vector indexes of one kind that could be attached."""

    kind: str  #: The name of a row of `providers.VECTOR_INDEXES`.
    addresses: tuple[str, ...] = ()
    problem: str = ""  #: Why they could not be listed, in a sentence; empty if they were.


@dataclass(frozen=True, slots=True)
class Connection:
    """The state of a model, a server or a package that stores may use."""

    key: str
    name: str
    kind: ConnectionKind
    state: ConnectionState
    sentence: str
    next_step: str | Message = ""
    goes: str = ""  #: Where text goes.
    used_by: tuple[str, ...] = ()  #: Names of stores.
    embedders: tuple[str, ...] = ()  #: Embedders of it that can be chosen.
    models: tuple[str, ...] = ()  #: Models of it that can be chosen to answer.
    unasked: bool = False  #: Whether it was not asked, as no setting and no store names it.
    chosen: bool = False  #: Whether a setting wants it.

    @property
    def is_missed(self) -> bool:
        """Whether it is not ready although a setting or a store needs it."""
        return self.state != "ready" and (self.chosen or bool(self.used_by))


@dataclass(frozen=True, slots=True)
class OllamaModel:
    """A model that an Ollama server has."""

    name: str
    embeds: bool  #: Whether it gives vectors.
    chats: bool  #: Whether it can answer questions.
    dimension: int  #: Numbers of a vector; 0 if unknown, or if it gives none.
    context: int  #: Tokens of a text that it can read; 0 if unknown.
    size_bytes: int  #: 0 if unknown.
    loaded: bool  #: Whether it is in memory.
    digest: str  #: '' if unknown.

    @property
    def called(self) -> str:
        """Its name without the tag ``:latest``."""
        return self.name.removesuffix(":latest")

    @property
    def embedder(self) -> str:
        """Its name as an embedder."""
        return f"ollama:{self.called}"


@dataclass(frozen=True, slots=True)
class Pulling:
    """The progress of a model's download."""

    said: str  #: In words.
    done: int = 0  #: Bytes.
    total: int = 0  #: Bytes; 0 if not known.


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of embedding one sentence as a test."""

    embedder: str  #: Its full name.
    identity: str  #: `EmbedderIdentity` as text.
    dimension: int  #: Numbers of the vector.
    beginning: tuple[float, ...]  #: The first numbers of the vector.
    open_ms: float  #: Milliseconds to open the embedder.
    took_ms: float  #: Milliseconds to embed the sentence.
    text: str  #: Where the sentence went, in words.


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found in a store. A *fault* needs a repair; a *note* is settled by the next run."""

    check: str
    severity: Severity
    sentence: str
    count: int
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Health:
    """The result of checking a store. ``checks`` are the names of the checks made, in order."""

    store: str
    checked_at: str
    checks: tuple[str, ...]
    findings: tuple[Finding, ...]
    took_ms: float = 0.0

    @property
    def sound(self) -> bool:
        """Whether no check found a fault."""
        return all(finding.severity == "note" for finding in self.findings)


@dataclass(frozen=True, slots=True)
class Repair:
    """The result of a repair. ``done`` are sentences about it; ``to_embed`` is the number of texts that the
    next run embeds again."""

    store: str
    done: tuple[str, ...]
    to_embed: int
    took_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class DiagnosisStep:
    """One step of a diagnosis. ``no``: the file is not found because of it; ``note``: worth knowing."""

    state: Literal["ok", "note", "no"]
    said: str | Message

    @property
    def sentence(self) -> str:
        """Its sentence as text."""
        return str(self.said)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why a file is found in a store or not, step by step."""

    store: str
    path: str
    steps: tuple[DiagnosisStep, ...]
    advice: str | Message = ""
    query: str = ""
    rank: int | None = None  #: Of its best passage for the query, from 1; None if it is not among the hits.
    score: float | None = None
    relevant: bool = False  #: Whether that passage fits the query.

    @property
    def findable(self) -> bool:
        """Whether searches can find the file: no step is ``no``."""
        return all(step.state != "no" for step in self.steps)


@dataclass(frozen=True, slots=True)
class Privacy:
    """The documents of a store that only its owner sees, and the reasons."""

    store: str
    rules: dict[str, int]  #: Private rules with the number of documents that each hides.
    documents: int
    private: int
    by_note: int  #: Number of documents whose front matter says so.
    by_rule: int
    due: bool = False  #: Whether the next run has work to do for it.
    unsure: dict[str, str] = field(default_factory=dict)  #: path → why its privacy is not certain.


@dataclass(frozen=True, slots=True)
class Person:
    """A login of Tailscale that has access. ``configured`` says that the configuration names it."""

    login: str
    is_owner: bool = False
    stores: tuple[str, ...] = ()
    may_ask: bool = False
    since: str = ""
    configured: bool = False


@dataclass(frozen=True, slots=True)
class Visit:
    """Consecutive requests of one person, without a long break between them."""

    login: str
    door: Door  #: The interface: pages, REST or MCP.
    started_at: str
    last_at: str
    requests: int
    refused: bool = False  #: Whether they were refused, as the owner has not given them access.


@dataclass(frozen=True, slots=True)
class Tailscale:
    """The state of Tailscale on this computer."""

    state: TailscaleState
    sentence: str
    next_step: str = ""
    command: str = ""  #: Does the ``next_step``.
    undo: str = ""  #: Takes that back.
    name: str = ""
    address: str = ""  #: What guests open; '' until it forwards.
    forwards: bool = False  #: Whether it forwards to the app.
    funnel: bool = False  #: Whether the internet reaches the app.
    warnings: tuple[str, ...] = ()
    login: str = ""  #: This computer's owner.
    logins: tuple[str, ...] = ()  #: Of all users of the tailnet.

    @property
    def not_yet(self) -> str:
        """Say in a sentence what has to be before guests can reach the app; '' if they can."""
        if self.forwards:
            return ""
        if self.state == "running":
            return "They can come in as soon as Tailscale leads to this app."
        return "They can come in as soon as Tailscale runs here."


@dataclass(frozen=True, slots=True)
class Token:
    """A script's token. The secret ``token`` that the script sends is only known right after its creation."""

    name: str
    created_at: str
    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a library: readable stores, running jobs, and warnings. ``data_dir`` is '' for a guest."""

    stores: tuple[StoreInfo, ...]
    running: tuple[Job, ...]
    warnings: tuple[str, ...]
    data_dir: str = ""


@dataclass(frozen=True, slots=True)
class LanguageAdvice:
    """The advice to let a store use the model for every language."""

    language: str  #: The most frequent one beside English, by its English name.
    is_most: bool  #: Whether most of the store is in it.
    megabytes: int  #: To download; 0 if the model is installed.
    was_told: bool = False  #: Whether a command said it already.


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """The result for one query of a golden set."""

    query: str
    relevant: int  #: Number of relevant documents.
    rank: int | None  #: Rank of the first relevant document, from 1; None if none is among the first results.
    ranks: tuple[int, ...]  #: Ranks of all relevant documents that were found, the lowest first.


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The results for a golden set, compared with the last time."""

    queries: tuple[JudgedQuery, ...]
    figures: dict[str, float]  #: In percent, by name, such as ``hit@5`` and ``mrr``.
    before: dict[str, float]  #: The figures of the last time; empty the first time.
    ranks_before: dict[str, int | None]  #: The ``rank`` of each query the last time; empty the first time.

    @property
    def changes(self) -> list[tuple[str, int | None, int | None]]:
        """The queries whose first relevant document changed its rank since the last time, as (query, then,
        now)."""
        known = self.ranks_before
        return [
            (judged.query, known[judged.query], judged.rank)
            for judged in self.queries
            if judged.query in known and known[judged.query] != judged.rank
        ]


@dataclass(frozen=True, slots=True)
class SavedSearch:
    """A search that the owner saved under a name."""

    name: str
    text: str
    stores: tuple[str, ...]  #: None: all.
    filters: Filters
    sort: Sort
    min_score: float | None  #: None: the setting.
    mode: Mode | None  #: None: the setting.
    opened_at: str  #: When it was opened last, or saved: ISO 8601, UTC.
    new: int = 0  #: Documents that fit and were read since then.
    more_new: bool = False  #: Whether there are more than ``new``.
    is_gone: bool = False  #: Whether all stores that it is about were deleted.
