"""What clients can make Streamlit and uvicorn write into the log: little, and nothing that they chose."""

from __future__ import annotations

import importlib.util
import logging
import re
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from rag_core.access.log import ServerLog
from tests.access.speakers import GUEST, Place, shown, speaking
from tests.support.live import run_page
from ui.frame.serve import STREAMLIT_LOGGERS

pytestmark = pytest.mark.thorough

LONGEST_LINE: Final = 600
WORD: Final = "zebracrossing"


@pytest.fixture
def shortened(caplog: pytest.LogCaptureFixture) -> tuple[logging.Logger, list[float]]:
    """A logger with the filter, and the clock that it goes by."""
    now = [0.0]
    logger = logging.getLogger("test.of.the.server")
    logger.filters = [ServerLog(lambda: now[0])]
    return logger, now


def test_a_warning_is_written_once_a_second(
    shortened: tuple[logging.Logger, list[float]], caplog: pytest.LogCaptureFixture
) -> None:
    logger, now = shortened
    for number in range(300):
        now[0] = number / 100
        logger.warning("Invalid HTTP request received.")
    logger.warning("Of another place.")
    assert [record.getMessage() for record in caplog.records] == [
        "Invalid HTTP request received.",
        "Invalid HTTP request received. 99 more before it.",
        "Invalid HTTP request received. 99 more before it.",
        "Of another place.",
    ]


def test_of_an_error_one_line_is_left_without_what_was_sent(
    shortened: tuple[logging.Logger, list[float]], caplog: pytest.LogCaptureFixture
) -> None:
    try:
        int(WORD)
    except ValueError:
        shortened[0].exception("Request %s of %s failed at %d", WORD, WORD, 7)
    shortened[0].info("Said %s", WORD)
    [record] = caplog.records
    line = r"Request … of … failed at 7: ValueError at access/test_server_log\.py:\d+\."
    assert re.fullmatch(line, record.getMessage())
    assert record.exc_info is None
    assert WORD not in caplog.text


def test_the_loggers_are_those_of_the_installed_servers() -> None:
    assert [name for name in STREAMLIT_LOGGERS if importlib.util.find_spec(name) is None] == []


def logged(place: Place, before: int, started: float) -> list[str]:
    """The lines that were logged meanwhile, no more than one a second for a place in the code."""
    lines = place.server.log[before:].splitlines()
    texts = [re.sub(r"^[-\d]+ [:.,\d]+ | [\d,]+ more before it\.$", "", line) for line in lines]
    for text in set(texts):
        assert texts.count(text) <= 2 + time.monotonic() - started, text
    assert [line for line in lines if WORD in line or len(line) > LONGEST_LINE] == []
    return texts


def test_requests_that_are_none_fill_no_log(tmp_path: Path) -> None:
    upgrade = f"GET / HTTP/1.1\r\nHost: {WORD}\r\nConnection: Upgrade\r\nUpgrade: {WORD}\r\n\r\n"
    with speaking(tmp_path) as place:
        before, started = len(place.server.log), time.monotonic()
        for _ in range(100):
            for sent in (f"{WORD}\r\n\r\n", upgrade):
                with socket.create_connection(("127.0.0.1", place.server.port), timeout=10) as raw:
                    raw.sendall(sent.encode())
                    raw.recv(1000)
        said = logged(place, before, started)
        assert "Invalid HTTP request received." in said


WRONG: Final[dict[str, Any]] = {
    "string_value": f"{WORD}');",
    "int_value": 3,
    "double_value": float("nan"),
    "bool_value": True,
    "trigger_value": True,
    "json_value": f"{{{WORD}",
    "bytes_value": b"\xff\xfe",
    "string_trigger_value": {"data": WORD},
    "string_array_value": {"data": [WORD]},
    "double_array_value": {"data": [1.0]},
    "int_array_value": {"data": [99999]},
    "arrow_value": {},
    "file_uploader_state_value": {},
    "chat_input_value": {},
    "json_trigger_value": "[1]",
}
"""Every type that a widget's value can have; each is wrong for most widgets."""
PAGES: Final = {
    "guest": [("", "q=harbour&mode=lexical"), ("ask", "")],
    "owner": [("files", "store=shared"), ("stores", ""), ("settings", "")],
}


def rerun_with(ws: ClientConnection, page: str, query: str, widgets: list[dict[str, Any]]) -> None:
    """Have a page run with the values of widgets, to its end."""
    asked = {"page_name": page, "query_string": query, "widget_states": {"widgets": widgets}}
    ws.send(BackMsg(rerun_script=asked).SerializeToString())  # type: ignore[arg-type]
    while ForwardMsg.FromString(ws.recv(timeout=20, decode=False)).WhichOneof("type") != "script_finished":
        pass


def try_values(ws: ClientConnection, page: str, query: str) -> None:
    """Give the widgets of a page values of each type, all at once, and one of them alone."""
    widgets = sorted(set(re.findall(r'id: "(\$\$ID-[^"]+)"', shown(run_page(ws, page, query)))))
    for number, (kind, value) in enumerate(WRONG.items()):
        for some in (widgets, [widgets[number % len(widgets)]]):
            rerun_with(ws, page, query, [{"id": each, kind: value} for each in some])


@pytest.mark.parametrize("who", PAGES)
def test_no_value_of_a_widget_writes_a_traceback(tmp_path: Path, who: str) -> None:
    with speaking(tmp_path) as place:
        before, started = len(place.server.log), time.monotonic()
        for page, query in PAGES[who]:
            with place.speakers[who].opened() as ws:
                try_values(ws, page, query)
        said = logged(place, before, started)
        assert any(line.startswith("Uncaught app execution: ") for line in said), "else nothing was tried"
        assert "Search your notes" in place.speakers[who].visit()


@pytest.mark.posix
def test_what_a_page_s_socket_is_sent_fills_no_log(tmp_path: Path) -> None:
    with speaking(tmp_path) as place:
        before, started = len(place.server.log), time.monotonic()
        with place.person(GUEST).opened() as ws:
            session = re.search(r'session_id: "(.+)"', shown(run_page(ws, "")))
            assert session
            for claimed in (WORD, session[1]):
                asked = {"request_id": WORD * 50, "session_id": claimed, "deferred_file": {"file_id": WORD}}
                for _ in range(50):
                    ws.send(BackMsg(backend_operation_request=asked).SerializeToString())
            for _ in range(50):
                ws.send(BackMsg(rerun_script={"fragment_id": WORD * 50}).SerializeToString())
            run_page(ws, "")
        for nonsense in ("text", b"\xff\xff"):  # the gate lets a guest's through nowhere
            for _ in range(20):
                with place.owner.opened() as ws, suppress(ConnectionClosed):
                    ws.send(nonsense)
                    while True:
                        ws.recv(timeout=10)
        said = logged(place, before, started)
        kinds = {line.partition(":")[0] for line in said}
        assert kinds >= {"Rejecting backend operation request …", "Error deserializing back message"}
