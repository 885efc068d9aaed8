"""The questions and answers of each login, in ``state.db`` in the data folder."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from rag_core.errors import InvalidInput, StoreError
from rag_core.replies import Conversation, Reply
from rag_core.store.state import State

_ID = re.compile(r"[0-9a-f]{32}")
_TABLE = """
CREATE TABLE IF NOT EXISTS ask_turns (
    id INTEGER PRIMARY KEY,
    login TEXT NOT NULL,
    conversation TEXT NOT NULL,
    asked_at TEXT NOT NULL,
    question TEXT NOT NULL,
    reply TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS ask_turns_by_login ON ask_turns (login, conversation);
"""

_IS_OF_STORE = """EXISTS
    (SELECT 1 FROM json_each(iif(json_valid(reply), reply, '{}'), '$.stores') WHERE value = ?)"""


class Conversations:
    """Stores the conversations of all logins. Reading creates no file. Every method may raise StoreError."""

    def __init__(self, data_dir: Path, busy_timeout_s: float) -> None:
        self._state = State(
            data_dir,
            busy_timeout_s,
            tables=_TABLE,
            called="The history of questions",
            without="Without it the history starts empty.",
        )

    def all_of(self, login: str) -> list[Conversation]:
        """Return the conversations of a login, newest first."""
        rows = self._state.rows(
            """SELECT t.conversation, first.question, t.asked_at, t.count FROM ask_turns first JOIN (
                   SELECT conversation, min(id) AS id, max(asked_at) AS asked_at, count(*) AS count,
                          max(id) AS last
                   FROM ask_turns WHERE login = ? GROUP BY conversation
               ) t ON t.id = first.id ORDER BY t.last DESC""",
            login,
        )
        return [Conversation(*row) for row in rows]

    def replies(self, login: str, conversation: str) -> list[Reply]:
        """Return the replies of a conversation, oldest first; nothing if there is no such conversation."""
        sql = "SELECT reply FROM ask_turns WHERE login = ? AND conversation = ? ORDER BY id"
        try:
            return [_read(row[0]) for row in self._state.rows(sql, login, conversation)]
        except (LookupError, TypeError, ValueError):
            problem = f"The conversation {conversation!r} cannot be read."
            raise StoreError(problem, "Delete it, and ask again.") from None

    def add(self, login: str, conversation: str, reply: Reply) -> None:
        """Append a reply to a conversation. Raises InvalidInput if its id is not 32 hexadecimal digits."""
        if not _ID.fullmatch(conversation):
            problem = f"{conversation[:80]!r} is not the id of a conversation."
            raise InvalidInput(problem, "Use 32 hexadecimal digits.")
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        written = json.dumps(asdict(reply))
        with self._state.open() as db:
            db.execute(
                """INSERT INTO ask_turns (login, conversation, asked_at, question, reply)
                   VALUES (?, ?, ?, ?, ?)""",
                (login, conversation, now, reply.question.encode("utf-8", "replace").decode(), written),
            )

    def rename_store(self, store: str, new_name: str) -> None:
        """Replace the name of a renamed store in the replies of all logins."""
        rows = self._state.rows(f"SELECT id, reply FROM ask_turns WHERE {_IS_OF_STORE}", store)
        for number, written in rows:
            reply = json.loads(written)
            for named in (reply, *reply.get("notices", ())):  # an older version kept warnings
                named["stores"] = [
                    new_name if asked_store == store else asked_store
                    for asked_store in named.get("stores", ())
                ]
            for reference in reply["references"]:
                reference["vault"] = new_name if reference["vault"] == store else reference["vault"]
            self._state.rows("UPDATE ask_turns SET reply = ? WHERE id = ?", json.dumps(reply), number)

    def forget_store(self, store: str) -> None:
        """Delete all replies that used passages of a store, for every login."""
        self._state.rows(f"DELETE FROM ask_turns WHERE {_IS_OF_STORE}", store)

    def delete(self, login: str, conversation: str | None = None) -> None:
        """Delete one conversation of a login, or all if ``conversation`` is None."""
        sql = "DELETE FROM ask_turns WHERE login = ? AND (? IS NULL OR conversation = ?)"
        self._state.rows(sql, login, conversation, conversation)


_replies = cache(lambda: TypeAdapter(Reply))


def _read(kept: str) -> Reply:
    """Parse a stored reply. Raises LookupError, TypeError or ValueError if it is malformed."""
    value = json.loads(kept)
    if "on_page" in value:  # an older version stored REST's names
        for reference in value["references"]:
            reference["key"] = reference["id"]
        for statement in value["statements"]:
            statement["numbers"] = statement["references"]
            for quote in statement["quotes"]:
                quote["number"] = quote["reference"]
        value["notices"] = [{"message": sentence} for sentence in value["warnings"]]
    for notice in value["notices"]:
        if "message" in notice:  # kept before notices had codes
            notice |= {"code": "", "data": {"text": notice.pop("message")}}
    return _replies().validate_python(value)
