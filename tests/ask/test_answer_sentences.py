"""Sentences of the notes that answer a question, word for word, where no model does."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rag_core.ask.sentences import MOST_SENTENCES, answer
from rag_core.ask.verbatim import Held
from rag_core.replies import Reference

HARBOUR = """# Harbour

The harbour was built by **Ada Brook** in 1902. It [opens](hours.md) at six in the morning.
It has eleven moorings, and the ferry to the island
leaves on Tuesdays.

- The key is under the blue pot.
- Fees: 12 euros a night

| Boat | Owner |
| --- | --- |
| Heron | Maria Lund |
"""
WALK = "We walked along the beach. Nothing else happened that day. Dr. Gray was ill."


def reference(number: int, content: str, file_type: str = "markdown", score: float = 0.9) -> Reference:
    place = (number, "s", f"{number}.md", "", 0, f"key{number}", "Harbour", file_type, 1, 9, "lines", "")
    return Reference(*place, content, score=score)


def nothing(texts: Sequence[str]) -> list[float]:
    return [0.0] * len(texts)


def said(question: str, *references: Reference) -> list[str]:
    statements, _ = answer(question, references, nothing)
    return [statement.text.partition("” [")[0].lstrip("“") for statement in statements]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Who built the harbour?", "The harbour was built by Ada Brook in 1902."),
        ("When does the harbour open?", "It opens at six in the morning."),
        (
            "How many moorings are there?",
            "It has eleven moorings, and the ferry to the island leaves on Tuesdays.",
        ),
        ("Where is the key?", "The key is under the blue pot."),
        ("What are the fees?", "Fees: 12 euros a night"),
        ("Who owns the Heron?", "Heron | Maria Lund"),
        ("Was Dr. Gray ill?", "Dr. Gray was ill."),
    ],
)
def test_the_sentence_that_answers_comes_first(question: str, first: str) -> None:
    assert said(question, reference(1, HARBOUR), reference(2, WALK))[0] == first


@pytest.mark.parametrize(
    "content", [HARBOUR, WALK, "港が六時に開く。鍵は青い鉢の下にある。", "“Quoted,” she said. It’s late."]
)
@pytest.mark.parametrize("file_type", ["markdown", "text", "pdf", "html"])
def test_every_sentence_stands_in_its_passage_and_is_marked_there(content: str, file_type: str) -> None:
    statements, references = answer("When is it late?", [reference(1, content, file_type)], nothing)
    assert 1 <= len(statements) <= MOST_SENTENCES
    for statement in statements:
        [quote] = statement.quotes
        assert Held(content).find(statement.text[quote.start + 1 : quote.end - 1])
    assert len(references[0].spans) == len(statements)
    assert references[0].cited


def test_the_sentence_after_the_best_one_follows_it() -> None:
    text = "Yusuf showed his daughter's project for the science fair. She built a device that holds carbon."
    assert said("What did Yusuf's daughter build for the science fair?", reference(1, text)) == [
        "Yusuf showed his daughter's project for the science fair.",
        "She built a device that holds carbon.",
    ]


def test_the_same_sentence_is_shown_once() -> None:
    copies = [reference(number, HARBOUR) for number in (1, 2, 3)]
    shown = said("When does the harbour open?", *copies)
    assert len(shown) == len(set(shown))


def test_passages_without_a_sentence_answer_nothing() -> None:
    statements, references = answer("When?", [reference(1, "# Harbour")], nothing)
    assert statements == []
    assert not references[0].cited


def test_meaning_finds_a_sentence_without_the_words_of_the_question() -> None:
    def near(texts: Sequence[str]) -> list[float]:
        return [0.9 if "moorings" in text else 0.1 for text in texts]

    statements, _ = answer("How many ships fit?", [reference(1, HARBOUR)], near)
    assert "eleven moorings" in statements[0].text
