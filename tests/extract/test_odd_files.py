"""Names and contents that no one would choose, and that exist."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.types import OWNER
from tests.conftest import index
from tests.support.consistency import check_library
from tests.support.stored import contents, found, fresh_contents, keys, outcomes, paths

NAMES = {
    "invalid UTF-8": b"caf\xe9 \xff.md",
    "newline": b"two\nlines.md",
    "NFD": unicodedata.normalize("NFD", "Übergröße.md").encode(),
    "quotes and percent": b'it\'s "100%" [x]_?.md',
    "backslash": b"back\\slash.md",
    "right to left": "\u202egnp.md".encode(),
    "an escape sequence": b"\x1b[31mred.md",
    "emoji": "🦓 zebra 👩‍👧.md".encode(),
    "250 bytes": b"x" * 247 + b".md",
    "a leading dash": b"--force.md",
    "only spaces": b"   .md",
}


def write(folder: Path, name: bytes, text: str) -> None:
    with open(os.fsencode(folder) + b"/" + name, "w", encoding="utf-8") as file:  # noqa: PTH123  (a path of bytes)
        file.write(text)


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_file_with_an_odd_name_goes_through_its_whole_life(
    library: Library, notes: Path, name: bytes
) -> None:
    (notes / "plain.md").write_text("It stays.\n", "utf-8")
    write(notes, name, "The zebra sleeps.\n")
    index(library, "s", notes)
    [shown] = found(library, "zebra sleeps")
    assert shown.isprintable() or "🦓" in shown
    shown.encode()

    assert index(library, "s").counts == {"unchanged": 2}
    write(notes, name, "The giraffe sleeps.\n")
    assert outcomes(index(library, "s")) == {shown: "changed"}
    before = keys(library, "s", shown)
    os.rename(os.fsencode(notes) + b"/" + name, os.fsencode(notes / "new name.md"))  # noqa: PTH104
    assert outcomes(index(library, "s")) == {"new name.md": "moved"}
    os.rename(os.fsencode(notes / "new name.md"), os.fsencode(notes) + b"/" + name)  # noqa: PTH104
    assert outcomes(index(library, "s")) == {shown: "moved"}
    assert keys(library, "s", shown) == before
    assert contents(library, "s") == fresh_contents(library, notes)
    os.unlink(os.fsencode(notes) + b"/" + name)  # noqa: PTH108
    assert outcomes(index(library, "s")) == {shown: "deleted"}
    check_library(library, "s")


def test_two_files_whose_names_look_the_same_are_two_documents(library: Library, notes: Path) -> None:
    for form in ("NFC", "NFD"):
        (notes / unicodedata.normalize(form, "é.md")).write_text(f"It is in {form}.\n", "utf-8")
    index(library, "s", notes)

    assert paths(library) == ["é.md", "é.md"]
    (notes / unicodedata.normalize("NFD", "é.md")).unlink()
    index(library, "s")
    assert found(library, "It is in NFC") == ["é.md"]
    assert found(library, "It is in NFD") == []
    check_library(library, "s")


CONTENTS = {
    "a lone surrogate in UTF-8": b"The zebra \xed\xa0\x80 sleeps.\n",
    "a surrogate in front matter": b'---\ntitle: "\\ud800"\ntags: ["\\udfff", a]\n---\nA zebra.\n',
    "odd front matter": b"---\nwhen: 2020-13-45\nnan: .nan\nbin: !!binary aGk=\n---\nA zebra.\n",
    "deep front matter": b"---\na: " + b"[" * 500 + b"]" * 500 + b"\n---\nThe zebra.\n",
    "5,000 keys": b"---\n" + b"".join(b"key%d: value\n" % n for n in range(5000)) + b"---\nThe zebra.\n",
    "5,000 tags and aliases": (
        b"---\ntags: ["
        + b", ".join(b"t/%d" % n for n in range(5000))
        + b"]\naliases: ["
        + b", ".join(b"name %d" % n for n in range(5000))
        + b"]\n---\nThe zebra.\n"
    ),
    "5,000 links": b"The zebra. " + b" ".join(b"[[target %d]]" % n for n in range(5000)),
    "one endless word": b"zebra" + b"x" * 300_000,
    "controls": b"The zebra \x1b[31msleeps\x0c here.\n",
    "noncharacters": "The zebra \ufffe\uffff\U0010ffff sleeps.\n".encode(),
    "combining marks": ("The zebra e" + "\u0301" * 5000 + "\n").encode(),
    "only front matter": b"---\ntitle: The zebra\n---\n",
    "fts syntax": b'The zebra "AND* NEAR(-^:{} OR\n',
}


@pytest.mark.parametrize("data", CONTENTS.values(), ids=CONTENTS)
def test_odd_contents_are_indexed_and_found(library: Library, notes: Path, data: bytes) -> None:
    (notes / "odd.md").write_bytes(data)
    (notes / "after.md").write_text("It comes after.\n", "utf-8")

    job = index(library, "s", notes)

    assert outcomes(job) == {"odd.md": "added", "after.md": "added"}
    hits = library.search(OWNER, "zebra", ["s"], mode="lexical").hits
    assert {hit.document.path for hit in hits} <= {"odd.md"}
    assert hits or data.startswith(b"zebrax")
    [document] = [d for d in library.documents.all(OWNER, "s") if d.path != "after.md"]
    repr(document).encode()
    check_library(library, "s")


def test_an_empty_note_is_found_by_its_name(library: Library, notes: Path) -> None:
    (notes / "walrus.md").write_bytes(b"")
    (notes / "ostrich.md").write_bytes(b"")

    job = index(library, "s", notes)

    assert job.texts_embedded == 0
    assert found(library, "walrus") == ["walrus.md"]
    assert library.stores.info(OWNER, "s").pending == 0
    check_library(library, "s")
