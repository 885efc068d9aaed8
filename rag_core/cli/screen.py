"""What a terminal is given: text that cannot steer it, columns, and one line of progress that moves.

File names and passages are hostile: control characters never reach the terminal.
"""

from __future__ import annotations

import math
import os
import sys
import textwrap
import time
import unicodedata
from collections.abc import Sequence
from typing import TextIO

import click

from rag_core.api.encoding import plain

_USUAL = 100
_LEAST, _MOST = 20, 120
_CLEAR = "\r\x1b[2K"


def line(text: str) -> str:
    """``text``, plain, on one line."""
    return plain(text).replace("\n", " ")


# --- columns ----------------------------------------------------------------------------


def width(stream: TextIO | None = None) -> int:
    """How many columns there are to write into, 20 to 120: those of the terminal behind ``stream`` (default:
    standard output), or 100 where there is none."""
    return max(_LEAST, min(_columns(stream or sys.stdout), _MOST))


def _columns(stream: TextIO | None) -> int:
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdecimal() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(stream.fileno()).columns if stream else _USUAL
    except (OSError, ValueError):  # it is no terminal
        return _USUAL


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()  # None: the shell closed it


def measure(text: str) -> int:
    """How many columns ``text`` takes: two for a Chinese character, none for an accent of its own."""
    return len(text) if text.isascii() else sum(map(_measure, text))


def _measure(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, columns: int) -> str:
    """As much of the beginning of ``text`` as ``columns`` hold."""
    if measure(text) <= columns:
        return text
    taken = 0
    for end, char in enumerate(text):
        taken += _measure(char)
        if taken > columns:
            return text[:end]
    return text


def wrapped(text: str, columns: int) -> list[str]:
    """``text`` in rows of at most ``columns``, broken between words where that is possible."""
    share = columns * len(text) // max(measure(text), 1)  # wide characters count double, on the average
    return textwrap.wrap(text, max(share, 2))


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Left-aligned columns. On a terminal the last one is wrapped; where even that leaves too little room,
    a row becomes a heading and a sentence."""
    cells = [[line(str(cell)) for cell in row] for row in (header, *rows)]
    widths = [max(measure(row[i]) for row in cells) for i in range(len(header))]
    on_terminal = _is_terminal(sys.stdout)
    left = _columns(sys.stdout) - sum(widths[:-1]) - 2 * (len(header) - 1)
    if on_terminal and left < min(widths[-1], _LEAST):
        _stacked(cells[0], cells[1:])
        return
    for number, row in enumerate(cells):
        front = "".join(_padded(cell, size + 2) for cell, size in zip(row[:-1], widths, strict=False))
        parts = wrapped(row[-1], left) if on_terminal and measure(row[-1]) > left else [row[-1]]
        for part in parts:
            click.secho(f"{front}{part}".rstrip(), bold=number == 0 or None)
            front = " " * measure(front)


def _padded(text: str, columns: int) -> str:
    return text + " " * (columns - measure(text))


def _stacked(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    for first, *others in rows:
        click.secho(first, bold=True)
        facts = [f"{name} {cell}".strip() for name, cell in zip(header[1:], others, strict=True) if cell]
        together = [fact.replace(" ", "\xa0") if len(fact) <= _LEAST else fact for fact in facts]
        for part in wrapped(" · ".join(together), _columns(sys.stdout) - 2):
            click.echo("  " + part.replace("\xa0", " "))


# --- progress ---------------------------------------------------------------------------


class Line:
    """One line of progress that moves on standard error, when that is a terminal; elsewhere one more line
    whenever ``every`` seconds have passed, for who reads the log of a long run."""

    def __init__(self, every: float = math.inf) -> None:
        self._on = _is_terminal(sys.stderr) and os.environ.get("TERM") != "dumb"
        self._every = every
        self._said = time.monotonic()

    def say(self, text: str) -> None:
        """Draw one line."""
        if not self._on:
            if (now := time.monotonic()) - self._said >= self._every:
                self._said = now
                click.echo(line(text), err=True)
        else:
            shown = cut(line(text), width(sys.stderr) - 1)
            click.echo(f"{_CLEAR}{shown}", nl=False, err=True, color=True)

    def clear(self) -> None:
        """Take the line away."""
        if self._on:
            click.echo(_CLEAR, nl=False, err=True, color=True)
