"""Request smuggling on the real server: a request that asks for an upgrade hides another one in its body.

The parser stops at an upgrade and at CONNECT. If the connection were kept, the body would be parsed as a new
request with headers of the attacker's choice, which the gate would believe.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import socket
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse

import pytest

from tests.access.speakers import CO_OWNER, GUEST, STRANGER, Header, Place, through_serve

pytestmark = pytest.mark.thorough

METHODS = ("GET", "POST", "OPTIONS", "CONNECT")
UPGRADES = ("foo", "h2c", "websocket", "websocket, foo")
BODIES = ("content-length", "chunked")
GAPS_S = (0.0, 0.001, 0.005, 0.05, 0.2)
SENDERS = {"guest": through_serve(GUEST), "stranger": through_serve(STRANGER), "none": through_serve()}
HIDDEN = ("a document", "a forged login", "a websocket handshake")
VARIANTS = list(itertools.product(METHODS, UPGRADES, BODIES, GAPS_S, SENDERS, HIDDEN))
AT_ONCE = 64
SLOW_S = 60.0


def lines(*parts: str, headers: tuple[Header, ...] = ()) -> bytes:
    return "\r\n".join([*parts, *(f"{name}: {value}" for name, value in headers), "", ""]).encode()


def hidden(kind: str, port: int) -> bytes:
    """The request in the body, which would be the owner's."""
    here = f"Host: 127.0.0.1:{port}"
    match kind:
        case "a document":
            return lines("GET /api/v1/documents/shared/secret.md HTTP/1.1", here)
        case "a forged login":
            return lines("GET /api/v1/stores HTTP/1.1", headers=through_serve(CO_OWNER))
        case _:
            return lines(
                "GET /_stcore/stream HTTP/1.1",
                here,
                f"Origin: http://127.0.0.1:{port}",
                "Connection: Upgrade",
                "Upgrade: websocket",
                "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            )


def split(
    method: str, upgrade: str, body: str, inner: bytes, sent: tuple[Header, ...]
) -> tuple[bytes, bytes]:
    """The request in two segments: its head, then the body that is a request itself."""
    target = "127.0.0.1:1" if method == "CONNECT" else "/api/v1/stores"
    asks = (f"{method} {target} HTTP/1.1", "Connection: Upgrade", f"Upgrade: {upgrade}")
    if body == "content-length":
        return lines(*asks, f"Content-Length: {len(inner)}", headers=sent), inner
    size = f"{len(inner):x}\r\n".encode()
    return lines(*asks, "Transfer-Encoding: chunked", headers=sent) + size, inner + b"\r\n0\r\n\r\n"


async def answer(port: int, head: bytes, body: bytes, gap_s: float) -> bytes:
    """Everything that the server sends until it closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    received = b""
    try:
        with suppress(ConnectionError):
            writer.write(head)
            await writer.drain()
            await asyncio.sleep(gap_s)
            writer.write(body)
            await writer.drain()
        with suppress(ConnectionError):
            while part := await asyncio.wait_for(reader.read(65536), SLOW_S):
                received += part
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
    return received


async def try_all(port: int) -> list[tuple[object, bytes]]:
    free = asyncio.Semaphore(AT_ONCE)

    async def one(variant: tuple[str, str, str, float, str, str]) -> tuple[object, bytes]:
        method, upgrade, body, gap_s, sender, kind = variant
        head, rest = split(method, upgrade, body, hidden(kind, port), SENDERS[sender])
        async with free:
            return variant, await answer(port, head, rest, gap_s)

    return await asyncio.gather(*map(one, VARIANTS))


def test_an_upgrade_with_a_body_hides_no_request(place: Place) -> None:
    statuses = re.compile(rb"HTTP/1\.[01] (\d{3})")
    answers = asyncio.run(try_all(place.server.port))
    wrong = [(variant, got) for variant, got in answers if statuses.findall(got) not in ([b"400"], [])]
    assert not wrong, f"{len(wrong)} of {len(answers)}, such as {wrong[0]}"
    assert len(answers) == len(VARIANTS) >= 1120
    assert place.owner.get("/api/v1/stores")[0] == 200
    assert place.owner.handshake() == 101


@pytest.mark.parametrize("sender", SENDERS)
@pytest.mark.parametrize("upgrade", ["foo", "h2c", "", "WebSocket\r\nUpgrade: foo"])
def test_an_upgrade_that_is_no_websocket_closes_the_connection(
    place: Place, sender: str, upgrade: str
) -> None:
    head, _ = split("GET", upgrade, "content-length", b"", SENDERS[sender])
    got = asyncio.run(answer(place.server.port, head, b"", 0.0))
    assert got.startswith(b"HTTP/1.1 400 ")
    assert b"connection: close" in got.lower()


def test_a_refused_request_does_not_end_up_in_the_answer_before_it(place: Place) -> None:
    first = lines("GET /api/v1/stores HTTP/1.1", f"Host: 127.0.0.1:{place.server.port}")
    head, body = split("GET", "foo", "content-length", hidden("a document", place.server.port), ())
    got = asyncio.run(answer(place.server.port, first + head, body, 0.0))
    assert got.count(b"HTTP/1.1 ") <= 1
    assert b"400" not in got[:20]


@dataclass
class PooledProxy:
    """A reverse proxy that keeps one connection for everybody, and sends a head before its body."""

    port: int
    kept: socket.socket | None = None
    opened: int = 0

    def forward(self, head: bytes, body: bytes = b"") -> tuple[int, bytes]:
        """The status and body of the next answer on the connection; 0 where it was closed instead."""
        if self.kept is None:
            self.kept = socket.create_connection(("127.0.0.1", self.port), timeout=SLOW_S)
            self.opened += 1
        try:
            self.kept.sendall(head)
            response = HTTPResponse(self.kept)
            response.begin()
            got, ends = (response.status, response.read()), response.will_close
            if body and not ends:
                self.kept.sendall(body)
        except (ConnectionError, HTTPException):
            got, ends = (0, b""), True
        if ends:
            self.kept.close()
            self.kept = None
        return got


@pytest.mark.parametrize("kind", HIDDEN)
def test_behind_a_pooled_proxy_everyone_gets_their_own_answer(place: Place, kind: str) -> None:
    proxy = PooledProxy(place.server.port)
    plain = lines("GET /api/v1/stores HTTP/1.1", headers=through_serve(GUEST))
    own = json.loads(place.person(GUEST).get("/api/v1/stores")[2])
    head, body = split("GET", "foo", "content-length", hidden(kind, place.server.port), through_serve(GUEST))
    for _ in range(3):
        proxy.forward(head, body)
        status, got = proxy.forward(plain)
        assert (status, json.loads(got)) == (200, own)
    assert proxy.opened > 1, "the connection with the attack was closed"
    if proxy.kept is not None:
        proxy.kept.close()
