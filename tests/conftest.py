"""What every test stands on: a library of its own, and pages seen by the owner."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from rag_core.cli import main
from rag_core.config import Settings
from rag_core.extract import drawing
from rag_core.library import Library
from rag_core.types import OWNER, Job
from tests.support.command import Result, Run
from tests.support.model_fixture import installed_model_dir
from tests.support.trees import write


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let files with thorough tests begin first: no long file is left to one worker in the end."""
    thorough = {item.path for item in items if item.get_closest_marker("thorough")}
    items.sort(key=lambda item: item.path not in thorough)


def pytest_configure() -> None:
    """What a shell starts in the background ignores Ctrl-C; so would the programs that tests stop by it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # A generated example may take as long as it does on a busy machine.
    settings.register_profile("without a clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("without a clock")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out on Windows what needs Linux or macOS."""
    if sys.platform == "win32" and item.get_closest_marker("posix"):
        pytest.skip("needs Linux or macOS")


@pytest.fixture(autouse=True)
def own_main_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """AppTest leaves its page in the place of the main module, which child processes would import."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


@pytest.fixture
def time_to_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a picture be drawn as slowly as on a busy machine."""
    monkeypatch.setattr(drawing, "LIMIT_S", 60.0)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty COMMONPLACE_HOME without any model."""
    home = tmp_path / "home"
    monkeypatch.setenv("COMMONPLACE_HOME", str(home))
    monkeypatch.delenv("COMMONPLACE_MODELS", raising=False)
    monkeypatch.setenv("COMMONPLACE_ROOTS", str(tmp_path))
    return home


@contextmanager
def stores_of(folder: Path, files: Mapping[str, str]) -> Iterator[Library]:
    """A library with ``files`` by their paths, and a store for each folder at their top."""
    write(folder, files)
    opened = Library.open(Settings(folder / "data", folder / "models", ()))
    for store in dict.fromkeys(path.partition("/")[0] for path in files):
        index(opened, store, folder / store)
    yield opened
    opened.close()


@pytest.fixture
def library(home: Path, tmp_path: Path) -> Iterator[Library]:
    """A library in an empty home."""
    opened = Library.open(Settings(home / "data", home / "data" / "models", (tmp_path,)))
    yield opened
    opened.close()


@pytest.fixture
def run(home: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run ``commonplace`` with the given arguments in an empty home."""

    def run(*arguments: object) -> Result:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        return Result(int(ended.value.code or 0), shown.out, shown.err)

    return run


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """An empty folder for notes."""
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
def model_dir() -> Path:
    """A folder with the built-in model, installed once a session."""
    return installed_model_dir()


def index(library: Library, store: str, folder: Path | None = None, *globs: str, force: bool = False) -> Job:
    """Index ``folder`` into ``store``, which is made with the hashing embedder if needed."""
    if store not in library.stores.names(OWNER):
        library.create_store(OWNER, store, "hashing")
    if folder is not None:
        library.add_source(OWNER, store, folder, globs or ("**/*",))
    library.jobs.request(OWNER, store, force=force)
    job = library.jobs.run(OWNER, store)
    assert job is not None
    return job
