"""Limits on the real server: how much a guest may do, and how large and slow a request of anybody is."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from websockets.exceptions import ConnectionClosed

from rag_core.access import REFUSAL
from tests.access.speakers import CO_OWNER, GUEST, SEARCHER, Place, Speaker, shown, speaking
from tests.support.live import run_page

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """The app with little patience."""
    told = {
        "COMMONPLACE_GUEST_REQUESTS_PER_MINUTE": "60",
        "COMMONPLACE_MAX_BODY_KB": "16",
        "COMMONPLACE_BODY_TIMEOUT_S": "1",
    }
    with speaking(tmp_path_factory.mktemp("strict"), **told) as place:
        yield place
        assert place.owner.get("/_stcore/health")[0] == 200
        assert "Traceback" not in place.server.log


def test_a_guest_who_asks_too_often_waits_and_nobody_else(strict: Place) -> None:
    guest = strict.person(GUEST)
    statuses = [guest.get("/api/v1/stores")[0] for _ in range(70)]
    assert statuses[:55] == [200] * 55
    assert 429 in statuses
    assert guest.get("/")[0] == guest.get("/favicon.png")[0] == 200, "files of the front end do not count"
    status, headers, body = guest.get("/api/v1/stores")
    while status == 200:  # one more has grown meanwhile
        status, headers, body = guest.get("/api/v1/stores")
    assert (status, headers["retry-after"]) == (429, "1")
    assert all(json.loads(body)["error"].values())
    assert guest.handshake() in (101, 403)
    for other in (strict.person(SEARCHER), strict.person(CO_OWNER), strict.owner):
        assert other.get("/api/v1/stores")[0] == 200
    assert {strict.person(CO_OWNER).get("/api/v1/stores")[0] for _ in range(80)} == {200}
    time.sleep(2.2)
    assert guest.get("/api/v1/stores")[0] == 200


def test_messages_of_a_page_that_come_too_fast_are_slowed_down(strict: Place) -> None:
    guest = strict.person(GUEST)
    time.sleep(2.2)  # two more are allowed whatever was done before
    with guest.opened() as ws:
        while guest.get("/api/v1/stores")[0] == 200:
            pass
        started = time.monotonic()
        for _ in range(3):
            assert "Search your notes" in shown(run_page(ws, ""))
        assert time.monotonic() - started > 2.0, "one a second"


@pytest.mark.parametrize("who", ["owner", "owner by login", "guest without ask", "token"])
@pytest.mark.parametrize("path", ["/api/v1/search", "/mcp"])
def test_a_body_that_is_too_large_is_refused(strict: Place, who: str, path: str) -> None:
    speaker = strict.speakers[who]
    kind = ("Content-Type", "application/json")
    status, _, body = speaker.send("POST", path, b"{" + b" " * 20_000, kind)
    assert (status, "16 kB" in body) == (413, True)


def raw(speaker: Speaker, *lines: str) -> socket.socket:
    """A socket on which a request of somebody has begun."""
    host = [] if any(name == "Host" for name, _ in speaker.headers) else [f"Host: {speaker.server.host}"]
    sent = [*lines, *host, *(f"{name}: {value}" for name, value in speaker.headers)]
    connection = socket.create_connection(("127.0.0.1", speaker.server.port), timeout=10)
    connection.sendall(("\r\n".join(sent) + "\r\n\r\n").encode())
    return connection


def answered(connection: socket.socket) -> bytes:
    received = b""
    with suppress(OSError):
        while part := connection.recv(65536):
            received += part
    return received


CHUNKED = ("Transfer-Encoding: chunked", "Content-Type: application/json")


@pytest.mark.parametrize("who", ["owner", "guest without ask", "token"])
def test_a_body_that_does_not_say_its_length_is_measured(strict: Place, who: str) -> None:
    with raw(strict.speakers[who], "POST /api/v1/search HTTP/1.1", *CHUNKED) as connection:
        with suppress(OSError):
            for _ in range(10):
                connection.sendall(b"1000\r\n" + b" " * 0x1000 + b"\r\n")
        assert answered(connection).startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize("who", ["owner", "guest without ask", "token"])
@pytest.mark.parametrize("path", ["/api/v1/search", "/mcp"])
def test_a_body_that_does_not_come_is_not_waited_for(strict: Place, who: str, path: str) -> None:
    with raw(strict.speakers[who], f"POST {path} HTTP/1.1", *CHUNKED) as connection:
        connection.sendall(b"1\r\n{\r\n")
        response = answered(connection)
        assert response.startswith(b"HTTP/1.1 408")
        assert b"arrive" in response


HEADS = {
    "nothing": b"",
    "a letter": b"G",
    "a line": b"GET /api/v1/stores HTTP/1.1\r\n",
    "half a header": b"GET /api/v1/stores HTTP/1.1\r\nHost: localhost\r\nX-A: ",
    "a second request": b"GET /index HTTP/1.1\r\nHost: localhost\r\n\r\nGET /api",
    "a body that nobody reads": b"GET /index HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999\r\n\r\n",
}


@pytest.mark.parametrize("begun", HEADS.values(), ids=HEADS)
def test_a_head_that_does_not_end_is_not_waited_for(strict: Place, begun: bytes) -> None:
    """Also while a byte comes now and then, with which uvicorn would wait for ever."""
    until = time.monotonic() + 8  # a second is allowed
    with socket.create_connection(("127.0.0.1", strict.server.port), timeout=0.2) as connection:
        connection.sendall(begun)
        while time.monotonic() < until:
            try:
                if not connection.recv(65536):
                    return
                connection.sendall(b"x")
            except TimeoutError:
                with suppress(OSError):
                    connection.sendall(b"x" if begun else b"")
            except OSError:  # it was closed before it was read to its end
                return
    pytest.fail("It is still open.")


def test_a_head_without_an_end_fills_no_memory(strict: Place) -> None:
    with socket.create_connection(("127.0.0.1", strict.server.port), timeout=10) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nX-A: ")
        sent = 0
        with suppress(OSError):
            while sent < 64 * 1024 * 1024:
                sent += connection.send(b"x" * 65536)
        assert sent < 32 * 1024 * 1024, "what fits into the buffers between, and no more"


def test_a_page_and_a_request_that_came_in_time_stay_open(strict: Place) -> None:
    with strict.owner.opened() as ws, strict.person(CO_OWNER).opened() as theirs:
        time.sleep(1.5)
        assert "Search your notes" in shown(run_page(ws, ""))
        assert "Search your notes" in shown(run_page(theirs, ""))


def test_a_message_of_a_guest_that_is_too_large_closes_the_page(strict: Place) -> None:
    with strict.person(CO_OWNER).opened() as ws:
        ws.send(b"\x00" * 20_000)
        with pytest.raises(ConnectionClosed) as closed:
            ws.recv(timeout=5)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009


def test_the_owner_uploads_what_is_larger(strict: Place) -> None:
    status, _, body = strict.owner.send("PUT", "/_stcore/upload_file/none/none", b"x" * 50_000)
    assert status in (400, 403), "there is no such session"
    assert REFUSAL not in body, "Streamlit says so"
