"""One short question to a server by HTTP, with an answer in words where there is none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import httpx

from rag_core.library.connections.check import Found, Unanswered
from rag_core.models.servers.addresses import straight_to

CONNECT_S = 2.0
READ_S = 3.0
_MOST_BYTES = 2_000_000
_NAMED = 4


def ask(url: str, path: str, remedy: str, key: str = "") -> tuple[int, Any]:
    """The status and the JSON (None where it is none) that ``url`` gives for ``path``.

    ``remedy`` is what to do where nobody answers; ``key`` goes nowhere else. Raises Unanswered.
    """
    try:
        with (
            httpx.Client(
                headers={"Authorization": f"Bearer {key}"} if key else {},
                timeout=httpx.Timeout(READ_S, connect=CONNECT_S),
                **straight_to(url),
            ) as client,
            client.stream("GET", f"{url}{path}") as answer,
        ):
            return answer.status_code, _json(answer)
    except httpx.TimeoutException:
        raise Unanswered(
            Found("unreachable", f"The server at {url} does not answer in time.", remedy)
        ) from None
    except httpx.ConnectError:
        raise Unanswered(Found("unreachable", f"Nobody answers at {url}.", remedy)) from None
    except httpx.HTTPError as error:
        sentence = f"The server at {url} hangs up ({type(error).__name__})."
        raise Unanswered(Found("unreachable", sentence, remedy)) from None


def _json(answer: httpx.Response) -> Any:
    data = b""
    for part in answer.iter_bytes():
        data += part
        if len(data) > _MOST_BYTES:
            return None
    try:
        return json.loads(data)
    except ValueError:
        return None


def check_status(status: int, url: str, key_advice: str) -> None:
    """Raises Unanswered for a status that lets nobody in; ``key_advice`` is what to do about a key."""
    if status in (401, 403):
        raise Unanswered(
            Found("refused", f"The server at {url} refuses the key (status {status}).", key_advice)
        )
    if 300 <= status < 400:
        sentence = f"The server at {url} sends us elsewhere (status {status})."
        raise Unanswered(Found("refused", sentence, "Set the address that it sends to, if you trust it."))
    if status >= 500:
        sentence = f"The server at {url} answers with an error of its own (status {status})."
        raise Unanswered(Found("unreachable", sentence, "Look at the server's log."))


def model_ids(said: Any) -> list[str] | None:
    """The names in a list of models of OpenAI's protocol; None for what is no such list."""
    data = said.get("data") if isinstance(said, dict) else None
    if not isinstance(data, list):
        return None
    names = (each.get("id") for each in data if isinstance(each, dict))
    return [name[:200] for name in names if isinstance(name, str) and name and printable(name)]


def printable(name: str) -> bool:
    """Whether a name can stand in a line."""
    return not any(char.isspace() or not char.isprintable() for char in name)


def listed(names: Sequence[str]) -> str:
    """The names in a sentence, the first few of many."""
    shown = ", ".join(names[:_NAMED])
    return f"{shown} and {len(names) - _NAMED:,} more" if len(names) > _NAMED else shown
