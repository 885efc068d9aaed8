"""Lines that a template repeats in many notes are neither embedded nor shown; words look at them last."""

from __future__ import annotations

import json
import os
import random
import sqlite3
from pathlib import Path

import pytest

import rag_core.index.furniture
from rag_core.library import Library
from rag_core.search.shown import excerpt_of, shown_text
from rag_core.store import furniture as kept_shapes
from rag_core.text import furniture, prose
from rag_core.types import OWNER, Hit
from tests.conftest import index
from tests.store.test_migrations import make_older
from tests.support.consistency import check_library
from tests.support.stored import contents, found, fresh_contents, keys, pretend_seen, store_of

FOOT = "- Last reviewed by the librarian on 2026-03-{:02}, see https://example.org/notes/{}\n"
SUBJECTS = "otter badger heron falcon adder beetle salmon lizard magpie weasel".split()


def excerpt(hit: Hit) -> str:
    """The text of a hit's card."""
    return "".join(text for text, _ in excerpt_of(shown_text(hit)))


def subject(n: int) -> str:
    return f"{SUBJECTS[n % 10]}{SUBJECTS[n // 10]}"


def plant(folder: Path, numbers: range, foot: str = FOOT) -> None:
    for n in numbers:
        text = f"# Note {n}\n\nThe {subject(n)} lives by the river.\n\n{foot.format(n % 28 + 1, n)}"
        (folder / f"{n}.md").write_text(text, "utf-8")


def hits(library: Library, query: str) -> tuple[Hit, ...]:
    return library.search(OWNER, query, ["s"], mode="lexical", top_k=50).hits


def aside(file_type: str, text: str) -> str:
    """What of ``text`` is furniture if every line that can be is repeated."""
    layout = furniture.layout(file_type, [(0, text)])
    assert layout is not None
    return "".join(text[start:end] for start, end in layout.furniture(layout.shapes))


@pytest.mark.parametrize(
    "line",
    [
        "- Last reviewed by the librarian\n",
        "> More information: <https://example.org/a?b=1>.\n",
        "[![Build status](https://example.org/a.svg)](https://example.org/b)\n",
        "<!-- a comment\n\nof several lines -->",
        "%% a comment\n# of Obsidian %%",
    ],
)
def test_lines_and_comments_that_may_be_furniture(line: str) -> None:
    assert aside("markdown", f"One.\n\n{line}\nTwo.\n").strip() == line.strip()


@pytest.mark.parametrize(
    "line",
    [
        "## Three words and more\n",
        "two words\n",
        "    assert code == that_is_indented\n",
        "see [[A note]] and [[Another note]] there\n",
        "- [The title of a page](https://example.org)\n",
        "```\nimport this and that\n```\n",
        "`<!-- code -->`\n",
    ],
)
def test_headings_links_and_code_never_are(line: str) -> None:
    assert aside("markdown", f"One.\n\n{line}\nTwo.\n") == ""


def test_lines_that_differ_in_numbers_and_addresses_have_one_shape() -> None:
    [(_, _, one)] = furniture.layout("text", [(0, FOOT.format(1, 1))]).lines  # type: ignore[union-attr]
    [(_, _, other)] = furniture.layout("text", [(0, FOOT.format(28, 900))]).lines  # type: ignore[union-attr]
    assert one == other


@pytest.mark.parametrize("text", ["a" * 1_000_000, "<!--" * 250_000])
def test_a_long_word_and_comments_that_never_end_are_read_once(text: str) -> None:
    assert furniture.layout("markdown", [(0, text)]) == furniture.Layout((), ())  # else it takes hours


def test_code_has_no_furniture() -> None:
    assert furniture.layout("python", [(0, "# Last reviewed by the librarian")]) is None


def test_a_passage_keeps_its_text_and_offsets() -> None:
    text = "One line of it.\nA line to hide.\nThe last one is kept.\n"
    [(_, _, first), (start, end, shape), _] = furniture.layout("text", [(0, text)]).lines  # type: ignore[union-attr]
    assert text[start:end] == "A line to hide.\n"
    passages = [(0, text[:20]), (12, text[12:])]
    one, other = furniture.kept_spans([(start, end)], passages)
    assert furniture.kept_text(passages[0][1], one) == "One line of it."
    assert furniture.kept_text(passages[1][1], other) == "it.\nThe last one is kept."
    assert first != shape


