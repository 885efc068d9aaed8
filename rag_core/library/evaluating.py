"""How well searches find the documents known to be relevant. A golden set lists queries in YAML:

queries:
- query: which queue did we choose
  store: notes                           # optional
  relevant: [work/queue.md, 9f2c…]       # paths of documents, or ids of passages in them
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from textwrap import indent
from typing import Any

import yaml

from rag_core import system
from rag_core.errors import InvalidInput, NotFound
from rag_core.library.documents import Documents
from rag_core.library.searching import Searching
from rag_core.library.service import Service, Shared
from rag_core.reports import Evaluation, JudgedQuery
from rag_core.search.query import asked
from rag_core.types import Mode, Viewer

DEPTH = 20
"""Number of results that are compared with the golden set."""


class Evaluating(Service):
    """Measures search quality with a golden set; only for the owner."""

    def __init__(self, shared: Shared, searching: Searching, documents: Documents) -> None:
        super().__init__(shared)
        self._searching = searching
        self._documents = documents

    @property
    def usual_file(self) -> Path:
        """The path of the default golden set."""
        return self._settings.data_dir / "golden.yaml"

    def evaluate(
        self,
        viewer: Viewer,
        file: Path | None = None,
        stores: Sequence[str] = (),
        *,
        mode: Mode | None = None,
    ) -> Evaluation:
        """Search for each query of a golden set (None: `usual_file`) and compare the results with the
        previous evaluation. Raises InvalidInput if the file is not a golden set."""
        file = file or self.usual_file
        golden = _golden(_text(file), file)
        judged = [
            self._judged(viewer, query, relevant, [store] if store else stores, mode)
            for (query, store), relevant in golden.items()
        ]
        kept = (
            self._settings.data_dir / "evaluations" / f"{sha256(bytes(file.resolve())).hexdigest()[:16]}.json"
        )
        before: dict[str, Any] = {}
        with suppress(OSError, ValueError):
            before = json.loads(kept.read_text("utf-8"))
        evaluation = Evaluation(
            tuple(judged),
            figures(judged),
            before.get("figures", {}),
            {row["query"]: row["rank"] for row in before.get("queries", ())},
        )
        kept.parent.mkdir(parents=True, exist_ok=True)
        _write(
            kept,
            json.dumps({"figures": evaluation.figures, "queries": [asdict(answered) for answered in judged]}),
        )
        return evaluation

    def mark(self, viewer: Viewer, query: str, path: str, file: Path | None = None) -> None:
        """Add ``path`` to the relevant documents of ``query`` in a golden set (None: `usual_file`).

        The file is created if needed. Everything else in it stays, including comments. Raises InvalidInput
        for an empty query, and for a file that is no golden set or cannot be written.
        """
        asked(query)
        file = file or self.usual_file
        entry = [{"query": query, "relevant": [path]}]
        item = yaml.safe_dump(entry, default_flow_style=None, allow_unicode=True, sort_keys=False)
        text = f"queries:\n{item}"
        if file.exists():
            known = _text(file)
            if path in _golden(known, file).get((query, ""), ()):
                return
            text = _with_item(known, item)
            _golden(text, file)
        try:
            _write(file, text)
        except OSError as error:
            problem = f"{str(file)!r} cannot be written: {error.strerror}."
            raise InvalidInput(problem, "Check who may write to its folder.") from error

    def _judged(
        self, viewer: Viewer, query: str, relevant: Sequence[str], stores: Sequence[str], mode: Mode | None
    ) -> JudgedQuery:
        """Search for a query and return the ranks of its relevant documents."""
        answer = self._searching.search(viewer, query, stores, mode=mode, top_k=DEPTH, group="document")
        wanted = {self._path(viewer, name, answer.stores) for name in relevant}
        ranks: dict[str, int] = {}
        for hit in answer.hits:
            for path in wanted & {hit.document.path, hit.document.address, *hit.copies}:
                ranks.setdefault(path, hit.rank)
        return JudgedQuery(
            query, len(wanted), min(ranks.values(), default=None), tuple(sorted(ranks.values()))
        )

    def _path(self, viewer: Viewer, name: str, stores: Sequence[str]) -> str:
        """Return the path of the document with the passage id ``name``. If no passage has that id, return
        ``name``."""
        for store in stores:
            with suppress(NotFound):
                return self._documents.around(viewer, store, name).document.path
        return name


def figures(judged: Sequence[JudgedQuery]) -> dict[str, float]:
    """Compute hit rates, the mean reciprocal rank and nDCG@10, in percent. All relevant documents have the
    same weight."""

    def mean(values: list[float]) -> float:
        return round(100 * sum(values) / max(1, len(values)), 2)

    firsts = [query.rank or math.inf for query in judged]
    hit_rates = {f"hit@{k}": mean([float(rank <= k) for rank in firsts]) for k in (1, 5, 10)}
    return hit_rates | {"mrr": mean([1 / rank for rank in firsts]), "ndcg@10": mean([*map(_ndcg, judged)])}


def _ndcg(judged: JudgedQuery) -> float:
    gained = sum(1 / math.log2(rank + 1) for rank in judged.ranks if rank <= 10)
    return gained / sum(1 / math.log2(place + 1) for place in range(1, min(judged.relevant, 10) + 1))


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except OSError as error:
        advice = (
            "Name a file that lists queries with their relevant documents: see `commonplace eval --help`."
        )
        raise InvalidInput(f"{str(file)!r} cannot be read: {error.strerror}.", advice) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{str(file)!r} is not text.", "See `commonplace eval --help`.") from error


def _golden(text: str, file: Path) -> dict[tuple[str, str], list[str]]:
    """Parse the golden set ``text``: (query, store) → relevant documents. The store is '' if a query names
    none."""
    try:
        parsed = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise InvalidInput(f"{str(file)!r} is not YAML.", "See `commonplace eval --help`.") from error
    queries = parsed.get("queries") if isinstance(parsed, Mapping) else None
    if not queries or not isinstance(queries, list) or not all(map(_is_entry, queries)):
        advice = "Write `queries:`, and below it for each query `- query: TEXT` and `relevant: [PATH]`."
        raise InvalidInput(f"{str(file)!r} is not a golden set.", advice)
    golden: dict[tuple[str, str], list[str]] = {}
    for entry in queries:
        golden.setdefault((entry["query"], entry.get("store", "")), []).extend(entry["relevant"])
    return golden


def _with_item(text: str, item: str) -> str:
    """Insert ``item``, the YAML of one query, after the last query of the golden set ``text``."""
    whole: Any = yaml.compose(text)
    queries = next(value for key, value in whole.value if key.value == "queries")
    end = queries.end_mark.index
    before = text[:end] if text[:end].endswith("\n") else f"{text[:end]}\n"
    return before + indent(item, " " * queries.start_mark.column) + text[end:]


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("store", ""), str):
        return False
    relevant = entry.get("relevant")
    is_list = isinstance(relevant, list) and bool(relevant) and all(isinstance(e, str) for e in relevant)
    return is_list and isinstance(entry.get("query"), str) and bool(entry["query"].strip())


def _write(file: Path, text: str) -> None:
    """Replace the file in one step, so that no reader sees a half-written file."""
    unfinished = file.with_name(f"{file.name}.{os.getpid()}.part")
    unfinished.write_text(text, "utf-8")
    system.replace(unfinished, file)
