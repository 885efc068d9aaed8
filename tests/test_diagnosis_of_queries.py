"""Where a file stands among what a query finds, and what of the query leaves it out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.messages import say
from rag_core.reports import Diagnosis, Step
from rag_core.types import OWNER
from rag_core.wording import ranked
from tests.conftest import index
from tests.diagnosed import ask, last
from tests.trees import write


def test_a_file_that_is_not_among_the_first_for_a_query_says_so(library: Library, vault: Path) -> None:
    near = Diagnosis("s", "a.md", (Step("ok", "Read."),), query="tea", rank=10, score=0.7, relevant=True)
    miss = replace(near, rank=112, score=0.2, relevant=False)
    assert ranked(near) == "For 'tea' its best passage is number 10 with a score of 0.70."
    assert ranked(miss).startswith(
        "For 'tea' its best passage is number 112 with a score of 0.20, a near miss."
    )
    assert ranked(replace(near, rank=None)).endswith("not among the first 1,000 passages.")


@pytest.mark.parametrize(
    ("query", "by"),
    [
        ("tag:aws heron", ", by its filters"),
        ("-type:md heron", ", by its filters"),
        ('"grey heron"', ", by its words in quotes"),
        ("boat -heron", ", by its words behind a minus"),
        ("path:sub -heron", ", by its filters and its words behind a minus"),
        ("store:other heron", ", by the store that it names"),
    ],
)
def test_a_query_that_leaves_the_file_out_itself_is_said_to(
    library: Library, vault: Path, query: str, by: str
) -> None:
    library.create_store(OWNER, "other", "hashing")
    [found] = library.upkeep.explain(OWNER, str(vault / "a.md"), ["s"], query=query)
    assert (found.findable, found.rank) == (True, None)
    assert found.steps[-1] == Step("note", say("left_out", by=by))


def test_parts_of_a_query_that_no_passage_fits_together_leave_the_file_out(
    library: Library, vault: Path
) -> None:
    day = "The tide comes and goes, and the day is long. " * 40
    write(vault, {"tides.md": f"# Tides\n\n## Early\n\nA walrus. {day}\n\n## Late\n\nA narwhal. {day}\n"})
    index(library, "s")
    for query in ('"walrus" -narwhal', '"narwhal" -walrus'):
        assert ask(library, vault / "tides.md", query).rank == 1
    assert last(ask(library, vault / "tides.md", '"walrus" "narwhal"')).endswith(
        "leaves this file out, by its words in quotes."
    )
    assert last(ask(library, vault / "tides.md", '"walrus" -walrus')) == (
        "The query itself leaves this file out."
    )


def test_a_query_that_the_file_does_not_fit_leaves_nothing_out(library: Library, vault: Path) -> None:
    for query in ("heron", "zebra", "zebra -boat", "tag:aws"):
        steps = ask(library, vault / "chinese.md", query).steps
        said = [step.sentence for step in steps if "leaves this file out" in step.sentence]
        assert bool(said) == (query == "tag:aws"), query


def test_the_rank_for_a_query_is_the_one_that_search_gives(library: Library, vault: Path) -> None:
    answer = library.search(OWNER, "river boat")
    rank = next(hit.rank for hit in answer.hits if hit.document.path == "a.md")
    assert ask(library, vault / "a.md", "river boat").rank == rank
    assert ask(library, vault / "sub/b.md", "river boat").rank == 1
    assert ask(library, vault / "a.md", "tag:none").rank is None


def test_the_rank_is_told_whatever_the_settings_leave_out(library: Library, vault: Path) -> None:
    strict = Library.open(library.settings.model_copy(update={"min_score": 0.99, "max_tokens": 1}))
    assert ask(strict, vault / "sub/b.md", "heron boat").rank is not None
    strict.close()


def test_the_rank_is_not_that_of_a_namesake_in_another_store(
    library: Library, vault: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.md").write_text("The zebra sleeps.", "utf-8")
    index(library, "t", tmp_path / "other")
    assert ask(library, vault / "a.md", "zebra store:t").rank is None
