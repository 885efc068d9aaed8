"""Sharing and tokens on the Settings page: a real library, a program called tailscale."""

from __future__ import annotations

from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from rag_core.types import OWNER
from tests.pages.visiting import has_key, markup, open_page, press, texts
from tests.support.configured import configure
from tests.support.standin import nobody
from tests.support.tailscale_program import NAME, Program, forwarding, running
from ui.frame.deps import library

pytestmark = [pytest.mark.usefixtures("owner", "no_servers", "no_tailscale"), pytest.mark.thorough]

ADA = "ada@example.com"
GRACE = "grace@github"


@pytest.fixture(autouse=True)
def stores(no_servers: None) -> None:
    for name in ("notes", "work"):
        library().create_store(OWNER, name, "hashing")


def page() -> AppTest:
    return open_page("settings", opened="settings_sharing")


def codes(app: AppTest) -> list[str]:
    return [each.value for each in app.code]


def share(app: AppTest, login: str, *names: str, may_ask: bool = False) -> AppTest:
    app.text_input(key="settings_share_login").set_value(login)
    app.multiselect(key="settings_share_stores").set_value(list(names))
    app.checkbox(key="settings_share_ask").set_value(may_ask)
    return press(app, "settings_share_add")


def test_what_is_forwarded_has_an_address_for_guests(tailscale: Program) -> None:
    assert codes(page()) == ["tailscale serve --bg 8501"]
    tailscale.says(running(), forwarding(8501))
    st.cache_data.clear()
    assert codes(page()) == [f"https://{NAME}/"]
    tailscale.says(running(), forwarding(8501, funnel=True))
    st.cache_data.clear()
    assert "to the whole internet" in "".join(each.value for each in page().warning)


def test_what_others_are_called_is_shown_as_it_is_written(tailscale: Program) -> None:
    odd = "a*b*`c`_d_&lt@example.com"
    users = {str(number): {"LoginName": login} for number, login in enumerate((odd, "<b>@example.com"))}
    tailscale.says(running(User=users, Self={"DNSName": f"{NAME}.", "UserID": 0}))
    library().sharing.record_visit(f"y{odd}", "pages", refused=True)
    library().sharing.share(OWNER, f"z{odd}", ["notes"])
    app = page()
    assert "Your login in Tailscale is a*b*`c`_d_&amp;lt@example.com." in markup(app)
    for first in "yz":
        assert f"<strong>{first}a*b*`c`_d_&amp;lt@example.com</strong>" in markup(app)
    assert "<b>" not in markup(app)


def test_a_guest_is_let_in_to_the_chosen_stores() -> None:
    app = share(page(), f" {ADA} ", "work", may_ask=True)
    [person] = library().sharing.people(OWNER)
    assert (person.login, person.stores, person.may_ask, person.is_owner) == (ADA, ("work",), True, False)
    said = texts(app)
    assert f"{ADA} may search work. They can come in as soon as Tailscale runs here." in said
    assert "searches work · may ask questions · since" in said
    assert f"<strong>{ADA}</strong>" in markup(app), "as it is to be copied"
    assert app.text_input(key="settings_share_login").value == ""


@pytest.mark.parametrize(
    ("login", "chosen", "error"),
    [
        ("ada lovelace", ["notes"], "cannot be a login"),
        (ADA, [], "Choose at least one"),
        ("", ["notes"], "login"),
        ("bob", ["notes"], "it has no"),
    ],
)
def test_what_cannot_be_shared_is_refused_in_two_sentences(login: str, chosen: list[str], error: str) -> None:
    app = share(page(), login, *chosen)
    [refusal] = app.error
    assert error in refusal.value
    assert refusal.value.count(".") >= 2
    assert library().sharing.people(OWNER) == []
    assert app.text_input(key="settings_share_login").value == login, "what was typed stays"


def test_a_guests_stores_are_changed_to_exactly_those_chosen() -> None:
    library().sharing.share(OWNER, ADA, ["notes"], may_ask=True)
    app = press(page(), f"settings_person_change_{ADA}")
    assert app.multiselect(key=f"settings_person_stores_{ADA}").value == ["notes"]
    assert app.checkbox(key=f"settings_person_ask_{ADA}").value
    app.multiselect(key=f"settings_person_stores_{ADA}").set_value(["work"])
    app.checkbox(key=f"settings_person_ask_{ADA}").set_value(False)
    press(app, f"settings_person_save_{ADA}")
    [person] = library().sharing.people(OWNER)
    assert (person.stores, person.may_ask) == (("work",), False)
    assert has_key(app, f"settings_person_change_{ADA}"), "the form is closed"


def test_a_person_is_removed_after_a_second_press() -> None:
    library().sharing.share(OWNER, ADA, ["notes"])
    app = press(page(), f"settings_person_remove_{ADA}")
    assert library().sharing.viewer_for(ADA) is not None
    assert f"Remove {ADA}? They lose access at once" in texts(app)
    press(app, f"settings_person_keep_{ADA}")
    press(press(app, f"settings_person_remove_{ADA}"), f"settings_person_removed_{ADA}")
    assert library().sharing.viewer_for(ADA) is None
    assert f"{ADA} no longer has access." in texts(app)


def test_another_owner_is_named_and_removed() -> None:
    app = page()
    assert "read private notes" in texts(app)
    app.text_input(key="settings_owner_login").set_value(ADA)
    press(app, "settings_owner_make")
    assert library().sharing.viewer_for(ADA) == OWNER
    assert not has_key(app, f"settings_person_change_{ADA}"), "an owner has no stores to choose"
    press(press(app, f"settings_person_remove_{ADA}"), f"settings_person_removed_{ADA}")
    assert library().sharing.people(OWNER) == []


def test_an_owner_of_the_configuration_is_removed_there(home: Path) -> None:
    configure(home, f"ollama_url: {nobody()}\naccess_owners: [{ADA}]\n")
    app = page()
    assert "The setting <code>access_owners</code> names this owner." in texts(app)
    assert not has_key(app, f"settings_person_remove_{ADA}")
    assert "by the configuration" in share(app, ADA, "notes").error[0].value


def test_who_knocked_in_vain_is_filled_into_the_form_by_one_press() -> None:
    library().sharing.record_visit(GRACE, "pages", 2, refused=True)
    library().sharing.record_visit(GRACE, "rest", 1, refused=True)
    app = page()
    assert "was refused: 3 requests, last" in texts(app)
    columns = ["Who", "Through", "Requests", "Let in"]
    assert app.dataframe[0].value[columns].values.tolist()[-1] == [GRACE, "pages", 2, False]
    press(app, f"settings_knock_share_{GRACE}")
    assert app.text_input(key="settings_share_login").value == GRACE
    assert f"{GRACE} is in the form above" in texts(app)
    assert library().sharing.people(OWNER) == [], "nothing is shared yet"
    app.multiselect(key="settings_share_stores").set_value(["notes"])
    press(app, "settings_share_add")
    assert not has_key(app, f"settings_knock_share_{GRACE}"), "they may come in now"


def test_a_token_is_shown_once_and_valid_until_it_is_revoked() -> None:
    app = page()
    app.text_input(key="settings_token_name").set_value("backup")
    press(app, "settings_token_make")
    [token] = {each.value for each in app.code if each.value.startswith("cpl_")}
    assert library().sharing.knows_token(token)
    assert "not shown again" in markup(app)
    assert token not in [each.value for each in app.run().code]
    press(app, "settings_revoke_backup")
    assert not library().sharing.knows_token(token)
    assert not has_key(app, "settings_revoke_backup")
    assert "The token backup is revoked" in app.success[0].value
    assert not app.run().success
