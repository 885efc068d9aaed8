"""Plans a run for one source: compares the files in the folder with the stored documents."""

from __future__ import annotations

import os
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any, Literal, NamedTuple

from rag_core.errors import ExtractError, StoreError
from rag_core.extract import current_sql, hardly_text
from rag_core.extract.filetypes import NAMED
from rag_core.files import IN_CLOUD, FileStat, Walk, display, opened_in_slices, scan, slices, with_sep
from rag_core.index.choice import no_match
from rag_core.index.embedded import EmbeddedPictures
from rag_core.index.moves import HashOf, KnownFile, Move, moved_candidates, moved_in_cloud, paired
from rag_core.store import Store
from rag_core.store.documents import FileRecord
from rag_core.store.jobs import Request
from rag_core.store.parts import IS_FILE
from rag_core.store.sources import excluded_below, shown_path
from rag_core.types import Outcome, Source
from rag_core.wording import plural, some

MAX_FILE_BYTES = 64_000_000
_STRAYS = 10  # with this many times fewer files than documents, a disk may be unmounted
_FRESH_NS = 2_000_000_000  # a file younger than this at its scan may have changed again unnoticed


@dataclass(frozen=True, slots=True)
class Plan:
    """The differences between a source's files and its documents."""

    source: Source
    #: Files to read, by outcome. Files with the outcome ``reread`` seem to be unchanged.
    to_read: Mapping[Outcome, Sequence[FileRecord]] = field(default_factory=dict)
    moved: Sequence[Move] = ()
    touched: Sequence[Move] = ()  #: Files with another time but the same bytes.
    deleted: Sequence[KnownFile] = ()  #: Documents to forget.
    in_cloud: Sequence[FileRecord] = ()  #: New files that are only in a cloud and are not read.
    excluded: Set[bytes] = frozenset()  #: Paths that the owner excluded, at least those in ``deleted``.
    #: Number of files that are not read, by reason: ``unchanged``, and ``still_skipped`` if there are any.
    left_alone: Mapping[str, int] = field(default_factory=lambda: {"unchanged": 0})
    is_partial: bool = False  #: Whether a folder vanished during the scan.
    #: Sentences about paths that were left out and about patterns that match no file.
    warnings: tuple[str, ...] = ()
    #: Pictures that the source's notes may embed; None if the plan only forgets documents.
    pictures: EmbeddedPictures | None = None

    def rows(self) -> list[tuple[Outcome, str, str]]:
        """Return (outcome, path, note) for each change, as ``--dry-run`` shows it."""
        rows: list[tuple[Outcome, str, str]] = []
        for outcome, files in self.to_read.items():
            for file in files:
                unlikely: tuple[Outcome, str] = ("skipped", "will probably be skipped")
                became, note = unlikely if hardly_text(file.display) else (outcome, "")
                rows.append((became, file.display, note))
        rows += [("skipped", file.display, IN_CLOUD) for file in self.in_cloud]
        rows += [("moved", m.file.display, f"from {m.known.display}") for m in self.moved]
        rows += [(self.why_gone(k), k.display, "") for k in self.deleted]
        return rows

    def why_gone(self, known: KnownFile) -> Literal["deleted", "excluded"]:
        """Return the outcome of a document in ``deleted``."""
        return "excluded" if known.stat.path in self.excluded else "deleted"

    def counts(self) -> dict[str, int]:
        """Return the number of files for each outcome. A file counts as *skipped* if its name suggests that
        it is not text."""
        counts = dict.fromkeys(("added", "changed", "moved", "deleted"), 0)
        return {**counts, **Counter(outcome for outcome, _, _ in self.rows()), **self.left_alone}

    def expected(self) -> dict[str, int]:
        """Return `counts`, but with *skipped* renamed to ``unlikely``, because it is a guess."""
        counts = self.counts()
        unlikely = counts.pop("skipped", 0)
        return {**counts, "unlikely": unlikely}


