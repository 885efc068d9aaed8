"""What the owner configured, as one value that travels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_core.config.keys import DEFAULTS, KEYS, Key, shown
from rag_core.config.origin import DEFAULT, Origin

if TYPE_CHECKING:
    from rag_core.types import Mode  # brings numpy, which reading settings must not

Size = tuple[int, int]
"""Size and overlap of passages, in characters."""

EVERYTHING = ("**/*",)


@dataclass(frozen=True, slots=True)
class DeclaredFolder:
    """A folder that a declared store is to have, with its globs."""

    root: Path
    include: tuple[str, ...] = EVERYTHING
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DeclaredStore:
    """A store that is made when the app starts, unless it is there; ``embedder`` and ``backend`` None are
    the default ones."""

    name: str
    embedder: str | None = None
    folders: tuple[DeclaredFolder, ...] = ()
    backend: str | None = None


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting as ``commonplace config`` shows it; ``value`` is fit for JSON, secrets masked."""

    key: Key
    value: Any
    origin: Origin

    @property
    def said(self) -> str:
        """The value in words."""
        match self.value:
            case None:
                return f"({self.key.otherwise})"
            case list() | dict():
                return ", ".join(self.value) or f"({self.key.otherwise})"
            case bool():
                return str(self.value).lower()
            case float():
                return f"{self.value:g}"
            case _:
                return str(self.value)


