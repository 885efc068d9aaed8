"""A deleted store leaves nothing of its notes, and its run does not keep it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.running import background
from rag_core.types import OWNER
from tests.conftest import index

MARKER = "xylographer"
CONVERSATION = "a" * 32


def holds_marker(folder: Path) -> list[str]:
    """The files below a folder, freed pages and logs included, that hold the marker."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if MARKER.encode() in path.read_bytes()]


def test_deleting_the_last_store_leaves_no_word_of_its_notes(library: Library, notes: Path) -> None:
    (notes / f"{MARKER}.md").write_text(f"# Trades\n\nThe {MARKER} cuts wood at six.\n", "utf-8")
    index(library, "s", notes)
    reply = library.asking.ask(OWNER, f"When does the {MARKER} cut wood?")
    assert MARKER in reply.answer
    library.asking.keep_reply(OWNER, CONVERSATION, reply)
    library.searching.remember(OWNER, MARKER, ("s", f"{MARKER}.md"))
    assert "state.db" in holds_marker(library.settings.data_dir)
    library.stores.delete(OWNER, "s")
    assert holds_marker(library.settings.data_dir) == []


def test_a_renamed_store_keeps_its_history_and_leaves_none_of_it_either(
    library: Library, notes: Path
) -> None:
    (notes / f"{MARKER}.md").write_text(f"# Trades\n\nThe {MARKER} cuts wood at six.\n", "utf-8")
    index(library, "s", notes)
    reply = library.asking.ask(OWNER, f"When does the {MARKER} cut wood?")
    library.asking.keep_reply(OWNER, CONVERSATION, reply)
    library.searching.remember(OWNER, "", ("s", f"{MARKER}.md"))
    library.stores.rename(OWNER, "s", "trades")
    [renamed] = library.asking.conversation(OWNER, CONVERSATION)
    assert renamed.stores == ("trades",)
    assert {reference.vault for reference in renamed.references} == {"trades"}
    assert [named.store for named in library.searching.suggest(OWNER, "").opened] == ["trades"]
    library.stores.delete(OWNER, "trades")
    assert holds_marker(library.settings.data_dir) == []


def test_the_history_of_other_stores_stays(library: Library, notes: Path) -> None:
    for name in ("tea", "wood"):
        (notes / name).mkdir()
        (notes / name / "a.md").write_text(f"# {name}\n\nThe {name} is ready at six.\n", "utf-8")
        index(library, name, notes / name)
        library.asking.keep_reply(
            OWNER, CONVERSATION, library.asking.ask(OWNER, f"When is the {name} ready?", [name])
        )
        library.searching.remember(OWNER, name, (name, "a.md"))
    library.stores.delete(OWNER, "wood")
    assert [reply.stores for reply in library.asking.conversation(OWNER, CONVERSATION)] == [("tea",)]
    assert [named.store for named in library.searching.suggest(OWNER, "").opened] == ["tea"]


def test_deleting_a_store_stops_its_run(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        (notes / f"{number}.md").write_text(f"Note {number}.\n", "utf-8")
    library.create_store(OWNER, "s", "hashing")
    library.add_source(OWNER, "s", notes, ("**/*",))
    reading = threading.Event()

    def stand_still(*_: object) -> bool:
        reading.set()
        threading.Event().wait(0.05)
        return True

    monkeypatch.setattr("rag_core.index.pictures.PictureQueue.advance", stand_still)
    monkeypatch.setattr("rag_core.index.job_log._NOTE_EVERY_S", 0.0)
    background.start(library, OWNER, "s")
    assert reading.wait(60)
    library.stores.delete(OWNER, "s")
    assert library.stores.names(OWNER) == []