def make_plan(
    store: Store,
    source: Source,
    *,
    force: bool = False,
    only: Set[bytes] | None = None,
    max_bytes: int = MAX_FILE_BYTES,
    from_cloud: bool = False,
    on_progress: Callable[[int], None] | None = None,
) -> Plan:
    """Scan a source and compare it with the store. A file is read only if its stat shows that it may have
    changed, or if it may be a missing document that was moved.

    Args:
        store: The store to compare with.
        source: The source to scan.
        force: Whether to read every file again.
        only: Limits the plan to these files, and to the places where they may have moved.
        max_bytes: Size of the largest file that is read.
        from_cloud: Whether to download files that are only in a cloud.
        on_progress: Called with the number of files found so far.

    Raises:
        InvalidInput: The folder is gone or unreadable.
        StoreError: None of the known files exists any more. An unmounted disk looks like that.

    """
    if source.removed:
        return forgetting(store, source)
    if only is not None and only <= (out := forgetting_excluded(store, source, only)).excluded:
        return out
    started_ns = time.time_ns()
    walk = scan(Path(source.root), source.include, source.exclude, on_progress=on_progress)
    with store.read() as db:
        largest = None if force else max_bytes
        sides = _sides(db, source, walk, only, max_bytes=largest, from_cloud=from_cloud)

    def hash_of(file: FileRecord) -> str:
        """The sha256 of the file's content, or '' if it cannot be read (the run will say why)."""
        if on_progress:
            on_progress(len(walk.files))
        try:
            with opened_in_slices(Path(source.root), file.stat.path, from_cloud=from_cloud) as data:
                return slices.hash_of(data)
        except (ExtractError, OSError):
            return ""

    return _difference(store, _Seen(source, walk, sides, hash_of, started_ns), only, force=force)


def _difference(store: Store, seen: _Seen, only: Set[bytes] | None, *, force: bool) -> Plan:
    sides = seen.sides
    read, touched = _compare(seen, force=force)
    known_absent, in_cloud = _absent(seen)
    moved, gone = _moved(seen, read, in_cloud) if sides.known else ([], [])
    placed = {move.file.stat.path for move in moved}
    if not moved and len(seen.walk.files) * _STRAYS <= sides.documents:
        _refuse_emptied(store, seen.source, seen.walk)
    return Plan(
        seen.source,
        read,
        moved,
        touched,
        gone,
        [file for file in in_cloud if file.stat.path not in placed],
        excluded=sides.excluded & {known.stat.path for known in gone},
        left_alone=_left_alone(sides, [*(move.known for move in touched), *known_absent]),
        is_partial=bool(seen.walk.vanished),
        warnings=(
            *_warnings(seen.source, seen.walk, only),
            *(_left_in_cloud(known_absent) if only is not None else ()),
        ),
        pictures=sides.pictures,
    )


def _absent(seen: _Seen) -> tuple[list[KnownFile], list[FileRecord]]:
    """Return the documents whose files are only in a cloud now, then the new files that are only in a
    cloud."""
    known, new = list[KnownFile](), list[FileRecord]()
    for stat in seen.sides.absent:
        document = seen.sides.known.get(stat.path)
        if document is None or _is_new(document):
            new.append(seen.record(stat))
        else:
            known.append(document)
    return known, new


def _left_alone(sides: _Sides, as_before: Sequence[KnownFile]) -> dict[str, int]:
    """Return the number of files that are not read, by reason. ``as_before`` are files that might have
    changed, but did not or are only in a cloud."""
    skipped = sides.still_skipped + sum(known.state == "skipped" for known in as_before)
    settled = len(sides.files) - len(sides.unsettled) - len(sides.absent)
    counts = {"unchanged": settled + len(as_before) - skipped}
    return {**counts, "still_skipped": skipped} if skipped else counts


def _is_new(known: KnownFile | None) -> bool:
    """Whether the store knows nothing about a file, or only its name from an interrupted run."""
    return known is None or (known.extractor == NAMED and known.state == "indexed")


