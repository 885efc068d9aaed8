"""Choosing the embedder of a store and the place of its vectors, and changing them later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import streamlit as st

from rag_core.index.portable import Transfer
from rag_core.models.registry import takes_dimension
from rag_core.providers import LOCAL, VECTOR_INDEXES, one_of
from rag_core.reports import VisibleIndexes
from rag_core.running import background
from rag_core.types import METRICS, Metric, StoreInfo, Viewer
from rag_core.wording import embedder
from ui.files.file_actions import show_run
from ui.frame import hits, tasks
from ui.frame.deps import library
from ui.frame.messages import errors_wait, show_done, show_waiting
from ui.index.embedder_choice import at_hand, in_words, look_for_others
from ui.stores.task_status import forget_results, is_at_work, library_name, show_tasks

_PLACE: Final = "placement"
_ADDRESS: Final = "stores_attach_address"
_NAME: Final = "stores_attach_name"
_VISIBLE: Final = "stores_attach_visible"  # the indexes found
_CHOSEN: Final = "stores_attach_chosen"
_BEGUN: Final = "placement_begun"  # the store whose switch this session saw in progress
_KINDS: Final = {name: row.label for name, row in VECTOR_INDEXES.items()}
_SERVICES: Final = one_of([row.label for row in VECTOR_INDEXES.values() if row.opens], "and")
_LOOK_HELP: Final = f"Asks {_SERVICES} for their indexes, if they are set up here."


@dataclass(frozen=True, slots=True)
class Placed:
    """The choices that `choose` returns. ``backend`` is the kind of vector index, such as *local*.
    ``sends_private`` says whether private notes may be sent to other machines."""

    embedder: str
    backend: str
    sends_private: bool


def choose(
    viewer: Viewer,
    key: str,
    embedder: str,
    backend: str,
    *,
    sends_private: bool = False,
) -> Placed:
    """Draw boxes for the embedder, the vector index and private notes, and say where text is sent. Return the
    choice. ``key`` begins the boxes' session keys; the other arguments are chosen at first."""
    offered = at_hand(viewer, embedder)
    chosen = st.selectbox(
        "Model", offered, key=f"{key}_embedder", format_func=lambda name: in_words(name, offered[name])
    )
    goes = offered[chosen]
    look_for_others(viewer, key)
    kinds = library().placement.backends(viewer)
    where = st.selectbox(
        "Vectors",
        list(kinds),
        key=f"{key}_backend",
        # the package of the index may be gone
        index=list(kinds).index(backend if backend in kinds else LOCAL),
        format_func=lambda kind: _KINDS.get(kind, kind),
        help="Where to keep the vectors: the numbers that find passages of similar meaning.",
    )
    leaving = [destination for destination in (goes, kinds[where]) if "stays" not in destination]
    if leaving:
        st.html(hits.paragraphs(f"Text of your notes {' and '.join(dict.fromkeys(leaving))}."))
    leaves = bool(leaving)
    private = leaves and st.checkbox(
        "Private notes, too",
        sends_private,
        key=f"{key}_private",
        help="Whether private notes may be sent there. If off, they stay on this machine and are found by"
        " words only.",
    )
    return Placed(chosen, where, bool(private) if leaves else sends_private)


def choose_shape(key: str, placed: Placed) -> tuple[Metric, int | None]:
    """Draw boxes for the metric of a service's index, and for the vector length if the model supports
    several. Return the metric and the length (None: the model's own)."""
    metric: Metric = "cosine"
    if placed.backend != LOCAL:
        metric = st.selectbox(
            "Metric",
            METRICS,
            key=f"{key}_metric",
            format_func=lambda name: name.replace("_", " ").capitalize(),
            help="How the service compares vectors. Commonplace finds the same with each; another program"
            " that reads the index may need a certain one.",
        )
    dimension = None
    if takes_dimension(placed.embedder):
        dimension = st.number_input(
            "Dimension",
            min_value=1,
            value=None,
            step=1,
            key=f"{key}_dimension",
            placeholder="The model's own",
            help="Numbers in each vector. Not every model can give fewer.",
        )
    return metric, dimension


def show_placement(viewer: Viewer, info: StoreInfo, *, running: bool) -> None:
    """Draw the embedder and vector index of a store, and the actions to change them. ``running`` says whether
    the store is being indexed."""
    if info.attached:
        _attached(viewer, info)
        return
    if info.switching:
        st.session_state[_BEGUN] = info.name
        _under_way(viewer, info, running=running)
    else:
        if not running and st.session_state.get(_BEGUN) == info.name:
            del st.session_state[_BEGUN]
            show_done(f"The switch is done. Searches use {embedder(info.embedder)} now.")
        with st.expander("Model and vectors", icon=":material/swap_horiz:"):
            key = f"placement_{info.name}"
            placed = choose(viewer, key, info.embedder, info.backend, sends_private=info.sends_private)
            rechunk = st.checkbox(
                "Cut the documents again",
                key=f"{key}_rechunk",
                help="Makes new passages, for a model that reads less text at once than the old one.",
            )
            st.button(
                "Switch",
                key=f"{key}_start",
                type="primary",
                on_click=_begin,
                args=(viewer, info, placed, rechunk),
            )
    show_waiting(_PLACE)


