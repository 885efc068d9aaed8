"""The gate on the real server: what guests reach, and what is refused them. What ``tailscale serve`` would
send is sent by the tests.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection

from rag_core.access import REFUSAL
from rag_core.access.headers import OWNER_HEADERS, security_headers
from rag_core.config import load
from rag_core.library import Library
from rag_core.types import OWNER
from tests.access.speakers import (
    CO_OWNER,
    GUEST,
    STRANGER,
    Place,
    Speaker,
    pages_of,
    shown,
    speaking,
    through_serve,
)
from tests.support.live import ROOT, Server, run_page
from tests.support.standin import free_port
from ui.frame.front import front_page

pytestmark = pytest.mark.thorough

# --- pages ------------------------------------------------------------------------------


OF_A_VISIT = re.compile(r'^ *(script_run_id|session_id|hash): ".*"$', re.MULTILINE)
"""What is never the same twice, and what is made of the store's name."""


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("files", "store={}"),
        ("files", "store={}&path=own.md"),
        ("", "q=x&store={}"),
        ("", "q=x+store:{}"),
        ("ask", "store={}"),
    ],
)
def test_ungranted_and_unknown_stores_are_the_same_on_a_page(place: Place, page: str, query: str) -> None:
    guest = place.person(GUEST)
    ungranted, unknown = (guest.visit(page, query.format(store)) for store in ("mine", "nine"))
    assert "There is no store called" in ungranted
    assert OF_A_VISIT.sub("", ungranted).replace("mine", "nine") == OF_A_VISIT.sub("", unknown)


def test_whoever_is_not_let_in_gets_one_text_and_no_socket(place: Place) -> None:
    for name in ("stranger", "nobody"):
        speaker = place.speakers[name]
        for path in ("/", "/files", "/_stcore/health", "/_stcore/host-config", "/media/x.png", "/n.png"):
            status, headers, body = speaker.get(path)
            assert (status, body.strip()) == (403, REFUSAL)
            assert {key: headers.get(key) for key in security_headers(front_page())} == security_headers(
                front_page()
            )
        assert speaker.handshake() == 403
        status, _, body = speaker.get("/api/v1/stores")
        assert (status, json.loads(body)["error"]["message"]) == (403, "Commonplace does not let you in.")


# --- REST -------------------------------------------------------------------------------


# --- what is the owner's alone ----------------------------------------------------------


SCRIPT = "/_stcore/bidi-components/pages.search/search.js"


def test_a_guest_gets_the_script_of_the_search_page(place: Place) -> None:
    guest = place.person(GUEST)
    guest.visit()
    status, headers, script = guest.get(SCRIPT)
    assert (status, headers["content-type"].partition(";")[0]) == (200, "application/javascript")
    assert "export default" in script
    assert guest.get(SCRIPT.replace("search.js", "..%2fsearch_box.py"))[0] == 400


def test_a_guest_cannot_upload_or_see_the_servers_figures(place: Place) -> None:
    guest = place.person(GUEST)
    for method, path in (
        ("PUT", "/_stcore/upload_file/session/file"),
        ("POST", "/_stcore/upload_file/session/file"),
        ("DELETE", "/_stcore/upload_file/session/file"),
        ("OPTIONS", "/_stcore/upload_file/session/file"),
        ("GET", "/_stcore/upload_file/session/file"),
        ("GET", "/_stcore/metrics"),
        ("GET", "/_stcore/script-health-check"),
        ("GET", "/_stcore/agent"),
        ("POST", SCRIPT),
        ("POST", "/"),
        ("DELETE", "/files"),
    ):
        assert guest.send(method, path, b"x" if method == "PUT" else b"")[0] == 403, (method, path)
    for path in ("/", "/files", "/_stcore/health", "/_stcore/host-config", "/favicon.png"):
        assert guest.get(path)[0] == 200, path
    assert place.person(CO_OWNER).get("/_stcore/metrics")[0] == 200


