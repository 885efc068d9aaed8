"""Asking the REST interface as a script does, and serving it alone to whomever a test names."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from starlette.applications import Starlette

from rag_core.api.app import rest
from rag_core.library import Library
from rag_core.types import Viewer

JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Response:
    status: int
    headers: dict[str, str]
    body: str

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """Both sentences; every error has the same shape, and nothing beside it but an answer's passages."""
        shown = self.json
        assert set(shown) == {"error"} or shown["references"]
        assert set(shown["error"]) == {"code", "message", "suggestion"}
        assert all(shown["error"].values()), "an error says what is wrong and what to do"
        return f"{shown['error']['message']} {shown['error']['suggestion']}"


@dataclass(frozen=True)
class Rest:
    """The interface at a port of this computer."""

    port: int

    def get(self, path: str, **headers: str) -> Response:
        return self.send("GET", path, None, headers)

    def post(self, path: str, body: Any, **headers: str) -> Response:
        """``body`` as JSON; bytes and iterators of bytes as they are."""
        raw = body if isinstance(body, bytes) or hasattr(body, "__next__") else json.dumps(body).encode()
        return self.send("POST", path, raw, {**JSON, **headers})

    def send(self, method: str, path: str, body: Any, headers: dict[str, str]) -> Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)) as connection:
            connection.request(method, f"/api/v1{path}", body, named)
            answer = connection.getresponse()
            text = answer.read().decode("utf-8", "replace")
        return Response(answer.status, {n.lower(): value for n, value in answer.getheaders()}, text)


@contextmanager
def serving_rest(
    library: Library | Callable[[], Library], viewer: Viewer | Mapping[str, Viewer] | None
) -> Iterator[Rest]:
    """The interface alone, on a port of its own: a gate that lets everybody in as ``viewer``, or as the
    header ``who`` says."""
    opened = library if callable(library) else lambda: library
    viewers = viewer if isinstance(viewer, Mapping) else {}
    known = (lambda headers: viewers.get(headers.get("who"))) if viewers else (lambda _: viewer)
    app = Starlette(routes=[rest(opened, known)])
    config = uvicorn.Config(app, port=0, log_config=None, lifespan="off", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield Rest(server.servers[0].sockets[0].getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(10)
