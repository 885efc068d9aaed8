"""The command line: a thin face of the library. Tables for people, ``--json`` for programs.

Answers go to standard output, progress and errors to standard error. Exit status: 0 ok,
1 failed or some files failed, 2 wrong usage.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from rag_core import __version__, render
from rag_core.embedders import DEFAULT_EMBEDDER
from rag_core.errors import InvalidInput, RagError, StoreBusy, StoreError
from rag_core.files import split_glob
from rag_core.library import Library
from rag_core.query import FILTER_KEYS, filters_from
from rag_core.terminal import (
    Line,
    plain,
    plain_json,
    show_answer,
    show_documents,
    show_job,
    show_plans,
    show_status,
    show_store,
)
from rag_core.types import OWNER, Job, Source, StoreInfo
from rag_core.wording import plural

_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
_stores = click.option(
    "--store", "stores", multiple=True, metavar="NAME", help="A store; repeat for several."
)
_store = click.option("--store", "store", required=True, metavar="NAME", help="The store.")


@click.group(no_args_is_help=False, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="commonplace")
def app() -> None:
    """Find your own passages, by words and by meaning."""


def _library() -> Library:
    """The owner's library, closed when the command ends."""
    library = Library.open()
    click.get_current_context().call_on_close(library.close)
    return library


def _emit(as_json: bool, value: dict[str, Any], show: Callable[[], None]) -> None:
    if as_json:
        _print_json(value)
    else:
        show()


def _print_json(value: dict[str, Any]) -> None:
    text = plain_json(json.dumps(value, ensure_ascii=False, indent=2))
    click.echo(text.encode("utf-8", "backslashreplace"))


# --- first steps ------------------------------------------------------------------------


@app.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--store", "store", metavar="NAME", help="The store to make or add to (default: the folder's name)."
)
@_json
def init(folder: Path, store: str | None, as_json: bool) -> None:
    """Index FOLDER with everything readable in it, into a store that is made if needed."""
    library = _library()
    name = store or _name_after(folder)
    if name not in library.store_names(OWNER):
        if not folder.expanduser().is_dir():
            raise InvalidInput(f"{str(folder)!r} is not a folder.", "Check the spelling, or mount its disk.")
        library.create_store(OWNER, name)
        click.echo(f"Made store {name!r}.", err=True)
    elif store is None:
        _refuse_to_mix(library.store_info(OWNER, name), folder)
    source = library.add_source(OWNER, name, folder, ("**/*",))
    _index(library, name, [source], force=False, as_json=as_json)
    if not as_json:
        click.echo(
            f"\nNow ask:  commonplace query 'a few words' --store {name}\nOr open:  commonplace serve --open"
        )


def _refuse_to_mix(info: StoreInfo, folder: Path) -> None:
    """A store that only happens to be called like the folder is not added to without being asked."""
    roots = [source.root for source in info.sources]
    if roots and str(folder.expanduser().resolve()) not in roots:
        raise InvalidInput(
            f"There is a store {info.name!r} already, for {', '.join(roots)}.",
            f"Choose another name with --store NAME, or add to it with --store {info.name}.",
        )


def _name_after(folder: Path) -> str:
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", folder.expanduser().resolve().name).strip("-_")[:63]
    return name or "notes"


@app.group(no_args_is_help=False)
def store() -> None:
    """Make, list, show and delete stores."""


@store.command("create")
@click.argument("name")
@click.option("--embedder", default=DEFAULT_EMBEDDER, show_default=True, help="Who turns text into vectors.")
@_json
def store_create(name: str, embedder: str, as_json: bool) -> None:
    """Make an empty store."""
    info = _library().create_store(OWNER, name, embedder)
    _emit(
        as_json,
        render.store(info),
        lambda: click.echo(f"Store {name!r} is ready. Next: commonplace index '**/*.md' --store {name}"),
    )


@store.command("list")
@_json
def store_list(as_json: bool) -> None:
    """List every store."""
    infos, warnings = _all_stores(_library())
    value = {"stores": [render.store(i) for i in infos], "warnings": warnings}
    _emit(as_json, value, lambda: show_status(infos, {}, warnings))


def _all_stores(library: Library) -> tuple[list[StoreInfo], list[str]]:
    """Every store that can be read, and a sentence about each that cannot."""
    infos: list[StoreInfo] = []
    warnings: list[str] = []
    for name in library.store_names(OWNER):
        try:
            infos.append(library.store_info(OWNER, name))
        except StoreError as error:
            warnings.append(str(error))
    return infos, warnings


