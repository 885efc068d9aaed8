"""Where the time of a search goes: its steps by name, each without those inside it. Words are looked for in a
thread of their own, so these steps overlap with those for the meaning."""

from __future__ import annotations

import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any
from unittest.mock import patch

from benchmarks.process import Figures
from rag_core.library.searching import Searching
from rag_core.models.registry import SharedEmbedders
from rag_core.search import retrieve, show
from rag_core.store import document_words, embeddings, find, lexical, spelling
from rag_core.vectors import local
from rag_core.vectors.local import LocalVectors

STEPS: Sequence[tuple[str, Any, str]] = (
    ("loading the model", SharedEmbedders, "get"),
    ("vector of the query", SharedEmbedders, "vector"),
    ("loading the vectors", LocalVectors, "_follow"),
    ("nearest vectors", local, "nearest_to"),
    ("their passages", LocalVectors, "search"),
    ("their passages", find, "chunk_ids"),
    ("counts of words", lexical, "frequencies"),
    ("best by words", lexical, "by_words"),
    ("corrections", spelling, "corrections"),
    ("together or apart", spelling, "together_or_apart"),
    ("words of documents", document_words, "read"),
    ("names", find, "first_chunks"),
    ("names", find, "begun_names"),
    ("texts of candidates", lexical, "search_texts"),
    ("vectors of candidates", embeddings, "vectors_of"),
    ("weighing", retrieve, "weigh"),
    ("folding", retrieve.StoreList, "_places"),
    ("hits", show, "hits"),
    ("highlights", show, "with_highlights"),
    ("files still there", Searching, "with_file_states"),
)
"""The steps of a search: what people call them, and the function that does each."""

REST = "everything else"


class Stopwatch:
    """Milliseconds of each step of the searches under `running`."""

    def __init__(self) -> None:
        self._spent: defaultdict[str, float] = defaultdict(float)
        self._here = threading.local()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Every step is timed meanwhile."""
        with ExitStack() as patches:
            for name, owner, function in STEPS:
                patches.enter_context(
                    patch.object(owner, function, self._timed(name, getattr(owner, function)))
                )
            yield

    def of(self, do: Callable[[], object]) -> dict[str, float]:
        """The milliseconds of each step while ``do`` runs, and those of the rest."""
        self._spent.clear()
        self._timed(REST, do)()
        return dict(self._spent)

    def _timed(self, name: str, do: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(do)
        def timed(*values: Any, **named: Any) -> Any:
            inside: list[float] = self._here.__dict__.setdefault("inside", [])
            inside.append(0.0)
            started = time.perf_counter()
            try:
                return do(*values, **named)
            finally:
                took = (time.perf_counter() - started) * 1000
                self._spent[name] += took - inside.pop()
                if inside:
                    inside[-1] += took

        return timed


def medians(runs: Mapping[str, Sequence[Mapping[str, float]]]) -> Figures:
    """Step → kind of run → its median in milliseconds, the steps that take longest first."""
    names = dict.fromkeys((*(name for name, _, _ in STEPS), REST))
    found: Figures = {}
    for name in names:
        found[name] = {
            kind: round(statistics.median(run.get(name, 0.0) for run in each), 1)
            for kind, each in runs.items()
        }
    return dict(sorted(found.items(), key=lambda item: -max(item[1].values())))


def table(steps: Figures) -> list[str]:
    """What `medians` found as lines of a table."""
    kinds = list(next(iter(steps.values())))
    rows = [f"{'where the milliseconds go':<26}" + "".join(f"{kind:>9}" for kind in kinds)]
    for name, figures in steps.items():
        rows.append(f"{name:<26}" + "".join(f"{figures[kind]:>9}" for kind in kinds))
    return rows
