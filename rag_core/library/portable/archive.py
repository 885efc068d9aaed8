"""The portable file as a zip archive, and reading it without trusting it.

``manifest.json`` holds, as JSON:

    format           the number of this layout; files of format 1 also had a checksum here
    schema           the number of the store's schema, see `rag_core.store.migrations`
    program          the version of Commonplace that wrote it
    exported_at      ISO 8601, UTC
    store            name, embedder, and the number of files and passages

Threat. The file may be made to harm: millions of names, a member without end, sizes that lie, names that lead
elsewhere. So no read is longer than a block, only the two known members are read, no name in it is used as a
path, and no more is written than the disk has room for. Zip's checksum finds damage.
"""

from __future__ import annotations

import io
import json
import os
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from rag_core import __version__
from rag_core.errors import InvalidInput, StoreError
from rag_core.store import migrations
from rag_core.store.file import now
from rag_core.store.workroom import require_space
from rag_core.types import StoreInfo
from rag_core.wording import size

FORMAT = 2
SUFFIX = ".commonplace"
MANIFEST, STORE = "manifest.json", "store.db"

_BLOCK = 1024 * 1024
_LEVEL = 1  # 2.5 times smaller at 50 MB/s on one core; level 6 takes three times as long for a tenth less
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, struct.error)
_DISK = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")

TransferPhase = Literal["copying", "packing", "unpacking", "checking"]
_PHASES: dict[TransferPhase, str] = {
    "copying": "Copying the store", "packing": "Writing the file",
    "unpacking": "Reading the file", "checking": "Checking the store",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Transfer:
    """The progress of an export or import. ``done`` and ``total`` are bytes; while *checking*, checks."""

    phase: TransferPhase
    done: int
    total: int

    @property
    def said(self) -> str:
        """The progress in words: ``Writing the file · 12.0 MB of 80.0 MB``."""
        if self.phase == "checking" or not self.total:
            return _PHASES[self.phase]
        return f"{_PHASES[self.phase]} · {size(self.done)} of {size(self.total)}"


Report = Callable[[Transfer], None]
"""Called again and again during an export or import; what it raises ends that, and nothing is left."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A portable file that was written: where, how large, and what is in it."""

    store: str
    path: Path
    size_bytes: int
    file_count: int
    chunk_count: int


class Unfit(Exception):
    """Why a file is not imported, as the end of a sentence."""


def pack(store: Path, part: Path, info: StoreInfo, report: Report) -> None:
    """Write the archive ``part`` around the store file ``store``; it is on the disk when this returns.
    ``info`` describes the store. Raises OSError."""
    counts = {"files": info.file_count, "passages": info.chunk_count}
    manifest = {
        "format": FORMAT,
        "schema": migrations.VERSION,
        "program": __version__,
        "exported_at": now(),
        "store": {"name": info.name, "embedder": info.embedder, **counts},
    }
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)  # private notes are in it
    with open(handle, "wb") as raw:  # noqa: PTH123 - it has a handle already
        with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
            archive.writestr(MANIFEST, json.dumps(manifest, ensure_ascii=False, indent=2))
            with store.open("rb") as source, archive.open(STORE, "w", force_zip64=True) as member:
                _copy(source, member, "packing", store.stat().st_size, report)
        raw.flush()
        os.fsync(raw.fileno())


def _copy(source: IO[bytes], target: IO[bytes], phase: TransferPhase, total: int, report: Report) -> None:
    done = 0
    while block := source.read(_BLOCK):
        report(Transfer(phase, done, total))
        done += target.write(block)
    report(Transfer(phase, done, total))


@dataclass(frozen=True, slots=True)
class Packed:
    """An open portable file: the name and the schema of its store."""

    path: Path
    archive: zipfile.ZipFile
    name: str
    schema: int

    def unpack(self, target: Path, report: Report) -> None:
        """Write the store to ``target``, which must not exist. Raises StoreError, OSError."""
        total = self.archive.getinfo(STORE).file_size
        require_space(target.parent, total, f"The store in {self.path.name!r}")
        with refusing(self.path), target.open("xb") as file, self.archive.open(STORE) as member:
            _copy(member, file, "unpacking", total, report)


class _Bounded(io.BufferedReader):
    """A file of which no more than a block is read at once; zipfile reads any directory whole."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > _BLOCK:
            raise Unfit(f"it holds more than {MANIFEST} and {STORE}")
        return super().read(size)


@contextmanager
def opened(path: Path) -> Iterator[Packed]:
    """The portable file ``path``. Raises InvalidInput when it does not exist, StoreError when this program
    cannot read it."""
    if not os.path.isfile(path):  # noqa: PTH113 - no error; a pipe would block
        raise InvalidInput(f"There is no file {str(path)!r}.", "Check the spelling, or mount its disk.")
    try:
        raw = _Bounded(io.FileIO(path))
    except OSError as error:
        raise refused(path, f"it cannot be opened: {error.strerror}") from error
    with raw:
        with refusing(path):
            archive = zipfile.ZipFile(raw)
            packed = Packed(path, archive, *_manifest(path, archive))
        yield packed


def _manifest(path: Path, archive: zipfile.ZipFile) -> tuple[str, int]:
    """The store's name and schema. Raises Unfit, StoreError for a file of a newer version."""
    if sorted(archive.namelist()) != [MANIFEST, STORE]:
        raise Unfit(f"it does not hold just {MANIFEST} and {STORE}")
    if {each.compress_type for each in archive.infolist()} - {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise Unfit("its compression is not supported")
    try:
        with archive.open(MANIFEST) as member:
            about: dict[str, Any] = json.loads(member.read(_BLOCK))
        for what, ours in (("format", FORMAT), ("schema", migrations.VERSION)):
            number = about[what]
            if type(number) is not int or number < 1:
                raise TypeError
            if number > ours:
                program = str(about.get("program", ""))[:20]
                raise StoreError(
                    f"{path.name!r} was written by a newer Commonplace ({program!r}, {what} {number}).",
                    f"Update Commonplace; this one reads up to {what} {ours}.",
                )
        return str(about["store"]["name"]), about["schema"]
    except (LookupError, TypeError, RecursionError, json.JSONDecodeError) as error:
        raise Unfit("its manifest lacks what an import needs") from error


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """Raise one StoreError about the portable file ``path`` for anything that is wrong with it."""
    try:
        yield
    except Unfit as error:
        raise refused(path, str(error)) from error
    except (*_DAMAGE, sqlite3.DatabaseError) as error:
        if is_of_the_disk(error):
            raise
        raise refused(path, f"it is damaged or not an export ({error})") from error


def is_of_the_disk(error: BaseException | None) -> bool:
    """Whether an error of SQLite is about the disk or the rights, and not about the file."""
    return getattr(error, "sqlite_errorname", "").startswith(_DISK)


def refused(path: Path, why: str) -> StoreError:
    """The error for a portable file that is not imported."""
    return StoreError(
        f"{path.name!r} cannot be imported: {why[:200].rstrip('.')}.",
        "Nothing was imported. Export the store again, or take another copy of the file.",
    )