@dataclass(frozen=True, slots=True)
class Settings:
    """What the owner configured; the fields are the rows of `rag_core.config.keys`.

    ``roots`` are the folders that the folder picker offers. ``origins`` says where each value that is
    no default was given; ``warnings`` are sentences about variables that mean nothing.
    """

    data_dir: Path
    model_dir: Path
    roots: tuple[Path, ...]
    embedder: str = DEFAULTS["embedder"]
    chunk_size: int | None = DEFAULTS["chunk_size"]
    chunk_overlap: int | None = DEFAULTS["chunk_overlap"]
    chunking: tuple[tuple[str, Size], ...] = DEFAULTS["chunking"]
    stores: tuple[DeclaredStore, ...] = DEFAULTS["stores"]
    ollama_url: str | None = DEFAULTS["ollama_url"]
    embedding_base_url: str | None = DEFAULTS["embedding_base_url"]
    embedding_api_key: str | None = field(default=DEFAULTS["embedding_api_key"], repr=False)
    embedding_timeout_s: float = DEFAULTS["embedding_timeout_s"]
    embedding_context: int | None = DEFAULTS["embedding_context"]
    prompts: tuple[tuple[str, tuple[str, str]], ...] = DEFAULTS["prompts"]
    device: str | None = DEFAULTS["device"]
    offline: bool = DEFAULTS["offline"]
    llm: str | None = DEFAULTS["llm"]
    llm_temperature: float = DEFAULTS["llm_temperature"]
    llm_max_tokens: int = DEFAULTS["llm_max_tokens"]
    llm_context: int = DEFAULTS["llm_context"]
    llm_timeout_s: float = DEFAULTS["llm_timeout_s"]
    chat_base_url: str | None = DEFAULTS["chat_base_url"]
    chat_api_key: str | None = field(default=DEFAULTS["chat_api_key"], repr=False)
    qdrant_url: str | None = DEFAULTS["qdrant_url"]
    qdrant_collection: str = DEFAULTS["qdrant_collection"]
    qdrant_path: Path | None = DEFAULTS["qdrant_path"]
    qdrant_api_key: str | None = field(default=DEFAULTS["qdrant_api_key"], repr=False)
    chroma_url: str | None = DEFAULTS["chroma_url"]
    chroma_path: Path | None = DEFAULTS["chroma_path"]
    backend: str = DEFAULTS["backend"]
    s3_region: str | None = DEFAULTS["s3_region"]
    s3_profile: str | None = DEFAULTS["s3_profile"]
    s3_endpoint_url: str | None = DEFAULTS["s3_endpoint_url"]
    s3_bucket_prefix: str = DEFAULTS["s3_bucket_prefix"]
    s3_kms_key: str | None = DEFAULTS["s3_kms_key"]
    s3_tags: tuple[tuple[str, str], ...] = DEFAULTS["s3_tags"]
    vectors_timeout_s: float = DEFAULTS["vectors_timeout_s"]
    default_store: str | None = DEFAULTS["default_store"]
    top_k: int = DEFAULTS["top_k"]
    mode: Mode = DEFAULTS["mode"]
    min_score: float | None = DEFAULTS["min_score"]
    max_tokens: int | None = DEFAULTS["max_tokens"]
    k_lex: int = DEFAULTS["k_lex"]
    k_vec: int = DEFAULTS["k_vec"]
    batch_size: int = DEFAULTS["batch_size"]
    max_file_mb: int = DEFAULTS["max_file_mb"]
    extractor_timeout_s: float = DEFAULTS["extractor_timeout_s"]
    busy_timeout_s: float = DEFAULTS["busy_timeout_s"]
    port: int = DEFAULTS["port"]
    access_owners: tuple[str, ...] = DEFAULTS["access_owners"]
    access_hosts: tuple[str, ...] = DEFAULTS["access_hosts"]
    guest_requests_per_minute: int = DEFAULTS["guest_requests_per_minute"]
    guest_asks: int = DEFAULTS["guest_asks"]
    max_body_kb: int = DEFAULTS["max_body_kb"]
    body_timeout_s: float = DEFAULTS["body_timeout_s"]
    mcp_allow_writes: bool = DEFAULTS["mcp_allow_writes"]
    mcp_roots: tuple[Path, ...] = DEFAULTS["mcp_roots"]
    log_level: str = DEFAULTS["log_level"]
    config_file: Path | None = None
    env_file: Path | None = None
    origins: Mapping[str, Origin] = field(default_factory=dict, compare=False)
    warnings: tuple[str, ...] = ()

    @property
    def store_dir(self) -> Path:
        """Where the store files are."""
        return self.data_dir / "stores"

    @property
    def embedding_url(self) -> str:
        """Where `openai:MODEL` is asked for: its own address, else that of the chat model, else ''."""
        return self.embedding_base_url or self.chat_base_url or ""

    @property
    def embedding_key(self) -> str:
        """The key for `embedding_url`: that of the chat model goes to its own server only."""
        own = self.embedding_api_key or ""
        return own if self.embedding_base_url else own or self.chat_api_key or ""

    @property
    def default_stores(self) -> tuple[str, ...]:
        """The default store, if there is one, as the option that takes several."""
        return (self.default_store,) if self.default_store else ()

    @property
    def max_file_bytes(self) -> int:
        """Larger files are not read."""
        return self.max_file_mb * 1_000_000

    @property
    def chunk_sizes(self) -> Size | None:
        """Size and overlap for every file type that ``chunking`` does not name, if configured."""
        return sizes(self.chunk_size, self.chunk_overlap) if self.chunk_size else None

    def origin(self, name: str) -> Origin:
        """Where the value of the key ``name`` is from."""
        return self.origins.get(name, DEFAULT)

    def rows(self) -> list[SettingRow]:
        """Every setting with its value and origin, in the table's order."""
        values = ((key, _plain(getattr(self, key.attribute))) for key in KEYS)
        return [SettingRow(key, shown(key, value), self.origin(key.name)) for key, value in values]


def sizes(size: int, overlap: int | None) -> Size:
    """Size and overlap; without one it is a fifth of the size."""
    return size, size // 5 if overlap is None else overlap


def _plain(value: Any) -> Any:
    """``value`` in the shapes of JSON, tables as config.yaml has them."""
    match value:
        case Path():
            return str(value)
        case DeclaredStore(_, embedder, folders, backend):
            return {
                "embedder": embedder,
                "backend": backend,
                "folders": [_plain(each) for each in folders],
            }
        case DeclaredFolder(root, include, exclude):
            return {"root": str(root), "include": list(include), "exclude": list(exclude)}
        case ((str(), (int(), int())), *_):
            return {kind: {"chunk_size": size, "chunk_overlap": overlap} for kind, (size, overlap) in value}
        case ((str(), (str(), str())), *_):
            return {name: {"query": query, "document": document} for name, (query, document) in value}
        case ((str(), str()), *_):
            return dict(value)
        case (DeclaredStore(), *_):
            return {store.name: _plain(store) for store in value}
        case tuple():
            return [_plain(item) for item in value]
        case _:
            return value
