"""The pages of the documentation and the commands that stand in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
USING = ROOT / "docs" / "using.md"
"""The page that leaves the stores which the other pages go on from."""

_OTHERS = sorted({*(ROOT / "docs").glob("*.md")} - {USING})  # decisions tell of what was, too
GUIDES = [README, USING, *_OTHERS]


@dataclass(frozen=True)
class Command:
    """A command of a page, and the number of the line it begins on."""

    line: int
    text: str


@dataclass(frozen=True)
class Fence:
    """A fenced block: its language, and its lines with their numbers."""

    language: str
    lines: list[tuple[int, str]]


def fences(page: Path) -> Iterator[Fence]:
    """The fenced blocks of a page in order."""
    block: Fence | None = None
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        mark = re.match(r"\s*```(\S*)", line)
        if mark and block is None:
            block = Fence(mark[1], [])
        elif mark and block:
            yield block
            block = None
        elif block:
            block.lines.append((number, line))
    assert block is None, f"{page.name} has a block that does not end"


def commands(page: Path) -> list[Command]:
    """The commands of the ``sh`` blocks of a page in order; what a backslash continues is one."""
    found = [command for block in fences(page) if block.language == "sh" for command in _joined(block)]
    return [command for command in found if command.text and not command.text.startswith("#")]


def _joined(block: Fence) -> Iterator[Command]:
    start, pending = 0, ""
    for number, line in block.lines:
        start = start if pending else number
        pending += line.strip() + "\n"
        if not line.endswith("\\"):
            yield Command(start, pending.strip())
            pending = ""


def named_commands(page: Path) -> list[str]:
    """What a page calls `commonplace …` or `make …`, in its blocks and between backticks."""
    prose = re.findall(r"`((?:commonplace|make) [^`]+)`", page.read_text("utf-8"))
    return [*prose, *(c.text for c in commands(page) if re.match("(commonplace|make) ", c.text))]
