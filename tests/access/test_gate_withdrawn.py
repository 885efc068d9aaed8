"""What becomes of open pages and streams of who may do less, and how much is answered at once."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from rag_core.types import OWNER
from tests.access.speakers import (
    CO_OWNER,
    EVENTS,
    GUEST,
    QUESTION,
    SEARCHER,
    SOON_S,
    Place,
    Speaker,
    asking,
    ends,
    held,
    pages_of,
    shown,
    speaking,
)
from tests.support.chat_servers import OllamaChat
from tests.support.live import ROOT, run_page

pytestmark = pytest.mark.thorough


def close_code(speaker: Speaker, place: Place) -> int:
    """The code with which an open page of somebody is closed once they are let in no more."""
    with speaker.opened() as ws:
        run_page(ws, "")
        remove(place, speaker.name)
        with pytest.raises(ConnectionClosed) as closed:
            _hear_out(ws)
        assert closed.value.rcvd is not None
        return closed.value.rcvd.code


def _hear_out(ws: ClientConnection) -> None:
    while True:
        ws.recv(timeout=SOON_S)


def remove(place: Place, login: str) -> None:
    """Let somebody in no more, from the command line."""
    home = place.library.settings.data_dir.parent
    command = [sys.executable, "-m", "rag_core", "share", "remove", login]
    subprocess.run(command, env={**os.environ, "COMMONPLACE_HOME": str(home)}, check=True, cwd=ROOT)


@pytest.mark.parametrize("login", [GUEST, CO_OWNER])
def test_an_open_page_of_who_is_let_in_no_more_is_closed(place: Place, login: str) -> None:
    with place.person(SEARCHER).opened() as other:
        assert close_code(place.person(login), place) == 1008
        assert place.person(login).get("/")[0] == place.person(login).handshake() == 403
        assert place.person(login).get("/api/v1/stores")[0] == 403
        assert "Search your notes" in shown(run_page(other, "")), "nobody else is closed"


def test_an_owners_page_is_closed_when_they_are_a_guest_now(place: Place) -> None:
    with place.person(CO_OWNER).opened() as ws:
        run_page(ws, "index")
        place.library.sharing.unshare(OWNER, CO_OWNER)
        place.library.sharing.share(OWNER, CO_OWNER, ["shared"])
        with pytest.raises(ConnectionClosed):
            run_page(ws, "index")
    assert pages_of(place.person(CO_OWNER)) == {"search", "files"}


def test_a_guest_does_not_go_on_with_a_session_and_an_owner_does(place: Place) -> None:
    me = place.person(CO_OWNER)
    with me.opened() as ws:
        session = session_of(shown(run_page(ws, "index")))
    with me.opened(session) as ws:
        assert session_of(shown(run_page(ws, "index"))) == session
    place.library.sharing.unshare(OWNER, CO_OWNER)
    place.library.sharing.share(OWNER, CO_OWNER, ["shared"])
    with me.opened(session) as ws:
        assert session_of(shown(run_page(ws, ""))) != session, "its buttons would act for an owner"


def test_a_withdrawn_store_is_gone_at_the_next_step_and_the_page_stays(place: Place) -> None:
    place.library.sharing.share(OWNER, GUEST, ["shared", "mine"], may_ask=True)
    with place.person(GUEST).opened() as ws:
        assert "of my own" in shown(run_page(ws, "", "q=harbour&mode=lexical"))
        place.library.sharing.unshare(OWNER, GUEST, ["mine"])
        after = shown(run_page(ws, "", "q=harbour&mode=lexical"))
        assert "opens at" in after
        assert "of my own" not in after
        time.sleep(1.5)  # a sweep
        assert "Search your notes" in shown(run_page(ws, ""))


def test_a_file_is_not_made_of_what_was_withdrawn(tmp_path: Path) -> None:
    with speaking(tmp_path) as place:  # of its own: Streamlit logs where the making of a file fails
        place.library.sharing.share(OWNER, GUEST, ["shared", "mine"], may_ask=True)
        with place.person(GUEST).opened() as ws:
            drawn = shown(run_page(ws, "", "q=harbour&mode=lexical"))
            assert "/media/" in made(ws, drawn)
            place.library.sharing.unshare(OWNER, GUEST, ["mine"])
            assert "Failed to generate" in made(ws, drawn)


def session_of(drawn: str) -> str:
    """The session that a page is of."""
    return re.findall(r'session_id: "([\w-]+)"', drawn)[0]


def made(ws: ClientConnection, drawn: str) -> str:
    """What is answered when the first file that a page offers is asked for."""
    [file, *_] = re.findall(r'deferred_file_id: "(\w+)"', drawn)
    asked = {"request_id": "1", "session_id": session_of(drawn), "deferred_file": {"file_id": file}}
    ws.send(BackMsg(backend_operation_request=asked).SerializeToString())  # type: ignore[arg-type]
    while True:
        message = ForwardMsg()
        message.ParseFromString(ws.recv(timeout=SOON_S, decode=False))
        if message.WhichOneof("type") == "backend_operation_response":
            return str(message)


def test_a_stream_ends_when_its_guest_is_let_in_no_more(place: Place, talker: OllamaChat) -> None:
    ended = talker.ended
    with held(talker), asking(place.person(GUEST)) as stream:
        place.library.sharing.unshare(OWNER, GUEST)
        assert "event: reply" not in ends(stream)
        until = time.monotonic() + SOON_S
        while talker.ended == ended and time.monotonic() < until:
            time.sleep(0.05)
        assert talker.ended > ended, "the model is stopped"


def test_a_stream_ends_when_its_store_is_withdrawn(place: Place, talker: OllamaChat) -> None:
    place.library.sharing.share(OWNER, GUEST, ["mine"], may_ask=True)
    with held(talker), asking(place.person(GUEST)) as stream:
        place.library.sharing.unshare(OWNER, GUEST, ["shared"])
        assert "event: reply" not in ends(stream)
    assert place.person(GUEST).get("/api/v1/stores")[0] == 200


def test_a_stream_ends_when_its_token_is_revoked(place: Place, talker: OllamaChat) -> None:
    secret = place.library.sharing.create_token(OWNER, "short").token
    script = Speaker("script", place.server, (("Authorization", f"Bearer {secret}"),))
    with held(talker), asking(script) as stream:
        place.library.sharing.revoke_token(OWNER, "short")
        assert "event: reply" not in ends(stream)
    assert script.get("/api/v1/stores")[0] == 401


def test_other_streams_go_on(place: Place, talker: OllamaChat) -> None:
    with held(talker) as go_on, asking(place.person(GUEST)) as stream, asking(place.owner) as own:
        place.library.sharing.unshare(OWNER, SEARCHER)
        time.sleep(1.5)  # a sweep
        go_on.set()
        assert "event: reply" in ends(stream)
        assert "event: reply" in ends(own)


def test_a_guest_has_so_many_questions_answered_at_once(place: Place, talker: OllamaChat) -> None:
    guest = place.person(GUEST)
    with held(talker) as go_on, ExitStack() as streams:
        under_way = [streams.enter_context(asking(guest)) for _ in range(2)]
        for more in ((), (EVENTS,)):
            status, headers, body = guest.post("/ask", QUESTION, *more)
            assert (status, "retry-after" in headers) == (429, True)
            assert all(json.loads(body)["error"].values())
        own = streams.enter_context(asking(place.owner))
        assert guest.post("/search", {"query": "x"})[0] == 200
        go_on.set()
        assert all("event: reply" in ends(each) for each in (*under_way, own))
    assert guest.post("/ask", QUESTION)[0] == 200
