"""Saved searches: what they keep, what is new in them, and that they are the owner's alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_core.errors import Forbidden, InvalidInput, NotFound
from rag_core.library import Library
from rag_core.library import saved as saved_module
from rag_core.types import OWNER, Filters, Viewer
from rag_core.wording import new_hits
from tests.conftest import Run, index
from tests.support.trees import write

GUEST = Viewer("friend@example.com", stores=frozenset({"s"}), may_ask=True)
OPEN = "---\nstatus: open\n---\n# Heron {n}\n\nThe heron stands in the reeds. {n}\n"


@pytest.fixture
def herons(library: Library, notes: Path) -> Library:
    write(notes, {f"{n}.md": OPEN.format(n=n) for n in range(3)})
    index(library, "s", notes)
    return library


def new(library: Library) -> dict[str, int]:
    return {each.name: each.new for each in library.saved.searches(OWNER)}


def test_a_saved_search_keeps_all_its_parts(herons: Library) -> None:
    filters = Filters(types=("markdown",), properties=("status:open",))
    herons.saved.save(OWNER, "  my   herons ", "heron", ["s"], filters=filters, sort="name", min_score=0.5)
    [saved] = Library(herons.settings).saved.searches(OWNER)
    assert (saved.name, saved.text, saved.stores, saved.filters) == ("my herons", "heron", ("s",), filters)
    assert (saved.sort, saved.min_score, saved.mode) == ("name", 0.5, None)
    answer = herons.saved.open(OWNER, "MY herons")
    expected = herons.search(OWNER, "heron", ["s"], filters=filters, sort="name", min_score=0.5)
    assert [hit.key for hit in answer.hits] == [hit.key for hit in expected.hits]
    assert answer.sort == "name"
    assert len(herons.saved.open(OWNER, "my herons", top_k=1, sort="best").hits) == 1


def test_new_are_the_documents_that_fit_and_were_added_or_changed_since(herons: Library, notes: Path) -> None:
    herons.saved.save(OWNER, "open", "heron status:open", sort="newest")
    assert new(herons) == {"open": 0}
    write(
        notes,
        {
            "new.md": OPEN.format(n="new"),
            "0.md": OPEN.format(n="changed"),
            "done.md": OPEN.format(n=9).replace("open", "done"),
        },
    )
    index(herons, "s")
    assert new(herons) == {"open": 2}
    assert new(herons) == {"open": 2}, "to look at the list opens nothing"
    herons.saved.open(OWNER, "open")
    assert new(herons) == {"open": 0}
    (notes / "new.md").unlink()
    index(herons, "s")
    assert new(herons) == {"open": 0}


def test_what_does_not_reach_the_minimum_is_not_new(herons: Library, notes: Path) -> None:
    herons.saved.save(OWNER, "best", "heron reeds", min_score=1.0)
    herons.saved.save(OWNER, "any", "heron reeds")
    write(notes, {"weak.md": "A heron, among many other birds and beasts of the wide wet fen, was seen.\n"})
    index(herons, "s")
    counts = new(herons)
    assert counts["best"] == 0


def test_the_count_is_bounded(herons: Library, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_module, "MOST_NEW", 4)
    herons.saved.save(OWNER, "open", "status:open")
    write(notes, {f"more{n}.md": OPEN.format(n=f"more {n}") for n in range(6)})
    index(herons, "s")
    [saved] = herons.saved.searches(OWNER)
    assert (saved.new, saved.more_new) == (4, True)


def test_where_nothing_was_read_since_nothing_is_searched(
    herons: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    herons.saved.save(OWNER, "open", "heron")
    monkeypatch.setattr(saved_module, "now", lambda: "2999-01-01T00:00:00Z")
    herons.saved.open(OWNER, "open")
    monkeypatch.setattr(herons.searching, "search", None)
    assert new(herons) == {"open": 0}


def test_a_deleted_store_takes_the_hits_and_not_the_search(herons: Library) -> None:
    herons.saved.save(OWNER, "here", "heron", ["s"])
    herons.saved.save(OWNER, "typed", "store:s heron")
    herons.saved.save(OWNER, "anywhere", "heron")
    herons.create_store(OWNER, "other", "hashing")
    herons.stores.delete(OWNER, "s")
    assert new(herons) == {"anywhere": 0, "here": 0, "typed": 0}
    told = {each.name: new_hits(each) for each in herons.saved.searches(OWNER)}
    assert told == {"anywhere": "", "here": "store is gone", "typed": "store is gone"}
    assert herons.saved.open(OWNER, "anywhere").hits == ()
    for name in ("here", "typed"):
        with pytest.raises(NotFound, match=f"'{name}' is about stores that are gone: 's'") as gone:
            herons.saved.open(OWNER, name)
        assert gone.value.suggestion == f"Remove it: `commonplace saved remove {name}`."


def test_a_saved_search_follows_the_new_name_of_its_store(herons: Library) -> None:
    herons.create_store(OWNER, "s2", "hashing")
    herons.saved.save(OWNER, "chosen", "heron", ["s2", "s"])
    herons.saved.save(OWNER, "typed", 'heron Store:s "store:s x" restore:s')
    herons.saved.save(OWNER, "anywhere", "heron")
    herons.stores.rename(OWNER, "s", "fen")
    saved = {each.name: each for each in herons.saved.searches(OWNER)}
    assert saved["chosen"].stores == ("s2", "fen")
    assert saved["typed"].text == 'heron Store:fen "store:s x" restore:s'
    assert {name: each.new for name, each in saved.items()} == dict.fromkeys(saved, 0), "nothing is new by it"
    assert len(herons.saved.open(OWNER, "chosen").hits) == 3


def test_names_are_unique_whatever_the_case(herons: Library) -> None:
    herons.saved.save(OWNER, "One", "heron")
    herons.saved.save(OWNER, "one", "reeds")
    herons.saved.save(OWNER, "two", "heron")
    assert [(each.name, each.text) for each in herons.saved.searches(OWNER)] == [
        ("one", "reeds"),
        ("two", "heron"),
    ]
    with pytest.raises(InvalidInput, match="There is a saved search 'ONE'"):
        herons.saved.rename(OWNER, "two", "ONE")
    herons.saved.rename(OWNER, "two", "three")
    herons.saved.delete(OWNER, "One")
    assert [each.name for each in herons.saved.searches(OWNER)] == ["three"]
    with pytest.raises(NotFound, match="no saved search 'two'") as refused:
        herons.saved.open(OWNER, "two")
    assert refused.value.suggestion == "There are: three."


@pytest.mark.parametrize(
    ("name", "text"), [("", "heron"), ("x" * 101, "heron"), ("a\x1b[31m", "heron"), ("a", " ")]
)
def test_what_cannot_be_saved_is_refused(herons: Library, name: str, text: str) -> None:
    with pytest.raises(InvalidInput):
        herons.saved.save(OWNER, name, text)
    assert herons.saved.searches(OWNER) == []


def test_guests_have_no_saved_searches(herons: Library) -> None:
    herons.saved.save(OWNER, "mine", "heron")
    for call in (
        lambda: herons.saved.save(GUEST, "x", "heron"),
        lambda: herons.saved.searches(GUEST),
        lambda: herons.saved.open(GUEST, "mine"),
        lambda: herons.saved.delete(GUEST, "mine"),
        lambda: herons.saved.rename(GUEST, "mine", "x"),
    ):
        with pytest.raises(Forbidden):
            call()


def test_looking_creates_no_file(herons: Library) -> None:
    assert herons.saved.searches(OWNER) == []
    assert not (herons.settings.data_dir / "state.db").exists()


def test_the_command_line_saves_lists_and_opens(run: Run, herons: Library, notes: Path) -> None:
    added = run("saved", "add", "open", "status:open", "--sort", "name", "--json").json
    assert (added["name"], added["text"], added["sort"], added["new"]) == ("open", "status:open", "name", 0)
    again = run("saved", "add", "open", "status:open", "--sort", "name").out
    assert again.startswith("Saved in place of 'status:open'."), "nothing is replaced without a word"
    write(notes, {"a.md": OPEN.format(n="a")})
    index(herons, "s")
    listed = run("saved", "list").out
    assert "1 new" in listed
    assert "status:open · by name" in listed
    assert run("saved", "list", "--json").json["saved"][0]["new"] == 1
    answer = run("query", "--saved", "open", "--json").json
    assert (answer["query"], answer["sort"], answer["total_results"]) == ("status:open", "name", 4)
    assert run("query", "--saved", "open", "--top-k", "2", "--json").json["total_results"] == 2
    assert run("saved", "list", "--json").json["saved"][0]["new"] == 0
    assert run("query", "heron", "--saved", "open").status == 2
    assert run("query", "--saved", "other").status == 1
    assert run("saved", "rename", "open", "later").status == 0
    assert run("saved", "remove", "later").out == "The saved search 'later' is deleted.\n"
    assert run("saved", "list").out == "No search is saved yet.\n"
