"""Requests for pictures: few are drawn at a time, each for a few seconds at most, and pages never wait for
them."""

from __future__ import annotations

import http.client
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path, PurePosixPath
from urllib.parse import quote

import pytest
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

import ui.reader.pictures
from rag_core.api.app import picture_workers
from rag_core.config import Settings, load
from rag_core.errors import NotFound, Stopped
from rag_core.extract import Worker, drawing
from rag_core.library import Library, pictures
from rag_core.types import OWNER, Viewer
from tests.conftest import index
from tests.support.documents_made import pdf, slow_pdf
from tests.support.live import start
from tests.support.rest import Rest, serving_rest

GUEST = Viewer("ann", stores=frozenset({"s"}))
WAIT_S = 20
MANY = 50


class Gate:
    """Stands in for what draws: it draws ``open`` places at once, and others when it is opened."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.begun = threading.Semaphore(0)
        self.drawn: list[str] = []
        self.at_once = self.most_at_once = 0
        self._lock = threading.Lock()

    def picture(self, _: Worker, __: bytes, ___: PurePosixPath, place: str, ____: int) -> bytes:
        if place == "page 2":
            return b"drawn"
        with self._lock:
            self.drawn.append(place)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        self.begun.release()
        self.opened.wait(WAIT_S)
        with self._lock:
            self.at_once -= 1
        return b"drawn late"


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    made = Gate()
    monkeypatch.setattr(Worker, "picture", lambda *given: made.picture(*given))
    yield made
    made.opened.set()


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    """A store with a document of two pages, and one whose pages take minutes to draw."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "tea.pdf").write_bytes(pdf("Green tea", "Mint tea"))
    (tmp_path / "notes" / "slow.pdf").write_bytes(slow_pdf(12))
    opened = Library.open(Settings(tmp_path / "data", tmp_path / "models", ()))
    index(opened, "s", tmp_path / "notes")
    yield opened
    opened.close()


def picture(path: str, page: int, side: int = 400) -> str:
    return f"/pictures/s/{path}?place={quote(f'page {page}')}&side={side}"


def hanging(rest: Rest, path: str) -> socket.socket:
    """A connection that has asked for ``path`` as the guest, and reads no answer."""
    raw = socket.create_connection(("127.0.0.1", rest.port), timeout=WAIT_S)
    raw.sendall(f"GET /api/v1{path} HTTP/1.1\r\nHost: localhost\r\nwho: guest\r\n\r\n".encode())
    return raw


def test_neither_the_owner_nor_searches_wait_for_the_pictures_of_guests(library: Library, gate: Gate) -> None:
    with serving_rest(library, {"guest": GUEST, "owner": OWNER}) as rest, ThreadPoolExecutor(MANY) as threads:
        asked = [threads.submit(rest.get, picture("tea.pdf", 1, 100 + n), who="guest") for n in range(MANY)]
        assert gate.begun.acquire(timeout=WAIT_S)
        assert rest.get(picture("tea.pdf", 2), who="owner").body == "drawn"
        for who in ("owner", "guest"):
            assert rest.post("/search", {"query": "mint"}, who=who).status == 200
        gate.opened.set()
        assert {each.result().status for each in asked} == {200}
    assert gate.most_at_once == 1


def test_pages_do_not_wait_for_the_pictures_of_guests(
    library: Library, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ui.reader.pictures, "viewer_of", lambda *_: GUEST)

    async def page(_: Request) -> PlainTextResponse:
        return PlainTextResponse(await run_in_threadpool(lambda: "a page"))

    workers = picture_workers()
    app = Starlette(routes=[ui.reader.pictures.picture_route(lambda: library, workers), Route("/", page)])
    path = "/note-picture?store=s&path=tea.pdf&place=page+1"
    with TestClient(app) as client, ThreadPoolExecutor(MANY) as threads:
        asked = [threads.submit(client.get, path) for _ in range(MANY)]
        assert gate.begun.acquire(timeout=WAIT_S)
        with ThreadPoolExecutor(1) as other:
            assert other.submit(client.get, "/").result(WAIT_S / 2).text == "a page"
        gate.opened.set()
        assert {each.result().content for each in asked} == {b"drawn late"}
    assert gate.drawn == ["page 1"], "the others got what was kept"


