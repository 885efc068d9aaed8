"""Upkeep: checking and mending stores, explaining why a file is not found, checking the installation."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from rag_core.errors import StoreError
from rag_core.files import current_folder, expanded
from rag_core.index.repair import repair
from rag_core.library import diagnosis, doctor
from rag_core.library.placement import compare_index
from rag_core.library.searching import MAX_TOP_K, Searching
from rag_core.library.service import Service, Shared
from rag_core.library.sharing import Sharing
from rag_core.library.stores import Stores
from rag_core.models.embedders import DEFAULT_EMBEDDER, asks_others, full_name
from rag_core.reports import VECTOR_INDEX, Diagnosis, Health, Repair, Step
from rag_core.store.health import check
from rag_core.types import Viewer


class Upkeep(Service):
    """Checks and mends stores."""

    def __init__(self, shared: Shared, stores: Stores, searching: Searching, sharing: Sharing) -> None:
        super().__init__(shared)
        self._all = stores
        self._searching = searching
        self._sharing = sharing

    def verify(
        self,
        viewer: Viewer,
        store: str,
        *,
        files: bool = False,
        report: Callable[[int, int], None] | None = None,
    ) -> Health:
        """Check every promise of a store; ``files`` also compares its documents with their files.

        ``report`` hears how many checks were made, of how many, and what it raises ends them.
        Raises StoreError when it is too damaged to be read.
        """
        opened = self._stores.open(viewer, store).store
        found = check(opened, files=files, report=report)
        if found.sound and (compared := compare_index(self._stores, opened)):
            checks = (*found.checks, VECTOR_INDEX)
            return replace(found, checks=checks, findings=(*found.findings, *compared))
        return found

    def repair(self, viewer: Viewer, store: str) -> Repair:
        """Make a damaged store anew: its folders are read into a new file, which takes over the vectors that
        are whole and the owner's decisions. A sound one stays as it is.

        Raises StoreBusy while it is being indexed, StoreError when its folders are not there or the disk is
        full; the store is then as it was.
        """
        self._stores.require(viewer, store)
        return repair(
            self._stores.path(store),
            lambda new: self._embedders.renewed(new.target_embedder),
            self._shared.limits(),
            self._shared.priority,
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
        """Why the file ``path`` is found or not, in each of the named stores (none: all).

        ``path`` is absolute, relative to ``here``, or as a store calls it. With ``query`` also
        which place its best passage has among the first 1000 hits, if there is any to be found.
        """
        here = here or (Path(os.sep) if expanded(path).is_absolute() else current_folder())
        wanted = dict.fromkeys(names or self._stores.names(viewer))
        found = [self._explained(viewer, name, path, here) for name in wanted]
        if any(each.steps[1:] for each in found):
            found = [each for each in found if not diagnosis.is_elsewhere(each)]
        elif other := self._other_store(viewer, path, here, wanted):
            found = [diagnosis.in_store(each, other) for each in found]
        return [self._ranked(viewer, each, query) if query and each.findable else each for each in found]

    def _other_store(self, viewer: Viewer, path: str, here: Path, asked: Collection[str]) -> str | None:
        """A store that was not asked about and has a folder with the file ``path``."""
        others = (name for name in self._stores.names(viewer) if name not in asked)
        return next((name for name in others if self._explained(viewer, name, path, here).findable), None)

    def _explained(self, viewer: Viewer, name: str, path: str, here: Path) -> Diagnosis:
        try:
            opened = self._stores.open(viewer, name).store
            return diagnosis.explain(
                opened, path, here, partial(self._shared.embedder_missing, opened.embedder)
            )
        except StoreError as error:  # the store that holds the file may be the damaged one
            return Diagnosis(name, path, (Step("no", error.message),), error.next_step)

    def _ranked(self, viewer: Viewer, found: Diagnosis, query: str) -> Diagnosis:
        answer = self._searching.search(
            viewer, query, [found.store], top_k=MAX_TOP_K, min_score=0.0, max_tokens=sys.maxsize
        )
        hits = (hit for hit in answer.hits if hit.store == found.store)  # the query may name another
        hit = next((h for h in hits if found.path in (h.document.path, *h.copies)), None)
        if hit:
            return replace(found, query=query, rank=hit.rank, score=hit.score, relevant=hit.relevant)
        opened = self._stores.open(viewer, found.store).store
        why = diagnosis.left_out(opened, found.path, answer.query) if found.findable else []
        return replace(found, query=query, steps=(*found.steps, *why))

    def doctor(self, viewer: Viewer) -> list[Step]:
        """The installation, checked: Python, SQLite, folders, models, what packages add, the way in for
        others, servers, stores and their folders."""
        steps = doctor.installation(self._settings.data_dir, partial(self._embedders.get, DEFAULT_EMBEDDER))
        steps += doctor.extensions(self._settings.extractor_timeout_s)
        steps += doctor.sharing(
            partial(self._sharing.people, viewer), partial(self._sharing.tailscale, viewer)
        )
        try:
            names = self._stores.names(viewer)
        except StoreError as error:
            return [*steps, Step("no", str(error))]
        steps += [Step("no", lost)] if (lost := self._all.lost_default(viewer)) else []
        used_by: dict[str, list[str]] = {name: [] for name in self._configured_embedders()}
        for name in names:
            found = doctor.store(name, partial(self._shared.info, viewer, name))
            steps += found
            if found[0].state == "ok":
                used_by.setdefault(self._stores.open(viewer, name).store.embedder, []).append(name)
        return [
            *steps,
            *(
                doctor.embedder(name, partial(self._embedders.get, name), stores)
                for name, stores in used_by.items()
                if asks_others(name)
            ),
        ]

    def _configured_embedders(self) -> list[str]:
        """The embedders that new stores get or that a server is configured for."""
        configured = [full_name(self._settings.embedder)]
        return [*configured, full_name("ollama")] if self._settings.ollama_url else configured
