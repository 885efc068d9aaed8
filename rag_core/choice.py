"""What patterns choose in a folder: nothing at all, or nothing that another folder has not chosen already."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path, PurePath

from rag_core.errors import InvalidInput
from rag_core.files import EVERYTHING, MANY_FILES, preview, why_skipped
from rag_core.types import Source
from rag_core.wording import plural

_A_LOOK = 10_000  # so many names are looked at for a hint
_A_FEW = 1_000  # so many are enough, nearly always, to meet one that is chosen
_KINDS_SHOWN = 8
_CLASS = re.compile(r"\[[^\]]*\]")


def refuse_no_match(root: Path, include: Sequence[str], exclude: Sequence[str] = ()) -> None:
    """Raise InvalidInput for patterns that choose none of the files of a folder. A folder without files is
    let pass: it may be filled later; so is one too large to be looked through here."""
    for names in (_A_FEW, MANY_FILES):
        found = preview(root, include, exclude, max_files=names)
        if found.count:
            return
    if not found.truncated and preview(root, EVERYTHING, max_files=MANY_FILES).count:
        raise no_match(root, include, exclude)


def no_match(root: Path, include: Sequence[str], exclude: Sequence[str] = ()) -> InvalidInput:
    """That patterns choose no file of a folder, and what would."""
    said = f"No file below {str(root)!r} matches {' '.join(include)!r}"
    if open_ended := next(filter(_is_open, include), None):
        return InvalidInput(
            f"{said}.",
            f"The brace in {open_ended!r} is not closed. '{{md,txt}}' lists alternatives; '[{{]' is a brace.",
        )
    if exclude and preview(root, include, max_files=_A_LOOK).count:
        return InvalidInput(
            f"{said} that {' '.join(exclude)!r} does not leave out.", "Leave out less, or take more."
        )
    deeper = tuple(f"**/{glob}" for glob in include)
    below = preview(root, deeper, exclude, max_files=_A_LOOK)
    if below.count:
        return InvalidInput(
            f"{said}.", f"Did you mean {' '.join(deeper)!r}? That matches {plural(below.count, 'file')}."
        )
    there = preview(root, EVERYTHING, max_files=_A_LOOK)
    if not there.count:
        return InvalidInput(f"{said}.", "The folder holds no files that are read.")
    kinds = list(there.by_suffix)[:_KINDS_SHOWN]
    ends = ", ".join(suffix or "no suffix" for suffix in kinds)
    such = next((f"**/*{suffix}" for suffix in kinds if suffix), EVERYTHING[0])
    return InvalidInput(f"{said}.", f"Its files end in {ends}. Name what to take, like {such!r}.")


def _is_open(glob: str) -> bool:
    plain = _CLASS.sub("", glob)
    return plain.count("{") > plain.count("}")


def covers(outer: Source, inner: Source) -> bool:
    """Whether ``outer``, in whose folder that of ``inner`` lies, takes every file that ``inner`` would.

    Their patterns say so, for files that will come as well.
    """
    taken, left_out = _anywhere(outer.include), _anywhere(inner.exclude)
    if outer.paused or not {*outer.exclude} <= left_out:
        return False
    if not taken >= {*EVERYTHING} and not taken >= {*inner.include}:
        return False
    below = os.fsencode(PurePath(inner.root).relative_to(outer.root).as_posix())
    try:
        return why_skipped(Path(outer.root), below, EVERYTHING, outer.exclude) is None
    except InvalidInput:  # it cannot be listed, so it takes nothing
        return False


def _anywhere(globs: Sequence[str]) -> set[str]:
    """Those that mean the same in every folder."""
    return {glob for glob in globs if glob.startswith("**/")}
