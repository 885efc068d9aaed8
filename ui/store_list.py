"""Every store in a line, the damaged ones with what is wrong; making a new one."""

from __future__ import annotations

from typing import Final

import streamlit as st

from rag_core.errors import RagError
from rag_core.models import known_facts
from rag_core.types import METRICS, StoreInfo, Viewer
from ui import hits, store_facts
from ui.deps import library
from ui.links import STORES_PAGE
from ui.messages import show_done, show_error, show_warning
from ui.placement import LOCAL, choose, offer_attaching
from ui.results import offer_first_folder
from ui.runs import is_active
from ui.store_import import offer_import
from ui.task_status import show_tasks, under_way
from ui.tasks import Kind

_DONE: Final = "stores_done"
_SMALLEST, _LARGEST = 8, 4096  # what the hashing embedder takes


def show_stores(viewer: Viewer, error: RagError | None = None) -> None:
    """The list, and the ways to another store with what is under way; first ``error``, if there was one."""
    st.title("Stores", anchor=False)
    with st.container():
        if error is not None:
            show_error(error)
        show_done(st.session_state.pop(_DONE, ""))
        show_lost_default(viewer)
    # Containers that are always there: else the expanders would close when the list grows above them.
    with st.container():
        _list(viewer)
    with st.expander("New store", icon=":material/add:"):
        _new_store(viewer)
    with st.expander("Import a store", icon=":material/upload_file:"):
        offer_import(viewer)
    _show_coming("import")
    with st.expander("Attach a store", icon=":material/cloud_download:"):
        offer_attaching(viewer)
    _show_coming("attach")


def _show_coming(kind: Kind) -> None:
    """What is under way, beside the button that began it."""
    with st.container():
        show_tasks((kind,), polling=under_way((kind,)))


def show_lost_default(viewer: Viewer) -> None:
    """That the setting default_store names no store, where that is so: after a rename, say."""
    if lost := library().stores.lost_default(viewer):
        show_warning(lost)


def say_later(sentence: str) -> None:
    """Have the list say this once, when it is drawn next."""
    st.session_state[_DONE] = sentence


def _list(viewer: Viewer) -> None:
    names = library().stores.names(viewer)
    if not names:
        st.html(hits.paragraphs("There is no store yet. A store holds what was read from your folders."))
        offer_first_folder()
    for name in names:
        with st.container(border=True, gap="xsmall", key=f"stores_row_{name}"):
            _row(viewer, name)


def _row(viewer: Viewer, name: str) -> None:
    try:
        info, active = library().stores.info(viewer, name), is_active(viewer, name)
    except RagError as error:  # a damaged store must not hide the others
        _name(name, "Damaged", ":material/error:", "red")
        show_error(error)
        return
    if active:
        _name(name, "Being indexed", ":material/sync:", "blue")
    else:
        _name(name)
    st.html(hits.paragraphs(store_facts.counts(info)))


def _name(name: str, badge: str = "", icon: str = "", colour: str = "") -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.page_link(
            STORES_PAGE, label=f"**{hits.label(name)}**", icon=":material/database:",
            query_params={"store": name},
        )  # fmt: skip
        if badge:
            st.badge(badge, icon=icon, color=colour)  # type: ignore[arg-type]


# --- a new one --------------------------------------------------------------------------


def _new_store(viewer: Viewer) -> None:
    name = st.text_input("Name", key="stores_new_name", placeholder="notes", autocomplete="off")
    refused = st.container()  # below the box that it is nearly always about
    usual = library().settings
    boxes = st.container()
    more = st.expander(
        "More", expanded=usual.backend != LOCAL, key="stores_more", type="compact", on_change="rerun"
    )
    with boxes:
        placed = choose(viewer, "stores", usual.embedder, usual.backend, more)
    with more:
        dimension = _dimension(placed.embedder)
        metric = st.selectbox(
            "Metric: how two vectors are compared", METRICS, key="stores_metric",
            format_func=store_facts.metric,
        )  # fmt: skip
        st.html(hits.paragraphs(
            f"{store_facts.SAME_ORDER} It matters to other programs that read the index."
            + (f" {store_facts.NO_DOT_PRODUCT}" if metric == "dot_product" else "")
        ))  # fmt: skip
    if not st.button("Create store", key="stores_create", type="primary"):
        return
    try:
        chosen = "hashing" if dimension else placed.embedder  # without the number that it may carry
        made = library().stores.create(
            viewer, name.strip(), chosen, metric=metric, dimension=dimension, backend=placed.backend,
            sends_private=placed.sends_private,
        )  # fmt: skip
    except RagError as error:
        with refused:
            show_error(error)
    else:
        open_store(made)


def _dimension(embedder: str) -> int | None:
    """How many numbers a vector is to have; there is a choice only where the embedder leaves one."""
    known = known_facts(embedder)
    if not embedder.startswith("hashing"):
        if known:
            st.html(hits.paragraphs(f"A vector of this embedder has {known.dimension:,} numbers."))
        return None
    given = known.dimension if known else _SMALLEST
    return int(
        st.number_input("Numbers in a vector", _SMALLEST, _LARGEST, given, key=f"stores_dimension_{embedder}")
    )


def open_store(info: StoreInfo) -> None:
    """Go to the page of a store."""
    st.query_params["store"] = info.name
    st.rerun()
