"""The app is closed during a run, and started again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.types import OWNER
from tests.ask.answering import Answering
from tests.support.chat_servers import Messages, OllamaChat
from tests.support.configured import configure
from tests.support.live import start
from tests.support.rest import Rest
from tests.support.runner import WAIT_S
from tests.support.stored import long_note
from tests.support.waiting import until

pytestmark = pytest.mark.thorough


def test_a_run_that_the_end_of_the_app_interrupted_goes_on_when_it_starts_again(
    library: Library, home: Path, notes: Path, tmp_path: Path
) -> None:
    for n in range(400):
        (notes / f"{n}.md").write_text(long_note(30).replace("subject", f"subject{n}-"), "utf-8")
    library.create_store(OWNER, "s", "hashing")
    library.add_source(OWNER, "s", notes, ("**/*",))
    library.jobs.request(OWNER, "s")

    def at_work() -> bool:
        newest = library.jobs.all(OWNER, "s", 1)
        return bool(newest) and newest[0].state == "running" and newest[0].counts.get("added", 0) > 0

    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    with start(tmp_path / "first", COMMONPLACE_HOME=str(home)) as server:
        until(at_work)
        server.process.terminate()
        server.process.wait(WAIT_S)
        assert server.process.stdout is not None
        continues = "Indexing of store 's' continues when the app starts again.\n"
        assert server.process.stdout.read() == continues
    [job] = library.jobs.all(OWNER, "s")
    assert (job.state, job.end_time is not None) == ("interrupted", True)
    assert 0 < library.stores.info(OWNER, "s").file_count < 400
    assert library.jobs.requested(OWNER, "s")

    with start(tmp_path / "second", COMMONPLACE_HOME=str(home)):
        until(lambda: len(library.jobs.all(OWNER, "s")) == 2)


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_an_answer_to_a_script_does_not_hold_up_the_end_of_the_app(
    answering: Answering, home: Path, tmp_path: Path, ollama_chat: OllamaChat, accept: str
) -> None:
    go = threading.Event()

    def endless(_: Messages) -> Iterator[str]:
        yield 'It "opens at six" [1]. '
        while not go.wait(0.02):
            yield "And so on. "

    answering(endless)
    configure(home, f"llm: ollama:talker\nollama_url: {ollama_chat.url}\n")
    (tmp_path / "app").mkdir()
    try:
        with start(tmp_path / "app", COMMONPLACE_HOME=str(home)) as server, ThreadPoolExecutor(1) as pool:
            question = pool.submit(Rest(server.port).post, "/ask", {"question": "harbour"}, Accept=accept)
            until(lambda: bool(ollama_chat.bodies("/api/chat")))
            server.process.terminate()
            server.process.wait(WAIT_S)
            answer = question.result(WAIT_S)
    finally:
        go.set()
    assert answer.status == 200
    assert '"ending": "stopped"' in answer.body or '"ending":"stopped"' in answer.body
    assert "opens at six" in answer.body
