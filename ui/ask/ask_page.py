"""A conversation on the Ask page: each question with its answer, and the passages next to it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Final
from urllib.parse import urlencode

import streamlit as st

from rag_core.ask.markdown import markdown
from rag_core.errors import NotFound, RagError
from rag_core.library.asking import usual_count
from rag_core.replies import MAX_K, Reply
from rag_core.types import Viewer, score_counts
from rag_core.wording import plural
from ui.ask import answering_model, ask_html, ask_jobs
from ui.ask.ask_jobs import Job, PendingQuestion
from ui.frame import access, components, hits
from ui.frame.access import require_viewer
from ui.frame.deps import library
from ui.frame.links import ASK_PAGE, CONVERSATION
from ui.frame.messages import (
    errors_wait,
    sentence,
    show_error,
    show_unknown_store,
    show_waiting,
    show_warning,
)
from ui.frame.search_state import (
    NOTHING_ASKED,
    Choices,
    SearchState,
    from_params,
    in_address,
    searched,
    unknown_store,
)
from ui.search import filters, search_box
from ui.search.results import behind

QUESTION_BOX: Final = "ask_box"
_TURN: Final = "ask_turn"
_POLL_S: Final = 0.3
_NARROWED_BY: Final = ("store", "type", "tag", "path", "after", "before", "min", "k")
"""The parameters of the address that choose the passages for an answer."""


def show_conversation(viewer: Viewer, stores: Sequence[str]) -> None:
    """Draw the turns so far, the running answer, and the box for the next question."""
    components.draw("reader", "reader")
    conversation = st.query_params.get(CONVERSATION, "")
    job = ask_jobs.of(library(), viewer, conversation) if conversation else None
    turns = _turns(viewer, conversation, job)
    if job is not None and job.kept:  # stored a moment ago
        job, turns = None, _turns(viewer, conversation, None)
    count = len(turns) + (job is not None)
    for number, reply in enumerate(turns, 1):
        with st.container(key=f"{_TURN}_last" if number == count else f"{_TURN}_{number}"):
            _show_turn(viewer, reply, number, last=number == count)
    if job is not None:
        with st.container(key=f"{_TURN}_last"):
            _show_job(viewer, job, count)
    _offer_question(viewer, stores, turns, count, busy=job is not None and job.running)
    if not turns and not viewer.is_owner and not library().settings.llm:
        st.html(hits.plain_sentences("No model answers here; you get sentences from the notes instead."))


def _show_job(viewer: Viewer, job: Job, number: int) -> None:
    """Draw the question of a running answer, and the text written so far."""
    st.html(ask_html.question(job.question.text, number))
    if job.running:
        st.fragment(_show_draft, run_every=_POLL_S)(job, number)
    elif job.result is not None:
        _show_turn(viewer, job.result, number, last=True)
    elif job.error is not None:
        show_error(job.error)


def _turns(viewer: Viewer, conversation: str, job: Job | None) -> list[Reply]:
    if not conversation:
        return []
    try:
        return library().asking.conversation(viewer, conversation)
    except NotFound as error:
        if job is None:
            show_error(error)
        return []


def _show_turn(viewer: Viewer, reply: Reply, number: int, *, last: bool) -> None:
    """Draw a question with its answer and the passages next to it. Without a model, draw quoted sentences,
    and the passages below them in full width."""
    st.html(ask_html.question(reply.question, number))
    if reply.answer_kind == "quotes":
        st.html(ask_html.quotes_html(reply.statements, number))
    is_model = reply.answer_kind == "model"
    if not is_model and reply.references:
        st.html(ask_html.sources(reply.references, number, "unanswered"))
    left, beside = st.columns([3, 2], gap="medium") if is_model else (st.container(), st.container())
    with left:
        if is_model:
            st.html(ask_html.answer_html(reply.statements, number))
        lacks_model = reply.ending in ("no model", "quotes") and _lacks_model(viewer)
        said_too = "" if lacks_model else reply.message
        st.html(hits.plain_sentences(said_too, "Stopped." if reply.ending == "stopped" else ""))
        if notices := [notice for notice in reply.notices if not (lacks_model and notice.code == "error")]:
            show_warning(*map(sentence, notices))
        state = behind(viewer, reply.stores) if last and viewer.is_owner else ()
        st.html(hits.paragraphs(" · ".join(filter(None, (reply.model, *state)))))
        if reply.found:
            with st.container(key=f"copy_answer_{number}"):
                st.code(markdown(reply), language=None)
    with beside:
        if is_model and reply.references:
            st.html(ask_html.sources(reply.references, number, "answered", opened=last))


def _show_draft(job: Job, number: int) -> None:
    if not job.running or not job.is_for(require_viewer()):
        st.rerun()
    draft = job.now
    left, beside = st.columns([3, 2], gap="medium")
    with left:
        if draft.statements or draft.rest.strip():
            st.html(ask_html.answer_html(draft.statements, number, draft.rest))
        st.html(ask_html.progress_html(draft))
        st.button(
            "Stop", key="ask_stop", icon=":material/stop_circle:", on_click=job.cancel, disabled=job.stopping
        )
    with beside:
        if draft.references:
            st.html(ask_html.sources(draft.references, number, "coming"))


def _offer_question(
    viewer: Viewer, stores: Sequence[str], turns: Sequence[Reply], turn: int, *, busy: bool
) -> None:
    """Draw the box for the next question with its filters. ``turn`` is the number of the last turn."""
    label = "Ask a follow-up" if turns or busy else "Ask your notes"
    below = st.container(key="ask_next" if turns or busy else None)
    if turns and not busy and _lacks_model(viewer):
        with below:
            answering_model.offer_models(viewer)
    with below, st.form("ask", border=False), st.container(horizontal=True):
        st.text_input(
            label,
            key=QUESTION_BOX,
            label_visibility="collapsed",
            placeholder=label,
            autocomplete="off",
            disabled=busy,
        )
        st.form_submit_button(
            "Ask", type="primary", key="ask_submit", disabled=busy, on_click=_ask, args=(list(turns),)
        )
    offered, where = _where(viewer, stores)
    chips = (
        *filters.chips(offered, where, date.today()),
        filters.minimum(where, _counts(turns), _usual().min, filters.TENTHS),
        filters.how_many(where, _usual().k),
    )
    search_box.show_filters(
        chips, urlencode(in_address(_NARROWED_BY), doseq=True), _narrow, busy=busy, turn=turn
    )
    if not turns and not busy and _lacks_model(viewer):
        answering_model.offer_models(viewer)
    if gone := unknown_store(stores):
        show_unknown_store(viewer, gone)


def _lacks_model(viewer: Viewer) -> bool:
    """Whether the viewer is the owner, who can choose a model, and no model can answer."""
    return viewer.is_owner and not library().settings.llm


def _where(viewer: Viewer, stores: Sequence[str]) -> tuple[Choices, SearchState]:
    """Return the values offered by the filters, then the filters in the address."""
    url = in_address(_NARROWED_BY)
    offered = filters.choices(viewer, stores, [name for name in url.get("store", ()) if name in stores])
    return offered, from_params(url, offered, _usual(), MAX_K)


def _usual() -> SearchState:
    """Return a question without filters, with the numbers from the owner's settings."""
    settings = library().settings
    return replace(NOTHING_ASKED, k=usual_count(settings), min=settings.min_score or NOTHING_ASKED.min)


