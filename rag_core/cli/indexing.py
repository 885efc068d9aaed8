"""Bringing a store up to date with folders."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from shlex import quote

import click

from rag_core.api import reports
from rag_core.cli.options import (
    Answering,
    emit,
    exclude_option,
    library_of_owner,
    name_of_store,
    say,
    store_option,
)
from rag_core.cli.runs import run_requests
from rag_core.cli.screen import line
from rag_core.cli.terminal import show_plans
from rag_core.errors import InvalidInput, NotFound
from rag_core.files import MANY_FILES, doubt, preview, real_folder, split_glob
from rag_core.library import Library
from rag_core.types import OWNER, StoreInfo
from rag_core.wording import plural, said_of_covered, said_of_label, shared_files

_MOST_NAMED = 3
_ALL = ("**/*",)

yes_option = click.option("--yes", is_flag=True, help="Index also the whole disk or home folder.")


@click.command(cls=Answering)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--store", "store", help="The store to make or add to (default: the folder's name).", **name_of_store
)
@yes_option
def init(folder: Path, store: str | None, yes: bool) -> None:
    """Index a folder into a store that is made if needed.

    All that can be read in FOLDER is taken. Later `index` brings the store up to date.
    """
    library = library_of_owner()
    folder = real_folder(folder)
    name = store or library.sources.default_name(OWNER, folder)
    if not yes:
        _refuse_if_huge(library, name, folder, _ALL)
    if library.stores.make_if_needed(OWNER, name):
        click.echo(f"Made store {name!r}.", err=True)
    elif store is None:
        _refuse_to_mix(library.stores.info(OWNER, name), folder)
    _explain(library, name, folder, _ALL)
    source = library.sources.add(OWNER, name, folder, _ALL)
    library.jobs.request(OWNER, name, [source.id])
    run_requests(library, name, lambda: _next_steps(library.stores.info(OWNER, name)))


def _next_steps(info: StoreInfo) -> str:
    if not info.chunk_count:
        index_it = f"commonplace index --store {info.name}"
        return f"\nThere is nothing to ask yet. Put notes into the folder, then:  {index_it}"
    search = f"commonplace query 'a few words' --store {info.name}"
    return f"\nNow search:  {search}\nOr open:  commonplace serve --open"


def _refuse_to_mix(info: StoreInfo, folder: Path) -> None:
    """Raises InvalidInput where the store that has the folder's name is for other folders."""
    roots = [source.root for source in info.sources]
    if roots and str(folder) not in roots:
        raise InvalidInput(
            f"There is a store {info.name!r} already, for {', '.join(roots)}.",
            f"Choose another name with --store NAME, or add to it with --store {info.name}.",
        )


def _refuse_if_huge(
    library: Library, store: str, folder: Path, patterns: Sequence[str], exclude: Sequence[str] = ()
) -> None:
    """Raises InvalidInput for a folder that is new to a store and so large that it may be a mistake."""
    root = real_folder(folder)
    known = store in library.stores.names(OWNER)
    if known and library.sources.draft(OWNER, store, root, patterns, exclude).id:
        return
    if why := doubt(root, patterns, preview(root, patterns, exclude, max_files=MANY_FILES)):
        raise InvalidInput(why, "Choose a folder inside it, or add --yes to index it all the same.")


