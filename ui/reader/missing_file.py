"""Why a file is not found: a form for its path, and optionally a query."""

from __future__ import annotations

import re
from typing import Final

import streamlit as st

from rag_core.messages import Message
from rag_core.reports import Diagnosis
from rag_core.types import Viewer
from rag_core.wording import ranked
from ui.frame.deps import library
from ui.frame.hits import label
from ui.frame.links import INDEX_PAGE
from ui.frame.messages import ON_INDEX_PAGE, sentence

WHY: Final = "why"
"""The parameter of the Files page that opens the form. Its value is the query that found nothing, or 1."""

OF: Final = "of"
"""The parameter with the path of the missing file."""

_ANSWER: Final = "missing_file_answer"
_FILE_NAME: Final = re.compile(r"\S.{0,200}\.\w{1,5}")  # typed text that may be a file name
_CAME: Final = "missing_file_came"
_MARKS: Final = {"ok": ":material/check:", "note": ":material/info:", "no": ":material/close:"}


def show_missing_file(viewer: Viewer, store: str) -> None:
    """Draw a form that asks for a path and, optionally, a query; then the explanation why the file is not
    found. For guests, draw nothing."""
    if not viewer.is_owner:
        return
    came, of = st.query_params.get(WHY, ""), st.query_params.get(OF, "")
    if is_new := (came, of) != st.session_state.get(_CAME):
        st.session_state[_CAME] = came, of
        query = "" if came == "1" else came
        st.session_state["missing_file_query"] = query
        st.session_state["missing_file_path"] = of or (query if _FILE_NAME.fullmatch(query) else "")
    with st.expander("Why is a file not found?", WHY in st.query_params, type="compact", key="missing_file"):
        with st.form("missing_file_form", border=False):
            path = st.text_input(
                "Name or path of the file",
                key="missing_file_path",
                placeholder="tea.md",
                autocomplete="off",
                help="If no other file has this name, the name is enough. Otherwise write the path that this"
                " page shows, or the whole path on this computer.",
            ).strip()
            query = st.text_input(
                "Query that should find it",
                key="missing_file_query",
                placeholder="Optional",
                autocomplete="off",
            ).strip()
            asked = st.form_submit_button("Tell me why", key="missing_file_ask")
        now = library().stores.generations(viewer, [store])
        if asked or (is_new and path):
            found = library().upkeep.explain(viewer, path, [store], query=query) if path else []
            st.session_state[_ANSWER] = now, found
            if not path:
                st.caption("Type the path of a file first.")
        then, answer = st.session_state.get(_ANSWER, (None, ()))
        for found in answer if then == now else ():  # an answer for another state is not shown again
            _show(found)


def _show(found: Diagnosis) -> None:
    verdict = "can be found" if found.findable else "cannot be found"
    said = [f"**{label(found.path)} {verdict} in {label(found.store)}**", ""]
    said += [f"{_MARKS[step.state]} {label(sentence(step.said))}" for step in found.steps]
    if found.query:
        said.append(f":material/search: {label(ranked(found))}")
    if found.advice:
        said.append(f"**Next:** {label(sentence(found.advice))}")
    st.markdown("  \n".join(said))
    if isinstance(found.advice, Message) and found.advice.code in ON_INDEX_PAGE:
        goal = {"store": found.store}
        st.page_link(INDEX_PAGE, label="Go to the Index page", icon=":material/sync:", query_params=goal)
