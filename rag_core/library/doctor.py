"""The installation and the stores, looked at from outside: what works, and what to do where not."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from rag_core.errors import EmbedderError, ExtractError, RagError
from rag_core.extensions import Extension
from rag_core.extract import Worker
from rag_core.extract.chunkers import installed_chunkers
from rag_core.extract.filetypes import added_type, packages
from rag_core.models import Embedder
from rag_core.models.embedder import providers
from rag_core.reports import Step
from rag_core.types import StoreInfo
from rag_core.vectors.foreign import backend_of, backends
from rag_core.wording import plural, size

_LITTLE_SPACE = 1_000_000_000


def installation(data_dir: Path, open_model: Callable[[], Embedder]) -> list[Step]:
    """Python, SQLite, the data folder and the built-in model, which is loaded once. Writes nothing."""
    system = f"{platform.system()} {platform.machine()}, SQLite {sqlite3.sqlite_version}"
    steps = [Step("ok", f"Python {platform.python_version()} on {system}.")]
    there = next(parent for parent in (data_dir, *data_dir.parents) if os.path.lexists(parent))
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        free = shutil.disk_usage(there).free
        said = f"The data folder is {str(data_dir)!r}, with {size(free)} free."
        steps.append(Step("note" if free < _LITTLE_SPACE else "ok", said))
    else:
        steps.append(
            Step("no", f"The data folder {str(data_dir)!r} cannot be written. Check its permissions.")
        )
    try:
        steps.append(Step("ok", f"The built-in model is ready: {open_model().identity}."))
    except RagError as error:
        steps.append(Step("no", f"{error} Until then search goes by words."))
    return steps


def extensions(timeout_s: float) -> list[Step]:
    """What installed packages add, each imported once to see whether it works, for ``timeout_s`` at most."""
    with closing(Worker(timeout_s)) as worker:
        groups: Sequence[tuple[dict[str, Extension], str, Callable[[Extension], object]]] = (
            (packages(), "reads files ending in '{}' as {}", worker.load),
            (installed_chunkers(), "adds the chunker '{}'", lambda each: each.load(ExtractError)),
            (providers(), "adds the embedders '{}:…'", lambda each: each.load(EmbedderError)),
            (backends(), "adds the vector index '{}'", backend_of),
        )
        steps = []
        for group, adds, load in groups:
            for name, each in group.items():
                does = adds.format(name, added_type(each))
                try:
                    load(each)
                    steps.append(Step("ok", f"The package {each} {does} (commonplace.{each.kind})."))
                except RagError as error:
                    steps.append(Step("no", str(error)))
        return steps


def store(name: str, look: Callable[[], StoreInfo]) -> list[Step]:
    """One store by its own counts, and whether its folders are there."""
    try:
        info = look()
    except RagError as error:
        return [Step("no", str(error))]
    counts = f"{plural(info.chunk_count, 'passage')} of {plural(info.file_count, 'file')}"
    notes = []
    if info.failed:
        see = f"See its Index page, or `commonplace list --store {name} --state failed`."
        notes.append(f"{plural(info.failed, 'file')} could not be read. {see}")
    if info.pending:
        notes.append(f"{plural(info.pending, 'text')} still to be embedded. Index it again.")
    notes += [
        f"the folder {source.root!r} is not there. Mount its disk or remove it."
        for source in info.sources
        if not (source.paused or source.removed or os.path.isdir(source.root))  # noqa: PTH112  (no error)
    ]
    said = [Step("note", f"Store {name!r}: {note}") for note in notes]
    return [Step("ok", f"Store {name!r} opens: {counts}."), *said]
