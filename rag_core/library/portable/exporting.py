"""Writing a store into one portable file while it is searched and even indexed."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from rag_core.errors import InvalidInput, StoreError
from rag_core.library.portable.archive import SUFFIX, Exported, Report, Transfer, pack
from rag_core.messages import say
from rag_core.store import Store, about
from rag_core.store.connection import connect
from rag_core.store.errors import is_damage, not_written
from rag_core.store.workroom import require_space, sync, unfinished_name, workroom
from rag_core.types import OWNER


def export_store(
    store: Store, target: Path, *, force: bool = False, report: Report | None = None
) -> Exported:
    """Write ``store`` as it is now to ``target``, or into that folder under its own name.

    The file is there whole or not at all; an existing one is replaced only with ``force``. ``report`` may
    raise to end it. Raises InvalidInput for an unusable target, StoreError when the store cannot be read or
    the file cannot be written.
    """
    target = target / f"{store.name}{SUFFIX}" if _is_folder(target) else target
    if target.suffix != SUFFIX:
        raise InvalidInput(f"{target.name!r} does not end in {SUFFIX}.", f"Call it {store.name + SUFFIX!r}.")
    if not _is_folder(target.parent):
        raise InvalidInput(f"There is no folder {str(target.parent)!r}.", "Make it first, or choose another.")
    _refuse_existing(target, force=force)
    report = report or (lambda _: None)
    with _explained(store, target), workroom(store.path.parent) as room:
        copy = room / store.path.name
        _copy(store.path, copy, report)
        with closing(Store(copy)) as opened:
            forget_runs(opened)
            info = about.info(opened, OWNER)
        one_file(copy)
        part = unfinished_name(room, target)
        pack(copy, part, info, report)
        _refuse_existing(target, force=force)
        part.replace(target)
        sync(target.parent)
    return Exported(store.name, target, target.stat().st_size, info.file_count, info.chunk_count)


def _refuse_existing(target: Path, *, force: bool) -> None:
    if os.path.lexists(target) and not force:
        raise InvalidInput(f"{str(target)!r} exists already.", say("replace_file"))


def _is_folder(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 - no error for a path that cannot be


def _copy(store: Path, copy: Path, report: Report) -> None:
    """Write one consistent, compact copy without the text of what was deleted; neither searches nor a run
    wait for it."""
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


def forget_runs(store: Store) -> None:
    """Remove the requests to a store, and the history of its runs."""
    with store.note() as db:
        db.execute("PRAGMA secure_delete = ON")
        db.execute("DELETE FROM requests")
        db.execute("DELETE FROM jobs")


def one_file(path: Path) -> None:
    """Fold everything about a closed store into the file itself; unlike closing it raises errors."""
    with closing(connect(path, "rw")) as db:
        db.execute("PRAGMA journal_mode = DELETE")


@contextmanager
def _explained(store: Store, target: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.DatabaseError) as error:
        if is_damage(error):
            raise StoreError(f"Store {store.name!r} is damaged: {error}.", "Verify and repair it.") from error
        own = store.path.parent
        is_own = isinstance(error, sqlite3.Error) or str(error.filename).startswith(str(own))
        folder = own if is_own else target.parent
        raise not_written(store.name, "exported", folder, error, "no file was left") from error
