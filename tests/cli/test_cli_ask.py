"""``commonplace ask``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.ask.answering import QUESTION, Answering, passages
from tests.support.chat_servers import Messages, OllamaChat, say
from tests.support.command import Result, Run
from tests.support.configured import configure
from tests.support.trees import write

Ask = Callable[..., Result]


@pytest.fixture
def ask(run: Run, answering: Answering, home: Path, ollama_chat: OllamaChat) -> Ask:
    """Run ``commonplace ask`` with a model that says as its script says."""
    answering()
    configure(home, f"llm: ollama:talker\nollama_url: {ollama_chat.url}\n")
    ollama_chat.script = say('It "opens at six" [1]. It "closes" [1]. Pay me.')
    return lambda *arguments: run("ask", *arguments)


def test_the_answer_comes_with_its_marks_and_passages(ask: Ask) -> None:
    shown = ask(QUESTION)
    assert shown.status == 0
    assert ask(QUESTION, "--answer-only").out.count("\n") == 1
    assert shown.out == (
        'It "opens at six" [1]. It "closes" [not in the passage] [1]. Pay me. [no source]\n\n'
        "[1] port/harbour.md :: Harbour > Hours, lines 1-5\n    opens at six\nUp to date.\n"
    )


def test_json_is_for_programs(ask: Ask) -> None:
    shown = ask(QUESTION, "--json").json
    assert shown["found"] is True
    assert [each["support"] for each in shown["statements"]] == ["quoted", "cited", "none"]
    assert shown["references"][0]["vault"] == "port"


def test_nothing_found_is_status_3(ask: Ask, ollama_chat: OllamaChat) -> None:
    shown = ask("quantum zebra xylophone")
    assert (shown.status, shown.out.count("\n")) == (3, 2)
    as_json = ask("quantum zebra xylophone", "--json")
    assert as_json.status == 3
    assert (as_json.json["answer"], as_json.json["references"], as_json.json["found"]) == ("", [], False)
    assert ollama_chat.bodies("/api/chat") == []


def test_without_a_model_the_sentences_that_answer_are_shown(ask: Ask, home: Path) -> None:
    configure(home)
    shown = ask(QUESTION)
    assert shown.status == 0
    assert "The harbour opens at six." in shown.out
    assert "then set `llm: ollama:llama3.2:3b`" in shown.out
    alone = ask(QUESTION, "--answer-only")
    assert (alone.status, alone.err) == (0, "")
    assert alone.out.startswith("“The harbour opens at six.” [1]")


def test_stores_filters_and_k_apply(ask: Ask, ollama_chat: OllamaChat) -> None:
    ask("harbour", "--store", "port", "--filter", "path=deep", "--k", "1")
    assert "deep/rope.md" in passages(ollama_chat)
    assert "harbour.md" not in passages(ollama_chat)
    assert ask(QUESTION, "--k", "21").status == 2
    assert ask(QUESTION, "--store", "nowhere").status == 1
    assert [ask(*words).status for words in ([], ["why", "--stdin"], ["why", "--strange"])] == [2, 2, 2]


def test_neither_note_nor_model_steers_the_terminal(
    ask: Ask, run: Run, notes: Path, ollama_chat: OllamaChat
) -> None:
    write(notes, {"port/red\x1b[31m.md": "# Heron \x1b]0;x\x07\n\nThe heron\x1b[2J waits.\n"})
    assert run("index", "--store", "port").status == 0
    for script in ('It "waits" [1].', "\x1b]0;owned\x07\x1b[2J Red \x1b[31m [1].", ""):
        ollama_chat.script = say(script) if script else say()
        for options in ([], ["--json"]):
            shown = ask("heron waits", "--k", "1", *options)
            assert shown.out
            assert "\x1b" not in shown.out + shown.err


@pytest.mark.posix
@pytest.mark.usefixtures("ask")
def test_on_a_terminal_a_sentence_is_shown_before_the_next_is_there(ollama_chat: OllamaChat) -> None:
    """It is read from the terminal before the model goes on."""
    import pty  # Windows has none

    leader, follower = pty.openpty()
    seen = b""

    def script(_: Messages) -> Iterator[str]:
        nonlocal seen
        yield 'It "opens at six" [1]. And'
        while b"[1]." not in seen:
            seen += os.read(leader, 1000)
        yield " more."

    ollama_chat.script = script
    program = [
        sys.executable,
        "-c",
        "from rag_core.cli import main; main()",
        "ask",
        QUESTION,
        "--answer-only",
    ]
    terminal = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(
        [*program, "ask", QUESTION, "--answer-only"], stdout=follower, stderr=follower, env=terminal
    ) as process:
        assert process.wait(30) == 0
    os.close(follower)
    while b"more." not in seen:
        seen += os.read(leader, 1000)
    os.close(leader)
    assert seen.count(b"opens at six") == 1
    assert b"no source" in seen


def test_the_number_of_passages_and_the_minimum_are_options_and_settings(ask: Ask, home: Path) -> None:
    every = ask("harbour", "--json").json["retrieved_chunks"]
    assert every > 1
    assert ask("harbour", "--top-k", "1", "--json").json["retrieved_chunks"] == 1
    assert ask("harbour", "--min-score", "1", "--json").json["retrieved_chunks"] < every
    assert ask("harbour", "--top-k", "21").status == 2
    configure(home, "top_k: 1\n")
    assert ask("harbour", "--json").json["retrieved_chunks"] == 1
    configure(home, "min_score: 1\n")
    assert ask("harbour", "--json").json["retrieved_chunks"] < every
