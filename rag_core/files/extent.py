"""Checks for slips in patterns: they choose a whole disk or home folder, or exclude nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rag_core.files.globs import Globs
from rag_core.files.walk import Preview

MANY_FILES = 50_000


def doubt(root: Path, include: Sequence[str], found: Preview) -> str:
    """A sentence that says why to ask the owner before indexing ``root``; '' for no reason. ``root`` is
    absolute, without links, and ``found`` what ``preview`` says of it with ``MANY_FILES`` names."""
    if not include or any(pattern.split("/")[0] == "**" for pattern in include):
        if root == Path(root.anchor):
            return f"{str(root)!r} is the whole disk."
        with suppress(RuntimeError):  # this user has no home folder
            if (home := Path.home().resolve()).is_relative_to(root):
                return f"{str(root)!r} {'is' if home == root else 'holds'} your whole home folder."
    if found.truncated or found.count > MANY_FILES:
        return f"{str(root)!r} holds more than {MANY_FILES:,} files and folders."
    return ""


def leaves_out(root: Path, pattern: str) -> bool:
    """Whether anything below ``root`` matches an exclude pattern, including what no scan would take. True
    where that cannot be told soon: too many names, a link to a folder, a folder that cannot be listed. Raises
    InvalidInput for a pattern that is none."""
    globs = Globs((pattern,), dots=True)
    folders = [(os.fsencode(root), globs.start)]
    names = MANY_FILES
    while folders:
        folder, state = folders.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            return True
        names -= len(entries)
        matches = globs.accepts(state)
        if names < 0 or any(matches(entry.name) for entry in entries):
            return True
        for entry in entries:
            is_link = entry.is_symlink()
            is_folder = os.path.isdir(entry.path) if is_link else entry.is_dir()  # noqa: PTH112  (is_dir raises)
            if is_folder and (below := globs.enter(state, entry.name)):
                if is_link or globs.covers(state, entry.name):
                    return True
                folders.append((entry.path, below))
    return False
