"""The real server as a child process, for tests that talk to it over the loopback."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

ROOT = Path(__file__).resolve().parents[2]

# Loaded by the server's interpreter: writes down every address it looks up or connects to.
RECORDER = """
import os, sys
def hook(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        with open(os.environ["LOOKUPS"], "a") as log:
            log.write(f"{event} {args}\\n")
sys.addaudithook(hook)
"""


@dataclass(frozen=True)
class Server:
    process: subprocess.Popen[str]
    port: int
    folder: Path

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text("utf-8")

    @property
    def host(self) -> str:
        return f"localhost:{self.port}"

    def get(self, path: str, *headers: tuple[str, str]) -> tuple[int, dict[str, str], str]:
        """Send exactly these headers, plus a Host unless one is given."""
        return self.send("GET", path, b"", *headers)

    def send(
        self, method: str, path: str, body: bytes, *headers: tuple[str, str], at: str = "127.0.0.1"
    ) -> tuple[int, dict[str, str], str]:
        """As `get`, with a method and a body; its length goes along unless headers say otherwise."""
        with closing(http.client.HTTPConnection(at, self.port, timeout=20)) as connection:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            length = [("Content-Length", str(len(body)))] if body else []
            for name, value in [*self._with_host(headers), *length]:
                connection.putheader(name, value)
            connection.endheaders(body or None)
            response = connection.getresponse()
            body = response.read().decode(errors="replace")
            return response.status, {name.lower(): value for name, value in response.getheaders()}, body

    def handshake(self, *headers: tuple[str, str], at: str = "127.0.0.1") -> int:
        """The status of a websocket handshake: 101 is in, 403 is refused."""
        lines = [
            "GET /_stcore/stream HTTP/1.1",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            *(f"{name}: {value}" for name, value in self._with_host(headers)),
        ]
        with socket.create_connection((at, self.port), timeout=10) as raw:
            raw.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
            return int(raw.recv(4096).split(b" ", 2)[1])

    def _with_host(self, headers: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
        given = any(name == "Host" for name, _ in headers)
        return list(headers) if given else [("Host", self.host), *headers]


def visit(server: Server, page: str) -> list[ForwardMsg]:
    """Open a page as the browser does, and return what the scripts sent until they ended."""
    origin = Origin(f"http://{server.host}")
    with connect(f"ws://{server.host}/_stcore/stream", origin=origin, proxy=None) as ws:
        return run_page(ws, page)


def run_page(ws: ClientConnection, page: str, query: str = "") -> list[ForwardMsg]:
    """Have a page run over a websocket, and return what it sent until it ended."""
    messages: list[ForwardMsg] = []
    asked = {"page_name": page, "query_string": query}
    ws.send(BackMsg(rerun_script=asked).SerializeToString())  # type: ignore[arg-type]
    while not messages or messages[-1].WhichOneof("type") != "script_finished":
        message = ForwardMsg()
        message.ParseFromString(ws.recv(timeout=10, decode=False))
        messages.append(message)
    return messages


@contextmanager
def start(folder: Path, port: int = 0, **environment: str) -> Iterator[Server]:
    """A server started from a foreign working directory, whose config would open it to the network.

    ``port`` 0 is any free one; ``environment`` is added to this process's. Folders are read at the start or
    watched if it says so. The server's log is printed at the end: pytest shows it with a failing test.
    """
    (folder / "sitecustomize.py").write_text(RECORDER, "utf-8")
    (folder / ".streamlit").mkdir()
    (folder / ".streamlit" / "config.toml").write_text(
        '[server]\naddress = "0.0.0.0"\nenableCORS = false\n[browser]\ngatherUsageStats = true\n', "utf-8"
    )
    environment = {
        **os.environ,
        "COMMONPLACE_WATCH": "false",
        "COMMONPLACE_SCAN_ON_START": "false",
        **environment,
        "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT), os.environ.get("PYTHONPATH", "")]).strip(
            os.pathsep
        ),
        "LOOKUPS": str(folder / "lookups"),
    }
    program = f"from ui.frame.serve import serve; serve('localhost', {port}, open_browser=False)"
    command = [sys.executable, "-c", program]
    with (
        (folder / "log").open("w", encoding="utf-8") as log,
        subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=log, encoding="utf-8"
        ) as process,
    ):
        try:
            line = process.stdout.readline().strip() if process.stdout else ""
            assert line.startswith("Commonplace is at http://127.0.0.1:"), (folder / "log").read_text("utf-8")
            yield Server(process, int(line.rpartition(":")[2]), folder)
        finally:
            process.kill()
            process.wait()
            print((folder / "log").read_text("utf-8"))
