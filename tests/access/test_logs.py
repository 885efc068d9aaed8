"""What is logged, and where: on standard error, at the level that is set, nothing private."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_core.config import logs
from tests.support import live
from tests.support.command import Run
from tests.support.configured import configure

LOG = logging.getLogger("rag_core.tests")


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Logging is the process's: leave it as it was."""
    factory = logging.getLogRecordFactory()
    known = [(logger := logging.getLogger(name), logger.level, logger.handlers[:]) for name in logs.OURS]
    yield
    logging.setLogRecordFactory(factory)
    for logger, level, handlers in known:
        logger.setLevel(level)
        logger.handlers = handlers


def fail(word: str, note: str) -> None:
    try:
        Path(note).read_text("utf-8")
    except OSError as error:
        raise KeyError(word) from error


def test_logs_go_to_standard_error_at_the_level_set(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info")
    LOG.info("store %r is indexed elsewhere", "zoo")
    LOG.debug("not said")
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.endswith("INFO rag_core.tests: store 'zoo' is indexed elsewhere\n")
    assert "not said" not in shown.err


def test_configuring_again_changes_the_level_and_repeats_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("debug")
    logs.configure("error")
    LOG.warning("not said")
    LOG.error("said")
    assert capsys.readouterr().err.count("said") == 1


def test_a_traceback_tells_where_and_what_kind_but_not_what_the_error_says(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    logs.configure("debug")
    word, note = "sesame", "/no/such/folder/diary of a spy.md"
    try:
        fail(word, note)
    except KeyError:
        LOG.exception("the run ended with an error")
        logging.getLogger("a.library").exception("a library logs it, too")
    for text in (capsys.readouterr().err, caplog.text):
        assert word not in text
        assert "diary" not in text
    assert "in fail" in caplog.text
    assert "KeyError" in caplog.text
    assert "FileNotFoundError" in caplog.text
    assert "a library logs it" in caplog.text


def test_other_loggers_keep_their_level() -> None:
    logs.configure("debug")
    assert not logging.getLogger("websockets.server").isEnabledFor(logging.DEBUG)


def test_commands_follow_the_log_level(run: Run, home: Path) -> None:
    configure(home, "log_level: ERROR\n")
    run("status")
    assert logging.getLogger("rag_core").level == logging.ERROR


def test_the_server_logs_no_query_at_any_level(tmp_path: Path) -> None:
    configure(tmp_path / "home", "log_level: debug\n")
    (tmp_path / "server").mkdir()
    with live.start(tmp_path / "server", COMMONPLACE_HOME=str(tmp_path / "home")) as server:
        live.visit(server, "search")
        assert server.get("/?q=sesame%20street")[0] == 200
        assert server.get("/search?q=sesame%20street", ("X-Forwarded-For", "10.0.0.1"))[0] == 403
        assert "Refused a request (http)" in server.log
        assert "sesame" not in server.log
