"""Attacks on the running app that no other module tries. docs/security.md lists every attack with its test.

The app still stands after each, and logged no fault (the fixture ``place``, and ``house`` here).
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection

from rag_core.access import REFUSAL
from rag_core.access.limits import MAX_HEADERS, MAX_OPEN
from rag_core.types import OWNER
from tests.access.speakers import (
    CO_OWNER,
    GUEST,
    TAILNET,
    Header,
    Place,
    call,
    shown,
    speaking,
    through_serve,
)
from tests.support.live import ROOT, Server, run_page

pytestmark = pytest.mark.thorough

PAGE: Final = ROOT / "docs" / "security.md"


def exchange(server: Server, first: str, headers: Sequence[Header]) -> tuple[int, bytes]:
    """Send a request byte by byte as it stands; the status and body of what comes back, 0 for nothing."""
    lines = [first, *(f"{name}: {value}" for name, value in headers), "Connection: close"]
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw, suppress(OSError):
        received = b""
        raw.sendall(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        while part := raw.recv(65536):
            received += part
    head, _, rest = received.partition(b"\r\n\r\n")
    return int(head.split(b" ", 2)[1]) if head.startswith(b"HTTP/1.") else 0, rest


# --- the page of documentation ----------------------------------------------------------


def test_every_attack_of_the_documentation_has_a_test_that_exists() -> None:
    named = re.findall(r"`(test_\w+)::(test_\w+)`", PAGE.read_text("utf-8"))
    assert len(named) > 20
    sources = {module: next((ROOT / "tests").rglob(f"{module}.py")).read_text("utf-8") for module, _ in named}
    assert [(module, test) for module, test in named if f"def {test}(" not in sources[module]] == []


# --- who sends it -----------------------------------------------------------------------


@pytest.mark.parametrize("login", [CO_OWNER, GUEST])
@pytest.mark.parametrize("name", [TAILNET, "evil.tail0.ts.net"])
def test_a_page_whose_tailnet_name_was_rebound_is_refused(place: Place, login: str, name: str) -> None:
    """Its script may send every header that Tailscale does; the Host is out of its reach."""
    host = f"{name}:{place.server.port}"
    headers = through_serve(login, host)
    for path in ("/", "/api/v1/stores", "/mcp"):
        assert place.server.get(path, *headers)[0] == 403
    assert place.server.handshake(*headers) == 403
    assert place.person(login).get("/api/v1/stores")[0] == 200, "with the Host that Serve has"


def free_port_of_four_digits() -> int:
    """Before one of five a zero makes no port."""
    for port in range(7000, 9999):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("No port is free.")


def test_a_port_with_a_zero_before_it_is_refused(tmp_path: Path) -> None:
    with speaking(tmp_path, free_port_of_four_digits()) as place:
        for host in (f"{TAILNET}:0{place.server.port}", f"localhost:0{place.server.port}"):
            headers = through_serve(CO_OWNER, host) if host.startswith(TAILNET) else [("Host", host)]
            assert place.server.get("/api/v1/stores", *headers)[0] == place.server.handshake(*headers) == 403
        assert place.person(CO_OWNER).get("/api/v1/stores")[0] == place.owner.get("/api/v1/stores")[0] == 200


HERE: Final = ("Host", "localhost")
GET, POST = "GET /api/v1/stores HTTP/1.1", "POST /mcp HTTP/1.1"
ODD_REQUESTS: dict[str, tuple[str, list[Header]]] = {
    "HTTP/1.0 without a Host": ("GET /api/v1/stores HTTP/1.0", []),
    "no Host": (GET, []),
    "an empty Host": (GET, [("Host", "")]),
    "a whole address": ("GET http://localhost/api/v1/stores HTTP/1.1", [("Host", "evil.example")]),
    "a name before the Host": (GET, [("Host", "evil@localhost")]),
    "a Host with a dot behind it": (GET, [("Host", "localhost.")]),
    "a list of Hosts": (GET, [("Host", "localhost, evil.example")]),
    "another case": (GET, [HERE, ("x-FORWARDED-for", "100.64.0.2")]),
    "a blank before the colon": (GET, [HERE, ("X-Forwarded-For ", "100.64.0.2")]),
    "a folded header": (GET, [HERE, ("X-A", "1\r\n x-forwarded-for: 100.64.0.2")]),
    "two lengths": (POST, [HERE, ("Content-Length", "2"), ("Content-Length", "3")]),
    "a length and chunks": (POST, [HERE, ("Content-Length", "4"), ("Transfer-Encoding", "chunked")]),
    "a negative length": (POST, [HERE, ("Content-Length", "-5")]),
    "the preface of HTTP/2": ("PRI * HTTP/2.0", []),
    "the beginning of TLS": ("\x16\x03\x01\x02\x00\x01", []),
}


@pytest.mark.parametrize(("first", "headers"), ODD_REQUESTS.values(), ids=ODD_REQUESTS)
def test_an_odd_request_is_refused(place: Place, first: str, headers: list[Header]) -> None:
    assert exchange(place.server, first, headers)[0] in (400, 403)


# --- a guest who wants more -------------------------------------------------------------

DETOURS = (
    "/_stcore/metrics", "//_stcore/metrics", "/./_stcore/metrics", "/x/../_stcore/metrics",
    "/_stcore/./metrics", "/%5fstcore/metrics", "/_stcore%2fmetrics", "/_STCORE/metrics",
    "/_stcore//metrics", "/_stcore/metrics/", "/_stcore/metrics;x", "/files/_stcore/metrics",
    "/api/../_stcore/metrics", "/mcp/../_stcore/metrics", "/media/../_stcore/metrics",
    "http://localhost/_stcore/metrics",
)  # fmt: skip
OVERRIDES = (
    (), (("X-HTTP-Method-Override", "GET"),), (("X-Original-URL", "/_stcore/metrics"),),
    (("X-Rewrite-URL", "/_stcore/metrics"),), (("x_commonplace_role", "owner"),),
    (("X-COMMONPLACE-Role", "owner"), ("X-CommonPlace-Login", "owner")),
)  # fmt: skip


@pytest.mark.parametrize("path", DETOURS)
def test_no_detour_leads_a_guest_to_what_is_the_owners(place: Place, path: str) -> None:
    guest, known = place.person(GUEST), place.owner.get("/_stcore/metrics")[2].splitlines()[0].encode()
    assert known.startswith(b"#")
    for more in OVERRIDES:
        status, body = exchange(place.server, f"GET {path} HTTP/1.1", [*guest.headers, *more])
        assert (status in (200, 400, 403, 404), known in body) == (True, False)


SPELLINGS = (
    "/api//v1/stores", "//api/v1/stores", "/%61pi/v1/stores", "/api/../api/v1/stores", "/API/v1/stores",
    "/api/v1/stores/", "/api/v1/%73tores", "/api/v1/stores%00",
)  # fmt: skip


@pytest.mark.parametrize("path", SPELLINGS)
@pytest.mark.parametrize("who", ["guest", "stranger", "nobody"])
def test_no_way_of_writing_an_address_shows_more(place: Place, who: str, path: str) -> None:
    status, body = exchange(place.server, f"GET {path} HTTP/1.1", place.speakers[who].headers)
    assert status in ((200, 400, 404) if who == "guest" else (400, 403))
    assert b"mine" not in body


CLIMBS = (
    "../mine/own.md", "..%2fmine%2fown.md", "%2e%2e/mine/own.md", "..\\mine\\own.md", "./../mine/own.md",
    "../../home/data/state.db", "/etc/hostname", "//etc/hostname", "..%00/mine/own.md",
    "open.md/../../mine/own.md",
)  # fmt: skip


@pytest.mark.parametrize("path", CLIMBS)
@pytest.mark.parametrize("who", ["owner", "guest"])
def test_nothing_outside_a_store_is_read_through_its_paths(place: Place, who: str, path: str) -> None:
    speaker = place.speakers[who]
    status, body = exchange(
        place.server,
        f"GET /api/v1/documents/shared/{path} HTTP/1.1",
        [("Host", place.server.host), *speaker.headers] if who == "owner" else speaker.headers,
    )
    assert (status, b"of my own" in body) == (404, False)
    assert is_an_error(body)
    _, said = call(speaker, "open", file_path=path, store="shared")
    assert not said["success"]
    page = speaker.visit("files", f"store=shared&path={path}")
    assert "of my own" not in page


def is_an_error(body: bytes) -> bool:
    """Whether a body is an error of REST: two sentences, and nothing else."""
    said = json.loads(body)
    return set(said) == {"error"} and all(said["error"][name] for name in ("code", "message", "suggestion"))


OFF_THE_PATH = (
    "/api/v1/documents/shared/%2e%2e/x", "/api/v1/documents/shared/../x", "/api/v1/documents/shared/..%5cx",
    "/api/v1/documents/shared/a%00b", "/api/v1/documents/../shared/open.md", "/api/v1/stores/..",
    "/api/v1/stores/..%2f", "/api/v1/../x", "/api/../x", "/api/v1/..%5cstatus", "/api/", "/api/v2", "/mcp/..",
    "/mcp/../x", "/mcp/x", "/mcp/%00",
)  # fmt: skip


@pytest.mark.parametrize("path", OFF_THE_PATH)
@pytest.mark.parametrize("who", ["owner", "guest", "token"])
def test_programs_are_answered_in_json_wherever_an_address_leads(place: Place, who: str, path: str) -> None:
    speaker = place.speakers[who]
    headers = speaker.headers or [("Host", place.server.host)]
    status, body = exchange(place.server, f"GET {path} HTTP/1.1", headers)
    assert (status, is_an_error(body)) == (404, True)


@pytest.mark.parametrize("path", ["/../app.py", "/static/../../app.py", "/%2e%2e/app.py", "/media/../app.py",
    "/component/x/../../app.py", "/app/static/../app.py", "/static/%2e%2e%2f%2e%2e%2fapp.py"])  # fmt: skip
def test_no_file_of_the_program_or_the_library_is_served(place: Place, path: str) -> None:
    for target in (path, path.replace("app.py", "home/data/state.db")):
        status, body = exchange(place.server, f"GET {target} HTTP/1.1", [("Host", place.server.host)])
        assert status in (200, 400, 403, 404)
        assert b"AccessGate" not in body
        assert not body.startswith(b"SQLite")


def test_an_absolute_path_tells_a_guest_nothing(place: Place) -> None:
    def said(path: str) -> str:
        _, answer = call(place.person(GUEST), "open", file_path=str(place.notes / path), store="shared")
        assert not answer["success"]
        return json.dumps(answer).replace(path, "…")

    paths = ("shared/open.md", "mine/own.md", "shared/secret.md", "shared/absent.md")
    assert len({said(path) for path in paths}) == 1
    _, answer = call(place.owner, "open", file_path=str(place.notes / "shared/open.md"), store="shared")
    assert answer["success"]


# --- somebody else's page ---------------------------------------------------------------


def press(ws: ClientConnection, button: str) -> str:
    """Press a button of a page by its id, and what the page shows then."""
    pressed = BackMsg()
    widget = pressed.rerun_script.widget_states.widgets.add()
    widget.id, widget.trigger_value, pressed.rerun_script.page_name = button, True, "settings"
    ws.send(pressed.SerializeToString())
    messages: list[ForwardMsg] = []
    while not messages or messages[-1].WhichOneof("type") != "script_finished":
        messages.append(ForwardMsg.FromString(ws.recv(timeout=10, decode=False)))
    return shown(messages)


@pytest.mark.parametrize("thief", ["a guest who knows its number", "its owner, who is a guest now"])
def test_a_page_of_an_owner_is_not_resumed_by_a_guest(place: Place, thief: str) -> None:
    place.library.sharing.create_token(OWNER, "precious")
    try:
        with place.person(CO_OWNER).opened() as ws:
            said = shown(run_page(ws, "settings"))
        session = re.search(r'session_id: "([^"]+)"', said)
        button = re.search(r'id: "(\$\$ID-[^"]*settings_revoke_precious)"', said)
        assert session
        assert button
        if thief.startswith("its"):
            place.library.sharing.unshare(OWNER, CO_OWNER)
            place.library.sharing.share(OWNER, CO_OWNER, ["shared"])
        with place.person(CO_OWNER if thief.startswith("its") else GUEST).opened(session[1]) as ws:
            assert session[1] not in press(ws, button[1])
        assert "precious" in {token.name for token in place.library.sharing.tokens(OWNER)}
    finally:
        place.library.sharing.revoke_token(OWNER, "precious")
        place.library.sharing.unshare(OWNER, CO_OWNER)


# --- a private document -----------------------------------------------------------------


# --- too much, too slowly ---------------------------------------------------------------


def test_headers_that_are_too_large_are_refused(place: Place) -> None:
    for speaker in (place.owner, place.person(GUEST), place.nobody):
        host = [] if speaker.headers else [("Host", place.server.host)]
        for many in ([("X-A", "y" * (MAX_HEADERS + 1))], [(f"X-{n}", "y" * 50) for n in range(2000)]):
            status, _ = exchange(place.server, "GET / HTTP/1.1", [*host, *speaker.headers, *many])
            assert status == 431
        assert exchange(place.server, f"GET /?{'y' * 100_000} HTTP/1.1", speaker.headers)[0] == 400


def test_many_connections_that_say_nothing_more_hold_nobody_up(place: Place) -> None:
    with ExitStack() as stack:
        for number in range(200):
            raw = stack.enter_context(socket.create_connection(("127.0.0.1", place.server.port), timeout=10))
            raw.sendall((b"", b"G", b"GET / HTTP/1.1\r\nHost: localhost\r\nX-A: 1")[number % 3])
        assert place.owner.get("/api/v1/stores")[0] == 200
        assert "Search your notes" in place.person(GUEST).visit()


def test_a_guest_has_so_many_pages_open_and_nobody_else_is_kept_out(place: Place) -> None:
    guest = place.person(GUEST)
    with ExitStack() as stack:
        for _ in range(MAX_OPEN):
            stack.enter_context(guest.opened())
        assert guest.handshake() == 403
        assert guest.get("/api/v1/stores")[0] == 429
        assert place.person(CO_OWNER).get("/api/v1/stores")[0] == 200
        assert place.owner.handshake() == 101


@pytest.mark.posix
def test_guests_do_not_use_up_the_files_that_the_app_may_open(tmp_path: Path) -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as stack:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
        try:
            place = stack.enter_context(speaking(tmp_path))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for _ in range(80):  # each with a session of four files
            stack.enter_context(place.person(GUEST).opened())
        assert place.owner.get("/api/v1/stores")[0] == 200


BODIES: dict[str, bytes] = {
    "very deep": b'{"query": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "never closed": b'{"query": ' * 20_000,
    "a huge number": b'{"query": "x", "top_k": ' + b"9" * 5000 + b"}",
    "no number": b'{"query": "x", "min_score": NaN}',
    "infinite": b'{"query": "x", "min_score": 1e999}',
    "half a character": b'{"query": "\\ud800"}',
    "not UTF-8": b'{"query": "\xff"}',
    "many names": json.dumps({str(number): 0 for number in range(20_000)}).encode(),
    "UTF-16": '{"query": "x"}'.encode("utf-16"),
    "a name twice": b'{"query": "x", "stores": ["mine"], "stores": ["shared"]}',
    "compressed": b"\x1f\x8b\x08" + b"x" * 100,
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("path", ["/api/v1/search", "/mcp"])
def test_a_body_that_is_no_good_is_refused(place: Place, path: str, body: bytes) -> None:
    kinds = (("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream"))
    for speaker in (place.person(GUEST), place.owner):
        status, _, said = speaker.send("POST", path, body, *kinds)
        assert (status, "mine" in said, str(Path.home()) in said) == (400, False, False)


@pytest.mark.posix
def test_rubbish_on_a_page_s_socket_is_passed_over(place: Place) -> None:
    with place.person(GUEST).opened() as ws:
        for rubbish in (b"\xff" * 100, b"", b"\x0a" * 1000, "text"):
            ws.send(rubbish)
        assert REFUSAL not in shown(run_page(ws, ""))
