"""A query of more than 2,000 characters: a text that was pasted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rag_core.config import Settings
from rag_core.errors import InvalidInput
from rag_core.library import Library
from rag_core.text.words import query_words
from rag_core.types import OWNER, Answer, Filters, Mode, Viewer
from tests.conftest import index
from tests.search.test_query import NOTES
from tests.support.trees import write

RARE_PATH = "50zza/five.md"
RARE = "Five an apple below zza"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("pasted")
    write(folder / "notes", NOTES)
    opened = Library.open(Settings(folder / "data", folder / "models", ()))
    index(opened, "kitchen", folder / "notes")
    yield opened
    opened.close()


FILLER = " ".join(
    f"Sentence {n} of the letter says this and that of the weather in the north." for n in range(40)
)


def pasted(library: Library, query: str, mode: Mode = "lexical") -> Answer:
    return library.search(OWNER, query, ["kitchen"], mode=mode, top_k=50)


def test_query_of_2_000_characters_has_operators_and_a_longer_one_is_a_pasted_text(library: Library) -> None:
    short = "pie type:python ".ljust(2000)
    assert {hit.document.path for hit in pasted(library, short).hits} == {"pie.py"}
    answer = pasted(library, f"{short} ")
    assert {"pie.py"} < {hit.document.path for hit in answer.hits}
    assert answer.query.filters == Filters()


@pytest.mark.parametrize("odd", ['"', "-apple", "store:nowhere", "after:never", '"x" ' * 200, "x" * 3000])
def test_nothing_in_a_pasted_text_is_an_operator(library: Library, odd: str) -> None:
    assert "pie.py" in {hit.document.path for hit in pasted(library, f"{FILLER} apple pie {odd}").hits}


def test_of_a_pasted_text_the_rarest_words_are_looked_for_wherever_they_stand(library: Library) -> None:
    text = f"{FILLER} {FILLER} {RARE}"
    answer = pasted(library, text)
    assert answer.hits[0].document.path == RARE_PATH
    assert {*query_words(RARE)} <= {*answer.query.terms.words}
    assert len(answer.query.terms.words) <= 24
    assert answer.query.raw == text


def test_words_that_nothing_has_do_not_count_in_a_pasted_text(library: Library) -> None:
    strange = " ".join(f"xq{chr(97 + n % 26)}{chr(97 + n // 26)}zzyzx" for n in range(400))
    assert pasted(library, f"{strange} {RARE}").hits[0].document.path == RARE_PATH
    assert pasted(library, strange).hits == ()


def test_a_pasted_text_without_spaces_is_searched(library: Library) -> None:
    answer = pasted(library, "价格歧视是一种重要的价格差异" * 200)
    assert 0 < len(answer.query.terms.words) <= 24


def test_an_answer_says_how_a_pasted_text_was_searched(library: Library) -> None:
    text = f"{FILLER} {RARE}"
    assert (
        f"The query has {len(text):,} characters; its beginning and its rarest words are searched."
        in pasted(library, text).warnings
    )


def test_the_beginning_of_a_pasted_text_is_compared_by_meaning(library: Library) -> None:
    begins = (library.documents.get(OWNER, "kitchen", RARE_PATH).chunks[0].content + " ") * 60
    answer = pasted(library, begins + FILLER, "vector")
    assert answer.hits[0].document.path == RARE_PATH


def test_a_guests_rarest_words_are_those_of_what_a_guest_may_see(tmp_path: Path) -> None:
    write(tmp_path / "notes", {"a.md": "Open tea.", "b.md": "---\nprivate: true\n---\nSecret samovar."})
    with closing(Library.open(Settings(tmp_path / "data", tmp_path / "models", ()))) as opened:
        index(opened, "s", tmp_path / "notes")
        text = f"{'Strange words only. ' * 200} open samovar"
        guest = Viewer("ann@example.org", stores=frozenset({"s"}))
        assert opened.search(OWNER, text).query.terms.words == ("open", "samovar")
        assert opened.search(guest, text).query.terms.words == ("open",)


def test_a_pasted_text_of_more_than_20_kb_is_refused(library: Library) -> None:
    pasted(library, "pie " * 5_000)
    with pytest.raises(InvalidInput, match="20,001 bytes") as caught:
        pasted(library, "pie " * 5_000 + ".")
    assert caught.value.suggestion == "Use at most 20,000 bytes; a few words find most."
    with pytest.raises(InvalidInput, match="20,002 bytes"):
        pasted(library, "é" * 10_001)