def _compare(seen: _Seen, *, force: bool) -> tuple[dict[Outcome, list[FileRecord]], list[Move]]:
    """Return the files to read by outcome, then the files that were only touched. The contents of files that
    may have changed are hashed."""
    sides, hash_of = seen.sides, seen.hash_of
    read: dict[Outcome, list[FileRecord]] = {"added": [], "changed": [], "reread": []}
    touched: list[Move] = []
    for stat in sides.unsettled:
        file = seen.record(stat)
        known = sides.known.get(stat.path)
        if known is None or known.extractor == NAMED:
            read["added"].append(file)
        elif force or known.state == "failed" or not known.is_current or stat.path in sides.with_new_picture:
            is_same = _same(known.stat) == _same(stat) or (
                known.file_hash != "" and hash_of(file) == known.file_hash
            )
            read["reread" if is_same else "changed"].append(file)
        elif known.file_hash and hash_of(file) == known.file_hash:
            touched.append(Move(known, file))
        else:
            read["changed"].append(file)
    return read, touched


def forgetting(store: Store, source: Source) -> Plan:
    """Return the plan that removes every document of a source, without looking at the disk."""
    with store.read() as db:
        return Plan(source, deleted=[*_known(db, source.id).values()])


def forgetting_excluded(store: Store, source: Source, only: Set[bytes] | None = None) -> Plan:
    """Return the plan that removes the documents of files that the owner excluded, without looking at the
    disk."""
    with store.read() as db:
        excluded = excluded_below(db, source.root).keys()
        wanted = frozenset(excluded if only is None else excluded & only)
        known = _known(db, source.id) if wanted else {}
    gone = [document for path, document in known.items() if path in wanted]
    return Plan(source, deleted=gone, excluded=wanted)


class _Sides(NamedTuple):
    """The two sides of a comparison: a source's files, and the store's data about them."""

    files: list[FileStat]
    unsettled: list[FileStat]  #: Files that may have changed.
    absent: list[FileStat]  #: Files that may have changed and are only in a cloud.
    still_skipped: int  #: Number of unchanged files that were skipped before.
    known: dict[bytes, KnownFile]  #: Documents by path; empty if nothing can have changed.
    beside: list[FileStat]  #: Files that a missing document may have become.
    excluded: Set[bytes]
    documents: int
    with_new_picture: Set[bytes]  #: Notes whose embedded pictures changed.
    pictures: EmbeddedPictures


class _Seen(NamedTuple):
    """A scanned source, with everything that the comparison with its store needs."""

    source: Source
    walk: Walk
    sides: _Sides
    hash_of: HashOf
    started_ns: int

    def record(self, stat: FileStat) -> FileRecord:
        """Return the file with this ``stat`` as a FileRecord of this scan."""
        return FileRecord(self.source.id, shown_path(self.source.label, stat.path), stat, self.started_ns)


def _sides(
    db: sqlite3.Connection,
    source: Source,
    walk: Walk,
    only: Set[bytes] | None,
    *,
    max_bytes: int | None,
    from_cloud: bool,
) -> _Sides:
    """Compare a walk with the store. Without ``max_bytes`` every file counts as changed."""
    excluded = excluded_below(db, source.root).keys()
    left_out = excluded | _indexed_elsewhere(db, source)
    pictures = EmbeddedPictures(source, walk.files, excluded, walk.online_only)
    stale = pictures.changed(db)
    only = None if only is None else only | stale
    files = _chosen(walk.files, left_out, only)
    unsettled, skipped = _unsettled(db, source, files, stale, max_bytes)
    unsettled, absent = _apart(unsettled, walk.stubs if from_cloud else walk.online_only)
    count = _file_count(db, source)
    sides = _Sides(files, unsettled, absent, skipped, {}, [], excluded, count, stale, pictures)
    if unsettled or absent or len(files) < count:
        sides = sides._replace(known=_known(db, source.id))
    return _narrowed(sides, walk, left_out, only)


def _apart(files: list[FileStat], online_only: Set[bytes]) -> tuple[list[FileStat], list[FileStat]]:
    """Return the files that are on this computer, then the files that are only in a cloud."""
    absent = [file for file in files if file.path in online_only]
    return ([file for file in files if file.path not in online_only] if absent else files), absent


def _file_count(db: sqlite3.Connection, source: Source) -> int:
    sql = f"SELECT count(*) FROM documents WHERE source_id = ? AND {IS_FILE}"
    return int(db.execute(sql, (source.id,)).fetchone()[0])


