"""A store as one portable file: written whole while all goes on, and taken in with every answer the same."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag_core import __version__
from rag_core.errors import InvalidInput
from rag_core.index.portable import Transfer
from rag_core.library import Library
from rag_core.store import migrations
from rag_core.types import OWNER
from tests.conftest import index
from tests.index import portable_file
from tests.index.sea_store import names_in
from tests.support.consistency import check_library
from tests.support.runner import Gate, Run
from tests.support.stored import contents, found, store_of


def answers(library: Library, store: str) -> list[Any]:
    """Everything that a store answers, its own name left out."""
    said: list[Any] = []
    for mode in ("hybrid", "vector", "lexical"):
        for query in ("harbour", "boats at dawn", '"opens at six"', "tag:sea", "harbour -secret", "Haven"):
            hits = library.search(OWNER, query, [store], mode=mode, top_k=50).hits
            said.append([replace(hit, store="", document=replace(hit.document, store="")) for hit in hits])
    said.append([replace(each, store="") for each in library.files.all(OWNER, store)])
    said.append(library.documents.facets(OWNER, [store]) | {"store": {}})
    said.append([(s.root, s.include, s.exclude, s.label, s.paused) for s in info(library, store).sources])
    said.append(contents(library, store))
    return said


def info(library: Library, store: str) -> Any:
    return library.stores.info(OWNER, store)


# --- there and back ---------------------------------------------------------------------


def test_a_store_that_was_exported_and_imported_answers_the_same(sea: Library, exported: Path) -> None:
    imported = sea.stores.import_file(OWNER, exported, "back")

    assert imported.name == "back"
    assert answers(sea, "back") == answers(sea, "sea")
    assert sea.upkeep.verify(OWNER, "back", files=True).sound
    check_library(sea, "back")


def test_an_import_goes_on_where_the_store_was(sea: Library, exported: Path, notes: Path) -> None:
    sea.stores.import_file(OWNER, exported, "back")
    (notes / "boats.md").write_text("# Boats\n\nA catamaran.\n", "utf-8")

    job = index(sea, "back")

    assert job.counts["changed"] == 1
    assert job.texts_embedded == 1
    assert found(sea, "catamaran", "back") == ["boats.md"]
    assert found(sea, "catamaran", "sea") == []


def test_the_manifest_tells_what_is_in_the_file(sea: Library, exported: Path) -> None:
    about = portable_file.manifest(exported)
    assert (about["format"], about["program"], about["schema"]) == (2, __version__, migrations.VERSION)
    wanted = info(sea, "sea")
    assert about["store"] == {
        "name": "sea",
        "embedder": "hashing",
        "files": wanted.file_count,
        "passages": wanted.chunk_count,
    }


def test_a_file_of_the_first_format_is_imported(sea: Library, exported: Path) -> None:
    about = portable_file.manifest(exported) | {
        "format": 1,
        "members": {"store.db": {"size": 1, "sha256": ""}},
    }
    portable_file.write(exported, portable_file.members(exported)["store.db"], about)
    sea.stores.import_file(OWNER, exported, "back")
    assert answers(sea, "back") == answers(sea, "sea")


@pytest.mark.posix
def test_only_the_owner_may_read_the_file(exported: Path) -> None:
    assert exported.stat().st_mode & 0o077 == 0


def test_what_was_deleted_before_is_not_in_the_file(sea: Library, notes: Path, tmp_path: Path) -> None:
    (notes / "gone.md").write_text("# Gone\n\nThe password is xylophone7.\n", "utf-8")
    index(sea, "sea")
    (notes / "gone.md").unlink()
    index(sea, "sea")
    file = sea.stores.export(OWNER, "sea", tmp_path).path
    store = portable_file.members(file)["store.db"]
    assert b"password is" not in store
    assert b"opens at six" in store


# --- while a run is under way -----------------------------------------------------------


def test_a_store_can_be_exported_in_the_middle_of_a_run(
    library: Library, notes: Path, tmp_path: Path
) -> None:
    for number in range(100):
        (notes / f"{number}.md").write_text(f"# Note {number}\n\nIt is about subject{number}.\n", "utf-8")
    library.create_store(OWNER, "s", "hashing")
    library.add_source(OWNER, "s", notes, ["**/*"])
    library.jobs.request(OWNER, "s")
    store, gate = store_of(library, "s"), Gate()
    run = Run(store, gate)
    gate.wait()
    gate.step()  # the canary

    file = library.stores.export(OWNER, "s", tmp_path).path
    library.jobs.request(OWNER, "s", force=True)
    assert runs_in(file) == []
    gate.open()
    assert run.end().state == "done"
    store.close()
    imported = library.stores.import_file(OWNER, file, "half")

    assert (imported.file_count, imported.pending) == (100, 100)
    assert library.jobs.all(OWNER, "half") == []
    assert not library.jobs.requested(OWNER, "half")
    assert found(library, "subject42", "half") == ["42.md"]
    assert index(library, "half").texts_embedded == 100
    check_library(library, "half")


def runs_in(file: Path) -> list[Any]:
    """What a portable file holds of runs and requests."""
    aside = file.with_suffix(".db")
    aside.write_bytes(portable_file.members(file)["store.db"])
    with closing(sqlite3.connect(aside)) as db:
        return db.execute("SELECT state FROM jobs UNION ALL SELECT kind FROM requests").fetchall()


def test_writers_do_not_wait_for_an_export(sea: Library, tmp_path: Path) -> None:
    generations = []

    def write(_: Transfer) -> None:
        generations.append(sea.stores.generations(OWNER)[0])
        sea.sources.pause(OWNER, "sea", 1, paused=len(generations) % 2 == 0)

    exported = sea.stores.export(OWNER, "sea", tmp_path, write)

    assert len(set(generations)) == len(generations) > 1
    assert sea.stores.import_file(OWNER, exported.path, "back").file_count == 5


# --- the target -------------------------------------------------------------------------


def test_the_target_may_be_a_folder_or_a_file(sea: Library, tmp_path: Path) -> None:
    assert sea.stores.export(OWNER, "sea", tmp_path).path == tmp_path / "sea.commonplace"
    done = sea.stores.export(OWNER, "sea", tmp_path / "other.commonplace")
    assert done.path == tmp_path / "other.commonplace"
    assert (done.store, done.file_count, done.size_bytes) == ("sea", 5, done.path.stat().st_size)


def test_an_existing_file_is_replaced_only_when_that_was_asked_for(sea: Library, exported: Path) -> None:
    exported.write_text("mine", "utf-8")
    with pytest.raises(InvalidInput, match="exists already") as refused:
        sea.stores.export(OWNER, "sea", exported)
    assert "--force" in refused.value.suggestion
    assert exported.read_text("utf-8") == "mine"
    sea.stores.export(OWNER, "sea", exported, force=True)
    assert portable_file.manifest(exported)["store"]["name"] == "sea"


def test_a_file_that_appears_meanwhile_is_not_replaced(sea: Library, tmp_path: Path) -> None:
    target = tmp_path / "sea.commonplace"

    def appear(_: Transfer) -> None:
        target.write_text("mine", "utf-8")

    with pytest.raises(InvalidInput, match="exists already"):
        sea.stores.export(OWNER, "sea", target, appear)
    assert target.read_text("utf-8") == "mine"
    assert names_in(tmp_path) == ["home", "notes", "sea.commonplace"]


@pytest.mark.parametrize(
    ("name", "said"),
    [("notes.db", "does not end in .commonplace"), ("missing/x.commonplace", "There is no folder")],
)
def test_a_target_that_cannot_be_one_is_refused(sea: Library, tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        sea.stores.export(OWNER, "sea", tmp_path / name, force=True)


# --- the name ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "sea", "SEA"])
def test_a_name_that_is_taken_is_refused_with_the_way_out(sea: Library, exported: Path, name: str) -> None:
    before = contents(sea, "sea")
    with pytest.raises(InvalidInput, match="A store called 'sea' exists already") as refused:
        sea.stores.import_file(OWNER, exported, name)
    assert refused.value.suggestion == "Choose another name."
    assert contents(sea, "sea") == before


@pytest.mark.parametrize("name", ["../x", "a" * 64, ".hidden", "a b", "x\n"])
def test_a_name_that_no_store_can_have_is_refused(sea: Library, exported: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be a store's name"):
        sea.stores.import_file(OWNER, exported, name)
    about = portable_file.manifest(exported)
    about["store"]["name"] = name
    portable_file.write(exported, portable_file.members(exported)["store.db"], about)
    with pytest.raises(InvalidInput, match="cannot be a store's name"):
        sea.stores.import_file(OWNER, exported)
    assert sea.stores.names(OWNER) == ["sea"]


# --- another computer -------------------------------------------------------------------


def test_folders_that_are_not_here_are_paused_and_named(
    sea: Library, exported: Path, notes: Path, tmp_path: Path
) -> None:
    notes.rename(tmp_path / "elsewhere")
    imported = sea.stores.import_file(OWNER, exported, "back")

    assert [source.paused for source in imported.sources] == [True]
    assert len(imported.notices) == 1
    assert str(notes) in imported.notices[0]
    assert "Indexing is paused for 1 folder that this computer does not have" in imported.notices[0]
    sea.jobs.request(OWNER, "back")
    sea.jobs.run(OWNER, "back")
    assert found(sea, "opens at six", "back") == ["harbour.md"], "its documents stay"


def test_folders_that_are_here_are_named_because_the_next_run_reads_them(
    sea: Library, exported: Path, notes: Path
) -> None:
    imported = sea.stores.import_file(OWNER, exported, "back")
    assert [source.paused for source in imported.sources] == [False]
    assert imported.notices == (
        f"The next run compares the store with 1 folder of this computer: '{notes}'.",
    )


def test_a_folder_that_holds_the_whole_home_is_paused(
    sea: Library, exported: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(notes))
    imported = sea.stores.import_file(OWNER, exported, "back")
    assert [source.paused for source in imported.sources] == [True]
    assert imported.notices == (
        f"Folders that are too large to index without your consent are paused: '{notes}'.",
    )


def test_a_store_of_an_older_version_is_brought_up_to_date(
    sea: Library, exported: Path, tmp_path: Path
) -> None:
    old = tmp_path / "old.db"
    with closing(sqlite3.connect(old, isolation_level=None)) as db:
        db.execute(f"PRAGMA application_id = {migrations.APPLICATION_ID}")
        migrations._apply(db, migrations.OLDEST)
        db.executemany(
            "INSERT INTO meta VALUES (?, ?)",
            {
                "id": "1", "created_at": "2026-01-01T00:00:00Z", "embedder": "hashing", "backend": "local",
                "metric": "cosine", "max_tokens": "256", "chunk_sizes": json.dumps({"text": [800, 160]}),
            }.items(),
        )  # fmt: skip
    portable_file.with_store(exported, old.read_bytes(), schema=migrations.OLDEST)

    imported = sea.stores.import_file(OWNER, exported, "old")

    assert imported.created_at == "2026-01-01T00:00:00Z"
    assert sea.upkeep.verify(OWNER, "old").sound
