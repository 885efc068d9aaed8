"""MCP through the doors that are really there: the program ``commonplace mcp``, and the app's port."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rag_core.config import Settings
from rag_core.library import Library
from rag_core.types import OWNER
from tests.conftest import index
from tests.support.assistant import Assistant, Mode, answer, on_stdio, over_http
from tests.support.consistency import check_library
from tests.support.live import Server, start
from tests.support.trees import write

pytestmark = pytest.mark.thorough

NOTES = {
    "harbour.md": "# Harbour\n\nThe harbour opens at six, see [[boats]].\n",
    "boats.md": "# Boats\n\nBoats leave the harbour before dawn.\n",
    "rope.md": "# Rope\n\nThe harbour rope is of hemp.\n",
}
READING = 8
ALL = 13
NOISE = """
import os, sqlite3, subprocess, sys
def hook(event, args):
    if event == "sqlite3.connect":
        print("noise of a library")
        sys.__stdout__.write("noise of another")
        os.write(1, b"noise of a third\\n")
        subprocess.run(["echo", "noise of a child"])
sys.addaudithook(hook)
"""
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@pytest.fixture
def library(home: Path, notes: Path) -> Iterator[Library]:
    """A library with a store ``sea``, in the home that the programs use."""
    write(notes, NOTES)
    opened = Library.open(Settings(home / "data", home / "data" / "models", (notes,)))
    index(opened, "sea", notes)
    yield opened
    opened.close()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


# --- every tool, over both --------------------------------------------------------------


async def use_every_tool(client: Any) -> dict[str, bool]:
    """Call each tool that is listed as it is meant to be called; whether it did."""
    done: dict[str, bool] = {}

    async def call(tool: str, **arguments: Any) -> Any:
        said = await answer(client, tool, arguments)
        done[tool] = said["success"]
        return said["data"]

    found = await call("search", query="hemp rope", n_results=1)
    key = found["results"][0]["id"]
    await call("search_with_filters", query="harbour", filters={"file": "boats.md"})
    await call("search_with_budget", query="harbour", max_tokens=50)
    await call("open", file_path="rope.md")
    await call("neighbors", id=key)
    await call("ask", question="When does the harbour open?")
    await call("status")
    await call("get_index_stats")
    await call("index_file", file_path="rope.md")
    await call("index_directory", dir_path=".", recursive=False)
    found = await call("search", query="hemp rope", n_results=1)
    await call("delete_chunks", ids=[found["results"][0]["id"]])
    await call("delete_file", source_file="boats.md")
    await call("clear_index", confirm=True)
    assert set(done) == {tool.name for tool in (await client.list_tools()).tools}
    return done


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_every_tool_works_on_standard_input_and_output(
    library: Library, home: Path, log: Path, mode: Mode
) -> None:
    done = on_stdio(home, log, "--allow-writes").talk(use_every_tool, mode)
    assert len(done) == ALL
    assert all(done.values()), done
    assert library.documents.all(OWNER, "sea") == []
    check_library(library, "sea")
    assert log.read_text("utf-8") == ""


@pytest.fixture
def live(library: Library, home: Path, tmp_path: Path) -> Iterator[Server]:
    """The app, which lets its owner's assistants write."""
    folder = tmp_path / "server"
    folder.mkdir()
    with start(folder, COMMONPLACE_HOME=str(home), COMMONPLACE_MCP_ALLOW_WRITES="true") as running:
        yield running


def assistant_of(server: Server, **headers: str) -> Assistant:
    return over_http(f"http://127.0.0.1:{server.port}/mcp", headers)


def test_every_tool_works_on_the_apps_port_and_the_gate_stands_before_it(
    library: Library, live: Server
) -> None:
    assistant = assistant_of(live)
    for mode in ("auto", "legacy"):
        assert len(assistant.tools(mode)) == ALL
    assert all(assistant.talk(use_every_tool).values())
    assert library.documents.all(OWNER, "sea") == []
    slash = over_http(f"http://127.0.0.1:{live.port}/mcp/")
    assert slash.data("status")["stores"][0]["name"] == "sea"

    token = library.sharing.create_token(OWNER, "assistant").token
    proxied = {"Host": "home.tail.ts.net", "X-Forwarded-For": "100.64.0.7"}
    assert assistant_of(live, Authorization=f"Bearer {token}", **proxied).data("status")["stores"]
    body = json.dumps(HELLO)
    for headers, status in (
        ({"Origin": "http://evil.example"}, 403),
        ({"Host": "evil.example"}, 403),
        (proxied, 403),
        ({"x-commonplace-role": "owner", "x-commonplace-login": "owner", **proxied}, 403),
        ({"Authorization": "Bearer nonsense"}, 401),
    ):
        refused = post(live, body, headers)
        assert refused[0] == status, headers
    assert post(live, body)[0] == 200
    assert live.get("/mcp")[0] == 405
    assert assistant.data("status")["stores"], "it goes on"
    assert "harbour" not in live.log