def _begin(viewer: Viewer, info: StoreInfo, placed: Placed, rechunk: bool) -> None:
    own, name = library(), info.name
    as_it_is = (placed.embedder, placed.backend, rechunk) == (info.embedder, info.backend, False)
    with errors_wait(_PLACE):
        if placed.sends_private != info.sends_private:
            own.placement.let_private_leave(viewer, name, allowed=placed.sends_private)
            if as_it_is:
                background.go_on(own, viewer, name)
                return
        own.placement.switch(viewer, name, placed.embedder, placed.backend, rechunk=rechunk)
        st.session_state[_BEGUN] = name
        background.go_on(own, viewer, name)


def _under_way(viewer: Viewer, info: StoreInfo, *, running: bool) -> None:
    def go_on() -> None:
        # the store's folders, too: their documents may have to be cut again
        library().jobs.request(viewer, info.name)
        background.go_on(library(), viewer, info.name)

    def abandon() -> None:
        with errors_wait(_PLACE):
            library().placement.abandon_switch(viewer, info.name)
            st.session_state.pop(_BEGUN, None)
            background.go_on(library(), viewer, info.name)

    name, _, address = info.switching.partition(" in ")
    target = embedder(name) + (f" in {address}" if address else "")
    used = embedder(info.embedder)
    state = f"All texts are embedded; until the switch is done, searches use {used}."
    if running:
        state = f"A run is doing this now; until the switch is done, searches use {used}."
    elif info.to_switch:
        state = (
            f"{info.to_switch:,} texts are not embedded yet; until the switch is done, searches use {used}."
        )
    st.html(hits.paragraphs(f"This store switches to {target}. {state}", status=True))
    if running:
        show_run(viewer, info.name)
    with st.container(horizontal=True):
        if not running:
            st.button("Go on", key=f"placement_go_on_{info.name}", on_click=go_on)
        st.button(
            "Cancel the switch",
            key=f"placement_abandon_{info.name}",
            disabled=running,
            on_click=abandon,
            help="Possible once the run has ended." if running else None,
        )


def _attached(viewer: Viewer, info: StoreInfo) -> None:
    copy = f"This is a read-only copy of {info.address}, which another installation writes."
    taken_over = "If you take it over, this installation writes it, and the other one stops."
    st.html(hits.paragraphs(f"{copy} {taken_over}"))
    actions = (("Bring up to date", "again", False), ("Take over", "take_over", True))
    with st.container(horizontal=True):
        for title, key, take_over in actions:
            st.button(
                title,
                key=f"placement_{key}_{info.name}",
                on_click=start_attaching,
                args=(viewer, info.address, info.name),
                kwargs={"take_over": take_over},
            )
    show_tasks(("attach",), info.address, polling=is_at_work(("attach",), info.address))


def offer_attaching(viewer: Viewer) -> None:
    """Draw the boxes and the button that attach an index. `ui.stores.task_status` shows the progress."""
    if st.button("Look for indexes", key="stores_attach_look", icon=":material/sensors:", help=_LOOK_HELP):
        with st.spinner("Looking …"):
            st.session_state[_VISIBLE] = library().placement.visible_indexes(viewer)
    if _VISIBLE in st.session_state:
        _show_visible(st.session_state[_VISIBLE])
    address = st.text_input(
        "Address",
        key=_ADDRESS,
        placeholder="s3vectors://BUCKET/INDEX",
        autocomplete="off",
        help="The other computer shows this address under Details, on the page of a store whose vectors are"
        " in a service.",
    )
    st.text_input("Name", key=_NAME, placeholder="Leave empty to keep the name it has", autocomplete="off")
    st.button(
        "Attach",
        key="stores_attach",
        type="primary",
        disabled=not address.strip(),
        on_click=lambda: start_attaching(
            viewer, st.session_state[_ADDRESS].strip(), st.session_state[_NAME].strip()
        ),
    )


def _show_visible(visible: Sequence[VisibleIndexes]) -> None:
    """Draw the found indexes, one of which can be chosen as the address, and the services that could not be
    asked."""
    addresses = [address for listed in visible for address in listed.addresses]

    def take() -> None:
        if chosen := st.session_state[_CHOSEN]:
            st.session_state[_ADDRESS] = chosen

    if addresses:
        st.selectbox(
            "Found",
            addresses,
            index=None,
            key=_CHOSEN,
            on_change=take,
            placeholder=f"Choose one of {len(addresses):,}",
        )
    else:
        st.html(hits.paragraphs("No other index was found.", status=True))
    st.html(hits.paragraphs(*(listed.problem for listed in visible if listed.problem)))


def start_attaching(viewer: Viewer, address: str, name: str, *, take_over: bool = False) -> None:
    """Begin, in the background, to fill the store ``name`` from the vector index at ``address``. The page of
    stores shows the progress, or the error.

    With ``take_over``, the store also sends its vectors to this index from then on; otherwise it only reads
    it.
    """
    own = library()

    def act(report: tasks.TaskReport) -> StoreInfo:
        def progress(count: int) -> None:
            report(Transfer("unpacking", count, 0))

        if take_over:
            return own.placement.take_over(viewer, name, progress)
        return own.placement.attach(viewer, address, name, progress)

    forget_results(("attach",))
    tasks.start_task(library_name(), "attach", address, act)
