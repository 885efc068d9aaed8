"""Every page that a guest may open, in good times and bad: nothing in it is the owner's alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from rag_core.access import REFUSAL
from rag_core.access.headers import LOGIN_HEADER, OWNER_HEADERS, ROLE_HEADER
from rag_core.library import Library
from rag_core.types import OWNER, Viewer
from tests.access.speakers import held
from tests.ask.answering import Answering
from tests.conftest import index
from tests.pages.visiting import drawn, markup, open_page
from tests.support.chat_servers import OllamaChat
from tests.support.trees import write
from ui.ask import ask_jobs
from ui.frame import access, deps, work

pytestmark = pytest.mark.thorough

ADA = "ada@example.com"
NOTES = {
    "tea.md": "# Tea\n\nGreen tea in the pot. [[Pot]] [[secret]]\n",
    "pot.md": "# Pot\n\nThe pot is blue.\n",
    "secret.md": "---\nprivate: true\ntags: [underhand]\n---\n# Hidden title\n\nGreen tea is poison.\n",
    "out.md": "# Out\n\nGreen tea left out.\n",
}
PAGES: dict[str, tuple[str, dict[str, str]]] = {
    "search": ("search", {}),
    "found": ("search", {"q": "green tea"}),
    "found by meaning": ("search", {"q": "green tea", "mode": "vector"}),
    "as a table": ("search", {"q": "green tea", "view": "table"}),
    "not found": ("search", {"q": "zebra", "mode": "lexical"}),
    "an unknown tag": ("search", {"q": "tag:underhan"}),
    "an unknown store": ("search", {"q": "tea", "store": "mine"}),
    "files": ("files", {}),
    "files of an unknown store": ("files", {"store": "mine"}),
    "failed files": ("files", {"store": "notes", "state": "failed"}),
    "a document": ("files", {"store": "notes", "path": "tea.md"}),
    "a private document": ("files", {"store": "notes", "path": "secret.md"}),
    "a failed document": ("files", {"store": "notes", "path": "bad.docx"}),
    "an excluded document": ("files", {"store": "notes", "path": "out.md"}),
    "ask": ("ask", {}),
    "a conversation of nobody": ("ask", {"c": "f" * 32}),
}
OF_THE_OWNER = (
    "Index", "Settings", "config.yaml", "commonplace", "doctor", "Exclude", "Read again", "Look for it",
    "Include again", "Why is a file", "failed", "skipped", "excluded", "Install", "Choose a folder",
    "Not for you", "poison", "Hidden title", "underhand", "mine", "left out",
    "bad.docx", "Traceback", "sqlite",
)  # fmt: skip


def change_nothing(_: Library) -> None:
    """All is well."""


def change_on_disk(library: Library) -> None:
    """A file is changed and one is gone since."""
    folder = Path(library.sources.all(OWNER, "notes")[0].source.root)
    (folder / "tea.md").write_text("# Tea\n\nGreen tea, changed.\n", "utf-8")
    (folder / "pot.md").unlink()


def ask_for_a_run(library: Library) -> None:
    """A run is asked for, and nobody is at it."""
    library.jobs.request(OWNER, "notes", force=True)


def lose_the_model(library: Library) -> None:
    """The store's model is not there."""
    library.stores.delete(OWNER, "notes")
    library.create_store(OWNER, "notes", "minilm")
    index(library, "notes", library.settings.roots[0] / "notes" / "notes")
    library.files.exclude(OWNER, "notes", "out.md", "Not for you.")
    index(library, "notes")
    library.sharing.share(OWNER, ADA, ["notes"], may_ask=True)


def damage(library: Library) -> None:
    """The store's file is no store any more."""
    st.cache_data.clear()
    st.cache_resource.clear()  # closes the library
    path = library.settings.store_dir / "notes.db"
    for beside in path.parent.glob("notes.db-*"):
        beside.unlink()
    path.write_bytes(b"no database" * 5000)


def empty(library: Library) -> None:
    """The store holds nothing."""
    library.stores.delete(OWNER, "notes")
    library.create_store(OWNER, "notes", "hashing")
    library.sharing.share(OWNER, ADA, ["notes"], may_ask=True)


CONDITIONS: tuple[Callable[[Library], None], ...] = (
    change_nothing, change_on_disk, ask_for_a_run, lose_the_model, damage, empty,
)  # fmt: skip


