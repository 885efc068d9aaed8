"""A deleted store leaves nothing of its notes, and its run does not keep it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_core.config import Settings
from rag_core.library import Library
from rag_core.running import background
from rag_core.types import OWNER
from tests.conftest import index

MARKER = "xylographer"
CONVERSATION = "a" * 32


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Library]:
    opened = Library.open(Settings(tmp_path / "data", tmp_path / "models", ()))
    yield opened
    opened.close()


def holds_marker(folder: Path) -> list[str]:
    """The files below a folder, freed pages and logs included, that hold the marker."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if MARKER.encode() in path.read_bytes()]


def test_deleting_the_last_store_leaves_no_word_of_its_notes(kept: Library, notes: Path) -> None:
    (notes / f"{MARKER}.md").write_text(f"# Trades\n\nThe {MARKER} cuts wood at six.\n")
    index(kept, "s", notes)
    reply = kept.asking.ask(OWNER, f"When does the {MARKER} cut wood?")
    assert MARKER in reply.answer
    kept.asking.keep_reply(OWNER, CONVERSATION, reply)
    kept.searching.remember(OWNER, MARKER, ("s", f"{MARKER}.md"))
    assert "state.db" in holds_marker(kept.settings.data_dir)
    kept.stores.delete(OWNER, "s")
    assert holds_marker(kept.settings.data_dir) == []


def test_a_renamed_store_keeps_its_history_and_leaves_none_of_it_either(kept: Library, notes: Path) -> None:
    (notes / f"{MARKER}.md").write_text(f"# Trades\n\nThe {MARKER} cuts wood at six.\n")
    index(kept, "s", notes)
    reply = kept.asking.ask(OWNER, f"When does the {MARKER} cut wood?")
    kept.asking.keep_reply(OWNER, CONVERSATION, reply)
    kept.searching.remember(OWNER, "", ("s", f"{MARKER}.md"))
    kept.stores.rename(OWNER, "s", "trades")
    [renamed] = kept.asking.conversation(OWNER, CONVERSATION)
    assert renamed.stores == ("trades",)
    assert {reference.vault for reference in renamed.references} == {"trades"}
    assert [named.store for named in kept.searching.suggest(OWNER, "").opened] == ["trades"]
    kept.stores.delete(OWNER, "trades")
    assert holds_marker(kept.settings.data_dir) == []


def test_the_history_of_other_stores_stays(kept: Library, notes: Path) -> None:
    for name in ("tea", "wood"):
        (notes / name).mkdir()
        (notes / name / "a.md").write_text(f"# {name}\n\nThe {name} is ready at six.\n")
        index(kept, name, notes / name)
        kept.asking.keep_reply(
            OWNER, CONVERSATION, kept.asking.ask(OWNER, f"When is the {name} ready?", [name])
        )
        kept.searching.remember(OWNER, name, (name, "a.md"))
    kept.stores.delete(OWNER, "wood")
    assert [reply.stores for reply in kept.asking.conversation(OWNER, CONVERSATION)] == [("tea",)]
    assert [named.store for named in kept.searching.suggest(OWNER, "").opened] == ["tea"]


def test_deleting_a_store_stops_its_run(kept: Library, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        (notes / f"{number}.md").write_text(f"Note {number}.\n")
    kept.create_store(OWNER, "s", "hashing")
    kept.add_source(OWNER, "s", notes, ("**/*",))
    reading = threading.Event()

    def stand_still(*_: object) -> bool:
        reading.set()
        threading.Event().wait(0.05)
        return True

    monkeypatch.setattr("rag_core.index.pictures.PictureQueue.advance", stand_still)
    monkeypatch.setattr("rag_core.index.job_log._NOTE_EVERY_S", 0.0)
    background.start(kept, OWNER, "s")
    assert reading.wait(60)
    kept.stores.delete(OWNER, "s")
    assert kept.stores.names(OWNER) == []
