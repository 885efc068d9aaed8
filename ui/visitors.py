"""Recent visits on the Settings page: who came through the network, and who knocked in vain."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd
import streamlit as st

from rag_core.reports import Door, Visit
from rag_core.types import Viewer
from rag_core.wording import moment, plural
from ui import hits
from ui.deps import library
from ui.people import fill_in

_MOST_KNOCKS: Final = 5
_FILLED: Final = "settings_knock_filled"

_DOORS: Final[Mapping[Door, str]] = {"pages": "pages", "rest": "REST", "mcp": "MCP"}
_text = st.column_config.TextColumn
_COLUMNS: Final[dict[str, Any]] = {
    "Who": _text(width=190),
    "Let in": st.column_config.CheckboxColumn(width=65),
    "Through": _text(width=75),
    "Until": _text(width=130),
    "From": _text(width=130),
    "Requests": st.column_config.NumberColumn(width=85),
}


def show_visits(viewer: Viewer) -> None:
    """The last visits, and above them whom nobody had let in and who still are not."""
    visits = library().sharing.visits(viewer)
    st.subheader("Recent visits", anchor=False)
    if not visits:
        st.html(hits.paragraphs("Nobody came through the network yet."))
        return
    people = {person.login for person in library().sharing.people(viewer)}
    _show_knocks([visit for visit in visits if visit.refused and visit.login not in people])
    _say_filled()
    _show_table(visits)
    st.html(hits.paragraphs("What somebody searched or asked for is not kept."))


def _show_knocks(refused: Sequence[Visit]) -> None:
    by_login: defaultdict[str, list[Visit]] = defaultdict(list)
    for visit in refused:
        by_login[visit.login].append(visit)
    for login, visits in list(by_login.items())[:_MOST_KNOCKS]:
        with st.container(horizontal=True, vertical_alignment="center", key=f"settings_knock_{login}"):
            st.html(hits.name(login), width="content")
            requests = plural(sum(visit.requests for visit in visits), "request")
            st.html(hits.paragraphs(f"was refused: {requests}, last {moment(visits[0].last_at)}"))
            st.button(
                "Share …", key=f"settings_knock_share_{login}", icon=":material/person_add:",
                type="tertiary", on_click=_offer, args=(login,),
                help="Fills the login into the form above; nothing is shared yet.",
            )  # fmt: skip


def _offer(login: str) -> None:
    fill_in(login)
    st.session_state[_FILLED] = login


def _say_filled() -> None:
    if login := st.session_state.pop(_FILLED, ""):
        said = f"{login} stands in the form above now: choose stores there."
        st.html(hits.paragraphs(said, status=True))


def _show_table(visits: Sequence[Visit]) -> None:
    table = pd.DataFrame(
        {
            "Who": [visit.login for visit in visits],
            "Let in": [not visit.refused for visit in visits],
            "Through": [_DOORS[visit.door] for visit in visits],
            "Until": [moment(visit.last_at) for visit in visits],
            "From": [moment(visit.started_at) for visit in visits],
            "Requests": [visit.requests for visit in visits],
        }
    )
    with st.container(key="settings_visits"):
        st.dataframe(
            table,
            hide_index=True,
            column_config=_COLUMNS,
            alt="The last visits: who, through what, when, and how many requests.",
        )
