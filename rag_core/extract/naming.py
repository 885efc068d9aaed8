"""What a file's name alone says about the document."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import date
from pathlib import PurePosixPath

from rag_core.extract.filetypes import file_type

_DATE = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?!\d)")
_JOINED = re.compile(r"[-_]+(?!\d)|(?<!\d)[-_]+")
_MONTH = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_.](0[1-9]|1[0-2])(?![-_.]?\d)")


def title_of_name(path: PurePosixPath) -> str:
    """The title of last resort: a note's name in words (``my-weekly-notes`` → ``My weekly notes``), any other
    file's name."""
    if file_type(path) != "markdown":
        return path.name
    name = path.stem if " " in path.stem else _JOINED.sub(" ", path.stem).strip() or path.stem
    first = name.split(" ", 1)[0]
    return name[:1].upper() + name[1:] if first.islower() else name


def date_of_name(path: PurePosixPath) -> str | None:
    """The ISO date in a name like ``2026-03-15 standup.md`` or ``IMG_20260315.txt``, if any; of a month as in
    ``Diary 2026-03.md`` its first day."""
    for match in _DATE.finditer(path.name):
        with suppress(ValueError):
            return date(*map(int, match.groups())).isoformat()
    month = _MONTH.search(path.name)
    if not month or int(month[2]) == (int(month[1]) + 1) % 100:  # 2010-11 is a season or a school year
        return None
    return f"{month[1]}-{month[2]}-01"
