"""What an indexing run would do to one source: compare the files with what is stored."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from rag_core.errors import ExtractError, StoreError
from rag_core.extract import EXTRACTOR_VERSION, file_type
from rag_core.files import FileStat, display, read_bytes, scan
from rag_core.store import Store
from rag_core.store.documents import FileRecord, stored_inode
from rag_core.types import Outcome, Source

MAX_FILE_BYTES = 64 * 1024 * 1024
HashOf = Callable[[FileRecord], str]
_FRESH_NS = 2_000_000_000  # a file this young at its last scan may have changed again unseen


class Known(NamedTuple):
    """What the store remembers of a file. A tuple, for there is one a file even when nothing changed."""

    id: int
    path: bytes
    display: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    scanned_ns: int
    file_hash: str
    state: str
    reason: str
    title_from: str
    extractor: int


@dataclass(frozen=True, slots=True)
class Move:
    """A document whose file has another path now."""

    known: Known
    file: FileRecord


@dataclass(frozen=True, slots=True)
class Plan:
    """The difference between a source's files and its documents."""

    source: Source
    new: tuple[FileRecord, ...] = ()
    changed: tuple[FileRecord, ...] = ()
    moved: tuple[Move, ...] = ()
    touched: tuple[Move, ...] = ()
    deleted: tuple[Known, ...] = ()
    unchanged: tuple[Known, ...] = ()
    warnings: tuple[str, ...] = ()

    def rows(self) -> list[tuple[Outcome, str, str]]:
        """(outcome, path, note) of everything that would happen, as ``--dry-run`` shows it."""
        rows: list[tuple[Outcome, str, str]] = [("added", f.display, "") for f in self.new]
        rows += [("changed", f.display, "") for f in self.changed]
        rows += [("moved", m.file.display, f"from {m.known.display}") for m in self.moved]
        rows += [("deleted", k.display, "") for k in self.deleted]
        return rows

    def counts(self) -> dict[str, int]:
        """How many files have each outcome."""
        return {
            "added": len(self.new),
            "changed": len(self.changed),
            "moved": len(self.moved),
            "deleted": len(self.deleted),
            "unchanged": len(self.unchanged) + len(self.touched),
        }


@dataclass(slots=True)
class _Draft:
    """A plan in the making."""

    new: list[FileRecord] = field(default_factory=list)
    changed: list[FileRecord] = field(default_factory=list)
    touched: list[Move] = field(default_factory=list)
    unchanged: list[Known] = field(default_factory=list)


def make_plan(
    store: Store, source: Source, *, force: bool = False, on_progress: Callable[[int], None] | None = None
) -> Plan:
    """Walk a source and compare. Reads a file only when its stat says it may have changed,
    or when it may be the new place of a document whose file is gone.

    Raises InvalidInput when the folder is gone or unreadable, StoreError when a folder that
    held documents is suddenly empty (an unmounted disk looks like that).
    """
    started_ns = time.time_ns()
    root = Path(source.root)
    walk = scan(root, source.include, source.exclude, on_progress=on_progress)
    with store.read() as db:
        known = _known(db, source.id)
        excluded = {r[0] for r in db.execute("SELECT path FROM exclusions WHERE source_id = ?", (source.id,))}
        elsewhere = _indexed_elsewhere(db, source)
    if known and not walk.files and not walk.unreadable and not force:
        raise StoreError(
            f"Nothing is left in {source.root!r}, which held {len(known):,} documents.",
            "If its disk is not mounted, mount it; if the files are really gone, run again with --force.",
        )

    def hash_of(file: FileRecord) -> str:
        if on_progress:
            on_progress(len(walk.files))
        return file_hash(root, file)

    files = [f for f in walk.files if f.path not in excluded and f.path not in elsewhere]
    draft = _Draft()
    for stat in files:
        before = known.get(stat.path)
        if before and not force and _is_settled(before, stat):
            draft.unchanged.append(before)
        else:
            _compare(draft, hash_of, before, _record(stat, source, started_ns), force=force)
    present = {f.path for f in files}
    gone = [k for k in known.values() if k.path not in present and not _below(k.path, walk.unreadable)]
    moved = _pair_moves(hash_of, gone, draft.new)
    old, placed = {move.known.path for move in moved}, {move.file.path for move in moved}
    warnings = [f"{display(p)}: {why}." for p, why in walk.skipped]
    warnings += [f"{display(p)}: the folder cannot be listed." for p in walk.unreadable]
    return Plan(
        source=source,
        new=tuple(file for file in draft.new if file.path not in placed),
        changed=tuple(draft.changed),
        moved=tuple(moved),
        touched=tuple(draft.touched),
        deleted=tuple(known for known in gone if known.path not in old),
        unchanged=tuple(draft.unchanged),
        warnings=tuple(warnings),
    )


