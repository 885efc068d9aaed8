"""Exports a store to one portable file while the app runs, and imports such a file.

The file is a zip archive of ``store.db``, a consistent copy of the store with its private notes and without
its runs and requests, and ``manifest.json``, which holds as JSON:

    format           the number of this layout; files of format 1 also had a checksum
    schema           the number of the store's schema, see `rag_core.store.migrations`
    program          the version of Commonplace that wrote it
    exported_at      ISO 8601, UTC
    store            name, embedder, and the number of files and passages

Threat. A file may be crafted to do harm: millions of names, an endless member, false sizes, names that lead
elsewhere. So no read is longer than a block, and only the two known members are read.

No name in the file is used as a path, and no more is written than the disk has room for. Zip's checksum finds
damage.

The store in the file is a program for SQLite: a trigger or view in it would run when the store is written to.
So its schema must be exactly the schema of its version, and its structure must be sound, before any row is
used. Values read from rows must be of the expected type. Only then is the store linked into place.
"""

from __future__ import annotations

import io
import json
import os
import sqlite3
import struct
import uuid
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Literal
from urllib.parse import quote

from rag_core import __version__, system
from rag_core.errors import InvalidInput, StoreError
from rag_core.files import MANY_FILES, display, doubt, preview
from rag_core.messages import say
from rag_core.models import known_facts
from rag_core.store import Store, about, migrations, switch
from rag_core.store.connection import connect
from rag_core.store.creation import new_store_file
from rag_core.store.errors import is_damage, not_written, system_says
from rag_core.store.file import new_generation, now
from rag_core.store.health import check
from rag_core.store.sources import all_sources, change_source
from rag_core.store.staging import require_space, staging_folder, unfinished_name
from rag_core.types import METRICS, OWNER, Source, StoreInfo
from rag_core.wording import plural, size

FORMAT = 2
SUFFIX = ".commonplace"
MANIFEST, STORE = "manifest.json", "store.db"

_BLOCK = 1024 * 1024
_LEVEL = 1  # 2.5 times smaller at 50 MB/s on one core; level 6 saves a tenth more in three times the time
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, struct.error)
_DISK = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")
_EXAMPLES = 5
_SMALL = ("meta", "migrations", "identities", "tags", "properties", "names", "exclusions")
_MOST_CHARACTERS = 1_000_000
_FOLDERS = {
    "missing": "Indexing is paused for {count} that this computer does not have: {names}. What was read "
    "there stays in the store.",
    "doubted": "Folders that are too large to index without your consent are paused: {names}.",
    "here": "The next run compares the store with {count} of this computer: {names}.",
}

TransferPhase = Literal["copying", "packing", "unpacking", "checking"]
_PHASES: dict[TransferPhase, str] = {
    "copying": "Copying the store",
    "packing": "Writing the file",
    "unpacking": "Reading the file",
    "checking": "Checking the store",
}


@dataclass(frozen=True, slots=True)
class Transfer:
    """The progress of an export or import."""

    phase: TransferPhase
    done: int  #: Number of bytes done; while *checking*, number of checks.
    total: int  #: Total in the same unit; 0 if unknown.

    @property
    def said(self) -> str:
        """The progress in words, such as ``Writing the file · 12.0 MB of 80.0 MB``."""
        if self.phase == "checking" or not self.total:
            return _PHASES[self.phase]
        return f"{_PHASES[self.phase]} · {size(self.done)} of {size(self.total)}"


TransferReport = Callable[[Transfer], None]
"""Called repeatedly during an export or import. If it raises an error, the export or import ends and leaves
no file."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A portable file that was written: its store, path, size and contents."""

    store: str
    path: Path
    size_bytes: int
    file_count: int
    chunk_count: int


class _Unfit(Exception):
    """Raised when a file cannot be imported. The text is the reason, in a sentence."""


def _pack(store: Path, part: Path, info: StoreInfo, report: TransferReport) -> None:
    """Write the archive ``part`` from the store file ``store`` and a manifest made from ``info``. Returns
    when the archive is on disk. Raises OSError."""
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


