"""Reports for the owner about folders, work, connections and health. All classes are frozen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from rag_core.messages import Message
from rag_core.types import Filters, Job, Mode, Sort, Source, StoreInfo

Severity = Literal["fault", "note"]
VECTOR_INDEX = "vector index"  # the check of a remote vector index against its store
ProblemKind = Literal["failed", "in part", "waiting", "refused", "skipped"]
Door = Literal["pages", "rest", "mcp"]
ConnectionKind = Literal["embedder", "llm", "reranker", "pictures", "vectors"]
ConnectionState = Literal["ready", "not set up", "unreachable", "refused"]
TailscaleState = Literal[
    "not installed", "no answer", "logged out", "stopped", "not approved", "starting", "running"
]


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """A folder of a store with its numbers of files by state. *missing* means that the folder is not on the
    disk."""

    source: Source
    indexed: int
    failed: int
    skipped: int
    missing: bool


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """A request in a store's queue: update folders, or read some files again."""

    #: The folders to update: None for all that are not paused, () to embed only.
    folders: tuple[str, ...] | None
    files: int = 0  #: Number of files to read again; 0 for whole folders.
    force: bool = False  #: Whether to read unchanged files, too.


@dataclass(frozen=True, slots=True)
class Problem:
    """A reason why some files, texts or pictures are not in the index."""

    #: *in part*: a part of each file could not be read. *waiting*: the server that reads pictures did not
    #: answer. *refused*: texts could not be embedded.
    kind: ProblemKind
    reason: str
    count: int  #: Number of files, or of texts if they were *refused*.
    files: tuple[str, ...]  #: Paths of the files, or of the files that contain the texts.


@dataclass(frozen=True, slots=True)
class VisibleIndexes:
    """The vector indexes of one kind that could be attached."""

    kind: str  #: The name of a provider in `providers.VECTOR_INDEXES`.
    addresses: tuple[str, ...] = ()
    problem: str = ""  #: Why the indexes could not be listed, in a sentence; '' if they were.


@dataclass(frozen=True, slots=True)
class Connection:
    """The state of a model, a server or a package that stores may use."""

    key: str
    name: str
    kind: ConnectionKind
    state: ConnectionState
    sentence: str
    next_step: str | Message = ""
    goes: str = ""  #: Where text is sent.
    used_by: tuple[str, ...] = ()  #: Names of stores.
    embedders: tuple[str, ...] = ()  #: Its embedders that can be chosen.
    models: tuple[str, ...] = ()  #: Its models that can be chosen to answer questions.
    unasked: bool = False  #: Whether it was not checked, because no setting and no store names it.
    chosen: bool = False  #: Whether a setting names it.

    @property
    def is_missed(self) -> bool:
        """Whether the connection is not ready although a setting or a store needs it."""
        return self.state != "ready" and (self.chosen or bool(self.used_by))


@dataclass(frozen=True, slots=True)
class OllamaModel:
    """A model on an Ollama server."""

    name: str
    embeds: bool  #: Whether the model can embed.
    chats: bool  #: Whether the model can answer questions.
    dimension: int  #: Length of its vectors; 0 if unknown, or if the model cannot embed.
    context: int  #: Maximum number of tokens that it can read; 0 if unknown.
    size_bytes: int  #: 0 if unknown.
    loaded: bool  #: Whether the model is in memory.
    digest: str  #: '' if unknown.

    @property
    def called(self) -> str:
        """The model's name without the tag ``:latest``."""
        return self.name.removesuffix(":latest")

    @property
    def embedder(self) -> str:
        """The model's name as an embedder."""
        return f"ollama:{self.called}"


