"""Sharing stores: the people whom Tailscale names and what they may see, and the tokens of the owner's
scripts."""

from __future__ import annotations

from collections.abc import Sequence

from rag_core.errors import InvalidInput
from rag_core.library import tailscale
from rag_core.library.people import checked_login
from rag_core.library.service import Service, open_to_all
from rag_core.library.tokens import Tokens
from rag_core.reports import Door, NewToken, Person, Tailscale, Token, Visit
from rag_core.types import OWNER, Viewer


class Sharing(Service):
    """Says who may see which stores, and keeps the tokens of the owner's scripts."""

    # --- people -------------------------------------------------------------------------

    @open_to_all
    def viewer_for(self, login: str) -> Viewer | None:
        """The viewer of a verified login: the owner, a guest, or None. The gate asks this before there is a
        viewer."""
        if login.lower() in self._settings.access_owners:
            return OWNER
        person = self._shared.people.find(login)
        if person is None or not (person.is_owner or person.stores):
            return None
        if person.is_owner:
            return OWNER
        return Viewer(person.login, stores=frozenset(person.stores), may_ask=person.may_ask)

    def share(
        self,
        viewer: Viewer,
        login: str,
        stores: Sequence[str],
        *,
        may_ask: bool | None = None,
        only: bool = False,
    ) -> Person:
        """Let ``login`` search these stores besides those granted before, or ``only`` these. ``may_ask``
        allows questions or not (None: as before, at first not).

        Raises InvalidInput for a login that cannot be one or is an owner's, or no store at all; NotFound for
        a store that is not there.
        """
        if not stores:
            raise InvalidInput("No store is named to share.", "Choose at least one.")
        for store in stores:
            self._stores.open(viewer, store)
        self._refuse_configured(login)
        self._refuse_unlikely(viewer, login)
        return self._shared.people.grant(login, stores, may_ask=may_ask, only=only)

    def unshare(self, viewer: Viewer, login: str, stores: Sequence[str] = ()) -> None:
        """Withdraw these stores from a guest; without any, remove the guest or owner. Raises NotFound, and
        InvalidInput for an owner whom the configuration names."""
        self._refuse_configured(login)
        if stores:
            self._shared.people.withdraw(login, stores)
        else:
            self._shared.people.remove(login)

    def make_owner(self, viewer: Viewer, login: str) -> Person:
        """Let ``login`` do all that the owner may. Raises InvalidInput for a login that cannot be one."""
        self._refuse_configured(login)
        self._refuse_unlikely(viewer, login)
        return self._shared.people.make_owner(login)

    def people(self, viewer: Viewer) -> list[Person]:
        """Everyone who may come in besides the owner at this computer, owners first, by login."""
        configured = [
            Person(login, True, may_ask=True, configured=True) for login in self._settings.access_owners
        ]
        kept = [each for each in self._shared.people.all() if each.login not in self._settings.access_owners]
        return sorted((*configured, *kept), key=lambda each: (not each.is_owner, each.login))

    def guests(self, viewer: Viewer, store: str) -> tuple[str, ...]:
        """The logins of those whom ``store`` is shared with; owners, who see everything, are not among
        them."""
        return tuple(each.login for each in self.people(viewer) if store in each.stores)

    def visits(self, viewer: Viewer, limit: int = 50) -> list[Visit]:
        """The last visits through the network, the latest first, without what was asked for."""
        return self._shared.people.visits(limit)

    @open_to_all
    def record_visit(self, login: str, door: Door, requests: int = 1, *, refused: bool = False) -> None:
        """Count requests of a verified login. Raises InvalidInput for what cannot be one."""
        self._shared.people.record(checked_login(login), door, requests, refused=refused)

    def tailscale(self, viewer: Viewer, port: int | None = None) -> Tailscale:
        """The state of Tailscale on this computer, and whether it leads to the app that listens on ``port``
        (None: the configured one). Takes eight seconds at most; nothing is changed."""
        settings = self._settings
        return tailscale.look(settings.port if port is None else port, settings.access_hosts)

    def _refuse_configured(self, login: str) -> None:
        if login.lower() in self._settings.access_owners:
            raise InvalidInput(
                f"The configuration names {login!r} as an owner.", "Change `access_owners` there."
            )

    def _refuse_unlikely(self, viewer: Viewer, login: str) -> None:
        """Refuse a login without an at sign, most likely a slip, unless Tailscale here knows it."""
        if "@" in checked_login(login) or login.lower() in self.tailscale(viewer).logins:
            return
        raise InvalidInput(
            f"{login!r} is no whole login: it has no '@'.",
            "Use the one that Tailscale shows for the person, such as ada@example.com or ada@github.",
        )

    # --- tokens -------------------------------------------------------------------------

    def create_token(self, viewer: Viewer, name: str) -> NewToken:
        """Make a token with which a script is the owner. Only its hash is kept, so it is shown only now.

        Raises InvalidInput for a name that is taken or cannot be one.
        """
        return self._tokens.create(name)

    def tokens(self, viewer: Viewer) -> list[Token]:
        """The tokens that are valid, by name."""
        return self._tokens.all()

    def revoke_token(self, viewer: Viewer, name: str) -> None:
        """Make a token useless from the next request on. Raises NotFound."""
        self._tokens.revoke(name)

    @open_to_all
    def knows_token(self, secret: str) -> bool:
        """Whether this is a token of the owner. The gate asks this before there is a viewer."""
        return self._tokens.knows(secret)

    @property
    def _tokens(self) -> Tokens:
        return Tokens(self._settings.data_dir, self._settings.busy_timeout_s)