@store.command("info")
@click.argument("name")
@_json
def store_info(name: str, as_json: bool) -> None:
    """Show a store: what is in it, where from, and what is still to do."""
    info = _library().store_info(OWNER, name)
    _emit(as_json, render.store(info), lambda: show_store(info))


@store.command("delete")
@click.argument("name")
@click.option("--force", is_flag=True, help="Do not ask.")
@_json
def store_delete(name: str, force: bool, as_json: bool) -> None:
    """Delete a store; the files it was read from stay."""
    library = _library()
    if not force:
        typed = click.prompt(f"{_contents(library, name)} Type the name to delete the store", err=True)
        if typed != name:
            raise InvalidInput("That is not the store's name.", "Nothing was deleted.")
    library.delete_store(OWNER, name)
    _emit(
        as_json, {"deleted": name}, lambda: click.echo(f"Store {name!r} is deleted; its files are untouched.")
    )


def _contents(library: Library, name: str) -> str:
    """What would be lost with a store."""
    try:
        info = library.store_info(OWNER, name)
    except StoreError as error:  # a damaged store is there to be deleted, too
        return error.message
    return f"{plural(info.chunk_count, 'passage')} of {plural(info.file_count, 'file')}."


# --- indexing ---------------------------------------------------------------------------


@app.command()
@click.argument("globs", nargs=-1, metavar="GLOB...")
@_store
@click.option(
    "--root", type=click.Path(path_type=Path), help="The folder that the globs start from (default: here)."
)
@click.option("--exclude", multiple=True, metavar="GLOB", help="Leave these out; repeat for several.")
@click.option(
    "--incremental/--force",
    "incremental",
    default=True,
    help="Read only what changed (default), or everything.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@_json
def index(
    globs: tuple[str, ...], store: str, root: Path | None, exclude: tuple[str, ...], incremental: bool,
    dry_run: bool, as_json: bool,
) -> None:  # fmt: skip
    """Index the files that match GLOB into a store; without GLOB, all that the store has already."""
    library = _library()
    wanted = _by_root(globs, root)
    if dry_run:
        sources = [library.draft_source(OWNER, store, r, g, exclude) for r, g in wanted]
        sources = sources or list(library.store_info(OWNER, store).sources)
        plans = [library.plan(OWNER, store, source, force=not incremental) for source in sources]
        _emit(as_json, render.plan(plans), lambda: show_plans(plans))
        return
    sources = [library.add_source(OWNER, store, r, g, exclude) for r, g in wanted]
    sources = sources or list(library.store_info(OWNER, store).sources)
    if not sources:
        raise InvalidInput(
            f"Store {store!r} has no folder yet.",
            "Name files, like: commonplace index '**/*.md' --store " + store,
        )
    _index(library, store, sources, force=not incremental, as_json=as_json)


def _by_root(globs: Sequence[str], root: Path | None) -> list[tuple[Path, list[str]]]:
    """The globs by the folder they start from: --root, else what an absolute one names, else here."""
    grouped: dict[Path, list[str]] = {}
    for glob in globs:
        folder, pattern = (root, glob) if root else split_glob(glob, Path.cwd())
        grouped.setdefault(folder, []).append(pattern)
    return list(grouped.items())


def _index(library: Library, store: str, sources: Sequence[Source], *, force: bool, as_json: bool) -> None:
    library.request_index(OWNER, store, [source.id for source in sources], force=force)
    line = Line()
    try:
        job = library.run(OWNER, store, line.show)
    except StoreBusy as busy:
        queued = str(busy)
        _emit(as_json, {"queued": True, "store": store}, lambda: click.echo(queued))
        return
    except KeyboardInterrupt:
        raise RagError("Stopped.", "What was read stays; run the same command to go on.") from None
    finally:
        line.clear()
    if job is None:
        _emit(as_json, {"queued": True, "store": store}, lambda: click.echo("Another run took the request."))
        return
    _emit(as_json, render.job(job), lambda: show_job(job))
    _exit_for(job)


def _exit_for(job: Job) -> None:
    if job.failed or job.state != "done":
        sys.exit(1)


# --- finding ----------------------------------------------------------------------------


# A word with a minus is part of the query, so what looks like a short option is left alone.
@app.command(context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]})
@click.argument("text", nargs=-1)
@_stores
@click.option("--stdin", "from_stdin", is_flag=True, help="Read the query from standard input.")
@click.option("--top-k", default=10, show_default=True, type=int, help="How many passages.")
@click.option("--min-score", type=float, help="Only passages of at least this score, 0 to 1.")
@click.option(
    "--filter", "filters", multiple=True, metavar="KEY=VALUE", help=f"One of {', '.join(FILTER_KEYS)}."
)
@click.option(
    "--mode", type=click.Choice(["hybrid", "vector", "lexical"]), default="hybrid", show_default=True
)
@click.option("--max-tokens", type=int, help="Stop before the passages take more tokens than this.")
@_json
def query(
    text: tuple[str, ...], stores: tuple[str, ...], from_stdin: bool, top_k: int, min_score: float | None,
    filters: tuple[str, ...], mode: Any, max_tokens: int | None, as_json: bool,
) -> None:  # fmt: skip
    """Find passages. TEXT may hold type:, tag:, path:, after:, before:, "exact words" and -without."""
    if unknown := next((word for word in text if word.startswith("--")), None):
        raise click.NoSuchOption(unknown)
    if from_stdin == bool(text):
        raise InvalidInput(
            "There is no query." if not text else "There are two queries.", "Give TEXT or --stdin."
        )
    words = _standard_input() if from_stdin else " ".join(text)
    answer = _library().search(
        OWNER, words, stores, mode=mode, top_k=top_k, min_score=min_score,
        filters=filters_from(_pair(f) for f in filters), max_tokens=max_tokens,
    )  # fmt: skip
    _emit(as_json, render.answer(answer), lambda: show_answer(answer))


