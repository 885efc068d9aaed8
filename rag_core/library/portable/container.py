"""The portable file as a zip archive: written in one go, and read without trusting it.

Threat. The file may be made to harm: a directory of millions of names, a member that grows without end,
sizes that lie, names that lead elsewhere. So its end is looked at before the archive is opened, only the
two known members are read, no name in it is ever used as a path, and no more is written than was declared,
has room on the disk, and matches its checksum.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rag_core.errors import InvalidInput, StoreError
from rag_core.library.portable.manifest import FORMAT, MANIFEST, STORE, Manifest, Unfit, parsed
from rag_core.library.portable.transfer import Report, Transfer
from rag_core.store import migrations
from rag_core.store.workroom import require_space

_BLOCK = 1024 * 1024
_LEVEL = 1  # 2.5 times smaller at 50 MB/s on one core; level 6 takes three times as long for a tenth less
_MOST_MANIFEST = 1024 * 1024
_MOST_DIRECTORY = 4096
_MOST_REASON = 200

_END = struct.Struct(
    "<4s4H2LH"
)  # signature, disks, entries here and in all, directory's size and place, comment
_LOCATOR = struct.Struct("<4sLQL")  # signature, disk, place of the long end record, disks
_LONG_END = struct.Struct("<4sQ2H2L4Q")  # … entries here and in all, directory's size and place

# What zipfile and zlib raise for an archive that is damaged or made up.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    struct.error,
)


# --- writing ----------------------------------------------------------------------------


def pack(store: Path, part: Path, describe: Callable[[int, str], bytes], report: Report) -> None:
    """Write the archive ``part`` around the file ``store``; it is on the disk when this returns.

    ``describe`` gives the manifest for a size and a sha256. Raises OSError.
    """
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)  # private notes are in it
    with open(handle, "wb") as raw:  # noqa: PTH123 - it has a handle already
        with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
            size, sha256 = _add(archive, store, report)
            archive.writestr(MANIFEST, describe(size, sha256))
        raw.flush()
        os.fsync(raw.fileno())


def _add(archive: zipfile.ZipFile, store: Path, report: Report) -> tuple[int, str]:
    total = store.stat().st_size
    digest, done = hashlib.sha256(), 0
    with store.open("rb") as source, archive.open(STORE, "w", force_zip64=True) as member:
        while block := source.read(_BLOCK):
            report(Transfer("packing", done, total))
            member.write(block)
            digest.update(block)
            done += len(block)
        report(Transfer("packing", done, total))
    return done, digest.hexdigest()


# --- reading ----------------------------------------------------------------------------


class Packed:
    """An open portable file whose manifest can be believed as far as this program goes by it."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self.path = path
        self._archive = archive
        self.manifest = self._read_manifest()

    def _read_manifest(self) -> Manifest:
        members = self._archive.infolist()
        if sorted(member.filename for member in members) != [MANIFEST, STORE]:
            raise Unfit(f"it holds something else than {MANIFEST} and {STORE}")
        for member in members:
            if member.flag_bits & 1 or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise Unfit(f"its {member.filename} is packed in a way that is not ours")
        if self._archive.getinfo(MANIFEST).file_size > _MOST_MANIFEST:
            raise Unfit("its manifest is too long")
        manifest = parsed(self._archive.read(MANIFEST))
        self._refuse_newer(manifest)
        if self._archive.getinfo(STORE).file_size != manifest.size:
            raise Unfit(f"its {STORE} is not as long as its manifest says")
        return manifest

    def _refuse_newer(self, manifest: Manifest) -> None:
        newer = {"format": (manifest.format, FORMAT), "schema": (manifest.schema, migrations.VERSION)}
        for what, (number, ours) in newer.items():
            if number > ours:
                raise StoreError(
                    f"{self.path.name!r} was written by a newer version of Commonplace"
                    f" ({manifest.program!r}, {what} {number}).",
                    f"Update Commonplace; this one reads up to {what} {ours}.",
                )

    def unpack(self, target: Path, report: Report) -> None:
        """Write the store to ``target``, which must not exist. Raises StoreError, OSError when it cannot
        be written."""
        wanted = self.manifest
        require_space(target.parent, wanted.size, f"The store in {self.path.name!r}")
        digest, done = hashlib.sha256(), 0
        with target.open("xb") as file:
            for block in self._blocks():
                report(Transfer("unpacking", done, wanted.size))
                done += len(block)
                digest.update(block)
                file.write(block)
        if (done, digest.hexdigest()) != (wanted.size, wanted.sha256):
            raise refused(self.path, "its store does not match its checksum")
        report(Transfer("unpacking", done, wanted.size))

    def _blocks(self) -> Iterator[bytes]:
        with _explained(self.path), self._archive.open(STORE) as member:
            while block := member.read(_BLOCK):
                yield block


@contextmanager
def opened(path: Path) -> Iterator[Packed]:
    """The portable file ``path``, its manifest read. Raises InvalidInput when there is no such file,
    StoreError when it is not one that this program can read."""
    if not os.path.isfile(path):  # noqa: PTH113 - no error; a pipe would block
        raise InvalidInput(f"There is no file {str(path)!r}.", "Check the spelling, or mount its disk.")
    with _file(path) as raw:
        with _explained(path):
            _refuse_large_directory(raw)
            archive = zipfile.ZipFile(raw)
        with archive:
            with _explained(path):
                packed = Packed(path, archive)
            yield packed


@contextmanager
def _file(path: Path) -> Iterator[BinaryIO]:
    try:
        raw = path.open("rb")
    except OSError as error:
        raise refused(path, f"it cannot be opened: {error.strerror}") from error
    with raw:
        yield raw


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except Unfit as error:
        raise refused(path, str(error)) from error
    except _DAMAGE as error:
        raise refused(path, f"it is damaged ({error})") from error
    except OSError as error:
        raise refused(path, f"it cannot be read: {error.strerror or error}") from error


def refused(path: Path, why: str) -> StoreError:
    """The error for a portable file that is not taken in."""
    return StoreError(
        f"{path.name!r} cannot be imported: {why[:_MOST_REASON].rstrip('.')}.",
        "Nothing was imported; export the store again where it came from, or take another copy of the file.",
    )


def _refuse_large_directory(raw: BinaryIO) -> None:
    """Raise Unfit unless the archive ends as `pack` ends it; zipfile reads any directory whole."""
    length = raw.seek(0, os.SEEK_END)
    raw.seek(max(0, length - _END.size - _LOCATOR.size - _LONG_END.size))
    tail = raw.read()
    if len(tail) < _END.size or not tail[-_END.size :].startswith(b"PK\5\6"):
        raise Unfit("it is no file that an export writes, or its end is missing")
    end = _END.unpack(tail[-_END.size :])
    entries, directory = end[4], end[5]
    rest = tail[: -_END.size]
    if rest[-_LOCATOR.size :].startswith(b"PK\6\7"):
        place = _LOCATOR.unpack(rest[-_LOCATOR.size :])[2]
        rest = rest[: -_LOCATOR.size]
        if len(rest) < _LONG_END.size or place != length - _END.size - _LOCATOR.size - _LONG_END.size:
            raise Unfit("its end is not as it should be")
        long_end = _LONG_END.unpack(rest[-_LONG_END.size :])
        entries, directory = long_end[7], long_end[8]
    if entries != 2 or directory > _MOST_DIRECTORY:
        raise Unfit(f"it holds something else than {MANIFEST} and {STORE}")