def _counts(turns: Sequence[Reply]) -> Sequence[int]:
    """Return, for each tenth, the number of passages of the last answer with at least that score; empty
    before the first answer."""
    return score_counts([passage.score for passage in turns[-1].references]) if turns else ()


def _narrow() -> None:
    """Callback: write the chosen filters into the address, as one history entry."""
    params = {name: some for name, some in searched(search_box.filtered()).items() if name in _NARROWED_BY}
    here = {CONVERSATION: [st.query_params[CONVERSATION]]} if CONVERSATION in st.query_params else {}
    st.query_params.from_dict({**here, **params})


def _ask(turns: Sequence[Reply]) -> None:
    """Callback: start to answer the typed question. A new conversation gets an id in the address."""
    # the viewer may have fewer rights by now
    text, now = st.session_state[QUESTION_BOX].strip(), access.viewer()
    if not text or now is None:
        return
    where = _where(now, library().stores.names(now))[1]
    history = tuple(reply.turn for reply in turns)
    question = PendingQuestion(text, where.store, where.k, where.min, where.filters, history)
    if not turns:
        st.query_params[CONVERSATION] = uuid.uuid4().hex
    ask_jobs.start_answer(library(), now, st.query_params[CONVERSATION], question)
    st.session_state[QUESTION_BOX] = ""


