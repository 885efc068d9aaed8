"""What the stand-ins for services share: a real HTTP server that remembers what it was asked."""

from __future__ import annotations

import json
import socket
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, TypeVar
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import numpy.typing as npt

from rag_core.models.hashing import Hashing


@dataclass(frozen=True)
class Asked:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


class Refusal(Exception):
    """An answer that is no answer: a status and a body; status 0 hangs up without a word."""

    def __init__(self, status: int, body: Any, **headers: str) -> None:
        super().__init__(status)
        self.status = status
        self.body = body
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


@dataclass
class StandIn:
    """A server's state. ``faults`` are answered first, one a request to a path that ends with the key."""

    asked: list[Asked] = field(default_factory=list)
    faults: dict[str, deque[Refusal]] = field(default_factory=dict)
    at_once: int = 0
    most_at_once: int = 0
    url: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, asked: Asked) -> Any:
        """What a sound request gets: a value for JSON, its bytes, or an iterator of lines."""
        raise NotImplementedError

    def fail(self, path: str, *refusals: Refusal) -> None:
        """Refuse the next requests to ``path``."""
        self.faults.setdefault(path, deque()).extend(refusals)

    def bodies(self, path: str) -> list[Any]:
        """What was sent to ``path``, in order."""
        return [asked.body for asked in self.asked if asked.path == path]

    def handle(self, asked: Asked) -> Any:
        with self.lock:
            self.asked.append(asked)
            waiting = next((queue for path, queue in self.faults.items() if asked.path.endswith(path)), None)
            fault = waiting.popleft() if waiting else None
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if fault is not None:
                raise fault
            return self.answer(asked)
        finally:
            with self.lock:
                self.at_once -= 1


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm: ClassVar[bool] = True
    stand_in: StandIn

    def do_GET(self) -> None:
        self._do(None)

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.headers.get("Content-Type") == "application/x-www-form-urlencoded":
            self._do(dict(parse_qsl(raw.decode())))
        else:
            self._do(json.loads(raw) if raw else None)

    do_PUT = do_PATCH = do_DELETE = do_POST  # noqa: N815

    def _do(self, body: Any) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            path = urlsplit(self.path).path  # as a proxy it gets whole addresses
            answer = self.stand_in.handle(Asked(self.command, path, headers, body))
        except Refusal as refusal:
            if not refusal.status:
                self.close_connection = True
                return
            self._send(refusal.status, refusal.body, refusal.headers)
            return
        if isinstance(answer, Iterator):
            self._stream(answer)
        else:
            self._send(200, answer, {})

    def _send(self, status: int, body: Any, headers: dict[str, str]) -> None:
        data = body.encode() if isinstance(body, str) else body if isinstance(body, bytes) else _json(body)
        self.send_response(status)
        self.send_header("Content-Type", "text/plain" if isinstance(body, str) else "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, lines: Iterator[Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", getattr(lines, "content_type", "application/x-ndjson"))
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for line in lines:
            data = line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n"
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that it has
        """Nothing: pytest would show it as the program's."""


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is no event."""


S = TypeVar("S", bound=StandIn)


@contextmanager
def serving(stand_in: S, path: str = "") -> Iterator[S]:
    """Serve on a free port of the loopback; ``url`` is where, with ``path`` behind."""
    handler = type("BoundHandler", (Handler,), {"stand_in": stand_in})
    with _Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        stand_in.url = f"http://127.0.0.1:{server.server_port}{path}"
        try:
            yield stand_in
        finally:
            server.shutdown()
            thread.join()


def vector_of(words: Sequence[str], dimension: int) -> npt.NDArray[np.float32]:
    """A vector of length 1 in which every word counts, however many there are."""
    hashing = Hashing(dimension)
    parts = [hashing.embed_query(" ".join(words[at : at + 50])) for at in range(0, max(1, len(words)), 50)]
    total = np.sum(parts, axis=0)
    found: npt.NDArray[np.float32] = (total / np.linalg.norm(total)).astype(np.float32)
    return found


_held: list[socket.socket] = []


def nobody() -> str:
    """An address of the loopback where nobody listens. Its port stays taken, so no other test serves it."""
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    _held.append(taken)
    return f"http://127.0.0.1:{taken.getsockname()[1]}"


def free_port() -> int:
    """A port of the loopback for a server that is about to start."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port
