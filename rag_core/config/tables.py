"""The tables of config.yaml: sizes and prompts by name, labels, and the stores it declares."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, WrapValidator

from rag_core.config.keys import PREFIX
from rag_core.config.kinds import Backend, Embedder, Folder, Kind, StoreName, listed, whole, word
from rag_core.config.origin import Listing, Origin, Table, Text, refused
from rag_core.errors import InvalidInput, InvalidSettings

Size = tuple[int, int] | tuple[int, int, str]
"""Size and overlap of passages in characters, and the chunker of a package if one is named."""

EVERYTHING = ("**/*",)

SIZES = {"chunk_size": "chunk_size", "chunk_overlap": "chunk_overlap", "chunker": "chunker"}
PROMPTS = {"query": "query", "document": "document", "passage": "document"}
STORE = {
    "embedder": "embedder",
    "embedding_model": "embedder",
    "backend": "backend",
    "store_type": "backend",
    "folders": "folders",
}
FOLDER = {"root": "root", "include": "include", "exclude": "exclude", "ignore": "exclude"}
"""The names allowed in each table, and the names we use for them."""

_ELSEWHERE = {
    "data_dir": "The environment variable COMMONPLACE_HOME says where everything is kept.",
    "exclude": "Each folder has its own: `commonplace source edit NUMBER --exclude GLOB`, or below 'stores'.",
}
_WRITTEN_ELSEWHERE: Mapping[str, tuple[re.Pattern[str], str]] = {
    "embedding_model": (
        re.compile(r"(?!(?:minilm|hashing|ollama)\Z)[^\s:\x00-\x1f\x7f]{1,300}"),
        r"ollama:\g<0>",
    ),
    "query_model": (re.compile(r"(?!(?:ollama|openai):)[^\s\x00-\x1f\x7f]{1,300}"), r"ollama:\g<0>"),
    "llm_model": (re.compile(r"(?!(?:ollama|openai):)[^\s\x00-\x1f\x7f]{1,300}"), r"openai:\g<0>"),
    "store_type": (re.compile(r"chromadb", re.IGNORECASE), "chroma"),
}
"""Values as other tools write them, and our values for them."""


def fields(table: Any, known: Mapping[str, str], what: str) -> dict[str, Any]:
    """The values of ``table`` under our names; ``known`` maps every accepted name to ours.

    Raises InvalidSettings when ``table`` is none, for an unknown name, and for two that mean the same.
    """
    if not isinstance(table, Table):
        raise refused(table, f"a table of {what}")
    found: dict[str, Any] = {}
    for name, value in table.items():
        if name not in known:
            raise unknown(name, known, value)
        if known[name] in found:
            other = found[known[name]].origin.name
            raise name.origin.error(f"{name} and {other} mean the same", "Remove one of them.")
        found[known[name]] = meant(name, value)
    return {name: value for name, value in found.items() if not (isinstance(value, Text) and value.empty)}


def meant(name: str, value: Any) -> Any:
    """``value`` of the setting or variable ``name``, as we write it where another tool writes it otherwise. A
    model without a provider gets the one of the server that the other tool asks."""
    shape, here = _WRITTEN_ELSEWHERE.get(name.removeprefix(PREFIX).lower(), (None, ""))
    if shape and isinstance(value, Text) and shape.fullmatch(value):
        return Text(shape.sub(here, value), value.origin)
    return value


def unknown(name: Text, known: Mapping[str, str], value: Any = None) -> InvalidSettings:
    """The error for a name that is not known; its value is not repeated."""
    inner = value if isinstance(value, Table) else ()
    flat = [each for part in inner for each in (f"{name}_{part}", str(part)) if each in known]
    advice = f"Names do not nest: write {' and '.join(map(repr, flat))} instead." if flat else ""
    advice = advice or _ELSEWHERE.get(name, "") or suggest(name[:80], known)
    return name.origin.error(f"{str(name)[:80]!r} is not a setting", advice)


def suggest(name: str, known: Mapping[str, str]) -> str:
    """The advice for an unknown ``name``: the nearest of ``known``, else all that they stand for."""
    with_prefix = [PREFIX + name.upper()] if PREFIX + name.upper() in known else []
    close = with_prefix or difflib.get_close_matches(name, known, n=1)
    if close:
        return f"Did you mean {str(close[0])!r}?"
    return f"There are: {', '.join(dict.fromkeys(known.values()))}."


def _table(words: str, what: str) -> Kind:
    """A table whose entries are read as pairs; a value that is made in Python stays."""

    def entries(written: Any) -> Any:
        if isinstance(written, (Text, Listing)):
            raise refused(written, f"a table of {what}")
        return list(written.items()) if isinstance(written, Table) else written

    return Kind(words, before=entries, in_yaml_only=True)


# --- chunking ---------------------------------------------------------------------------


def _file_type(name: str) -> str:
    from rag_core.extract.filetypes import TYPE_BY_NAME, TYPE_BY_SUFFIX, added_type, packages  # brings numpy

    added = map(added_type, packages().values())
    types = sorted({"text", *TYPE_BY_NAME.values(), *TYPE_BY_SUFFIX.values(), *added})
    if isinstance(name, Text) and name not in types:
        advice = suggest(name[:80], {each: each for each in types})
        raise name.origin.error(f"{str(name)[:80]!r} is not a file type", advice)
    return name


def _sizes(written: Any, read: Callable[[Any], tuple[int, int]]) -> Size:
    if isinstance(written, tuple):
        return read(written)
    given = fields(written, SIZES, "chunk_size, chunk_overlap and chunker")
    if "chunk_size" not in given:
        raise written.origin.error(
            f"{written.origin.name} has no chunk_size", "Write one, like 'chunk_size: 1000'."
        )
    size, overlap = read((given["chunk_size"], given.get("chunk_overlap", 0)))
    if "chunk_overlap" in given:
        check_overlap(size, overlap, given["chunk_overlap"].origin)
    else:
        overlap = size // 5
    return (size, overlap, CHUNKER.read(given["chunker"])) if "chunker" in given else (size, overlap)


def check_overlap(size: int, overlap: int, origin: Origin) -> None:
    """Raises InvalidSettings unless the overlap is less than the size."""
    if overlap >= size:
        raise origin.error(
            f"{origin.name} is {overlap}, which is not less than the chunk_size of {size}",
            "Make it smaller, such as a fifth.",
        )


CHUNKER = word(r"[a-z][a-z0-9-]{0,39}", "the name of a chunker")
ChunkSize = Annotated[int, whole(100, 20_000)]
ChunkOverlap = Annotated[int, whole(0, 10_000)]
Chunking = Annotated[
    tuple[
        tuple[
            Annotated[str, BeforeValidator(_file_type)],
            Annotated[tuple[ChunkSize, ChunkOverlap], WrapValidator(_sizes)],
        ],
        ...,
    ],
    _table("file types, each with `chunk_size`, `chunk_overlap` and `chunker`", "file types"),
]

# --- prompts and labels -----------------------------------------------------------------


def _prompts(written: Any) -> Any:
    if isinstance(written, tuple):
        return written
    given = fields(written, PROMPTS, "query and document")
    return given.get("query", ""), given.get("document", "")


def _renamed(said: str, name: Any) -> Any:
    """A key of a table, called ``said`` in errors."""
    return Text(name, name.origin.at(name.origin.line, said)) if isinstance(name, Text) else name


_Prompt = Annotated[str, word(r"[^\x00-\x08\x0b-\x1f\x7f]{0,500}", "a text of at most 500 characters")]
Prompts = Annotated[
    tuple[
        tuple[
            Annotated[Embedder, BeforeValidator(partial(_renamed, "The embedder"))],
            Annotated[tuple[_Prompt, _Prompt], BeforeValidator(_prompts)],
        ],
        ...,
    ],
    _table("embedders, each with `query` and `document`", "embedders"),
]

_Label = Annotated[str, word(r"[\w\s.:/=+\-@]{1,256}", "1 to 256 letters, digits, spaces and _.:/=+-@")]
Labels = Annotated[tuple[tuple[_Label, _Label], ...], _table("names, each with a text", "texts")]

# --- declared stores --------------------------------------------------------------------


def _globs(written: Any) -> Any:
    from rag_core.files import validate_globs

    if not isinstance(written, (Text, Listing, Table)):
        return written
    globs: list[str] = []
    for item in listed(written):
        if not isinstance(item, Text):
            raise refused(item, "a pattern")
        try:
            globs += validate_globs([str(item)])
        except InvalidInput as error:
            raise item.origin.error(error.message.removesuffix("."), error.suggestion) from None
    return tuple(globs)


Globs = Annotated[tuple[str, ...], BeforeValidator(_globs)]


@dataclass(frozen=True, slots=True)
class DeclaredFolder:
    """A folder of a declared store, with its globs."""

    root: Folder
    include: Globs = EVERYTHING
    exclude: Globs = ()


def _folder(written: Any) -> Any:
    """A folder alone, or one with its globs."""
    if isinstance(written, DeclaredFolder):
        return written
    if isinstance(written, Text):
        return {"root": written}
    given = fields(written, FOLDER, "root, include and exclude")
    if "root" not in given:
        raise written.origin.error("This folder has no root", "Write one, like 'root: ~/notes'.")
    return {name: value for name, value in given.items() if value}


@dataclass(frozen=True, slots=True)
class DeclaredStore:
    """A store that is made when the app starts, unless it exists. An ``embedder`` or ``backend`` of None is
    that of the settings."""

    name: StoreName
    embedder: Embedder | None = None
    folders: Annotated[
        tuple[Annotated[DeclaredFolder, BeforeValidator(_folder)], ...], BeforeValidator(listed)
    ] = ()
    backend: Backend | None = None


def _stores(written: Any) -> Any:
    if isinstance(written, (Text, Listing)):
        raise refused(written, "a table of stores")
    if not isinstance(written, Table):
        return written
    stores: dict[str, dict[str, Any]] = {}
    for name, value in written.items():
        if name.casefold() in stores:
            raise name.origin.error(f"{name} differs from another store only in case", "Rename one of them.")
        empty = isinstance(value, Text) and value.empty
        given = {} if empty else fields(value, STORE, "embedder, backend and folders")
        stores[name.casefold()] = {"name": _renamed("The store's name", name), **given}
    return list(stores.values())


Stores = Annotated[
    tuple[DeclaredStore, ...],
    Kind("store names, each with `embedder` and `folders`", before=_stores, in_yaml_only=True),
]


def as_written(value: Any) -> Any:
    """``value`` in the shapes of JSON, tables as config.yaml has them."""
    match value:
        case Path():
            return str(value)
        case DeclaredStore(_, embedder, folders, backend):
            return {"embedder": embedder, "backend": backend, "folders": as_written(folders)}
        case DeclaredFolder(root, include, exclude):
            return {"root": str(root), "include": list(include), "exclude": list(exclude)}
        case ((str(), (int(), *_)), *_):
            return {kind: dict(zip(SIZES, given, strict=False)) for kind, given in value}
        case ((str(), (str(), str())), *_):
            return {name: {"query": query, "document": document} for name, (query, document) in value}
        case ((str(), str()), *_):
            return dict(value)
        case (DeclaredStore(), *_):
            return {store.name: as_written(store) for store in value}
        case tuple():
            return [as_written(item) for item in value]
        case _:
            return value
