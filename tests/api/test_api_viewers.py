"""REST for others than the owner: what a guest gets, what nobody gets, and what is said of faults."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from rag_core.config import Settings, load, logs
from rag_core.errors import EmbedderError, InUpkeep, LLMError, RagError, StoreError, VectorsUnreachable
from rag_core.library import Library
from rag_core.types import OWNER, Viewer
from tests.conftest import index
from tests.support.rest import Response, Rest, serving_rest
from tests.support.trees import write

GUEST = Viewer("friend@example.com", stores=frozenset({"shared"}), may_ask=True)
SERVER = "http://models.example"

Serve = Callable[[Viewer | None], Rest]


NOTES = {
    "shared/open.md": "# Open\n\nThe harbour opens at six.\n",
    "shared/secret.md": "---\nprivate: true\n---\n# Diary\n\nThe harbour secret.\n",
    "mine/own.md": "# Own\n\nThe harbour of my own.\n",
}


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("viewers")
    write(folder, NOTES)
    return folder


@pytest.fixture(scope="module")
def library(notes: Path) -> Iterator[Library]:
    opened = Library.open(Settings(notes / "data", notes / "models", (notes,)))
    for store in ("shared", "mine"):
        index(opened, store, notes / store)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def serve(library: Library) -> Iterator[Serve]:
    """Serve a shared and a private store to a viewer."""
    with ExitStack() as opened:
        yield cache(lambda viewer: opened.enter_context(serving_rest(library, viewer)))


def test_files_of_no_store_are_those_of_the_only_one_that_there_is_to_see(serve: Serve) -> None:
    refused = serve(OWNER).get("/documents")
    said = "store: Which store is meant? Name one of these: mine, shared."
    assert (refused.status, refused.error) == (400, said)
    assert serve(GUEST).get("/documents").json == serve(GUEST).get("/documents?store=shared").json


def test_a_guest_is_listed_no_private_document_and_no_folder(serve: Serve, notes: Path) -> None:
    guest = serve(GUEST)
    [file] = guest.get("/documents?store=shared").json["files"]
    assert (file["file_path"], file["absolute_path"], file["reason"]) == ("open.md", None, "")
    assert (file["title"], file["file_type"], file["tags"]) == ("Open", "markdown", [])
    assert file["date"]
    assert guest.get("/documents/shared/open.md").status == 200
    said = "".join(
        guest.get(path).body for path in ("/status", "/documents?store=shared", "/documents/shared/open.md")
    )
    assert str(notes) not in said
    assert "ecret" not in said


# --- a guest ----------------------------------------------------------------------------


OF_THE_DISK = {"size", "file_hash", "indexed_at"}


def test_a_guest_is_told_nothing_of_a_file_on_the_disk(serve: Serve) -> None:
    for path in ("/documents?store=shared", "/documents/shared/open.md"):
        own, others = serve(OWNER).get(path).json, serve(GUEST).get(path).json
        if "files" in own:
            [others], own = others["files"], next(f for f in own["files"] if f["file_path"] == "open.md")
        assert set(own) - set(others) == OF_THE_DISK
        assert all(own[name] for name in OF_THE_DISK)
    [hit] = serve(GUEST).post("/search", {"query": "harbour"}).json["results"]
    assert hit["metadata"]["file_hash"] == hit["metadata"]["indexed_at"] == ""


ASK: dict[str, Callable[[Rest, str], Response]] = {
    "search": lambda rest, store: rest.post("/search", {"query": "harbour", "stores": [store]}),
    "in the query": lambda rest, store: rest.post("/search", {"query": f"harbour store:{store}"}),
    "ask": lambda rest, store: rest.post("/ask", {"question": "harbour", "vaults": [store]}),
    "ask in the question": lambda rest, store: rest.post("/ask", {"question": f"harbour store:{store}"}),
    "documents": lambda rest, store: rest.get(f"/documents?store={store}"),
    "store": lambda rest, store: rest.get(f"/stores/{store}"),
    "document": lambda rest, store: rest.get(f"/documents/{store}/own.md"),
}


@pytest.mark.parametrize(("way", "ask"), ASK.items(), ids=ASK)
def test_an_ungranted_store_and_an_unknown_one_are_the_same(
    serve: Serve, way: str, ask: Callable[[Rest, str], Response]
) -> None:
    guest = serve(GUEST)
    ungranted, unknown = ask(guest, "mine"), ask(guest, "nine")
    assert ungranted.status == unknown.status == (404 if way in ("store", "document") else 400)
    assert ungranted.error.replace("mine", "…") == unknown.error.replace("nine", "…")


def test_a_viewer_without_a_store_is_sent_to_the_owner(serve: Serve) -> None:
    stranger = serve(Viewer("stranger@example.com"))
    assert stranger.get("/stores").json == {"stores": [], "warnings": []}
    answer = stranger.post("/search", {"query": "harbour"})
    assert answer.status == 400
    assert "Ask the owner to share one." in answer.error


# --- faults -----------------------------------------------------------------------------

FAULTS: dict[str, tuple[Exception, int, bool]] = {
    "a model": (EmbedderError(f"The server at {SERVER} is silent.", "Start it."), 502, True),
    "a model that answers": (LLMError(f"The server at {SERVER} is silent.", "Start it."), 502, True),
    "a vector index": (VectorsUnreachable(f"The index at {SERVER} is silent.", "Start it."), 503, True),
    "a store in upkeep": (InUpkeep(f"{SERVER} is being mended.", "Wait."), 503, True),
    "a damaged store": (StoreError(f"{SERVER} is damaged.", "Repair it."), 500, True),
    "any error": (RagError(f"{SERVER} is wrong.", "Mend it."), 500, True),
    "what nobody foresaw": (KeyError(SERVER), 500, False),
}


@pytest.mark.parametrize(("fault", "status", "is_told"), FAULTS.values(), ids=FAULTS)
def test_a_fault_has_its_status_and_one_that_nobody_foresaw_has_no_details(
    serve: Serve,
    library: Library,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    fault: Exception,
    status: int,
    is_told: bool,
) -> None:
    monkeypatch.setattr(library.searching, "search", failing(fault))
    factory = logging.getLogRecordFactory()
    logging.setLogRecordFactory(logs._record)  # as `logs.configure` has it
    try:
        answer = serve(OWNER).post("/search", {"query": "harbour"})
        logged = status == 500 and says_soon(caplog, type(fault).__name__)
    finally:
        logging.setLogRecordFactory(factory)
    assert answer.status == status
    assert (SERVER in answer.error) == is_told
    assert SERVER not in caplog.text
    assert logged == (status == 500), "the log says where a 500 is from"


@pytest.mark.parametrize(("fault", "status", "is_told"), FAULTS.values(), ids=FAULTS)
def test_a_guest_hears_of_no_server(
    serve: Serve,
    library: Library,
    monkeypatch: pytest.MonkeyPatch,
    fault: Exception,
    status: int,
    is_told: bool,
) -> None:
    monkeypatch.setattr(library.searching, "search", failing(fault))
    answer = serve(GUEST).post("/search", {"query": "harbour"})
    assert (answer.status, SERVER in answer.error) == (status, False)


def says_soon(caplog: pytest.LogCaptureFixture, word: str) -> bool:
    """Whether the log has it now, or a moment after the answer was sent."""
    until = time.monotonic() + 5
    while word not in caplog.text and time.monotonic() < until:
        time.sleep(0.01)
    return word in caplog.text


def failing(fault: Exception) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise fault

    return fail


@pytest.mark.parametrize("viewer", [OWNER, GUEST], ids=["owner", "guest"])
def test_of_settings_that_cannot_be_read_only_the_owner_hears_where(tmp_path: Path, viewer: Viewer) -> None:
    """Nothing that was sent is wrong, so it is no 400."""
    (tmp_path / "config.yaml").write_text("top_k: many\n", "utf-8")
    broken = partial(load, {"COMMONPLACE_HOME": str(tmp_path)})
    with serving_rest(lambda: Library.open(broken()), viewer) as rest:
        for answer in (rest.get("/status"), rest.post("/search", {"query": "harbour"})):
            assert answer.status == 503
            assert (str(tmp_path) in answer.error) == viewer.is_owner
            assert ("Try again later." in answer.error) != viewer.is_owner