def post(server: Server, body: str, headers: Mapping[str, str] = {}) -> tuple[int, str]:
    """The status and body of a request that no assistant would make so."""
    sent = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json", **headers}
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)) as connection:
        connection.request("POST", "/mcp", body.encode(), sent)
        response = connection.getresponse()
        return response.status, response.read().decode()


# --- standard input and output ----------------------------------------------------------


def test_without_leave_nothing_can_be_written(library: Library, home: Path, log: Path) -> None:
    async def conversation(client: Any) -> Any:
        assert len((await client.list_tools()).tools) == READING
        return await answer(client, "clear_index", {"confirm": True})

    said = on_stdio(home, log).talk(conversation)
    assert "--allow-writes" in said["error"]["suggestion"]
    assert len(library.documents.all(OWNER, "sea")) == len(NOTES)


def test_nothing_but_the_protocol_is_on_standard_output(
    library: Library, home: Path, log: Path, tmp_path: Path
) -> None:
    """Whatever prints: Python, what has kept the old sys.stdout, C, a child."""
    (tmp_path / "noise").mkdir()
    (tmp_path / "noise" / "sitecustomize.py").write_text(NOISE, "utf-8")
    messages = [HELLO, READY, tool_call(2, "search", query="harbour"), tool_call(3, "status")]
    process = started(home, PYTHONPATH=str(tmp_path / "noise"))
    said = exchange(process, messages)
    out, errors = process.communicate(timeout=20)
    lines = [*said, *out.splitlines()]
    assert [json.loads(line)["id"] for line in lines] == [1, 2, 3]
    for noise in ("a library", "another", "a third", "a child"):
        assert f"noise of {noise}" in errors
    assert "harbour" not in errors
    assert process.returncode == 0


@pytest.mark.posix
def test_rubbish_is_answered_and_the_server_goes_on(library: Library, home: Path) -> None:
    process = started(home)
    assert process.stdin
    process.stdin.write("no json\n\x00\xff\n[]\n{}\n")
    said = exchange(process, [HELLO, READY, tool_call(2, "status")])
    assert json.loads(said[-1])["result"]["structuredContent"]["success"]
    process.communicate(timeout=20)


def test_it_ends_with_its_input_and_a_run_under_way_is_left_in_order(
    library: Library, home: Path, notes: Path
) -> None:
    write(notes, {f"many/{n}.md": f"# Note {n}\n\n" + f"Word {n} of the sea. " * 300 for n in range(200)})
    process = started(home, "--allow-writes")
    exchange(process, [HELLO, READY])
    assert process.stdin
    process.stdin.write(json.dumps(tool_call(2, "index_directory", dir_path="many")) + "\n")
    process.stdin.flush()
    until = time.monotonic() + 20
    while not library.jobs.all(OWNER, "sea", 1)[0].counts.get("added", 0) > 3 and time.monotonic() < until:
        time.sleep(0.02)
    process.communicate(timeout=20)
    assert process.returncode == 0
    [job] = library.jobs.all(OWNER, "sea", 1)
    assert job.state in ("interrupted", "done")
    check_library(library, "sea")
    index(library, "sea")
    assert len(library.documents.all(OWNER, "sea")) == len(NOTES) + 200


@pytest.mark.posix
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_can_be_stopped(library: Library, home: Path, number: int) -> None:
    process = started(home)
    exchange(process, [HELLO])
    process.send_signal(number)
    assert process.wait(10) == 0
    process.communicate()


@pytest.mark.parametrize("module", ["rag_core.cli", "rag_core.api.mcp.tools", "app"])
def test_the_package_is_loaded_for_those_alone_who_use_it(module: str) -> None:
    code = f"import sys, {module}; sys.exit('mcp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60).returncode == 0


def tool_call(number: int, name: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def started(home: Path, *options: str, **environment: str) -> subprocess.Popen[str]:
    """``commonplace mcp``, to be talked to line by line."""
    paths = [environment.pop("PYTHONPATH", ""), str(Path(__file__).parents[2])]
    env = {**os.environ, "COMMONPLACE_HOME": str(home), **environment, "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.Popen(
        [sys.executable, "-m", "rag_core", "mcp", *options],
        env=env,
        encoding="utf-8",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def exchange(process: subprocess.Popen[str], messages: list[dict[str, Any]]) -> list[str]:
    """Send messages one after the other, and what is answered to each that has a number."""
    assert process.stdin
    assert process.stdout
    said = []
    for message in messages:
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
        while "id" in message:
            line = process.stdout.readline()
            assert line, "it has ended"
            said.append(line)
            if json.loads(line).get("id") == message["id"]:
                break
    return said
