"""Upkeep: checking and repairing stores, explaining why a file is not found, checking the installation, and
changing its settings."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rag_core.errors import EmbedderError, ExtractError, RagError, StoreError
from rag_core.extensions import Extension
from rag_core.extract import Worker
from rag_core.extract.chunkers import installed_chunkers
from rag_core.extract.filetypes import added_type, packages
from rag_core.files import current_folder, expanded, shared_by
from rag_core.index.repair import repair
from rag_core.library import diagnosis
from rag_core.library.placement import compare_index
from rag_core.library.searching import MAX_TOP_K, Searching
from rag_core.library.service import Service, Shared
from rag_core.library.stores import Stores
from rag_core.models import DEFAULT_EMBEDDER, Embedder
from rag_core.models.embedder import parse_name
from rag_core.providers import added_embedders, added_vector_indexes
from rag_core.reports import VECTOR_INDEX, Diagnosis, DiagnosisStep, Health, Repair
from rag_core.store.health import check
from rag_core.store.problems import problems_in_store
from rag_core.types import StoreInfo, Viewer
from rag_core.vectors.foreign import package_backend
from rag_core.wording import contents, on_shared_disk, plural, size

if TYPE_CHECKING:
    from rag_core.config import Settings  # brings pydantic, which commands need only for settings

_LITTLE_SPACE = 1_000_000_000  # bytes


_COPY = (
    "Store {copy!r} is a copy of the file of store {name!r}, perhaps one that a cloud made of a conflict."
    " Searches leave it out. Delete the one that you do not need: `commonplace store delete {copy}`."
)
_MISNAMED = (
    "The file {file!r} in {folder!r} is a copy of the file of store {name!r}, perhaps one that a cloud made"
    " of a conflict. Searches leave it out. Delete it. To see what is in it, rename it to letters, digits and"
    " hyphens first; then name it with --store."
)
_STRAY = (
    "The file {file!r} in {folder!r} is a store, but no store can have its name. To use it, rename it to"
    " letters, digits and hyphens."
)


class Upkeep(Service):
    """Checks and repairs stores."""

    def __init__(self, shared: Shared, stores: Stores, searching: Searching) -> None:
        super().__init__(shared)
        self._all = stores
        self._searching = searching

    def verify(
        self,
        viewer: Viewer,
        store: str,
        *,
        files: bool = False,
        report: Callable[[int, int], None] | None = None,
    ) -> Health:
        """Check a store for errors. With ``files``, also compare its documents with their files. ``report``
        is called with the number of finished checks and of all checks, and may raise to cancel. Raises
        StoreError if the store cannot be read."""
        opened = self._stores.open(viewer, store).store
        health = check(opened, files=files, report=report)
        if health.sound and (compared := compare_index(self._stores, opened)):
            checks = (*health.checks, VECTOR_INDEX)
            return replace(health, checks=checks, findings=(*health.findings, *compared))
        return health

    def repair(self, viewer: Viewer, store: str) -> Repair:
        """Rebuild a damaged store from its folders, keeping intact vectors and the owner's decisions. An
        undamaged store is not changed.

        Raises StoreBusy during a job, and StoreError if its folders are missing or the disk is full. In these
        cases the store is not changed.
        """
        self._stores.require(viewer, store)
        self._stores.require_own_disk()
        return repair(
            self._stores.path(store),
            self._embedders.renewed,
            self._shared.limits(store),
            self._shared.priority,
            partial(self._stores.close_one, store),
        )

    def explain(
        self,
        viewer: Viewer,
        path: str,
        names: Sequence[str] = (),
        *,
        query: str = "",
        here: Path | None = None,
    ) -> list[Diagnosis]:
        """Explain why the file ``path`` is found or not, in each of the named stores (none: all). ``path`` is
        absolute, relative to ``here``, or a store's name for the file.

        With ``query``, also return the rank of the file's best passage among the first 1,000 hits.
        """
        here = here or (Path(os.sep) if expanded(path).is_absolute() else current_folder())
        wanted = dict.fromkeys(names or self._stores.names(viewer))
        diagnoses = [self._explained(viewer, name, path, here) for name in wanted]
        if any(explained.steps[1:] for explained in diagnoses):
            diagnoses = [explained for explained in diagnoses if not diagnosis.is_elsewhere(explained)]
        return [
            self._ranked(viewer, explained, query) if query and explained.findable else explained
            for explained in diagnoses
        ]

    def _explained(self, viewer: Viewer, name: str, path: str, here: Path) -> Diagnosis:
        try:
            opened = self._stores.open(viewer, name).store
            return diagnosis.explain(
                opened, path, here, partial(self._shared.embedder_missing, opened.embedder)
            )
        except StoreError as error:  # the store that holds the file may be the damaged one
            return Diagnosis(name, path, (DiagnosisStep("no", error.message),), error.next_step)

    def _ranked(self, viewer: Viewer, explained: Diagnosis, query: str) -> Diagnosis:
        answer = self._searching.search(
            viewer, query, [explained.store], top_k=MAX_TOP_K, min_score=0.0, max_tokens=sys.maxsize
        )
        hits = (hit for hit in answer.hits if hit.store == explained.store)  # the query may name another
        hit = next((h for h in hits if explained.path in (h.document.path, *h.copies)), None)
        if hit is None:
            return replace(explained, query=query)
        return replace(explained, query=query, rank=hit.rank, score=hit.score, relevant=hit.relevant)

    def change_setting(self, viewer: Viewer, name: str, value: str | float | bool | None) -> Settings:
        """Write a setting into config.yaml (None: restore its default), and return the new settings. This
        library keeps its settings; a library opened later uses the new ones.

        Raises InvalidInput if the setting is unknown, secret or set elsewhere, and InvalidSettings for a
        value that is not allowed.
        """
        from rag_core.config.change import change

        return change(name, value)

    def doctor(self, viewer: Viewer) -> list[DiagnosisStep]:
        """Check the installation: Python, SQLite, folders, the model for new stores, extensions, stores.
        Return a step for each check, which is a problem if its state is ``no``."""
        chosen = self._settings.embedder
        name = chosen if parse_name(chosen).row.shape else DEFAULT_EMBEDDER
        steps = _installation(self._settings.data_dir, partial(self._embedders.get, name))
        steps += _extensions(self._settings.extractor_timeout_s)
        try:
            names = self._stores.names(viewer)
        except StoreError as error:
            return [*steps, DiagnosisStep("no", str(error))]
        for copy, name in self._stores.copies(viewer).items():
            steps.append(DiagnosisStep("no", _COPY.format(copy=copy, name=name)))
        folder = str(self._settings.store_dir)
        for file, name in self._stores.misnamed(viewer).items():
            said = (_MISNAMED if name else _STRAY).format(file=file, folder=folder, name=name)
            steps.append(DiagnosisStep("no", said))
        steps += [DiagnosisStep("no", lost)] if (lost := self._all.lost_default(viewer)) else []
        for name in names:
            steps += _store(name, partial(self._shared.info, viewer, name))
            steps += self._read_in_part(viewer, name)
        return steps

    def _read_in_part(self, viewer: Viewer, name: str) -> list[DiagnosisStep]:
        """Return a note if some documents of a store were read only in part."""
        try:
            with self._stores.open(viewer, name).store.read() as db:
                groups = [each for each in problems_in_store(db) if each.kind == "in part"]
        except RagError:  # already reported
            return []
        if not groups:
            return []
        count = plural(sum(each.count for each in groups), "document")
        example = f"{groups[0].files[0]!r}: {groups[0].reason}"
        note = f"Store {name!r}: only a part could be read of {count}, such as {example} See its Index page."
        return [DiagnosisStep("note", note)]


def _installation(data_dir: Path, open_model: Callable[[], Embedder]) -> list[DiagnosisStep]:
    """Check Python, SQLite, the data folder and a built-in model, which is loaded once. Nothing is
    written."""
    system = f"{platform.system()} {platform.machine()}, SQLite {sqlite3.sqlite_version}"
    steps = [DiagnosisStep("ok", f"Python {platform.python_version()} on {system}.")]
    there = next(parent for parent in (data_dir, *data_dir.parents) if os.path.lexists(parent))
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        free = shutil.disk_usage(there).free
        sentence = f"The data folder is {str(data_dir)!r}, with {size(free)} free."
        steps.append(DiagnosisStep("note" if free < _LITTLE_SPACE else "ok", sentence))
    else:
        steps.append(
            DiagnosisStep(
                "no", f"The data folder {str(data_dir)!r} cannot be written. Check its permissions."
            )
        )
    if service := shared_by(data_dir):
        steps.append(DiagnosisStep("note", on_shared_disk(data_dir, service)))
    try:
        steps.append(DiagnosisStep("ok", f"The built-in model is ready: {open_model().identity}."))
    except RagError as error:
        steps.append(DiagnosisStep("no", f"{error} Until then, searches find words only."))
    return steps


def _extensions(timeout_s: float) -> list[DiagnosisStep]:
    """Import each extension of installed packages once, for at most ``timeout_s`` seconds, to check that it
    works."""
    with closing(Worker(timeout_s)) as worker:
        embedders = {name: row.extension for name, row in added_embedders().items()}
        indexes = {name: row.extension for name, row in added_vector_indexes().items()}
        groups: Sequence[tuple[dict[str, Extension], str, Callable[[Extension], object]]] = (
            (packages(), "The package {package} reads files that end in '{name}' as {type}", worker.load),
            (
                installed_chunkers(),
                "The package {package} adds the chunker '{name}'",
                lambda extension: extension.load(ExtractError),
            ),
            (
                embedders,
                "The package {package} adds the embedders '{name}:…'",
                lambda extension: extension.load(EmbedderError),
            ),
            (indexes, "The package {package} adds the vector index '{name}'", package_backend),
        )
        steps = []
        for group, sentence, load in groups:
            for name, extension in group.items():
                adds = sentence.format(package=extension, name=name, type=added_type(extension))
                try:
                    load(extension)
                    steps.append(DiagnosisStep("ok", f"{adds} (commonplace.{extension.kind})."))
                except RagError as error:
                    steps.append(DiagnosisStep("no", str(error)))
        return steps


def _store(name: str, look: Callable[[], StoreInfo]) -> list[DiagnosisStep]:
    """Check one store: its counts, and whether its folders exist."""
    try:
        info = look()
    except RagError as error:
        return [DiagnosisStep("no", str(error))]
    counts = contents(info.chunk_count, info.file_count)
    notes = []
    if info.failed:
        see = f"See its Index page, or `commonplace list --store {name} --state failed`."
        notes.append(f"{plural(info.failed, 'file')} could not be read. {see}")
    if info.pending:
        notes.append(f"{plural(info.pending, 'text')} still to be embedded. Index it again.")
    notes += [
        f"The folder {source.root!r} is not there. Mount its disk or remove it."
        for source in info.sources
        if not (source.paused or source.removed or os.path.isdir(source.root))  # noqa: PTH112  (no error)
    ]
    notes_of_store = [DiagnosisStep("note", f"Store {name!r}: {note}") for note in notes]
    opens = f"Store {name!r} opens: {counts}. `commonplace verify --store {name}` checks its file for damage."
    return [DiagnosisStep("ok", opens), *notes_of_store]
