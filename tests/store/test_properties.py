"""Filters by what the front matter says, by the fields of mails, by titles, headings and places."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.store import Store
from rag_core.types import OWNER, Filters, Viewer
from tests.conftest import Run, index, stores_of
from tests.store.test_migrations import make_older
from tests.support.assistant import Assistant
from tests.support.rest import serving_rest
from tests.support.trees import write

FILES = {
    "desk/a.md": "---\nstatus: open\nrating: 4\nauthor: Jane Doe\ndue: 2026-02-10\ntype: book\n---\n"
    "# Alder\n\n## Budget plan\n\nThe ferry crosses the fjord.\n",
    "desk/b.md": "---\nStatus: reopened\nrating: 4.5\nauthor: [Bob, '[[Jane Roe]]']\ndue: 2026-03-31\n---\n"
    "# Birch tree\n\n## Other costs\n\nThe ferry is late.\n",
    "desk/c.md": "---\nprivate: true\nstatus: done\nsecretkey: sesame\n---\n# Cedar\n\nThe ferry sank.\n",
    "desk/d.md": "---\nstatus: done\nlead time: 12\nmeta: {stage: Über den Berg, done: true}\n---\n"
    "# Deal\n\nThe ferry is new.\n",
    "mail/m.eml": "From: Anna Smith <anna@x.org>\nTo: Bob <bob@y.org>\nSubject: Ferry invoice\n"
    "Date: Mon, 2 Feb 2026 10:00:00 +0000\n\nThe ferry has to be paid.\n",
}
GUEST = Viewer("friend@example.com", stores=frozenset({"desk"}))


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    with stores_of(tmp_path_factory.mktemp("properties"), FILES) as opened:
        yield opened


def found(library: Library, query: str, viewer: Viewer = OWNER, **wish: object) -> list[str]:
    answer = library.search(viewer, query, **wish)  # type: ignore[arg-type]
    return sorted(hit.document.path.removesuffix(".md") for hit in answer.hits)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("status:open", "a"),
        ("STATUS:Open", "a"),
        ("status:open status:reopened", "a b"),
        ("status:open author:bob", ""),
        ("ferry -status:done", "a b m.eml"),
        ("ferry -status:done -status:open", "b m.eml"),
        ("-status:open -author:bob type:md", "c d"),
        ("status:*", "a b c d"),
        ("author:jane", "a b"),
        ('author:"Jane Doe"', "a"),
        ("author:=jane", ""),
        ("author:=bob", "b"),
        ("rating:4", "a"),
        ("rating:>4", "b"),
        ("rating:>=4", "a b"),
        ("rating:<4.5", "a"),
        ("rating:2..4", "a"),
        ("rating:4..", "a b"),
        ("rating:..3", ""),
        ("rating:>", "a b"),
        ("due:2026-02", "a"),
        ("due:2026", "a b"),
        ("due:2026-01..2026-03", "a b"),
        ("due:2026-02-11..2026-03-31", "b"),
        ("due:>2026-02", "b"),
        ("due:<=2026-02-10", "a"),
        ('due:"february 2026"', "a"),
        ("lead-time:12", "d"),
        ("lead_time:>10", "d"),
        ("meta.stage:uber", "d"),
        ("meta.done:true", "d"),
        ("property:type:book", "a"),
        ("property:author", "a b"),
        ("title:birch", "b"),
        ('title:"tree birch"', ""),
        ("heading:budget", "a"),
        ('heading:"other costs"', "b"),
        ("ferry -heading:budget -heading:costs", "c d m.eml"),
        ("from:anna", "m.eml"),
        ("from:anna@x.org", "m.eml"),
        ("to:bob", "m.eml"),
        ("subject:invoice", "m.eml"),
    ],
)
def test_filters_by_properties_titles_and_headings(desk: Library, query: str, expected: str) -> None:
    assert found(desk, query) == expected.split()


def test_a_page_a_slide_and_a_cell_are_places(library: Library, notes: Path) -> None:
    write(notes, {"n.ipynb": NOTEBOOK})
    index(library, "s", notes)
    [hit] = library.search(OWNER, "heron").hits[:1]
    place = f"{hit.anchor_type} {hit.anchor_ref}"
    assert found(library, f'heron place:"{place}"') == ["n.ipynb"]
    assert found(library, 'heron place:"cell 99"') == []


NOTEBOOK = (
    '{"cells": [{"cell_type": "code", "source": ["heron = 1"], "metadata": {}, "outputs": []}],'
    ' "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}'
)


def test_a_key_that_nothing_has_is_words_and_the_answer_says_what_exists(desk: Library) -> None:
    answer = desk.search(OWNER, "statsu:ferry", ["desk"])
    assert {"statsu", "ferry"} <= {*answer.query.terms.words}
    assert len(answer.hits) == 4
    assert answer.warnings[0] == (
        "No note has the property 'statsu'. Did you mean 'status'? There are: status, author, due, rating,"
        " lead time, meta.done, meta.stage, secretkey."
    )
    excluded = desk.search(OWNER, "ferry -statsu:open", ["desk"])
    assert "'statsu'" in excluded.warnings[0]


@pytest.mark.parametrize(
    "query", ["std::vector ferry", "https://x.org ferry", "C:\\ferry", "ferry: fjord", "12:30"]
)
def test_code_and_addresses_are_no_properties(desk: Library, query: str) -> None:
    assert desk.search(OWNER, query, ["desk"]).warnings == ()


def test_where_there_is_no_property_nothing_is_said(library: Library, notes: Path) -> None:
    write(notes, {"a.md": "---\ndate: 2026-01-01\ntags: [x]\n---\nThe ferry.\n"})
    index(library, "s", notes)
    assert library.search(OWNER, "status:ferry").warnings == ()


def test_a_value_that_nothing_has_is_named_with_the_nearest(desk: Library) -> None:
    said = desk.search(OWNER, "status:opne", ["desk"]).warnings[0]
    assert said.endswith("the property 'status' with the value 'opne'. Did you mean 'open'?")


def test_private_documents_tell_a_guest_nothing_of_their_properties(desk: Library) -> None:
    answer = desk.search(GUEST, "secretkey:sesame ferry", facets=True)
    never = desk.search(GUEST, "otherkey:sesame ferry", facets=True)
    assert [hit.key for hit in answer.hits] == [hit.key for hit in never.hits]
    assert [each.replace("secretkey", "") for each in answer.warnings] == [
        each.replace("otherkey", "") for each in never.warnings
    ]
    assert answer.properties == never.properties
    assert "secretkey" not in str(answer.properties)
    assert found(desk, "status:done", GUEST) == ["d"]
    assert found(desk, "property:secretkey", GUEST) == []


def test_the_properties_of_what_matches_are_counted(desk: Library) -> None:
    assert desk.search(OWNER, "ferry").properties is None
    counted = desk.search(GUEST, "ferry", facets=True, group="document").properties
    assert counted is not None
    assert counted["status"] == {"open": 1, "reopened": 1, "done": 1}
    assert counted["author"] == {"Jane Doe": 1, "Bob": 1, "Jane Roe": 1}
    narrowed = desk.search(OWNER, "status:done", facets=True).properties
    assert narrowed is not None
    assert narrowed["status"] == {"done": 2}


def test_spellings_that_a_filter_does_not_tell_apart_are_one_value(library: Library, notes: Path) -> None:
    spellings = ["open", "Open", "Open", "OPEN", "in-progress", "In progress"]
    tree = {f"{n}.md": f"---\nstatus: {value}\n---\nferry {n}\n" for n, value in enumerate(spellings)}
    hidden = {f"p{n}.md": f"---\nstatus: OPEN\nprivate: true\n---\nferry p{n}\n" for n in range(5)}
    write(notes, tree | hidden)
    index(library, "s", notes)
    guest = Viewer(GUEST.login, stores=frozenset({"s"}))
    for viewer, spelled, count in ((OWNER, "OPEN", 9), (guest, "Open", 4)):
        counted = library.search(viewer, "type:md", facets=True).properties
        assert counted is not None
        assert counted["status"] == {spelled: count, "in-progress": 2}, (
            "what a guest may not see tells nothing"
        )
        hits = library.search(viewer, f"type:md status:={spelled}", top_k=20).hits
        assert len(hits) == count


def test_few_properties_with_few_values_are_counted(library: Library, notes: Path) -> None:
    front = "\n".join(f"key{n}: common" for n in range(12))
    note = "---\nurl: https://x.org/{n}\nkind: k{kind}\n{front}\n---\nferry {n}\n"
    write(notes, {f"{n}.md": note.format(n=n, kind=n // 2, front=front) for n in range(60)})
    index(library, "s", notes)
    counted = library.search(OWNER, "type:md", facets=True).properties
    assert counted is not None
    assert len(counted) == 8
    assert "url" not in counted, "each value is in one document"
    assert all(values == {"common": 60} for name, values in counted.items() if name != "kind")
    assert all(len(values) <= 20 for values in counted.values())


def test_a_changed_note_has_its_new_properties_alone(library: Library, notes: Path) -> None:
    write(notes, {"a.md": "---\nstatus: open\nold: x\n---\nferry\n"})
    index(library, "s", notes)
    write(notes, {"a.md": "---\nstatus: done\n---\nferry\n"})
    index(library, "s")
    assert (found(library, "status:open"), found(library, "status:done")) == ([], ["a"])
    (notes / "a.md").unlink()
    write(notes, {"b.md": "ferry"})
    index(library, "s")
    assert library.search(OWNER, "status:done").warnings == ()


def test_a_store_of_an_older_version_gets_its_properties(library: Library, notes: Path) -> None:
    write(notes, {"a.md": "---\nstatus: open\n---\nferry\n"})
    index(library, "s", notes)
    library.close()
    path = library.settings.store_dir / "s.db"
    make_older(path, 10)
    with Store(path).read() as db:
        rows = db.execute("SELECT key, written FROM properties").fetchall()
    assert [tuple(row) for row in rows] == [("status", "open")]
    assert found(Library(library.settings), "status:open") == ["a"]


@pytest.mark.parametrize("value", ["x' OR 1=1 --", "%", "_", '") OR (1', "a" * 300])
def test_hostile_names_and_values_are_data(desk: Library, value: str) -> None:
    assert found(desk, "", filters=Filters(properties=(f"status:{value}",))) == []
    assert found(desk, "", filters=Filters(properties=(f"{value}:open",))) == []


def test_every_face_filters_by_property(desk: Library, run: Run, library: Library, notes: Path) -> None:
    with serving_rest(desk, OWNER) as rest:
        asked = {"query": "ferry", "filters": {"property": ["status:open"]}, "facets": True}
        answer = rest.post("/search", asked).json
        assert [each["file_path"] for each in answer["results"]] == ["a.md"]
        assert answer["properties"]["status"] == {"open": 1}
        assert rest.post("/search", {"query": "x", "filters": {"propertey": "a:b"}}).status == 400
    write(notes, {"a.md": "---\nstatus: open\n---\nferry\n", "b.md": "ferry\n"})
    index(library, "s", notes)
    for words in (("ferry", "status:open"), ("ferry", "--filter", "property=status:open")):
        shown = run("query", *words, "--json").json
        assert [each["file_path"] for each in shown["results"]] == ["a.md"]


def test_an_assistant_filters_by_property(mcp_owner: Assistant) -> None:
    found = mcp_owner.data("search_with_filters", query="harbour", filters={"title": "boats"}, store="sea")
    assert [each["file_path"] for each in found["results"]] == ["boats.md"]
    none = mcp_owner.data("search_with_filters", query="harbour", filters={"property": "status:open"})
    assert none["results"] == []
    assert "No note has the property 'status'." in none["warnings"][0]
