"""A server that passes on what it is asked to another one, remembers it, and fails where it is told to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx

from tests.support.standin import Asked, Refusal, StandIn


@dataclass
class Relay(StandIn):
    """``target`` is the address of the other one."""

    target: str = ""

    def answer(self, asked: Asked) -> Any:
        with httpx.Client(trust_env=False, verify=False, timeout=30) as client:  # noqa: S501 - no https here
            found = client.request(asked.method, self.target + asked.path, json=asked.body)
        if found.is_error:
            raise Refusal(found.status_code, found.json())
        return found.json()
