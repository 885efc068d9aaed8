"""The rules that keep notes of a store private, on the store's page and on the Settings page."""

from __future__ import annotations

import streamlit as st

from rag_core.errors import RagError
from rag_core.reports import Privacy
from rag_core.running import background
from rag_core.types import StoreInfo, Viewer
from rag_core.wording import plural, privacy
from ui.frame import hits
from ui.frame.deps import library
from ui.frame.hits import label
from ui.frame.messages import errors_wait, show_error, show_waiting, show_warning


def show_private_notes(viewer: Viewer, info: StoreInfo, title: str = "Private notes") -> None:
    """Draw the rules that keep notes private, folded under ``title``. Above them, draw a warning for each
    note that is private because its front matter is unclear about it."""
    report = library().privacy.report(viewer, info.name)
    if report.unsure:
        show_warning(*(f"{path}: {why}" for path, why in report.unsure.items()))
    with st.expander(title, icon=":material/visibility_off:", key=f"private_{info.name}"):
        _show_rules(viewer, info, report)
    show_waiting(_place(info.name))


def show_rules_of_stores(viewer: Viewer) -> None:
    """Draw the rules for private notes of every store, each under the store's name. For a store that cannot
    be read, draw the error."""
    for name in library().stores.names(viewer):
        try:
            show_private_notes(viewer, library().stores.info(viewer, name), label(name))
        except RagError as error:  # the store's own page says more
            st.html(hits.paragraphs(f"{name}: {error.message}"))


def _show_rules(viewer: Viewer, info: StoreInfo, report: Privacy) -> None:
    """Draw a button to remove each rule, and a box for a new one."""
    st.html(hits.paragraphs(privacy(report), status=True))
    if info.attached:
        st.html(hits.paragraphs("The computer that writes the index decides what is private."))
        return
    for number, (rule, count) in enumerate(report.rules.items()):
        with st.container(horizontal=True, vertical_alignment="center", key=f"private_{info.name}_{number}"):
            st.markdown(f"**{hits.label(rule)}**", width="content")
            st.html(hits.paragraphs(f"hides {plural(count, 'file')}" if count else "hides nothing yet"))
            st.button(
                "Remove",
                key=f"private_remove_{info.name}_{number}",
                icon=":material/visibility:",
                help="Guests see these notes again, unless another rule hides them.",
                on_click=_change,
                args=(viewer, info.name),
                kwargs={"show": rule},
            )
    box = f"private_new_{info.name}"
    glob = st.text_input(
        "Folder, note or pattern",
        key=box,
        placeholder="journal, or journal/**/*.md",
        autocomplete="off",
        help="In a pattern, `*` stays inside a folder and `**` crosses folders. A note with"
        " `private: true` in its front matter is private, too. Guests never find private notes.",
    ).strip()
    st.button(  # above the elements that move when the box loses the focus: otherwise a click would miss it
        "Keep private",
        key=f"private_add_{info.name}",
        icon=":material/visibility_off:",
        on_click=_change,
        args=(viewer, info.name),
        kwargs={"box": box},
    )
    if glob:
        try:
            count = library().privacy.hidden_by(viewer, info.name, glob)
            sentence = f"Hides {plural(count, 'file')}, and later ones that match."
            st.html(hits.paragraphs(sentence, status=True))
        except RagError as error:
            show_error(error)


def _change(viewer: Viewer, name: str, *, show: str = "", box: str = "") -> None:
    """Remove the rule ``show``, or add the rule in the box with the key ``box``."""
    with errors_wait(_place(name)):
        hide = [st.session_state[box]] if box else []
        changed = library().privacy.change(viewer, name, hide=hide, show=[show] if show else [])
        if box:
            st.session_state[box] = ""
        if changed.due:  # updates copies on other machines and guests' scores
            background.go_on(library(), viewer, name)


def _place(store: str) -> str:
    return f"private_{store}"
