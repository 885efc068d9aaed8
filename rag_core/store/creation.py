"""Creates a store's file in a separate folder, and moves it into place when it is complete."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rag_core.errors import InvalidInput, StoreError
from rag_core.store.errors import blames_file, not_written, system_says
from rag_core.store.file import put_in_place
from rag_core.store.staging import staging_folder
from rag_core.system import sync


@contextmanager
def new_store_file(
    path: Path, message: Callable[[str], str], kept: str, make_room: Callable[[], None]
) -> Iterator[Path]:
    """Context manager: yield the path of an unfinished file, which becomes the store ``path`` at the end. An
    error leaves no file.

    Args:
        path: The store file to create.
        message: Builds the error message from the reason of a disk error.
        kept: Last sentence of that error's advice, such as "Nothing was imported."
        make_room: Called when the file is complete, to remove what an earlier store of this name left.

    Raises:
        InvalidInput: ``path`` exists.
        StoreError: The disk or the access rights do not allow writing.

    """
    try:
        with staging_folder(path.parent) as room:
            unfinished = room / path.name
            yield unfinished
            sync(unfinished)
            make_room()
            put_in_place(unfinished, path)
            sync(path.parent)
    except FileExistsError:
        raise InvalidInput(f"A store called {path.stem!r} exists already.", "Choose another name.") from None
    except (OSError, sqlite3.Error, StoreError) as error:
        cause = error.__cause__ if isinstance(error, StoreError) else error
        if isinstance(cause, OSError) or (isinstance(cause, sqlite3.Error) and not blames_file(cause)):
            raise not_written(message(system_says(cause)), path.parent, kept) from error
        raise
