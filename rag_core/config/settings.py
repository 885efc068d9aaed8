"""The owner's settings: one pydantic model, with a field for each setting.

Reading, error messages, ``commonplace config``, the defaults of command line options and
docs/configuration.md are all derived from it. To add a setting, add a field to `Settings`.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args

from pydantic import BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo

from rag_core.config import kinds, tables
from rag_core.config.keys import OLLAMA_URL, VARIABLE_PREFIX
from rag_core.config.kinds import Flag, Kind, TimeLimit, choice, number, server_address, whole, word
from rag_core.config.origin import DEFAULT, Origin
from rag_core.config.tables import DeclaredFolder, DeclaredStore
from rag_core.providers import PICTURE_READERS, one_of

__all__ = ["KEYS", "DeclaredFolder", "DeclaredStore", "Key", "SettingRow", "Settings"]

_Device = Annotated[str, word(r"[a-z]{2,10}(?::[0-9]{1,2})?", "a device of torch, such as cpu or cuda:0")]
_Region = Annotated[str, word(r"[a-z0-9-]{4,40}", "a region such as eu-central-1")]
_Profile = Annotated[str, word(r"[^\x00-\x1f\x7f]{1,200}", "a name")]
_BucketPrefix = Annotated[str, word(r"[a-z0-9][a-z0-9-]{0,39}", "lowercase letters, digits and hyphens")]
_Collection = Annotated[str, word(r"[A-Za-z0-9_][\w.-]{0,199}", "letters, digits and _.-")]
_KMS_KEY = r"arn:aws[-a-z0-9]*:kms:[-a-z0-9]+:[0-9]{12}:key/\S{1,200}"
_KmsKey = Annotated[str, word(_KMS_KEY, "the ARN of a key: arn:aws:kms:REGION:ACCOUNT:key/ID")]
_Theme = Annotated[str, choice("system", "light", "dark")]
_READERS = [
    form
    for row in PICTURE_READERS.values()
    for form in ([row.name] if row.after.usual else []) + [row.written]
]
_OCR = "|".join(["auto", "off", *(row.pattern for row in PICTURE_READERS.values())])
_Ocr = Annotated[str, word(_OCR, one_of(["auto", "off", *_READERS]))]
_Project = Annotated[str, word(r"[a-z][a-z0-9:.-]{3,80}", "the id of a project of Google Cloud")]
_Mode = Annotated[Literal["hybrid", "vector", "lexical"], choice("hybrid", "vector", "lexical")]
_LogLevel = Annotated[str, choice("debug", "info", "warning", "error", "critical")]


def _setting(group: str, default: Any, about: str, otherwise: str = "", **known: Any) -> Any:
    """Return a field of `Settings`. The arguments become fields of its `Key`."""
    extra = {"group": group, "otherwise": otherwise, **known}
    return Field(default=default, description=about, repr=not known.get("secret"), json_schema_extra=extra)


_place = partial(_setting, "Places")
_new = partial(_setting, "New stores")
_embed = partial(_setting, "Embedders")
_chat = partial(_setting, "Chat")
_vectors = partial(_setting, "Vector indexes")
_search = partial(_setting, "Searching")
_index = partial(_setting, "Indexing")
_serve = partial(_setting, "Serving")
_KEY = "The key for `{}`. Only a variable or `.env` may hold it."


class Settings(BaseModel):
    """The owner's settings, read by `load`."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    data_dir: Path
    config_file: Path | None = None
    env_file: Path | None = None
    #: Name of a setting → the place of its value. Defaults have no place.
    origins: Mapping[str, Origin] = Field(default={}, repr=False)
    warnings: tuple[str, ...] = ()  #: Sentences about variables of the environment that are ignored.

    # fmt: off
    model_dir: kinds.FolderPath = _place(
        ..., "The folder of installed models.", "models in the data folder", name="models")
    roots: kinds.Folders = _place(
        ..., "The folders that the Index page offers to choose from.", "your home folder and the whole disk")

    embedder: kinds.EmbedderAddress = _new(
        "minilm", "The embedder of a new store.")
    backend: kinds.BackendName = _new(
        "local", "Where a new store's vectors are: `local` (in the store's own file), `s3vectors`, `qdrant`, "
        "`chroma`, or an index that a package adds.")
    chunk_size: tables.ChunkSize | None = _new(
        None, "Maximum characters of a passage in a new store. Passages are shorter if the embedder reads "
        "less.", "by file type")
    chunk_overlap: tables.ChunkOverlap | None = _new(
        None, "The number of characters that neighbouring passages of a new store share. It must be less "
        "than `chunk_size`, and can only be set together with `chunk_size`.", "a fifth of chunk_size")
    chunking: tables.Chunking = _new(
        (), "Sizes of passages in new stores for single file types, and chunkers that packages add.",
        "by file type")
    stores: tables.Stores = _new(
        (), "Stores that `commonplace serve` creates when it starts, unless they exist.",
        "none")

    ollama_url: Annotated[str, server_address(11434)] | None = _embed(
        None, "The address of Ollama, for the embedders `ollama:MODEL`.",
        "OLLAMA_HOST, else http://127.0.0.1:11434", borrowed="OLLAMA_HOST")
    embedding_base_url: kinds.Address | None = _embed(
        None, "A server with OpenAI's protocol, for `openai:MODEL`.", "chat_base_url, else none")
    embedding_api_key: kinds.Secret | None = _embed(
        None, _KEY.format("embedding_base_url"), "none, or chat_api_key with chat_base_url", secret=True)
    embedding_timeout_s: TimeLimit = _embed(
        300.0, "Maximum seconds for a server to load its model, or to embed one request.")
    embedding_context: Annotated[int, whole(64, 32_768)] | None = _embed(
        None, "Maximum tokens that a model of Ollama, of a server or in a folder reads of a text. It applies "
        "when a store is created, and more tokens take more memory there.",
        "the model's own limit, with Ollama up to 2048; 512 on other servers")
    prompts: tables.PromptTable = _embed(
        (), "For each embedder, the texts to put before a query and before a passage.",
        "those the model was trained with, if known")
    device: _Device | None = _embed(
        None, "The device on which `sentence-transformers:FOLDER` computes, such as cpu or cuda:0.",
        "the package chooses")
    offline: Flag = _embed(
        True, "If true, `sentence-transformers:` and `mlx:` never download a model.")

    llm: kinds.Llm | None = _chat(
        None, "The model that answers questions: `ollama:MODEL`, or `openai:MODEL` at `chat_base_url`.",
        "none: an answer quotes sentences of the passages")
    llm_temperature: Annotated[float, number(0, 2)] = _chat(
        0.2, "How freely the model chooses its words; 0 is the most predictable.")
    llm_max_tokens: Annotated[int, whole(16, 32_768)] = _chat(1024, "Maximum tokens of an answer.")
    llm_context: Annotated[int, whole(1_024, 1_000_000)] = _chat(
        8192, "Maximum tokens that the model reads and writes together: rules, passages, the conversation "
        "and the answer. More tokens take more memory on the computer with Ollama.")
    llm_timeout_s: TimeLimit = _chat(
        300.0, "Maximum seconds for an answer, including loading the model.")
    chat_base_url: kinds.Address | None = _chat(
        None, "A server with OpenAI's protocol, for an `llm` of `openai:MODEL`.", "none")
    chat_api_key: kinds.Secret | None = _chat(
        None, _KEY.format("chat_base_url"), "none", secret=True)

    s3_region: _Region | None = _vectors(
        None, "The region of Amazon S3 Vectors.", "that of the AWS CLI")
    s3_profile: _Profile | None = _vectors(
        None, "The AWS profile whose credentials are used.", "that of the AWS CLI")
    s3_endpoint_url: kinds.Address | None = _vectors(
        None, "The address of Amazon S3 Vectors.", "AWS's own in this region")
    s3_bucket_prefix: _BucketPrefix = _vectors(
        "commonplace", "The beginning of the names of vector buckets; the name of the store follows.")
    s3_kms_key: _KmsKey | None = _vectors(
        None, "The ARN of the AWS KMS key that encrypts new buckets and indexes.", "one of AWS's own")
    s3_tags: tables.Labels = _vectors((), "Tags for the buckets and indexes that are created.", "none")
    qdrant_url: Annotated[str, server_address(6333)] | None = _vectors(
        None, "The address of a Qdrant server.", "none: Qdrant uses qdrant_path, for one process at a time")
    qdrant_collection: _Collection = _vectors(
        "notes", "The collection of Qdrant that new stores share; each has its own part of it.")
    qdrant_path: kinds.FolderPath | None = _vectors(
        None, "The folder where Qdrant keeps its files without a server.", "qdrant in the data folder")
    qdrant_api_key: kinds.Secret | None = _vectors(None, _KEY.format("qdrant_url"), "none", secret=True)
    chroma_url: Annotated[str, server_address(8000)] | None = _vectors(
        None, "The address of a Chroma server.", "none: Chroma uses chroma_path, for one process at a time")
    chroma_path: kinds.FolderPath | None = _vectors(
        None, "The folder of Chroma's files without a server.", "chroma in the data folder")
    vectors_timeout_s: TimeLimit = _vectors(
        30.0, "Maximum seconds for S3 Vectors, Qdrant or Chroma to answer one request.")

    default_store: kinds.StoreName | None = _search(
        None, "The store that a command uses without --store.",
        "searches and questions use every store; other commands ask for --store")
    top_k: Annotated[int, whole(1, 1_000)] = _search(
        10, "The number of passages that a search returns. If it is set, a question is also answered from "
        "that many passages, at most 20; otherwise from 5.")
    mode: _Mode = _search("hybrid", "Search by words and meaning, by meaning alone, or by words alone.")
    min_score: Annotated[float, number(0, 1)] | None = _search(
        None, "Passages with a lower score are left out of searches and answers.", "all are shown")
    max_tokens: Annotated[int, whole(1, 1_000_000)] | None = _search(
        None, "Maximum tokens that the passages of a search on the command line, over REST and "
        "over MCP have together.", "no limit")
    recency: Annotated[float, number(0, 1)] = _search(
        0.0, "How strongly newer documents are preferred. With 0, a newer one is only preferred if both fit "
        "equally well.")
    k_lex: Annotated[int, whole(1, 2_000)] = _search(
        100, "The number of passages that a search gathers by words, before it orders them.")
    k_vec: Annotated[int, whole(1, 2_000)] = _search(
        100, "The number of passages that a search gathers by meaning, before it orders them.")

    reranker: kinds.RerankerName | None = _search(
        None, "A model that reads each of the best 50 hits with the query, and orders them again.", "none")
    rerank_budget_ms: Annotated[int, whole(10, 60_000)] = _search(
        300, "Maximum time for `reranker`, in milliseconds. If it takes longer, the results keep the order "
        "without it.")
    reranker_api_key: kinds.Secret | None = _search(None, _KEY.format("reranker"), "none", secret=True)

    batch_size: Annotated[int, whole(1, 1_024)] = _index(32, "The number of texts that are embedded at once.")
    max_file_mb: Annotated[int, whole(1, 1_024)] = _index(
        64, "Maximum size of a file, and of a message of a mailbox, in megabytes. Larger ones are not read.")
    encodings: kinds.FolderEncodings = _index(
        (), "Folders whose old files are in one encoding, which is then not guessed, such as "
        "/home/me/letters=cp1251. A file in UTF-8, or with a declared encoding, is read in that encoding. "
        "After a change, read the folder again: `commonplace index --force`.", "none")
    extractor_timeout_s: TimeLimit = _index(
        60.0, "Maximum seconds for reading one file, and again for each picture in it.")
    ocr: _Ocr = _index(
        "auto", "The reader of text in pictures and scans: `auto` (what is installed), `off`, `tesseract`, "
        "`rapidocr`, or a model that reads pictures: `ollama:MODEL`, `gemini`, `gemini:MODEL`, `vertex_ai`, "
        "`vertex_ai:MODEL`.")
    ocr_stores: kinds.StoreNames = _index(
        (), "The stores whose pictures may be sent to the model of `ocr` when it runs on another computer. "
        "Pictures of other stores, and of private documents in every store, are read by an OCR program on "
        "this computer, if one is installed.", "none")
    ocr_describe: Flag = _index(
        False, "Whether the model of `ocr` also describes pictures, so that charts and photos are found by "
        "what they show. OCR programs cannot. To describe pictures that were read before, run "
        "`commonplace index --force`.")
    gemini_api_key: kinds.Secret | None = _index(
        None, _KEY.format("ocr: gemini"), "none", secret=True, borrowed="GEMINI_API_KEY")
    gemini_base_url: kinds.Address | None = _index(
        None, "The address of Gemini.", "Google's own")
    vertex_project: _Project | None = _index(
        None, "The project of Google Cloud for `ocr: vertex_ai`.", "none")
    vertex_location: _Region = _index(
        "us-central1", "The location of Vertex AI, such as europe-west4, or global.")
    vertex_credentials_file: kinds.File | None = _index(
        None, "The key file of a service account for Vertex AI.", "that of gcloud")
    vertex_base_url: kinds.Address | None = _index(
        None, "The address of Vertex AI.", "Google's own in this location")
    cloud_files: Annotated[Literal["skip", "read"], choice("skip", "read")] = _index(
        "skip", "What to do with files of OneDrive, iCloud Drive, Dropbox and others that are only in the "
        "cloud: `skip` lists them by name, `read` downloads each to read it.")
    shared_disk: Flag = _index(
        False, "Whether stores may be on a network disk or in a cloud folder. Other computers may write "
        "there, too, and damage the stores.")
    watch: Flag = _index(
        True, "Whether `commonplace serve` reads a file as soon as it changes, unless its folder is paused.")
    scan_on_start: Flag = _index(
        True, "Whether `commonplace serve` and `watch` begin with changes made while they were not running. "
        "`serve` does so even if the setting `watch` is false.")
    busy_timeout_s: Annotated[float, number(0.1, 600)] = _index(
        30.0, "Maximum seconds to wait for another process that writes to a store.")

    port: Annotated[int, whole(1, 65_535)] = _serve(
        8501, "The port of `commonplace serve` on this computer.")
    theme: _Theme = _serve(
        "system", "The colours of the pages; `system` follows the browser.")
    access_owners: kinds.Logins = _serve(
        (), "Logins of further owners, who connect through `tailscale serve`. `commonplace share owner` "
        "names owners without this setting.", "none")
    access_hosts: kinds.Hosts = _serve(
        (), "Names under which others may open the app through `tailscale serve`, in addition to names that "
        "end in .ts.net.", "none")
    guest_requests_per_minute: Annotated[int, whole(60, 1_000_000)] = _serve(
        3000, "Maximum requests of a guest in a minute, over REST, MCP and pages together.")
    guest_asks: Annotated[int, whole(1, 1_000)] = _serve(
        2, "Maximum number of a guest's questions that are answered at once.")
    max_body_kb: Annotated[int, whole(16, 1_048_576)] = _serve(
        256, "Maximum kB of a request, except uploads by the owner; REST itself accepts at most 256 kB.")
    body_timeout_s: TimeLimit = _serve(
        30.0, "Maximum seconds for a request to arrive, except uploads by the owner.")
    mcp_allow_writes: Flag = _serve(
        False, "Whether assistants may also index files and remove them from the index, over MCP.")
    mcp_roots: kinds.Folders = _serve(
        (), "The folders in which assistants may choose folders to add to a store, if `mcp_allow_writes` is "
        "true.", "none")
    log_level: _LogLevel = _serve(
        "warning", "The least severe messages to log. Logs never contain the text of notes or queries.")
    # fmt: on

    def __init__(
        self,
        data_dir: Path | None = None,
        model_dir: Path | None = None,
        roots: tuple[Path, ...] | None = None,
        *,
        sources: Sequence[Mapping[str, Any]] = (),
        **values: Any,
    ) -> None:
        """Create settings from values by name and from ``sources``. Values by name override sources, and
        earlier sources override later ones."""
        places = {"data_dir": data_dir, "model_dir": model_dir, "roots": roots}
        given = {name: path for name, path in places.items() if path is not None} | values
        super().__init__(**ChainMap(given, *map(dict, sources)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def _values(self) -> tuple[Any, ...]:
        return tuple(value for name, value in self.__dict__.items() if name != "origins")

    @property
    def store_dir(self) -> Path:
        """The folder of the store files."""
        return self.data_dir / "stores"

    @property
    def embedding_url(self) -> str:
        """The address of the server for the embedders `openai:MODEL`: ``embedding_base_url``, else
        ``chat_base_url``, else ''."""
        return self.embedding_base_url or self.chat_base_url or ""

    @property
    def embedding_key(self) -> str:
        """The key for `embedding_url`, or ''. Without ``embedding_base_url``, the chat model's server also
        embeds, and its key is used if there is no other."""
        borrowed = "" if self.embedding_base_url else self.chat_api_key
        return self.embedding_api_key or borrowed or ""

    @property
    def ollama_server(self) -> str:
        """The address of Ollama."""
        return self.ollama_url or OLLAMA_URL

    @property
    def qdrant_folder(self) -> Path:
        """The folder for Qdrant's files if there is no Qdrant server."""
        return self.qdrant_path or self.data_dir / "qdrant"

    @property
    def chroma_folder(self) -> Path:
        """The folder for Chroma's files if there is no Chroma server."""
        return self.chroma_path or self.data_dir / "chroma"

    @property
    def default_stores(self) -> tuple[str, ...]:
        """The default store as a tuple, empty without one. It is the default of options that take several
        stores."""
        return (self.default_store,) if self.default_store else ()

    @property
    def max_file_bytes(self) -> int:
        """The maximum size of files that are read, in bytes."""
        return self.max_file_mb * 1_000_000

    @property
    def chunk_sizes(self) -> tuple[int, int] | None:
        """(size, overlap) for file types that are not in ``chunking``; None if not configured."""
        size, overlap = self.chunk_size, self.chunk_overlap
        return (size, size // 5 if overlap is None else overlap) if size else None

    def origin(self, name: str) -> Origin:
        """Return where the value of the setting ``name`` was given; `DEFAULT` if nowhere."""
        return self.origins.get(name, DEFAULT)

    def rows(self) -> list[SettingRow]:
        """Return every setting with its value and origin, in the order of the fields."""
        rows = []
        for key in KEYS:
            value = tables.as_written(getattr(self, key.attribute))
            rows.append(SettingRow(key, "********" if key.secret and value else value, self.origin(key.name)))
        return rows


@dataclass(frozen=True, slots=True)
class Key:
    """The facts about a setting that do not depend on its value."""

    name: str
    attribute: str  #: The name of its field in `Settings`.
    kind: Kind
    default: Any  #: None if there is no default.
    about: str  #: Its help, in sentences.
    group: str  #: The heading in docs/configuration.md, such as *Searching*.
    otherwise: str = ""  #: In words, what applies while the value is empty.
    secret: bool = False  #: Whether its value is never shown. It may not be in config.yaml.
    borrowed: str = ""  #: A variable of another program that is used if nothing else sets a value.

    @classmethod
    def of(cls, attribute: str, field: FieldInfo) -> Key:
        """Return the key of the setting in the field ``attribute`` of `Settings`."""
        inner = (getattr(part, "__metadata__", ()) for part in get_args(field.annotation))  # of X | None
        kind = next(entry for entry in (*field.metadata, *chain(*inner)) if isinstance(entry, Kind))
        default = None if field.is_required() else field.default
        known: Any = {"name": attribute, **cast("dict[str, Any]", field.json_schema_extra)}
        return cls(attribute=attribute, kind=kind, default=default, about=field.description or "", **known)

    @property
    def variable(self) -> str:
        """The name of the environment variable; '' for tables."""
        return "" if self.kind.in_yaml_only else f"{VARIABLE_PREFIX}{self.name.upper()}"


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting as shown by ``commonplace config``. ``value`` can be written as JSON. Secrets are
    masked."""

    key: Key
    value: Any
    origin: Origin

    @property
    def said(self) -> str:
        """The value as text. For an empty value, the value that applies instead, in parentheses."""
        match self.value:
            case list() | dict() | None:
                return ", ".join(self.value or ()) or f"({self.key.otherwise})"
            case bool():
                return str(self.value).lower()
            case _:
                return f"{self.value:g}" if isinstance(self.value, float) else str(self.value)


KEYS = tuple(Key.of(name, field) for name, field in Settings.model_fields.items() if field.json_schema_extra)
BY_NAME: dict[str, Key] = {key.name: key for key in KEYS}
BY_VARIABLE: dict[str, Key] = {key.variable: key for key in KEYS if key.variable}
BORROWED: dict[str, Key] = {key.borrowed: key for key in KEYS if key.borrowed}
