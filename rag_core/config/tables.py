"""The tables of config.yaml: names checked against what is known, then ``chunking`` and ``stores``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rag_core.config.keys import (
    BACKEND,
    CHUNK_OVERLAP,
    CHUNK_SIZE,
    EMBEDDER,
    LABEL,
    PROMPT,
    STORE,
    meant,
    suggest,
)
from rag_core.config.kinds import Folder
from rag_core.config.origin import Origin
from rag_core.config.settings import EVERYTHING, DeclaredFolder, DeclaredStore, Size, sizes
from rag_core.config.tree import Node, Scalar, Table
from rag_core.config.values import from_node, from_text, listed, refused
from rag_core.errors import InvalidInput

Fields = dict[str, tuple[Node, Origin]]
"""Canonical name → what is written there and where."""

_SIZES = {"chunk_size": "chunk_size", "chunk_overlap": "chunk_overlap"}
_PROMPTS = {"query": "query", "document": "document", "passage": "document"}
_STORE = {
    "embedder": "embedder",
    "embedding_model": "embedder",
    "backend": "backend",
    "store_type": "backend",
    "folders": "folders",
}
_FOLDER = {"root": "root", "include": "include", "exclude": "exclude", "ignore": "exclude"}
_ELSEWHERE = {
    "data_dir": "The environment variable COMMONPLACE_HOME says where everything is kept.",
    "exclude": "Each folder has its own: `commonplace source edit NUMBER --exclude GLOB`, or below 'stores'.",
}
"""Where something is said that is looked for among the settings."""


def fields(node: Node, origin: Origin, known: Mapping[str, str], what: str) -> Fields:
    """The entries of a table under their canonical names; ``known`` maps every name to that.

    Raises InvalidInput when ``node`` is no table, for an unknown name, and for two that mean the same.
    """
    found: Fields = {}
    for name, value in _entries(node, origin, what):
        place = origin.at(name.line, name.text)
        if name.text not in known:
            raise unknown(name.text, place, known, flat_names(name.text, value, known))
        canonical = known[name.text]
        if canonical in found:
            raise place.error(
                f"{name.text} and {found[canonical][1].name} mean the same", "Remove one of them."
            )
        found[canonical] = value, place
    return {name: each for name, each in found.items() if not _is_null(each[0])}


def unknown(name: str, origin: Origin, known: Mapping[str, str], meant: Sequence[str] = ()) -> InvalidInput:
    """The error for a name that is not known; what it is set to is not looked at. ``meant``: the names that
    stand for it."""
    advice = f"Names do not nest: write {' and '.join(map(repr, meant))} instead." if meant else ""
    advice = advice or _ELSEWHERE.get(name, "") or suggest(name[:80], known)
    return origin.error(f"{name[:80]!r} is not a setting", advice)


def flat_names(name: str, node: Node, known: Mapping[str, str]) -> list[str]:
    """What ``name`` with a table below it stands for where settings have no groups."""
    if not isinstance(node, Table):
        return []
    return [
        meant for inner, _ in node.entries for meant in (f"{name}_{inner.text}", inner.text) if meant in known
    ]


def read_chunking(node: Node, origin: Origin) -> tuple[tuple[str, Size], ...]:
    """(file type, its sizes) of every line of ``chunking``."""
    from rag_core.extract.claims import claims  # only now: it brings numpy
    from rag_core.extract.filetypes import TYPE_BY_NAME, TYPE_BY_SUFFIX

    types = {kind: kind for kind in sorted({"text", *TYPE_BY_NAME.values(), *TYPE_BY_SUFFIX.values()})}
    found = []
    for name, value in _entries(node, origin, "file types"):
        place = origin.at(name.line, name.text)
        if name.text not in types:
            types |= {claim.file_type: claim.file_type for claim in claims().values()}
        if name.text not in types:
            raise place.error(f"{name.text[:80]!r} is not a file type", suggest(name.text[:80], types))
        found.append((name.text, _sizes(value, place)))
    return tuple(found)


def _sizes(node: Node, origin: Origin) -> Size:
    written = fields(node, origin, _SIZES, "chunk_size and chunk_overlap")
    if "chunk_size" not in written:
        raise origin.error(f"{origin.name} has no chunk_size", "Write one, like 'chunk_size: 1000'.")
    size = from_node(CHUNK_SIZE, *written["chunk_size"])
    if "chunk_overlap" not in written:
        return sizes(size, None)
    overlap = from_node(CHUNK_OVERLAP, *written["chunk_overlap"])
    check_overlap(size, overlap, written["chunk_overlap"][1])
    return size, overlap


def check_overlap(size: int, overlap: int, origin: Origin) -> None:
    """Raises InvalidInput unless the overlap is less than the size."""
    if overlap >= size:
        raise origin.error(
            f"{origin.name} is {overlap}, which is not less than the chunk_size of {size}",
            "Make it smaller, or leave it out for a fifth.",
        )


def read_prompts(node: Node, origin: Origin) -> tuple[tuple[str, tuple[str, str]], ...]:
    """(embedder, (in front of a query, in front of a passage)) of every line of ``prompts``."""
    found = []
    for name, value in _entries(node, origin, "embedders"):
        place = origin.at(name.line, name.text)
        from_text(EMBEDDER, name.text, origin.at(name.line, "The embedder"))
        written = fields(value, place, _PROMPTS, "query and document")
        query, document = (
            from_node(PROMPT, *written[each]) if each in written else "" for each in ("query", "document")
        )
        found.append((name.text, (query, document)))
    return tuple(found)


def read_labels(node: Node, origin: Origin) -> tuple[tuple[str, str], ...]:
    """(name, text) of every line of a table of texts."""
    found = []
    for name, value in _entries(node, origin, "texts"):
        place = origin.at(name.line, name.text)
        found.append((from_text(LABEL, name.text, place), from_node(LABEL, value, place)))
    return tuple(found)


def read_stores(node: Node, origin: Origin) -> tuple[DeclaredStore, ...]:
    """The stores that ``stores`` declares."""
    found: dict[str, DeclaredStore] = {}
    for name, value in _entries(node, origin, "stores"):
        place = origin.at(name.line, "The store's name")
        from_text(STORE, name.text, place)
        if name.text.casefold() in found:
            raise place.error(f"{name.text} differs from another store only in case", "Rename one of them.")
        found[name.text.casefold()] = _store(name.text, value, origin.at(name.line, name.text))
    return tuple(found.values())


def _store(name: str, node: Node, origin: Origin) -> DeclaredStore:
    if _is_null(node):
        return DeclaredStore(name)
    written = fields(node, origin, _STORE, "embedder, backend and folders")
    embedder, backend = (
        from_node(kind, as_meant(*written[key]), written[key][1]) if key in written else None
        for key, kind in (("embedder", EMBEDDER), ("backend", BACKEND))
    )
    if "folders" not in written:
        return DeclaredStore(name, embedder, backend=backend)
    folders, place = written["folders"]
    return DeclaredStore(name, embedder, tuple(_folder(each, place) for each in listed(folders)), backend)


def as_meant(node: Node, origin: Origin) -> Node:
    """A value that was written as another tool has it, as it is written here."""
    return replace(node, text=meant(origin.name, node.text)) if isinstance(node, Scalar) else node


def _folder(node: Node, origin: Origin) -> DeclaredFolder:
    """A folder alone, or one with its globs."""
    place = origin.at(node.line, "root")
    if isinstance(node, Scalar):
        return DeclaredFolder(from_node(Folder(), node, place))
    written = fields(node, place, _FOLDER, "root, include and exclude")
    if "root" not in written:
        raise place.error("This folder has no root", "Write one, like 'root: ~/notes'.")
    include, exclude = (_globs(*written[name]) if name in written else () for name in ("include", "exclude"))
    return DeclaredFolder(from_node(Folder(), *written["root"]), include or EVERYTHING, exclude)


def _globs(node: Node, origin: Origin) -> tuple[str, ...]:
    from rag_core.files import validate_globs

    globs: list[str] = []
    for item in listed(node):
        place = origin.at(item.line, origin.name)
        if not isinstance(item, Scalar):
            raise refused("a pattern", item, place)
        try:
            globs += validate_globs([item.text])
        except InvalidInput as error:
            raise place.error(error.message.removesuffix("."), error.suggestion) from None
    return tuple(globs)


def _entries(node: Node, origin: Origin, what: str) -> tuple[tuple[Scalar, Node], ...]:
    if not isinstance(node, Table):
        raise refused(f"a table of {what}", node, origin)
    return node.entries


def _is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.is_null
