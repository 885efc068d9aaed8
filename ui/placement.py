"""Choosing who embeds a store and where its vectors are, from what is at hand; changing it later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import streamlit as st

from rag_core import jobs
from rag_core.embedders import DEFAULT_EMBEDDER
from rag_core.errors import RagError
from rag_core.portable import Transfer
from rag_core.types import StoreInfo, Viewer
from rag_core.wording import embedder as said_embedder
from ui import hits, tasks
from ui.deps import library, store_infos
from ui.messages import show_error
from ui.task_status import found, library_name, show_tasks, under_way

_FOUND: Final = "placement_found"
_ERROR: Final = "placement_error"
_LOCAL: Final = "local"
_KINDS: Final = {
    _LOCAL: "In the store's own file",
    "s3vectors": "Amazon S3 Vectors",
    "qdrant": "Qdrant",
    "chroma": "Chroma",
}


@dataclass(frozen=True, slots=True)
class Placed:
    """What was chosen."""

    embedder: str
    backend: str
    sends_private: bool


def choose(viewer: Viewer, key: str, embedder: str, backend: str) -> Placed:
    """Boxes for the embedder, the vector index and private notes; the first two show where text goes."""
    names = _names(viewer, embedder)
    chosen = st.selectbox(
        "Embedder", names, index=names.index(embedder), key=f"{key}_embedder",
        format_func=said_embedder,
    )  # fmt: skip
    goes = library().goes(viewer, chosen)
    st.html(hits.paragraphs(f"What it embeds {goes}."))
    _look(viewer, key)
    kinds = library().backends(viewer)
    where = st.selectbox(
        "Vectors", list(kinds), index=list(kinds).index(backend), key=f"{key}_backend",
        format_func=lambda kind: _KINDS.get(kind, kind),
    )  # fmt: skip
    st.html(hits.paragraphs(f"What is kept there {kinds[where]}."))
    leaves = any("stays" not in each for each in (goes, kinds[where]))
    private = leaves and st.checkbox(
        "Private notes, too", key=f"{key}_private",
        help="Notes that are marked private stay on this machine unless this is on; words find them.",
    )  # fmt: skip
    return Placed(chosen, where, bool(private))


def _names(viewer: Viewer, first: str) -> list[str]:
    """The embedders that can be chosen: the given one, the built-in one, those of stores, those found."""
    used = sorted({info.embedder for info in store_infos(viewer)})
    seen: list[str] = st.session_state.get(_FOUND, [])
    usual = library().settings.embedder
    return list(dict.fromkeys((first, DEFAULT_EMBEDDER, usual, *used, *seen, "hashing")))


def _look(viewer: Viewer, key: str) -> None:
    """A button that asks servers and packages which embedders they have; it takes a few seconds at most."""
    if st.button("Look for others", key=f"{key}_look", icon=":material/sensors:", type="tertiary"):
        with st.spinner("Looking …"):
            seen = library().connections(viewer)
        st.session_state[_FOUND] = [name for each in seen for name in each.embedders]
        st.rerun()


# --- changing it ------------------------------------------------------------------------


def show_placement(viewer: Viewer, info: StoreInfo) -> None:
    """Where a store stands, and the ways to change that."""
    st.header("Embedder and vectors", anchor=False)
    if info.attached:
        _attached(viewer, info)
        return
    if info.switching:
        _under_way(viewer, info)
    else:
        st.html(hits.paragraphs(
            "Another embedder makes every vector anew, beside the old ones, which searches use until all are"
            " there. Another place only copies them."
        ))  # fmt: skip
        with st.expander("Switch", icon=":material/swap_horiz:"):
            _switch(viewer, info)
    if error := st.session_state.pop(_ERROR, None):
        show_error(error)


def _switch(viewer: Viewer, info: StoreInfo) -> None:
    key = f"placement_{info.name}"
    placed = choose(viewer, key, info.embedder, info.backend)
    rechunk = st.checkbox(
        "Cut the documents again", key=f"{key}_rechunk",
        help="For an embedder that reads less of a passage than the old one.",
    )  # fmt: skip
    st.button(
        "Switch", key=f"{key}_start", type="primary", on_click=_begin,
        args=(viewer, info.name, placed, rechunk),
    )  # fmt: skip


def _begin(viewer: Viewer, name: str, placed: Placed, rechunk: bool) -> None:
    own = library()
    try:
        if placed.sends_private != own.store_info(viewer, name).sends_private:
            own.let_private_leave(viewer, name, allowed=placed.sends_private)
        own.switch_store(viewer, name, placed.embedder, placed.backend, rechunk=rechunk)
    except RagError as error:
        st.session_state[_ERROR] = error
        return
    jobs.go_on(own, viewer, name)


def _under_way(viewer: Viewer, info: StoreInfo) -> None:
    left = f"{info.to_switch:,} texts are still to embed" if info.to_switch else "All texts are embedded"
    st.html(hits.paragraphs(
        f"It switches to {_target(info)}. {left}; until the end searches use"
        f" {said_embedder(info.embedder)}.",
        status=True,
    ))  # fmt: skip
    with st.container(horizontal=True):
        st.button("Go on", key=f"placement_go_on_{info.name}", on_click=_go_on, args=(viewer, info.name))
        st.button(
            "Stay with the old ones", key=f"placement_abandon_{info.name}",
            on_click=_abandon, args=(viewer, info.name),
        )  # fmt: skip


def _target(info: StoreInfo) -> str:
    name, _, address = info.switching.partition(" in ")
    return said_embedder(name) + (f" in {address}" if address else "")


def _go_on(viewer: Viewer, name: str) -> None:
    library().request_index(viewer, name, [])
    jobs.go_on(library(), viewer, name)


def _abandon(viewer: Viewer, name: str) -> None:
    try:
        library().abandon_switch(viewer, name)
    except RagError as error:
        st.session_state[_ERROR] = error
        return
    jobs.go_on(library(), viewer, name)


# --- another installation's index ---------------------------------------------------------


def _attached(viewer: Viewer, info: StoreInfo) -> None:
    st.html(hits.paragraphs(
        f"It is a copy of {info.address}, which another installation fills; it is only read here. Taking it"
        " over lets this installation fill it, and the other one no more.",
    ))  # fmt: skip
    with st.container(horizontal=True):
        st.button(
            "Bring up to date", key=f"placement_again_{info.name}", icon=":material/sync:",
            on_click=start_attaching, args=(viewer, info.address, info.name),
        )  # fmt: skip
        st.button(
            "Take over", key=f"placement_take_over_{info.name}", on_click=_take_over, args=(viewer, info.name)
        )
    show_tasks(("attach",), info.address, polling=under_way(("attach",), info.address))
    if error := st.session_state.pop(_ERROR, None):
        show_error(error)


def _take_over(viewer: Viewer, name: str) -> None:
    try:
        library().take_over_store(viewer, name)
    except RagError as error:
        st.session_state[_ERROR] = error


def offer_attaching(viewer: Viewer) -> None:
    """The boxes and the button that attach an index; what is under way is shown by `ui.task_status`."""
    st.html(hits.paragraphs(
        "The vectors of a store on another computer may be where this one can read them, such as in Amazon S3"
        " Vectors. Its page there shows the address."
    ))  # fmt: skip
    address = st.text_input(
        "Address", key="stores_attach_address", placeholder="s3vectors://BUCKET/INDEX", autocomplete="off"
    )
    name = st.text_input(
        "Name",
        key="stores_attach_name",
        placeholder="Leave empty to keep the name it has",
        autocomplete="off",
    )
    st.button(
        "Attach", key="stores_attach", type="primary", disabled=not address.strip(),
        on_click=start_attaching, args=(viewer, address.strip(), name.strip()),
    )  # fmt: skip


def start_attaching(viewer: Viewer, address: str, name: str) -> None:
    """Read an index in the background."""
    own = library()

    def act(report: tasks.Report) -> StoreInfo:
        return own.attach_store(viewer, address, name, lambda count: report(Transfer("unpacking", count, 0)))

    for ended in found(("attach",)):
        tasks.close(library_name(), ended)
    tasks.start(library_name(), "attach", address, act)
