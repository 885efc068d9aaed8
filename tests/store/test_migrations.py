"""Store files of older versions open with all that is in them; a step is taken whole or not at all."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

from rag_core.errors import StoreError
from rag_core.library import Library
from rag_core.store import Store, decisions, migrations
from rag_core.types import OWNER
from tests.conftest import index
from tests.support.consistency import check_library
from tests.support.stored import found, outcomes
from tests.support.unwritable import no_file_grows

TEXT = "The zebra sleeps under the old tree."


@pytest.fixture
def oldest(library: Library, notes: Path) -> Path:
    """A store file as the oldest version of the schema wrote it, with a document in it."""
    path = library.settings.store_dir / "old.db"
    path.parent.mkdir(parents=True)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute(f"PRAGMA application_id = {migrations.APPLICATION_ID}")
    db.execute("PRAGMA journal_mode = WAL")
    migrations._apply(db, migrations.OLDEST)
    meta = {
        "id": "1", "created_at": "2026-01-01T00:00:00Z", "embedder": "hashing", "backend": "local",
        "metric": "cosine", "max_tokens": "256", "chunk_sizes": '{"text": [800, 160]}',
    }  # fmt: skip
    db.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
    day = "2026-01-01T00:00:00Z"
    (notes / "a.md").write_text(TEXT, "utf-8")
    insert(db, "sources", id=1, root=bytes(notes), label="", include='["**/*"]', exclude="[]", created_at=day)
    stat = dict.fromkeys(("size", "mtime_ns", "ctime_ns", "inode", "scanned_ns"), 1)
    place = {"source_id": 1, "path": b"a.md", "display": "a.md", "folder": "", "file_hash": "none"}
    about = {"file_type": "markdown", "title": "a", "title_from": "file name", "date": day[:10]}
    insert(db, "documents", state="indexed", extractor=1, indexed_at=day, **stat, **place, **about)
    insert(db, "tags", document_id=1, folded="animals", tag="animals")
    insert(db, "names", document_id=1, key="a", kind=0)
    lines = {"start": 0, "end": len(TEXT), "start_line": 1, "end_line": 1, "chunk_index": 0, "split_part": 0}
    words = {"title": "a", "path": "a.md", "tags": "animals", "text": TEXT, "heading_path": "[]"}
    blank = dict.fromkeys(("anchor_type", "anchor_ref", "prefix", "headings", "title_terms", "terms"), "")
    insert(db, "chunks", key="k", document_id=1, embed_hash=b"\0", **lines, **words, **blank)
    db.close()
    return path


def make_older(path: Path, version: int) -> None:
    """Write a store file as an older version of the schema has it."""
    newer = path.rename(path.with_suffix(".newer"))
    db = sqlite3.connect(path, isolation_level=None)
    db.execute(f"PRAGMA application_id = {migrations.APPLICATION_ID}")
    db.execute("PRAGMA journal_mode = WAL")
    for number in range(migrations.OLDEST, version + 1):
        migrations._apply(db, number)
    db.execute("ATTACH ? AS newer", (str(newer),))
    db.execute("DELETE FROM meta")
    tables = [name for name, part in migrations.schema_parts(db).items() if part.kind == "table" and part.sql]
    for table in tables:
        if table not in ("migrations", "words"):
            columns = ", ".join(f'"{row[1]}"' for row in db.execute(f"PRAGMA table_info({table})"))
            db.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM newer.{table}")
    db.close()
    newer.unlink()


def insert(db: sqlite3.Connection, table: str, **row: object) -> None:
    columns = ", ".join(f'"{column}"' for column in row)
    db.execute(f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(row))})", tuple(row.values()))


def test_the_oldest_version_with_rows_opens_and_answers(library: Library, oldest: Path) -> None:
    assert found(library, TEXT, "old") == ["a.md"]
    [document] = library.documents.all(OWNER, "old")
    assert (document.tags, document.date, document.title) == (("animals",), "2026-01-01", "a")
    with Store(oldest).read() as db:
        assert db.execute("PRAGMA user_version").fetchone()[0] == migrations.VERSION
        steps = [row[0] for row in db.execute("SELECT number FROM migrations ORDER BY 1")]
    assert steps == [*range(migrations.OLDEST, migrations.VERSION + 1)]


def test_the_oldest_version_with_rows_can_be_brought_up_to_date(
    library: Library, oldest: Path, notes: Path
) -> None:
    (notes / "a.md").write_text("The giraffe woke up.\n", "utf-8")

    assert outcomes(index(library, "old")) == {"a.md": "changed"}

    assert found(library, "giraffe", "old") == ["a.md"]
    assert found(library, "zebra", "old") == []
    check_library(library, "old")


def test_a_store_without_checksums_gets_them_and_nothing_is_embedded_again(
    library: Library, notes: Path
) -> None:
    (notes / "a.md").write_text(f"# A\n\n{TEXT}\n", "utf-8")
    index(library, "s", notes)
    library.files.exclude(OWNER, "s", "a.md")
    library.files.include(OWNER, "s", "a.md")
    index(library, "s")
    library.close()
    path = library.settings.store_dir / "s.db"
    decisions.beside(path).unlink()
    make_older(path, 6)

    assert found(library, TEXT) == ["a.md"]

    assert library.upkeep.verify(OWNER, "s").findings == ()
    assert decisions.beside(path).exists()
    job = index(library, "s")
    assert (job.texts_embedded, job.counts) == (0, {"unchanged": 1})


def test_an_interrupted_step_leaves_the_version_before_it(
    library: Library, oldest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(db: sqlite3.Connection) -> None:
        db.execute("CREATE TABLE half (x)")
        db.execute("DELETE FROM documents")
        raise sqlite3.OperationalError("disk I/O error")

    steps = (*migrations.MIGRATIONS, half)
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "MIGRATIONS", steps)
        patch.setattr(migrations, "VERSION", migrations.VERSION + 1)
        with pytest.raises(StoreError, match="'old' is damaged: disk I/O"):
            Store(oldest)

    assert found(library, TEXT, "old") == ["a.md"]


@pytest.mark.posix
def test_on_a_full_disk_a_store_keeps_its_version_and_is_not_called_damaged(
    library: Library, oldest: Path
) -> None:
    with no_file_grows(40_000), pytest.raises(StoreError) as refused:
        Store(oldest)

    said = "Store 'old' cannot be brought up to date: (disk I/O error|database or disk is full)."
    assert re.fullmatch(said, refused.value.message)
    assert refused.value.suggestion == (
        f"Check that {str(oldest.parent)!r} can be written and that its disk is not full. Nothing was lost."
    )
    db = sqlite3.connect(oldest)
    assert db.execute("PRAGMA user_version").fetchone()[0] < migrations.VERSION
    db.close()
    assert found(library, TEXT, "old") == ["a.md"]


def test_a_step_that_two_processes_reach_at_once_is_done_once(oldest: Path) -> None:
    first = sqlite3.connect(oldest, isolation_level=None)
    before = first.execute("SELECT count(*) FROM migrations").fetchone()[0]

    migrations._apply(first, migrations.OLDEST)

    assert first.execute("SELECT count(*) FROM migrations").fetchone()[0] == before
    first.close()


@pytest.mark.parametrize(
    ("version", "said", "advice"),
    [
        (migrations.VERSION + 1, "written by a newer version of Commonplace", "Update Commonplace"),
        (migrations.OLDEST - 1, "before the first release", "index its folders into a new store"),
    ],
)
def test_a_store_of_a_version_that_cannot_be_read_is_refused_and_left_alone(
    library: Library, oldest: Path, version: int, said: str, advice: str
) -> None:
    db = sqlite3.connect(oldest)
    db.execute(f"PRAGMA user_version = {version}")
    db.close()
    before = oldest.read_bytes()

    with pytest.raises(StoreError, match=said) as refused:
        library.documents.all(OWNER, "old")

    assert advice in refused.value.suggestion
    assert oldest.read_bytes() == before
