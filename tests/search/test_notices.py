"""What is said beside an answer: values that nothing has, stores that are searched by words only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_core.config import Settings
from rag_core.library import Library
from rag_core.types import OWNER, Viewer
from rag_core.wording import only_title
from tests.conftest import index, stores_of
from tests.support.trees import write
from ui.frame.messages import sentence

GUEST = Viewer("friend@example.com", stores=frozenset({"kitchen"}))
NOTES = {
    "kitchen/soup.md": "---\ntags: [Recipe/soup]\n---\nLentil soup.",
    "kitchen/tea.py": "tea = 1\n",
    "kitchen/gift.md": "---\ntags: [surprise, recipes-secret]\nprivate: true\n---\nThe gift for Ann.",
    "work/plan.md": "---\ntags: [meeting]\n---\nThe soup of the plan.",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    with stores_of(tmp_path_factory.mktemp("notices"), NOTES) as opened:
        yield opened


def test_a_page_says_its_own_next_step(library: Library) -> None:
    library.create_store(OWNER, "clever", "minilm")
    try:
        [notice] = library.search(OWNER, "soup", ["clever"]).notices
    finally:
        library.stores.delete(OWNER, "clever")
    assert notice.message == (
        "Only words are searched in store 'clever'. The built-in model for English is not installed."
        " Install the model on the Index page, or with `commonplace model install minilm`."
    )
    assert sentence(notice).endswith("is not installed. Install the model on the Index page.")


def said(library: Library, query: str, *stores: str, viewer: Viewer = OWNER) -> tuple[str, ...]:
    return library.search(viewer, query, stores, mode="lexical").warnings


def test_tag_that_nothing_has_is_named_with_the_one_that_was_meant(library: Library) -> None:
    assert said(library, "soup tag:recpie", "kitchen") == (
        "No document in store 'kitchen' has the tag 'recpie'. Did you mean 'Recipe'?",
    )


def test_type_that_nothing_has_is_named_with_the_ones_there_are(library: Library) -> None:
    assert said(library, "type:pyton", "kitchen") == (
        "No document in store 'kitchen' is of the type 'pyton'. Did you mean 'python'?",
    )
    assert said(library, "type:xml", "kitchen") == (
        "No document in store 'kitchen' is of the type 'xml'. There are: markdown, python.",
    )


def test_type_of_skipped_files_is_named_with_their_number_to_the_owner_alone(
    library: Library, tmp_path: Path
) -> None:
    (tmp_path / "one.html").write_bytes(bytes(range(256)))
    (tmp_path / "two.HTML").write_bytes(bytes(range(256)))
    (tmp_path / "odd.md").write_bytes(bytes(range(256)))
    (tmp_path / "a.txt").write_text("The lighthouse.\n", "utf-8")
    index(library, "shelf", tmp_path)
    try:
        none = "No document in store 'shelf' is of the type 'html'. There are: text."
        unread = library.search(OWNER, "type:html", ["shelf"]).hits
        assert {hit.document.path: hit.document.state for hit in unread} == {
            "one.html": "skipped",
            "two.HTML": "skipped",
        }
        assert all(only_title(hit).startswith("It is not read: ") for hit in unread)
        guest = Viewer("friend@example.com", stores=frozenset({"shelf"}))
        assert said(library, "type:html", "shelf", viewer=guest) == (none,)
    finally:
        library.stores.delete(OWNER, "shelf")


def test_folder_and_file_that_are_not_there_are_named_with_the_ones_that_are(
    library: Library, tmp_path: Path
) -> None:
    write(
        tmp_path, {"garden/beds/rose.md": "Red.", "garden/trees/oak.md": "Old.", "garden/taxes-24.md": "Due."}
    )
    index(library, "plants", tmp_path / "garden")
    try:
        assert said(library, "path:tree", "plants") == (
            "No document in store 'plants' is in a folder called 'tree'. Did you mean 'trees'?",
        )
        (message,) = said(library, "path:garden", "plants")
        assert message.startswith(
            "No document in store 'plants' is in a folder called 'garden'. There are: beds, trees."
        )
        assert message.endswith("are written without its name: leave it out.")
        assert said(library, "file:tax", "plants") == (
            "No document in store 'plants' is called 'tax'. Did you mean 'taxes-24.md'?",
        )
        guest = Viewer("friend@example.com", stores=frozenset({"plants"}))
        assert str(tmp_path) not in said(library, "path:garden", "plants", viewer=guest)[0]
        assert said(library, "path:trees file:oak", "plants") == ()
        assert said(library, "path:t* path:/", "plants") == ()
    finally:
        library.stores.delete(OWNER, "plants")


DAYS = "The dates go from 2026-01-05 to 2026-03-12."


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("after:2026-12 terms", f"No document in store 'diary' is dated 2026-12-01 or later. {DAYS}"),
        ("before:2001", f"No document in store 'diary' is dated before 2001-01-01. {DAYS}"),
        (
            "after:2026-02 before:2026-03",
            f"No document in store 'diary' is dated 2026-02-01 or later and before 2026-03-01. {DAYS}",
        ),
        ("after:2026-03-10 before:2026-03-01", "'after' must be earlier than 'before'."),
        ("after:2026-03-10 before:2026-03-10", "'after' must be earlier than 'before'."),
    ],
)
def test_days_that_nothing_is_of_are_named_with_those_there_are(
    library: Library, tmp_path: Path, query: str, message: str
) -> None:
    texts = {"a": "date: 2026-01-05", "b": "date: 2026-03-12", "p": "date: 2026-07-01\nprivate: true"}
    write(tmp_path, {f"d/{name}.md": f"---\n{front}\n---\nThe terms.\n" for name, front in texts.items()})
    index(library, "diary", tmp_path / "d")
    guest = Viewer("friend@example.com", stores=frozenset({"diary"}))
    try:
        assert said(library, query, "diary", viewer=guest) == (message,)
        assert said(library, query, "diary") == (message.replace("2026-03-12", "2026-07-01"),)
        assert said(library, "after:2026-03-12 before:2026-03-13", "diary", viewer=guest) == ()
        assert said(library, "after:2026-04", "diary") == ()
        assert said(library, "after:2026-04", "diary", viewer=guest) != ()
    finally:
        library.stores.delete(OWNER, "diary")


@pytest.mark.parametrize(
    "query", ["soup tag:meeting type:python", "-type:md tag:recipe", "type:md -tag:recipe file:tea.py"]
)
def test_filters_that_nothing_fits_together_are_said_to_be_why(library: Library, query: str) -> None:
    stores = ("kitchen", "work")
    answer = library.search(OWNER, query, stores, mode="lexical")
    together = "No document matches these filters."
    assert (answer.hits, answer.warnings) == ((), (together,))


@pytest.mark.parametrize(
    "query", ["tag:recipe", "tag:RECIPE/Soup", "type:py", "type:md", "-tag:nothing soup"]
)
def test_value_that_is_there_or_left_out_is_not_named(library: Library, query: str) -> None:
    assert said(library, query, "kitchen") == ()


def test_long_or_odd_value_is_shown_short_and_plain(library: Library) -> None:
    (message,) = said(library, f'tag:"\x1b]0;x\x07{"y" * 500}"', "kitchen")
    assert "\x1b" not in message
    assert len(message) < 200


def test_stores_without_their_model_are_named_in_one_sentence(library: Library, tmp_path: Path) -> None:
    other = Library.open(Settings(tmp_path / "data", tmp_path / "models", ()))
    for store in ("a", "b"):
        other.create_store(OWNER, store, "minilm")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("Tide tables.", "utf-8")
    for store in ("a", "b"):
        index(other, store, tmp_path / "notes")
    (notice,) = other.search(OWNER, "tide").notices
    other.close()
    assert notice.stores == ("a", "b")
    assert notice.message.startswith("Only words are searched in stores 'a', 'b'. ")


def test_what_would_fit_without_the_filters_is_said_where_nothing_fits(library: Library) -> None:
    assert said(library, "lentil type:python", "kitchen") == (
        "Without the filters something fits: 1 passage.",
    )
    assert said(library, "lentil type:md", "kitchen") == ()
    assert said(library, "gift ann type:python", "kitchen") == (
        "Without the filters something fits: 1 passage.",
    )
    assert said(library, "gift ann type:python", viewer=GUEST) == (), "a private note"