def _chosen(files: list[FileStat], left_out: Set[bytes], only: Set[bytes] | None) -> list[FileStat]:
    if only is None and not left_out:
        return files
    return [file for file in files if file.path not in left_out and (only is None or file.path in only)]


def _unsettled(
    db: sqlite3.Connection, source: Source, files: list[FileStat], stale: Set[bytes], max_bytes: int | None
) -> tuple[list[FileStat], int]:
    """Return the files that may have changed, then the number of unchanged files that were skipped before.

    Notes in ``stale`` count as changed, because their embedded pictures changed. All files count as changed
    if ``max_bytes`` is None.
    """
    if max_bytes is None:
        return files, 0
    indexed = _settled(db, source.id, "indexed", max_bytes)
    not_indexed = [file for file in files if _same(file) not in indexed]
    skipped = _settled(db, source.id, "skipped", max_bytes) if not_indexed else set()
    unsettled = [file for file in not_indexed if _same(file) not in skipped]
    count = len(not_indexed) - len(unsettled)
    if again := stale - {file.path for file in unsettled}:
        unsettled += [file for file in files if file.path in again]
    return unsettled, count


def _narrowed(sides: _Sides, walk: Walk, left_out: Set[bytes], only: Set[bytes] | None) -> _Sides:
    """Limit both sides to the files ``only``, and to new files that may be one of these after a move. None
    means no limit."""
    if only is None:
        return sides
    others = sides.known.keys() | left_out | only
    return sides._replace(
        beside=[file for file in walk.files if file.path not in others],
        known={path: known for path, known in sides.known.items() if path in only},
    )


def _warnings(source: Source, walk: Walk, only: Set[bytes] | None) -> tuple[str, ...]:
    """Return a sentence for each reason why paths were left out, and one if the patterns match no file."""
    if not (walk.skipped or walk.unreadable or not walk.files):
        return ()
    sentences: list[str] = []
    left_out: defaultdict[str, list[str]] = defaultdict(list)
    if not (walk.files or walk.unreadable or walk.vanished):
        sentences.append(str(no_match(Path(source.root), source.include, source.exclude)))
    unlisted = zip(walk.unreadable, repeat("The folder cannot be listed."))
    for path, why in (*walk.skipped, *unlisted):
        if only is None or path in only or any(_below(folder, [path]) for folder in only):
            left_out[why].append(display(path))
    for why, paths in left_out.items():
        sentences.append(f"Left out: {some(paths, 'file')}. {why}")
    return tuple(sentences)


def _left_in_cloud(files: Sequence[KnownFile]) -> tuple[str, ...]:
    """Return a sentence about requested files that are only in a cloud."""
    return (f"Left out: {some([file.display for file in files], 'file')}. {IN_CLOUD}",) if files else ()


def _refuse_emptied(store: Store, source: Source, walk: Walk) -> None:
    """Raise StoreError if the source has documents but none of their files exists any more."""
    here = with_sep(os.fsencode(source.root))
    with store.read() as db:
        sql = f"SELECT path FROM documents WHERE source_id = ? AND {IS_FILE}"
        rows = db.execute(sql, (source.id,)).fetchall()
    if not rows or walk.unreadable or walk.vanished or any(os.path.lexists(here + path) for (path,) in rows):
        return
    remove = f"commonplace source remove {source.id} --store {store.name}"
    raise StoreError(
        f"Nothing is left in {source.root!r} of the {plural(len(rows), 'document')} that it held.",
        "If its disk is not mounted, mount it; if the files are really gone, remove this folder from the"
        f" store (on the Index page, or with `{remove}`). It can be added again.",
    )


def _known(db: sqlite3.Connection, source_id: int) -> dict[bytes, KnownFile]:
    rows = db.execute(
        "SELECT path, size, mtime_ns, ctime_ns, inode, id, display, file_hash, state, title_from, extractor"
        f" FROM documents WHERE source_id = ? AND {IS_FILE}",
        (source_id,),
    )
    known: dict[bytes, KnownFile] = {}
    for path, size, mtime_ns, ctime_ns, inode, number, shown, *rest in rows:
        known[path] = KnownFile(number, shown, FileStat(path, size, mtime_ns, ctime_ns, inode), *rest)
    return known


