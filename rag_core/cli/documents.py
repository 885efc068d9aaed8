"""The files of a store: list, show, similar, exclude and reindex."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, get_args

import click

from rag_core.api import answers
from rag_core.cli import commands, options
from rag_core.cli.runs import run_requests
from rag_core.cli.terminal import print_document, show_documents, show_similar
from rag_core.files import current_folder
from rag_core.library import Library
from rag_core.types import OWNER, FileState
from rag_core.wording import take_back

path_argument = click.argument("path", shell_complete=options.complete_files)


def _of_file(act: Callable[..., None]) -> click.Command:
    """Create a command for one file from ``act``, which is called with the library, the store, and the file's
    path in the store."""

    @wraps(act)
    def command(path: str, store: str | None, **given: Any) -> None:
        library = options.library_of_owner()
        store = options.store_of_file(library, store, path)
        act(library, store, library.files.path_of(OWNER, store, path, current_folder()), **given)

    return click.command(cls=commands.Answering)(path_argument(options.store_of_file_option(command)))


@click.command("list", cls=commands.Answering)
@options.store_option
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(get_args(FileState)),
    help="Only files in this state; repeat for several.",
)
def list_documents(store: str, states: tuple[str, ...]) -> None:
    """List the files of a store, with the state of each compared with the disk."""
    listed = options.library_of_owner().files.all(OWNER, store)
    files = [file for file in listed if not states or file.state in states]
    options.emit(answers.files(store, files, OWNER), lambda: show_documents(files, states))


@click.command(cls=commands.Answering)
@path_argument
@options.store_of_file_option
def show(path: str, store: str | None) -> None:
    """Show a document: its text and its links.

    PATH is a file here, an absolute path, a path from `list`, or a name that only one file has. With lines,
    as in a.md:10-14, only these lines are shown.
    """
    library = options.library_of_owner()
    store = options.store_of_file(library, store, path)
    path, lines = library.files.path_and_lines(OWNER, store, path, current_folder())
    documents = library.documents
    view = documents.excerpt(OWNER, store, path, *lines) if lines else documents.get(OWNER, store, path)
    options.emit(answers.document(view, OWNER), lambda: print_document(view))


@_of_file
@click.option("--limit", type=int, default=8, show_default=True, help="Number of documents.")
def similar(library: Library, store: str, path: str, limit: int) -> None:
    """List the documents nearest in meaning to a document.

    PATH is a file here, an absolute path, a path from `list`, or a name that only one file has. Copies of the
    document are left out.
    """
    documents = library.searching.similar(OWNER, store, path, limit=limit)
    options.emit(answers.similar(store, documents), lambda: show_similar(documents))


@_of_file
@click.option("--undo", is_flag=True, help="Include the file again, if the folder's patterns do.")
@click.option(
    "--reason", default="", metavar="TEXT", help="Why it is excluded; the list of files shows this."
)
def exclude(library: Library, store: str, path: str, undo: bool, reason: str) -> None:
    """Exclude one file from a store, or include it again.

    PATH is a file here, an absolute path, a path from `list`, or a name that only one file has. The file
    stays excluded until --undo, whatever the folder's patterns say.
    """
    if undo:
        library.files.include(OWNER, store, path)
        run_requests(library, store, queued=f"The present run of the store also reads {path!r} again.")
        return
    library.files.exclude(OWNER, store, path, reason)
    undo_it = f"To include it again: {take_back(path, store)}"
    at_once = f"{path!r} is excluded: no search finds it. The present run of the store removes its text."
    run_requests(library, store, lambda: f"Excluded. {undo_it}", queued=f"{at_once}\n{undo_it}")


@_of_file
def reindex(library: Library, store: str, path: str) -> None:
    """Read one file again, even if it is unchanged.

    PATH is a file here, an absolute path, a path from `list`, or a name that only one file has.
    """
    library.jobs.request_file(OWNER, store, path)
    run_requests(library, store)
