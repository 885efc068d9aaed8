"""The tables of config.yaml: sizes and prompts by name, labels, and declared stores."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from rag_core.config.keys import VARIABLE_PREFIX
from rag_core.config.kinds import BACKEND, EMBEDDER, FOLDER, STORE, Kind, as_list, whole, word
from rag_core.config.origin import Origin, Table, Text, Written, refused
from rag_core.errors import InvalidInput, InvalidSettings

SizeTable = tuple[int, int] | tuple[int, int, str]
"""Size and overlap of passages in characters, and the name of a chunker that a package adds, if it is set."""

EVERYTHING = ("**/*",)

SIZES = ("chunk_size", "chunk_overlap", "chunker")
PROMPTS = ("query", "document")
STORES = ("embedder", "backend", "folders")
FOLDERS = ("root", "include", "exclude")
"""The four tuples have the names allowed in an entry of ``chunking``, of ``prompts`` and of ``stores``, and
in a folder of a store."""


def fields(table: Any, known: Collection[str], what: str) -> dict[str, Any]:
    """Return the values of ``table`` that are not empty. Raises InvalidSettings if it is not a table
    (``what`` says in words which table is expected), or has a name that is not in ``known``."""
    if not isinstance(table, Table):
        raise refused(table, what)
    for name in table:
        if name not in known:
            raise unknown(name, known)
    return {
        str(name): value for name, value in table.items() if not (isinstance(value, Text) and value.empty)
    }


def unknown(name: Text, known: Collection[str]) -> InvalidSettings:
    """Return the error for a name that is not in ``known``. The value is not repeated."""
    return name.origin.error(f"{str(name)[:80]!r} is not a setting.", suggest(name[:80], known))


def suggest(name: str, known: Collection[str]) -> str:
    """Return advice for an unknown ``name``: the most similar of ``known``, or all of them."""
    with_prefix = [VARIABLE_PREFIX + name.upper()] if VARIABLE_PREFIX + name.upper() in known else []
    if close := with_prefix or difflib.get_close_matches(name, known, n=1):
        return f"Did you mean {str(close[0])!r}?"
    return f"There are: {', '.join(known)}."


def _table(words: str, what: str, read: Callable[[Text, Any], Any]) -> Kind:
    """Return the kind for tables. ``read`` converts each name and value to one item of a tuple. Values that
    do not come from a file are accepted as they are."""

    def entries(written: Any) -> Any:
        if isinstance(written, Table):
            return tuple(read(*entry) for entry in written.items())
        if isinstance(written, Written):
            raise refused(written, what)
        return written

    return Kind(words, before=entries, in_yaml_only=True)


_CHUNK_SIZE, _CHUNK_OVERLAP = whole(100, 20_000), whole(0, 10_000)
_CHUNKER = word(r"[a-z][a-z0-9-]{0,39}", "the name of a chunker")


def _sizes(kind: Text, written: Any) -> tuple[str, SizeTable]:
    from rag_core.extract.filetypes import TYPE_BY_NAME, TYPE_BY_SUFFIX, added_type, packages  # brings numpy

    types = {"text", *TYPE_BY_NAME.values(), *TYPE_BY_SUFFIX.values(), *map(added_type, packages().values())}
    if kind not in types:
        advice = suggest(kind[:80], sorted(types))
        raise kind.origin.error(f"{str(kind)[:80]!r} is not a file type.", advice)
    given = fields(written, SIZES, "a table of chunk_size, chunk_overlap and chunker")
    if "chunk_size" not in given:
        raise written.origin.error(f"{kind} has no chunk_size.", "Write one, like 'chunk_size: 1000'.")
    size = _CHUNK_SIZE.read(given["chunk_size"])
    overlap = size // 5
    if "chunk_overlap" in given:
        overlap = _CHUNK_OVERLAP.read(given["chunk_overlap"])
        check_overlap(size, overlap, given["chunk_overlap"].origin)
    chunker = (_CHUNKER.read(given["chunker"]),) if "chunker" in given else ()
    return str(kind), (size, overlap, *chunker)


def check_overlap(size: int, overlap: int, origin: Origin) -> None:
    """Raise InvalidSettings unless the overlap is less than the size. ``origin`` is the place of the overlap,
    which the error names."""
    if overlap >= size:
        problem = f"{origin.name} is {overlap}, which is not less than the chunk_size of {size}."
        raise origin.error(problem, "Make it smaller, such as a fifth of the chunk_size.")


ChunkSize = Annotated[int, _CHUNK_SIZE]
ChunkOverlap = Annotated[int, _CHUNK_OVERLAP]
_SIZED = _table(
    "file types, each with `chunk_size`, `chunk_overlap` and `chunker`", "a table of file types", _sizes
)
Chunking = Annotated[tuple[tuple[str, SizeTable], ...], _SIZED]

_PROMPT = word(r"[^\x00-\x08\x0b-\x1f\x7f]{0,500}", "a text of at most 500 characters")
_LABEL = word(r"[\w\s.:/=+\-@]{1,256}", "1 to 256 letters, digits, spaces and _.:/=+-@")


def _prompts(embedder: Text, written: Any) -> tuple[str, tuple[str, str]]:
    name = EMBEDDER.read(Text(embedder, embedder.origin.at(embedder.origin.line, "The embedder")))
    given = fields(written, PROMPTS, "a table of query and document")
    return name, (_PROMPT.read(given.get("query", "")), _PROMPT.read(given.get("document", "")))


_PROMPTED = _table("embedders, each with `query` and `document`", "a table of embedders", _prompts)
_LABELLED = _table("names, each with a text", "a table of texts", lambda *pair: tuple(map(_LABEL.read, pair)))
PromptTable = Annotated[tuple[tuple[str, tuple[str, str]], ...], _PROMPTED]
Labels = Annotated[tuple[tuple[str, str], ...], _LABELLED]


@dataclass(frozen=True, slots=True)
class DeclaredFolder:
    """A folder of a declared store, with the globs of its files."""

    root: Path
    include: tuple[str, ...] = EVERYTHING
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DeclaredStore:
    """A store that is created when the app starts, unless it exists. If ``embedder`` or ``backend`` is None,
    the general setting applies."""

    name: str
    embedder: str | None = None
    folders: tuple[DeclaredFolder, ...] = ()
    backend: str | None = None


def _folder(written: Any) -> DeclaredFolder:
    """Read a declared folder: a path alone, or a table with ``root`` and globs."""
    if isinstance(written, Text):
        return DeclaredFolder(FOLDER.read(written))
    given = fields(written, FOLDERS, "a table of root, include and exclude")
    if "root" not in given:
        raise written.origin.error("This folder has no root.", "Write its path, like 'root: ~/notes'.")
    include, exclude = (_globs(given.get(name, ())) for name in ("include", "exclude"))
    return DeclaredFolder(FOLDER.read(given["root"]), include or EVERYTHING, exclude)


def _globs(written: Any) -> tuple[str, ...]:
    from rag_core.files import validate_globs

    globs: list[str] = []
    for item in as_list(written):
        if not isinstance(item, Text):
            raise refused(item, "a pattern")
        try:
            globs += validate_globs([str(item)])
        except InvalidInput as error:
            raise item.origin.error(error.message, error.suggestion) from None
    return tuple(globs)


def _store(name: Text, written: Any) -> DeclaredStore:
    empty = isinstance(written, Text) and written.empty
    given = {} if empty else fields(written, STORES, "a table of embedder, backend and folders")
    return DeclaredStore(
        STORE.read(Text(name, name.origin.at(name.origin.line, "The store's name"))),
        EMBEDDER.read(given["embedder"]) if "embedder" in given else None,
        tuple(map(_folder, as_list(given.get("folders", ())))),
        BACKEND.read(given["backend"]) if "backend" in given else None,
    )


_DECLARED = _table("store names, each with `embedder` and `folders`", "a table of stores", _store)
Stores = Annotated[tuple[DeclaredStore, ...], _DECLARED]


def as_written(value: Any) -> Any:
    """Convert the value of a setting to JSON types. Tables have the same names as in config.yaml."""
    match value:
        case Path():
            return str(value)
        case DeclaredStore() | DeclaredFolder():
            parts = (part.name for part in dataclasses.fields(value) if part.name != "name")
            return {name: as_written(getattr(value, name)) for name in parts}
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