@click.command(cls=Answering)
@click.argument("patterns", nargs=-1, metavar="[PATTERN]...")
@store_option
@click.option(
    "--root", type=click.Path(path_type=Path), help="The folder that the patterns start from (default: here)."
)
@exclude_option
@click.option("--incremental", is_flag=True, help="Read only what changed; so it is without --force, too.")
@click.option("--force", is_flag=True, help="Read everything, changed or not.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@yes_option
def index(
    patterns: tuple[str, ...], store: str, root: Path | None, exclude: tuple[str, ...], incremental: bool,
    force: bool, dry_run: bool, yes: bool,
) -> None:  # fmt: skip
    """Bring a store up to date, or add files to it by patterns.

    Without PATTERN, the folders that the store has are read. Patterns such as '**/*.md' (in quotes) add the
    folder that they start from, or are added to those that it has.
    """
    if incremental and force:
        raise click.UsageError("--incremental and --force exclude each other: give one of them.")
    library = library_of_owner()
    if not patterns and (exclude or root):
        add = (
            f"Add one, such as '**/*'; to change a folder: `commonplace source edit NUMBER --store {store}`."
        )
        raise InvalidInput(f"{'--exclude' if exclude else '--root'} needs a PATTERN.", add)
    wanted = _by_root(patterns, root)
    if not (_known_store(library, store).sources or wanted):
        example = f"commonplace index '**/*.md' --store {store}"
        raise InvalidInput(f"Store {store!r} has no folder yet.", f"Name files, like: {example}")
    say(_said_of_expanded(patterns))
    if not (dry_run or yes):
        for folder, chosen in wanted.items():
            _refuse_if_huge(library, store, folder, chosen, exclude)
    for folder, chosen in wanted.items():
        _explain(library, store, folder, chosen, exclude)
    paused = "" if wanted else _said_of_paused(library, store)
    if dry_run:
        say(paused)
        drafts = [
            library.sources.draft(OWNER, store, each, chosen, exclude) for each, chosen in wanted.items()
        ]
        plans = [library.sources.plan(OWNER, store, draft, force=force) for draft in drafts]
        plans = plans or library.sources.plans(OWNER, store, force=force)
        emit(reports.plan(plans), lambda: show_plans(plans))
        return
    for folder in wanted:
        say(*library.sources.idle_excludes(OWNER, real_folder(folder), exclude))
    sources = [library.sources.add(OWNER, store, each, chosen, exclude) for each, chosen in wanted.items()]
    library.jobs.request(OWNER, store, [source.id for source in sources] or None, force=force)
    run_requests(library, store, lambda: paused)


def _known_store(library: Library, store: str) -> StoreInfo:
    try:
        return library.stores.info(OWNER, store)
    except NotFound as error:
        make = f"Or make it: `commonplace store create {quote(store)}`, then index again."
        raise NotFound(error.message, f"{error.suggestion} {make}") from None


def _by_root(patterns: Sequence[str], root: Path | None) -> dict[Path, list[str]]:
    """The patterns by the folder they start from: --root, else that of an absolute pattern, else here."""
    grouped: dict[Path, list[str]] = {}
    for whole in patterns:
        folder, pattern = (root, whole) if root else split_glob(whole)
        grouped.setdefault(folder, []).append(pattern)
    return grouped


# --- remarks ----------------------------------------------------------------------------


def _said_of_expanded(patterns: Sequence[str]) -> str:
    """A remark if a shell seems to have expanded a pattern; otherwise ''."""
    if len(patterns) < 2 or not all(os.path.isfile(each) for each in patterns):  # noqa: PTH113 (no error)
        return ""
    return "These are single files: new ones will not be taken. Put a pattern in quotes, like '**/*.md'."


def _said_of_paused(library: Library, store: str) -> str:
    """The paused folders of a store, and the command that resumes one; '' for none."""
    paused = [each for each in library.stores.info(OWNER, store).sources if each.paused and not each.removed]
    if not paused:
        return ""
    are, one = ("is", "it") if len(paused) == 1 else ("are", "one")
    roots = line(", ".join(each.root for each in paused[:_MOST_NAMED]))
    resume = f"commonplace source resume {paused[0].id} --store {store}"
    said = f"{plural(len(paused), 'folder')} {are} paused and not read: {roots}."
    return f"{said} To go on with {one}: {resume}"


def _explain(
    library: Library, store: str, folder: Path, patterns: Sequence[str], exclude: Sequence[str] = ()
) -> None:
    """Print what adding patterns does to a folder that the store has, or has a part of, already."""
    draft = library.sources.draft(OWNER, store, folder, patterns, exclude)
    others = [each for each in library.stores.info(OWNER, store).sources if not each.removed]
    known = next((each for each in others if each.id == draft.id), None)
    if known is None:
        say(shared_files(draft.root, [each.root for each in others]), said_of_label(draft))
        return
    if known.root != str(real_folder(folder)):
        say(said_of_covered(str(real_folder(folder)), known))
        return
    more = [each for each in draft.include if each not in known.include]
    less = [each for each in draft.exclude if each not in known.exclude]
    if more or less:
        edit = f"commonplace source edit {known.id} --store {store} --include PATTERN"
        added = f" Added to these: {' '.join(more)}." if more else ""
        left_out = f" Left out, too: {' '.join(less)}." if less else ""
        has = f"{draft.root!r} is in store {store!r} already, with the patterns {' '.join(known.include)}."
        say(f"{has}{added}{left_out} To replace them: {edit}")
