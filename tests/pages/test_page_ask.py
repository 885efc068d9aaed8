"""The Ask page through AppTest: real library, a scripted model over HTTP; only identity is replaced."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from rag_core.errors import StoreError
from rag_core.library.asking import Asking
from rag_core.types import OWNER
from tests.ask.answering import QUESTION, Answering, asked
from tests.pages import visiting
from tests.pages.visiting import GUEST, HOSTILE, drawn, has_key, markup, params, press
from tests.support.chat_servers import OllamaChat, say
from tests.support.configured import configure
from tests.support.standin import nobody
from tests.support.waiting import until
from ui.frame import access, work
from ui.frame.deps import library

ANSWER = 'It "opens at six" [1]. It "closes" [1]. Pay me.'

pytestmark = pytest.mark.usefixtures("owner")


@pytest.fixture(autouse=True)
def talker(owner: None, home: Path, answering: Answering, ollama_chat: OllamaChat) -> Iterator[OllamaChat]:
    """A model that says the answer above."""
    answering()
    configure(home, f"llm: ollama:talker\nollama_url: {ollama_chat.url}\n")
    ollama_chat.script = say(ANSWER)
    yield ollama_chat
    work.cancel_all()


def page(**params: str) -> AppTest:
    return visiting.open_page("ask", **params)


def said(app: AppTest) -> str:
    kinds = (app.error, app.warning, app.markdown)
    texts = "\n".join(str(element.value) for kind in kinds for element in kind).replace("\\", "")
    return f"{texts}\n{html.unescape(re.sub(r'<[^>]*>', '', markup(app)))}".replace("\u2060", "")


def ask(app: AppTest, question: str = QUESTION) -> AppTest:
    """Ask, and wait for the answer."""
    app.text_input(key="ask_box").set_value(question)
    press(app, "ask_submit")
    until(lambda: not any(each.running for each in work.known().values()))
    return drawn(app.run())


def conversation(app: AppTest) -> str:
    return str(app.query_params["c"][0] if isinstance(app.query_params["c"], list) else app.query_params["c"])


def test_an_answer_stands_with_its_marks_beside_its_passages() -> None:
    app = ask(page())
    body = markup(app)
    assert '<span class="cp-true">&quot;opens at six&quot;</span>' in body
    assert '&quot;closes&quot;</span><span class="cp-flag">not in the passage</span>' in body
    assert '<span class="cp-unsourced">Pay me.<span class="cp-flag">no source</span></span>' in body
    assert "The harbour <mark>opens at six</mark>. In winter" in body
    assert "Harbour lines 1-5" in said(app)
    assert "Open note · harbour.md" in said(app)
    assert "ollama:talker" in said(app)
    assert 'href="files?store=port&amp;path=harbour.md&amp;passage=' in body
    targets = set(re.findall(r'<a href="#([^"]+)"', body))
    assert targets
    assert targets <= set(re.findall(r'id="([^"]+)"', body)), "numbers lead to passages that are there"


def test_nothing_of_model_or_note_is_markup(talker: OllamaChat, notes: Path) -> None:
    (notes / "port" / "harbour.md").write_text(
        f"# Harbour {HOSTILE}\n\nThe harbour opens at six. {HOSTILE}\n", "utf-8"
    )
    own = library()
    own.jobs.request(OWNER, "port")
    own.jobs.run(OWNER, "port")
    links = "[2](http://evil.example) [1](javascript:alert(1)) <a href='javascript:alert(1)'>x</a>"
    talker.script = say(f'{HOSTILE} [1]. <b>Bold</b> {links} "{HOSTILE}" [1]')
    app = ask(page(), f"{QUESTION} <i>{'x'}</i>")
    body = markup(app)
    assert "&lt;script&gt;" in body
    assert "<script" not in body
    assert "<img" not in body
    assert "<b>" not in body
    assert "<i>" not in body
    assert not re.findall(r'href="(?!#turn-|files\?)', body)
    assert "evil.example" not in "".join(str(element.value) for element in app.markdown)


def test_lists_and_bold_words_of_an_answer_are_shown_as_such(talker: OllamaChat) -> None:
    talker.script = say("It says:\n- **Six** [1].\n* 2 * 3 [1].\n")
    body = markup(ask(page()))
    assert "\n• <strong>Six</strong> " in body
    assert "\n• 2 * 3 " in body


def test_a_question_that_cannot_be_asked_is_told() -> None:
    app = ask(page(), "harbour after:someday")
    assert "'someday' is not a date" in said(app)
    app = ask(app)
    assert "opens at six" in said(app)
    assert "is not a date" not in said(app)


def test_without_a_model_the_page_says_what_to_do_and_shows_passages(home: Path) -> None:
    configure(home, f"ollama_url: {nobody()}\n")
    app = page()
    assert "Install Ollama (ollama.com), then run ollama pull llama3.2:3b" in said(app)
    app = ask(app)
    assert "The harbour opens at six." in said(app)
    assert "# Harbour" not in said(app), "passages are clean text"
    assert not app.warning, "one line says it"
    assert "<code>ollama pull llama3.2:3b</code>" in markup(app), "what is typed is shown as such"
    assert any(each.proto.page == "settings" for each in app.get("page_link")), "where config.yaml is"
    assert markup(app).index("harbour opens at six") < markup(app).index("To have a model write answers"), (
        "first they come"
    )
    assert markup(app).count(" open><summary>") == markup(app).count("<details") > 0, "all can be read"
    assert "not cited" not in said(app)


def test_a_follow_up_carries_the_conversation(talker: OllamaChat) -> None:
    app = ask(ask(page()), "and who said so")
    assert [each["content"] for each in asked(talker)][1:3] == [QUESTION, 'It "opens at six".']
    assert markup(app).count("cp-asked") == 2
    ids = re.findall(r'id="([^"]+)"', markup(app))
    assert len(ids) == len(set(ids))


def test_earlier_questions_are_listed_and_can_be_deleted() -> None:
    first = ask(page())
    second = ask(page(), "boats harbour dawn")
    app = page()
    kept = [each.proto for each in app.get("page_link") if each.proto.query_string.startswith("c=")]
    assert [each.label.replace("\\", "") for each in kept] == ["boats harbour dawn", QUESTION]
    press(app, f"ask_delete_{conversation(first)}")
    assert [each.id for each in library().asking.conversations(OWNER)] == [conversation(second)]
    press(app, "ask_delete_all")
    press(app, "ask_delete_keep")
    assert [each.id for each in library().asking.conversations(OWNER)] == [conversation(second)]
    press(app, "ask_delete_all")
    press(app, "ask_delete_sure")
    assert library().asking.conversations(OWNER) == []
    assert not has_key(app, "ask_delete_all")
    assert not has_key(app, "ask_delete_sure")


def test_a_conversation_that_is_not_there_is_told() -> None:
    app = page(c="f" * 32)
    assert "There is no such conversation." in said(app)
    assert "opens at six" in said(ask(app))


def test_the_filters_in_the_address_narrow_the_question_and_stay(talker: OllamaChat) -> None:
    app = ask(page(store="port", path="deep"), "harbour")
    chips = [json.loads(each.proto.json)["chips"] for each in app.get("bidi_component") if each.proto.json]
    assert [each["shown"] for each in chips[-1] if each["shown"]] == ["port", "deep"]
    assert "deep/rope.md" in asked(talker)[-1]["content"]
    assert "harbour.md" not in asked(talker)[-1]["content"]
    kept = {"store": "port", "path": "deep", "c": conversation(app)}
    assert params(app) == kept, "a follow-up looks there, too"


def chip(app: AppTest, name: str) -> dict[str, Any]:
    """A filter of the page, by its name or by what it says of the chosen value."""
    chips = [json.loads(each.proto.json)["chips"] for each in app.get("bidi_component") if each.proto.json]
    [found] = [each for each in chips[-1] if name in (each["name"], each["shown"])]
    return dict(found)


def test_the_score_chip_counts_the_passages_and_leaves_out_those_below(talker: OllamaChat) -> None:
    app = ask(page(), "harbour")
    first = chip(app, "Score")
    assert [way["label"] for way in first["options"]] == [f"{tenth}0 % or more" for tenth in range(1, 10)]
    shown = [int(score) for score in re.findall(r"(\d+)%", markup(app))]
    counts = [int(way["beside"]) for way in first["options"]]
    assert len(shown) > 1
    assert counts == sorted(counts, reverse=True)
    assert counts[0] == sum(score >= 10 for score in shown)
    least = max(shown) / 100
    app = ask(page(min=f"{least - 0.01:g}"), "harbour")
    left = [int(score) for score in re.findall(r"(\d+)%", markup(app))]
    assert left
    assert set(left) == {max(shown)}
    assert chip(app, f"Score ≥ {least * 100 - 1:g} %")["clear"] == {"min": []}


LOOSE = "what does the harbour rope cost in winter"


def test_ask_begins_with_the_settings(home: Path, ollama_chat: OllamaChat) -> None:
    server = f"llm: ollama:talker\nollama_url: {ollama_chat.url}\n"
    configure(home, f"{server}top_k: 1\n")
    assert markup(ask(page(), "harbour")).count("<details") == 1
    assert markup(ask(page(k="10"), "harbour")).count("<details") > 1
    configure(home, f"{server}min_score: 1.0\n")
    app = ask(page(), LOOSE)
    assert "Nothing in your notes answers this." in said(app)
    assert chip(app, "Score ≥ 100 %")["clear"] == {"min": ["0"]}
    assert "Nothing in your notes" not in said(ask(page(min="0"), LOOSE))


def test_a_guest_asks_what_is_granted_and_sees_no_ones_questions(
    monkeypatch: pytest.MonkeyPatch, talker: OllamaChat, home: Path
) -> None:
    ask(page(), "harbour password sesame")
    guest = replace(GUEST, stores=frozenset({"port"}), may_ask=True)
    monkeypatch.setattr(access, "viewer", lambda: guest)
    app = page()
    assert "password" not in said(app)
    ask(app, QUESTION)
    assert "sesame" not in str(talker.bodies("/api/chat")[-1])
    configure(home)
    without = said(page())
    assert "config.yaml" not in without
    assert "No model answers here" in without


def test_an_answer_that_could_not_be_kept_is_shown_with_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise StoreError("The history of questions cannot be written: No space left on device.", "Make room.")

    monkeypatch.setattr(Asking, "keep_reply", full)
    app = ask(page())
    assert "opens at six" in said(app)
    assert "No space left on device. Make room." in said(app)
