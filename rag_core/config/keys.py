"""Every setting there is, as one table.

Reading, error messages, ``commonplace config``, the defaults of the command line's options and
docs/configuration.md are all made from it. A new setting is a new row and a field of `Settings`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rag_core.config.kinds import (
    Address,
    Choice,
    Folder,
    Folders,
    Kind,
    Labels,
    Number,
    Plain,
    PromptsByEmbedder,
    SizesByType,
    Stores,
    Switch,
    Tables,
    Whole,
    Word,
    Words,
)

PREFIX = "COMMONPLACE_"
HOME = f"{PREFIX}HOME"
"""Moves configuration and data; read from the environment alone, as it says where the files are."""

NOT_SETTINGS = (HOME, f"{PREFIX}TEST_", f"{PREFIX}TORTURE")
"""What variables may begin with that are no settings: the rest is for the test suite."""

STORE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
"""What a store may be called: its file has that name on every system."""

LOGIN_NAME = re.compile(r"(?=.{1,254}\Z)[A-Za-z0-9][A-Za-z0-9.!#$%&'*+/=?^_`{|}~@-]*", re.ASCII)
"""What a login of Tailscale may be: a mail address (at most 254 characters, RFC 5321) or ``ada@github``."""

_LABEL_OF_HOST = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
HOST_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL_OF_HOST}(?:\.{_LABEL_OF_HOST})*", re.ASCII)
"""What a host may be called (RFC 1123)."""

_EMBEDDER = re.compile(
    r"minilm|hashing(?::[0-9]{1,4})?|ollama(?::[^\s\x00-\x1f\x7f]{1,300})?|openai:[^\s\x00-\x1f\x7f]{1,300}"
    r"|(?:sentence-transformers|mlx):[^\x00-\x1f\x7f]{1,300}"
    r"|(?!(?:minilm|hashing|ollama|openai):)[a-z][a-z0-9-]{0,39}:[^\x00-\x1f\x7f]{1,300}"  # of a package
)
_KEY = re.compile(r"[\x21-\x7e]{1,1000}")
_DEVICE = re.compile(r"[a-z]{2,10}(?::[0-9]{1,2})?")


# --- the table --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Key:
    """One setting. ``field`` is its attribute in `Settings`; ``otherwise`` says what holds where
    the default is None; a ``secret`` value is never shown, and config.yaml never holds one. ``borrowed``
    is a variable of another program, which counts where nothing else says anything."""

    name: str
    kind: Kind
    default: Any
    about: str
    group: str
    field: str = ""
    otherwise: str = ""
    aliases: tuple[str, ...] = ()
    secret: bool = False
    borrowed: str = ""

    @property
    def attribute(self) -> str:
        """The attribute of `Settings` that holds the value."""
        return self.field or self.name

    @property
    def names(self) -> tuple[str, ...]:
        """The names it goes by in config.yaml, its own first."""
        return (self.name, *self.aliases)

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables it is read from, its own first; none for tables."""
        if isinstance(self.kind, Tables):
            return ()
        return tuple(f"{PREFIX}{name.upper()}" for name in self.names)

    @property
    def default_said(self) -> str:
        """The default in words."""
        if isinstance(self.default, bool):
            return f"{self.default}".lower()
        if isinstance(self.default, float):
            return f"{self.default:g}"
        return self.otherwise if self.default in (None, ()) else f"{self.default}"


EMBEDDER = Word(
    _EMBEDDER,
    "'minilm', 'hashing', 'hashing:DIMENSION', 'ollama:MODEL', 'openai:MODEL',"
    " 'sentence-transformers:FOLDER', 'mlx:FOLDER' or 'PROVIDER:MODEL' of a package",
)
LLM = Word(re.compile(r"(?:ollama|openai):[^\s\x00-\x1f\x7f]{1,300}"), "'ollama:MODEL' or 'openai:MODEL'")
PROMPT = Word(re.compile(r"[^\x00-\x08\x0b-\x1f\x7f]{1,500}"), "a text of 1 to 500 characters")
LABEL = Word(re.compile(r"[\w\s.:/=+\-@]{1,256}"), "1 to 256 letters, digits, spaces and _.:/=+-@")
BACKEND = Word(re.compile(r"[a-z][a-z0-9_-]{0,31}"), "'local', 's3vectors', 'qdrant' or 'chroma'")
LOGIN = Word(LOGIN_NAME, "a login such as ada@example.com")
HOST = Word(HOST_NAME, "a name such as desk or desk.example.com")
STORE = Word(STORE_NAME, "a store's name: 1 to 63 letters, digits, hyphens and underscores")
CHUNK_SIZE = Whole(100, 20_000)
CHUNK_OVERLAP = Whole(0, 10_000)

