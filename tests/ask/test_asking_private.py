"""Asking: what of private notes a model gets, where it stands on this machine or elsewhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rag_core.errors import Forbidden
from rag_core.library import Library
from rag_core.replies import Draft, Turn
from rag_core.types import OWNER
from tests.ask.answering import GUEST, QUESTION, Answering, passages, paths
from tests.conftest import index
from tests.support.chat_servers import OllamaChat, OpenAIChat, say
from tests.support.trees import write

ELSEWHERE = "http://192.0.2.1:9"  # no address of this machine; nobody must be asked there


def test_private_notes_go_to_a_model_on_this_machine(answering: Answering, ollama_chat: OllamaChat) -> None:
    reply = answering("x").ask(OWNER, "harbour password", ["port"])
    assert "diary.md" in paths(reply.references)
    assert reply.private
    assert "sesame" in passages(ollama_chat)


@pytest.fixture
def remote(answering: Answering, openai_chat: OpenAIChat, monkeypatch: pytest.MonkeyPatch) -> Library:
    """A library whose model is on another machine, which is the stand-in by a name that is not loopback."""
    monkeypatch.setattr("rag_core.library.asking.leaves", lambda url: url == openai_chat.url)
    openai_chat.script = say("x")
    return answering("x", llm="openai:talker", chat_base_url=openai_chat.url)


def sent(server: OpenAIChat) -> str:
    return str(server.bodies("/v1/chat/completions"))


def test_private_notes_never_go_to_a_model_elsewhere(remote: Library, openai_chat: OpenAIChat) -> None:
    reply = remote.ask(OWNER, "boats leave harbour before dawn, password", ["port"])
    assert reply.references
    assert "diary.md" not in paths(reply.references)
    assert "sesame" not in sent(openai_chat)


def test_that_private_notes_would_fit_is_told(remote: Library) -> None:
    reply = remote.ask(OWNER, "harbour password sesame", ["port"])
    assert "They were not sent to the model" in reply.notices[-1].message
    assert "They stay" not in str(remote.ask(GUEST, "harbour opens at six").notices)


def test_private_notes_take_no_place_of_others(remote: Library, notes: Path) -> None:
    private = {
        f"port/p{n}.md": f"---\nprivate: true\n---\n# Boats {n}\n\nBoats leave the harbour at dawn, {n}.\n"
        for n in range(150)
    }
    write(notes, private)
    index(remote, "port")
    reply = remote.ask(OWNER, "boats leave harbour dawn", ["port"], k=2)
    assert paths(reply.references) == {"boats.md"}
    assert reply.retrieved_chunks == 1


def test_a_store_may_let_private_notes_leave(remote: Library, openai_chat: OpenAIChat) -> None:
    remote.placement.let_private_leave(OWNER, "port", allowed=True)
    reply = remote.ask(OWNER, "harbour password", ["port"])
    assert "sesame" in sent(openai_chat)
    assert not reply.private


def test_what_a_model_here_said_of_private_notes_is_not_told_elsewhere(
    remote: Library, openai_chat: OpenAIChat
) -> None:
    remote.ask(
        OWNER, QUESTION, history=[Turn("the password?", "It is sesame.", private=True), Turn("old", "open")]
    )
    assert "sesame" not in sent(openai_chat)
    assert "open" in sent(openai_chat)


def test_an_address_elsewhere_leaves_this_machine(answering: Answering) -> None:
    library = answering("x", ollama_url=ELSEWHERE, llm_timeout_s=1.0)
    assert "diary.md" not in paths(library.ask(OWNER, "harbour password", ["port"]).references)


def test_a_guest_gets_nothing_of_private_notes_and_other_stores(
    answering: Answering, ollama_chat: OllamaChat
) -> None:
    reply = answering("x").ask(GUEST, "harbour opens at six")
    assert reply.stores == ("port",)
    assert paths(reply.references) <= {"harbour.md", "boats.md", "deep/rope.md"}
    assert "sesame" not in passages(ollama_chat)
    assert "green" not in passages(ollama_chat)
    assert reply.model == ""


def test_a_guest_who_may_only_search_is_refused_before_anything_is_looked_up(
    answering: Answering, ollama_chat: OllamaChat
) -> None:
    heard: list[Draft] = []
    with pytest.raises(Forbidden) as refused:
        answering("x").ask(replace(GUEST, may_ask=False), QUESTION, ["port"], on_text=heard.append)
    assert refused.value.message
    assert refused.value.suggestion
    assert heard == []
    assert ollama_chat.bodies("/api/chat") == []


def test_a_guests_history_in_a_question_brings_nothing_that_is_not_theirs(
    answering: Answering, ollama_chat: OllamaChat
) -> None:
    """Whatever a guest says was answered before: passages are found anew, as the guest sees them."""
    library = answering("It opens [1].")
    history = [Turn("the harbour password sesame", "It is sesame [1].")]
    reply = library.ask(GUEST, f"{QUESTION}, and the garden gate", history=history)
    assert "diary.md" not in passages(ollama_chat)
    assert paths(reply.references) <= {"harbour.md", "boats.md", "deep/rope.md"}
