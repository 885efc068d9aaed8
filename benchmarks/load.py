"""Does the app hold under its guests? Searches over HTTP and open pages, while it indexes.

    python benchmarks/load.py [--seconds 120] [--rate 25] [--pages 10] [--files 12000] [--json]

A server of its own in a throw-away home reads made-up notes all the while. A guest, as `tailscale serve`
brings one, sends searches at a fixed rate, whether the last was answered or not, and ten pages of the same
guest are open, each of which searches every five seconds, as the browser does. The times of the first
minute, while the server warms up, are left out; its memory is measured from then to the end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from urllib.parse import urlencode

import httpx
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Origin

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.notes import Author, write_notes
from benchmarks.process import Figures, lines, spread
from rag_core.config import load
from rag_core.library import Library
from rag_core.types import OWNER, Job

ROOT = Path(__file__).resolve().parents[1]
GUEST = "guest@example.com"
STORE = "notes"
HOST = "desk.tail1234.ts.net"
BEHIND_SERVE = {
    "Host": HOST,
    "X-Forwarded-For": "100.64.0.2",
    "X-Forwarded-Host": HOST,
    "X-Forwarded-Proto": "https",
    "Tailscale-User-Login": GUEST,
}
ACTS_EVERY_S = 5.0
_READ_BEFORE = 300  # notes that are read before the server starts
_LOOKS = 3000  # at its run, until it reads
_LONGEST_S = 30.0
_WARM_UP_S = 60.0  # until its caches of words, pages and answers are full


@dataclass
class Tally:
    """What came back: how often each status, and how many milliseconds each answer took."""

    statuses: Counter[str] = field(default_factory=Counter)
    took_ms: list[float] = field(default_factory=list)

    def add(self, status: str, started: float) -> None:
        self.statuses[status] += 1
        self.took_ms.append((time.perf_counter() - started) * 1000)

    def figures(self) -> Figures:
        times = spread(self.took_ms, 0) if self.took_ms else {}
        most = round(max(self.took_ms, default=0))
        return {"answers": sum(self.statuses.values()), **self.statuses, **times, "max": most}


@dataclass(frozen=True)
class Server:
    """The app in a process of its own."""

    process: subprocess.Popen[str]
    port: int

    def rss_mb(self) -> float:
        """Its resident memory; 0 where the system does not tell."""
        status = Path(f"/proc/{self.process.pid}/status")
        found = re.search(r"VmRSS:\s+(\d+) kB", status.read_text("utf-8")) if status.exists() else None
        return int(found[1]) / 1024 if found else 0.0

    def cpu_s(self) -> float:
        """What it computed so far, in seconds of one core; 0 where the system does not tell."""
        stat = Path(f"/proc/{self.process.pid}/stat")
        if not stat.exists():
            return 0.0
        user, system = stat.read_text("utf-8").rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def fill(home: Path, files: int, embedder: str) -> None:
    """A store that the guest may search: 300 notes are read, ``files`` others wait for the server."""
    os.environ["COMMONPLACE_HOME"] = str(home)
    library = Library.open(load())
    library.create_store(OWNER, STORE, embedder)
    notes = write_notes(home / "first", _READ_BEFORE)
    library.add_source(OWNER, STORE, notes, ["**/*.md"])
    library.index(OWNER, STORE)
    library.add_source(OWNER, STORE, write_notes(home / "second", files, seed=2), ["**/*.md"])
    library.jobs.request(OWNER, STORE)
    library.sharing.share(OWNER, GUEST, [STORE])
    library.close()


@contextmanager
def served(home: Path) -> Iterator[Server]:
    """The server, once it answers; it goes on with what was requested before."""
    command = [
        sys.executable,
        "-c",
        "from ui.frame.serve import serve; serve('127.0.0.1', 0, open_browser=False)",
    ]
    environment = {**os.environ, "COMMONPLACE_HOME": str(home), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, cwd=home, env=environment, stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:
        try:
            said = process.stdout.readline() if process.stdout else ""
            yield Server(process, int(said.rpartition(":")[2]))
        finally:
            process.terminate()


async def search_at_a_rate(
    port: int, rate: float, until: float, queries: Iterator[str], tally: Tally
) -> None:
    """Send searches, one every ``1 / rate`` seconds, whether those before were answered or not."""
    limits = httpx.Limits(max_connections=50)
    async with httpx.AsyncClient(limits=limits, timeout=_LONGEST_S, trust_env=False) as client:

        async def ask(due: float) -> None:
            url = f"http://127.0.0.1:{port}/api/v1/search"
            try:
                answer = await client.post(url, headers=BEHIND_SERVE, json={"query": next(queries)})
            except httpx.HTTPError as error:
                tally.add(type(error).__name__, due)
            else:
                tally.add(str(answer.status_code), due)

        started = time.perf_counter()
        async with asyncio.TaskGroup() as tasks:
            for number in count():
                due = started + number / rate
                if due >= until:
                    break
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                tasks.create_task(ask(due))


async def open_a_page(port: int, wait_s: float, until: float, queries: Iterator[str], tally: Tally) -> None:
    """A page that searches every five seconds, as a browser asks the server for it."""
    await asyncio.sleep(wait_s)
    headers = {name: value for name, value in BEHIND_SERVE.items() if name != "Host"}
    async with connect(
        f"ws://{HOST}/_stcore/stream", origin=Origin(f"https://{HOST}"), proxy=None,
        additional_headers=headers, host="127.0.0.1", port=port, max_size=None,
    ) as page:  # fmt: skip
        while (started := time.perf_counter()) < until:
            tally.add(await _run_the_page(page, next(queries)), started)
            await asyncio.sleep(max(0.0, started + ACTS_EVERY_S - time.perf_counter()))


async def _run_the_page(page: ClientConnection, query: str) -> str:
    """Have the server draw the search for a query; 'drawn', or what came instead."""
    asked = BackMsg(rerun_script={"query_string": urlencode({"q": query})})  # type: ignore[arg-type]
    await page.send(asked.SerializeToString())
    became, hits = "drawn", False
    while True:
        message = ForwardMsg()
        message.ParseFromString(await asyncio.wait_for(page.recv(decode=False), _LONGEST_S))
        kind = message.WhichOneof("type")
        if kind == "delta" and message.delta.new_element.WhichOneof("type") == "exception":
            became = "exception"
        hits = hits or (kind == "delta" and b'"extract"' in message.SerializeToString())
        if kind == "script_finished":
            return became if hits or became != "drawn" else "no passages"


async def press(port: int, rate: float, pages: int, seconds: float) -> dict[str, Tally]:
    """All of it at once for so many seconds."""
    author = Author(seed=3)
    queries = (author.words(3) for _ in count())
    until = time.perf_counter() + seconds
    searches, drawn = Tally(), Tally()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(search_at_a_rate(port, rate, until, queries, searches))
        for number in range(pages):
            wait_s = ACTS_EVERY_S * number / pages
            tasks.create_task(open_a_page(port, min(wait_s, seconds / 2), until, queries, drawn))
    return {"searches": searches, "pages": drawn}


def newest_run() -> Job:
    """What the newest run has done so far."""
    library = Library.open(load())
    try:
        return library.jobs.all(OWNER, STORE, 1)[0]
    finally:
        library.close()


def wait_until_it_reads(server: Server) -> None:
    """Wait until the server's run has read a file that no run before it had read."""
    for _ in range(_LOOKS):
        if newest_run().succeeded > _READ_BEFORE:
            return
        if server.process.poll() is not None:
            raise RuntimeError("The server ended before its run had read a file.")
        time.sleep(0.2)
    raise RuntimeError("The run of the server reads nothing.")


