"""Bringing a store up to date with folders."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import click

from rag_core import render
from rag_core.cli.options import emit, json_option, library_of_owner, store_option
from rag_core.cli.runs import work_off
from rag_core.errors import InvalidInput
from rag_core.files import MANY_FILES, doubt, preview, real_folder, split_glob
from rag_core.library import Library
from rag_core.terminal import show_plans
from rag_core.types import OWNER, StoreInfo

yes_option = click.option("--yes", is_flag=True, help="Index also the whole disk or home folder.")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--store", "store", metavar="NAME", help="The store to make or add to (default: the folder's name)."
)
@yes_option
@json_option
def init(folder: Path, store: str | None, yes: bool, as_json: bool) -> None:
    """Index FOLDER with everything readable in it, into a store that is made if needed."""
    library = library_of_owner()
    folder = real_folder(folder)
    name = store or _name_after(folder)
    if not yes:
        _doubt(library, name, folder, ("**/*",))
    if name not in library.store_names(OWNER):
        library.create_store(OWNER, name)
        click.echo(f"Made store {name!r}.", err=True)
    elif store is None:
        _refuse_to_mix(library.store_info(OWNER, name), folder)
    source = library.add_source(OWNER, name, folder, ("**/*",))
    library.request_index(OWNER, name, [source.id])
    work_off(library, name, as_json=as_json)
    if not as_json:
        click.echo(
            f"\nNow ask:  commonplace query 'a few words' --store {name}\nOr open:  commonplace serve --open"
        )


def _refuse_to_mix(info: StoreInfo, folder: Path) -> None:
    """A store that only happens to be called like the folder is not added to without being asked."""
    roots = [source.root for source in info.sources]
    if roots and str(folder) not in roots:
        raise InvalidInput(
            f"There is a store {info.name!r} already, for {', '.join(roots)}.",
            f"Choose another name with --store NAME, or add to it with --store {info.name}.",
        )


def _name_after(folder: Path) -> str:
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", folder.name).strip("-_")[:63]
    return name or "notes"


@click.command()
@click.argument("globs", nargs=-1, metavar="GLOB...")
@store_option
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
@yes_option
@json_option
def index(
    globs: tuple[str, ...], store: str, root: Path | None, exclude: tuple[str, ...], incremental: bool,
    dry_run: bool, yes: bool, as_json: bool,
) -> None:  # fmt: skip
    """Index the files that match GLOB into a store; without GLOB, all that the store has already."""
    library = library_of_owner()
    wanted = _by_root(globs, root)
    if dry_run:
        drafts = [library.draft_source(OWNER, store, r, g, exclude) for r, g in wanted]
        plans = [library.plan(OWNER, store, draft, force=not incremental) for draft in drafts]
        plans = plans or library.plans(OWNER, store, force=not incremental)
        emit(as_json, render.plan(plans), lambda: show_plans(plans))
        return
    if not (wanted or library.store_info(OWNER, store).sources):
        raise InvalidInput(
            f"Store {store!r} has no folder yet.",
            "Name files, like: commonplace index '**/*.md' --store " + store,
        )
    for folder, patterns in wanted if not yes else ():
        _doubt(library, store, folder, patterns, exclude)
    sources = [library.add_source(OWNER, store, r, g, exclude) for r, g in wanted]
    chosen = [source.id for source in sources] or None
    library.request_index(OWNER, store, chosen, force=not incremental)
    work_off(library, store, as_json=as_json)


def _doubt(
    library: Library, store: str, folder: Path, globs: Sequence[str], exclude: Sequence[str] = ()
) -> None:
    """Refuse a folder that is new to a store and so large that it may be a slip."""
    root = real_folder(folder)
    known = store in library.store_names(OWNER)
    if known and library.draft_source(OWNER, store, root, globs, exclude).id:
        return
    if why := doubt(root, globs, preview(root, globs, exclude, max_files=MANY_FILES)):
        raise InvalidInput(why, "Choose a folder inside it, or add --yes to index it all the same.")


def _by_root(globs: Sequence[str], root: Path | None) -> list[tuple[Path, list[str]]]:
    """The globs by the folder they start from: --root, else what an absolute one names, else here."""
    grouped: dict[Path, list[str]] = {}
    for glob in globs:
        folder, pattern = (root, glob) if root else split_glob(glob, Path.cwd())
        grouped.setdefault(folder, []).append(pattern)
    return list(grouped.items())
