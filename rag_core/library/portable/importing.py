"""Taking in a portable file that may come from anywhere.

Threat. A store file is a program for SQLite: a trigger or view in it would run when it is written to. So
before any of its rows is used its schema must be exactly that of a store of its version and its structure
sound; what is read from rows later must be of the kind that is expected. Only then is it linked into place,
whole. Until then it lies where nothing is listed, and the next import removes what a killed one left.
"""

from __future__ import annotations

import json
import os
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import get_args
from urllib.parse import quote

from rag_core.errors import InvalidInput, StoreError
from rag_core.files import MANY_FILES, display, doubt, preview
from rag_core.library.portable.container import Packed, refused
from rag_core.library.portable.exporting import one_file, without_runs
from rag_core.library.portable.transfer import Report, Transfer, no_report
from rag_core.models import known_facts
from rag_core.store import Store, migrations, schema, switch
from rag_core.store.errors import not_written
from rag_core.store.file import nothing_in_the_way, put_in_place, unmet_generation
from rag_core.store.health import check
from rag_core.store.sources import all_sources, change_source, forget_whole_read
from rag_core.store.workroom import sync, workroom
from rag_core.types import METRICS, Outcome, Progress, Source
from rag_core.wording import plural

_EXAMPLES = 5
_NOTHING = "nothing was imported"
_SMALL = ("meta", "migrations", "identities", "tags", "names", "exclusions")
_DISK = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")
_MOST_CHARACTERS = 1_000_000


def import_store(
    packed: Packed,
    path: Path,
    report: Report | None = None,
    make_room: Callable[[], None] = nothing_in_the_way,
) -> tuple[str, ...]:
    """Make the store file ``path`` of a portable file; returns what is to be said of it, in sentences.

    It is there whole or not at all and gets an identity of its own. What ``report`` raises ends it;
    ``make_room`` is called when all is ready.
    Raises InvalidInput when ``path`` exists, StoreError when the file is not a sound store that this
    program can read, or cannot be written.
    """
    report = report or no_report
    with _explained(packed, path), workroom(path.parent) as room:
        unpacked = room / path.name
        packed.unpack(unpacked, report)
        report(Transfer("checking", 0, 0))
        _inspect(unpacked, packed)
        said = _adopt(unpacked, packed, report)
        one_file(unpacked)
        sync(unpacked)
        make_room()
        put_in_place(unpacked, path)
        sync(path.parent)
    return said


# --- before anything in it is used ------------------------------------------------------


def _inspect(unpacked: Path, packed: Packed) -> None:
    """Raise StoreError unless the file is a store of its version with nothing more in it, and sound."""
    # immutable: nobody else has it, and a log that its header asks for must not be made
    with closing(sqlite3.connect(f"file:{quote(str(unpacked))}?immutable=1", uri=True)) as db:
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("PRAGMA cell_size_check = ON")
        try:
            for fault in _faults(db, packed):
                raise refused(packed.path, fault)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # also an error that is no text
            raise refused(packed.path, f"its store is damaged: {error}") from error


def _faults(db: sqlite3.Connection, packed: Packed) -> Iterator[str]:
    def value(pragma: str) -> object:
        return db.execute(f"PRAGMA {pragma}").fetchone()[0]

    if value("application_id") != migrations.APPLICATION_ID or value("encoding") != "UTF-8":
        yield "what is in it is not a Commonplace store"
    version = value("user_version")
    if version != packed.manifest.schema or not isinstance(version, int) or version < 1:
        yield "its store has another schema than its manifest says"
    for difference in schema.differences(db, packed.manifest.schema):
        yield f"its store has a schema that is not ours ({difference.kind} {difference.name[:60]!r})"
    if value("quick_check(1)") != "ok":
        yield "its store is damaged"
    if db.execute("PRAGMA foreign_key_check").fetchone():
        yield "rows of its store belong to nothing"
    for table in _SMALL:  # what is no text raises an error; `check` reads the others
        for _ in db.execute(f"SELECT * FROM {table}"):
            pass


# --- making it this machine's own -------------------------------------------------------


def _adopt(unpacked: Path, packed: Packed, report: Report) -> tuple[str, ...]:
    with _refused_where_faulty(packed):
        store = Store(unpacked)
    try:
        said = _require_usable(store, packed)
        with _refused_where_faulty(packed):
            without_runs(store)
            with store.decide() as db:
                switch.keep_local(db)
            _require_sound(store, report)
        with store.decide() as db:
            db.execute("UPDATE meta SET value = ? WHERE key = 'id'", (str(uuid.uuid4()),))
            db.execute("UPDATE meta SET value = ? WHERE key = 'generation'", (unmet_generation(),))
            _drop_odd_jobs(db)
            return (*said, *_settle_folders(db))
    finally:
        store.close()


def _require_sound(store: Store, report: Report) -> None:
    health = check(store, report=lambda done, total: report(Transfer("checking", done, total)))
    for finding in health.findings:
        if finding.severity == "fault":
            raise StoreError(f"its store is damaged: {finding.sentence.rstrip('.')}")