@dataclass(frozen=True, slots=True)
class Pulling:
    """The progress of a model's download."""

    said: str  #: The present step, in words.
    done: int = 0  #: Bytes.
    total: int = 0  #: Bytes; 0 if unknown.


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of embedding one sentence as a test."""

    embedder: str  #: The full name of the embedder.
    identity: str  #: `EmbedderIdentity` as text.
    dimension: int  #: Length of the vector.
    beginning: tuple[float, ...]  #: The first numbers of the vector.
    open_ms: float  #: Milliseconds to open the embedder.
    took_ms: float  #: Milliseconds to embed the sentence.
    text: str  #: Where the sentence was sent, in words.


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check of a store. A *fault* needs a repair; the next run settles a *note*."""

    check: str
    severity: Severity
    sentence: str
    count: int
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Health:
    """The result of checking a store. ``checks`` are the names of the checks carried out, in order."""

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
    """The result of a repair. ``done`` says in sentences what was repaired. ``to_embed`` is the number of
    texts that the next run embeds again."""

    store: str
    done: tuple[str, ...]
    to_embed: int
    took_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class DiagnosisStep:
    """One step of a diagnosis. ``no``: this step keeps the file from being found. ``note``: worth knowing."""

    state: Literal["ok", "note", "no"]
    said: str | Message

    @property
    def sentence(self) -> str:
        """The step as text."""
        return str(self.said)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why a file is found in a store or not, step by step."""

    store: str
    path: str
    steps: tuple[DiagnosisStep, ...]
    advice: str | Message = ""
    query: str = ""
    #: Rank of the file's best passage for the query, from 1; None if it is not among the hits.
    rank: int | None = None
    score: float | None = None
    relevant: bool = False  #: Whether that passage fits the query.

    @property
    def findable(self) -> bool:
        """Whether searches can find the file: no step is ``no``."""
        return all(step.state != "no" for step in self.steps)


@dataclass(frozen=True, slots=True)
class Privacy:
    """The private documents of a store, which only the owner sees, and why they are private."""

    store: str
    rules: dict[str, int]  #: The private rules, each with the number of documents that it hides.
    documents: int
    private: int
    by_note: int  #: Number of documents marked private by their front matter.
    by_rule: int
    due: bool = False  #: Whether the next run has to apply changed rules.
    unsure: dict[str, str] = field(default_factory=dict)  #: path → why its privacy is not certain.


@dataclass(frozen=True, slots=True)
class Person:
    """A Tailscale login that has access. ``configured`` means that the configuration names the login."""

    login: str
    is_owner: bool = False
    stores: tuple[str, ...] = ()
    may_ask: bool = False
    since: str = ""
    configured: bool = False


@dataclass(frozen=True, slots=True)
class Visit:
    """Consecutive requests of one person, without a long break between them. Times are ISO 8601, UTC."""

    login: str
    door: Door  #: The interface: pages, REST or MCP.
    started_at: str
    last_at: str
    requests: int
    #: Whether the requests were refused, because the owner has not given this person access.
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Tailscale:
    """The state of Tailscale on this computer."""

    state: TailscaleState
    sentence: str
    next_step: str = ""
    command: str = ""  #: The command that carries out the ``next_step``.
    undo: str = ""  #: The command that undoes ``command``.
    name: str = ""
    address: str = ""  #: The address that guests open; '' until Tailscale forwards to the app.
    forwards: bool = False  #: Whether Tailscale forwards to the app.
    funnel: bool = False  #: Whether the app can be reached from the internet.
    warnings: tuple[str, ...] = ()
    login: str = ""  #: The login of this computer's owner.
    logins: tuple[str, ...] = ()  #: The logins of all users of the tailnet.

    @property
    def not_yet(self) -> str:
        """What must happen before guests can reach the app, in a sentence; '' if they can."""
        if self.forwards:
            return ""
        if self.state == "running":
            return "They can come in as soon as Tailscale forwards to this app."
        return "They can come in as soon as Tailscale runs here."


@dataclass(frozen=True, slots=True)
class Token:
    """A script's token. The secret ``token`` is only known right after its creation."""

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
    """The advice to use the model for every language in a store."""

    language: str  #: The most frequent language besides English, by its English name.
    is_most: bool  #: Whether most of the store is in this language.
    megabytes: int  #: Size of the download; 0 if the model is installed.
    was_told: bool = False  #: Whether a command gave this advice before.


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """The result for one query of a golden set."""

    query: str
    relevant: int  #: Number of relevant documents.
    #: Rank of the first relevant document, from 1; None if no relevant document is among the results.
    rank: int | None
    ranks: tuple[int, ...]  #: Ranks of all relevant documents that were found, the lowest first.


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The results for a golden set, compared with the previous evaluation."""

    queries: tuple[JudgedQuery, ...]
    figures: dict[str, float]  #: In percent, by name, such as ``hit@5`` and ``mrr``.
    before: dict[str, float]  #: The figures of the previous evaluation; empty the first time.
    #: The ``rank`` of each query in the previous evaluation; empty the first time.
    ranks_before: dict[str, int | None]

    @property
    def changes(self) -> list[tuple[str, int | None, int | None]]:
        """The queries whose first relevant document changed its rank since the previous evaluation, each as
        (query, previous rank, present rank)."""
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
    stores: tuple[str, ...]  #: The stores to search; () for all.
    filters: Filters
    sort: Sort
    min_score: float | None  #: The minimum score; None for the one in the settings.
    mode: Mode | None  #: The mode; None for the one in the settings.
    opened_at: str  #: Time when it was last opened or saved: ISO 8601, UTC.
    new: int = 0  #: Documents that fit and were read since then.
    more_new: bool = False  #: Whether there are more than ``new``.
    is_gone: bool = False  #: Whether all stores that it searches were deleted.
