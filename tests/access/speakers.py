"""A running app with two stores, one of them shared, and whoever may speak to it: the owner here, an owner by
login, a guest who may ask, one who may only search, a stranger of the tailnet, a script with a token, nobody.

``tailscale serve`` is a proxy on this computer, so what it sends can be sent by a test just as well.
"""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

from rag_core.config import load
from rag_core.library import Library
from rag_core.types import OWNER
from tests.conftest import index
from tests.support.chat_servers import Messages, OllamaChat
from tests.support.live import Server, run_page, start
from tests.support.standin import serving
from tests.support.trees import write

TAILNET = "desk.tail1234.ts.net"
GUEST, SEARCHER, CO_OWNER, STRANGER = "ada@example.com", "bob@github", "me@example.com", "eve@example.com"
ADDRESS = "100.64.0.2"

QUESTION = {"question": "when the harbour opens at six"}
EVENTS = ("Accept", "text/event-stream")
SOON_S = 4.0  # a sweep each second, and what it does

Header = tuple[str, str]

NOTES = {
    "shared/open.md": "---\ntags: [sea]\n---\n# Open\n\nThe harbour opens at six. See [[secret]].\n",
    "shared/secret.md": "---\nprivate: true\ntags: [underhand]\n---\n# Diary\n\nThe word is sesame.\n",
    "mine/own.md": "# Own\n\nThe harbour of my own.\n",
}


def through_serve(login: str = "", host: str = TAILNET, **others: str) -> tuple[Header, ...]:
    """What ``tailscale serve`` sends for a person; for a tagged machine, which has no login, without one."""
    sent = {
        "Host": host,
        "X-Forwarded-For": ADDRESS,
        "X-Forwarded-Host": host,
        "X-Forwarded-Proto": "https",
        "Tailscale-Headers-Info": "https://tailscale.com/s/serve-headers",
    }
    if login:
        sent |= {
            "Tailscale-User-Login": login,
            "Tailscale-User-Name": "=?utf-8?q?Ada_L=C3=B6velace?=",
            "Tailscale-User-Profile-Pic": "https://example.com/ada.png",
        }
    return tuple((sent | {name.replace("_", "-"): value for name, value in others.items()}).items())


@dataclass(frozen=True)
class Speaker:
    """Somebody who sends these headers with all that they send."""

    name: str
    server: Server
    headers: tuple[Header, ...] = ()

    def get(self, path: str, *more: Header) -> tuple[int, dict[str, str], str]:
        return self.server.get(path, *self.headers, *more)

    def send(
        self, method: str, path: str, body: bytes = b"", *more: Header
    ) -> tuple[int, dict[str, str], str]:
        return self.server.send(method, path, body, *self.headers, *more)

    def post(self, path: str, body: Any, *more: Header) -> tuple[int, dict[str, str], str]:
        """``body`` as JSON to REST."""
        kind = ("Content-Type", "application/json")
        return self.send("POST", f"/api/v1{path}", json.dumps(body).encode(), kind, *more)

    def handshake(self, *more: Header) -> int:
        return self.server.handshake(*self.headers, *more)

    @contextmanager
    def opened(self, resumed: str = "") -> Iterator[ClientConnection]:
        """A page's websocket, as a browser opens it; ``resumed``: the session that it wants to go on with."""
        sent = dict(self.headers)
        scheme, host = ("wss", sent.pop("Host")) if "Host" in sent else ("ws", self.server.host)
        names = [Subprotocol(each) for each in ("streamlit", "none", resumed)]
        raw = socket.create_connection(("127.0.0.1", self.server.port), timeout=10)
        origin = Origin(f"{'https' if scheme == 'wss' else 'http'}://{host}")
        with connect(
            f"ws://{host}/_stcore/stream",
            sock=raw,
            origin=origin,
            additional_headers=sent,
            proxy=None,
            subprotocols=names if resumed else None,
        ) as ws:
            yield ws

    def visit(self, page: str = "", query: str = "") -> str:
        """Everything that a page sends, as text."""
        with self.opened() as ws:
            return shown(run_page(ws, page, query))


def shown(messages: Any) -> str:
    """What messages of a page say."""
    return "\n".join(map(str, messages))


def pages_of(speaker: Speaker) -> set[str]:
    """The pages in the navigation of somebody."""
    with speaker.opened() as ws:
        messages = run_page(ws, "")
    [*_, last] = [m.navigation for m in messages if m.WhichOneof("type") == "navigation"]
    return {page.url_pathname or "search" for page in last.app_pages}


