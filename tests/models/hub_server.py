"""A stand-in for the Hugging Face hub, as strict as its public part is lenient: it wants no key, answers only
for the files and the revision that it has, and sends large files by a redirect, as the real one does."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

REPO = "tester/tiny-model"
REVISION = "0123456789abcdef0123456789abcdef01234567"
_LARGE = (".onnx", "tokenizer.json")


@dataclass
class Hub:
    """What it has; ``sent`` replaces what it sends for a file, and ``asked`` are the requests."""

    files: dict[str, bytes]
    sent: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    url: str = ""

    def listing(self) -> dict[str, Any]:
        return {"id": REPO, "modelId": REPO, "sha": REVISION, "private": False, "tags": [], "downloads": 0,
                "siblings": [self._listed(name, data) for name, data in self.files.items()]}  # fmt: skip

    def _listed(self, name: str, data: bytes) -> dict[str, Any]:
        told: dict[str, Any] = {"rfilename": name, "size": len(data), "blobId": git_sha1(data)}
        if name.endswith(_LARGE):
            told["lfs"] = {"sha256": sha256(data), "size": len(data), "pointerSize": 134}
        return told


def git_sha1(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def do_HEAD(self) -> None:
        self._answer(b"")

    def do_GET(self) -> None:
        self._answer(None)

    def _answer(self, instead: bytes | None) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.asked.append(f"{self.command} {path}")
        if "authorization" in self.headers:
            self._send(400, b"a key was sent", {}, instead)
            return
        api, files = f"/api/models/{REPO}", f"/{REPO}/resolve/{REVISION}/"
        if path in (api, f"{api}/revision/{REVISION}") and "blobs" in urlsplit(self.path).query:
            self._send(200, json.dumps(self.hub.listing()).encode(), {}, instead)
        elif path.startswith("/cdn/") and path[5:] in self.hub.files:
            self._send(200, self._data(path[5:]), {}, instead)
        elif path.startswith(files) and (name := path.removeprefix(files)) in self.hub.files:
            data = self._data(name)
            told = {"X-Repo-Commit": REVISION, "Accept-Ranges": "bytes"}
            if name.endswith(_LARGE):
                elsewhere = self.hub.url.replace("127.0.0.1", "localhost")
                digest = sha256(self.hub.files[name])
                told |= {"X-Linked-Etag": f'"{digest}"', "X-Linked-Size": str(len(data))}
                self._send(302, b"", {**told, "Location": f"{elsewhere}/cdn/{name}"}, instead)
            else:
                self._send(200, data, {**told, "ETag": f'"{git_sha1(self.hub.files[name])}"'}, instead)
        else:
            code = "EntryNotFound" if path.startswith(files) else "RepoNotFound"
            self._send(404, b"Not found", {"X-Error-Code": code}, instead)

    def _data(self, name: str) -> bytes:
        return self.hub.sent.get(name, self.hub.files[name])

    def _send(self, status: int, data: bytes, headers: Mapping[str, str], instead: bytes | None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data if instead is None else instead)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that it has
        """Nothing: pytest would show it as the program's."""


@contextmanager
def hub_of(files: Mapping[str, bytes]) -> Iterator[Hub]:
    """Serve a hub that has the ``files`` in REPO at REVISION."""
    hub = Hub(dict(files))
    with ThreadingHTTPServer(("127.0.0.1", 0), type("BoundHandler", (_Handler,), {"hub": hub})) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        hub.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield hub
        finally:
            server.shutdown()
            thread.join()
