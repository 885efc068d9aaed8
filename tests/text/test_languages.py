"""The language of a text."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_core.text.languages import language_of

NAMES = {
    "en": "English", "de": "German", "fr": "French", "es": "Spanish", "pt": "Portuguese", "ru": "Russian",
    "zh": "Chinese", "ja": "Japanese", "ko": "Korean", "ar": "Arabic", "hi": "Hindi",
}  # fmt: skip
ROWS = Path(__file__).parents[2] / "benchmarks" / "languages.tsv"


def notes() -> list[tuple[str, str]]:
    rows = (line.split("\t") for line in ROWS.read_text("utf-8").splitlines())
    return [(row[1], row[3]) for row in rows if row[0] == "note"]


def test_notes_in_eleven_languages_are_told_apart() -> None:
    assert [(language_of(text), text) for _, text in notes()] == [
        (NAMES[code], text) for code, text in notes()
    ]


def test_ukrainian_is_not_taken_for_russian() -> None:
    assert language_of("Завтра прийде майстер, треба купити хліб і молоко, щоб не забути") == "Ukrainian"


@pytest.mark.parametrize(
    "text",
    ["", "Milano 2024", "x = y + 1", "12 03 99", "8f3a9c", "Straße"],
)
def test_what_cannot_be_told_is_no_language(text: str) -> None:
    assert language_of(text) == ""


def test_code_with_english_words_is_english() -> None:
    assert (
        language_of("# the number of passages that are left to do\nfor each in passages:\n    pass")
        == "English"
    )
