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
from rag_core.reports import Problem
from rag_core.types import OWNER, Job, Mode, Source, Viewer
from tests.conftest import index
from tests.trees import write

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
    assert library.store_names(GUEST) == ["shared"]
    assert library.store_names(STRANGER) == []
    assert library.store_names(OWNER) == ["mine", "shared"]


READS: dict[str, Callable[[Library, Viewer, str], Any]] = {
    "search": lambda library, viewer, store: library.search(viewer, "harbour", [store]),
    "ask": lambda library, viewer, store: library.ask(viewer, "harbour", [store]),
    "neighbours": lambda library, viewer, store: library.neighbours(viewer, store, "key"),
    "around": lambda library, viewer, store: library.around(viewer, store, "key"),
    "excerpt": lambda library, viewer, store: library.excerpt(viewer, store, "own.md"),
    "one_store": lambda library, viewer, store: library.one_store(viewer, store),
    "documents": lambda library, viewer, store: library.documents(viewer, store),
    "document": lambda library, viewer, store: library.document(viewer, store, "own.md"),
    "facets": lambda library, viewer, store: library.facets(viewer, [store]),
    "store_info": lambda library, viewer, store: library.store_info(viewer, store),
    "generations": lambda library, viewer, store: library.generations(viewer, [store]),
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


@pytest.mark.parametrize("mode", MODES)
def test_private_copy_is_not_folded_into_what_a_guest_sees(library: Library, mode: Mode) -> None:
    assert {"copy-open.md", "copy-private.md"} <= paths(library, OWNER, "boats leave", mode)
    assert paths(library, GUEST, "boats leave", mode) - {"open.md"} == {"copy-open.md"}


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


def test_passage_of_a_private_document_is_not_there_for_a_guest(library: Library) -> None:
    key = library.search(OWNER, '"secret is buried"').hits[0].key
    with pytest.raises(NotFound) as hidden:
        library.neighbours(GUEST, "shared", key)
    with pytest.raises(NotFound) as missing:
        library.neighbours(GUEST, "shared", "no-such-key")
    assert str(hidden.value) == str(missing.value)


def test_private_documents_are_not_listed_for_a_guest(library: Library) -> None:
    assert [each.path for each in library.documents(GUEST, "shared")] == ["copy-open.md", "open.md"]


def test_private_documents_are_not_counted_for_a_guest(library: Library) -> None:
    info = library.store_info(GUEST, "shared")
    assert (info.file_count, info.chunk_count, info.types) == (2, 2, {"markdown": 2})
    assert library.store_info(OWNER, "shared").file_count == 4


def test_private_documents_are_in_no_facet_of_a_guest(library: Library) -> None:
    assert library.facets(GUEST) == {"types": {"markdown": 2}, "tags": {}, "folders": {"": 2}}


def test_private_passages_that_wait_are_not_counted_for_a_guest(own_library: Library, notes: Path) -> None:
    def interrupt(job: Job) -> None:
        if job.progress.phase == "embedding":
            raise KeyboardInterrupt

    (notes / "shared" / "new-private.md").write_text(SECRET + "Not yet embedded.", "utf-8")
    (notes / "shared" / "new-open.md").write_text("# New\n\nNot yet embedded either.", "utf-8")
    for name, said in (("private", SECRET), ("open", "# Diary\n\n")):  # one text, which both hold
        (notes / "shared" / f"twin-{name}.md").write_text(said + "Waits in two places.", "utf-8")
    own_library.request_index(OWNER, "shared")
    with pytest.raises(KeyboardInterrupt):
        own_library.run(OWNER, "shared", interrupt)
    assert own_library.search(OWNER, "harbour", ["shared"]).pending == 3
    assert own_library.search(GUEST, "harbour").pending == 2
    assert own_library.store_info(GUEST, "shared").pending == 2


def test_document_that_becomes_private_disappears_for_a_guest(own_library: Library, notes: Path) -> None:
    (notes / "shared" / "open.md").write_text(
        "---\nprivate: true\n---\n# Open\n\nThe harbour opens at six.\n"
    )
    index(own_library, "shared")
    assert "open.md" not in paths(own_library, GUEST, "harbour opens")


# --- what the owner alone sees of a store -----------------------------------------------


def test_guest_does_not_see_folders_sizes_and_failures_of_a_store(own_library: Library, notes: Path) -> None:
    (notes / "shared" / "photo.bin").write_bytes(bytes(range(256)) * 20)
    index(own_library, "shared")
    info = own_library.store_info(GUEST, "shared")
    assert (info.sources, info.size_bytes, info.failed, info.skipped) == ((), 0, 0, 0)
    assert own_library.store_info(OWNER, "shared").skipped == 1


def test_last_good_text_of_a_file_that_failed_is_still_found_by_a_guest(
    own_library: Library, notes: Path
) -> None:
    (notes / "shared" / "open.md").write_bytes(b"\xef\xbb\xbf" + b"\xff" * 20)  # marked as UTF-8, and is not
    assert index(own_library, "shared").failed == 1
    assert "open.md" in paths(own_library, GUEST, "harbour opens six")
    assert "open.md" in [each.path for each in own_library.documents(GUEST, "shared")]


# --- what only the owner may do ---------------------------------------------------------

OWN_CONVERSATIONS = {"conversations", "conversation", "keep_reply", "forget_conversations"}
OPEN_TO_GUESTS = {"store_names", "store_infos", "status", "compared", *READS, *OWN_CONVERSATIONS}
BEFORE_A_VIEWER = {"knows_token", "viewer_for", "record_visit"}
WITHOUT_A_VIEWER = {"open", "close", "warm", "settings", "stop_answers", "check_may_ask", *BEFORE_A_VIEWER}
SOURCE = Source(1, "/", ("*",))
PROBLEM = Problem("failed", "It is broken.", 1, ("open.md",))
OWNER_ONLY: dict[str, Callable[[Library], Any]] = {
    "create_token": lambda library: library.create_token(GUEST, "script"),
    "tokens": lambda library: library.tokens(GUEST),
    "revoke_token": lambda library: library.revoke_token(GUEST, "script"),
    "share": lambda library: library.share(GUEST, "a@example.com", ["shared"]),
    "unshare": lambda library: library.unshare(GUEST, "a@example.com"),
    "make_owner": lambda library: library.make_owner(GUEST, GUEST.login),
    "people": lambda library: library.people(GUEST),
    "guests": lambda library: library.guests(GUEST, "shared"),
    "visits": lambda library: library.visits(GUEST),
    "tailscale": lambda library: library.tailscale(GUEST),
    "privacy": lambda library: library.privacy(GUEST, "shared"),
    "private_rules": lambda library: library.private_rules(GUEST, "shared"),
    "set_private_rules": lambda library: library.set_private_rules(GUEST, "shared", ()),
    "change_private_rules": lambda library: library.change_private_rules(GUEST, "shared"),
    "hidden_by": lambda library: library.hidden_by(GUEST, "shared", "*"),
    "backends": lambda library: library.backends(GUEST),
    "switch_store": lambda library: library.switch_store(GUEST, "notes", "hashing:64"),
    "abandon_switch": lambda library: library.abandon_switch(GUEST, "notes"),
    "let_private_leave": lambda library: library.let_private_leave(GUEST, "notes", allowed=True),
    "heal": lambda library: library.heal(GUEST, "notes"),
    "can_send": lambda library: library.can_send(GUEST, "notes"),
    "attach_store": lambda library: library.attach_store(GUEST, "s3vectors://bucket/main"),
    "take_over_store": lambda library: library.take_over_store(GUEST, "notes"),
    "create_store": lambda library: library.create_store(GUEST, "new", "hashing"),
    "make_if_needed": lambda library: library.make_if_needed(GUEST, "new"),
    "make_declared": lambda library: library.make_declared(GUEST),
    "verify": lambda library: library.verify(GUEST, "shared"),
    "doctor": lambda library: library.doctor(GUEST),
    "connections": lambda library: library.connections(GUEST),
    "ollama_models": lambda library: library.ollama_models(GUEST),
    "pull_model": lambda library: library.pull_model(GUEST, "embeddinggemma"),
    "goes": lambda library: library.goes(GUEST, "ollama"),
    "try_embedder": lambda library: library.try_embedder(GUEST, "hashing", "A sentence."),
    "explain_file": lambda library: library.explain_file(GUEST, "open.md", ["shared"]),
    "repair": lambda library: library.repair(GUEST, "shared"),
    "export_store": lambda library: library.export_store(GUEST, "shared", Path("shared.commonplace")),
    "import_store": lambda library: library.import_store(GUEST, Path("shared.commonplace")),
    "delete_store": lambda library: library.delete_store(GUEST, "shared"),
    "name_after": lambda library: library.name_after(GUEST, "/"),
    "draft_source": lambda library: library.draft_source(GUEST, "shared", "/", ["*"]),
    "add_source": lambda library: library.add_source(GUEST, "shared", "/", ["*"]),
    "source": lambda library: library.source(GUEST, "shared", 1),
    "sources": lambda library: library.sources(GUEST, "shared"),
    "plans": lambda library: library.plans(GUEST, "shared"),
    "change_source": lambda library: library.change_source(GUEST, "shared", 1, ["*"]),
    "pause_source": lambda library: library.pause_source(GUEST, "shared", 1),
    "remove_source": lambda library: library.remove_source(GUEST, "shared", 1),
    "rename_store": lambda library: library.rename_store(GUEST, "shared", "other"),
    "plan": lambda library: library.plan(GUEST, "shared", SOURCE),
    "files": lambda library: library.files(GUEST, "shared"),
    "file_states": lambda library: library.file_states(GUEST, "shared"),
    "file": lambda library: library.file(GUEST, "shared", "open.md"),
    "exclude_file": lambda library: library.exclude_file(GUEST, "shared", "open.md"),
    "take_back_file": lambda library: library.take_back_file(GUEST, "shared", "open.md"),
    "request_file": lambda library: library.request_file(GUEST, "shared", "open.md"),
    "request_files": lambda library: library.request_files(GUEST, "shared", ["open.md"]),
    "request_path": lambda library: library.request_path(GUEST, "shared", "open.md"),
    "add_below": lambda library: library.add_below(GUEST, "shared", "/x", (Path("/"),)),
    "request_below": lambda library: library.request_below(GUEST, "shared", "."),
    "path_in_store": lambda library: library.path_in_store(GUEST, "shared", "open.md"),
    "lines_in_store": lambda library: library.lines_in_store(GUEST, "shared", "open.md:1-2"),
    "stores_meant": lambda library: library.stores_meant(GUEST, "open.md"),
    "paths_like": lambda library: library.paths_like(GUEST, "shared", "op", 10),
    "take_out_passages": lambda library: library.take_out_passages(GUEST, "shared", ["key"]),
    "clear_store": lambda library: library.clear_store(GUEST, "shared", confirm=True),
    "problems": lambda library: library.problems(GUEST, "shared"),
    "retry": lambda library: library.retry(GUEST, "shared", PROBLEM),
    "asked": lambda library: library.asked(GUEST, "shared"),
    "request_index": lambda library: library.request_index(GUEST, "shared"),
    "index": lambda library: library.index(GUEST, "shared"),
    "requested": lambda library: library.requested(GUEST, "shared"),
    "run": lambda library: library.run(GUEST, "shared"),
    "cancel": lambda library: library.cancel(GUEST, "shared"),
    "jobs": lambda library: library.jobs(GUEST, "shared"),
    "last_begun": lambda library: library.last_begun(GUEST, ()),
    "lost_default": lambda library: library.lost_default(GUEST),
    "idle_excludes": lambda library: library.idle_excludes(GUEST, "/", (), ("x",)),
    "job": lambda library: library.job(GUEST, "shared", 1),
    "job_problems": lambda library: library.job_problems(GUEST, "shared", 1),
    "job_results": lambda library: library.job_results(GUEST, "shared", 1),
}


def test_every_public_method_is_classified() -> None:
    public = {name for name, _ in inspect.getmembers(Library, callable) if not name.startswith("_")}
    assert public == (OPEN_TO_GUESTS | set(OWNER_ONLY) | WITHOUT_A_VIEWER) - {"settings"}


def test_every_method_that_shows_or_changes_a_store_takes_the_viewer_first() -> None:
    for name in OPEN_TO_GUESTS | set(OWNER_ONLY):
        parameters = list(inspect.signature(getattr(Library, name)).parameters.values())
        assert parameters[1].name == "viewer"
        assert parameters[1].default is inspect.Parameter.empty


@pytest.mark.parametrize("act", OWNER_ONLY.values(), ids=OWNER_ONLY)
def test_guest_may_not(library: Library, act: Callable[[Library], Any]) -> None:
    before = library.store_names(OWNER), library.generations(OWNER), library.jobs(OWNER, "shared")
    with pytest.raises(Forbidden, match="Only the owner"):
        act(library)
    assert before == (library.store_names(OWNER), library.generations(OWNER), library.jobs(OWNER, "shared"))


def test_a_guests_scores_do_not_tell_which_words_private_notes_hold(library: Library, notes: Path) -> None:
    (notes / "open.md").write_text("# Garden\n\nThe garden gate.\n")
    (notes / "more.md").write_text("# Shed\n\nThe garden shed.\n")
    (notes / "secret.md").write_text("---\nprivate: true\n---\n# Zoo\n\nThe zebra key.\n")
    index(library, "notes", notes)
    guest = Viewer("ann", stores=frozenset({"notes"}))
    known = library.search(guest, "garden zebra", mode="vector").hits
    unknown = library.search(guest, "garden quagga", mode="lexical").hits
    lexical = library.search(guest, "garden zebra", mode="lexical").hits
    assert known
    assert [hit.score for hit in lexical] == [hit.score for hit in unknown]
    assert {hit.document.root for hit in known} == {""}
