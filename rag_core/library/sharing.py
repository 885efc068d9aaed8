"""Sharing stores: people with access and what they may see, and the tokens of the owner's scripts."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from rag_core.config.keys import LOGIN_NAME
from rag_core.errors import InvalidInput, NotFound
from rag_core.library.service import Service, open_to_all
from rag_core.library.store_files import check_name
from rag_core.people import tailscale
from rag_core.reports import Door, Person, Tailscale, Token, Visit
from rag_core.types import OWNER, Viewer

BREAK = timedelta(minutes=30)
"""A request after a longer silence counts as a new visit."""
KEPT_VISITS = 500
_PREFIX = "cpl_"  # shows what it is to anyone who finds a token
_BYTES = 32  # random, so the hash does not reveal them
_WHICH_LOGIN = "Use the login that Tailscale shows for the person, such as ada@example.com or ada@github."


class Sharing(Service):
    """Controls who may see which stores, and the tokens of the owner's scripts."""

    @open_to_all
    def viewer_for(self, login: str) -> Viewer | None:
        """Return the viewer of a verified login: the owner, a guest, or None without access. It takes no
        viewer, because the gate (`rag_core.access`) calls it to find one."""
        if login.lower() in self._settings.access_owners:
            return OWNER
        person = self._access.people().get(login.lower())
        if person is None or not (person.is_owner or person.stores):
            return None
        guest = Viewer(person.login, stores=frozenset(person.stores), may_ask=person.may_ask)
        return OWNER if person.is_owner else guest

    def share(
        self,
        viewer: Viewer,
        login: str,
        stores: Sequence[str],
        *,
        may_ask: bool | None = None,
        only: bool = False,
    ) -> Person:
        """Let ``login`` search ``stores`` in addition to the stores granted before, or only these stores with
        ``only``. ``may_ask`` says whether this person may ask questions. None keeps the present permission,
        and a new guest gets none.

        Raises InvalidInput if ``login`` cannot be a login or belongs to an owner, or if ``stores`` is empty;
        NotFound if a store does not exist.
        """
        if not stores:
            raise InvalidInput("No store is named to share.", "Choose at least one.")
        for store in stores:
            self._stores.open(viewer, store)
        name = self._likely_login(viewer, login)
        known = self._access.people().get(name)
        if known and known.is_owner:
            raise InvalidInput(
                f"{name!r} is an owner, who may see everything.",
                f"To make them a guest, first run `commonplace share remove {name}`.",
            )
        if may_ask is None:
            may_ask = bool(known and known.may_ask)
        with self._access.change() as db:
            _put(db, name, is_owner=False, may_ask=may_ask)
            if only:
                db.execute("DELETE FROM grants WHERE login = ?", (name,))
            db.executemany(
                "INSERT OR IGNORE INTO grants VALUES (?, ?)", [(name, granted) for granted in stores]
            )
        return self._access.people()[name]

    def unshare(self, viewer: Viewer, login: str, stores: Sequence[str] = ()) -> None:
        """Withdraw ``stores`` from a guest. A guest without any store left is removed. Without ``stores``,
        remove the person.

        Raises NotFound for an unknown login or a store that was not granted, InvalidInput for stores of an
        owner, and for an owner named in the configuration.
        """
        self._refuse_configured(login)
        people = self._access.people()
        known = people.get(login.lower())
        if known is None:
            advice = (
                f"These logins have access: {', '.join(people)}."
                if people
                else "No other login has been given access."
            )
            raise NotFound(f"{login[:254]!r} has no access.", advice)
        if stores and known.is_owner:
            raise InvalidInput(
                f"{known.login!r} is an owner, who may see everything.", "Name no store to remove them."
            )
        if lacked := next((store for store in stores if store not in known.stores), None):
            has = f"They may search: {', '.join(known.stores)}."
            raise NotFound(f"{known.login!r} has no access to store {lacked[:80]!r}.", has)
        with self._access.change() as db:
            gone = [(known.login, store) for store in stores or known.stores]
            db.executemany("DELETE FROM grants WHERE login = ? AND store = ?", gone)
            if not stores:
                db.execute("DELETE FROM people WHERE login = ?", (known.login,))

    def make_owner(self, viewer: Viewer, login: str) -> Person:
        """Make ``login`` an owner, who may do everything. Raises InvalidInput if it cannot be a login."""
        name = self._likely_login(viewer, login)
        with self._access.change() as db:
            _put(db, name, is_owner=True, may_ask=True)
            db.execute("DELETE FROM grants WHERE login = ?", (name,))
        return self._access.people()[name]

    def people(self, viewer: Viewer) -> list[Person]:
        """Return everyone with access except the owner at this computer: owners first, then by login."""
        everyone = self._access.people()
        for login in self._settings.access_owners:
            everyone[login] = Person(login, True, may_ask=True, configured=True)
        return sorted(everyone.values(), key=lambda each: (not each.is_owner, each.login))

    def guests(self, viewer: Viewer, store: str) -> tuple[str, ...]:
        """Return the logins of the guests of ``store``. Owners see every store and are not listed."""
        return tuple(person.login for person in self.people(viewer) if store in person.stores)

    def visits(self, viewer: Viewer, limit: int = 50) -> list[Visit]:
        """Return the last visits through the network, latest first. They do not include the queries."""
        rows = self._access.rows(
            """SELECT login, door, started_at, last_at, requests, refused FROM visits
               ORDER BY last_at DESC, id DESC LIMIT ?""",
            limit,
        )
        return [
            Visit(login, door, started_at, last_at, requests, bool(refused))
            for login, door, started_at, last_at, requests, refused in rows
        ]

    @open_to_all
    def record_visit(self, login: str, door: Door, requests: int = 1, *, refused: bool = False) -> None:
        """Add ``requests`` of a verified login to its present visit, or begin a new one. ``door`` is the
        interface, and ``refused`` says that they were not let in. Raises InvalidInput for an impossible
        login."""
        name, now = _checked(login), datetime.now(UTC)
        with self._access.change() as db:
            counted = db.execute(
                """UPDATE visits SET last_at = ?, requests = requests + ? WHERE id = (
                   SELECT max(id) FROM visits
                   WHERE login = ? AND door = ? AND refused = ? AND last_at >= ?)""",
                (_text(now), requests, name, door, refused, _text(now - BREAK)),
            )
            if counted.rowcount:
                return
            db.execute(
                """INSERT INTO visits (login, door, refused, started_at, last_at, requests)
                   VALUES (?, ?, ?, ?, ?, ?)""",
                (name, door, refused, _text(now), _text(now), requests),
            )
            db.execute(
                """DELETE FROM visits
                   WHERE id NOT IN (SELECT id FROM visits ORDER BY last_at DESC, id DESC LIMIT ?)""",
                (KEPT_VISITS,),
            )

    def tailscale(self, viewer: Viewer, port: int | None = None) -> Tailscale:
        """Return the state of Tailscale on this computer, and whether it forwards to the app on ``port``
        (None: the configured port). This takes at most eight seconds and changes nothing."""
        return tailscale.look(port or self._settings.port, self._settings.access_hosts)

    def _refuse_configured(self, login: str) -> None:
        if login.lower() in self._settings.access_owners:
            message = f"{login!r} is an owner by the configuration."
            raise InvalidInput(message, "Change the setting `access_owners`.")

    def _likely_login(self, viewer: Viewer, login: str) -> str:
        """Return ``login`` in lower case. Raises InvalidInput for an impossible login, for one in the
        configuration, and for one without an at sign unless Tailscale here knows it."""
        self._refuse_configured(login)
        name = _checked(login)
        if "@" not in name and name not in self.tailscale(viewer).logins:
            raise InvalidInput(f"{login!r} is not a whole login: it has no '@'.", _WHICH_LOGIN)
        return name

    def create_token(self, viewer: Viewer, name: str) -> Token:
        """Create a token with which a script acts as the owner. Only the token's hash is stored, so the token
        cannot be shown again. Raises InvalidInput for a name that is taken or cannot be used."""
        check_name(name, "a token")
        secret = _PREFIX + secrets.token_urlsafe(_BYTES)
        now = _text(datetime.now(UTC))
        with self._access.change() as db:
            if db.execute("SELECT 1 FROM tokens WHERE name = ?", (name,)).fetchone():
                raise InvalidInput(f"A token called {name!r} exists already.", "Choose another name.")
            db.execute("INSERT INTO tokens VALUES (?, ?, ?)", (name, _hash(secret), now))
        return Token(name, now, secret)

    def tokens(self, viewer: Viewer) -> list[Token]:
        """Return the valid tokens, sorted by name."""
        return [Token(*row) for row in self._access.rows("SELECT name, created_at FROM tokens ORDER BY name")]

    def revoke_token(self, viewer: Viewer, name: str) -> None:
        """Delete a token. The next request with it is refused. Raises NotFound."""
        with self._access.change() as db:
            if db.execute("DELETE FROM tokens WHERE name = ?", (name,)).rowcount:
                return
        names = ", ".join(token.name for token in self.tokens(viewer))
        advice = f"There are: {names}." if names else "There are no tokens."
        raise NotFound(f"There is no token called {name[:80]!r}.", advice)

    @open_to_all
    def knows_token(self, secret: str) -> bool:
        """Whether ``secret`` is a valid token. It takes no viewer, because the gate (`rag_core.access`) calls
        it to find one."""
        return bool(self._access.rows("SELECT 1 FROM tokens WHERE hash = ?", _hash(secret)))


def _checked(login: str) -> str:
    """Return ``login`` in lower case. Raises InvalidInput if Tailscale never sends such a login."""
    if not LOGIN_NAME.fullmatch(login) or login.lower() == OWNER.login:
        raise InvalidInput(f"{login[:254]!r} cannot be a login.", _WHICH_LOGIN)
    return login.lower()


def _put(db: sqlite3.Connection, login: str, *, is_owner: bool, may_ask: bool) -> None:
    db.execute(
        """INSERT INTO people VALUES (?, ?, ?, ?)
           ON CONFLICT (login) DO UPDATE SET is_owner = excluded.is_owner, may_ask = excluded.may_ask""",
        (login, is_owner, may_ask, _text(datetime.now(UTC))),
    )


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