def _known(db: sqlite3.Connection, source_id: int) -> dict[bytes, Known]:
    rows = db.execute(
        "SELECT id, path, display, size, mtime_ns, ctime_ns, inode, scanned_ns, file_hash, state, reason,"
        " title_from, extractor FROM documents WHERE source_id = ?",
        (source_id,),
    )
    return {known.path: known for known in map(Known._make, rows)}


def _indexed_elsewhere(db: sqlite3.Connection, source: Source) -> set[bytes]:
    """Paths below this root that another source of the store indexes already."""
    here = os.fsencode(source.root).rstrip(b"/") + b"/"
    found = set()
    for row in db.execute("SELECT id, root FROM sources WHERE id <> ?", (source.id,)):
        there = row["root"].rstrip(b"/") + b"/"
        if here.startswith(there) or there.startswith(here):
            paths = db.execute("SELECT path FROM documents WHERE source_id = ?", (row["id"],))
            whole = (there + path for (path,) in paths)
            found |= {path[len(here) :] for path in whole if path.startswith(here)}
    return found


def _record(stat: FileStat, source: Source, scanned_ns: int) -> FileRecord:
    shown = display(stat.path)
    return FileRecord(
        source_id=source.id,
        path=stat.path,
        display=f"{source.label}/{shown}" if source.label else shown,
        size=stat.size,
        mtime_ns=stat.mtime_ns,
        ctime_ns=stat.ctime_ns,
        inode=stat.inode,
        scanned_ns=scanned_ns,
        file_hash="",
    )


def _compare(draft: _Draft, hash_of: HashOf, known: Known | None, file: FileRecord, *, force: bool) -> None:
    if known is None:
        draft.new.append(file)
    elif force or known.state == "failed" or known.extractor < EXTRACTOR_VERSION:
        draft.changed.append(file)
    elif known.file_hash and hash_of(file) == known.file_hash:
        draft.touched.append(Move(known, file))
    else:
        draft.changed.append(file)


def _is_settled(known: Known, stat: FileStat) -> bool:
    """Whether the file was read well, is as it was then, and had been so for a while."""
    fresh_ns = known.scanned_ns - _FRESH_NS
    return (
        known.mtime_ns == stat.mtime_ns < fresh_ns
        and known.ctime_ns == stat.ctime_ns < fresh_ns
        and known.size == stat.size
        and known.inode == stored_inode(stat.inode)
        and known.state != "failed"
        and known.extractor >= EXTRACTOR_VERSION
    )


def file_hash(root: Path, file: FileRecord) -> str:
    """sha256 of the file's bytes, or ``''`` when they cannot be read (the run will say why)."""
    try:
        return hashlib.sha256(read_bytes(root, file.path, MAX_FILE_BYTES)).hexdigest()
    except (ExtractError, OSError):
        return ""


def _below(path: bytes, folders: Sequence[bytes]) -> bool:
    return any(folder in (b"", b".") or path.startswith(folder + b"/") for folder in folders)


def _pair_moves(hash_of: HashOf, gone: list[Known], new: list[FileRecord]) -> list[Move]:
    """Pair documents whose file is gone with new files of the same content and type; equal ones
    by name where they can be."""
    left: dict[tuple[str, str], list[Known]] = {}
    for known in gone:
        if known.state == "indexed" and known.file_hash:
            left.setdefault((known.file_hash, _type(known)), []).append(known)
    sizes = {known.size for group in left.values() for known in group}
    candidates = [(file, left.get((hash_of(file), _type(file)), [])) for file in new if file.size in sizes]
    moves: list[Move] = []
    for file, group in candidates:
        if best := next((known for known in group if _name(known) == _name(file)), None):
            group.remove(best)
            moves.append(Move(best, file))
    paired = {move.file.path for move in moves}
    moves += [Move(group.pop(0), file) for file, group in candidates if group and file.path not in paired]
    return moves


def _name(file: Known | FileRecord) -> str:
    return PurePosixPath(file.display).name


def _type(file: Known | FileRecord) -> str:
    return file_type(PurePosixPath(file.display))
