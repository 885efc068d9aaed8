"""MCP over standard input and output, for one assistant that started this program.

Nothing else may reach standard output. The package redirects file descriptor 1 to standard error while it
serves, and this module redirects ``sys.stdout``, whose buffer would appear after the last message.
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
from rag_core.library import Library, jobs
from rag_core.types import OWNER


def serve_stdio(library: Library, *, allow_writes: bool) -> None:
    """Answer the owner's assistant until standard input ends, then stop runs. What they did stays; the next
    start of the app, or `commonplace index`, continues them."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end_now)
    asyncio.run(_serve(library, allow_writes))


async def _serve(library: Library, allow_writes: bool) -> None:
    answering = server(lambda: library, lambda _: OWNER, lambda: allow_writes)
    async with stdio_server() as (heard, said):
        with redirect_stdout(sys.stderr):
            await answering.run(heard, said, answering.create_initialization_options())
            await asyncio.to_thread(jobs.stop_all)
        sys.stdout.flush()


def _end_now(_: int, __: FrameType | None) -> None:
    """End the process at once: nothing can wake the thread that reads standard input."""
    jobs.stop_all()
    os._exit(0)
