"""A second machine: the index that one installation fills becomes a store of another, to be read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_core.errors import EmbedderError, InvalidInput, VectorError
from rag_core.library import Library
from rag_core.types import OWNER
from rag_core.vectors import VectorRecord
from tests.conftest import index
from tests.s3vectors import Faults, Server
from tests.stored import contents, store_of
from tests.test_placement import remote, server  # noqa: F401  (fixtures)

ADDRESS = "s3vectors://commonplace-zoo/main"


@pytest.fixture
def zoo(remote: Library, notes: Path) -> Library:  # noqa: F811
    (notes / "otter.md").write_text(
        "---\ntags: [beast, sea/cold]\naliases: [Lutra]\ndate: 2024-05-01\n---\n# Otter\n\n"
        "The otter swam in the cold sea.\n\n## Food\n\nIt eats crabs and urchins, and a good many of them.\n"
    )
    (notes / "deep").mkdir()
    (notes / "deep" / "badger.md").write_text("The badger dug.\n")
    index(remote, "zoo", notes)
    return remote


@pytest.fixture
def second(zoo: Library, tmp_path: Path) -> Iterator[Library]:
    """Another machine with access to the same bucket."""
    library = Library(replace(zoo.settings, data_dir=tmp_path / "second", backend="local"))
    library._vector_options = zoo._vector_options
    yield library
    library.close()


def about(library: Library, store: str = "zoo") -> list[tuple[Any, ...]]:
    opened = store_of(library, store)
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


def test_an_attached_store_holds_what_the_other_one_has(zoo: Library, second: Library) -> None:
    info = second.attach_store(OWNER, ADDRESS)
    assert (info.name, info.attached, info.address, info.chunk_count) == ("zoo", True, ADDRESS, 2)
    assert about(second) == about(zoo)
    assert second.verify(OWNER, "zoo").sound


def test_it_is_searched_by_words_and_by_meaning_with_filters(zoo: Library, second: Library) -> None:
    second.attach_store(OWNER, ADDRESS, "sea")
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
    second.attach_store(OWNER, ADDRESS)
    (notes / "otter.md").unlink()
    (notes / "heron.md").write_text("The heron flew.\n")
    index(zoo, "zoo")
    second.attach_store(OWNER, ADDRESS)
    assert about(second) == about(zoo)
    assert [document.path for document in second.documents(OWNER, "zoo")] == ["deep/badger.md", "heron.md"]


def test_it_is_only_read_until_it_is_taken_over(zoo: Library, second: Library, notes: Path) -> None:
    second.attach_store(OWNER, ADDRESS)
    for change in (
        lambda: second.add_source(OWNER, "zoo", notes, ("**/*",)),
        lambda: second.request_index(OWNER, "zoo"),
        lambda: second.switch_store(OWNER, "zoo", "hashing:64"),
        lambda: second.exclude_file(OWNER, "zoo", "otter.md"),
        lambda: second.heal(OWNER, "zoo"),
    ):
        with pytest.raises(InvalidInput, match="only read here"):
            change()
    assert not second.take_over_store(OWNER, "zoo").attached
    with pytest.raises(InvalidInput, match="is not attached"):
        second.take_over_store(OWNER, "zoo")
    (notes / "deep" / "badger.md").unlink()
    index(second, "zoo", notes)
    assert second.verify(OWNER, "zoo").sound
    (notes / "fox.md").write_text("The fox ran.\n")
    job = index(zoo, "zoo")
    assert "belongs to another installation" in job.message


def test_deleting_an_attached_store_leaves_the_index(zoo: Library, second: Library) -> None:
    second.attach_store(OWNER, ADDRESS)
    second.delete_store(OWNER, "zoo")
    assert zoo.verify(OWNER, "zoo").findings == ()


def test_files_of_an_attached_store_are_not_called_missing(zoo: Library, second: Library) -> None:
    second.attach_store(OWNER, ADDRESS)
    assert {file.state for file in second.files(OWNER, "zoo")} == {"fresh"}


def test_a_name_that_is_taken_is_refused(zoo: Library, second: Library) -> None:
    second.create_store(OWNER, "zoo", "hashing")
    with pytest.raises(InvalidInput, match="exists already"):
        second.attach_store(OWNER, ADDRESS)
    assert not second.store_info(OWNER, "zoo").attached


def test_an_address_where_nothing_is_makes_no_store(second: Library) -> None:
    with pytest.raises(VectorError, match="refused"):
        second.attach_store(OWNER, "s3vectors://commonplace-nothing/main")
    with pytest.raises(InvalidInput, match="no vector index called"):
        second.attach_store(OWNER, "ftp://x/y")
    assert second.store_names(OWNER) == []


def test_cut_off_midway_nothing_is_left(zoo: Library, second: Library, server: Server) -> None:  # noqa: F811
    second.attach_store(OWNER, ADDRESS)
    before = about(second)
    server.faults = Faults(1.0, 1, ("503",))
    with pytest.raises(VectorError):
        second.attach_store(OWNER, ADDRESS)
    assert about(second) == before
    assert not list(second.settings.store_dir.glob(".unfinished*"))


def test_another_model_of_the_same_name_is_refused(
    zoo: Library, second: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = second._embedders.get("hashing")
    monkeypatch.setattr(opened, "identity", replace(opened.identity, digest="other"))
    with pytest.raises(EmbedderError, match="this machine has"):
        second.attach_store(OWNER, ADDRESS)
    assert second.store_names(OWNER) == []


HOSTILE: dict[str, dict[str, Any]] = {
    "a path outside": {"path": "../../etc/passwd"},
    "an absolute path": {"path": "/etc/passwd"},
    "no path": {"path": ""},
    "a list for a path": {"path": ["a"]},
    "text for a number": {"path": "a.md", "start": "x"},
    "a huge number": {"path": "a.md", "start": 2**70},
    "a table of headings": {"path": "a.md", "heading_path": {"a": 1}},
    "an odd maker": {"path": "a.md", "store": {"name": "x"}},
}


@pytest.mark.parametrize("doc", HOSTILE.values(), ids=HOSTILE)
def test_records_that_are_not_ours_make_no_store(zoo: Library, second: Library, doc: dict[str, Any]) -> None:
    opened = store_of(zoo, "zoo")
    there = zoo._stores.target(opened)
    assert there is not None
    if "store" in doc:
        there.delete(list(there.keys()))
    there.put([VectorRecord("0" * 36, np.ones(256, np.float32), "text", doc)])
    opened.close()
    with pytest.raises(VectorError, match="vector index"):
        second.attach_store(OWNER, ADDRESS, "zoo")
    assert second.store_names(OWNER) == []


def test_an_exported_store_keeps_its_vectors_and_loses_its_index(
    zoo: Library, second: Library, tmp_path: Path
) -> None:
    zoo.export_store(OWNER, "zoo", tmp_path / "zoo.commonplace")
    info = second.import_store(OWNER, tmp_path / "zoo.commonplace")
    assert (info.backend, info.address, info.unsent) == ("local", "", 0)
    assert contents(second, "zoo").keys() == contents(zoo, "zoo").keys()
    assert (
        second.search(OWNER, "The badger dug.", ["zoo"], mode="vector").hits[0].document.path
        == "deep/badger.md"
    )
