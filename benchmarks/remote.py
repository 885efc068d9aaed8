"""What does a server cost beyond its own time? Notes indexed with a stand-in for Ollama.

    python benchmarks/remote.py [--files 250] [--ms 20] [--batch 32] [--json]

The stand-in (tests/support/ollama_server.py) takes so many milliseconds for each text, in a process
of its own.
``embedding`` is the phase of a run in which texts are embedded and stored, from the first to the last;
``whole_run`` also reads the files. Both are shown against the time that the server alone takes.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.notes import write_notes
from benchmarks.process import Figures, lines
from rag_core.config import Settings
from rag_core.library import Library
from rag_core.types import OWNER, Job
from tests.support.ollama_server import OllamaServer
from tests.support.standin import serving

STORE = "remote"
MODEL = "embeddinggemma"


def serve(seconds_a_text: float, pipe: Connection) -> None:
    """Be the stand-in until the other end of ``pipe`` closes; send what it was asked for then."""
    with serving(OllamaServer(seconds_a_text=seconds_a_text)) as server:
        pipe.send(server.url)
        pipe.recv()
        asked = [len(body["input"]) for body in server.bodies("/api/embed") if body["input"]]
        pipe.send((asked, server.most_at_once))


@contextmanager
def stand_in(seconds_a_text: float) -> Iterator[tuple[str, Connection]]:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(seconds_a_text, theirs), daemon=True)
    process.start()
    yield ours.recv(), ours
    process.kill()
    process.join()


class Phase:
    """When embedding began."""

    def __init__(self) -> None:
        self.began = 0.0

    def __call__(self, job: Job) -> None:
        if job.progress.phase == "embedding" and not self.began:
            self.began = time.perf_counter()


def measure(folder: Path, home: Path, ms: float, batch: int) -> Figures:
    with stand_in(ms / 1000) as (url, pipe):
        library = Library.open(
            Settings(home / "data", home / "models", (folder,), ollama_url=url, batch_size=batch)
        )
        library.create_store(OWNER, STORE, f"ollama:{MODEL}")
        library.add_source(OWNER, STORE, folder, ["**/*"])
        library.jobs.request(OWNER, STORE)
        phase, started = Phase(), time.perf_counter()
        job = library.jobs.run(OWNER, STORE, phase)
        ended = time.perf_counter()
        if job is None or job.state != "done" or library.stores.info(OWNER, STORE).pending:
            raise SystemExit(f"The folder could not be indexed: {job and job.message}")
        pipe.send("done")
        asked, at_once = pipe.recv()
        library.close()
    alone = job.texts_embedded * ms / 1000
    return {
        "texts": job.texts_embedded,
        "requests": len(asked),
        "most_texts_a_request": max(asked),
        "requests_at_once": at_once,
        "server_alone_s": round(alone, 2),
        "embedding_s": round(ended - phase.began, 2),
        "whole_run_s": round(ended - started, 2),
        "embedding_to_server": round((ended - phase.began) / alone, 3),
        "whole_run_to_server": round((ended - started) / alone, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=250, help="so many made-up notes of four texts")
    parser.add_argument("--ms", type=float, default=20, help="what a text takes on the server")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--json", action="store_true", dest="as_json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = write_notes(Path(temporary, "notes"), options.files)
        report = {"remote": measure(folder, Path(temporary, "home"), options.ms, options.batch)}
    print(json.dumps(report, indent=2) if options.as_json else "\n".join(lines(report)))


if __name__ == "__main__":
    main()
