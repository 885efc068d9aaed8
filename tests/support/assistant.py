"""An assistant: the client of the protocol's own package, on standard input and output or over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import httpx2
import uvicorn
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette

from rag_core.api.mcp.http import McpDoor
from rag_core.library import Library
from rag_core.types import Viewer

Mode = Literal["auto", "legacy"]
"""How the two agree on a version: as clients of today do, or as all did before 2026."""

_T = TypeVar("_T")
Talk = Callable[[Client], Awaitable[_T]]


@dataclass(frozen=True)
class Assistant:
    """Who talks to a server, each time in a conversation of its own."""

    connect: Callable[[Mode], Any]

    def talk(self, talk: Talk[_T], mode: Mode = "auto") -> _T:
        """Have a conversation; none takes longer than a minute."""

        async def conversation() -> _T:
            async with asyncio.timeout(60), self.connect(mode) as client:
                return await talk(client)

        return asyncio.run(conversation())

    def tools(self, mode: Mode = "auto") -> list[Any]:
        async def talk(client: Client) -> list[Any]:
            return (await client.list_tools()).tools

        return self.talk(talk, mode)

    def call(self, name: str, mode: Mode = "auto", /, **arguments: Any) -> dict[str, Any]:
        """The whole answer; what is said as text is the same as what is said as values."""

        async def talk(client: Client) -> dict[str, Any]:
            return await answer(client, name, arguments)

        return self.talk(talk, mode)

    def data(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """The data of a call that must succeed."""
        said = self.call(name, **arguments)
        assert said["success"], said
        found: dict[str, Any] = said["data"]
        return found

    def error(self, name: str, /, **arguments: Any) -> str:
        """Both sentences of a call that must fail."""
        said = self.call(name, **arguments)
        assert (said["success"], said["data"]) == (False, None), said
        return f"{said['error']['message']} {said['error']['suggestion']}"


async def answer(client: Client, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What a call comes to, whose shape is always the same."""
    result = await client.call_tool(name, dict(arguments))
    [text] = result.content
    said: dict[str, Any] = result.structured_content
    assert json.loads(text.text) == said
    assert set(said) == {"success", "data", "error"}
    assert result.is_error == (not said["success"])
    if said["error"]:
        assert set(said["error"]) == {"code", "message", "suggestion"}
        assert all(said["error"].values()), "an error says what is wrong and what to do"
    return said


# --- standard input and output ----------------------------------------------------------


def on_stdio(home: Path, log: Path, *options: str, **environment: str) -> Assistant:
    """One that starts ``commonplace mcp`` for each conversation; what it logs is added to ``log``."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "rag_core", "mcp", *options],
        env={**os.environ, "COMMONPLACE_HOME": str(home), **environment},
    )

    @asynccontextmanager
    async def connect(mode: Mode) -> Any:
        with log.open("a", encoding="utf-8") as errors:
            async with Client(stdio_client(server, errlog=errors), mode=mode) as client:
                yield client

    return Assistant(connect)


# --- HTTP -------------------------------------------------------------------------------


def over_http(url: str, headers: Mapping[str, str] = {}) -> Assistant:
    """One that talks to the server at ``url``."""

    @asynccontextmanager
    async def connect(mode: Mode) -> Any:
        async with (
            httpx2.AsyncClient(headers=dict(headers), timeout=60, trust_env=False) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            yield client

    return Assistant(connect)


@contextmanager
def serving_mcp(library: Library | Callable[[], Library], viewers: Mapping[str, Viewer]) -> Iterator[str]:
    """The address of the door alone, behind a gate that believes the header ``who``."""
    opened = library if callable(library) else lambda: library
    door = McpDoor(opened, lambda headers: viewers.get(headers.get("who", "")))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> Any:
        yield
        await door.close()

    app = Starlette(routes=door.routes(), lifespan=lifespan)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, ws="none"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/mcp"
    finally:
        server.should_exit = True
        thread.join(10)
        assert not thread.is_alive()