def test_few_files_are_read_at_a_time(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, begun, read = threading.Event(), threading.Semaphore(0), pictures.read_bytes

    def wait(*given: object) -> bytes:
        begun.release()
        opened.wait(WAIT_S)
        return read(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(pictures, "read_bytes", wait)
    monkeypatch.setattr(drawing, "LIMIT_S", 60.0)  # a busy machine draws slowly
    patient = Library.open(library.settings)
    with ThreadPoolExecutor(MANY) as threads:
        asked = [threads.submit(patient.pictures.get, GUEST, "s", "tea.pdf") for _ in range(MANY)]
        assert begun.acquire(timeout=WAIT_S)
        assert not begun.acquire(timeout=0.2)
        opened.set()
        assert len({each.result() for each in asked}) == 1
    patient.close()


def test_a_drawing_that_takes_too_long_is_ended_and_not_begun_again(
    tmp_path: Path, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert drawing.LIMIT_S <= 5
    monkeypatch.setattr(drawing, "LIMIT_S", 0.2)
    counted: list[str] = []
    draw = Worker.picture

    def count(self: Worker, data: bytes, path: PurePosixPath, place: str, side: int) -> bytes:
        counted.append(f"{path} {place}")
        return draw(self, data, path, place, side)

    monkeypatch.setattr(Worker, "picture", count)
    impatient = Library.open(library.settings)
    for viewer, side in ((GUEST, 400), (GUEST, 401), (OWNER, 400)):
        with pytest.raises(NotFound):
            impatient.pictures.get(viewer, "s", "slow.pdf", "page 1", side)
    (tmp_path / "notes" / "copy.pdf").write_bytes((tmp_path / "notes" / "slow.pdf").read_bytes())
    index(impatient, "s")
    with pytest.raises(NotFound):
        impatient.pictures.get(GUEST, "s", "copy.pdf", "page 1")
    assert counted == ["slow.pdf page 1"]
    with pytest.raises(NotFound):
        impatient.pictures.get(GUEST, "s", "slow.pdf", "page 2")
    assert counted == ["slow.pdf page 1", "slow.pdf page 2"], "another place may be quick"
    impatient.close()


def patient(library: Library, monkeypatch: pytest.MonkeyPatch) -> tuple[Library, threading.Semaphore]:
    """The same library, whose drawings may take for ever, and what counts those that began."""
    monkeypatch.setattr(drawing, "LIMIT_S", 600.0)
    begun, draw = threading.Semaphore(0), Worker.picture

    def count(self: Worker, data: bytes, path: PurePosixPath, place: str, side: int) -> bytes:
        begun.release()
        return draw(self, data, path, place, side)

    monkeypatch.setattr(Worker, "picture", count)
    return Library.open(library.settings), begun


def test_a_guest_who_hangs_up_frees_the_place(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    patiently, begun = patient(library, monkeypatch)
    with closing(patiently), serving_rest(patiently, {"guest": GUEST, "owner": OWNER}) as rest:
        drawn = hanging(rest, picture("slow.pdf", 1))
        assert begun.acquire(timeout=WAIT_S)
        waiting = [hanging(rest, picture("slow.pdf", 1 + number)) for number in range(1, 12)]
        for each in (*waiting, drawn):
            each.close()
        assert rest.get(picture("tea.pdf", 2), who="guest").status == 200
        while begun.acquire(blocking=False):  # of it, and perhaps of one whose hanging up was noticed late
            pass
        again = hanging(rest, picture("slow.pdf", 1))
        assert begun.acquire(timeout=WAIT_S), "to hang up is no failure of the file"
        again.close()


def test_what_draws_is_ended_from_outside(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    patiently, begun = patient(library, monkeypatch)
    is_over = threading.Event()
    with closing(patiently), ThreadPoolExecutor(2) as threads:
        asked = [
            threads.submit(patiently.pictures.get, GUEST, "s", "slow.pdf", place, is_over=is_over.is_set)
            for place in ("page 1", "page 2")
        ]
        assert begun.acquire(timeout=WAIT_S)
        is_over.set()
        for each in asked:
            with pytest.raises(Stopped):
                each.result(WAIT_S)


@pytest.mark.posix
def test_the_app_ends_while_pictures_are_drawn(library: Library, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    assert load({"COMMONPLACE_HOME": str(tmp_path)}).data_dir == library.settings.data_dir
    with start(tmp_path / "run", COMMONPLACE_HOME=str(tmp_path)) as server:
        asked = []
        for page in range(1, 13):
            shown = f"/note-picture?store=s&path=slow.pdf&place=page+{page}"
            for path in (shown, f"/api/v1{picture('slow.pdf', page)}"):
                connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=WAIT_S)
                connection.request("GET", path)
                asked.append(connection)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(timeout=10) == 0
        assert "Traceback" not in server.log
    for each in asked:
        each.close()
