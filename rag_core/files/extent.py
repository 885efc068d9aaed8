"""Whether a folder is so large that choosing it may be a slip: the whole disk, the whole home folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rag_core.files.walk import Preview

MANY_FILES = 50_000


def doubt(root: Path, include: Sequence[str], found: Preview) -> str:
    """Why the owner should be asked before ``root`` is indexed, in a sentence; '' for no reason.

    ``root`` is absolute, without links, and ``found`` what ``preview`` says of it with ``MANY_FILES`` names.
    """
    deep = not include or any(pattern.split("/")[0] == "**" for pattern in include)
    if deep and (whole := _whole(root)):
        return whole
    if found.truncated or found.count > MANY_FILES:
        return f"{str(root)!r} holds more than {MANY_FILES:,} files and folders."
    return ""


def _whole(root: Path) -> str:
    """What of this computer the folder is the whole of."""
    if root == Path(root.anchor):
        return f"{str(root)!r} is the whole disk."
    try:
        home = Path.home().resolve()
    except RuntimeError:  # this user has none
        return ""
    if root == home:
        return f"{str(root)!r} is your whole home folder."
    return f"{str(root)!r} holds your whole home folder." if home.is_relative_to(root) else ""
