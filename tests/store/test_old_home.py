"""A home made before the rooms of `rag_core` moved (version 0.1.0, schema of 2026-11-23) still opens.

`old_home.zip` holds its data folder, its notes, and what that version said of them (``expected.json``).
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import zipfile
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from rag_core.config import load
from rag_core.library import Library
from rag_core.store import decisions
from rag_core.types import OWNER, Viewer

OLD_ROOT = "/tmp/commonplace-old"  # noqa: S108
ADA = "ada@example.com"


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("old")
    with zipfile.ZipFile(Path(__file__).with_name("old_home.zip")) as packed:
        packed.extractall(folder)
    config = folder / "home" / "config.yaml"
    config.write_text(config.read_text("utf-8").replace(OLD_ROOT, str(folder)), "utf-8")
    for store in ("notes", "code"):
        with sqlite3.connect(folder / "home" / "data" / "stores" / f"{store}.db") as db:
            for number, root in db.execute("SELECT id, root FROM sources").fetchall():
                moved = root.replace(OLD_ROOT.encode(), str(folder).encode())
                db.execute("UPDATE sources SET root = ? WHERE id = ?", (moved, number))
        db.close()
    return folder


@pytest.fixture
def home(unpacked: Path, tmp_path: Path) -> Path:
    """A copy, whose folders are those of ``unpacked``."""
    shutil.copytree(unpacked / "home", tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def library(home: Path) -> Iterator[Library]:
    opened = Library.open(load({"COMMONPLACE_HOME": str(home)}))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def expected(unpacked: Path) -> Any:
    return json.loads((unpacked / "expected.json").read_text("utf-8"))


def found(library: Library, viewer: Viewer, query: str, stores: list[str]) -> dict[tuple[str, int], float]:
    """Each passage's place and score."""
    hits = library.search(viewer, query, stores).hits
    return {(f"{hit.store}/{hit.document.path}", hit.chunk_index): hit.score for hit in hits}


def best(rows: list[list[Any]]) -> str:
    """The document that came first then; the ranking has changed since."""
    store, path, _, _ = max(rows, key=itemgetter(3))
    return f"{store}/{path}"


def test_the_owner_finds_the_same(library: Library, expected: Any) -> None:
    for query, rows in expected["owner"].items():
        assert best(rows) in {path for path, _ in found(library, OWNER, query, ["notes", "code"])}, query


def test_a_guest_finds_the_same_and_nothing_private(library: Library, expected: Any) -> None:
    ada = library.sharing.viewer_for(ADA)
    assert ada is not None
    for query, rows in expected["guest"].items():
        hits = found(library, ada, query, ["notes"])
        assert not rows or best(rows) in {path for path, _ in hits}, query
        assert not [path for path, _ in hits if "part2/" in path], "a private rule hides it"


def test_decisions_that_stood_in_the_store_alone_are_written_beside_it(library: Library, home: Path) -> None:
    folder = home / "data" / "stores"
    assert not list(folder.glob("*.decisions.json")), "that version wrote none"
    library.search(OWNER, "tea", ["notes", "code"])
    for store, rules in (("notes", '["part2/**"]'), ("code", None)):
        decided = decisions.stored(folder / f"{store}.db")
        assert decided is not None
        assert decided["meta"].get("private_rules") == rules


def test_people_tokens_rules_and_settings_are_as_they_were(library: Library, expected: Any) -> None:
    assert list(library.privacy.report(OWNER, "notes").rules) == expected["rules"] == ["part2/**"]
    assert [[person.login, sorted(person.stores)] for person in library.sharing.people(OWNER)] == expected[
        "people"
    ]
    assert [token.name for token in library.sharing.tokens(OWNER)] == expected["tokens"]
    assert library.sharing.knows_token(expected["token"])
    assert library.settings.top_k == 7


def test_documents_folders_and_exclusions_are_as_they_were(
    library: Library, expected: Any, unpacked: Path
) -> None:
    for store in ("notes", "code"):
        assert (
            sorted(each.path for each in library.documents.all(OWNER, store)) == expected["documents"][store]
        )
        sources = [
            [each.root, list(each.include), list(each.exclude)]
            for each in library.stores.info(OWNER, store).sources
        ]
        assert sources == [
            [root.replace(OLD_ROOT, str(unpacked)), include, exclude]
            for root, include, exclude in expected["sources"][store]
        ]


def test_nothing_is_embedded_again(library: Library) -> None:
    for store in ("notes", "code"):
        assert library.search(OWNER, "tea", [store]).pending == 0
        job = library.index(OWNER, store)
        assert job is not None
        assert (job.failed, job.texts_embedded) == (0, 0)
    assert [each.path for each in library.documents.all(OWNER, "code")] == ["brew.py"], (
        "drop.py stays excluded"
    )
