"""The people with access besides the owner at this computer, and their visits, in ``state.db`` in the data
folder.

A person is a login that Tailscale verified, in lower case like a mail address. A grant names a store: it
follows a renaming, and ends with the store.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rag_core.config.keys import LOGIN_NAME
from rag_core.errors import InvalidInput, NotFound
from rag_core.reports import Door, Person, Visit
from rag_core.store.state import State
from rag_core.types import OWNER

BREAK = timedelta(minutes=30)
"""A request after a longer silence begins another visit."""
KEPT = 500
"""How many visits are remembered."""

_TABLES = """
CREATE TABLE IF NOT EXISTS people (
    login TEXT PRIMARY KEY,
    is_owner INTEGER NOT NULL,
    may_ask INTEGER NOT NULL,
    since TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS grants (
    login TEXT NOT NULL REFERENCES people (login),
    store TEXT NOT NULL,
    PRIMARY KEY (login, store)
);
CREATE TABLE IF NOT EXISTS visits (
    id INTEGER PRIMARY KEY,
    login TEXT NOT NULL,
    door TEXT NOT NULL,
    refused INTEGER NOT NULL,
    started_at TEXT NOT NULL,
    last_at TEXT NOT NULL,
    requests INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS visits_by_login ON visits (login, door, refused, last_at);
"""


class People:
    """The people that one owner named. Reading makes no file; every method may raise StoreError."""

    def __init__(self, data_dir: Path, busy_timeout_s: float) -> None:
        self._state = State(
            data_dir, busy_timeout_s, tables=_TABLES,
            called="Who may come in", without="nobody may but the owner",
        )  # fmt: skip

    # --- people and grants --------------------------------------------------------------

    def all(self) -> list[Person]:
        """Everyone by login."""
        if not self._state.is_there:
            return []
        with self._state.open() as db:
            return list(_everyone(db).values())

    def find(self, login: str) -> Person | None:
        """One of them; None for anybody else."""
        return next((each for each in self.all() if each.login == login.lower()), None)

    def grant(
        self, login: str, stores: Sequence[str], *, may_ask: bool | None = None, only: bool = False
    ) -> Person:
        """Let somebody search these stores besides those granted before, or ``only`` these. ``may_ask``
        allows questions or not (None: as before, at first not). Raises InvalidInput for a login that cannot
        be one, and for an owner."""
        name = checked_login(login)
        with self._state.open() as db:
            known = _everyone(db).get(name)
            if known is not None and known.is_owner:
                raise InvalidInput(f"{name!r} is an owner, who may see everything.", "Remove them first.")
            before = known is not None and known.may_ask
            _add(db, name, is_owner=False, may_ask=before if may_ask is None else may_ask)
            if only:
                db.execute("DELETE FROM grants WHERE login = ?", (name,))
            db.executemany("INSERT OR IGNORE INTO grants VALUES (?, ?)", [(name, each) for each in stores])
            return _everyone(db)[name]

    def withdraw(self, login: str, stores: Sequence[str]) -> None:
        """Withdraw these stores from a guest; a guest without any is removed. Raises NotFound, also for a
        store that the guest did not have, and InvalidInput for an owner."""
        known = self._known(login)
        if known.is_owner:
            raise InvalidInput(
                f"{known.login!r} is an owner, who may see everything.",
                "Name no store to let them in no more.",
            )
        if lacked := next((each for each in stores if each not in known.stores), None):
            raise NotFound(
                f"{known.login!r} may not search store {lacked[:80]!r} as it is.",
                f"They may search: {', '.join(known.stores)}.",
            )
        with self._state.open() as db:
            db.executemany(
                "DELETE FROM grants WHERE login = ? AND store = ?", [(known.login, each) for each in stores]
            )
            _drop_guests_of_nothing(db)

    def make_owner(self, login: str) -> Person:
        """Let somebody do what the owner may. Raises InvalidInput for a login that cannot be one."""
        name = checked_login(login)
        with self._state.open() as db:
            _add(db, name, is_owner=True, may_ask=True)
            db.execute("DELETE FROM grants WHERE login = ?", (name,))
            return _everyone(db)[name]

    def remove(self, login: str) -> None:
        """Remove a person and their grants. Raises NotFound."""
        name = self._known(login).login
        with self._state.open() as db:
            db.execute("DELETE FROM grants WHERE login = ?", (name,))
            db.execute("DELETE FROM people WHERE login = ?", (name,))

    def _known(self, login: str) -> Person:
        everyone = {each.login: each for each in self.all()}
        if login.lower() not in everyone:
            advice = f"There are: {', '.join(everyone)}." if everyone else "Nobody is."
            raise NotFound(f"{login[:254]!r} is not let in.", advice)
        return everyone[login.lower()]

    # --- stores that come and go --------------------------------------------------------

    def forget_store(self, store: str) -> None:
        """Withdraw every grant of a store that is gone, or whose name another one gets. A guest of nothing
        else is removed."""
        if not self._state.is_there:
            return
        with self._state.open() as db:
            db.execute("DELETE FROM grants WHERE store = ?", (store,))
            _drop_guests_of_nothing(db)

    def rename_store(self, store: str, new_name: str) -> None:
        """Move the grants of a store to its new name."""
        if not self._state.is_there:
            return
        with self._state.open() as db:
            db.execute("DELETE FROM grants WHERE store = ? AND ? <> store", (new_name, store))
            db.execute("UPDATE grants SET store = ? WHERE store = ?", (new_name, store))

    # --- visits -------------------------------------------------------------------------

    def record(self, login: str, door: Door, requests: int, *, refused: bool) -> None:
        """Count requests towards the current visit, or begin one."""
        now = datetime.now(UTC)
        since = _text(now - BREAK)
        with self._state.open() as db:
            going_on = db.execute(
                """SELECT max(id) FROM visits
                   WHERE login = ? AND door = ? AND refused = ? AND last_at >= ?""",
                (login, door, refused, since),
            ).fetchone()[0]
            if going_on is not None:
                db.execute(
                    "UPDATE visits SET last_at = ?, requests = requests + ? WHERE id = ?",
                    (_text(now), requests, going_on),
                )
                return
            db.execute(
                """INSERT INTO visits (login, door, refused, started_at, last_at, requests)
                   VALUES (?, ?, ?, ?, ?, ?)""",
                (login, door, refused, _text(now), _text(now), requests),
            )
            db.execute(
                """DELETE FROM visits
                   WHERE id NOT IN (SELECT id FROM visits ORDER BY last_at DESC, id DESC LIMIT ?)""",
                (KEPT,),
            )

    def visits(self, limit: int) -> list[Visit]:
        """The last visits, the latest first."""
        if not self._state.is_there:
            return []
        with self._state.open() as db:
            rows = db.execute(
                """SELECT login, door, started_at, last_at, requests, refused FROM visits
                   ORDER BY last_at DESC, id DESC LIMIT ?""",
                (limit,),
            ).fetchall()
        return [
            Visit(login, door, started_at, last_at, requests, bool(refused))
            for login, door, started_at, last_at, requests, refused in rows
        ]


def checked_login(login: str) -> str:
    """A login as it is kept. Raises InvalidInput for what Tailscale would not send as one."""
    if not LOGIN_NAME.fullmatch(login) or login.lower() == OWNER.login:
        raise InvalidInput(
            f"{login[:254]!r} cannot be a login.",
            "Use the one that Tailscale shows for the person, such as ada@example.com or ada@github.",
        )
    return login.lower()


def _everyone(db: sqlite3.Connection) -> dict[str, Person]:
    """Everyone by login."""
    grants = defaultdict(list)
    for login, store in db.execute("SELECT login, store FROM grants ORDER BY store"):
        grants[login].append(store)
    rows = db.execute("SELECT login, is_owner, may_ask, since FROM people ORDER BY login")
    return {
        login: Person(login, bool(is_owner), tuple(grants[login]), bool(may_ask), since)
        for login, is_owner, may_ask, since in rows
    }


def _add(db: sqlite3.Connection, login: str, *, is_owner: bool, may_ask: bool) -> None:
    db.execute(
        """INSERT INTO people VALUES (?, ?, ?, ?)
           ON CONFLICT (login) DO UPDATE SET is_owner = excluded.is_owner, may_ask = excluded.may_ask""",
        (login, is_owner, may_ask, _text(datetime.now(UTC))),
    )


def _drop_guests_of_nothing(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM people WHERE NOT is_owner AND login NOT IN (SELECT login FROM grants)")


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