def measure(folder: Path, seconds: float, rate: float, pages: int, files: int, embedder: str) -> Figures:
    """The figures of one server, from when its run reads new files."""
    fill(folder, files, embedder)
    with served(folder) as server:
        wait_until_it_reads(server)
        asyncio.run(press(server.port, rate, pages, min(_WARM_UP_S, seconds / 2)))
        before, began = server.rss_mb(), server.cpu_s()
        tallies = asyncio.run(press(server.port, rate, pages, seconds))
        after, cpu, alive = server.rss_mb(), server.cpu_s() - began, server.process.poll() is None
        job = newest_run()
    growth = round(100 * (after - before) / before, 1) if before else None
    return {
        **{name: tally.figures() for name, tally in tallies.items()},
        "run": {
            "state": job.state,
            "read": job.succeeded,
            "of": job.total_files,
            "embedded": job.texts_embedded,
        },
        "server": {"alive": alive, "rss_mb": round(after), "growth_percent": growth, "cpu_s": round(cpu, 1)},
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--rate", type=float, default=25.0, help="searches a second")
    parser.add_argument("--pages", type=int, default=10)
    parser.add_argument("--files", type=int, default=12000, help="to read meanwhile")
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), given.seconds, given.rate, given.pages, given.files, given.embedder)
    print(json.dumps(found) if given.json else "\n".join(lines(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
