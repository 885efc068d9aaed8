"""People on the Settings page: who has access to which stores, sharing with a guest, naming an owner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from rag_core.reports import Person, Tailscale
from rag_core.types import Viewer
from rag_core.wording import moment
from ui import hits
from ui.deps import library
from ui.messages import errors_wait, show_done, show_waiting

_LOGIN: Final = "settings_share_login"
_STORES: Final = "settings_share_stores"
_ASK: Final = "settings_share_ask"
_KNOWN: Final = "settings_share_known"
_OWNER: Final = "settings_owner_login"
_OPEN: Final = "settings_share_open"
_PLACE: Final = "settings_share"
_DONE: Final = "settings_share_said"

_GUESTS: Final = (
    "A guest searches the stores that you chose, reads their documents, and asks your language model if"
    " you allow it. Private notes stay yours alone: for a guest they are not there, in no search, no count"
    " and no answer. Guests see no other store, no folder of this computer and no settings; they change"
    " nothing."
)
_OWNERS: Final = (
    "An owner may do here all that you may: read every note, private ones too, delete stores, make tokens,"
    " share and name owners. Name yourself, to be the owner on your other devices."
)
_REMOVED: Final = "They will get in no more, and pages that they have open are closed."


class Places(NamedTuple):
    """What is filled in once Tailscale was asked: what was done, and the logins of the tailnet."""

    done: DeltaGenerator
    guest: DeltaGenerator
    owner: DeltaGenerator


def show_people(viewer: Viewer) -> Places:
    """Everyone with access, the actions for each, and the forms for another one."""
    st.subheader("People", anchor=False)
    st.html(hits.paragraphs(_GUESTS))
    show_waiting(_PLACE)
    done = st.empty()
    stores = library().stores.names(viewer)
    for person in library().sharing.people(viewer):
        with st.container(border=True, gap="xsmall", key=f"settings_person_{person.login}"):
            _show(viewer, person, stores)
    guest = st.container()
    _offer_sharing(viewer, stores)
    with st.expander("Name another owner", key="settings_owner"):
        owner = _offer_ownership(viewer)
    return Places(done, guest, owner)


def fill_in(login: str) -> None:
    """Put a login into the form for another guest."""
    st.session_state[_LOGIN] = login


# --- one of them ------------------------------------------------------------------------


def _show(viewer: Viewer, person: Person, stores: Sequence[str]) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(hits.name(person.login), width="content")
        if person.is_owner:
            st.badge("Owner", icon=":material/shield_person:", color="violet")
        else:
            st.badge("Guest", icon=":material/person:", color="blue")
    st.html(hits.paragraphs(_facts(person)))
    if person.configured:
        st.html(hits.sentences("Named by the setting `access_owners`, and to be removed there."))
        return
    match st.session_state.get(_OPEN):
        case (person.login, "change") if not person.is_owner:
            _change(viewer, person, stores)
        case (person.login, "remove"):
            _confirm_removal(viewer, person)
        case _:
            _actions(person)


def _facts(person: Person) -> str:
    asks = "may ask" if person.may_ask else "may not ask"
    may = "sees everything" if person.is_owner else f"searches {', '.join(person.stores)} · {asks}"
    return f"{may} · since {moment(person.since)}" if person.since else may


def _actions(person: Person) -> None:
    with st.container(horizontal=True, gap="small"):
        if not person.is_owner:
            st.button(
                "Change", key=f"settings_person_change_{person.login}", icon=":material/edit:",
                type="tertiary", on_click=_open, args=(person, "change"),
            )  # fmt: skip
        st.button(
            "Remove", key=f"settings_person_remove_{person.login}", icon=":material/person_remove:",
            type="tertiary", on_click=_open, args=(person, "remove"),
        )  # fmt: skip


def _change(viewer: Viewer, person: Person, stores: Sequence[str]) -> None:
    with st.form(f"settings_person_{person.login}", border=False):
        chosen = f"settings_person_stores_{person.login}"
        may_ask = f"settings_person_ask_{person.login}"
        _choose(stores, chosen, may_ask, person)
        with st.container(horizontal=True):
            st.form_submit_button(
                "Save", key=f"settings_person_save_{person.login}", type="primary",
                on_click=_save, args=(viewer, person.login, chosen, may_ask),
            )  # fmt: skip
            st.form_submit_button(
                "Leave as it is", key=f"settings_person_leave_{person.login}", on_click=_close
            )


def _choose(stores: Sequence[str], chosen: str, may_ask: str, person: Person) -> None:
    given = [name for name in person.stores if name in stores]
    st.multiselect("Stores", stores, given or None, key=chosen, placeholder="Choose stores")
    asks = "Your language model answers them from these stores, too."
    st.checkbox("May ask", person.may_ask, key=may_ask, help=asks)


def _confirm_removal(viewer: Viewer, person: Person) -> None:
    st.html(hits.sentences(f"Remove {person.login}? {_REMOVED}"))
    with st.container(horizontal=True):
        st.button(
            "Remove them", key=f"settings_person_removed_{person.login}", type="primary",
            on_click=_remove, args=(viewer, person.login),
        )  # fmt: skip
        st.button("Keep them", key=f"settings_person_keep_{person.login}", on_click=_close)


# --- another one ------------------------------------------------------------------------


def _offer_sharing(viewer: Viewer, stores: Sequence[str]) -> None:
    if not stores:
        st.html(hits.paragraphs("There is no store to share yet."))
        return
    with st.form("settings_share"):
        st.text_input(
            "Share with", key=_LOGIN, placeholder="ada@example.com", autocomplete="off",
            help="The login that Tailscale shows for the person.",
        )  # fmt: skip
        _choose(stores, _STORES, _ASK, Person(""))
        st.form_submit_button(
            "Share", icon=":material/person_add:", key="settings_share_add", type="primary",
            on_click=_share, args=(viewer,),
        )  # fmt: skip


def _offer_ownership(viewer: Viewer) -> DeltaGenerator:
    st.html(hits.sentences(_OWNERS))
    offered = st.container()
    with (
        st.form("settings_owner_form", border=False),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        st.text_input("Login of the owner", key=_OWNER, placeholder="ada@example.com", autocomplete="off")
        st.form_submit_button(
            "Make owner", icon=":material/shield_person:", key="settings_owner_make",
            on_click=_make_owner, args=(viewer,),
        )  # fmt: skip
    return offered


def fill_in_places(viewer: Viewer, found: Tailscale, places: Places) -> None:
    """Say what was done and when it takes effect, and offer logins of the tailnet that have no access yet."""
    said, waits = st.session_state.pop(_DONE, ("", False))
    with places.done:
        show_done(f"{said}{f' {found.from_when}' if waits else ''}." if said else "")
    people = {person.login: person for person in library().sharing.people(viewer)}
    strangers = [login for login in found.logins if login not in people and login != found.login]
    if strangers and library().stores.names(viewer):
        places.guest.selectbox(
            "Somebody of your tailnet", strangers, None, key=_KNOWN, placeholder="Choose somebody",
            on_change=_fill_in_known,
        )  # fmt: skip
    if found.login and not (found.login in people and people[found.login].is_owner):
        with places.owner, st.container(horizontal=True, vertical_alignment="center"):
            st.html(hits.paragraphs(f"In your tailnet you are {found.login}."))
            st.button(
                "Fill in", key="settings_owner_self", type="tertiary",
                on_click=_fill_in_owner, args=(found.login,),
            )  # fmt: skip


# --- what is done -----------------------------------------------------------------------


def _fill_in_known() -> None:
    fill_in(st.session_state[_KNOWN])
    st.session_state[_KNOWN] = None


def _fill_in_owner(login: str) -> None:
    st.session_state[_OWNER] = login


def _open(person: Person, what: Literal["change", "remove"]) -> None:
    st.session_state[_OPEN] = (person.login, what)


def _close() -> None:
    st.session_state.pop(_OPEN, None)


def _share(viewer: Viewer) -> None:
    state = st.session_state

    def share() -> str:
        who = library().sharing.share(viewer, state[_LOGIN].strip(), state[_STORES], may_ask=state[_ASK])
        state[_LOGIN], state[_STORES], state[_ASK] = "", [], False
        return f"{who.login} may search {', '.join(who.stores)}"

    _do(share)


def _save(viewer: Viewer, login: str, chosen: str, may_ask: str) -> None:
    state = st.session_state

    def save() -> str:
        who = library().sharing.share(viewer, login, state[chosen], may_ask=state[may_ask], only=True)
        _close()
        return f"{who.login} may search {', '.join(who.stores)}"

    _do(save)


def _remove(viewer: Viewer, login: str) -> None:
    def remove() -> str:
        library().sharing.unshare(viewer, login)
        return f"{login} gets in no more"

    _close()
    _do(remove, waits=False)


def _make_owner(viewer: Viewer) -> None:
    def make() -> str:
        who = library().sharing.make_owner(viewer, st.session_state[_OWNER].strip())
        st.session_state[_OWNER] = ""
        return f"{who.login} is an owner"

    _do(make)


def _do(act: Callable[[], str], *, waits: bool = True) -> None:
    """Do it, and keep the message until the page is drawn again. What ``waits`` takes effect once Tailscale
    forwards to this app."""
    with errors_wait(_PLACE):
        st.session_state[_DONE] = act(), waits