def _copy(
    source: IO[bytes], target: IO[bytes], phase: TransferPhase, total: int, report: TransferReport
) -> None:
    done = 0
    while block := source.read(_BLOCK):
        report(Transfer(phase, done, total))
        done += target.write(block)
    report(Transfer(phase, done, total))


@dataclass(frozen=True, slots=True)
class Packed:
    """An open portable file, with the name and schema version of its store."""

    path: Path
    archive: zipfile.ZipFile
    name: str
    schema: int

    def unpack(self, target: Path, report: TransferReport) -> None:
        """Write the store file to ``target``, which must not exist yet. Raises StoreError if the file is
        damaged or the disk has too little room, and OSError if it cannot be written."""
        total = self.archive.getinfo(STORE).file_size
        require_space(target.parent, total, f"The store in {self.path.name!r}")
        with _refusing(self.path), target.open("xb") as file, self.archive.open(STORE) as member:
            _copy(member, file, "unpacking", total, report)


class _Bounded(io.BufferedReader):
    """A file that can only be read in small blocks. Otherwise zipfile would read a directory of any size into
    memory."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > _BLOCK:
            raise _Unfit(f"It holds more than {MANIFEST} and {STORE}.")
        return super().read(size)


@contextmanager
def opened(path: Path) -> Iterator[Packed]:
    """Context manager: open the portable file ``path``. Raises InvalidInput if the file does not exist,
    StoreError if this program cannot read it."""
    if not os.path.isfile(path):  # noqa: PTH113 - no error; a pipe would block
        raise InvalidInput(f"There is no file {str(path)!r}.", "Check the spelling, or mount its disk.")
    try:
        raw = _Bounded(io.FileIO(path))
    except OSError as error:
        raise _refused(path, f"It cannot be opened: {error.strerror}.") from error
    with raw:
        with _refusing(path):
            archive = zipfile.ZipFile(raw)
            packed = Packed(path, archive, *_manifest(path, archive))
        yield packed


def _manifest(path: Path, archive: zipfile.ZipFile) -> tuple[str, int]:
    """Return the store's name and schema version. Raises _Unfit, or StoreError if a newer version wrote the
    file."""
    if sorted(archive.namelist()) != [MANIFEST, STORE]:
        raise _Unfit(f"It must hold {MANIFEST} and {STORE}, and nothing else.")
    if {entry.compress_type for entry in archive.infolist()} - {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise _Unfit("Its compression is not supported.")
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
        raise _Unfit("Its manifest is incomplete.") from error


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Context manager: raise any fault of the portable file ``path`` as a StoreError."""
    try:
        yield
    except _Unfit as error:
        raise _refused(path, str(error)) from error
    except (*_DAMAGE, sqlite3.DatabaseError) as error:
        if _is_of_the_disk(error):
            raise
        raise _refused(path, f"It is damaged or not an export ({error}).") from error


def _is_of_the_disk(error: BaseException | None) -> bool:
    """Whether the disk or the access rights caused an SQLite error, and not the file's content."""
    return getattr(error, "sqlite_errorname", "").startswith(_DISK)


def _refused(path: Path, why: str) -> StoreError:
    """Return the error for a portable file that cannot be imported; ``why`` is a sentence."""
    return StoreError(
        f"{path.name!r} cannot be imported. {why[:200]}",
        "Nothing was imported. Export the store again, or use another copy of the file.",
    )


