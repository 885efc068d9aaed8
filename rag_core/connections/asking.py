"""One short question to a server by HTTP, with an answer in words where there is none."""

from __future__ import annotations

import json
from typing import Any

import httpx

from rag_core.addresses import straight_to
from rag_core.connections.check import Found, Unanswered

CONNECT_S = 2.0
READ_S = 3.0
_MOST_BYTES = 2_000_000


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
