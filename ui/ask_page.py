"""A conversation on the Ask page: each question with its answer and the passages beside it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import streamlit as st

from rag_core import reply_forms
from rag_core.errors import NotFound, RagError
from rag_core.replies import DEFAULT_K, MAX_K, Reply
from rag_core.types import Filters, Viewer
from ui import ask_html, ask_jobs, hits
from ui.ask_jobs import Job, Question
from ui.deps import facets, library
from ui.messages import show_error

PARAM: Final = "c"
BOX: Final = "ask_box"
SETTINGS_PAGE: Final = Path(__file__).resolve().parent.parent / "pages" / "settings.py"
ASK_PAGE: Final = SETTINGS_PAGE.with_name("ask.py")
_POLL_S: Final = 0.3
_MOST_KEPT: Final = 50
_LONGEST: Final = 100
_STORES, _FOLDER, _K = "ask_stores", "ask_folder", "ask_k"
_ERROR: Final = "ask_error"
_INTRODUCTION: Final = (
    "A model answers from the passages that fit your question best. Every quote is compared with its passage"
    " word for word; what is not there is marked."
)


def show_conversation(viewer: Viewer, stores: Sequence[str]) -> None:
    """The turns so far, the answer under way, and the box for the next question."""
    own, conversation = library(), st.query_params.get(PARAM, "")
    job = ask_jobs.of(own, viewer, conversation) if conversation else None
    turns = _turns(viewer, conversation, job)
    if job is not None and job.kept:  # since just now
        job, turns = None, _turns(viewer, conversation, None)
    if not turns and job is None:
        _introduce(viewer)
    for number, reply in enumerate(turns, 1):
        _show_turn(reply, number, last=number == len(turns) and job is None)
    if job is not None:
        _show_job(job, len(turns) + 1)
    if error := st.session_state.pop(_ERROR, None):
        show_error(error)
    _offer_question(viewer, stores, turns, busy=job is not None and job.running)


def _turns(viewer: Viewer, conversation: str, job: Job | None) -> list[Reply]:
    if not conversation:
        return []
    try:
        return library().conversation(viewer, conversation)
    except NotFound as error:
        if job is None:
            show_error(error)
        return []


def _introduce(viewer: Viewer) -> None:
    """What an answer is, or what to do where no model can give one."""
    if library().settings.llm:
        st.html(hits.paragraphs(_INTRODUCTION))
        return
    if not viewer.is_owner:
        st.html(hits.sentences("No model answers questions here; you get the passages that fit best."))
        return
    st.html(
        hits.sentences(
            "No model is set up to answer questions, so you get the passages that fit best.",
            "Next: set `llm` in config.yaml, such as `llm: ollama:MODEL`.",
        )
    )
    st.page_link(
        SETTINGS_PAGE, label="Where config.yaml is, and which models Ollama has", icon=":material/settings:"
    )


# --- a turn -----------------------------------------------------------------------------


def _show_turn(reply: Reply, number: int, *, last: bool) -> None:
    st.html(ask_html.question(reply.question, number))
    said, beside = st.columns([3, 2], gap="medium")
    with said:
        if reply.statements:
            st.html(ask_html.answer(reply.statements, number))
        st.html(hits.paragraphs(*_remarks(reply)))
        with st.container(key=f"copy_answer_{number}"):
            st.code(reply_forms.markdown(reply), language=None)
    with beside:
        if reply.references:
            st.html(ask_html.sources(reply.references, number, opened=last))


def _remarks(reply: Reply) -> list[str]:
    said = [reply.message, "Stopped." if reply.ending == "stopped" else ""]
    return [*said, *(notice.on_page or notice.message for notice in reply.notices)]


def _show_job(job: Job, number: int) -> None:
    st.html(ask_html.question(job.question.text, number))
    if job.running:
        st.fragment(_show_draft, run_every=_POLL_S)(job, number)
    elif job.error is not None:
        if job.reply is not None:
            _show_turn(job.reply, number, last=True)
        show_error(job.error)


def _show_draft(job: Job, number: int) -> None:
    if not job.running:
        st.rerun()
    draft = job.draft
    said, beside = st.columns([3, 2], gap="medium")
    with said:
        if draft.statements or draft.rest.strip():
            st.html(ask_html.answer(draft.statements, number, draft.rest))
        st.html(ask_html.waiting(draft))
        st.button(
            "Stop", key="ask_stop", icon=":material/stop_circle:", on_click=job.stop, disabled=job.stopping
        )
    with beside:
        if draft.references:
            st.html(ask_html.sources(draft.references, number, opened=True))


# --- the next question ------------------------------------------------------------------


def _offer_question(viewer: Viewer, stores: Sequence[str], turns: Sequence[Reply], *, busy: bool) -> None:
    label = "Ask a follow-up" if turns or busy else "Ask your notes"
    with st.form("ask", border=False), st.container(horizontal=True):
        st.text_input(
            label, key=BOX, label_visibility="collapsed", placeholder=label, autocomplete="off", disabled=busy
        )
        st.form_submit_button(
            "Ask", type="primary", key="ask_submit", disabled=busy, on_click=_ask, args=(viewer, list(turns))
        )
    with st.expander("Where to look", type="compact", key="ask_where"):
        _choose_where(viewer, stores)


def _choose_where(viewer: Viewer, stores: Sequence[str]) -> None:
    if len(stores) > 1:
        st.multiselect("Stores", stores, key=_STORES, placeholder="All stores")
    folders = [folder for folder in facets(viewer, st.session_state.get(_STORES, []))["folders"] if folder]
    left, right = st.columns(2)
    left.selectbox("Folder", sorted(folders), index=None, key=_FOLDER, placeholder="Any folder")
    right.number_input("Passages to answer from", 1, MAX_K, DEFAULT_K, key=_K)


def _ask(viewer: Viewer, turns: Sequence[Reply]) -> None:
    """As a callback: begin with the answer, in a conversation whose id stands in the address."""
    text = st.session_state[BOX].strip()
    if not text:
        return
    folder = st.session_state.get(_FOLDER)
    question = Question(
        text,
        tuple(st.session_state.get(_STORES, ())),
        st.session_state.get(_K, DEFAULT_K),
        Filters(paths=(folder,) if folder else ()),
        tuple(reply.turn for reply in turns),
    )
    if not turns:
        st.query_params[PARAM] = uuid.uuid4().hex
    ask_jobs.start(library(), viewer, st.query_params[PARAM], question)
    st.session_state[BOX] = ""


# --- earlier conversations --------------------------------------------------------------


def show_history(viewer: Viewer) -> None:
    """The conversations that were kept, with ways to open and to delete them."""
    try:
        kept = library().conversations(viewer)
    except RagError as error:
        show_error(error)
        return
    if not kept:
        return
    with st.expander(f"Earlier questions ({len(kept):,})", key="ask_history"):
        for each in kept[:_MOST_KEPT]:
            with st.container(horizontal=True, vertical_alignment="center", key=f"ask_kept_{each.id}"):
                st.page_link(
                    ASK_PAGE,
                    label=hits.label(_short(each.title)),
                    query_params={PARAM: each.id},
                    width="stretch",
                )
                st.button(
                    "Delete",
                    key=f"ask_delete_{each.id}",
                    type="tertiary",
                    on_click=_forget,
                    args=(viewer, [each.id]),
                )
        st.button(
            "Delete all", key="ask_delete_all", icon=":material/delete:", on_click=_forget,
            args=(viewer, [each.id for each in kept]),
        )  # fmt: skip


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


def _forget(viewer: Viewer, conversations: Sequence[str]) -> None:
    own = library()
    ask_jobs.forget(own, viewer, conversations)
    try:
        for each in conversations:
            own.forget_conversations(viewer, each)
    except RagError as error:
        st.session_state[_ERROR] = error
    if st.query_params.get(PARAM) in conversations:
        del st.query_params[PARAM]


def start_anew() -> None:
    """A link to an empty page, where a conversation is shown."""
    if st.query_params.get(PARAM):
        st.page_link(ASK_PAGE, label="New conversation", icon=":material/add_comment:")
