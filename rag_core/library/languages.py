"""The languages of a store, and the advice to use the model for every language."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from rag_core.config.change import change
from rag_core.errors import InvalidInput, StoreBusy
from rag_core.library.jobs import Jobs
from rag_core.library.placement import Placement
from rag_core.library.service import Service, Shared
from rag_core.models.built_in import MINILM, MULTILINGUAL
from rag_core.models.built_in_install import install, is_installed
from rag_core.reports import LanguageAdvice
from rag_core.store import languages
from rag_core.store.file import generation as generation_of
from rag_core.types import Viewer

OTHERS = 0.2
"""If a larger share of a store's passages is in other languages than English, its owner gets the advice."""

_LEAST = 5  # number of passages with a known language
_MOSTLY = 0.5
# seconds between looks and number of looks for the end of a run, which ends after a file or a batch
_LOOK_S, _LOOKS = 0.2, 300

Report = Callable[[str], None]


class Languages(Service):
    """Knows the languages of stores, and lets a store switch to the model for every language."""

    def __init__(self, shared: Shared, jobs: Jobs, placement: Placement) -> None:
        super().__init__(shared)
        self._jobs, self._placement = jobs, placement
        self._known: dict[Path, tuple[int, LanguageAdvice | None]] = {}

    def advice(self, viewer: Viewer, name: str) -> LanguageAdvice | None:
        """Return the advice to use the model for every language in a store. Return None if the store's
        embedder is not the one for English, its text is mostly English, or the owner declined."""
        store = self._stores.open(viewer, name).store
        if store.target_embedder != MINILM.name:
            return None
        with store.read() as db:
            answer = languages.said(db)
            if answer == "declined":
                return None
            generation, known = generation_of(db), self._known.get(store.path)
            if known is None or known[0] != generation:
                known = self._known[store.path] = generation, self._advice(languages.languages(db))
        advice = known[1]
        return replace(advice, was_told=answer == "told") if advice else None

    def _advice(self, counts: Counter[str]) -> LanguageAdvice | None:
        others = Counter({language: count for language, count in counts.items() if language != "English"})
        total = counts.total()
        if total < _LEAST or others.total() <= OTHERS * total:
            return None
        language, count = others.most_common(1)[0]
        there = is_installed(MULTILINGUAL, self._settings.model_dir)
        return LanguageAdvice(language, count >= _MOSTLY * total, 0 if there else MULTILINGUAL.megabytes)

    def note_told(self, viewer: Viewer, name: str) -> None:
        """Record that the owner got the advice, so that commands do not repeat it."""
        with self._own(viewer, name).note() as db:
            languages.note_said(db, "told")

    def decline(self, viewer: Viewer, name: str) -> None:
        """Record that the store keeps its embedder. `advice` returns None from now on."""
        with self._own(viewer, name).note() as db:
            languages.note_said(db, "declined")

    def take(self, viewer: Viewer, name: str, report: Report = lambda _line: None) -> None:
        """Install the model for every language, let a store switch to it, and make it the default for new
        stores.

        A run of the store is stopped first, and requested again. Searches use the old vectors until all new
        vectors exist. ``report`` is called with a line about each step.

        Raises EmbedderError if the model cannot be installed, and StoreBusy if the run does not stop within a
        minute.
        """
        install(MULTILINGUAL, self._settings.model_dir, report=report)
        with suppress(InvalidInput):  # a variable decides it
            change("embedder", MULTILINGUAL.name)
        report("Switching …")
        for _ in range(_LOOKS):
            try:
                self._placement.switch(viewer, name, MULTILINGUAL.name)
                break
            except StoreBusy:
                self._jobs.cancel(viewer, name)
                time.sleep(_LOOK_S)
        else:
            self._placement.switch(viewer, name, MULTILINGUAL.name)
        self._jobs.request(viewer, name)
