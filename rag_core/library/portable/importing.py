"""Importing a portable file that may come from anywhere.

Threat. A store file is a program for SQLite: a trigger or view in it would run when it is written to. So
before any of its rows is used its schema must be exactly that of a store of its version and its structure
sound; what is read from rows later must be of the expected kind. Only then is it linked into place.
"""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from rag_core.errors import InvalidInput, StoreError
from rag_core.files import MANY_FILES, display, doubt, preview
from rag_core.library.portable.archive import Packed, Report, Transfer, Unfit, is_of_the_disk, refusing
from rag_core.library.portable.exporting import forget_runs, one_file
from rag_core.library.store_files import new_store_file
from rag_core.models import known_facts
from rag_core.store import Store, migrations, switch
from rag_core.store.file import unmet_generation
from rag_core.store.health import check
from rag_core.store.sources import all_sources, change_source
from rag_core.types import METRICS, Source
from rag_core.wording import plural

_EXAMPLES = 5
_SMALL = ("meta", "migrations", "identities", "tags", "names", "exclusions")
_MOST_CHARACTERS = 1_000_000
_FOLDERS = {
    "missing": "Paused {count} not on this computer; what was read there stays: {names}.",
    "doubted": "Folders that hold so much that they should be chosen here are paused: {names}.",
    "here": "The next run compares the store with {count} of this computer: {names}.",
}


def import_store(
    packed: Packed,
    path: Path,
    report: Report | None = None,
    make_room: Callable[[], None] = lambda: None,
) -> tuple[str, ...]:
    """Make the store file ``path`` of a portable file; returns notices for its owner, in sentences.

    It is there whole or not at all and gets an identity of its own. ``report`` may raise to end it;
    ``make_room`` is called when all is ready. Raises InvalidInput when ``path`` exists, StoreError when the
    file is not a sound store that this program can read, or cannot be written.
    """
    report = report or (lambda _: None)
    with new_store_file(path, "made", "nothing was imported", make_room) as unpacked:
        packed.unpack(unpacked, report)
        report(Transfer("checking", 0, 0))
        with refusing(packed.path):
            _inspect(unpacked, packed.schema)
            notices = _adopt(unpacked, report)
        one_file(unpacked)
    return notices


def _inspect(unpacked: Path, version: int) -> None:
    """Raise Unfit unless the file is a store with exactly the schema ``version`` and a sound structure."""
    # immutable: nobody else has it, and a log that its header asks for must not be made
    with closing(sqlite3.connect(f"file:{quote(str(unpacked))}?immutable=1", uri=True)) as db:
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("PRAGMA cell_size_check = ON")
        pragmas = ("application_id", "encoding", "user_version")
        found = [db.execute(f"PRAGMA {pragma}").fetchone()[0] for pragma in pragmas]
        if found[:2] != [migrations.APPLICATION_ID, "UTF-8"]:
            raise Unfit("it does not hold a Commonplace store")
        if found[2] != version:
            raise Unfit("its store has another schema than its manifest says")
        for difference in migrations.differences(db, version):
            raise Unfit(f"its schema is not that of a store ({difference.kind} {difference.name[:60]!r})")
        if db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise Unfit("its store is damaged")
        for table in _SMALL:  # what is not text raises an error; `check` reads the other tables
            for _ in db.execute(f"SELECT * FROM {table}"):
                pass


def _adopt(unpacked: Path, report: Report) -> tuple[str, ...]:
    """Make the store this computer's own; returns notices. Raises Unfit."""
    try:
        with closing(Store(unpacked)) as store:
            notices = _require_usable(store)
            forget_runs(store)
            with store.decide() as db:
                switch.keep_local(db)
            health = check(store, report=lambda done, total: report(Transfer("checking", done, total)))
            for finding in health.findings:
                if finding.severity == "fault":
                    raise Unfit(f"its store is damaged: {finding.sentence}")
            with store.decide() as db:
                db.execute("UPDATE meta SET value = ? WHERE key = 'id'", (str(uuid.uuid4()),))
                db.execute("UPDATE meta SET value = ? WHERE key = 'generation'", (unmet_generation(),))
                return (*notices, *_settle_folders(db))
    except StoreError as error:  # a fault of the unpacked store is the file's: there is no store to repair
        if is_of_the_disk(error.__cause__):
            raise
        raise Unfit(error.message) from error


def _require_usable(store: Store) -> tuple[str, ...]:
    """Raise Unfit for a store that this program cannot use; a notice where its embedder must be set up."""
    try:
        known = known_facts(store.embedder)
    except InvalidInput as error:
        raise Unfit(f"its embedder is unknown here. {error}") from error
    sizes = [*store.spec.sizes.values(), (store.spec.max_tokens, 0)]
    if any(type(number) is not int for pair in sizes for number in pair) or not all(
        0 <= overlap < size <= _MOST_CHARACTERS for size, overlap in sizes
    ):
        raise Unfit("its passages have impossible sizes")
    if known and store.spec.max_tokens > known.max_tokens:
        raise Unfit("its passages are longer than its embedder reads")
    if store.metric not in METRICS:
        raise Unfit(f"its metric {store.metric[:20]!r} is unknown")
    return () if known else (f"Its embedder {store.embedder[:80]!r} has to be set up on this computer.",)


def _settle_folders(db: sqlite3.Connection) -> Iterator[str]:
    """Pause the folders that are not on this computer or hold too much of it; a notice about each kind."""
    found: dict[str, list[Source]] = {kind: [] for kind in _FOLDERS}
    for source in [each for each in all_sources(db) if not each.removed]:
        root, kind = Path(source.root), "missing"
        if root.is_absolute() and os.path.isdir(root):  # noqa: PTH112 - may hold a NUL
            root = root.resolve()
            some = preview(root, source.include, max_files=MANY_FILES)
            kind = "doubted" if doubt(root, source.include, some) else "here"
        if kind != "here":
            change_source(db, replace(source, paused=True))
        if kind != "here" or not source.paused:
            found[kind].append(source)
    for kind, sentence in _FOLDERS.items():
        if folders := found[kind]:
            names = ", ".join(repr(display(os.fsencode(each.root))) for each in folders[:_EXAMPLES])
            more = len(folders) - _EXAMPLES
            names += f" and {more:,} more" if more > 0 else ""
            yield sentence.format(count=plural(len(folders), "folder"), names=names)
