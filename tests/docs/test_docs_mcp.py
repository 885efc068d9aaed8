"""docs/mcp.md names every tool as it is, and its configurations work as they stand."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from rag_core.api.mcp.tools import TOOLS, Tool
from rag_core.library import Library
from tests.docs.doc_pages import ROOT, USING, fences
from tests.support.assistant import Assistant

PAGE = ROOT / "docs" / "mcp.md"
ROWS = {
    name: (arguments, changes.strip() == "yes")
    for name, arguments, changes in re.findall(
        r"(?m)^\| `(\w+)\((.*?)\)` \|.*\|(.*)\|$", PAGE.read_text("utf-8")
    )
}
CONFIGURED = [
    json.loads("\n".join(line for _, line in block.lines))["mcpServers"]["commonplace"]
    for page in (PAGE, USING)
    for block in fences(page)
    if block.language == "json" and any("mcpServers" in line for _, line in block.lines)
]


def test_the_page_lists_the_tools_there_are() -> None:
    assert list(ROWS) == [tool.name for tool in TOOLS]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_takes_what_the_page_says(tool: Tool) -> None:
    arguments, changes = ROWS[tool.name]
    assert changes == tool.writes
    named = re.findall(r"(\w+)(=)?", re.sub(r"=\w+", "=", arguments.replace(" or ", ", ")))
    fields = tool.given.schema["properties"]
    assert {name for name, _ in named} <= set(fields)
    optional = {name for name, default in named if default} | (
        {"file_path", "id"} if " or " in arguments else set()
    )
    assert {name for name, _ in named} - optional == set(tool.given.schema["required"])


@pytest.mark.parametrize(
    "entry",
    [each for each in CONFIGURED if "command" in each],
    ids=["docs", "with its environment", "using"],
)
def test_the_entry_for_the_program_starts_it(library: Library, home: Path, entry: dict[str, Any]) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    assert shutil.which(entry["command"], path=path)
    assert entry.get("env", {}).keys() <= {"COMMONPLACE_HOME"}
    server = StdioServerParameters(**{**entry, "env": {"PATH": path, "COMMONPLACE_HOME": str(home)}})
    assistant = Assistant(lambda mode: Client(stdio_client(server), mode=mode))
    assert "commonplace init" in assistant.error("search", query="harbour")
