"""Output for a terminal: tables, wrapped text, and one line of progress.

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
from typing import Self, TextIO

import click

from rag_core.api.encoding import plain

_USUAL = 100
_LEAST, _MOST = 20, 120
_CLEAR = "\r\x1b[2K"


def line(text: str) -> str:
    """``text`` on one line, without control characters."""
    return plain(text).replace("\n", " ")


def warn(sentence: str) -> None:
    """Print a warning to standard error."""
    click.secho(plain(sentence), fg="yellow", err=True)


# --- columns ----------------------------------------------------------------------------


def width() -> int:
    """Columns to write into: those of the terminal, between 20 and 120, or 100 without a terminal."""
    return max(_LEAST, min(_columns(sys.stdout), _MOST))


def _columns(stream: TextIO | None) -> int:
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdecimal() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(stream.fileno()).columns if stream else _USUAL
    except (OSError, ValueError):  # not a terminal
        return _USUAL


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()  # None: the shell closed it


def _measure(text: str) -> int:
    """Columns that ``text`` takes: two for a Chinese character, none for a combining accent."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.category(char) in ("Mn", "Me", "Cf") for char in text)


def _cut(text: str, columns: int) -> str:
    """The beginning of ``text`` that fits into ``columns``."""
    end = min(len(text), columns)
    while _measure(text[:end]) > columns:
        end -= 1
    return text[:end]


def wrapped(text: str, columns: int) -> list[str]:
    """``text`` in rows of at most ``columns``, broken between words where possible."""
    share = columns * len(text) // max(_measure(text), 1)  # wide characters count double, on the average
    return textwrap.wrap(text, max(share, 2))


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print left-aligned columns. A terminal gets the last column wrapped. Where the terminal is too narrow
    for that, each row becomes a heading and a sentence."""
    cells = [[line(str(cell)) for cell in row] for row in (header, *rows)]
    widths = [max(_measure(row[i]) for row in cells) for i in range(len(header))]
    on_terminal = _is_terminal(sys.stdout)
    left = _columns(sys.stdout) - sum(widths[:-1]) - 2 * (len(header) - 1)
    if on_terminal and left < min(widths[-1], _LEAST):
        _stacked(cells[0], cells[1:])
        return
    for number, row in enumerate(cells):
        front = "".join(
            cell + " " * (size + 2 - _measure(cell)) for cell, size in zip(row[:-1], widths, strict=False)
        )
        parts = wrapped(row[-1], left) if on_terminal and _measure(row[-1]) > left else [row[-1]]
        for part in parts:
            click.secho(f"{front}{part}".rstrip(), bold=number == 0 or None)
            front = " " * _measure(front)


def _stacked(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    for first, *others in rows:
        click.secho(first, bold=True)
        facts = [f"{name} {cell}".strip() for name, cell in zip(header[1:], others, strict=True) if cell]
        together = [fact.replace(" ", "\xa0") if len(fact) <= _LEAST else fact for fact in facts]
        for part in wrapped(" · ".join(together), _columns(sys.stdout) - 2):
            click.echo("  " + part.replace("\xa0", " "))


# --- progress ---------------------------------------------------------------------------


class ProgressLine:
    """One line of progress on standard error, overwritten on a terminal. Elsewhere a new line follows
    whenever ``every`` seconds have passed. Leaving the context removes the line."""

    def __init__(self, every: float = math.inf) -> None:
        self._on = _is_terminal(sys.stderr) and os.environ.get("TERM") != "dumb"
        self._every = every
        self._said = time.monotonic()
        self._is_drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def say(self, text: str) -> None:
        """Show ``text``."""
        if self._on:
            shown = _cut(line(text), max(_LEAST, min(_columns(sys.stderr), _MOST)) - 1)
            click.echo(f"{_CLEAR}{shown}", nl=False, err=True, color=True)
            self._is_drawn = True
        elif (now := time.monotonic()) - self._said >= self._every:
            self._said = now
            click.echo(line(text), err=True)

    def clear(self) -> None:
        """Remove the line."""
        if self._is_drawn:
            click.echo(_CLEAR, nl=False, err=True, color=True)
            self._is_drawn = False