def export_store(
    store: Store, target: Path, *, force: bool = False, report: TransferReport | None = None
) -> Exported:
    """Write ``store`` as it is now to a portable file.

    Args:
        store: The store to export. It may be in use.
        target: The file to write, or a folder for a file with the store's name.
        force: Whether to replace an existing file.
        report: Called with the progress; may raise to stop.

    Raises:
        InvalidInput: The target exists, its folder is missing, or its name has another suffix.
        StoreError: The store cannot be read, or the file cannot be written. No file is left.

    """
    target = target / f"{store.name}{SUFFIX}" if _is_folder(target) else target
    if target.suffix != SUFFIX:
        raise InvalidInput(f"{target.name!r} does not end in {SUFFIX}.", f"Call it {store.name + SUFFIX!r}.")
    if not _is_folder(target.parent):
        raise InvalidInput(f"There is no folder {str(target.parent)!r}.", "Create it, or choose another.")
    _refuse_existing(target, force=force)
    report = report or (lambda _: None)
    with _explained(store, target), staging_folder(store.path.parent) as room:
        copy = room / store.path.name
        _vacuum(store.path, copy, report)
        with closing(Store(copy)) as opened:
            _forget_runs(opened)
            info = about.info(opened, OWNER)
        _one_file(copy)
        part = unfinished_name(room, target)
        _pack(copy, part, info, report)
        _refuse_existing(target, force=force)
        system.replace(part, target)
        system.sync(target.parent)
    return Exported(store.name, target, target.stat().st_size, info.file_count, info.chunk_count)


def _refuse_existing(target: Path, *, force: bool) -> None:
    if os.path.lexists(target) and not force:
        raise InvalidInput(f"{str(target)!r} exists already.", say("replace_file"))


