"""The real server: who gets in over HTTP and websocket, how it starts, and how it ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_core.access import REFUSAL
from rag_core.access.headers import OWNER_HEADERS, security_headers
from rag_core.errors import InvalidInput, RagError
from tests.support.live import RECORDER, Server, start, visit
from ui.frame.front import front_page
from ui.frame.serve import project_config, serve

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with start(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture
def server(shared: Server) -> Iterator[Server]:
    """The shared server; its log is shown with a failing test."""
    yield shared
    print(shared.log)


@pytest.fixture
def fresh_server(tmp_path: Path) -> Iterator[Server]:
    with start(tmp_path) as running:
        yield running


def test_a_deep_link_is_the_first_thing_a_fresh_server_sees(fresh_server: Server) -> None:
    # With `pages/` beside the main script Streamlit would run pages/index.py alone: without gate and title.
    messages = visit(fresh_server, "index")
    titles = [m.page_config_changed.title for m in messages if m.WhichOneof("type") == "page_config_changed"]
    navigation = [m.navigation for m in messages if m.WhichOneof("type") == "navigation"]
    assert "Index · Commonplace" in titles
    assert {"", "index"} <= {page.url_pathname for page in navigation[-1].app_pages}
    assert REFUSAL not in str(messages)
    status, _, body = fresh_server.get("/index")
    assert status == 200
    assert "BACKEND_BASE_URL" in body


def test_the_default_page_under_its_own_name_leads_to_the_root(server: Server) -> None:
    status, headers, _ = server.get("/search?q=tea%20pot")
    assert (status, headers["location"]) == (307, "/?q=tea%20pot")


@pytest.mark.parametrize("path", ["/", "/index", "/_stcore/health", "/favicon.png", "/nothing.js"])
def test_every_answer_carries_the_security_headers(server: Server, path: str) -> None:
    _, headers, _ = server.get(path)
    assert {name: headers.get(name) for name in security_headers(front_page())} == security_headers(
        front_page()
    )


def test_a_good_origin_is_let_in(server: Server) -> None:
    assert server.handshake(("Origin", f"http://{server.host}")) == 101
    assert server.handshake() == 101
    assert server.get("/", ("Origin", f"http://{server.host}"))[0] == 200


ATTACKS = {
    "evil origin": [("Origin", "http://evil.example")],
    "another port of this computer": [("Origin", "http://localhost:3000")],
    "rebinding": [("Host", "evil.example:8501"), ("Origin", "http://evil.example:8501")],
    "rebinding without origin": [("Host", "evil.example:8501")],
    "two hosts": [("Host", "localhost"), ("Host", "evil.example")],
    "forwarded": [("Forwarded", "for=127.0.0.1")],
    "x-forwarded-for": [("X-Forwarded-For", "127.0.0.1")],
    "via": [("Via", "1.1 proxy")],
    "tailscale serve": [("Tailscale-User-Login", "owner@example.com"), ("X-Forwarded-Host", "localhost")],
    "forged identity from elsewhere": [("Origin", "http://evil.example"), *OWNER_HEADERS.items()],
}


@pytest.mark.parametrize("headers", ATTACKS.values(), ids=ATTACKS)
def test_attacks_are_refused_over_http_and_websocket(server: Server, headers: list[tuple[str, str]]) -> None:
    for path in ("/", "/index", "/_stcore/health", "/media/x.png"):
        status, answer, body = server.get(path, *headers)
        # Two Host headers do not even reach the gate: the HTTP parser answers 400.
        assert status in ({400, 403} if headers == ATTACKS["two hosts"] else {403})
        assert status == 400 or (body.strip(), answer["content-type"]) == (
            REFUSAL,
            "text/plain; charset=utf-8",
        )
    assert server.handshake(*headers) in {400, 403}


def test_the_config_of_the_working_directory_opens_nothing(server: Server) -> None:
    # Linux: 127.0.0.2 answers only where every interface is bound.
    with pytest.raises(OSError, match=r"refused|timed out|assign"):
        socket.create_connection(("127.0.0.2", server.port), timeout=2).close()
    assert project_config()["server.address"] == "127.0.0.1"
    assert project_config()["theme.light.primaryColor"].startswith("#")
    assert "access-control-allow-origin" not in server.get("/_stcore/health")[1]


def test_a_busy_port_is_named_with_the_next_step(server: Server) -> None:
    with pytest.raises(RagError, match=f"Port {server.port} is already in use.*--port"):
        serve("127.0.0.1", server.port, open_browser=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.7", "::", "example.com", ""])  # noqa: S104
def test_serving_the_network_is_refused(host: str) -> None:
    with pytest.raises(InvalidInput, match="does not listen"):
        serve(host, 8501, open_browser=False)


def test_nothing_is_looked_up_or_connected_to(fresh_server: Server) -> None:
    visit(fresh_server, "")
    fresh_server.handshake(
        ("Origin", "http://evil.example")
    )  # Streamlit alone would now ask for its own address
    lookups = fresh_server.folder / "lookups"
    assert not lookups.exists(), lookups.read_text("utf-8")


def test_the_recorder_would_have_seen_a_lookup(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(RECORDER, "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "LOOKUPS": str(tmp_path / "lookups")}
    code = "import socket; socket.getaddrinfo('localhost', 80)"
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert "localhost" in (tmp_path / "lookups").read_text("utf-8")


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "Ctrl-C"])
def test_the_server_ends_cleanly(fresh_server: Server, ending: signal.Signals) -> None:
    fresh_server.process.send_signal(ending)
    assert fresh_server.process.wait(timeout=10) == 0
    assert "Traceback" not in fresh_server.log
