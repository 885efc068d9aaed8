"""The model that answers questions, looked at live: whether it answers, and which could be chosen."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rag_core.config.options import options_from
from rag_core.library.connections import check_chat
from rag_core.models import LLMOptions
from tests.support.chat_servers import Messages, OllamaChat, OpenAIChat, say
from tests.support.connected import KEY, Make, connection
from tests.support.ollama_server import Model
from tests.support.standin import nobody

SECONDS = re.compile(r"answers in \d+\.\d s\.$")


def test_a_model_that_is_chosen_is_asked_for_a_word(make: Make, ollama_chat: OllamaChat) -> None:
    ollama_chat.script = say("Yes.")
    found = connection(make(llm="ollama:talker", ollama_url=ollama_chat.url, llm_context=4096), "chat")
    assert found.state == "ready"
    assert found.sentence.startswith("'ollama:talker' answers in ")
    assert SECONDS.search(found.sentence)
    assert (found.goes, found.kind, found.is_missed) == ("stays on this machine", "llm", False)
    [asked] = ollama_chat.bodies("/api/chat")
    assert asked["options"]["num_ctx"] == 4096, "as for an answer, or it would be loaded twice"
    assert asked["options"]["num_predict"] < 50
    assert [each["role"] for each in asked["messages"]] == ["user"]


def test_a_server_of_openais_protocol_is_asked_with_its_key(make: Make, openai_chat: OpenAIChat) -> None:
    openai_chat.key, openai_chat.script = KEY, say("Yes.")
    found = connection(make(llm="openai:talker", chat_base_url=openai_chat.url, chat_api_key=KEY), "chat")
    assert found.state == "ready"
    assert found.models == ("openai:talker",)
    assert KEY not in repr(found)


def test_a_key_that_is_refused_is_told_with_where_to_set_it(make: Make, openai_chat: OpenAIChat) -> None:
    openai_chat.key = "another"
    library = make(llm="openai:talker", chat_base_url=openai_chat.url, chat_api_key=KEY)
    found = connection(library, "chat")
    assert (found.state, found.is_missed) == ("unreachable", True)
    assert "refuses access" in found.sentence
    assert "COMMONPLACE_CHAT_API_KEY" in str(found.next_step)
    assert KEY not in repr(found)


def test_a_missing_model_comes_with_the_line_that_fetches_it(make: Make, ollama_chat: OllamaChat) -> None:
    found = connection(make(llm="ollama:ghost", ollama_url=ollama_chat.url), "chat")
    assert (found.state, found.is_missed) == ("not set up", True)
    assert "does not have the model 'ghost'." in found.sentence
    assert str(found.next_step) == "Run `ollama pull ghost`."
    assert found.models == ("ollama:talker",)


def test_a_server_that_is_away_is_told_with_what_to_do(make: Make) -> None:
    found = connection(make(llm="ollama:talker", ollama_url=nobody()), "chat")
    assert found.state == "unreachable"
    assert "is not running" in found.sentence
    assert "`ollama_url`" in str(found.next_step)


def test_a_model_that_is_being_loaded_is_waited_for_only_so_long(ollama_chat: OllamaChat) -> None:
    go = threading.Event()

    def slow(_: Messages) -> Iterator[str]:
        go.wait(20)
        yield "Yes."

    ollama_chat.script = slow
    options = LLMOptions(ollama_url=ollama_chat.url)
    found = check_chat("ollama:talker", options, None, within_s=0.2)
    assert ollama_chat.ended == 0, "loading goes on"
    go.set()
    assert found.state == "unreachable"
    assert "within 0.2 seconds. It may still be loading." in found.sentence


def test_without_a_choice_the_models_and_the_line_that_chooses_one_are_told(
    make: Make, ollama_chat: OllamaChat, openai_chat: OpenAIChat, home: Path
) -> None:
    ollama_chat.models["embeddinggemma:latest"] = Model()
    library = make(ollama_url=ollama_chat.url, chat_base_url=openai_chat.url)
    found = connection(library, "chat")
    assert (found.state, found.is_missed) == ("not set up", False)
    assert found.models == ("ollama:talker", "openai:talker"), "what can only embed is no choice"
    assert "These could: ollama:talker and openai:talker." in found.sentence
    assert str(found.next_step).startswith("Write `llm: ollama:talker` into ")
    assert str(found.next_step).endswith(", or set COMMONPLACE_LLM.")
    assert ollama_chat.bodies("/api/chat") == []


def test_a_name_that_would_be_more_than_a_line_is_no_choice(ollama_chat: OllamaChat, make: Make) -> None:
    ollama_chat.models["evil\nllm: x"] = ollama_chat.models["talker:latest"]
    options = replace(options_from(make().settings, LLMOptions), ollama_url=ollama_chat.url)
    assert check_chat(None, options, None).models == ("ollama:talker",)