OF_THE_OWNER = {
    "the caches": {"clear_cache": True},
    "git": {"load_git_info": True},
    "uploads": {"file_urls_request": {"request_id": "1", "file_names": ["x"], "session_id": "1"}},
    "watching": {"set_run_on_save": True},
    "files beside the app": {"backend_operation_request": {"request_id": "1", "install_skills": {}}},
    "a marker": {"backend_operation_request": {"request_id": "1", "dismiss_skills_nudge": {}}},
    "nothing": {},
}


@pytest.mark.posix
@pytest.mark.parametrize("message", OF_THE_OWNER.values(), ids=OF_THE_OWNER)
def test_what_a_guest_may_not_say_over_a_socket_is_not_heard(place: Place, message: dict[str, Any]) -> None:
    with place.person(GUEST).opened() as ws:
        run_page(ws, "")
        ws.recv(timeout=5)  # the last that a page says of itself
        ws.send(BackMsg(**message).SerializeToString())
        ws.send(b"\xff\xff no message")
        ws.send("a text")
        with pytest.raises(TimeoutError):
            print(ws.recv(timeout=0.7))
        assert "Search your notes" in shown(run_page(ws, "")), "the socket stays"


@pytest.mark.parametrize("who", ["guest", "owner by login", "owner"])
def test_a_page_is_not_told_where_the_program_lies(place: Place, who: str) -> None:
    speaker = place.speakers[who]
    for page in ("", "ask", "files"):
        said = speaker.visit(page)
        assert 'main_script_path: "shell.py"' in said
        assert str(ROOT) not in said


def shown_results(ws: ClientConnection) -> tuple[str, str]:
    """The session of a page that shows results, and the id of their export."""
    said = shown(run_page(ws, "", "q=harbour&mode=lexical"))
    session, made = re.search(r'session_id: "(.+)"', said), re.search(r'deferred_file_id: "(.+)"', said)
    assert session
    assert made
    return session[1], made[1]


def export(ws: ClientConnection, session: str, made: str) -> Any:
    """What Streamlit answers to who asks for an export: ``error_msg``, or the address of a file."""
    asked = {"request_id": "1", "session_id": session, "deferred_file": {"file_id": made}}
    ws.send(BackMsg(backend_operation_request=asked).SerializeToString())
    while True:
        message = ForwardMsg.FromString(ws.recv(timeout=10, decode=False))
        if message.WhichOneof("type") == "backend_operation_response":
            return message.backend_operation_response


@pytest.mark.parametrize("who", ["guest", "owner by login", "owner"])
def test_an_export_is_stored_by_no_browser(place: Place, who: str) -> None:
    speaker = place.speakers[who]
    with speaker.opened() as ws:
        answer = export(ws, *shown_results(ws))
    status, headers, body = speaker.get(answer.deferred_file.url)
    assert (status, headers["cache-control"], "opens at six" in body) == (200, "no-store", True)
    status, headers, _ = speaker.get("/media/none.json")
    assert (status, headers["cache-control"]) == (404, "no-store")


@pytest.mark.parametrize("who", ["guest", "owner by login", "owner"])
@pytest.mark.parametrize("other", ["guest", "guest without ask", "owner"])
def test_an_export_is_made_for_the_page_that_shows_the_results_and_no_other(
    place: Place, who: str, other: str
) -> None:
    with place.speakers[who].opened() as ws, place.speakers[other].opened() as others:
        (_, made), (session, _) = shown_results(ws), shown_results(others)
        answer = export(others, session, made)
        assert (answer.error_msg != "", answer.deferred_file.url) == (True, "")


def test_an_export_is_made_after_a_page_was_connected_again(place: Place) -> None:
    with place.owner.opened() as ws:
        session, made = shown_results(ws)
    with place.owner.opened(session) as ws:
        assert export(ws, session, made).deferred_file.url.startswith("/media/")


def test_no_page_around_the_apps_may_steer_it(place: Place) -> None:
    _, _, body = place.person(GUEST).get("/_stcore/host-config")
    assert json.loads(body)["allowedOrigins"] == []


