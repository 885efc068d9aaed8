"""Who may come in besides the owner: guests and their stores, other owners, and what is kept of visits."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_core.config import Settings
from rag_core.errors import InvalidInput, NotFound, StoreError
from rag_core.library import Library
from rag_core.types import OWNER, Viewer
from tests.support.unwritable import no_file_grows

ADA = "ada@example.com"


@pytest.fixture(autouse=True)
def stores(library: Library) -> None:
    """Two stores to share."""
    for name in ("notes", "work"):
        library.create_store(OWNER, name, "hashing")


def share_and_lose(library: Library, name: str) -> None:
    """Share a store with Ada, and remove its file by hand."""
    library.sharing.share(OWNER, ADA, [name])
    library.close()
    for file in library.settings.store_dir.glob(f"{name}.db*"):
        file.unlink()


def test_nobody_comes_in_at_first_and_looking_makes_no_file(library: Library) -> None:
    assert library.sharing.viewer_for(ADA) is None
    assert library.sharing.people(OWNER) == []
    assert library.sharing.visits(OWNER) == []
    assert not (library.settings.data_dir / "state.db").exists()


def test_a_guest_sees_the_stores_that_were_shared(library: Library) -> None:
    library.sharing.share(OWNER, ADA, ["notes"])
    assert library.sharing.viewer_for(ADA) == Viewer(ADA, stores=frozenset({"notes"}))
    shared = library.sharing.share(OWNER, ADA, ["work"], may_ask=True)
    assert (shared.stores, shared.may_ask) == (("notes", "work"), True)
    assert library.sharing.viewer_for(ADA) == Viewer(ADA, stores=frozenset({"notes", "work"}), may_ask=True)


def test_a_guest_sees_only_these_stores_if_that_is_said(library: Library) -> None:
    library.sharing.share(OWNER, ADA, ["notes"], may_ask=True)
    shared = library.sharing.share(OWNER, ADA, ["work"], only=True)
    assert (shared.stores, shared.may_ask) == (("work",), True)
    with pytest.raises(NotFound):
        library.sharing.share(OWNER, ADA, ["nowhere"], only=True)
    assert library.sharing.viewer_for(ADA) == Viewer(ADA, stores=frozenset({"work"}), may_ask=True)


def test_a_login_is_one_in_any_case(library: Library) -> None:
    library.sharing.share(OWNER, "Ada@Example.com", ["notes"])
    guest = library.sharing.viewer_for("ADA@example.COM")
    assert guest is not None
    assert guest.login == ADA
    assert len(library.sharing.people(OWNER)) == 1


def test_what_is_withdrawn_is_gone_at_once(library: Library) -> None:
    library.sharing.share(OWNER, ADA, ["notes", "work"])
    library.sharing.unshare(OWNER, ADA, ["work"])
    assert library.sharing.viewer_for(ADA) == Viewer(ADA, stores=frozenset({"notes"}))
    library.sharing.unshare(OWNER, ADA, ["notes"])
    assert library.sharing.viewer_for(ADA) is None
    assert library.sharing.people(OWNER) == []


def test_a_store_that_somebody_has_not_cannot_be_taken_from_them(library: Library) -> None:
    """Else a slip of the pen would look as if it had been withdrawn, or take an owner for a guest."""
    library.sharing.share(OWNER, ADA, ["notes"])
    with pytest.raises(NotFound, match=r"no access to store 'note'\. They may search: notes"):
        library.sharing.unshare(OWNER, ADA, ["notes", "note"])
    with pytest.raises(NotFound, match=r"'bob@example.com' has no access\."):
        library.sharing.unshare(OWNER, "bob@example.com")
    assert library.sharing.viewer_for(ADA) == Viewer(ADA, stores=frozenset({"notes"}))
    library.sharing.make_owner(OWNER, ADA)
    with pytest.raises(InvalidInput, match="is an owner, who may see everything"):
        library.sharing.unshare(OWNER, ADA, ["notes"])
    assert library.sharing.viewer_for(ADA) == OWNER


def test_grants_follow_a_renamed_store(library: Library) -> None:
    library.sharing.share(OWNER, ADA, ["notes"])
    library.stores.rename(OWNER, "notes", "diary")
    assert library.sharing.viewer_for(ADA) == Viewer(ADA, stores=frozenset({"diary"}))


def test_a_new_store_of_that_name_is_not_shared(library: Library) -> None:
    share_and_lose(library, "notes")
    library.create_store(OWNER, "notes", "hashing")
    assert library.sharing.viewer_for(ADA) is None


def test_a_store_renamed_to_the_name_of_a_lost_one_brings_only_its_own_grants(library: Library) -> None:
    library.sharing.share(OWNER, "bob@example.com", ["work"])
    share_and_lose(library, "notes")
    library.stores.rename(OWNER, "work", "notes")
    assert library.sharing.viewer_for(ADA) is None
    assert library.sharing.viewer_for("bob@example.com") == Viewer(
        "bob@example.com", stores=frozenset({"notes"})
    )


def test_an_imported_store_is_shared_with_nobody(library: Library, tmp_path: Path) -> None:
    library.sharing.share(OWNER, ADA, ["notes"])
    packed = library.stores.export(OWNER, "notes", tmp_path / "notes.commonplace")
    library.stores.delete(OWNER, "notes")
    library.stores.import_file(OWNER, packed.path)
    assert library.stores.names(OWNER) == ["notes", "work"]
    assert library.sharing.viewer_for(ADA) is None


@pytest.mark.posix
def test_a_store_that_could_not_be_made_leaves_every_grant_as_it_was(
    library: Library, tmp_path: Path
) -> None:
    packed = library.stores.export(OWNER, "work", tmp_path / "work.commonplace").path
    share_and_lose(library, "notes")
    before = library.sharing.people(OWNER)
    with no_file_grows():
        with pytest.raises(StoreError):
            library.create_store(OWNER, "notes", "hashing")
        with pytest.raises(StoreError):
            library.stores.import_file(OWNER, packed, "notes")
        with pytest.raises(StoreError):
            library.stores.rename(OWNER, "work", "notes")
    with pytest.raises(InvalidInput):
        library.create_store(OWNER, "notes", "no such embedder")
    assert library.sharing.people(OWNER) == before != []
    library.stores.import_file(OWNER, packed, "notes")
    assert library.sharing.people(OWNER) == []


def test_only_stores_that_are_there_can_be_shared(library: Library) -> None:
    with pytest.raises(NotFound, match="'nowhere'"):
        library.sharing.share(OWNER, ADA, ["notes", "nowhere"])
    with pytest.raises(InvalidInput, match="No store is named"):
        library.sharing.share(OWNER, ADA, [])
    assert library.sharing.viewer_for(ADA) is None


@pytest.mark.parametrize(
    "login",
    [
        "",
        " ",
        "ada lovelace@example.com",
        "=?utf-8?q?ada?=",
        "ada@example.com\n",
        "a" * 255,
        "ädä@x",
        "Owner",
        "a,b",
        "-x",
    ],
)
def test_a_login_that_cannot_be_one_is_refused(library: Library, login: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be a login"):
        library.sharing.share(OWNER, login, ["notes"])
    with pytest.raises(InvalidInput, match="cannot be a login"):
        library.sharing.make_owner(OWNER, login)


def test_a_login_can_be_an_owners(library: Library) -> None:
    library.sharing.share(OWNER, ADA, ["notes"])
    library.sharing.make_owner(OWNER, ADA)
    assert library.sharing.viewer_for(ADA) == OWNER
    with pytest.raises(InvalidInput, match="is an owner"):
        library.sharing.share(OWNER, ADA, ["notes"])
    library.sharing.unshare(OWNER, ADA)
    assert library.sharing.viewer_for(ADA) is None


def test_the_configuration_names_owners(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "data", tmp_path / "models", (), access_owners=(ADA,))
    opened = Library.open(settings)
    assert opened.sharing.viewer_for("Ada@example.com") == OWNER
    assert [(each.login, each.configured) for each in opened.sharing.people(OWNER)] == [(ADA, True)]
    for change in (opened.sharing.unshare, opened.sharing.make_owner):
        with pytest.raises(InvalidInput, match="by the configuration"):
            change(OWNER, ADA)
    opened.close()


# --- visits -----------------------------------------------------------------------------


def test_requests_without_a_long_break_are_one_visit(library: Library) -> None:
    library.sharing.record_visit(ADA, "pages", 3)
    library.sharing.record_visit(ADA, "pages")
    library.sharing.record_visit(ADA, "rest")
    library.sharing.record_visit("stranger@example.com", "pages", refused=True)
    found = {(each.login, each.door, each.requests, each.refused) for each in library.sharing.visits(OWNER)}
    assert found == {
        (ADA, "pages", 4, False),
        (ADA, "rest", 1, False),
        ("stranger@example.com", "pages", 1, True),
    }
