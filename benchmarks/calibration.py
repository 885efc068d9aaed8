"""Where does an embedder's score have to turn from "no" to "yes"? Fits the curves of weigh.py.

    python benchmarks/calibration.py DIR DIR… [--embedder NAME] [--json]

Relevant: the judged passages of each set. Irrelevant: the five best passages for queries of the
other sets. Prints, for each mode, the middle and slope of the logistic curve that tells them
apart (both classes weigh the same), beside those in use and how often 0.5 is right for each.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import numpy.typing as npt

from benchmarks.process import Figures, lines
from benchmarks.retrieval import MODES, JudgedSet, index_set, open_library, quoted, read_set
from rag_core.library import Library
from rag_core.search.curves import CURVES, Logistic
from rag_core.types import OWNER, Mode

FOREIGN_QUERIES = 100
BEST = 5

Values = npt.NDArray[np.float64]


def values(library: Library, store: str, text: str, mode: Mode, curve: Logistic) -> list[tuple[str, float]]:
    """(file, value) of the hits, the score's curve undone."""
    answer = library.search(OWNER, quoted(text), [store], mode=mode, top_k=60)
    clipped = [(hit.document.path, min(max(hit.score, 1e-9), 1 - 1e-9)) for hit in answer.hits]
    return [(path, curve.middle + np.log(score / (1 - score)) / curve.slope) for path, score in clipped]


def collect(
    library: Library, sets: list[JudgedSet], names: dict[str, dict[str, str]], mode: Mode, curve: Logistic
) -> tuple[Values, Values]:
    """The values of relevant and of irrelevant passages over all sets."""
    good: list[float] = []
    bad: list[float] = []
    for judged in sets:
        for query_id, text in judged.queries.items():
            found = values(library, judged.name, text, mode, curve)
            good += [value for path, value in found if names[judged.name][path] in judged.judged[query_id]]
        foreign = [text for other in sets if other is not judged for text in sample(other)]
        for text in foreign:
            bad += [value for _, value in values(library, judged.name, text, mode, curve)[:BEST]]
    return np.array(good), np.array(bad)


def sample(judged: JudgedSet) -> list[str]:
    return random.Random(1).sample(list(judged.queries.values()), FOREIGN_QUERIES)


def fit(good: Values, bad: Values) -> Logistic:
    """The balanced logistic regression on one number, by Newton's method."""
    x = np.concatenate([good, bad])
    y = np.concatenate([np.ones(len(good)), np.zeros(len(bad))])
    weight = np.where(y == 1, 0.5 / len(good), 0.5 / len(bad))
    design = np.stack([np.ones_like(x), x], axis=1)
    beta = np.zeros(2)
    for _ in range(50):
        p = 1 / (1 + np.exp(-design @ beta))
        hessian = design.T @ (design * (weight * p * (1 - p))[:, None]) + 1e-9 * np.eye(2)
        beta -= np.linalg.solve(hessian, design.T @ (weight * (p - y)))
    return Logistic(float(-beta[0] / beta[1]), float(beta[1]))


def figures(fitted: Logistic, used: Logistic, good: Values, bad: Values) -> Figures:
    """Both curves, and the share of relevant passages above 0.5 and of others below it."""
    return {
        "fitted": {"middle": round(fitted.middle, 3), "slope": round(fitted.slope, 1)},
        "in_use": {"middle": used.middle, "slope": used.slope},
        "relevant_pass": round(float(np.mean(good >= used.middle)), 3),
        "foreign_do_not": round(float(np.mean(bad < used.middle)), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--home", type=Path, help="keep the stores here and use them again")
    parser.add_argument("--json", action="store_true", dest="as_json")
    options = parser.parse_args()
    if len(options.folders) < 2:
        parser.error("two sets or more: one's queries are foreign to the other")
    with tempfile.TemporaryDirectory() as temporary:
        home = options.home or Path(temporary)
        library = open_library(home)
        sets = [read_set(folder) for folder in options.folders]
        names = {judged.name: index_set(library, judged, options.embedder, home) for judged in sets}
        report: Figures = {}
        for mode in MODES:
            curve = CURVES[mode]
            good, bad = collect(library, sets, names, mode, curve)
            report[mode] = figures(fit(good, bad), curve, good, bad)
        library.close()
    print(json.dumps(report, indent=2) if options.as_json else "\n".join(lines(report)))


if __name__ == "__main__":
    main()
