"""Who and what may come in → the JSON that every face speaks."""

from __future__ import annotations

from typing import Any

from rag_core.reports import NewToken, Person, Token


def person(found: Person) -> dict[str, Any]:
    """Somebody who may come in; ``configured``: because the configuration says so."""
    return {
        "login": found.login,
        "role": "owner" if found.is_owner else "guest",
        "stores": None if found.is_owner else list(found.stores),
        "may_ask": found.may_ask,
        "since": found.since or None,
        "configured": found.configured,
    }


def token(found: Token) -> dict[str, Any]:
    """A token by its name; what it says is kept by nobody."""
    return {"name": found.name, "created_at": found.created_at}


def new_token(made: NewToken) -> dict[str, Any]:
    """A token just made; ``token`` is told this once."""
    return {"name": made.name, "token": made.secret, "created_at": made.created_at}
