"""Checks the patterns that choose the files of a folder. It finds include patterns that match no file and
exclude patterns that leave out no file."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path, PurePath

from rag_core.errors import InvalidInput
from rag_core.files import EVERYTHING, MANY_FILES, leaves_out, preview, why_skipped
from rag_core.types import Source
from rag_core.wording import plural

_A_LOOK = 10_000  # file names that are checked for a hint
_A_FEW = 1_000  # file names that nearly always include a match
_KINDS_SHOWN = 8
_CLASS = re.compile(r"\[[^\]]*\]")


def refuse_no_match(root: Path, include: Sequence[str], exclude: Sequence[str] = ()) -> None:
    """Raise InvalidInput if no file of a folder matches the patterns. Two kinds of folders are accepted
    without a match: empty ones, which may be filled later, and very large ones."""
    for names in (_A_FEW, MANY_FILES):
        matching = preview(root, include, exclude, max_files=names)
        if matching.count:
            return
    if not matching.truncated and preview(root, EVERYTHING, max_files=MANY_FILES).count:
        raise no_match(root, include, exclude)


def no_match(root: Path, include: Sequence[str], exclude: Sequence[str] = ()) -> InvalidInput:
    """Return the error for patterns that match no file of a folder. It suggests patterns that would
    match."""
    problem = f"No file below {str(root)!r} matches {' '.join(include)!r}."
    if open_ended := next(filter(_is_open, include), None):
        return InvalidInput(problem, _not_closed(open_ended))
    if exclude and preview(root, include, max_files=_A_LOOK).count:
        left_out = f"{' '.join(exclude)!r} leaves out every file that {' '.join(include)!r} matches."
        return InvalidInput(left_out, "Remove an exclude pattern, or include more files.")
    for meant in _perhaps_meant(root, include):
        if count := preview(root, meant, exclude, max_files=_A_LOOK).count:
            return InvalidInput(
                problem, f"Did you mean {' '.join(meant)!r}? That matches {plural(count, 'file')}."
            )
    there = preview(root, EVERYTHING, max_files=_A_LOOK)
    if not there.count:
        return InvalidInput(problem, "The folder holds no files that Commonplace can read.")
    kinds = list(there.by_suffix)[:_KINDS_SHOWN]
    ends = ", ".join(suffix or "no suffix" for suffix in kinds)
    such = next((f"**/*{suffix}" for suffix in kinds if suffix), EVERYTHING[0])
    return InvalidInput(problem, f"Its files end in {ends}. Include some of them, for example {such!r}.")


def leave_nothing_out(root: Path, exclude: Sequence[str]) -> list[str]:
    """Return a sentence for each exclude pattern that matches nothing in a folder. Very large folders are
    not checked."""
    sentences: list[str] = []
    for glob in exclude:
        if not leaves_out(root, glob):
            meant = [variant for (variant,) in _perhaps_meant(root, (glob,)) if leaves_out(root, variant)]
            hint = (
                f"Did you mean {meant[0]!r}?"
                if meant
                else "Patterns are compared with paths below the folder."
            )
            hint = _not_closed(glob) if _is_open(glob) else hint
            sentences.append(f"The pattern {glob!r} leaves nothing out. {hint}")
    return sentences


def _perhaps_meant(root: Path, globs: Sequence[str]) -> list[tuple[str, ...]]:
    """Return up to two variants of the patterns: without the folder's own name in front, and with ``**/``
    in front."""
    own = f"{root.name}/"
    inside = tuple([g[len(own) :] if g.casefold().startswith(own.casefold()) else g for g in globs])
    anywhere = tuple([f"**/{glob.removeprefix('**/')}" for glob in globs])
    return [variant for variant in (inside, anywhere) if variant != tuple(globs) and all(variant)]


def _is_open(glob: str) -> bool:
    plain = _CLASS.sub("", glob)
    return plain.count("{") > plain.count("}")


def _not_closed(glob: str) -> str:
    return f"The brace in {glob!r} is not closed. '{{md,txt}}' lists alternatives; '[{{]' is a brace."


def covers(outer: Source, inner: Source) -> bool:
    """Whether the source ``outer`` always reads every file that ``inner`` would read. The folder of ``outer``
    must contain the folder of ``inner``."""
    taken, left_out = (  # patterns that mean the same in every folder
        {glob for glob in globs if glob.startswith("**/")} for globs in (outer.include, inner.exclude)
    )
    takes_all = taken >= {*EVERYTHING} or taken >= {*inner.include}
    if outer.paused or not takes_all or not {*outer.exclude} <= left_out:
        return False
    below = os.fsencode(PurePath(inner.root).relative_to(outer.root).as_posix())
    try:
        return why_skipped(Path(outer.root), below, EVERYTHING, outer.exclude) is None
    except InvalidInput:  # it cannot be listed, so it takes nothing
        return False
