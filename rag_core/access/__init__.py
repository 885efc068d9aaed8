"""Who may come in: the gate before every page and program, ASGI and no Streamlit.

`decide` finds the sender of a request, `gate` acts on it, `request` is one under way, and `headers` tell the
app who sent it.
"""

from __future__ import annotations

from rag_core.access.decide import NOT_LET_IN, REFUSAL, is_loopback
from rag_core.access.gate import AccessGate
from rag_core.access.headers import (
    LOGIN_HEADER,
    OWNER_HEADERS,
    ROLE_HEADER,
    SecurityHeaders,
    security_headers,
    viewer_of,
)
from rag_core.access.log import Visits
from rag_core.access.programs import Programs
from rag_core.access.request import PageMessages, current_session

__all__ = [
    "LOGIN_HEADER",
    "NOT_LET_IN",
    "OWNER_HEADERS",
    "REFUSAL",
    "ROLE_HEADER",
    "AccessGate",
    "PageMessages",
    "Programs",
    "SecurityHeaders",
    "Visits",
    "current_session",
    "is_loopback",
    "security_headers",
    "viewer_of",
]