def _is_folder(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 - no error for a path that cannot be


def _vacuum(store: Path, copy: Path, report: TransferReport) -> None:
    """Write a consistent, compact copy of a store without deleted text. Searches and runs can continue
    meanwhile."""
    with closing(connect(store, "ro")) as db:
        pages, unused, page_size = (
            int(db.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("page_count", "freelist_count", "page_size")
        )
        total = (pages - unused) * page_size
        require_space(copy.parent, total, f"A copy of store {store.stem!r}")
        report(Transfer("copying", 0, total))
        db.execute("VACUUM INTO ?", (str(copy),))
    report(Transfer("copying", total, total))


def _forget_runs(store: Store) -> None:
    """Remove the requests and the history of runs from a store."""
    with store.note() as db:
        db.execute("PRAGMA secure_delete = ON")
        db.execute("DELETE FROM requests")
        db.execute("DELETE FROM jobs")


def _one_file(path: Path) -> None:
    """Move the write-ahead log of a closed store into the store's file. Unlike closing, this raises
    errors."""
    with closing(connect(path, "rw")) as db:
        db.execute("PRAGMA journal_mode = DELETE")


@contextmanager
def _explained(store: Store, target: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.DatabaseError) as error:
        if is_damage(error):
            raise StoreError(
                f"Store {store.name!r} is damaged: {error}.", "Repair it, then export it again."
            ) from error
        own = store.path.parent
        is_own = isinstance(error, sqlite3.Error) or str(error.filename).startswith(str(own))
        folder = own if is_own else target.parent
        message = f"Store {store.name!r} cannot be exported: {system_says(error)}."
        raise not_written(message, folder, "No file was left.") from error


def import_store(
    packed: Packed,
    path: Path,
    report: TransferReport | None = None,
    make_room: Callable[[], None] = lambda: None,
) -> tuple[str, ...]:
    """Create the store file ``path`` from a portable file. The store gets a new id. Returns notices for its
    owner, in sentences.

    Args:
        packed: The open portable file.
        path: The store file to create.
        report: Called with the progress; may raise to stop.
        make_room: Called when the new store is complete, to remove what an earlier store left.

    Raises:
        InvalidInput: The store file exists already.
        StoreError: The file holds no sound store that this program can read, or the store cannot be written.
            No store file is left.

    """
    report = report or (lambda _: None)
    with new_store_file(
        path, lambda why: f"Store {path.stem!r} cannot be made: {why}.", "Nothing was imported.", make_room
    ) as unpacked:
        packed.unpack(unpacked, report)
        report(Transfer("checking", 0, 0))
        with _refusing(packed.path):
            _inspect(unpacked, packed.schema)
            notices = _adopt(unpacked, report)
        _one_file(unpacked)
    return notices


def _inspect(unpacked: Path, version: int) -> None:
    """Raise _Unfit unless the file is an undamaged store whose schema is exactly that of ``version``."""
    # immutable: no other process has the file open, and SQLite must not create a log for it
    with closing(sqlite3.connect(f"file:{quote(str(unpacked))}?immutable=1", uri=True)) as db:
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("PRAGMA cell_size_check = ON")
        pragmas = ("application_id", "encoding", "user_version")
        values = [db.execute(f"PRAGMA {pragma}").fetchone()[0] for pragma in pragmas]
        if values[:2] != [migrations.APPLICATION_ID, "UTF-8"]:
            raise _Unfit("It does not hold a Commonplace store.")
        if values[2] != version:
            raise _Unfit("Its store and its manifest have different schema versions.")
        for difference in migrations.differences(db, version):
            raise _Unfit(f"Its schema is not that of a store ({difference.kind} {difference.name[:60]!r}).")
        if db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise _Unfit("Its store is damaged.")
        there = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for table in there.intersection(_SMALL):  # malformed text raises; `check` reads the others
            for _ in db.execute(f"SELECT * FROM {table}"):
                pass


def _adopt(unpacked: Path, report: TransferReport) -> tuple[str, ...]:
    """Make an unpacked store ready for this computer, with a new id and local vectors. Returns notices for
    the owner. Raises _Unfit."""
    try:
        with closing(Store(unpacked)) as store:
            notices = _require_usable(store)
            _forget_runs(store)
            with store.decide() as db:
                switch.keep_local(db)
            health = check(store, report=lambda done, total: report(Transfer("checking", done, total)))
            for finding in health.findings:
                if finding.severity == "fault":
                    raise _Unfit(f"Its store is damaged. {finding.sentence}")
            with store.decide() as db:
                db.execute("UPDATE meta SET value = ? WHERE key = 'id'", (str(uuid.uuid4()),))
                db.execute("UPDATE meta SET value = ? WHERE key = 'generation'", (new_generation(),))
                return (*notices, *_settle_folders(db))
    except StoreError as error:  # the portable file is at fault: there is no store to repair
        if _is_of_the_disk(error.__cause__):
            raise
        raise _Unfit(error.message) from error


def _require_usable(store: Store) -> tuple[str, ...]:
    """Raise _Unfit if this program cannot use the store. Returns a notice if the store's embedder must be set
    up here."""
    try:
        known = known_facts(store.embedder)
    except InvalidInput as error:
        raise _Unfit(f"Its embedder is unknown here. {error}") from error
    sizes = [*store.spec.sizes.values(), (store.spec.max_tokens, 0)]
    if any(type(number) is not int for pair in sizes for number in pair) or not all(
        0 <= overlap < size <= _MOST_CHARACTERS for size, overlap in sizes
    ):
        raise _Unfit("Its passages have impossible sizes.")
    if known and store.spec.max_tokens > known.max_tokens:
        raise _Unfit("Its passages are longer than its embedder reads.")
    if store.metric not in METRICS:
        raise _Unfit(f"Its metric {store.metric[:20]!r} is unknown.")
    return () if known else (f"Its embedder {store.embedder[:80]!r} has to be set up on this computer.",)


def _settle_folders(db: sqlite3.Connection) -> Iterator[str]:
    """Pause the folders that are missing on this computer or that are too large to index unasked. Yields one
    notice for each kind of folder."""
    by_kind: dict[str, list[Source]] = {kind: [] for kind in _FOLDERS}
    for source in [known for known in all_sources(db) if not known.removed]:
        root, kind = Path(source.root), "missing"
        if root.is_absolute() and os.path.isdir(root):  # noqa: PTH112 - may hold a NUL
            root = root.resolve()
            some = preview(root, source.include, max_files=MANY_FILES)
            kind = "doubted" if doubt(root, source.include, some) else "here"
        if kind != "here":
            change_source(db, replace(source, paused=True))
        if kind != "here" or not source.paused:
            by_kind[kind].append(source)
    for kind, sentence in _FOLDERS.items():
        if folders := by_kind[kind]:
            names = ", ".join(repr(display(os.fsencode(folder.root))) for folder in folders[:_EXAMPLES])
            more = len(folders) - _EXAMPLES
            names += f" and {more:,} more" if more > 0 else ""
            yield sentence.format(count=plural(len(folders), "folder"), names=names)
