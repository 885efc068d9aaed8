"""People on the Settings page: who has access to which stores, sharing with a guest, adding an owner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import streamlit as st

from rag_core.reports import Person, Tailscale
from rag_core.types import Viewer
from rag_core.wording import moment
from ui.frame import hits
from ui.frame.deps import library
from ui.frame.messages import errors_wait, show_done, show_waiting

_LOGIN: Final = "settings_share_login"
_STORES: Final = "settings_share_stores"
_ASK: Final = "settings_share_ask"
_KNOWN: Final = "settings_share_known"
_OWNER: Final = "settings_owner_login"
_OPEN: Final = "settings_share_open"
_PLACE: Final = "settings_share"
_DONE: Final = "settings_share_said"

_GUESTS: Final = (
    "A guest searches the stores that you choose, reads their documents, and asks your language model if"
    " you allow it. A guest never sees private notes, other stores, folders of this computer or settings, and"
    " changes nothing."
)
_OWNERS: Final = (
    "An owner may do everything: read private notes, delete stores, make tokens, share, and name owners."
    " Name yourself to be the owner on your other devices."
)
_REMOVED: Final = "They lose access at once, and their open pages close."


def show_people(viewer: Viewer, tailscale: Tailscale) -> None:
    """Draw everyone with access, the actions for each person, and the forms to add a person. ``tailscale`` is
    its state now: it names the people that can be chosen."""
    st.subheader("People", anchor=False, help=_GUESTS)
    show_waiting(_PLACE)
    done, waits = st.session_state.pop(_DONE, ("", False))
    show_done(f"{done} {tailscale.not_yet if waits else ''}".strip())
    stores = library().stores.names(viewer)
    people = {person.login: person for person in library().sharing.people(viewer)}
    for person in people.values():
        with st.container(border=True, gap="xsmall", key=f"settings_person_{person.login}"):
            _show(viewer, person, stores)
    if stores:
        _offer_known(
            [login for login in tailscale.logins if login not in people and login != tailscale.login]
        )
        with st.form("settings_share"):
            st.text_input(
                "Share with",
                key=_LOGIN,
                placeholder="ada@example.com",
                autocomplete="off",
                help="The login that Tailscale shows for the person.",
            )
            _choose(stores, _STORES, _ASK, Person(""))
            st.form_submit_button(
                "Share",
                icon=":material/person_add:",
                key="settings_share_add",
                type="primary",
                on_click=_share,
                args=(viewer, "", _STORES, _ASK),
            )
    else:
        st.html(hits.paragraphs("There is no store to share yet."))
    with st.expander("Name another owner", key="settings_owner"):
        _offer_ownership(viewer, "" if tailscale.login in people else tailscale.login)


def _offer_known(strangers: Sequence[str]) -> None:
    def fill_in_known() -> None:
        fill_in(st.session_state[_KNOWN])
        st.session_state[_KNOWN] = None

    if strangers:
        st.selectbox(
            "Somebody in your Tailscale network",
            strangers,
            None,
            key=_KNOWN,
            placeholder="Choose somebody",
            on_change=fill_in_known,
        )


def fill_in(login: str) -> None:
    """Put a login into the form for a new guest."""
    st.session_state[_LOGIN] = login


def _show(viewer: Viewer, person: Person, stores: Sequence[str]) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(hits.name(person.login), width="content")
        if person.is_owner:
            st.badge("Owner", icon=":material/shield_person:", color="violet")
        else:
            st.badge("Guest", icon=":material/person:", color="blue")
    asks = "may ask questions" if person.may_ask else "may not ask questions"
    may = "sees everything" if person.is_owner else f"searches {', '.join(person.stores)} · {asks}"
    since = f" · since {moment(person.since)}" if person.since else ""
    st.html(hits.paragraphs(may + since))
    if person.configured:
        st.html(
            hits.plain_sentences(
                "The setting `access_owners` names this owner. To remove them, change the setting."
            )
        )
        return
    match st.session_state.get(_OPEN):
        case (person.login, "change") if not person.is_owner:
            _change(viewer, person, stores)
        case (person.login, "remove"):
            _confirm_removal(viewer, person)
        case _:
            _actions(person)


def _actions(person: Person) -> None:
    offered = [("Remove", "remove", ":material/person_remove:")]
    if not person.is_owner:
        offered.insert(0, ("Change", "change", ":material/edit:"))
    with st.container(horizontal=True, gap="small"):
        for name, what, icon in offered:
            st.button(
                name,
                key=f"settings_person_{what}_{person.login}",
                icon=icon,
                type="tertiary",
                on_click=st.session_state.update,
                args=({_OPEN: (person.login, what)},),
            )


def _change(viewer: Viewer, person: Person, stores: Sequence[str]) -> None:
    with st.form(f"settings_person_{person.login}", border=False):
        chosen = f"settings_person_stores_{person.login}"
        may_ask = f"settings_person_ask_{person.login}"
        _choose(stores, chosen, may_ask, person)
        with st.container(horizontal=True):
            st.form_submit_button(
                "Save",
                key=f"settings_person_save_{person.login}",
                type="primary",
                on_click=_share,
                args=(viewer, person.login, chosen, may_ask),
                kwargs={"only": True},
            )
            st.form_submit_button(
                "Leave as it is",
                key=f"settings_person_leave_{person.login}",
                on_click=st.session_state.pop,
                args=(_OPEN, None),
            )


def _choose(stores: Sequence[str], chosen: str, may_ask: str, person: Person) -> None:
    given = [name for name in person.stores if name in stores]
    st.multiselect("Stores", stores, given or None, key=chosen, placeholder="Choose stores")
    asks = "Your answering model may also answer their questions from these stores."
    st.checkbox("May also ask questions", person.may_ask, key=may_ask, help=asks)


def _confirm_removal(viewer: Viewer, person: Person) -> None:
    def remove() -> str:
        library().sharing.unshare(viewer, person.login)
        return f"{person.login} no longer has access."

    st.html(hits.plain_sentences(f"Remove {person.login}? {_REMOVED}"))
    with st.container(horizontal=True):
        st.button(
            "Remove them",
            key=f"settings_person_removed_{person.login}",
            type="primary",
            on_click=_do,
            args=(remove,),
            kwargs={"waits": False},
        )
        st.button(
            "Keep them",
            key=f"settings_person_keep_{person.login}",
            on_click=st.session_state.pop,
            args=(_OPEN, None),
        )


def _offer_ownership(viewer: Viewer, own_login: str) -> None:
    def make() -> str:
        who = library().sharing.make_owner(viewer, st.session_state[_OWNER].strip())
        st.session_state[_OWNER] = ""
        return f"{who.login} is an owner."

    st.html(hits.plain_sentences(_OWNERS))
    if own_login:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.html(hits.paragraphs(f"Your login in Tailscale is {own_login}."))
            st.button(
                "Fill in",
                key="settings_owner_self",
                type="tertiary",
                on_click=st.session_state.update,
                args=({_OWNER: own_login},),
            )
    with (
        st.form("settings_owner_form", border=False),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        st.text_input("Login of the owner", key=_OWNER, placeholder="ada@example.com", autocomplete="off")
        st.form_submit_button(
            "Make owner",
            icon=":material/shield_person:",
            key="settings_owner_make",
            on_click=_do,
            args=(make,),
        )


def _share(viewer: Viewer, login: str, stores: str, may_ask: str, *, only: bool = False) -> None:
    """Share the stores chosen in the box ``stores`` with ``login``, and allow questions if the box
    ``may_ask`` is ticked. If ``login`` is '', take it from its box."""
    state = st.session_state

    def share() -> str:
        who = library().sharing.share(
            viewer, login or state[_LOGIN].strip(), state[stores], may_ask=state[may_ask], only=only
        )
        if not login:
            state[_LOGIN], state[stores], state[may_ask] = "", [], False
        return f"{who.login} may search {', '.join(who.stores)}."

    _do(share)


def _do(act: Callable[[], str], *, waits: bool = True) -> None:
    """Call ``act`` and keep its message until the page is drawn again. ``waits`` means that the change takes
    effect only when Tailscale forwards to this app."""
    with errors_wait(_PLACE):
        st.session_state[_DONE] = act(), waits
        st.session_state.pop(_OPEN, None)