def _standard_input() -> str:
    return sys.stdin.buffer.read().decode("utf-8", "replace").strip()


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise InvalidInput(f"The filter {text!r} has no '='.", "Write it like type=python.")
    return key.strip(), value.strip()


@app.command("list")
@_store
@_json
def list_documents(store: str, as_json: bool) -> None:
    """List the files of a store, with their state."""
    documents = _library().documents(OWNER, store)
    _emit(
        as_json,
        {"store": store, "files": [render.document(d) for d in documents]},
        lambda: show_documents(documents),
    )


@app.command()
@_json
def status(as_json: bool) -> None:
    """Show every store, what is running, and what was not finished."""
    library = _library()
    infos, warnings = _all_stores(library)
    latest = {i.name: j for i in infos for j in library.jobs(OWNER, i.name, 1)}
    running = {name: job for name, job in latest.items() if job.state == "running"}
    warnings += [
        f"The last run of {name!r} was {job.state}; `commonplace index --store {name}` goes on. {job.message}"
        for name, job in latest.items()
        if job.state in ("cancelled", "failed", "interrupted")
    ]
    value = {
        "stores": [render.store(i) for i in infos],
        "running": [render.job(job) for job in running.values()],
        "data_dir": str(library.settings.data_dir),
        "warnings": warnings,
    }
    _emit(as_json, value, lambda: show_status(infos, running, warnings))


# --- the app and the model --------------------------------------------------------------


@app.command()
@click.option("--port", default=8501, show_default=True, type=click.IntRange(1, 65535))
@click.option("--open", "open_browser", is_flag=True, help="Open the browser, too.")
def serve(port: int, open_browser: bool) -> None:
    """Serve the app on this machine (127.0.0.1 only)."""
    from rag_core.serving import serve_app

    serve_app(port, open_browser)


@app.group(no_args_is_help=False)
def model() -> None:
    """The built-in model."""


@model.command("install")
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    help="Take the files from this folder, not the network.",
)
@_json
def model_install(source: Path | None, as_json: bool) -> None:
    """Fetch the built-in model, verify it and make it ready; does nothing when it is there."""
    from rag_core.embedders.minilm_install import install

    library = _library()
    folder = install(library.settings.model_dir, source, lambda message: click.echo(message, err=True))
    _emit(
        as_json, {"installed": str(folder)}, lambda: click.echo(f"The built-in model is ready in {folder}.")
    )


# --- the door ---------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; every error becomes two sentences and an exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status = app.main(words or ["--help"], prog_name="commonplace", standalone_mode=False)
        sys.exit(status if isinstance(status, int) else 0)
    except RagError as error:
        _fail(error, words, 2 if isinstance(error, InvalidInput) else 1)
    except click.exceptions.Abort:
        _fail(RagError("Stopped.", "Nothing was changed."), words, 1)
    except click.ClickException as error:
        _fail(RagError(error.format_message(), f"See `{_command(error)} --help`."), words, error.exit_code)


def _command(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return context.command_path if context else "commonplace"


def _fail(error: RagError, words: Sequence[str], status: int) -> None:
    if "--json" in words:
        _print_json(error.as_dict())
    else:
        click.echo(f"Error: {plain(error.message)}\n{plain(error.suggestion)}".rstrip(), err=True)
    sys.exit(status)