def _require_usable(store: Store, packed: Packed) -> tuple[str, ...]:
    """Raise StoreError for a store made with what this program does not have; a sentence about what it
    has only when that is set up."""
    try:
        known = known_facts(store.embedder)
    except InvalidInput as error:
        raise refused(packed.path, f"it was made with an embedder that is not known here. {error}") from error
    fits = all(
        _is_whole(size, overlap) and 0 <= overlap < size <= _MOST_CHARACTERS
        for size, overlap in store.spec.sizes.values()
    )
    if not fits or not 1 <= store.spec.max_tokens <= (known.max_tokens if known else _MOST_CHARACTERS):
        raise refused(packed.path, "its passages have sizes that cannot be")
    if store.metric not in METRICS:
        raise refused(packed.path, f"it was made for {store.metric[:20]!r}")
    return () if known else (f"Its embedder {store.embedder[:80]!r} has to be set up on this computer.",)


def _is_whole(*values: object) -> bool:
    return all(isinstance(value, int) and not isinstance(value, bool) for value in values)


def _drop_odd_jobs(db: sqlite3.Connection) -> None:
    """Forget runs that could not be shown. How far the others once were is of no use any more."""
    for row in db.execute("SELECT * FROM jobs").fetchall():
        if not _can_be_shown(row):
            db.execute("DELETE FROM jobs WHERE id = ?", (row["id"],))
    db.execute("UPDATE jobs SET progress = ?", (json.dumps(asdict(Progress("done", 0, 0))),))


def _can_be_shown(job: sqlite3.Row) -> bool:
    counts = json.loads(job["counts"])
    ended = _is_moment(job["start_time"]) and _is_moment(job["end_time"])
    return ended and _is_whole(*counts.values()) and counts.keys() <= set(get_args(Outcome))


def _is_moment(text: str | None) -> bool:
    try:
        return datetime.fromisoformat(text or "").tzinfo is not None
    except ValueError:
        return False


def _settle_folders(db: sqlite3.Connection) -> Iterator[str]:
    """Pause the folders that are not on this computer or hold too much of it; sentences about each kind."""
    found = [source for source in all_sources(db) if not source.removed]
    for source in found:  # it was read, but where the file is from
        forget_whole_read(db, source.id)
    missing = [source for source in found if not _is_here(source)]
    doubted = [source for source in found if source not in missing and _is_doubted(source)]
    for source in (*missing, *doubted):
        change_source(db, replace(source, paused=True))
    if missing:
        are = "is" if len(missing) == 1 else "are"
        yield (
            f"{plural(len(missing), 'folder')} {are} not on this computer and now paused; what was read there"
            f" stays: {_some(missing)}."
        )
    if doubted:
        yield f"Folders that hold so much that they should be chosen here are paused: {_some(doubted)}."
    if here := [s for s in found if s not in missing and s not in doubted and not s.paused]:
        folders = plural(len(here), "folder")
        yield f"The next run compares the store with {folders} of this computer: {_some(here)}."


def _is_here(source: Source) -> bool:
    return os.path.isabs(source.root) and os.path.isdir(source.root)  # noqa: PTH112, PTH117  (may hold a NUL)


def _is_doubted(source: Source) -> bool:
    root = Path(source.root).resolve()
    return bool(doubt(root, source.include, preview(root, source.include, max_files=MANY_FILES)))


def _some(sources: Sequence[Source]) -> str:
    named = ", ".join(repr(display(os.fsencode(source.root))) for source in sources[:_EXAMPLES])
    more = len(sources) - _EXAMPLES
    return f"{named} and {more:,} more" if more > 0 else named


@contextmanager
def _explained(packed: Packed, path: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise taken(path.stem) from None
    except OSError as error:
        raise not_written(path.stem, "made", path.parent, error, _NOTHING) from error
    except sqlite3.DatabaseError as error:
        if _is_of_the_disk(error):
            raise not_written(path.stem, "made", path.parent, error, _NOTHING) from error
        raise refused(packed.path, f"its store is damaged: {error}") from error


@contextmanager
def _refused_where_faulty(packed: Packed) -> Iterator[None]:
    """A fault of the unpacked store is the file's; there is no store to repair or delete."""
    try:
        yield
    except StoreError as error:
        if _is_of_the_disk(error.__cause__):
            raise
        raise refused(packed.path, error.message) from error


def _is_of_the_disk(error: BaseException | None) -> bool:
    return getattr(error, "sqlite_errorname", "").startswith(_DISK)


def taken(name: str) -> InvalidInput:
    """The error for a name that another store has."""
    instead = "To put it in the place of that store, delete that one first."
    return InvalidInput(
        f"A store called {name!r} exists already.",
        f"Give the imported one another name, on the command line with --name. {instead}",
        on_page=f"Write another name into the box below the file, and import it again. {instead}",
    )
