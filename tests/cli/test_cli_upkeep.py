"""verify and repair from the command line."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.command import Run


@pytest.fixture
def stores(run: Run, notes: Path, home: Path) -> Path:
    """The folder of two stores, a and b, over one note."""
    (notes / "it\x1b[31m.md").write_text("The zebra sleeps.\n", "utf-8")
    for name in "ab":
        run("store", "create", name, "--embedder", "hashing")
        run("index", "**/*", "--store", name, "--root", notes)
    return home / "data" / "stores"


def damage(store: Path, sql: str) -> None:
    with closing(sqlite3.connect(store, isolation_level=None)) as db:
        db.execute(sql)


def test_verify_names_what_is_broken_and_what_to_do(run: Run, stores: Path) -> None:
    damage(stores / "a.db", 'UPDATE chunks SET "end" = "end" + 1')
    result = run("verify")
    assert result.status == 1
    assert "a: 1 fault in 11 checks" in result.out
    assert "fault documents: 1 document has damaged content." in result.out
    assert "Next: commonplace repair --store a" in result.out
    assert "b: sound" in result.out
    assert "\x1b[31m" not in result.out


def test_a_store_that_cannot_be_opened_is_named_and_the_others_are_verified(run: Run, stores: Path) -> None:
    (stores / "a.db").write_bytes(b"not a database" * 1000)
    result = run("verify", "--json")
    assert result.status == 1
    assert [store["store"] for store in result.json["stores"]] == ["b"]
    [damaged] = result.json["damaged"]
    assert "'a'" in damaged["message"]
    assert damaged["suggestion"]
    assert "'a'" in run("verify").err


def test_repair_says_what_it_did_and_what_is_left_to_do(run: Run, stores: Path) -> None:
    damage(stores / "a.db", "UPDATE embeddings SET crc32 = 0")
    result = run("repair", "--store", "a")
    assert result.status == 0
    [kept] = stores.glob("a.db.damaged-*")
    assert result.out.splitlines() == [
        "1 document read again into a new file, 0 vectors reused.",
        "The list of earlier runs is empty now.",
        f"The damaged file is kept as {kept.name!r} next to the new one; delete it when nothing is missing.",
        "Store 'a' is sound.",
        "1 text must be embedded again. Next: commonplace index --store a",
    ]
    assert [line.split(",")[0] for line in run("verify").out.splitlines()] == ["a: sound", "b: sound"]
    assert run("repair", "--store", "b").out == "Store 'b' is sound; nothing was changed.\n"
    again = run("repair", "--store", "a", "--json").json
    assert (again["store"], again["done"], again["to_embed"]) == ("a", [], 0)
