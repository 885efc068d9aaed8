"""Checks for mistakes in patterns: they choose a whole disk or home folder, or exclude nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rag_core.files.globs import Coverage
from rag_core.files.paths import with_sep
from rag_core.files.walk import Preview

MANY_FILES = 50_000


def doubt(root: Path, include: Sequence[str], counted: Preview) -> str:
    """Return a reason to ask the owner before indexing ``root``, as a sentence, or '' if there is none.
    ``root`` must be an absolute path without links. ``counted`` is the result of `preview` with
    ``max_files=MANY_FILES``."""
    if not include or any(pattern.split("/")[0] == "**" for pattern in include):
        if root == Path(root.anchor):
            return f"{str(root)!r} is the whole disk."
        with suppress(RuntimeError):  # this user has no home folder
            if (home := Path.home().resolve()).is_relative_to(root):
                return f"{str(root)!r} {'is' if home == root else 'holds'} your whole home folder."
    if counted.truncated or counted.count > MANY_FILES:
        return f"{str(root)!r} holds more than {MANY_FILES:,} files and folders."
    return ""


def leaves_out(root: Path, pattern: str) -> bool:
    """Whether an exclude pattern matches anything below ``root``, even a file that no scan would read.

    Also returns True if this cannot be decided quickly, because there are too many names, a link to a folder,
    or a folder that cannot be listed. Raises InvalidInput for an invalid pattern.
    """
    covered, top = Coverage((pattern,), dots=True), len(with_sep(os.fsencode(root)))
    unlisted: list[OSError] = []
    seen = 0
    for folder, folders, names in os.walk(os.fsencode(root), onerror=unlisted.append):
        below = with_sep(folder)[top:]
        if any(below + name in covered for name in (*folders, *names)):
            return True
        linked = any(os.path.islink(os.path.join(folder, name)) for name in folders)  # noqa: PTH114, PTH118
        seen += len(folders) + len(names)
        if linked or seen > MANY_FILES:
            return True
    return bool(unlisted)