_PLACES, _NEW, _EMBED, _CHAT, _VECTORS, _SEARCH, _INDEX, _SERVE = (
    "Places",
    "New stores",
    "Embedders",
    "Chat",
    "Vector indexes",
    "Searching",
    "Indexing",
    "Serving",
)

KEYS: tuple[Key, ...] = (
    Key(
        "models", Folder(), None, "Where the built-in model is.",
        _PLACES, field="model_dir", otherwise="models in the data folder",
    ),
    Key(
        "roots", Folders(), (), "The folders that the folder picker of the Index page offers.",
        _PLACES, otherwise="your home folder",
    ),
    Key(
        "embedder", EMBEDDER, "minilm", "Who turns the text of a new store into vectors.",
        _NEW, aliases=("embedding_model",),
    ),
    Key(
        "backend", BACKEND, "local",
        "Where the vectors of a new store are: `local` in its own file, or one of the vector indexes below.",
        _NEW, aliases=("store_type",),
    ),
    Key(
        "chunk_size", CHUNK_SIZE, None,
        "How many characters a passage of a new store has at most, whatever the file type; an embedder that"
        " reads less makes it shorter.",
        _NEW, otherwise="by file type",
    ),
    Key(
        "chunk_overlap", CHUNK_OVERLAP, None,
        "How many characters two neighbouring passages of a new store share; less than `chunk_size`, and only"
        " beside it.",
        _NEW, otherwise="a fifth of chunk_size",
    ),
    Key(
        "chunking", SizesByType(), (), "Sizes for single file types of new stores.",
        _NEW, otherwise="by file type",
    ),
    Key(
        "stores", Stores(), (), "Stores that `commonplace serve` makes at its start, if they are not there.",
        _NEW, otherwise="none but those you make yourself",
    ),
    Key(
        "ollama_url", Address(11434), None, "Where Ollama is, for the embedders `ollama:MODEL`.",
        _EMBED, otherwise="OLLAMA_HOST, else http://127.0.0.1:11434", aliases=("ollama_base_url",),
        borrowed="OLLAMA_HOST",
    ),
    Key(
        "embedding_base_url", Address(), None,
        "Where a server speaks OpenAI's protocol, for the embedders `openai:MODEL`.",
        _EMBED, otherwise="chat_base_url, else none",
    ),
    Key(
        "embedding_api_key", Word(_KEY, "a key of visible characters"), None,
        "The key for `embedding_base_url`. Only a variable or `.env` may hold it.",
        _EMBED, otherwise="none; chat_api_key where chat_base_url stands in", secret=True,
    ),
    Key(
        "embedding_timeout_s", Number(1, 3600), 300.0,
        "How many seconds a server may take to load its model, or to embed one request.",
        _EMBED, aliases=("ollama_timeout_s",),
    ),
    Key(
        "embedding_context", Whole(64, 32_768), None,
        "How many tokens of a text a model of Ollama, of a server or in a folder is to read. It counts when a"
        " store is made, and more takes more memory there.",
        _EMBED, otherwise="what the model is known to read, with Ollama up to 2048, on other servers 512",
    ),
    Key(
        "prompts", PromptsByEmbedder(), (), "What single embedders put in front of a query and of a passage.",
        _EMBED, otherwise="what their models learnt, as far as it is known",
    ),
    Key(
        "device", Word(_DEVICE, "a device of torch, such as cpu, mps or cuda:0"), None,
        "Where `sentence-transformers:FOLDER` computes.", _EMBED, otherwise="the package chooses",
    ),
    Key(
        "offline", Switch(), True,
        "Whether `sentence-transformers:` and `mlx:` take models from folders only; otherwise their packages"
        " may fetch one by its name.",
        _EMBED, aliases=("offline_mode",),
    ),
    Key(
        "llm", LLM, None,
        "The model that answers questions: `ollama:MODEL`, or `openai:MODEL` at `chat_base_url`.",
        _CHAT, otherwise="none: a question gets passages and no answer", aliases=("llm_model", "query_model"),
    ),
    Key(
        "llm_temperature", Number(0, 2), 0.2, "How freely the model chooses its words; 0 is the least.",
        _CHAT,
    ),
    Key("llm_max_tokens", Whole(16, 32_768), 1024, "How many tokens an answer has at most.", _CHAT),
    Key(
        "llm_context", Whole(1024, 1_000_000), 8192,
        "How many tokens the model reads and writes together: rules, passages, the conversation and the"
        " answer. More takes more memory where Ollama is.",
        _CHAT,
    ),
    Key(
        "llm_timeout_s", Number(1, 3600), 300.0,
        "How many seconds an answer may take, the loading of the model included.", _CHAT,
    ),
    Key(
        "chat_base_url", Address(), None,
        "Where a server speaks OpenAI's protocol, for the model `openai:MODEL` that answers questions.",
        _CHAT, otherwise="none", aliases=("llm_base_url",),
    ),
    Key(
        "chat_api_key", Word(_KEY, "a key of visible characters"), None,
        "The key for `chat_base_url`. Only a variable or `.env` may hold it.",
        _CHAT, otherwise="none", aliases=("llm_api_key",), secret=True,
    ),
    Key(
        "s3_region", Word(re.compile(r"[a-z0-9-]{4,40}"), "a region such as eu-central-1"), None,
        "The region of Amazon S3 Vectors.", _VECTORS,
        otherwise="as the AWS CLI is set up", aliases=("aws_region",),
    ),
    Key(
        "s3_profile", Word(re.compile(r"[^\x00-\x1f\x7f]{1,200}"), "a name"), None,
        "The profile of the AWS configuration whose credentials are used. Keys are never settings here.",
        _VECTORS, otherwise="as the AWS CLI is set up", aliases=("aws_profile",),
    ),
    Key(
        "s3_endpoint_url", Address(), None, "Where Amazon S3 Vectors is, if not where AWS has it.",
        _VECTORS, otherwise="where AWS has it in this region",
    ),
    Key(
        "s3_bucket_prefix",
        Word(re.compile(r"[a-z0-9][a-z0-9-]{0,39}"), "lowercase letters, digits and hyphens"),
        "commonplace", "What the names of vector buckets begin with; the name of the store follows.",
        _VECTORS,
    ),
    Key(
        "s3_kms_key",
        Word(
            re.compile(r"arn:aws[-a-z0-9]*:kms:[-a-z0-9]+:[0-9]{12}:key/\S{1,200}"),
            "the ARN of a key: arn:aws:kms:REGION:ACCOUNT:key/ID",
        ),
        None, "The key that buckets and indexes are encrypted with.", _VECTORS, otherwise="one of AWS's own",
    ),
    Key(
        "s3_tags", Labels(), (), "Tags that buckets and indexes get when they are made.",
        _VECTORS, otherwise="none",
    ),
    Key(
        "qdrant_url", Address(6333), None, "Where a Qdrant server is.", _VECTORS,
        otherwise="none: Qdrant works in this process, one at a time, in qdrant_path",
    ),
    Key(
        "qdrant_collection",
        Word(re.compile(r"[A-Za-z0-9_][\w.-]{0,199}"), "letters, digits and _.-"),
        "notes", "The collection of Qdrant that new stores share; each has its own part of it.", _VECTORS,
    ),
    Key(
        "qdrant_path", Folder(), None, "Where Qdrant keeps its files without a server.", _VECTORS,
        otherwise="qdrant in the data folder",
    ),
    Key(
        "qdrant_api_key", Word(_KEY, "a key of visible characters"), None,
        "The key for `qdrant_url`. Only a variable or `.env` may hold it.",
        _VECTORS, otherwise="none", secret=True,
    ),
    Key(
        "chroma_url", Address(8000), None, "Where a Chroma server is.", _VECTORS,
        otherwise="none: Chroma works in this process, one at a time, in chroma_path",
    ),
    Key(
        "chroma_path", Folder(), None, "Where Chroma keeps its files without a server.", _VECTORS,
        otherwise="chroma in the data folder",
    ),
    Key(
        "vectors_timeout_s", Number(1, 3600), 30.0,
        "How many seconds S3 Vectors, Qdrant or Chroma may take to answer one request.", _VECTORS,
    ),
    Key(
        "default_store", STORE, None, "The store that a command takes when --store is left out.",
        _SEARCH, otherwise="query searches all, the others ask",
        aliases=("collection", "collection_name"),
    ),
    Key("top_k", Whole(1, 1000), 10, "How many passages a search gives.", _SEARCH),
    Key(
        "mode", Choice(("hybrid", "vector", "lexical")), "hybrid",
        "Whether a search goes by words and meaning, meaning alone, or words alone.", _SEARCH,
    ),
    Key(
        "min_score", Number(0, 1), None, "Passages with a lower score are left out.",
        _SEARCH, otherwise="none is left out", aliases=("min_similarity",),
    ),
    Key(
        "max_tokens", Whole(1, 1_000_000), None,
        "A search stops before its passages take more tokens than this together; the browser shows them all.",
        _SEARCH, otherwise="no limit",
    ),
    Key("k_lex", Whole(1, 2000), 100, "How many candidates a search takes by words.", _SEARCH),
    Key("k_vec", Whole(1, 2000), 100, "How many candidates a search takes by meaning.", _SEARCH),
    Key("batch_size", Whole(1, 1024), 32, "How many texts are embedded at once.", _INDEX),
    Key("max_file_mb", Whole(1, 1024), 64, "Files of more megabytes are not read.", _INDEX),
    Key(
        "extractor_timeout_s", Number(1, 3600), 60.0,
        "How many seconds a package may take to read one file.", _INDEX,
    ),
    Key(
        "busy_timeout_s", Number(0.1, 600), 30.0,
        "How many seconds to wait for another process that writes to a store.", _INDEX,
    ),
    Key(
        "port", Whole(1, 65535), 8501, "The port of `commonplace serve` on this computer.",
        _SERVE, aliases=("api_port",),
    ),
    Key(
        "access_owners", Words(LOGIN), (),
        "Who else is the owner, through `tailscale serve`; `commonplace share owner` adds to them.",
        _SERVE, otherwise="none",
    ),
    Key(
        "access_hosts", Words(HOST), (),
        "By which names others reach the app through `tailscale serve`, besides those that end in .ts.net.",
        _SERVE, otherwise="none",
    ),
    Key(
        "guest_requests_per_minute", Whole(60, 1_000_000), 3000,
        "How much a guest may do in a minute, over REST, MCP and pages together.", _SERVE,
    ),
    Key(
        "guest_asks", Whole(1, 1000), 2,
        "How many questions of a guest are answered at once.", _SERVE,
    ),
    Key(
        "max_body_kb", Whole(16, 1_048_576), 256,
        "Larger requests are refused, uploads of the owner aside; REST itself takes 256 kB at most.", _SERVE,
    ),
    Key(
        "body_timeout_s", Number(1, 3600), 30.0,
        "How many seconds a request may take to arrive, uploads of the owner aside.", _SERVE,
    ),
    Key(
        "mcp_allow_writes", Switch(), False,
        "Whether your assistants may index files and take them out of the index, too, over MCP.", _SERVE,
    ),
    Key(
        "mcp_roots", Folders(), (),
        "Below these folders your assistants may add folders to a store, where `mcp_allow_writes` lets them"
        " write.",
        _SERVE, otherwise="none: they index only what lies in the folders of a store",
    ),
    Key(
        "log_level", Choice(("debug", "info", "warning", "error", "critical")), "warning",
        "What is logged on standard error, which never holds the text of notes or queries.", _SERVE,
    ),
)  # fmt: skip

