"""Is it better than others? Quality and time of a query beside txtai, LanceDB and plain FTS5, in one run.

    python benchmarks/peers.py DIR… [--python PEERS/bin/python] [--embedder NAME] [--home DIR]
                               [--json]

Each judged set DIR (see benchmarks/retrieval.py) is indexed here; the peers get the same passages, each with
its title and headings, and the vectors of the same model, so that only the search differs. All are asked
every query in turns. The time of a query's vector is added to that of each peer that uses it. A document
counts at its best passage among the first hundred; the figures are nDCG@10 and the median of a query.

The peers are no dependencies. They are installed in an environment that may be thrown away afterwards:

    python -m venv PEERS
    PEERS/bin/python -m pip install numpy lancedb txtai      (txtai brings torch, some 5 GB)

Without --python, or where one is missing there, the others are compared.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks import peer
from benchmarks.process import Figures
from benchmarks.retrieval import JudgedSet, index_set, open_library, quoted, read_set, scores
from rag_core import config
from rag_core.library import Library
from rag_core.models import EmbedderOptions, open_embedder
from rag_core.store import Store, embeddings
from rag_core.store.file import active_identity
from rag_core.types import OWNER, Vectors

OURS = "commonplace"
INSTALL = "python -m venv PEERS && PEERS/bin/python -m pip install numpy {}"


@dataclass(slots=True)
class Measured:
    """How good each answer of one searcher is, and the milliseconds it took."""

    ndcg: list[float] = field(default_factory=list)
    took: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Passages:
    """What the peers index: texts, the documents they are of, and their vectors."""

    texts: list[str]
    documents: list[str]
    vectors: Vectors


def passages_of(path: Path, names: Mapping[str, str]) -> Passages:
    """The embedded passages of a store, as the model reads them; ``names``: file → document."""
    store = Store(path)
    with store.read() as db:
        identity = active_identity(db)
        if identity is None:
            raise SystemExit(f"{path.stem} has no vectors.")
        sql = "SELECT id, path, prefix, coalesce(kept_text, text) AS read FROM chunks"
        rows = {row["id"]: row for row in db.execute(sql)}
        ids, vectors = embeddings.vectors_of(db, identity.id, list(rows))
    store.close()
    texts = [f"{rows[i]['prefix']}\n{rows[i]['read']}".strip() for i in ids]
    return Passages(texts, [names[rows[i]["path"]] for i in ids], vectors)


class Peer:
    """A peer in a process of its own."""

    def __init__(self, name: str, python: str, folder: Path) -> None:
        """Index the passages in ``folder``. Raises ImportError where the peer is not installed."""
        told = folder / f"{name}.log"
        with told.open("w", encoding="utf-8") as log:  # no pipe: one that nobody reads fills up
            self._process = subprocess.Popen(
                [python, peer.__file__, name, str(folder)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, encoding="utf-8",
            )  # fmt: skip
        self._asked, self._said = cast("IO[str]", self._process.stdin), cast("IO[str]", self._process.stdout)
        started = self._said.readline()
        if not started:
            self.close()
            error = told.read_text("utf-8").strip().splitlines()[-1]
            raise ImportError(f"{name} does not run ({error}): {INSTALL.format(name)}")
        self.version = json.loads(started)["version"]

    def ask(self, text: str, vector: Vectors) -> tuple[list[int], float]:
        """The numbers of the best passages, and the milliseconds that took."""
        print(json.dumps([text, vector.tolist()]), file=self._asked, flush=True)
        found, took = json.loads(self._said.readline())
        return found, took

    def close(self) -> None:
        """End its process."""
        self._process.communicate()


@contextmanager
def started(python: str, passages: Passages) -> Iterator[tuple[dict[str, Peer], list[str]]]:
    """The peers that are installed, each with the passages, and what is said of the others."""
    with ExitStack() as open_peers:
        folder = Path(open_peers.enter_context(tempfile.TemporaryDirectory()))
        (folder / "passages.json").write_text(json.dumps(passages.texts), "utf-8")
        np.save(folder / "vectors.npy", passages.vectors)
        found: dict[str, Peer] = {}
        missing: list[str] = []
        for name in peer.PEERS:
            try:
                found[name] = Peer(name, python, folder)
                open_peers.callback(found[name].close)
            except ImportError as error:
                missing.append(str(error))
        yield found, missing


def compare(
    library: Library, judged: JudgedSet, embedder_name: str, python: str, home: Path
) -> tuple[Figures, list[str]]:
    """nDCG@10 and the median time of everyone for one set, and who is missing."""
    names = index_set(library, judged, embedder_name, home)
    passages = passages_of(home / "stores" / f"{judged.name}.db", names)
    embedder = open_embedder(embedder_name, EmbedderOptions(config.load().model_dir))
    embedder.embed_query("warm")
    measured: dict[str, Measured] = {}
    with started(python, passages) as (found, missing):
        for number, (query, text) in enumerate(judged.queries.items()):
            grades = judged.judged[query]
            before = time.perf_counter()
            vector = embedder.embed_query(text)
            embedding = (time.perf_counter() - before) * 1000
            before = time.perf_counter()
            answer = library.search(OWNER, quoted(text), [judged.name], top_k=10, group="document")
            took = (time.perf_counter() - before) * 1000
            results = {OURS: (list(dict.fromkeys(names[hit.document.path] for hit in answer.hits)), took)}
            for name, each in found.items():
                best, took = each.ask(text, vector)
                documents = list(dict.fromkeys(passages.documents[passage] for passage in best))
                results[name] = documents, took + (embedding if name != "fts5" else 0)
            for name, (documents, took) in results.items() if number else ():  # the first one warms all up
                one = measured.setdefault(name, Measured())
                one.ndcg.append(scores(documents, grades)["ndcg@10"])
                one.took.append(took)
        versions = {name: each.version for name, each in found.items()}
    figures = {
        name: {
            "ndcg@10": round(100 * statistics.mean(one.ndcg), 1),
            "ms": round(statistics.median(one.took), 1),
        }
        for name, one in measured.items()
    }
    return {"passages": len(passages.texts), "versions": versions, **figures}, missing


def run(folders: Sequence[Path], embedder: str, python: str, home: Path) -> Figures:
    """Every set, and the mean over them."""
    library = open_library(home)
    found: Figures = {}
    for folder in folders:
        judged = read_set(folder)
        found[judged.name], missing = compare(library, judged, embedder, python, home)
        for each in missing:
            print(each, file=sys.stderr)
    library.close()
    return found


def table(found: Mapping[str, Any]) -> list[str]:
    """The figures as lines of a table: nDCG@10 and milliseconds."""
    everyone = [OURS, *peer.PEERS]
    rows = [f"{'set':<24}{'passages':>9}" + "".join(f"{name:>20}" for name in everyone)]
    for name, figures in found.items():
        cells = ""
        for each in everyone:
            one = figures.get(each)
            cells += f"{one['ndcg@10']:>10} {one['ms']:>6} ms" if one else f"{'missing':>20}"
        rows.append(f"{name:<24}{figures['passages']:>9}{cells}")
    return [*rows, "", *(f"{name}: {how}" for name, how in peer.SETUP.items())]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--python", default=sys.executable, help="that of the environment with the peers")
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--home", type=Path, help="keep the stores here and use them again")
    parser.add_argument("--json", action="store_true", dest="as_json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        found = run(options.folders, options.embedder, options.python, options.home or Path(temporary))
    print(json.dumps(found, indent=2) if options.as_json else "\n".join(table(found)))


if __name__ == "__main__":
    main()
