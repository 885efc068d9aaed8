"""The rules that keep notes of a store private, on its page."""

from __future__ import annotations

from typing import Final

import streamlit as st

from rag_core.errors import RagError
from rag_core.library import background
from rag_core.reports import Privacy
from rag_core.types import StoreInfo, Viewer
from rag_core.wording import plural, said_of_privacy
from ui import hits
from ui.deps import library
from ui.messages import errors_wait, show_error, show_waiting, show_warning

_PLACE: Final = "private"


def show_private_notes(viewer: Viewer, info: StoreInfo) -> None:
    """The rules that keep notes private with a button to remove each, and a box for another."""
    found = library().privacy.report(viewer, info.name)
    st.header("Private notes", anchor=False)
    st.html(hits.sentences(
        "Guests meet nothing of a private note: no passage, no link, no count, no name. A note is private"
        " that says so (`private: true` in its front matter), or whose path fits a rule here. A rule holds at"
        " once."
    ))  # fmt: skip
    st.html(hits.paragraphs(said_of_privacy(found), status=True))
    if found.unsure:
        show_warning(*(f"{path}: {why}" for path, why in found.unsure.items()))
    if info.attached:
        st.html(hits.paragraphs("What is private is decided where its index is filled."))
        return
    for number, (rule, count) in enumerate(found.rules.items()):
        _rule(viewer, info.name, number, rule, count)
    _another(viewer, found)
    show_waiting(_PLACE)


def _rule(viewer: Viewer, name: str, number: int, rule: str, count: int) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key=f"private_{name}_{number}"):
        st.markdown(f"**{hits.label(rule)}**", width="content")
        st.html(hits.paragraphs(f"hides {plural(count, 'document')}" if count else "hides nothing yet"))
        st.button(
            "Remove", key=f"private_remove_{name}_{number}", icon=":material/visibility:",
            help="Guests meet the notes that only this rule hides again.",
            on_click=_remove, args=(viewer, name, rule),
        )  # fmt: skip


def _another(viewer: Viewer, found: Privacy) -> None:
    box = f"private_new_{found.store}"
    glob = st.text_input(
        "Path or pattern", key=box, placeholder="for example journal/**", autocomplete="off",
        help="As for folders: * and ? stay inside a folder, ** crosses folders.",
    ).strip()  # fmt: skip
    st.button(  # above what moves when the box is left: a click would miss it
        "Keep private", key=f"private_add_{found.store}", icon=":material/visibility_off:",
        on_click=_add, args=(viewer, found.store, box),
    )  # fmt: skip
    if glob:
        _say_hidden(viewer, found, glob)


def _say_hidden(viewer: Viewer, found: Privacy, glob: str) -> None:
    try:
        count = library().privacy.hidden_by(viewer, found.store, glob)
    except RagError as error:
        show_error(error)
        return
    later = "" if count else "It holds for what comes later, too."
    said = f"It hides {count:,} of {plural(found.documents, 'document')}."
    st.html(hits.paragraphs(said, later, status=True))


def _add(viewer: Viewer, name: str, box: str) -> None:
    with errors_wait(_PLACE):
        _follow(viewer, library().privacy.change(viewer, name, hide=[st.session_state[box]]))
        st.session_state[box] = ""


def _remove(viewer: Viewer, name: str, rule: str) -> None:
    with errors_wait(_PLACE):  # it was removed elsewhere meanwhile
        _follow(viewer, library().privacy.change(viewer, name, show=[rule]))


def _follow(viewer: Viewer, changed: Privacy) -> None:
    """Let copies on other machines follow."""
    if changed.due:
        background.go_on(library(), viewer, changed.store)
