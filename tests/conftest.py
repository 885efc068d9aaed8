"""What every test stands on: a library of its own, and pages seen by the owner."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from rag_core.cli import main
from rag_core.config import Settings
from rag_core.library import Library
from rag_core.types import OWNER, Job
from tests.command import Result, Run
from tests.model_fixture import installed_model_dir
from tests.trees import write

# Each behind those that it imports: pytest rewrites asserts of what is not imported yet.
pytest_plugins = [
    "tests.chat_servers",
    "tests.answering",
    "tests.connected",
    "tests.diagnosed",
    "tests.embedder_servers",
    "tests.pages",
    "tests.index_page",
    "tests.installed_packages",
    "tests.mcp_door",
    "tests.chromium",
    "tests.sea_store",
    "tests.search_page",
    "tests.speakers",
    "tests.stores_page",
    "tests.tailscale_program",
    "tests.vector_fixtures",
    "tests.remote_zoo",
]

# `make test` leaves these to `make test-all`: each takes long, and is not the only test of its room.
THOROUGH = frozenset({
    "test_access_live", "test_accessibility", "test_answer_checks", "test_attaching",
    "test_attacks", "test_attacks_in_browser", "test_background", "test_benchmarks", "test_bm25",
    "test_browser_ask", "test_browser_cards", "test_browser_files", "test_browser_keyboard",
    "test_browser_saved", "test_browser_search", "test_browser_stores", "test_browser_typing", "test_chroma",
    "test_chunk_properties", "test_cli_hints",
    "test_cli_placement", "test_cli_settings", "test_config_effects", "test_convergence",
    "test_crash_remote", "test_docs_commands", "test_docs_pictures", "test_embedder_contract",
    "test_embedders", "test_extractor_packages", "test_formats_of_others", "test_gate_limits",
    "test_gate_live", "test_gate_withdrawn", "test_guests_meet_nothing", "test_guests_statistics",
    "test_journey", "test_journey_results", "test_load",
    "test_mcp_doors", "test_outbox",
    "test_packaging", "test_page_document", "test_page_files", "test_page_folders",
    "test_page_guests", "test_page_index_run", "test_page_paging", "test_page_placement",
    "test_page_sharing", "test_page_stores", "test_page_transfer", "test_paging", "test_placement",
    "test_portable_hostile", "test_portable_interrupted", "test_qdrant",
    "test_refusals", "test_remote_contract", "test_remote_search",
    "test_remote_store", "test_repair", "test_restart", "test_security_table",
    "test_server_log", "test_smuggling", "test_switching", "test_terminal", "test_vector_bars",
    "test_vector_servers",
})  # fmt: skip
OTHER_BACKENDS = (
    "qdrant",
    "chroma",
)  # `make test` holds the contracts to S3 Vectors and the store's own file


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the thorough tests, and let them begin first: no long file is left to one worker in the end."""
    for item in items:
        case = item.name.partition("[")[2]
        if item.path.stem in THOROUGH or any(backend in case for backend in OTHER_BACKENDS):
            item.add_marker("thorough")
    items.sort(key=lambda item: item.path.stem not in THOROUGH)


def pytest_configure() -> None:
    """What a shell starts in the background ignores Ctrl-C; so would the programs that tests stop by it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def own_main_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """AppTest leaves its page in the place of the main module, which child processes would import."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


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
