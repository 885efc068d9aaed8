"""ASGI entry: the Streamlit app behind the gate, on one port.

``commonplace serve`` runs it (`ui.serve`); ``streamlit run app.py`` and any ASGI server work too.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import streamlit as st  # noqa: E402
from starlette.middleware import Middleware  # noqa: E402

from ui.access import AccessGate  # noqa: E402
from ui.front import page_routes  # noqa: E402
from ui.security_headers import SecurityHeaders  # noqa: E402


@asynccontextmanager
async def lifespan(app: st.App) -> AsyncIterator[None]:
    """Say that the app is up (``app.state["on_ready"]``, if set); stop background work at the end."""
    on_ready = app.state.get("on_ready")
    if on_ready is not None:
        on_ready()
    try:
        yield
    finally:
        await asyncio.to_thread(stop_background_work)


def stop_background_work() -> None:
    """Cancel running jobs and wait for them. A process that never used jobs has none."""
    jobs = sys.modules.get("rag_core.jobs")
    if jobs is not None:
        jobs.stop_all()


# Streamlit finds the app by reading this assignment. The outermost middleware comes first.
app = st.App(
    ROOT / "ui" / "shell.py",
    routes=page_routes(),
    middleware=[Middleware(SecurityHeaders), Middleware(AccessGate)],
    lifespan=lifespan,
)
