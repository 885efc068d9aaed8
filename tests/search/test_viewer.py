"""What a guest sees: granted stores, no private note, and nothing of what only the owner may do."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_core.config import Settings
from rag_core.errors import Forbidden, NotFound
from rag_core.library import Library
from rag_core.library.library import SERVICES
from rag_core.library.service import Service
from rag_core.types import OWNER, Job, Mode, Viewer
from tests.conftest import index
from tests.support.trees import write

MODES: tuple[Mode, ...] = ("hybrid", "vector", "lexical")
GUEST = Viewer("friend@example.com", stores=frozenset({"shared"}), may_ask=True)
STRANGER = Viewer("nobody@example.com")
SECRET = "---\nprivate: true\ntags: [hidden]\naliases: [Codename]\n---\n# Diary\n\n"


NOTES = {
    "shared/open.md": "# Open\n\nThe harbour opens at six.\n",
    "shared/secret.md": SECRET + "The harbour secret is buried.\n",
    "shared/copy-open.md": "# Twin\n\nBoats leave the harbour.\n",
    "shared/copy-private.md": "---\nprivate: true\n---\n# Twin\n\nBoats leave the harbour.\n",
    "mine/own.md": "# Own\n\nThe harbour of my own.\n",
}


def fill(library: Library, notes: Path) -> Library:
    write(notes, NOTES)
    index(library, "shared", notes / "shared")
    index(library, "mine", notes / "mine")
    return library


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """For tests that change nothing."""
    folder = tmp_path_factory.mktemp("viewer")
    (folder / "notes").mkdir()
    opened = Library.open(Settings(folder / "data", folder / "models", ()))
    yield fill(opened, folder / "notes")
    opened.close()


@pytest.fixture
def own_library(tmp_path: Path, notes: Path) -> Iterator[Library]:
    """For tests that go on to change the notes."""
    opened = Library.open(Settings(tmp_path / "data", tmp_path / "models", ()))
    yield fill(opened, notes)
    opened.close()


# --- stores -----------------------------------------------------------------------------


def test_guest_sees_the_names_of_granted_stores_only(library: Library) -> None:
    assert library.stores.names(GUEST) == ["shared"]
    assert library.stores.names(STRANGER) == []
    assert library.stores.names(OWNER) == ["mine", "shared"]


READS: dict[str, Callable[[Library, Viewer, str], Any]] = {
    "search": lambda library, viewer, store: library.search(viewer, "harbour", [store]),
    "similar": lambda library, viewer, store: library.searching.similar(viewer, store, "own.md"),
    "ask": lambda library, viewer, store: library.ask(viewer, "harbour", [store]),
    "neighbours": lambda library, viewer, store: library.documents.neighbours(viewer, store, "key"),
    "around": lambda library, viewer, store: library.documents.around(viewer, store, "key"),
    "excerpt": lambda library, viewer, store: library.documents.excerpt(viewer, store, "own.md"),
    "one_store": lambda library, viewer, store: library.stores.resolve(viewer, store),
    "documents": lambda library, viewer, store: library.documents.all(viewer, store),
    "document": lambda library, viewer, store: library.documents.get(viewer, store, "own.md"),
    "facets": lambda library, viewer, store: library.documents.facets(viewer, [store]),
    "store_info": lambda library, viewer, store: library.stores.info(viewer, store),
    "generations": lambda library, viewer, store: library.stores.generations(viewer, [store]),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_ungranted_store_and_unknown_store_are_the_same_to_a_guest(
    library: Library, read: Callable[[Library, Viewer, str], Any]
) -> None:
    texts = []
    for name in ("mine", "nine"):
        with pytest.raises(NotFound) as error:
            read(library, GUEST, name)
        texts.append(str(error.value).replace(name, "…"))
    assert texts[0] == texts[1]


def test_store_in_the_query_is_no_way_around(library: Library) -> None:
    with pytest.raises(NotFound, match="'mine'"):
        library.search(GUEST, "harbour store:mine")


def test_search_without_names_stays_in_granted_stores(library: Library) -> None:
    assert library.search(GUEST, "harbour").stores == ("shared",)


def test_viewer_without_a_store_is_sent_to_the_owner(library: Library) -> None:
    with pytest.raises(NotFound) as error:
        library.search(STRANGER, "harbour")
    assert error.value.suggestion == "Ask the owner to share one."


# --- private documents ------------------------------------------------------------------


def paths(library: Library, viewer: Viewer, query: str, mode: Mode = "hybrid") -> set[str]:
    hits = library.search(viewer, query, ["shared"], mode=mode, top_k=50).hits
    return {path for hit in hits for path in (hit.document.path, *hit.copies)}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "query",
    [
        "harbour secret buried",
        "Codename",
        "Diary",
        "secret.md",
        '"secret is buried"',
        "tag:hidden",
        "path:secret.md",
    ],
)
def test_private_document_is_never_found_by_a_guest(library: Library, query: str, mode: Mode) -> None:
    assert "secret.md" in paths(library, OWNER, query)
    assert paths(library, GUEST, query, mode) <= {"open.md", "copy-open.md"}


def test_guest_has_as_many_results_as_asked_however_many_are_private(
    own_library: Library, notes: Path
) -> None:
    for number in range(150):
        text = SECRET + f"A cormorant, a cormorant and a cormorant, {number}."
        (notes / "shared" / f"p{number}.md").write_text(text, "utf-8")
    for number in range(5):
        text = f"# Bird {number}\n\nIt may have been a cormorant or some other bird, {number}."
        (notes / "shared" / f"b{number}.md").write_text(text, "utf-8")
    index(own_library, "shared")
    for mode in MODES:
        assert len(own_library.search(GUEST, "cormorant", mode=mode, top_k=5).hits) == 5


def test_private_passages_that_wait_are_not_counted_for_a_guest(own_library: Library, notes: Path) -> None:
    def interrupt(job: Job) -> None:
        if job.progress.phase == "embedding":
            raise KeyboardInterrupt

    (notes / "shared" / "new-private.md").write_text(SECRET + "Not yet embedded.", "utf-8")
    (notes / "shared" / "new-open.md").write_text("# New\n\nNot yet embedded either.", "utf-8")
    for name, said in (("private", SECRET), ("open", "# Diary\n\n")):  # one text, which both hold
        (notes / "shared" / f"twin-{name}.md").write_text(said + "Waits in two places.", "utf-8")
    own_library.jobs.request(OWNER, "shared")
    with pytest.raises(KeyboardInterrupt):
        own_library.jobs.run(OWNER, "shared", interrupt)
    assert own_library.search(OWNER, "harbour", ["shared"]).pending == 3
    assert own_library.search(GUEST, "harbour").pending == 2
    assert own_library.stores.info(GUEST, "shared").pending == 2


def test_document_that_becomes_private_disappears_for_a_guest(own_library: Library, notes: Path) -> None:
    (notes / "shared" / "open.md").write_text(
        "---\nprivate: true\n---\n# Open\n\nThe harbour opens at six.\n", "utf-8"
    )
    index(own_library, "shared")
    assert "open.md" not in paths(own_library, GUEST, "harbour opens")


# --- what the owner alone sees of a store -----------------------------------------------


def test_guest_does_not_see_folders_sizes_and_failures_of_a_store(own_library: Library, notes: Path) -> None:
    (notes / "shared" / "photo.bin").write_bytes(bytes(range(256)) * 20)
    index(own_library, "shared")
    info = own_library.stores.info(GUEST, "shared")
    assert (info.sources, info.size_bytes, info.failed, info.skipped) == ((), 0, 0, 0)
    assert own_library.stores.info(OWNER, "shared").skipped == 1


@pytest.mark.posix
def test_last_good_text_of_a_file_that_failed_is_still_found_by_a_guest(
    own_library: Library, notes: Path
) -> None:
    (notes / "shared" / "open.md").write_bytes(b"\xef\xbb\xbf" + b"\xff" * 20)  # marked as UTF-8, and is not
    assert index(own_library, "shared").failed == 1
    assert "open.md" in paths(own_library, GUEST, "harbour opens six")
    assert "open.md" in [each.path for each in own_library.documents.all(GUEST, "shared")]


# --- what only the owner may do ---------------------------------------------------------

OPEN_TO_ALL = {
    "stores": {"names", "info", "infos", "generations", "resolve", "status"},
    "documents": {"get", "all", "neighbours", "facets", "excerpt", "around"},
    "originals": {"text", "picture"},
    "pictures": {"get"},
    "searching": {"search", "others", "similar", "suggest", "with_file_states", "warm"},
    "asking": {"ask", "conversations", "conversation", "keep_reply", "forget_conversations"},
    "sharing": {"viewer_for", "record_visit", "knows_token"},
}
"""What anybody may call; a test of each, here or in test_security_table.py, says what a guest gets."""


def methods(service: Service) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, method in inspect.getmembers(type(service), inspect.isfunction):
        if not name.startswith("_"):
            yield name, method


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_only_these_methods_of_a_service_are_open_to_all(library: Library, name: str) -> None:
    service = getattr(library, name)
    found = {called for called, method in methods(service) if "open_to_all" in vars(method)}
    assert found == OPEN_TO_ALL.get(name, set())


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_guest_may_call_no_other_method(library: Library, name: str) -> None:
    service = getattr(library, name)
    for called, method in methods(service):
        if called not in OPEN_TO_ALL.get(name, ()):
            with pytest.raises(Forbidden, match="Only the owner"):
                method(service, GUEST)
