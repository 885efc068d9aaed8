"""Files that change while the app runs are read without anybody asking."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.running import background, watching
from rag_core.running.watching import FileThrottle
from rag_core.types import OWNER
from tests.support.live import start
from tests.support.stored import found, paths
from tests.support.waiting import until


@pytest.fixture
def folder(library: Library, notes: Path) -> Path:
    """The folder of store ``s``."""
    library.create_store(OWNER, "s", "hashing")
    library.add_source(OWNER, "s", notes, ("**/*",))
    (notes / "there.md").write_text("It was there before.\n", "utf-8")
    return notes


@contextmanager
def watching_of(library: Library) -> Iterator[None]:
    stop = threading.Event()
    watcher = threading.Thread(
        target=watching.watch,
        args=(library, OWNER, stop, lambda store: background.go_on(library, OWNER, store)),
    )
    watcher.start()
    until(lambda: found(library, "before") == ["there.md"])
    yield
    stop.set()
    watcher.join()
    background.stop_all()


@pytest.fixture
def watched(library: Library, folder: Path) -> Iterator[Path]:
    """The folder of store ``s``, which is watched."""
    with watching_of(library):
        yield folder


def test_what_is_saved_edited_renamed_and_deleted_is_followed(library: Library, watched: Path) -> None:
    note = watched / "new.md"
    note.write_text("About a quokka.\n", "utf-8")
    until(lambda: found(library, "quokka") == ["new.md"])
    note.write_text("About a numbat.\n", "utf-8")
    until(lambda: found(library, "numbat") == ["new.md"] and not found(library, "quokka"))
    note.rename(watched / "other.md")
    until(lambda: found(library, "numbat") == ["other.md"])
    (watched / "other.md").unlink()
    until(lambda: not found(library, "numbat"))


def test_a_folder_is_followed_with_all_that_is_in_it(library: Library, watched: Path) -> None:
    (watched / "deep" / "deeper").mkdir(parents=True)
    (watched / "deep" / "deeper" / "a.md").write_text("About a quokka.\n", "utf-8")
    until(lambda: found(library, "quokka") == ["deep/deeper/a.md"])
    (watched / "deep").rename(watched / "moved")
    until(lambda: found(library, "quokka") == ["moved/deeper/a.md"])


def test_what_no_pattern_takes_starts_no_job(library: Library, watched: Path) -> None:
    until(lambda: not background.working(library, "s"))
    jobs = len(library.jobs.all(OWNER, "s"))
    (watched / ".git").mkdir()
    (watched / ".git" / "index").write_text("x", "utf-8")
    (watched / "later.md").write_text("About a quokka.\n", "utf-8")
    until(lambda: found(library, "quokka") == ["later.md"] and not background.working(library, "s"))
    assert len(library.jobs.all(OWNER, "s")) == jobs + 1


def test_a_folder_that_vanishes_is_no_deletion_and_is_followed_again(library: Library, watched: Path) -> None:
    away = watched.with_name("away")
    watched.rename(away)
    until(lambda: not watched.exists())
    assert paths(library) == ["there.md"]
    (away / "meanwhile.md").write_text("About a quokka.\n", "utf-8")
    away.rename(watched)
    until(lambda: found(library, "quokka") == ["meanwhile.md"])
    assert "there.md" in paths(library)


def test_a_folder_that_is_added_paused_or_resumed_is_minded(library: Library, watched: Path) -> None:
    more = watched.with_name("more")
    more.mkdir()
    (more / "a.md").write_text("About a quokka.\n", "utf-8")
    source = library.add_source(OWNER, "s", more, ("**/*",))
    until(lambda: found(library, "quokka") == ["more/a.md"])
    library.sources.pause(OWNER, "s", source.id)
    assert [each.root for each in library.sources.kept(OWNER, "s")] == [str(watched)]


def test_without_reports_of_the_system_folders_are_compared(
    library: Library, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_many(*_: object, **__: object) -> Iterator[set[str]]:
        raise OSError("OS file watch limit reached.")

    monkeypatch.setattr("watchfiles.watch", too_many)
    monkeypatch.setattr(watching, "LOOK_S", 0.1)
    monkeypatch.setattr(watching, "RESCAN_UNWATCHED_S", 0.0)
    with watching_of(library):
        (folder / "new.md").write_text("About a quokka.\n", "utf-8")
        until(lambda: found(library, "quokka") == ["new.md"])


def test_the_app_keeps_its_stores_up_to_date(
    library: Library, folder: Path, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "app").mkdir()
    settings = {"COMMONPLACE_HOME": str(home), "COMMONPLACE_SCAN_ON_START": "true"}
    with start(tmp_path / "app", **settings, COMMONPLACE_WATCH="true"):
        until(lambda: found(library, "before") == ["there.md"])
        (folder / "new.md").write_text("About a quokka.\n", "utf-8")
        until(lambda: found(library, "quokka") == ["new.md"])


def test_an_app_that_does_not_watch_reads_at_its_start_what_changed_before(
    library: Library, folder: Path, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "app").mkdir()
    with start(tmp_path / "app", COMMONPLACE_HOME=str(home), COMMONPLACE_SCAN_ON_START="true"):
        until(lambda: found(library, "before") == ["there.md"])


def test_a_file_written_all_the_time_is_read_less_often() -> None:
    pace = FileThrottle()
    times = [tick / 8 for tick in range(960) if pace.ready({"app.log"}, tick / 8)]
    assert times[:4] == [0.0, 0.125, 0.375, 0.875], "a few changes in a row are read at once"
    assert len(times) < 14
    assert pace.ready({"note.md"}, 120.0) == {"note.md"}, "others do not wait"
    assert pace.ready((), 120.5) == set()
    assert pace.ready((), 121.0) == {"app.log"}
    assert pace.ready({"app.log"}, 125.0) == {"app.log"}
