"""A damaged store is named, the others are searched; what is wrong with it is for its owner alone."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from rag_core.errors import RagError, StoreError
from rag_core.library import Library
from rag_core.types import OWNER, Viewer
from tests.conftest import index
from tests.support.rest import serving_rest

GUEST = Viewer("ada@example.org", stores=frozenset({"broken", "sound"}), may_ask=True)
FOR_GUESTS = "Store 'broken' cannot be read just now. Tell its owner."

DAMAGE = {
    "a table is gone": "DROP TABLE names",
    "the words are gone": "DROP TABLE words",
    "text is none": "UPDATE documents SET title = CAST(x'ff53656372657400ff' AS TEXT)",
    "a list is none": "UPDATE chunks SET heading_path = '['",
    "a vector is cut": "UPDATE embeddings SET vector = x'0102' WHERE id = 1",
}


@pytest.fixture
def two(library: Library, notes: Path) -> Library:
    """The stores ``broken`` and ``sound``, of the same notes and closed."""
    for name in ("heron", "otter"):
        (notes / f"{name}.md").write_text(
            f"---\ntags: [zoo]\n---\n# The {name}\n\nThe {name} sleeps.\n", "utf-8"
        )
    for store in ("broken", "sound"):
        index(library, store, notes)
    library.close()
    return library


def path(library: Library) -> Path:
    return library.settings.store_dir / "broken.db"


def damage(library: Library, sql: str) -> None:
    with closing(sqlite3.connect(path(library))) as db, db:
        db.execute(sql)


def overwrite(library: Library) -> None:
    path(library).write_bytes(b"The heron's secret. " * 1000)


@pytest.mark.parametrize("sql", DAMAGE.values(), ids=DAMAGE)
def test_a_search_over_several_stores_names_the_damaged_one_and_goes_on(two: Library, sql: str) -> None:
    damage(two, sql)
    for query in ("heron sleeps", "heron tag:zoo"):
        answer = two.search(OWNER, query)
        assert any("'broken' cannot be read: " in warning for warning in answer.warnings)
        assert {hit.store for hit in answer.hits} == {"sound"}
        assert not any("Secret" in warning for warning in answer.warnings)
        guests = two.search(GUEST, query)
        assert FOR_GUESTS in guests.warnings
        assert not any("'broken' cannot be read: " in warning for warning in guests.warnings)
    assert two.documents.facets(OWNER)["tag"]["zoo"] >= 2
    with pytest.raises(StoreError, match="'broken' cannot be read: "):
        two.search(OWNER, "heron sleeps", ["broken"])


@pytest.mark.parametrize("sql", ["DROP TABLE meta", "DROP TABLE jobs"])
def test_of_a_store_that_was_damaged_meanwhile_the_others_are_still_known(two: Library, sql: str) -> None:
    assert len(two.stores.generations(OWNER)) == 2
    damage(two, sql)
    assert "sound" in dict(two.stores.generations(OWNER))
    status = two.stores.status(OWNER)
    assert "sound" in [info.name for info in status.stores]
    assert any("Store 'broken' cannot be read: no such table" in said for said in status.warnings)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"This is no database, but a note of forty bytes.\n" * 400, "file is not a database"),
        (b"SQLite format 3\0" + bytes(range(256)) * 64, "file is not a database"),
    ],
    ids=["another file", "noise behind the first bytes"],
)
def test_a_file_that_is_no_store_says_what_to_do(two: Library, content: bytes, why: str) -> None:
    path(two).write_bytes(content)
    with pytest.raises(StoreError) as refused:
        two.stores.info(OWNER, "broken")
    assert refused.value.message == f"Store 'broken' cannot be opened: {why}."
    assert refused.value.suggestion == (
        "Check the disk, then repair the store. Where that fails, delete it, and import its export or index"
        " its folders again. Other stores are not affected."
    )


def test_a_store_that_is_damaged_says_so_when_it_is_to_be_written(two: Library) -> None:
    assert two.stores.generations(OWNER, ["broken"])
    damage(two, "DROP TABLE requests")
    with pytest.raises(StoreError, match="'broken' cannot be written: no such table") as refused:
        two.jobs.request(OWNER, "broken")
    assert refused.value.suggestion.startswith("Check the disk, then repair the store.")


def test_whatever_byte_of_a_store_is_damaged_the_others_are_searched(two: Library) -> None:
    whole = path(two).read_bytes()
    for seed in range(24):
        rng = random.Random(seed)
        data = bytearray(whole)
        for _ in range(rng.choice((1, 5, 50, 500))):
            start = rng.randrange(100, len(data) - 64)
            data[start : start + 64] = rng.randbytes(64) if seed % 2 else bytes([rng.randrange(256)] * 64)
        path(two).write_bytes(data)
        assert "sound" in {hit.store for hit in two.search(OWNER, "heron sleeps").hits}, seed
        for warning in two.search(GUEST, "heron sleeps").warnings:
            assert warning == FOR_GUESTS, seed
        two.close()


READS: dict[str, Callable[[Library], object]] = {
    "search": lambda library: library.search(GUEST, "heron", ["broken"]),
    "ask": lambda library: library.ask(GUEST, "heron?", ["broken"]),
    "document": lambda library: library.documents.get(GUEST, "broken", "heron.md"),
    "documents": lambda library: library.documents.all(GUEST, "broken"),
    "passages": lambda library: library.documents.neighbours(GUEST, "broken", "0" * 36),
    "around": lambda library: library.documents.around(GUEST, "broken", "0" * 36),
    "info": lambda library: library.stores.info(GUEST, "broken"),
    "generation": lambda library: library.stores.generations(GUEST, ["broken"]),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("how", ["no database", "no tables"])
def test_a_guest_is_not_told_what_is_wrong_with_a_store(
    two: Library, read: Callable[[Library], object], how: str
) -> None:
    if how == "no database":
        overwrite(two)
    else:
        for table in ("documents", "chunks", "meta"):
            damage(two, f"ALTER TABLE {table} RENAME TO the_owners_{table}")
    with pytest.raises(RagError) as refused:
        read(two)
    assert str(refused.value) == FOR_GUESTS


def test_a_guest_who_searches_or_asks_is_told_of_a_damaged_store_beside_the_answer(two: Library) -> None:
    overwrite(two)
    assert two.search(GUEST, "heron").warnings == (FOR_GUESTS,)
    assert [notice.message for notice in two.ask(GUEST, "zeppelin?").notices] == [FOR_GUESTS]
    assert two.stores.status(GUEST).warnings == (FOR_GUESTS,)
    assert "file is not a database" in two.search(OWNER, "heron").warnings[0]


@pytest.mark.parametrize("viewer", [OWNER, GUEST], ids=["owner", "guest"])
def test_over_rest_a_damaged_store_is_named_and_the_log_has_one_line(
    two: Library, viewer: Viewer, caplog: pytest.LogCaptureFixture
) -> None:
    with serving_rest(two, viewer) as rest:
        assert rest.get("/documents?store=broken").status == 200
        overwrite(two)
        search = rest.post("/search", {"query": "heron", "stores": ["broken"]})
        for answer in (search, rest.get("/documents?store=broken"), rest.get("/stores/broken")):
            assert answer.status == 500
            said = "Store 'broken' cannot be " if viewer.is_owner else "Something went wrong. Try again "
            assert answer.error.startswith(said)  # read or, on a new connection, opened
            assert viewer.is_owner or str(path(two).parent) not in answer.error
    logged = [record.getMessage() for record in caplog.records if record.name.startswith("rag_core")]
    assert len(logged) == 3
    assert all("'broken' cannot be " in each and "just now" not in each for each in logged), logged
    assert not any(record.exc_info for record in caplog.records)


def test_a_mistake_in_the_program_is_not_put_down_to_the_store(two: Library) -> None:
    store = two._shared.stores.open(OWNER, "sound").store
    with pytest.raises(KeyError), store.read():
        raise KeyError("a mistake")
    with pytest.raises(sqlite3.ProgrammingError), store.read() as db:
        db.execute("SELECT ?", ())