def start_over() -> None:
    """Draw a link to a new conversation with the same filters, if a conversation is shown."""
    if st.query_params.get(CONVERSATION):
        st.page_link(
            ASK_PAGE,
            label="New conversation",
            icon=":material/add_comment:",
            query_params=in_address(_NARROWED_BY),
        )


_MOST: Final = 50
_LONGEST: Final = 100
_HISTORY: Final = "ask_history"
_SURE: Final = "ask_history_sure"
_KEPT: Final = "Conversations are kept in the data folder of this computer, and nowhere else."
_KEPT_FOR_GUEST: Final = "Conversations are kept on the owner's computer; the app shows yours to you alone."


def show_history(viewer: Viewer) -> None:
    """Draw the earlier conversations, with buttons to open and to delete them."""
    show_waiting(_HISTORY)
    try:
        kept = library().asking.conversations(viewer)
    except RagError as error:
        show_error(error)
        return
    if not kept:
        return
    with st.expander(f"Earlier questions ({len(kept):,})", key="ask_history"):
        for conversation in kept[:_MOST]:
            with st.container(
                horizontal=True, vertical_alignment="center", key=f"ask_kept_{conversation.id}"
            ):
                title = hits.label(conversation.title[:_LONGEST])
                st.page_link(
                    ASK_PAGE, label=title, query_params={CONVERSATION: conversation.id}, width="stretch"
                )
                st.button(
                    "Delete",
                    key=f"ask_delete_{conversation.id}",
                    type="tertiary",
                    on_click=_forget,
                    args=(viewer, [conversation.id]),
                )
        if len(kept) > _MOST:
            st.html(hits.paragraphs(f"{plural(len(kept) - _MOST, 'older conversation')} not listed."))
        _offer_to_delete_all(viewer, [conversation.id for conversation in kept])
        st.html(hits.paragraphs(_KEPT if viewer.is_owner else _KEPT_FOR_GUEST))


def _offer_to_delete_all(viewer: Viewer, conversations: Sequence[str]) -> None:
    sure = st.session_state.update
    if not st.session_state.get(_SURE):
        st.button("Delete all", key="ask_delete_all", on_click=sure, args=({_SURE: True},))
        return
    st.html(hits.plain_sentences("Deleted conversations cannot be brought back.", status=True))
    with st.container(horizontal=True):
        st.button(
            f"Delete {plural(len(conversations), 'conversation')}",
            key="ask_delete_sure",
            type="primary",
            on_click=_forget,
            args=(viewer, conversations),
        )
        st.button("Keep them", key="ask_delete_keep", on_click=sure, args=({_SURE: False},))


def _forget(viewer: Viewer, conversations: Sequence[str]) -> None:
    st.session_state[_SURE] = False
    ask_jobs.forget_answers(library(), viewer, conversations)
    with errors_wait(_HISTORY):
        for conversation in conversations:
            library().asking.forget_conversations(viewer, conversation)
    if st.query_params.get(CONVERSATION) in conversations:
        del st.query_params[CONVERSATION]
