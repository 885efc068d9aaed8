"""Where a file stands among what a query finds, and what of the query leaves it out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rag_core.library import Library
from rag_core.reports import Diagnosis, Step
from rag_core.types import OWNER
from rag_core.wording import ranked
from tests.diagnosed import ask


def test_a_file_that_is_not_among_the_first_for_a_query_says_so(library: Library, vault: Path) -> None:
    near = Diagnosis("s", "a.md", (Step("ok", "Read."),), query="tea", rank=10, score=0.7, relevant=True)
    miss = replace(near, rank=112, score=0.2, relevant=False)
    assert ranked(near) == "For 'tea' its best passage is number 10 with a score of 0.70."
    assert ranked(miss).startswith(
        "For 'tea' its best passage is number 112 with a score of 0.20, a near miss."
    )
    assert ranked(replace(near, rank=None)).endswith("not among the first 1,000 passages.")


def test_the_rank_for_a_query_is_the_one_that_search_gives(library: Library, vault: Path) -> None:
    answer = library.search(OWNER, "river boat")
    rank = next(hit.rank for hit in answer.hits if hit.document.path == "a.md")
    assert ask(library, vault / "a.md", "river boat").rank == rank
    assert ask(library, vault / "sub/b.md", "river boat").rank == 1
    assert ask(library, vault / "a.md", "tag:none").rank is None