def _settled(
    db: sqlite3.Connection, source_id: int, state: Literal["indexed", "skipped"], max_bytes: int
) -> set[tuple[Any, ...]]:
    """Return the `_same` of all files in ``state`` that need not be looked at again. Files that changed
    shortly before their scan are left out, because they may have changed again unnoticed."""
    current, numbers = current_sql()
    cursor = db.cursor()
    cursor.row_factory = None  # returns plain tuples
    return set(
        cursor.execute(
            "SELECT path, size, mtime_ns, inode FROM documents WHERE source_id = ? AND state = ?"
            f" AND {IS_FILE}"
            " AND mtime_ns < scanned_ns - ?"
            f" AND {current}"
            " AND (file_hash <> '' OR state <> 'skipped' OR size > ?)",
            (source_id, state, _FRESH_NS, *numbers, max_bytes),
        )
    )


def _same(file: FileStat) -> tuple[bytes, int, int, int]:
    """Return a key that stays equal while a file's content does. It leaves out the time of the last change of
    any kind (ctime), because moving a file to a cloud or back also changes that time."""
    return file[0], file[1], file[2], file[4]


def _indexed_elsewhere(db: sqlite3.Connection, source: Source) -> set[bytes]:
    """Return the paths in this source's folder that another source of the store indexes already."""
    here = with_sep(os.fsencode(source.root))
    elsewhere: set[bytes] = set()
    for row in db.execute("SELECT id, root FROM sources WHERE id <> ?", (source.id,)):
        there = with_sep(row["root"])
        if here.startswith(there) or there.startswith(here):
            sql = f"SELECT path FROM documents WHERE source_id = ? AND {IS_FILE}"
            paths = db.execute(sql, (row["id"],))
            elsewhere |= {(there + path)[len(here) :] for (path,) in paths if (there + path).startswith(here)}
    return elsewhere


def _below(path: bytes, folders: Sequence[bytes]) -> bool:
    return any(folder in (b"", b".") or path.startswith(folder + b"/") for folder in folders)


def _moved(
    seen: _Seen, read: dict[Outcome, list[FileRecord]], in_cloud: Sequence[FileRecord]
) -> tuple[list[Move], list[KnownFile]]:
    """Return the moves, then the documents whose file is gone or excluded for good.

    Moved files are removed from ``read``. A moved file is read again if a newer extractor must read it, but
    not if it is only ``in_cloud``.
    """
    gone = _gone(seen)
    new = read["added"] + [seen.record(stat) for stat in seen.sides.beside]
    moves = paired(moved_candidates(gone, new, seen.hash_of))
    here, found_again = len(moves), {move.known.id for move in moves}
    moves += moved_in_cloud([known for known in gone if known.id not in found_again], in_cloud)
    new_paths = {move.file.stat.path for move in moves}
    old_paths = {move.known.stat.path for move in moves}
    read["added"] = [file for file in read["added"] if file.stat.path not in new_paths]
    read["reread"] += [move.file for move in moves[:here] if not move.known.is_current]
    return moves, [known for known in gone if known.stat.path not in old_paths]


def _gone(seen: _Seen) -> list[KnownFile]:
    """Return the documents whose file is excluded or missing. A file is not missing if its folder could not
    be listed."""
    sides = seen.sides
    present = {file.path for file in sides.files}
    unlisted = [*seen.walk.unreadable, *seen.walk.vanished, *seen.walk.stubs]  # a stub may stand for a folder
    return [
        known
        for path, known in sides.known.items()
        if path in sides.excluded or not (path in present or _below(path, unlisted))
    ]


def wanted(requests: Sequence[Request], source: Source) -> tuple[bool, list[Request], list[Request]]:
    """Return whether to forget the documents of ``source``, then the requests to read all of it, then the
    requests to read some of its files. A request to forget cancels the earlier requests."""
    forgets = False
    whole: list[Request] = []
    parts: list[Request] = []
    for request in requests:
        chosen = not source.paused if request.sources is None else source.id in request.sources
        if not (chosen or source.removed):
            continue
        if request.forget and not source.removed:
            forgets, whole, parts = True, [], []
        else:
            (whole if request.paths is None else parts).append(request)
    return forgets, whole, parts
