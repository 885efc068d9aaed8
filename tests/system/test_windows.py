"""Commonplace works by the rules that Windows has for files, which `tests.support.windows_rules` plays."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from rag_core import system
from rag_core.errors import InUpkeep, InvalidInput, StoreBusy
from rag_core.extract.tesseract import Tesseract
from rag_core.library import Library
from rag_core.running import background, watching
from rag_core.store import lock
from rag_core.types import OWNER
from tests.conftest import index
from tests.support.command import Run
from tests.support.stored import file_of, found, outcomes, paths, store_of
from tests.support.trees import write
from tests.support.waiting import until

pytestmark = pytest.mark.posix  # it plays another system, with what this one has

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(params=[True, False], ids=["NTFS", "exFAT"])
def windows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules of Windows, on a disk with hard links or without."""
    from tests.support.windows_rules import install

    monkeypatch.setattr(system, "pause", lambda _: None)
    install(monkeypatch.setattr, hard_links=request.param)


@pytest.fixture
def store(windows: None, library: Library, notes: Path) -> Path:
    """The folder of store ``s``, with notes in folders."""
    write(notes, {"tea.md": "About green tea.\n", "sub/deep/oak.md": "About an oak.\n"})
    index(library, "s", notes)
    return notes


def test_the_commands_of_a_first_day_work(
    windows: None, run: Run, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(notes, {"tea.md": "About green tea.\n", "sub/oak.md": "About an oak.\n"})
    monkeypatch.setenv("COMMONPLACE_EMBEDDER", "hashing")
    exported = tmp_path / "s.commonplace"
    steps: list[tuple[object, ...]] = [
        ("init", notes, "--store", "s"),
        ("index", "--store", "s"),
        ("query", "oak", "--store", "s"),
        ("store", "export", "s", exported),
        ("store", "rename", "s", "t"),
        ("store", "import", exported),
        ("store", "delete", "t", "--force"),
        ("repair", "--store", "s"),
        ("verify", "--store", "s"),
        ("list", "--store", "s"),
    ]
    ends = {step: run(*map(str, step)) for step in steps}
    assert [step for step, end in ends.items() if end.status] == []
    assert "sub/oak.md" in ends["query", "oak", "--store", "s"].out
    assert "changed" not in ends["list", "--store", "s"].out


def test_files_are_followed_while_the_app_runs(store: Path, library: Library) -> None:
    (store / "there.md").write_text("It was there before.\n", "utf-8")
    with watching_of(library):
        (store / "new.md").write_text("About a quokka.\n", "utf-8")
        until(lambda: found(library, "quokka") == ["new.md"])
        (store / "new.md").rename(store / "sub" / "other.md")
        until(lambda: found(library, "quokka") == ["sub/other.md"])
        (store / "sub" / "other.md").unlink()
        until(lambda: not found(library, "quokka"))


@contextmanager
def watching_of(library: Library) -> Iterator[None]:
    stop = threading.Event()
    begin = lambda store: background.go_on(library, OWNER, store)  # noqa: E731
    watcher = threading.Thread(target=watching.watch, args=(library, OWNER, stop, begin))
    watcher.start()
    try:
        until(lambda: found(library, "before") == ["there.md"])
        yield
    finally:
        stop.set()
        watcher.join()
        background.stop_all()


def test_a_file_that_stayed_as_it_was_is_fresh_and_not_read_again(store: Path, library: Library) -> None:
    assert set(library.files.states(OWNER, "s").values()) == {"fresh"}
    assert outcomes(index(library, "s")) == {}


def test_a_store_is_renamed_and_deleted_while_this_process_has_it_open(store: Path, library: Library) -> None:
    library.stores.rename(OWNER, "s", "other")
    assert found(library, "oak", "other") == ["sub/deep/oak.md"]
    assert library.stores.info(OWNER, "other").sources[0].root == str(store)
    library.stores.delete(OWNER, "other")
    assert library.stores.names(OWNER) == []


@pytest.mark.parametrize("work", ["rename", "delete"])
def test_a_store_that_another_program_has_open_stays_whole(store: Path, library: Library, work: str) -> None:
    file = file_of(library)
    other = sqlite3.connect(file)
    other.execute("SELECT count(*) FROM documents").fetchone()
    with pytest.raises(StoreBusy, match="in use by another process"):
        library.stores.rename(OWNER, "s", "t") if work == "rename" else library.stores.delete(OWNER, "s")
    other.close()
    assert library.stores.names(OWNER) == ["s"]
    assert found(library, "oak") == ["sub/deep/oak.md"]
    assert file.with_suffix(".decisions.json").exists()


def tear(library: Library) -> None:
    """Damage a passage of store ``s``."""
    with closing(store_of(library, "s")) as store, store.write() as db:
        db.execute("UPDATE chunks SET text = 'torn'")


def test_a_damaged_store_is_repaired_while_this_process_has_it_open(store: Path, library: Library) -> None:
    tear(library)
    assert not library.upkeep.verify(OWNER, "s").sound
    assert library.upkeep.repair(OWNER, "s").done
    assert found(library, "oak") == ["sub/deep/oak.md"]
    assert library.upkeep.verify(OWNER, "s").sound


def test_a_store_that_another_program_has_open_is_not_repaired_and_stays_as_it_is(
    store: Path, library: Library
) -> None:
    tear(library)
    other = sqlite3.connect(file_of(library))
    other.execute("SELECT count(*) FROM documents").fetchone()
    with pytest.raises(StoreBusy, match="in use by another process"):
        library.upkeep.repair(OWNER, "s")
    other.close()
    assert [path.name for path in file_of(library).parent.glob("*damaged*")] == []
    assert library.upkeep.repair(OWNER, "s").done


def test_paths_with_backslashes_name_files(store: Path, library: Library) -> None:
    assert library.files.path_of(OWNER, "s", r"sub\deep\oak.md") == "sub/deep/oak.md"
    assert library.files.path_of(OWNER, "s", r"deep\oak.md") == "sub/deep/oak.md"
    assert library.files.path_of(OWNER, "s", rf"{store}\sub\deep\oak.md") == "sub/deep/oak.md"
    library.files.exclude(OWNER, "s", r"sub\deep\oak.md")
    assert found(library, "oak") == []


def test_a_folder_is_found_by_a_path_with_backslashes(store: Path, library: Library) -> None:
    answer = library.search(r"oak path:sub\deep", stores=["s"])
    assert [hit.document.path for hit in answer.hits] == ["sub/deep/oak.md"]


def test_a_folder_inside_another_is_not_indexed_twice(store: Path, library: Library) -> None:
    library.files.exclude(OWNER, "s", "sub/deep/oak.md")
    index(library, "s", store / "sub", "**/*.md", "**/*")
    assert paths(library) == ["tea.md"]


def test_a_private_rule_holds_in_a_folder(store: Path, library: Library) -> None:
    library.privacy.set(OWNER, "s", ["sub/**"])
    with closing(store_of(library, "s")) as opened, opened.read() as db:
        assert [row[0] for row in db.execute("SELECT display FROM documents WHERE private")] == [
            "sub/deep/oak.md"
        ]


def test_files_with_long_paths_are_read_and_stay_fresh(store: Path, library: Library) -> None:
    folder = store / ("a" * 120) / ("b" * 120)
    folder.mkdir(parents=True)
    (folder / "far.md").write_text("About a numbat.\n", "utf-8")
    index(library, "s")
    long = f"{'a' * 120}/{'b' * 120}/far.md"
    assert found(library, "numbat") == [long]
    assert set(library.files.states(OWNER, "s").values()) == {"fresh"}
    assert outcomes(index(library, "s")) == {}


def test_whoever_waits_for_a_lock_is_told_what_its_holder_does(store: Path, library: Library) -> None:
    file = file_of(library)
    with lock.hold(file, "repair"):
        assert lock.holder(file) == "repair"
        with pytest.raises(InUpkeep, match="being repaired"), lock.hold(file, "rename"):
            pass
    assert lock.holder(file) is None


def test_a_file_that_somebody_reads_for_a_moment_is_replaced_after_it(
    windows: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = tmp_path / "new", tmp_path / "old"
    source.write_text("new", "utf-8")
    target.write_text("old", "utf-8")
    reader = target.open()
    monkeypatch.setattr(system, "pause", lambda _: reader.close())
    system.replace(source, target)
    assert target.read_text("utf-8") == "new"


@pytest.mark.parametrize("name", ["con", "NUL", "com1", "Aux"])
def test_no_store_gets_the_name_of_a_device(library: Library, name: str) -> None:
    with pytest.raises(InvalidInput, match="Windows keeps it for a device"):
        library.create_store(OWNER, name, "hashing")


def test_tesseract_is_found_where_installers_put_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "Tesseract-OCR" / "tesseract"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n", "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setattr(system, "_PROGRAMS", (str(program.parent),))
    assert system.find_program("tesseract") == str(program)
    assert Tesseract.is_installed()


@pytest.mark.posix
def test_no_program_is_taken_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("C", "Program Files"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tesseract").write_text("#!/bin/sh\n", "utf-8")
        (tmp_path / folder / "tesseract").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    found = system.find_program("tesseract")
    assert found is None or Path(found).is_absolute()


ENDLESS = """
import signal
del signal.alarm
from rag_core.extract.worker import alarm_clock
alarm = alarm_clock()
alarm(60)
alarm(0)
alarm(1)
while True:
    pass
"""


def test_a_reader_that_never_ends_is_ended_without_the_signals_of_posix() -> None:
    done = subprocess.run([sys.executable, "-c", ENDLESS], cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.thorough
def test_the_app_serves_and_keeps_up_to_date(notes: Path, home: Path) -> None:
    write(notes, {"tea.md": "About green tea.\n"})
    environment = {**os.environ, "COMMONPLACE_EMBEDDER": "hashing", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.support.windows_rules"]
    options = {"env": environment, "cwd": ROOT, "text": True}
    done = subprocess.run(
        [*command, "init", notes, "--store", "s"], check=False, capture_output=True, **options
    )
    assert done.returncode == 0, done.stderr
    (notes / "new.md").write_text("About a quokka.\n", "utf-8")
    with subprocess.Popen([*command, "serve", "--port", "0"], stdout=subprocess.PIPE, **options) as app:
        try:
            assert app.stdout is not None
            address = next(word for word in app.stdout.readline().split() if word.startswith("http://"))
            assert httpx.get(address.rstrip(".")).status_code == 200
            url = f"{address.rstrip('./')}/api/v1/search"
            until(lambda: hits(url, "quokka") == ["new.md"])
        finally:
            app.kill()


def hits(url: str, query: str) -> list[str]:
    results = httpx.post(url, json={"query": query}).json()["results"]
    return [hit["file_path"] for hit in results if hit["relevant"]]
