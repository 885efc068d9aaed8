"""Output for a terminal: tables, wrapped text, and one line of progress.

File names and passages are hostile, so control characters are removed before printing.
"""

from __future__ import annotations

import math
import os
import sys
import textwrap
import time
import unicodedata
from collections.abc import Collection, Sequence
from typing import Self, TextIO

import click

from rag_core.api.encoding import plain

_USUAL = 100
_LEAST, _MOST = 20, 120
_CLEAR = "\r\x1b[2K"


def line(text: str) -> str:
    """Return ``text`` on one line, without control characters."""
    return plain(text).replace("\n", " ")


def warn(*sentences: str) -> None:
    """Print warnings to standard error. Empty ones are skipped."""
    for sentence in filter(None, sentences):
        click.secho(plain(sentence), fg="yellow", err=True)


def width() -> int:
    """The number of columns for output: the terminal's, between 20 and 120, or 100 without a terminal."""
    return max(_LEAST, min(_columns(sys.stdout), _MOST))


def _columns(stream: TextIO | None) -> int:
    try:
        if given := os.environ.get("COLUMNS"):
            return int(given)
        return os.get_terminal_size(stream.fileno()).columns if stream else _USUAL
    except (OSError, ValueError):  # not a terminal
        return _USUAL


def _measure(text: str) -> int:
    """The number of columns of ``text``. A Chinese character takes two columns, and a combining accent takes
    none."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.category(char) in ("Mn", "Me", "Cf") for char in text)


def wrapped(text: str, columns: int) -> list[str]:
    """Wrap ``text`` to lines of at most ``columns``, between words if possible."""
    share = columns * len(text) // max(_measure(text), 1)  # wide characters count double, on the average
    return textwrap.wrap(text, max(share, 2))


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, empty: str = "", if_any: Collection[str] = ()
) -> None:
    """Print left-aligned columns below the names in ``header``. Columns named in ``if_any`` are printed only
    if a row has something other than 0 in them. Without rows, print ``empty``.

    On a terminal the last column is wrapped. On a narrow terminal each row becomes a heading and a sentence.
    """
    if not rows:
        click.echo(empty)
        return
    shown = [
        column
        for column, name in enumerate(header)
        if name not in if_any or any(row[column] not in ("", "0") for row in rows)
    ]
    cells = [[line(row[column]) for column in shown] for row in (header, *rows)]
    widths = [max(map(_measure, column)) for column in zip(*cells, strict=True)]
    on_terminal = sys.stdout is not None and sys.stdout.isatty()  # None: the shell closed it
    left = _columns(sys.stdout) - sum(widths[:-1]) - 2 * (len(shown) - 1)
    if on_terminal and left < min(widths[-1], _LEAST):
        _print_sentences(*cells)
    else:
        _print_columns(cells, widths, left if on_terminal else None)


def _print_sentences(names: Sequence[str], *rows: Sequence[str]) -> None:
    """Print each row as a heading and a sentence that names each cell."""
    for first, *others in rows:
        click.secho(first, bold=True)
        named = zip(names[1:], others, strict=True)
        facts = " · ".join(f"{name} {cell}".strip() for name, cell in named if cell)
        for part in wrapped(facts, _columns(sys.stdout) - 2):
            click.echo(f"  {part}")


def _print_columns(cells: Sequence[Sequence[str]], widths: Sequence[int], last: int | None) -> None:
    """Print rows, the first in bold, in columns of ``widths``. The last column is wrapped to ``last``."""
    for number, row in enumerate(cells):
        front = "".join(
            cell + " " * (width + 2 - _measure(cell)) for cell, width in zip(row[:-1], widths, strict=False)
        )
        parts = [row[-1]] if last is None or _measure(row[-1]) <= last else wrapped(row[-1], last)
        for part in parts:
            click.secho(f"{front}{part}".rstrip(), bold=number == 0 or None)
            front = " " * _measure(front)


class ProgressLine:
    """Context manager for one line of progress on standard error. A terminal shows the line in place and
    removes it at the end. Elsewhere a new line is printed every ``every`` seconds; by default, none."""

    def __init__(self, every: float = math.inf) -> None:
        self._on = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._every = every
        self._said = time.monotonic()
        self._is_drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def say(self, text: str) -> None:
        """Show ``text`` as the progress."""
        if self._on:
            shown = (wrapped(line(text), max(_LEAST, min(_columns(sys.stderr), _MOST)) - 1) or [""])[0]
            click.echo(f"{_CLEAR}{shown}", nl=False, err=True, color=True)
            self._is_drawn = True
        elif (now := time.monotonic()) - self._said >= self._every:
            self._said = now
            click.echo(line(text), err=True)

    def clear(self) -> None:
        """Remove the line from the terminal."""
        if self._is_drawn:
            click.echo(_CLEAR, nl=False, err=True, color=True)
            self._is_drawn = False