@dataclass(frozen=True)
class Place:
    """The app, its library as another process has it open, and a token."""

    server: Server
    library: Library
    notes: Path
    token: str

    @property
    def owner(self) -> Speaker:
        return Speaker("owner", self.server)

    @property
    def nobody(self) -> Speaker:
        return Speaker("nobody", self.server, through_serve())

    @property
    def bearer(self) -> Speaker:
        return Speaker("token", self.server, (*through_serve(), ("Authorization", f"Bearer {self.token}")))

    def person(self, login: str) -> Speaker:
        return Speaker(login, self.server, through_serve(login))

    @property
    def speakers(self) -> Mapping[str, Speaker]:
        """Everyone, by role."""
        people = {
            "owner by login": self.person(CO_OWNER),
            "guest": self.person(GUEST),
            "guest without ask": self.person(SEARCHER),
            "stranger": self.person(STRANGER),
        }
        return {"owner": self.owner, **people, "token": self.bearer, "nobody": self.nobody}


@contextmanager
def speaking(folder: Path, port: int = 0, **environment: str) -> Iterator[Place]:
    """Start the app below ``folder`` at ``port``, 0 for any free one; ``environment`` is added to its own."""
    home, notes, run = folder / "home", folder / "notes", folder / "run"
    run.mkdir()
    write(notes, NOTES)
    told = {"COMMONPLACE_HOME": str(home), "COMMONPLACE_ROOTS": str(notes), **environment}
    library = Library.open(load(told))
    for store in ("shared", "mine"):
        index(library, store, notes / store)
    let_in(library)
    token = library.sharing.create_token(OWNER, "script").token
    try:
        with start(run, port, **told) as server:
            yield Place(server, library, notes, token)
    finally:
        library.close()


def let_in(library: Library) -> None:
    """Let everybody in who is to be."""
    library.sharing.share(OWNER, GUEST, ["shared"], may_ask=True)
    library.sharing.share(OWNER, SEARCHER, ["shared"])
    library.sharing.make_owner(OWNER, CO_OWNER)


# --- fixtures ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def talker() -> Iterator[OllamaChat]:
    """A model that says a word, and goes on when it is told to."""
    with serving(OllamaChat()) as running:
        yield running


@pytest.fixture(scope="module")
def everybodys_place(tmp_path_factory: pytest.TempPathFactory, talker: OllamaChat) -> Iterator[Place]:
    told = {"COMMONPLACE_LLM": "ollama:talker", "COMMONPLACE_OLLAMA_URL": talker.url}
    with speaking(tmp_path_factory.mktemp("gate"), **told) as place:
        yield place


@pytest.fixture
def place(everybodys_place: Place) -> Iterator[Place]:
    """The app, everybody let in again at the end; it still stands then, and logged no fault."""
    yield everybodys_place
    let_in(everybodys_place.library)
    print(everybodys_place.server.log)
    assert everybodys_place.owner.get("/_stcore/health")[0] == 200
    assert "Traceback" not in everybodys_place.server.log


# --- tools ------------------------------------------------------------------------------


def call(who: Speaker, tool: str, **arguments: Any) -> tuple[int, dict[str, Any]]:
    """The status, and what a tool answers."""
    asked = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }
    kinds = (("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream"))
    status, _, body = who.send("POST", "/mcp", json.dumps(asked).encode(), *kinds)
    if status != 200:
        return status, {}
    [data] = re.findall("^data: (.*)$", body, re.MULTILINE)
    said: dict[str, Any] = json.loads(data)["result"]["structuredContent"]
    return status, said


# --- streams ----------------------------------------------------------------------------


@contextmanager
def held(talker: OllamaChat) -> Iterator[threading.Event]:
    """The model says nothing more until the event is set."""
    go_on = threading.Event()

    def script(_: Messages) -> Iterator[str]:
        yield "It "
        while not go_on.wait(0.05):
            yield ""  # so that it hears when nobody listens any more
        yield 'opens: "opens at six" [1].'

    talker.script = script
    try:
        yield go_on
    finally:
        go_on.set()


@contextmanager
def asking(speaker: Speaker, *more: tuple[str, str]) -> Iterator[http.client.HTTPResponse]:
    """A stream of events under way: the passages have come."""
    connection = http.client.HTTPConnection("127.0.0.1", speaker.server.port, timeout=15)
    try:
        connection.putrequest("POST", "/api/v1/ask", skip_host=True)
        body = json.dumps(QUESTION).encode()
        host = () if any(name == "Host" for name, _ in speaker.headers) else (("Host", speaker.server.host),)
        kind = [("Content-Type", "application/json"), ("Content-Length", str(len(body))), EVENTS]
        for name, value in [*host, *speaker.headers, *kind, *more]:
            connection.putheader(name, value)
        connection.endheaders(body)
        response = connection.getresponse()
        assert response.status == 200, response.read()
        assert response.readline() == b"event: references\n"
        yield response
    finally:
        connection.close()


def ends(stream: http.client.HTTPResponse) -> str:
    """What else comes, until it ends soon."""
    started = time.monotonic()
    try:
        rest = stream.read().decode()
    except http.client.IncompleteRead as cut:
        rest = cut.partial.decode()
    assert time.monotonic() - started < SOON_S
    return rest