def test_a_guest_cannot_introduce_themselves(place: Place) -> None:
    forged = Speaker("forged", place.server, (*through_serve(GUEST), *OWNER_HEADERS.items()))
    assert pages_of(forged) == {"search", "ask", "files"}
    assert [each["name"] for each in json.loads(forged.get("/api/v1/stores")[2])["stores"]] == ["shared"]
    stranger = Speaker("stranger", place.server, (*through_serve(STRANGER), *OWNER_HEADERS.items()))
    assert stranger.get("/api/v1/stores")[0] == stranger.handshake() == 403


def test_names_of_this_computer_can_be_configured(tmp_path: Path) -> None:
    with speaking(tmp_path, COMMONPLACE_ACCESS_HOSTS="desk, notes.example.com") as place:
        for host in ("desk", "desk:8080", "notes.example.com"):
            assert "Search your notes" in Speaker(GUEST, place.server, through_serve(GUEST, host)).visit()
        assert place.server.get("/", *through_serve(GUEST, "other"))[0] == 403
        assert place.server.handshake(("Host", "desk")) == 403, "it lets nobody else in"


# --- what is kept -----------------------------------------------------------------------


@pytest.mark.posix
def test_visits_are_kept_without_what_was_asked_for(tmp_path: Path) -> None:
    with speaking(tmp_path) as place:
        place.person(GUEST).post("/search", {"query": "zebracrossing"})
        place.person(GUEST).visit("", "q=zebracrossing")
        place.person(CO_OWNER).get("/api/v1/documents?store=zebracrossing")
        place.person(STRANGER).get("/?q=zebracrossing")
        place.owner.visit("", "q=zebracrossing")
        place.server.process.send_signal(signal.SIGTERM)
        place.server.process.wait(timeout=15)
        visits = place.library.sharing.visits(OWNER)
        found = {(each.login, each.door, each.refused): each.requests for each in visits}
        assert found == {
            (GUEST, "rest", False): 1,
            (GUEST, "pages", False): 2,  # the handshake and a message
            (CO_OWNER, "rest", False): 1,
            (STRANGER, "pages", True): 1,
        }
        kept = (place.library.settings.data_dir / "state.db").read_bytes()
        assert b"zebracrossing" not in kept
        assert "zebracrossing" not in place.server.log


# --- started otherwise ------------------------------------------------------------------


@contextmanager
def plainly(folder: Path, address: str) -> Iterator[Server]:
    """The app as ``streamlit run app.py`` starts it."""
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py")]
    options = ["--server.address", address, "--server.port", str(port), "--server.headless", "true"]
    told = {**os.environ, "COMMONPLACE_HOME": str(folder / "home")}
    with (
        (folder / "log").open("w", encoding="utf-8") as log,
        subprocess.Popen(
            [*command, *options], cwd=ROOT, env=told, stdout=log, stderr=log, encoding="utf-8"
        ) as process,
    ):
        server = Server(process, port, folder)
        try:
            until = time.monotonic() + 120
            while process.poll() is None and time.monotonic() < until:
                with suppress(OSError):
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                time.sleep(0.1)
            yield server
        finally:
            process.terminate()
            print(server.log)


@pytest.mark.parametrize("address", ["0.0.0.0", "::"])  # noqa: S104
def test_started_otherwise_it_listens_on_no_other_address(tmp_path: Path, address: str) -> None:
    with plainly(tmp_path, address) as server:
        assert server.process.wait(60) != 0
        assert f"Commonplace does not listen on '{address}'" in server.log


def test_started_otherwise_it_honours_no_login_and_says_so(tmp_path: Path) -> None:
    library = Library.open(load({"COMMONPLACE_HOME": str(tmp_path / "home")}))
    library.create_store(OWNER, "shared", "hashing")
    library.sharing.make_owner(OWNER, CO_OWNER)
    library.close()
    with plainly(tmp_path, "127.0.0.1") as server:
        assert server.get("/")[0] == 200
        assert "To let others in, start it with `commonplace serve`." in server.log
        for address in ("100.64.0.2", "127.0.0.1", "::1"):
            headers = through_serve(CO_OWNER, X_Forwarded_For=address)
            assert server.get("/", *headers)[0] == server.handshake(*headers) == 403
