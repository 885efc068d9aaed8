"""A second machine: the index that one installation fills becomes a store of another, to be read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_core.errors import EmbedderError, InvalidInput, VectorError
from rag_core.library import Library
from rag_core.types import OWNER, Viewer
from rag_core.vectors import RemoteIndex, VectorRecord
from rag_core.vectors.qdrant import QdrantOptions
from tests.conftest import index
from tests.support.mailboxes import mailbox, message
from tests.support.standin import nobody
from tests.support.stored import store_of
from tests.vectors.s3vectors import Server
from tests.vectors.s3vectors.rules import ServiceError

pytestmark = pytest.mark.thorough

ADDRESS = "s3vectors://commonplace-zoo/main"


@pytest.fixture
def zoo(remote_library: Library, notes: Path) -> Library:
    (notes / "otter.md").write_text(
        "---\ntags: [beast, sea/cold]\naliases: [Lutra]\ndate: 2024-05-01\n---\n# Otter\n\n"
        "The otter swam in the cold sea.\n\n## Food\n\nIt eats crabs and urchins, and a good many of them.\n",
        "utf-8",
    )
    (notes / "deep").mkdir()
    (notes / "deep" / "badger.md").write_text("The badger dug.\n", "utf-8")
    index(remote_library, "zoo", notes)
    return remote_library


def library_in(folder: Path, zoo: Library) -> Library:
    """The library of another machine with access to the same bucket."""
    library = Library(zoo.settings.model_copy(update={"data_dir": folder, "backend": "local"}))
    library._shared.vector_options = zoo._shared.vector_options
    return library


@pytest.fixture
def second(zoo: Library, tmp_path: Path) -> Iterator[Library]:
    with closing(library_in(tmp_path / "second", zoo)) as library:
        yield library


def at(library: Library) -> RemoteIndex:
    """The index of the store."""
    found = library._shared.stores.target(library._shared.stores.open(OWNER, "zoo").store)
    assert found is not None
    return found


def about(library: Library) -> list[tuple[Any, ...]]:
    opened = store_of(library, "zoo")
    with opened.read() as db:
        rows = [
            tuple(row)
            for row in db.execute(
                "SELECT d.display, d.title, d.file_type, d.date, d.private, d.file_hash, c.key, c.text,"
                " c.start, c.start_line, c.end_line, c.heading_path, c.prefix, c.embed_hash, c.tags,"
                " c.terms, e.vector"
                " FROM chunks c JOIN documents d ON d.id = c.document_id"
                " JOIN embeddings e ON e.hash = c.embed_hash"
                " ORDER BY c.key"
            )
        ]
    opened.close()
    return rows


def test_a_first_store_is_not_attached_on_a_shared_disk(zoo: Library, tmp_path: Path) -> None:
    with (
        closing(library_in(tmp_path / "OneDrive" / "data", zoo)) as library,
        pytest.raises(InvalidInput, match="is on OneDrive"),
    ):
        library.placement.attach(OWNER, ADDRESS)


def test_an_attached_store_holds_what_the_other_one_has(zoo: Library, second: Library) -> None:
    info = second.placement.attach(OWNER, ADDRESS)
    assert (info.name, info.attached, info.address, info.chunk_count) == ("zoo", True, ADDRESS, 2)
    assert about(second) == about(zoo)
    assert second.upkeep.verify(OWNER, "zoo").sound


def test_it_is_searched_by_words_and_by_meaning_with_filters(zoo: Library, second: Library) -> None:
    second.placement.attach(OWNER, ADDRESS, "sea")
    for query in (
        "crabs",
        "The badger dug.",
        "tag:sea otter",
        "Lutra",
        "path:deep badger",
        "after:2024-04-01 otter",
    ):
        there, here = (
            [(hit.key, round(hit.score, 5)) for hit in library.search(OWNER, query, [name]).hits]
            for library, name in ((zoo, "zoo"), (second, "sea"))
        )
        assert there == here != []


def test_attaching_again_brings_it_up_to_date(zoo: Library, second: Library, notes: Path) -> None:
    second.placement.attach(OWNER, ADDRESS)
    (notes / "otter.md").unlink()
    (notes / "heron.md").write_text("The heron flew.\n", "utf-8")
    index(zoo, "zoo")
    second.placement.attach(OWNER, ADDRESS)
    assert about(second) == about(zoo)
    assert [document.path for document in second.documents.all(OWNER, "zoo")] == [
        "deep/badger.md",
        "heron.md",
    ]


def test_what_a_rule_hides_there_is_private_here_and_a_copy_takes_no_rules(
    zoo: Library, second: Library
) -> None:
    zoo.privacy.set(OWNER, "zoo", ["deep/**"])
    index(zoo, "zoo")
    second.placement.attach(OWNER, ADDRESS)
    guest = Viewer("ada@example.org", stores=frozenset({"zoo"}))
    assert [document.path for document in second.documents.all(guest, "zoo")] == ["otter.md"]
    assert tuple(second.privacy.report(OWNER, "zoo").rules) == ()
    with pytest.raises(InvalidInput, match="attached"):
        second.privacy.set(OWNER, "zoo", ["otter.md"])
    zoo.privacy.set(OWNER, "zoo", [])
    index(zoo, "zoo")
    second.placement.attach(OWNER, ADDRESS)
    assert len(second.documents.all(guest, "zoo")) == 2
    assert second.upkeep.verify(OWNER, "zoo").sound


def test_it_is_only_read_until_it_is_taken_over(zoo: Library, second: Library, notes: Path) -> None:
    second.placement.attach(OWNER, ADDRESS)
    for change in (
        lambda: second.add_source(OWNER, "zoo", notes, ("**/*",)),
        lambda: second.jobs.request(OWNER, "zoo"),
        lambda: second.placement.switch(OWNER, "zoo", "hashing:64"),
        lambda: second.files.exclude(OWNER, "zoo", "otter.md"),
        lambda: second.placement.heal(OWNER, "zoo"),
    ):
        with pytest.raises(InvalidInput, match="only read here"):
            change()
    assert not second.placement.take_over(OWNER, "zoo").attached
    with pytest.raises(InvalidInput, match="is not attached to a vector index"):
        second.placement.take_over(OWNER, "zoo")
    (notes / "deep" / "badger.md").unlink()
    index(second, "zoo", notes)
    assert second.upkeep.verify(OWNER, "zoo").sound
    (notes / "fox.md").write_text("The fox ran.\n", "utf-8")
    job = index(zoo, "zoo")
    assert "belongs to another installation" in job.message
    there = {*at(second).keys()}
    with pytest.raises(VectorError, match="belongs to another installation"):
        zoo.placement.heal(OWNER, "zoo")
    assert {*at(second).keys()} == there


def test_deleting_an_attached_store_leaves_the_index(zoo: Library, second: Library) -> None:
    second.placement.attach(OWNER, ADDRESS)
    second.stores.delete(OWNER, "zoo")
    assert zoo.upkeep.verify(OWNER, "zoo").findings == ()


def test_a_name_that_is_taken_is_refused(zoo: Library, second: Library) -> None:
    second.create_store(OWNER, "zoo", "hashing")
    with pytest.raises(InvalidInput, match="exists already"):
        second.placement.attach(OWNER, ADDRESS)
    assert not second.stores.info(OWNER, "zoo").attached


def test_an_address_where_nothing_is_makes_no_store(second: Library) -> None:
    with pytest.raises(VectorError, match="There is no vector index at"):
        second.placement.attach(OWNER, "s3vectors://commonplace-nothing/main")
    with pytest.raises(InvalidInput, match="no vector index called"):
        second.placement.attach(OWNER, "ftp://x/y")
    assert second.stores.names(OWNER) == []


def test_the_indexes_that_can_be_attached_are_listed(
    zoo: Library, second: Library, amazon: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zoo.create_store(OWNER, "empty", "hashing")
    [listed] = second.placement.visible_indexes(OWNER)
    assert (listed.kind, listed.problem) == ("s3vectors", "")
    assert listed.addresses == ("s3vectors://commonplace-empty/main", ADDRESS)
    second.placement.attach(OWNER, ADDRESS)
    [listed] = second.placement.visible_indexes(OWNER)
    assert listed.addresses == ("s3vectors://commonplace-empty/main",), "one that is here is not offered"
    assert not [*tmp_path.rglob("qdrant")], "looking makes no folder"

    def refuse(_: object) -> None:
        raise ServiceError(403, "AccessDeniedException", "You may not list indexes")

    monkeypatch.setattr(amazon.service, "ListIndexes", refuse)
    [listed] = second.placement.visible_indexes(OWNER)
    assert listed.addresses == ("s3vectors://commonplace-empty/main",), "the usual one of each bucket"


def test_a_service_that_cannot_be_asked_says_why(zoo: Library, second: Library, amazon: Server) -> None:
    amazon.stop()
    second._shared.vector_options["qdrant"] = QdrantOptions(url=nobody(), attempts=1)
    amazon_said, qdrant_said = second.placement.visible_indexes(OWNER)
    assert "Amazon S3 Vectors at 127.0.0.1 cannot be used" in amazon_said.problem
    assert "Qdrant at 127.0.0.1" in qdrant_said.problem


def test_another_model_of_the_same_name_is_refused(
    zoo: Library, second: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = second._shared.embedders.get("hashing")
    monkeypatch.setattr(opened, "identity", replace(opened.identity, digest="other"))
    with pytest.raises(EmbedderError, match="are from hashing"):
        second.placement.attach(OWNER, ADDRESS)
    assert second.stores.names(OWNER) == []


HOSTILE: dict[str, dict[str, Any]] = {
    "a path outside": {"path": "../../etc/passwd"},
    "an absolute path": {"path": "/etc/passwd"},
    "no path": {"path": ""},
    "a list for a path": {"path": ["a"]},
    "text for a number": {"path": "a.md", "start": "x"},
    "a huge number": {"path": "a.md", "start": 2**70},
    "a table of headings": {"path": "a.md", "heading_path": {"a": 1}},
    "a place that is longer than the text": {"path": "a.md", "end": 9, "start_line": 1, "end_line": 1},
    "lines that go back": {"path": "a.md", "end": 4, "start_line": 3, "end_line": 1},
    "an odd maker": {"path": "a.md", "store": {"name": "x"}},
}


@pytest.mark.parametrize("doc", HOSTILE.values(), ids=HOSTILE)
def test_records_that_are_not_ours_make_no_store(zoo: Library, second: Library, doc: dict[str, Any]) -> None:
    there = at(zoo)
    if "store" in doc:
        there.delete(list(there.keys()))
    there.put([VectorRecord("0" * 36, np.ones(256, np.float32), "text", doc)])
    with pytest.raises(VectorError, match="vector index"):
        second.placement.attach(OWNER, ADDRESS, "zoo")
    assert second.stores.names(OWNER) == []


def test_the_messages_of_a_mailbox_are_documents_there_too(
    zoo: Library, second: Library, notes: Path
) -> None:
    roof, lunch = message("Roof", "Slates.", 2, "r@x.org"), message("Lunch", "Dumplings.", 9, "l@x.org")
    (notes / "a.mbox").write_text(mailbox(roof, lunch), "utf-8")
    index(zoo, "zoo")
    second.placement.attach(OWNER, ADDRESS)
    assert about(second) == about(zoo)
    [hit] = second.search(OWNER, "dumplings", mode="lexical").hits
    assert (hit.document.address, hit.document.date) == ("a.mbox#l@x.org", "2026-03-09")
    listed = {file.path: file.part_count for file in second.documents.all(OWNER, "zoo")}
    assert listed["a.mbox"] == 2
