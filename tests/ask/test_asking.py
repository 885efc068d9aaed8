"""Asking: which passages a model gets, and what comes back."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from rag_core.api.answers import Hit
from rag_core.ask import SYSTEM_PROMPT
from rag_core.ask.verbatim import Held
from rag_core.errors import InvalidInput, NotFound
from rag_core.replies import Draft, Reply, Turn
from rag_core.types import OWNER, Filters
from tests.ask.answering import GUEST, QUESTION, Answering, asked, passages, paths
from tests.conftest import index
from tests.support.chat_servers import Messages, OllamaChat, say
from tests.support.standin import nobody
from tests.support.trees import write

# --- an answer --------------------------------------------------------------------------


def test_an_answer_has_its_passages_with_the_seeds_names(answering: Answering) -> None:
    library = answering('It opens early: "opens at six" [1].')
    reply = library.ask(OWNER, QUESTION)
    first = reply.references[0]
    assert reply.answer == 'It opens early: "opens at six" [1].'
    assert (first.vault, first.rel_path, first.heading_path) == ("port", "harbour.md", "# Harbour > ## Hours")
    assert first.place == "port/harbour.md :: Harbour > Hours"
    assert [first.content[start:end] for start, end in first.spans] == ["opens at six"]
    assert first.cited
    assert (reply.found, reply.ending, reply.model) == (True, "answered", "ollama:talker")
    assert reply.retrieved_chunks >= len(reply.references)
    assert datetime.fromisoformat(reply.timestamp).tzinfo is not None


def test_the_prompt_is_the_seeds_with_numbers_and_fences(
    answering: Answering, ollama_chat: OllamaChat
) -> None:
    answering("x").ask(OWNER, QUESTION)
    system, user = asked(ollama_chat)
    assert system["content"].startswith(
        "You are a helpful assistant that answers questions based on the provided context from the user's"
        " notes. \nAnswer the question using only the information from the context below. If the context"
        " doesn't contain \nenough information to answer the question, say so. Cite specific sections when"
        " possible."
    )
    assert system["content"].startswith(SYSTEM_PROMPT)
    fence = re.findall(r"<<<(\w+)", user["content"])[0]
    assert user["content"].startswith(
        "--- Context from notes ---\n\n"
        "[1] [Vault: port] File: harbour.md\nSection: # Harbour > ## Hours\n"
        f"Content: <<<{fence}\n# Harbour\n\n## Hours\n\nThe harbour opens at six."
    )
    assert user["content"].endswith(f"--- End Context ---\n\nQuestion: {QUESTION}")
    assert fence in system["content"]


def test_it_streams_passages_first_then_what_was_checked(answering: Answering) -> None:
    drafts: list[Draft] = []
    library = answering(say('It opens "at', ' noon" [1]. And', " so on."))
    library.ask(OWNER, QUESTION, on_text=drafts.append)
    assert drafts[0].looking
    assert drafts[1].references
    assert not drafts[1].statements
    assert [(len(each.statements), each.rest) for each in drafts[2:]] == [
        (0, 'It opens "at'),
        (1, " And"),
        (1, " And so on."),
        (2, ""),
    ]


def test_passages_end_where_the_model_cannot_read_more(answering: Answering, notes: Path) -> None:
    library = answering("x", llm_context=1024, llm_max_tokens=512)
    write(
        notes,
        {
            f"port/tide{n}.md": f"# Tide {n}\n\n{'The tide of the harbour comes. ' * 20}{n}\n"
            for n in range(9)
        },
    )
    index(library, "port")
    few = library.ask(OWNER, "tide harbour", ["port"], k=9)
    many = answering("x").ask(OWNER, "tide harbour", ["port"], k=9)
    assert 1 <= few.retrieved_chunks < many.retrieved_chunks == 9
    assert [each.content for each in few.references] == [
        each.content for each in many.references[: few.retrieved_chunks]
    ]


# --- which passages ---------------------------------------------------------------------


def test_only_passages_that_fit_are_sent_and_counted(answering: Answering, ollama_chat: OllamaChat) -> None:
    library = answering("x")
    found = library.search(OWNER, "berth harbour costs euros", top_k=5).hits
    fitting = [hit for hit in found if hit.relevant]
    assert 0 < len(fitting) < len(found), "there are near misses"
    reply = library.ask(OWNER, "berth harbour costs euros")
    assert reply.retrieved_chunks == len(fitting)
    assert all(hit.content in passages(ollama_chat) for hit in fitting)
    assert not any(hit.content in passages(ollama_chat) for hit in found if not hit.relevant)


WEEKS = [f"Week {n} of the log of the lock keeper was quiet, and no ship went through." for n in range(90)]
WEEKS[45] = "A walrus swam through the lock and ate the herring of the keeper."
LOG = "# Log\n\n" + "\n\n".join(WEEKS)


def test_a_part_of_a_long_section_comes_with_the_parts_beside_it(answering: Answering, notes: Path) -> None:
    library = answering("x")
    write(notes, {"port/log.md": LOG})
    index(library, "port")
    [hit] = (hit for hit in library.search(OWNER, "walrus herring", top_k=5).hits if hit.relevant)
    assert Hit.of(hit).metadata.split_part == hit.split_part > 1
    before, same, behind = library.documents.neighbours(OWNER, "port", hit.key, 1)
    reply = library.ask(OWNER, "walrus herring")
    [reference] = reply.references
    assert reference.content in LOG
    assert reference.content.startswith(before.content)
    assert reference.content.endswith(behind.content)
    assert same.content in reference.content
    assert (reference.start_line, reference.end_line) == (before.start_line, behind.end_line)
    assert (reference.score, reply.retrieved_chunks) == (round(hit.score, 4), 1)


def test_five_passages_unless_asked_otherwise(answering: Answering, notes: Path) -> None:
    library = answering("x")
    write(
        notes, {f"port/gull{n}.md": f"# Gull {n}\n\nA gull of the harbour, number {n}.\n" for n in range(30)}
    )
    index(library, "port")
    assert library.ask(OWNER, "gull harbour").retrieved_chunks == 5
    assert library.ask(OWNER, "gull harbour", k=0).retrieved_chunks == 5
    assert library.ask(OWNER, "gull harbour", k=20).retrieved_chunks == 20


def test_an_empty_question_and_too_many_passages_are_refused(answering: Answering) -> None:
    with pytest.raises(InvalidInput, match="There is no question"):
        answering("x").ask(OWNER, " \n")
    with pytest.raises(InvalidInput, match=r"k is 21\. Use a number from 1 to 20\."):
        answering("x").ask(OWNER, QUESTION, k=21)


def test_folders_and_filters_apply(answering: Answering) -> None:
    library = answering("x")
    assert paths(library.ask(OWNER, "harbour", filters=Filters(paths=("deep",))).references) == {
        "deep/rope.md"
    }
    assert paths(library.ask(OWNER, "harbour path:deep/").references) == {"deep/rope.md"}
    assert "deep/rope.md" not in paths(library.ask(OWNER, "harbour", filters=Filters(paths=("",))).references)


def test_stores_apply_and_none_means_all(answering: Answering) -> None:
    library = answering("x")
    assert library.ask(OWNER, QUESTION).stores == ("home", "port")
    assert library.ask(OWNER, "garden gate", ["home"]).stores == ("home",)
    assert not library.ask(OWNER, QUESTION, ["home"]).found
    with pytest.raises(NotFound):
        library.ask(OWNER, QUESTION, ["nowhere"])


# --- a pasted text ----------------------------------------------------------------------


def test_a_pasted_question_is_answered_and_it_says_what_the_model_was_given(
    answering: Answering, ollama_chat: OllamaChat
) -> None:
    library = answering('It opens early: "opens at six" [1].', llm_context=4096)
    question = f"The harbour opens at six. Is that so? {'Strange words only. ' * 990}"
    reply = library.ask(OWNER, question)
    assert (reply.ending, reply.question) == ("answered", question)
    given = passages(ollama_chat).partition("Question: ")[2]
    assert 2000 <= len(given) < len(question)
    assert question.startswith(given)
    assert reply.notices[0].message.startswith(f"The query has {len(question):,} characters")
    assert reply.notices[1].message == (
        f"The model gets the first {len(given):,} of {len(question):,} characters of the question."
    )


# --- no model ---------------------------------------------------------------------------


def test_without_a_model_sentences_of_the_notes_answer(answering: Answering) -> None:
    library = answering("x", llm=None)
    for viewer in (OWNER, GUEST):
        reply = library.ask(viewer, QUESTION)
        assert (reply.ending, reply.answer_kind, reply.notices) == ("quotes", "quotes", ())
        assert "opens at six" in reply.statements[0].text
        assert reply.model == reply.message == ""
        assert_word_for_word(reply)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"llm": "openai:talker"}, "needs the address"),
        ({"llm": "ollama:ghost"}, "does not have the model 'ghost'"),
        ({"ollama_url": nobody()}, "is not running"),
    ],
)
def test_a_model_that_fails_is_said_and_sentences_stand_in(
    answering: Answering, settings: dict[str, Any], said: str
) -> None:
    library = answering("x", **settings)
    reply = library.ask(OWNER, QUESTION)
    assert (reply.ending, reply.answer_kind, reply.found) == ("no model", "quotes", True)
    assert "harbour.md" in paths(reply.references)
    assert any(said in notice.message for notice in reply.notices)
    assert_word_for_word(reply)
    for_guest = " ".join(notice.message for notice in library.ask(GUEST, QUESTION).notices)
    assert for_guest == "The model that answers questions is not available now."


def assert_word_for_word(reply: Reply) -> None:
    contents = {reference.number: reference.content for reference in reply.references}
    assert reply.statements
    for statement in reply.statements:
        [quote] = statement.quotes
        quoted = statement.text[quote.start + 1 : quote.end - 1]
        assert Held(contents[quote.number]).find(quoted)
        assert reply.references[quote.number - 1].spans


def test_what_was_said_before_it_broke_off_stays(answering: Answering) -> None:
    reply = answering(say('It "opens at six" [1].', {"error": "out of memory"})).ask(OWNER, QUESTION)
    assert (reply.answer, reply.ending) == ('It "opens at six" [1].', "broken off")
    assert "failed" in reply.notices[-1].message


def test_an_answer_that_is_cut_off_says_which_setting_allows_more(
    answering: Answering, ollama_chat: OllamaChat
) -> None:
    ollama_chat.reason = "length"
    reply = answering("It opens [1]").ask(OWNER, QUESTION)
    assert reply.ending == "too long"
    assert "`llm_max_tokens`" in reply.notices[-1].message


def test_stopping_keeps_what_was_said(answering: Answering) -> None:
    stop = threading.Event()

    def script(_: Messages) -> Iterator[str]:
        yield "It opens [1]. And"
        while True:
            yield " on"

    def hear(draft: Draft) -> None:
        if draft.statements:
            stop.set()

    reply = answering(script).ask(OWNER, QUESTION, on_text=hear, stop=stop)
    assert reply.ending == "stopped"
    assert reply.answer.startswith("It opens [1]. [no quote] And")


# --- a conversation ---------------------------------------------------------------------


def test_a_follow_up_carries_the_conversation(answering: Answering, ollama_chat: OllamaChat) -> None:
    library = answering('It costs "40 euros a night" [1]. It is cheap. It "costs 9 euros" [1].')
    first = library.ask(OWNER, "berth harbour costs euros")
    second = library.ask(OWNER, "and who said so", history=[first.turn])
    assert "harbour.md" in paths(second.references), "the question alone finds nothing"
    said = [(each["role"], each["content"]) for each in asked(ollama_chat)[1:3]]
    assert said == [("user", "berth harbour costs euros"), ("assistant", 'It costs "40 euros a night".')]


@pytest.mark.parametrize(
    "question", ["How do I make sourdough bread?", "sourdough bread", "What is the capital of France?"]
)
def test_another_matter_is_not_answered_from_the_question_before(
    answering: Answering, ollama_chat: OllamaChat, question: str
) -> None:
    reply = answering("x").ask(OWNER, question, history=[Turn("berth harbour costs euros a night", "40.")])
    assert (reply.ending, reply.references) == ("nothing found", ())
    assert ollama_chat.bodies("/api/chat") == []


@pytest.mark.parametrize(
    "question",
    ["and how long?", "How long does it take?", "Und wie lange dauert das?", "how much", "为什么？"],
)
def test_what_leans_on_the_question_before_is_answered_with_it(answering: Answering, question: str) -> None:
    reply = answering("x").ask(OWNER, question, history=[Turn("berth harbour costs euros a night", "40.")])
    assert "harbour.md" in paths(reply.references)


def test_a_long_conversation_keeps_its_last_turns(answering: Answering, ollama_chat: OllamaChat) -> None:
    history = [Turn(f"question {n}", "The harbour. " * 100) for n in range(50)]
    answering("x").ask(OWNER, QUESTION, history=history)
    roles = [each["content"] for each in asked(ollama_chat) if each["role"] == "user"]
    assert 2 < len(roles) < 50
    assert roles[-2] == "question 49"


# --- how much is read ----------------------------------------------------------------------


GULLS = {f"port/gull{n}.md": f"# Gull {n}\n\nThe gull of the harbour number {n}.\n" for n in range(30)}


@pytest.mark.parametrize(("settings", "count"), [({}, 5), ({"top_k": 3}, 3), ({"top_k": 50}, 20)])
def test_the_setting_of_searches_says_from_how_many_passages(
    answering: Answering, notes: Path, settings: dict[str, Any], count: int
) -> None:
    library = answering("x", **settings)
    write(notes, GULLS)
    index(library, "port")
    assert library.ask(OWNER, "gull harbour").retrieved_chunks == count
    assert library.ask(OWNER, "gull harbour", top_k=4).retrieved_chunks == 4
    assert library.ask(OWNER, "gull harbour", k=4, top_k=4).retrieved_chunks == 4
    with pytest.raises(InvalidInput, match="top_k is 21"):
        library.ask(OWNER, "gull harbour", top_k=21)
    with pytest.raises(InvalidInput, match="k is 4 and top_k is 5"):
        library.ask(OWNER, "gull harbour", k=4, top_k=5)


def test_passages_below_the_minimum_are_not_answered_from(answering: Answering, notes: Path) -> None:
    library, question = answering("x"), "gull harbour tide"
    parts = ("The gull in the harbour at low tide.", "The gull at high tide.", "A gull in the harbour again.")
    write(notes, {f"port/gull{n}.md": f"# Note {n}\n\n{part}\n" for n, part in enumerate(parts)})
    index(library, "port")
    scores = [hit.score for hit in library.search(OWNER, question).hits if hit.relevant]
    assert scores[0] > scores[-1]
    least = (scores[0] + scores[-1]) / 2
    expected = sum(score >= least for score in scores)
    assert library.ask(OWNER, question, k=20).retrieved_chunks == len(scores)
    assert library.ask(OWNER, question, k=20, min_score=least).retrieved_chunks == expected
    by_setting = answering("x", min_score=least)
    assert by_setting.ask(OWNER, question, k=20).retrieved_chunks == expected
    assert by_setting.ask(OWNER, question, k=20, min_score=0.0).retrieved_chunks == len(scores)
    with pytest.raises(InvalidInput, match="min_score is 2"):
        answering("x").ask(OWNER, QUESTION, min_score=2.0)


def test_a_minimum_does_not_change_what_a_follow_up_is_about(answering: Answering) -> None:
    library = answering("x")
    first = library.ask(OWNER, "berth harbour costs euros")
    free = library.ask(OWNER, "and who said so", history=[first.turn])
    least = min(each.score for each in free.references) - 0.001
    again = library.ask(OWNER, "and who said so", history=[first.turn], min_score=least)
    assert [each.key for each in again.references] == [each.key for each in free.references]
