"""A store in other languages than its model reads: said once, and changed with one call."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from rag_core import config
from rag_core.errors import StoreBusy
from rag_core.library import Library
from rag_core.models import built_in_install
from rag_core.models.built_in import BUILT_IN
from rag_core.reports import LanguageAdvice
from rag_core.types import OWNER
from tests.conftest import index
from tests.support.command import Run
from tests.support.packed_model import packed_model
from tests.support.trees import write

GERMAN = "Die Abrechnung kam erst im Januar, und das ist nach dem Gesetz zu spät für eine Forderung.\n"
ENGLISH = "The bill came in January, and that is too late for the landlord to ask for it.\n"


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tiny model in the place of the one for every language, installed from a folder."""
    row = packed_model(tmp_path / "source")
    monkeypatch.setitem(BUILT_IN, row.name, row)  # type: ignore[arg-type]
    monkeypatch.setattr("rag_core.library.languages.MULTILINGUAL", row)
    install = partial(built_in_install.install, source=tmp_path / "source")
    monkeypatch.setattr("rag_core.library.languages.install", install)


def filled(library: Library, folder: Path, *, german: int, english: int, embedder: str = "minilm") -> None:
    notes = {f"de{number}.md": f"{GERMAN}Nummer {number}" for number in range(german)}
    notes |= {f"en{number}.md": f"{ENGLISH}Number {number}" for number in range(english)}
    write(folder, notes)
    library.create_store(OWNER, "notes", embedder)
    index(library, "notes", folder)


@pytest.mark.parametrize(
    ("german", "english", "expected"),
    [
        (9, 1, LanguageAdvice("German", is_most=True, megabytes=66)),
        (3, 7, LanguageAdvice("German", is_most=False, megabytes=66)),
        (2, 8, None),  # a fifth
        (0, 10, None),
        (4, 0, None),  # too few to say
    ],
)
def test_a_store_with_more_than_a_fifth_of_another_language_is_told(
    library: Library, notes: Path, german: int, english: int, expected: LanguageAdvice | None
) -> None:
    filled(library, notes, german=german, english=english)
    assert library.languages.advice(OWNER, "notes") == expected


def test_a_store_with_another_model_is_not_told(library: Library, notes: Path) -> None:
    filled(library, notes, german=10, english=0, embedder="hashing")
    assert library.languages.advice(OWNER, "notes") is None


def test_text_that_comes_later_counts(library: Library, notes: Path) -> None:
    filled(library, notes, german=0, english=6)
    assert library.languages.advice(OWNER, "notes") is None
    write(notes, {f"neu{number}.md": f"{GERMAN}Nummer {number}" for number in range(9)})
    index(library, "notes")
    assert library.languages.advice(OWNER, "notes") is not None


def test_who_declines_is_not_told_again(library: Library, notes: Path) -> None:
    filled(library, notes, german=10, english=0)
    library.languages.decline(OWNER, "notes")
    assert library.languages.advice(OWNER, "notes") is None


@pytest.mark.usefixtures("model", "home")
def test_one_call_installs_switches_and_chooses_for_new_stores(notes: Path) -> None:
    library = Library.open()
    filled(library, notes, german=6, english=0)
    lines: list[str] = []
    library.languages.take(OWNER, "notes", lines.append)
    assert lines[-1] == "Switching …"
    assert library.stores.info(OWNER, "notes").switching == "multilingual"
    assert library.languages.advice(OWNER, "notes") is None, "it is being done"
    assert config.load().embedder == "multilingual"
    library.jobs.run(OWNER, "notes")
    info = library.stores.info(OWNER, "notes")
    assert (info.embedder, info.switching, info.pending) == ("multilingual", "", 0)
    library.close()


@pytest.mark.usefixtures("model", "home")
def test_a_run_under_way_ends_for_the_switch(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library.open()
    filled(library, notes, german=6, english=0)
    cancelled: list[str] = []
    with library._shared.stores.open(OWNER, "notes").store.hold("index"):
        monkeypatch.setattr("rag_core.library.languages._LOOK_S", 0)
        monkeypatch.setattr("rag_core.library.languages._LOOKS", 3)
        monkeypatch.setattr(library.jobs, "cancel", lambda viewer, name: cancelled.append(name))
        with pytest.raises(StoreBusy):
            library.languages.take(OWNER, "notes")
    assert cancelled == ["notes"] * 3
    library.close()


def test_commands_say_it_once(run: Run, notes: Path) -> None:
    write(notes, {f"de{number}.md": f"{GERMAN}Nummer {number}" for number in range(6)})
    run("store", "create", "notes")
    first = run("index", str(notes / "*.md"), "--store", "notes")
    assert (
        "Mostly German. The model for every language finds such texts better, but takes about twice as long"
        " to index. It is a download of 66 MB.\nTo use it:  commonplace model install multilingual"
        " && commonplace store switch notes --embedder multilingual\n"
    ) in first.out
    assert "Mostly German" not in run("index", "--store", "notes").out
