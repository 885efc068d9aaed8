"""Sentences that every face shares."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rag_core.reports import SavedSearch
from rag_core.types import Filters, Source, StoreInfo
from rag_core.wording import asked_by, roots, taken, top_folder, vectors_in

INFO = StoreInfo("work", "2026", "minilm", "", 384, "cosine", "local", 0, 0, 0, 0, 0, 0, 0)
HOME, WORK = Source(1, "/home/me/notes", ("**/*",)), Source(2, "/srv/work", ("**/*.md",), ("old/**",), "work")


@pytest.mark.parametrize(
    ("address", "said"),
    [("", "in the store's own file"), ("s3vectors://mine/main", "in s3vectors://mine/main")],
)
def test_where_vectors_are_is_said_in_words(address: str, said: str) -> None:
    assert vectors_in(replace(INFO, address=address)) == said


def test_patterns_that_take_everything_are_said_in_words() -> None:
    assert taken(HOME) == "every file"
    assert taken(replace(HOME, include=(), exclude=("old/**",))) == "every file, without old/**"
    assert taken(WORK) == "**/*.md, without old/**"
    assert taken(replace(HOME, include=("**/*", "**/*.md"))) == "**/* **/*.md"


@pytest.mark.posix
def test_where_paths_begin_is_said_of_every_folder_that_stays() -> None:
    assert roots([]) == ""
    assert roots([WORK, HOME]) == "Folders: /home/me/notes; work/ is /srv/work."
    assert roots([replace(HOME, removed=True), WORK]) == "Folders: work/ is /srv/work."
    assert "\\xff" in roots([replace(HOME, root="/a\udcff")])


def test_the_folder_without_a_label_is_called_by_its_own_name() -> None:
    assert top_folder([WORK, HOME, replace(HOME, root="/x/notes")]) == "notes"
    assert top_folder([HOME, replace(HOME, root="/x/wiki")]) == "notes, wiki"
    assert top_folder([WORK]) == ""


def test_a_saved_search_is_told_with_all_that_narrows_it() -> None:
    found = Filters(tags=("tea",), properties=("status:=open",), after="2026-01-01")
    saved = SavedSearch("x", "green", ("home",), found, "newest", 0.7, None, "2026-01-01T00:00:00Z")
    told = "green store:home tag:tea status:=open after:2026-01-01 · score ≥ 70% · newest first"
    assert asked_by(saved) == told
    plain = SavedSearch("x", "green", (), Filters(), "best", None, None, "2026-01-01T00:00:00Z")
    assert asked_by(plain) == "green"
