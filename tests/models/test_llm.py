"""Models that answer, through real HTTP: words as they come, the time limit, stopping, what goes wrong."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from rag_core.errors import InvalidInput, LLMError
from rag_core.models import ChatMessage, LLMOptions, open_llm
from rag_core.models.chat import Call, stream_answer
from tests.support.chat_servers import OllamaChat, OpenAIChat, say
from tests.support.standin import Refusal, nobody
from tests.support.waiting import until

NOTE = "The harbour password is sesame, says the note."
ASKED = [ChatMessage("system", "Be brief."), ChatMessage("user", NOTE)]
PATHS = {"ollama": "/api/chat", "openai": "/v1/chat/completions"}


@dataclass
class Talker:
    """A model on one of the stand-ins."""

    name: str
    server: OllamaChat | OpenAIChat
    options: LLMOptions

    def says(self, stop: threading.Event | None = None, heard: Callable[[str], None] | None = None) -> str:
        return self.talk(stop, heard)[0]

    def talk(
        self, stop: threading.Event | None = None, heard: Callable[[str], None] | None = None
    ) -> tuple[str, str]:
        call, said = Call(), []
        llm = open_llm(self.name, self.options)
        for piece in stream_answer(llm, ASKED, self.options, stop or threading.Event(), call):
            said.append(piece)
            if heard:
                heard(piece)
        return "".join(said), call.outcome

    def trouble(self) -> str:
        with pytest.raises(LLMError) as error:
            self.talk()
        assert NOTE not in str(error.value)
        assert "sesame" not in str(error.value)
        assert error.value.suggestion
        return error.value.message

    @property
    def path(self) -> str:
        return PATHS[self.name.partition(":")[0]]

    @property
    def sent(self) -> dict[str, Any]:
        body: dict[str, Any] = self.server.bodies(self.path)[-1]
        return body


@pytest.fixture(params=["ollama", "openai"])
def talker(request: pytest.FixtureRequest, ollama_chat: OllamaChat, openai_chat: OpenAIChat) -> Talker:
    options = LLMOptions(ollama_chat.url, openai_chat.url, timeout_s=20, retry_s=0.01)
    server = ollama_chat if request.param == "ollama" else openai_chat
    return Talker(f"{request.param}:talker", server, options)


def set_options(talker: Talker, **changes: Any) -> None:
    for name, value in changes.items():
        object.__setattr__(talker.options, name, value)


# --- what it says -----------------------------------------------------------------------


def test_a_model_that_wants_the_newer_name_of_the_limit_gets_it(openai_chat: OpenAIChat) -> None:
    openai_chat.newer, openai_chat.script = True, say("It opens.")
    talker = Talker("openai:talker", openai_chat, LLMOptions(openai_url=openai_chat.url, max_tokens=99))
    assert talker.talk() == ("It opens.", "done")
    assert talker.sent["max_completion_tokens"] == 99
    assert not talker.sent.keys() & {"max_tokens", "temperature"}


def test_words_come_one_by_one(talker: Talker) -> None:
    go = threading.Event()

    def script(_: Any) -> Iterator[str]:
        yield "The harbour "
        go.wait(10)
        yield "opens."

    talker.server.script = script
    heard: list[str] = []

    def hear(piece: str) -> None:
        heard.append(piece)
        go.set()  # the second piece waits for the first to be heard

    assert talker.talk(heard=hear) == ("The harbour opens.", "done")
    assert heard == ["The harbour ", "opens."]


def test_the_whole_conversation_is_sent_with_the_owners_numbers(talker: Talker) -> None:
    set_options(talker, temperature=0.7, max_tokens=99, context=5000)
    talker.says()
    messages = [{"role": each["role"], "content": each["content"]} for each in talker.sent["messages"]]
    assert messages == [{"role": each.role, "content": each.content} for each in ASKED]
    given = talker.sent.get("options", talker.sent)
    assert given["temperature"] == 0.7
    assert given.get("num_predict", given.get("max_tokens")) == 99
    assert given.get("num_ctx", 5000) == 5000
    assert talker.sent["model"] == "talker"


@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        (["<th", "ink>Let me ", "see.</th", "ink>\n", "At six."], "At six."),
        (["\n<think>", "no end"], ""),
        (["<b>", "At six."], "<b>At six."),
        (["<think"], "<think"),
    ],
)
def test_what_it_thinks_is_left_out(talker: Talker, pieces: list[str], said: str) -> None:
    talker.server.script = say(*pieces)
    assert talker.says().strip() == said


# --- stopping ---------------------------------------------------------------------------


@pytest.mark.parametrize("words", [[], ["The harbour"]], ids=["before the first word", "in the middle"])
def test_stopping_ends_it_at_once_and_the_server_hears_of_it(talker: Talker, words: list[str]) -> None:
    stop, begun, over = threading.Event(), threading.Event(), threading.Event()
    silent: list[bool] = []

    def script(_: Any) -> Iterator[str]:
        yield from words
        begun.set()
        silent.append(over.wait(5))
        while True:
            yield "more"

    talker.server.script = script

    def press_stop() -> None:
        begun.wait(10)
        stop.set()

    threading.Thread(target=press_stop).start()
    assert talker.talk(stop) == ("".join(words), "stopped")
    assert not silent, "the model was still to say its next word"
    over.set()
    until(lambda: talker.server.ended == 1)


def test_the_time_limit_is_for_the_whole_answer(talker: Talker) -> None:
    set_options(talker, timeout_s=0.3)

    def script(_: Any) -> Iterator[str]:
        while True:  # each word in time, and never an end
            yield "word "
            time.sleep(0.02)

    talker.server.script = script
    said, outcome = talker.talk()
    assert said.startswith("word ")
    assert outcome == "out of time"
    until(lambda: talker.server.ended == 1)


# --- what goes wrong --------------------------------------------------------------------


def test_a_server_that_is_not_there_is_named(talker: Talker) -> None:
    url = nobody()
    set_options(talker, ollama_url=url, openai_url=url)
    assert f" at {url}" in talker.trouble()
    assert "is not running" in talker.trouble()


def test_a_model_that_is_not_there_is_named(talker: Talker) -> None:
    talker.name = talker.name.replace("talker", "ghost")
    assert "does not have the model 'ghost'." in talker.trouble()


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (Refusal(500, {"error": f"it choked on {NOTE}"}), "failed"),
        (Refusal(400, {"error": f"it choked on {NOTE}"}), "refuses"),
        (Refusal(403, {"error": "no"}), "refuses"),
        (Refusal(302, {}, location="http://evil.example/"), "(status 302)"),
        (Refusal(0, {}), "broke off"),
    ],
)
def test_a_refusal_is_told_without_the_notes(talker: Talker, refusal: Refusal, said: str) -> None:
    talker.server.fail(talker.path, refusal)
    assert said in talker.trouble()


def test_a_server_that_hangs_up_in_the_middle_is_told(talker: Talker) -> None:
    def script(_: Any) -> Iterator[str]:
        yield "The harbour"
        raise ConnectionAbortedError

    talker.server.script = script
    assert "broke off" in talker.trouble()


# --- OpenAI's protocol ------------------------------------------------------------------


def test_the_key_is_sent_and_never_told(openai_chat: OpenAIChat) -> None:
    openai_chat.key, openai_chat.script = "sk-sesame-right", say("At six.")
    right = LLMOptions(openai_url=openai_chat.url, openai_key="sk-sesame-right")
    assert Talker("openai:talker", openai_chat, right).says() == "At six."
    wrong = LLMOptions(openai_url=openai_chat.url, openai_key="sk-sesame-wrong")
    trouble = Talker("openai:talker", openai_chat, wrong).trouble()
    assert trouble.endswith("refuses access (status 401).")
    assert "sk-" not in trouble + repr(wrong)


# --- names ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "talker", "ollama", "ollama:", "other:talker"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="There is no model called"):
        open_llm(name, LLMOptions())
