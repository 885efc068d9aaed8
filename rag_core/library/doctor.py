"""The installation and the stores, looked at from outside: what works, and what to do where not."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rag_core.errors import EmbedderError, ExtractError, RagError
from rag_core.extensions import Extension
from rag_core.extract import Worker
from rag_core.extract.chunkers import installed_chunkers
from rag_core.extract.filetypes import added_type, packages
from rag_core.models.embedders import Embedder
from rag_core.models.embedders.options import providers
from rag_core.models.servers.addresses import destination
from rag_core.reports import Person, Step, Tailscale
from rag_core.types import StoreInfo
from rag_core.vectors.foreign import backend_of, backends
from rag_core.wording import plural, size

_OLDEST_PYTHON = (3, 11)
_LITTLE_SPACE = 1_000_000_000


def installation(data_dir: Path, open_model: Callable[[], Embedder]) -> list[Step]:
    """Python, SQLite, the data folder and the built-in model, which is loaded once. Writes nothing."""
    return [_python(), _sqlite(), _data_folder(data_dir), _model(open_model)]


def extensions(timeout_s: float) -> list[Step]:
    """What installed packages add, each imported once to see whether it works, for ``timeout_s`` at most."""
    with Worker(timeout_s) as worker:
        return [
            *(
                _extension(each, f"reads files ending in {suffix!r} as {added_type(each)}", worker.load)
                for suffix, each in packages().items()
            ),
            *(
                _extension(each, f"adds the chunker {name!r}", lambda each: each.load(ExtractError))
                for name, each in installed_chunkers().items()
            ),
            *(
                _extension(each, f"adds the embedders '{name}:…'", lambda each: each.load(EmbedderError))
                for name, each in providers().items()
            ),
            *(
                _extension(each, f"adds the vector index {name!r}", backend_of)
                for name, each in backends().items()
            ),
        ]


def _extension(extension: Extension, adds: str, load: Callable[[Extension], object]) -> Step:
    try:
        load(extension)
    except RagError as error:
        return Step("no", str(error))
    return Step("ok", f"The package {extension} {adds} (commonplace.{extension.kind}).")


def _python() -> Step:
    sentence = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}."
    if sys.version_info < _OLDEST_PYTHON:
        return Step("no", f"{sentence} Commonplace needs 3.11 or newer.")
    return Step("ok", sentence)


def _sqlite() -> Step:
    db = sqlite3.connect(":memory:")
    try:
        db.execute("CREATE VIRTUAL TABLE words USING fts5 (text)")
    except sqlite3.OperationalError as error:
        return Step(
            "no", f"SQLite {sqlite3.sqlite_version} has no full-text search ({error}). Use another Python."
        )
    finally:
        db.close()
    return Step("ok", f"SQLite {sqlite3.sqlite_version} with full-text search.")


def _data_folder(folder: Path) -> Step:
    there = next(parent for parent in (folder, *folder.parents) if os.path.lexists(parent))
    if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
        return Step("no", f"The data folder {str(folder)!r} cannot be written. Check its permissions.")
    free = shutil.disk_usage(there).free
    sentence = f"The data folder is {str(folder)!r}, with {size(free)} free."
    return Step("note" if free < _LITTLE_SPACE else "ok", sentence)


def _model(open_model: Callable[[], Embedder]) -> Step:
    try:
        identity = open_model().identity
    except RagError as error:
        return Step("no", f"{error} Until then search goes by words.")
    return Step("ok", f"The built-in model is ready: {identity}.")


def embedder(name: str, open_it: Callable[[], Embedder], used_by: Sequence[str]) -> Step:
    """An embedder that stores use or new ones get, opened: a server is asked for its model."""
    stores = f" Stores that use it: {', '.join(used_by)}." if used_by else ""
    try:
        opened = open_it()
    except RagError as error:
        return Step("no" if used_by else "note", f"The embedder {name!r} cannot be had. {error}{stores}")
    where = f" at {opened.server}" if opened.server else ""
    return Step(
        "ok", f"The embedder {opened.identity}{where} is ready; text {destination(opened.server)}.{stores}"
    )


def sharing(people: Callable[[], Sequence[Person]], look: Callable[[], Tailscale]) -> list[Step]:
    """Whether those who may come in find the way here; nothing where nobody may."""
    try:
        if not people():
            return []
    except RagError as error:
        return [Step("no", str(error))]
    found = look()
    warnings = [Step("note", warning) for warning in found.warnings]
    if found.forwards:
        return [Step("ok", f"Those who may come in find this app at {found.address}"), *warnings]
    see = "`commonplace share status` says what to do."
    return [Step("note", f"Those who may come in find no way here. {found.sentence} {see}"), *warnings]


def store(name: str, look: Callable[[], StoreInfo]) -> list[Step]:
    """One store by its own counts, and whether its folders are there."""
    try:
        info = look()
    except RagError as error:
        return [Step("no", str(error))]
    counts = f"{plural(info.chunk_count, 'passage')} of {plural(info.file_count, 'file')}"
    steps = [Step("ok", f"Store {name!r} opens: {counts}.")]
    if info.failed:
        failed = plural(info.failed, "file")
        see = f"See its Index page, or `commonplace list --store {name} --state failed`."
        steps.append(Step("note", f"Store {name!r}: {failed} could not be read. {see}"))
    if info.pending:
        waiting = plural(info.pending, "text")
        steps.append(Step("note", f"Store {name!r}: {waiting} still to be embedded. Index it again."))
    steps += [
        Step("note", f"Store {name!r}: the folder {source.root!r} is not there. Mount its disk or remove it.")
        for source in info.sources
        if not (source.paused or source.removed or os.path.isdir(source.root))  # noqa: PTH112  (no error)
    ]
    return steps
