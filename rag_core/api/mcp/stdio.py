"""Serving one assistant that started this program: the protocol on standard output, and nothing else.

The package turns file descriptor 1 to standard error while it serves; what Python has buffered for it would
come out at the end, behind the last message, so that goes there, too.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import redirect_stdout
from types import FrameType

from mcp.server.stdio import stdio_server

from rag_core.api.mcp.server import server
from rag_core.library import Library, background
from rag_core.types import OWNER


def serve_stdio(library: Library, *, allow_writes: bool) -> None:
    """Answer the owner's assistant until standard input ends. Runs under way are ended in good order: what
    they did stays, and the next start of the app, or `commonplace index`, goes on."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end_now)
    asyncio.run(_serve(library, allow_writes))


async def _serve(library: Library, allow_writes: bool) -> None:
    answering = server(lambda: library, lambda _: OWNER, lambda: allow_writes)
    async with stdio_server() as (heard, said):
        with redirect_stdout(sys.stderr):
            await answering.run(heard, said, answering.create_initialization_options())
            await asyncio.to_thread(background.stop_all)
        sys.stdout.flush()


def _end_now(_: int, __: FrameType | None) -> None:
    """Standard input is read by a thread that nothing can wake, so the process ends without it."""
    background.stop_all()
    os._exit(0)