def test_the_note_that_makes_a_line_furniture_cleans_the_earlier_ones(library: Library, notes: Path) -> None:
    plant(notes, range(20))
    index(library, "s", notes)
    assert len(hits(library, "librarian")) == 20
    before = keys(library, "s", "3.md")

    plant(notes, range(20, 22))
    job = index(library, "s")

    check_library(library, "s")
    assert job.texts_embedded == 22  # each without its foot
    assert keys(library, "s", "3.md") == before
    for n in range(22):
        assert "librarian" not in excerpt(hits(library, f"{subject(n)} river")[0])
    assert contents(library, "s") == fresh_contents(library, notes)


def test_a_line_that_few_notes_have_any_more_is_text_again(library: Library, notes: Path) -> None:
    plant(notes, range(25))
    index(library, "s", notes)
    for n in range(10):
        (notes / f"{n}.md").unlink()

    job = index(library, "s")

    check_library(library, "s")
    assert job.texts_embedded == 15
    assert "librarian" in excerpt(hits(library, f"{subject(12)} river")[0])
    assert contents(library, "s") == fresh_contents(library, notes)


def test_furniture_is_found_by_a_phrase_and_where_nothing_else_holds_the_words(
    library: Library, notes: Path
) -> None:
    plant(notes, range(25))
    index(library, "s", notes)
    assert found(library, "reviewed by the librarian on 2026-03-05") == ["4.md"]
    assert len(hits(library, "librarian")) == 25
    assert "librarian" in excerpt(hits(library, "librarian")[0])

    (notes / "real.md").write_text("# Work\n\nThe librarian of the town reads a lot.\n", "utf-8")
    index(library, "s")
    assert [hit.document.path for hit in hits(library, "librarian")] == ["real.md"]


def test_a_passage_that_is_all_furniture_is_no_hit_for_its_notes_name(library: Library, notes: Path) -> None:
    foot = "".join(f"Line {word} was written by a program for everybody.\n" for word in SUBJECTS * 3)
    long = "\n\n".join(f"{word} is told of at length in a paragraph of its own." for word in SUBJECTS * 5)
    plant(notes, range(25), foot)
    (notes / "zebra crossing.md").write_text(f"{foot}\n\n## One\n\n{long}", "utf-8")
    index(library, "s", notes)

    for hit in hits(library, "zebra crossing"):
        assert "program" not in excerpt(hit)


def test_a_note_of_furniture_alone_is_found_by_its_name_and_not_embedded(
    library: Library, notes: Path
) -> None:
    plant(notes, range(25))
    (notes / "zebra.md").write_text(FOOT.format(1, 1), "utf-8")
    job = index(library, "s", notes)
    assert job.texts_embedded == 25
    assert [hit.document.path for hit in hits(library, "zebra")] == ["zebra.md"]


def test_copies_of_a_note_do_not_make_its_lines_furniture(library: Library, notes: Path) -> None:
    for n in range(30):
        (notes / f"copy{n}.md").write_text(
            "# Rivers\n\nThe otter lives by the river and eats fish.\n", "utf-8"
        )
    index(library, "s", notes)
    assert "otter" in excerpt(hits(library, "otter")[0])


def test_private_notes_do_not_make_a_line_furniture(library: Library, notes: Path) -> None:
    """Else the scores of the public notes would tell a guest that private ones have their lines."""
    plant(notes, range(15))
    (notes / "hidden").mkdir()
    plant(notes / "hidden", range(15, 45))
    library.create_store(OWNER, "s", "hashing")
    library.privacy.set(OWNER, "s", ["hidden"])
    index(library, "s", notes)
    assert not shapes_of(library)
    assert library.privacy.set(OWNER, "s", []).due, "the next run counts again"
    index(library, "s")
    assert len(shapes_of(library)) == 1
    assert library.privacy.set(OWNER, "s", ["hidden"]).due
    index(library, "s")
    assert not shapes_of(library)
    assert not library.privacy.set(OWNER, "s", ["hidden", "0.md"]).due
    for n in range(45):  # a new place may show what was hidden
        place = notes / "hidden" / f"{n}.md" if n >= 15 else notes / f"{n}.md"
        place.rename(notes / f"moved {n}.md")
    index(library, "s")
    assert len(shapes_of(library)) == 1
    check_library(library, "s")


def shapes_of(library: Library) -> frozenset[int]:
    """The shapes that are furniture in store *s*."""
    with store_of(library, "s").read() as db:
        return kept_shapes.repeated(db)


