"""Who has access: the gate before every page and program. It is ASGI, without Streamlit.

`decide` finds the sender of a request, `gate` acts on that, `request` is a running request, and `headers`
tell the app who sent it.
"""

from __future__ import annotations

from rag_core.access.decide import REFUSAL, is_loopback
from rag_core.access.gate import AccessGate
from rag_core.access.headers import SecurityHeaders, viewer_of
from rag_core.access.log import Visits
from rag_core.access.programs import Programs
from rag_core.access.request import PageMessages, current_session

__all__ = [
    "REFUSAL",
    "AccessGate",
    "PageMessages",
    "Programs",
    "SecurityHeaders",
    "Visits",
    "current_session",
    "is_loopback",
    "viewer_of",
]
