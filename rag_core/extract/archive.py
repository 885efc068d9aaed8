"""ZIP archives → the list of the files in them. No file in an archive is opened."""

from __future__ import annotations

import io
from contextlib import suppress
from pathlib import PurePosixPath
from zipfile import ZipFile, ZipInfo

from rag_core.extract.building import Builder
from rag_core.types import Extracted

_MOST_NAMES = 10_000
_IS_UTF_8 = 0x800
"""The flag of a member whose name is in UTF-8. macOS writes such names without it."""


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """Return the names in the archive ``data``, one on each line, without the files that only macOS needs."""
    with ZipFile(io.BytesIO(data)) as archive:
        names = [name for name in map(_name, archive.infolist()) if not _is_of_macos(PurePosixPath(name))]
    builder = Builder()
    builder.add("\n".join(names[:_MOST_NAMES]))
    more = [f"Only the first {_MOST_NAMES:,} of the {len(names):,} names of its files can be found."]
    return builder.document("archive", path.name, warnings=more if len(names) > _MOST_NAMES else [])


def _name(member: ZipInfo) -> str:
    """Return the name of a member. The package reads a name without the flag as cp437."""
    if not member.flag_bits & _IS_UTF_8:
        with suppress(UnicodeError):
            return member.filename.encode("cp437").decode("utf-8")
    return member.filename


def _is_of_macos(path: PurePosixPath) -> bool:
    return path.parts[:1] == ("__MACOSX",) or path.name.startswith("._")