def test_passages_of_keys_and_hashes_are_found_by_words_and_not_embedded(
    library: Library, notes: Path
) -> None:
    chance = random.Random(1)
    lines = ["".join(chance.choices("abcdef0123456789", k=40)) for _ in range(9)]
    (notes / "hashes.txt").write_text("\n".join(lines), "utf-8")
    assert index(library, "s", notes).texts_embedded == 0
    assert found(library, lines[4]) == ["hashes.txt"]
    assert not prose.is_unreadable("价格有歧视" * 20)
    assert not prose.is_unreadable("/a/long/path/to/a/file/of/many/folders/and/more.md")


class Killed(BaseException):
    """Ends a run as a signal does: nothing of it goes on."""


@pytest.mark.parametrize("seed", range(4))
def test_a_store_that_grew_shrank_and_was_killed_is_as_a_fresh_one(
    library: Library, notes: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_shapes, "LEAST", 3)
    monkeypatch.setattr(kept_shapes, "SHARE", 0.3)
    monkeypatch.setattr(rag_core.index.furniture, "_DOCUMENTS_A_WRITE", 2)
    renew, chance = kept_shapes.renew_furniture, random.Random(seed)
    feet = [
        FOOT,
        "A badge of the build, number {} of {}.\n",
        "%% a comment {} of {} %%\nA line by itself\n",
    ]

    def write() -> None:
        for n in chance.sample(range(16), 5):
            file = notes / f"{n}.md"
            if file.exists() and chance.random() < 0.4:
                file.unlink()
            else:
                chosen = chance.sample(feet, chance.randint(0, 3))
                plant(notes, range(n, n + 1), "".join(foot.format(n, n) for foot in chosen))

    def dies(db: sqlite3.Connection, document_id: int, shapes: frozenset[int]) -> None:
        if chance.random() < 0.3:
            raise Killed
        renew(db, document_id, shapes)

    (notes / "kept.md").write_text("It stays.\n", "utf-8")
    write()
    index(library, "s", notes)
    for _ in range(6):
        write()
        monkeypatch.setattr(kept_shapes, "renew_furniture", dies)
        try:
            index(library, "s")
        except Killed:
            write()
        monkeypatch.setattr(kept_shapes, "renew_furniture", renew)
        if chance.random() < 0.5:
            index(library, "s")
            check_library(library, "s")
    index(library, "s")

    check_library(library, "s")
    assert contents(library, "s") == fresh_contents(library, notes)


def test_the_next_run_cleans_an_older_store_without_reading_files(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(notes, range(25))
    monkeypatch.setattr(furniture, "FILE_TYPES", frozenset())
    index(library, "s", notes)
    monkeypatch.undo()
    library.close()
    make_older(library.settings.store_dir / "s.db", 7)

    assert len(hits(library, "librarian")) == 25
    for n in range(25):
        pretend_seen(library, notes / f"{n}.md")
    job = index(library, "s")

    assert job.counts == {"unchanged": 25}
    assert contents(library, "s") == fresh_contents(library, notes)
    check_library(library, "s")


def test_spans_of_what_is_kept_are_json(library: Library, notes: Path) -> None:
    plant(notes, range(25))
    index(library, "s", notes)
    store = store_of(library, "s")
    with store.read() as db:
        rows = db.execute("SELECT text, kept, kept_text, furniture FROM chunks").fetchall()
    store.close()
    assert rows
    for text, kept, kept_text, aside in rows:
        assert "".join(text[a:b] for a, b in json.loads(kept)).strip() == kept_text
        assert "librarian" in aside


def test_the_newest_note_is_embedded_first_and_its_passages_in_order(library: Library, notes: Path) -> None:
    for n, name in enumerate(("b.md", "c.md", "a.md")):
        parts = [
            f"## {word}\n\nThe {word}{word} of {name} lives by the river, where it sleeps.\n"
            for word in SUBJECTS[:3]
        ]
        (notes / name).write_text("\n".join(parts), "utf-8")
        os.utime(notes / name, (1e9 + n, 1e9 + n))
    library.create_store(OWNER, "s", "minilm")  # it is not installed
    index(library, "s", notes)
    store = store_of(library, "s")
    with store.read() as db:
        waiting = db.execute(
            "SELECT d.display, c.chunk_index FROM queue q JOIN chunks c ON c.embed_hash = q.hash"
            " JOIN documents d ON d.id = c.document_id ORDER BY q.kind, q.modified_ns DESC, q.id DESC"
        ).fetchall()
    store.close()
    assert [tuple(row) for row in waiting] == [
        (name, n) for name in ("a.md", "c.md", "b.md") for n in range(3)
    ]