@pytest.fixture
def shared(owner: None, notes: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """A store that Ada may see and another; she looks at the pages."""
    write(notes / "notes", NOTES)
    (notes / "notes" / "bad.docx").write_bytes(b"PK\x03\x04 broken")
    write(notes / "mine", {"own.md": "# Own\n\nGreen tea of mine.\n"})
    library = deps.library()
    index(library, "notes", notes / "notes")
    index(library, "mine", notes / "mine")
    library.files.exclude(OWNER, "notes", "out.md", "Not for you.")
    index(library, "notes")
    library.sharing.share(OWNER, ADA, ["notes"], may_ask=True)
    monkeypatch.setattr(access, "_headers", lambda: {LOGIN_HEADER: ADA, ROLE_HEADER: "guest"})
    return library


def said(page: AppTest) -> str:
    """All that a page shows, its links, labels and options too."""
    shown = [markup(page), *(str(element.proto) for element in page.main if hasattr(element, "proto"))]
    return "\n".join(shown)


@pytest.mark.parametrize("condition", CONDITIONS, ids=[each.__name__ for each in CONDITIONS])
def test_nothing_of_the_owners_is_on_any_page(
    shared: Library, notes: Path, condition: Callable[[Library], None]
) -> None:
    condition(shared)
    for name, (view, params) in PAGES.items():
        page = drawn(open_page(view, **params))
        text = said(page).replace(params.get("store", "\0"), "…").replace(params.get("q", "\0"), "…")
        text = text.replace(params.get("path", "\0"), "…").replace(params.get("state", "\0"), "…")
        for hidden in (*OF_THE_OWNER, str(notes), os.fspath(shared.settings.data_dir), "127.0.0.1"):
            assert hidden not in text, (name, hidden, text[max(0, text.index(hidden) - 300) :][:400])


def test_a_guest_is_told_less_of_an_error_than_the_owner(
    shared: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage(shared)
    for_guest = [error.value.replace("\\", "") for error in open_page("files", store="notes").error]
    assert for_guest == ["Something went wrong. Try again later, or tell the owner of this library."]
    monkeypatch.setattr(access, "_headers", lambda: OWNER_HEADERS)
    for_owner = [error.value for error in open_page("files", store="notes").error]
    assert for_owner
    assert for_owner != for_guest


def test_a_guest_who_is_let_in_no_more_gets_a_refusal_and_nothing_else(shared: Library) -> None:
    page = open_page("search", q="green tea")
    assert "Green" in said(page)
    shared.sharing.unshare(OWNER, ADA)
    page.run()
    assert [error.value for error in page.error] == [REFUSAL]
    assert "Green" not in said(page)


@pytest.mark.parametrize(
    "headers", [{}, {LOGIN_HEADER: ADA, ROLE_HEADER: "guest"}], ids=["nobody", "a guest"]
)
def test_pages_of_the_owner_refuse_everybody_else_even_when_they_are_run(
    shared: Library, monkeypatch: pytest.MonkeyPatch, headers: dict[str, str]
) -> None:
    monkeypatch.setattr(access, "_headers", lambda: headers)
    root = Path(access.__file__).parents[2] / "pages"
    for view in ("index", "stores", "settings"):
        page = drawn(AppTest.from_file(str(root / f"{view}.py"), default_timeout=20).run())
        assert [error.value for error in page.error] == [REFUSAL]
        assert not page.title


def test_a_guest_who_may_only_search_is_not_offered_to_ask(shared: Library) -> None:
    shared.sharing.share(OWNER, ADA, ["notes"], may_ask=False)
    page = drawn(AppTest.from_file(str(Path(access.__file__).parents[2] / "pages" / "ask.py")).run())
    assert "not ask questions" in page.error[0].value
    assert not page.text_input


def test_a_question_is_asked_of_what_may_be_seen_when_it_is_asked(shared: Library) -> None:
    shared.sharing.share(OWNER, ADA, ["mine"], may_ask=True)
    page = open_page("ask")
    shared.sharing.unshare(OWNER, ADA, ["mine"])
    page.text_input(key="ask_box").set_value("green tea")
    drawn(page.button(key="ask_submit").click().run())
    work.cancel_all()
    guest = shared.sharing.viewer_for(ADA)
    assert guest is not None
    [kept] = shared.asking.conversations(guest)
    [reply] = shared.asking.conversation(guest, kept.id)
    assert reply.stores == ("notes",)


def test_an_answer_under_way_is_stopped_when_its_guest_may_do_less(
    answering: Answering, ollama_chat: OllamaChat
) -> None:
    with held(ollama_chat):
        library = answering(ollama_chat.script)
        before = Viewer(ADA, stores=frozenset({"port", "home"}), may_ask=True)
        ask_jobs.start_answer(library, before, "c" * 32, ask_jobs.PendingQuestion("harbour opens at six"))
        job = ask_jobs.of(library, before, "c" * 32)
        assert job is not None
        assert job.is_for(before)
        for now in (replace(before, stores=frozenset({"port"})), replace(before, may_ask=False)):
            assert not job.is_for(now)
        assert ask_jobs.of(library, replace(before, stores=frozenset({"port"})), "c" * 32) is None
        assert job.stopping
        assert not job.running