_WRITTEN_ELSEWHERE: Mapping[str, tuple[re.Pattern[str], str]] = {
    "embedding_model": (
        re.compile(r"(?!(?:minilm|hashing|ollama)\Z)[^\s:\x00-\x1f\x7f]{1,300}"),
        r"ollama:\g<0>",
    ),
    "query_model": (re.compile(r"(?!(?:ollama|openai):)[^\s\x00-\x1f\x7f]{1,300}"), r"ollama:\g<0>"),
    "llm_model": (re.compile(r"(?!(?:ollama|openai):)[^\s\x00-\x1f\x7f]{1,300}"), r"openai:\g<0>"),
    "store_type": (re.compile(r"chromadb", re.IGNORECASE), "chroma"),
}
"""What other tools write behind names that are accepted here, too, and what it is here."""

DEFAULTS: dict[str, Any] = {key.name: key.default for key in KEYS}
BY_NAME: dict[str, Key] = {name: key for key in KEYS for name in key.names}
BY_VARIABLE: dict[str, Key] = {name: key for key in KEYS for name in key.variables}
PLAIN: dict[str, Plain] = {key.name: key.kind for key in KEYS if not isinstance(key.kind, Tables)}
BORROWED: dict[str, Key] = {key.borrowed: key for key in KEYS if key.borrowed}


def meant(name: str, text: str) -> str:
    """What ``text`` means behind ``name`` in config.yaml, or as the value of that variable. A model without a
    provider is one of the server that the other tool asks."""
    shape, here = _WRITTEN_ELSEWHERE.get(name.removeprefix(PREFIX).lower(), (None, ""))
    return shape.sub(here, text) if shape and shape.fullmatch(text) else text


def shown(key: Key, value: Any) -> Any:
    """``value`` as it may be shown to the owner, fit for JSON."""
    if key.secret and value:
        return "********"
    return value


def suggest(name: str, known: Mapping[str, str]) -> str:
    """The advice for an unknown ``name``: the nearest of ``known``, else all that they stand for."""
    with_prefix = [PREFIX + name.upper()] if PREFIX + name.upper() in known else []
    close = with_prefix or difflib.get_close_matches(name, known, n=1)
    return (
        f"Did you mean {close[0]!r}?" if close else f"There are: {', '.join(dict.fromkeys(known.values()))}."
    )
