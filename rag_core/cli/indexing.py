"""Bringing a store up to date with folders."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote

import click

from rag_core.api import reports
from rag_core.cli.options import (
    emit,
    exclude_option,
    json_option,
    library_of_owner,
    name_of_store,
    say,
    store_option,
)
from rag_core.cli.runs import work_off
from rag_core.cli.screen import line
from rag_core.cli.terminal import show_plans
from rag_core.errors import InvalidInput, NotFound
from rag_core.files import MANY_FILES, doubt, preview, real_folder, split_glob
from rag_core.library import Library
from rag_core.types import OWNER, StoreInfo
from rag_core.wording import plural, said_of_covered, said_of_label, shared_files

_Wanted = list[tuple[Path, list[str]]]
_MOST_NAMED = 3

yes_option = click.option("--yes", is_flag=True, help="Index also the whole disk or home folder.")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--store", "store", help="The store to make or add to (default: the folder's name).", **name_of_store
)
@yes_option
@json_option
def init(folder: Path, store: str | None, yes: bool, as_json: bool) -> None:
    """Index a folder into a store that is made if needed.

    All that can be read in FOLDER is taken. Later `index` brings the store up to date.
    """
    library = library_of_owner()
    folder = real_folder(folder)
    name = store or library.sources.name_after(OWNER, folder)
    if not yes:
        _doubt(library, name, folder, ("**/*",))
    if library.stores.make_if_needed(OWNER, name):
        click.echo(f"Made store {name!r}.", err=True)
    elif store is None:
        _refuse_to_mix(library.stores.info(OWNER, name), folder)
    _explain(library, name, folder, ("**/*",))
    source = library.sources.add(OWNER, name, folder, ("**/*",))
    library.jobs.request(OWNER, name, [source.id])
    work_off(library, name, as_json=as_json, then=lambda: _next_steps(library.stores.info(OWNER, name)))


def _next_steps(info: StoreInfo) -> str:
    if not info.chunk_count:
        index_it = f"commonplace index --store {info.name}"
        return f"\nThere is nothing to ask yet. Put notes into the folder, then:  {index_it}"
    search = f"commonplace query 'a few words' --store {info.name}"
    return f"\nNow search:  {search}\nOr open:  commonplace serve --open"


def _refuse_to_mix(info: StoreInfo, folder: Path) -> None:
    """A store that only happens to be called like the folder is not added to without being asked."""
    roots = [source.root for source in info.sources]
    if roots and str(folder) not in roots:
        raise InvalidInput(
            f"There is a store {info.name!r} already, for {', '.join(roots)}.",
            f"Choose another name with --store NAME, or add to it with --store {info.name}.",
        )


@click.command()
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
@json_option
def index(
    patterns: tuple[str, ...], store: str, root: Path | None, exclude: tuple[str, ...], incremental: bool,
    force: bool, dry_run: bool, yes: bool, as_json: bool,
) -> None:  # fmt: skip
    """Bring a store up to date, or add files to it by patterns.

    Without PATTERN, the folders that the store has are read. Patterns such as '**/*.md' (in quotes) add the
    folder that they start from, or are added to those that it has.
    """
    if incremental and force:
        raise click.UsageError("--incremental and --force exclude each other: give one of them.")
    library = library_of_owner()
    _refuse_without_patterns(patterns, {"--exclude": exclude, "--root": root}, store)
    wanted = _by_root(patterns, root)
    if not (_known(library, store).sources or wanted):
        raise InvalidInput(
            f"Store {store!r} has no folder yet.",
            "Name files, like: commonplace index '**/*.md' --store " + store,
        )
    say(_if_written_out(patterns))
    if dry_run:
        _show_dry_run(library, store, wanted, exclude, force=force, as_json=as_json)
        return
    for folder, chosen in wanted if not yes else ():
        _doubt(library, store, folder, chosen, exclude)
    for folder, chosen in wanted:
        _explain(library, store, folder, chosen, exclude)
        say(*library.sources.idle_excludes(OWNER, real_folder(folder), chosen, exclude))
    sources = [library.sources.add(OWNER, store, r, chosen, exclude) for r, chosen in wanted]
    ids = [source.id for source in sources] or None
    library.jobs.request(OWNER, store, ids, force=force)
    paused = "" if wanted else _said_of_paused(library, store)
    work_off(library, store, as_json=as_json, then=lambda: paused)


def _known(library: Library, store: str) -> StoreInfo:
    try:
        return library.stores.info(OWNER, store)
    except NotFound as error:
        make = f"Or make it: `commonplace store create {quote(store)}`, then index again."
        raise NotFound(error.message, f"{error.suggestion} {make}") from None


def _refuse_without_patterns(patterns: Sequence[str], given: Mapping[str, object], store: str) -> None:
    """What belongs to a pattern means nothing without one, and is not passed over."""
    if named := [option for option, value in given.items() if value and not patterns]:
        raise InvalidInput(
            f"{named[0]} needs a PATTERN.",
            f"Add one, such as '**/*'; to change a folder: `commonplace source edit NUMBER --store {store}`.",
        )


def _show_dry_run(
    library: Library, store: str, wanted: _Wanted, exclude: Sequence[str], *, force: bool, as_json: bool
) -> None:
    for folder, chosen in wanted:
        _explain(library, store, folder, chosen, exclude)
    if not wanted:
        say(_said_of_paused(library, store))
    drafts = [library.sources.draft(OWNER, store, root, chosen, exclude) for root, chosen in wanted]
    plans = [library.sources.plan(OWNER, store, draft, force=force) for draft in drafts]
    plans = plans or library.sources.plans(OWNER, store, force=force)
    emit(as_json, reports.plan(plans), lambda: show_plans(plans))


def _doubt(
    library: Library, store: str, folder: Path, patterns: Sequence[str], exclude: Sequence[str] = ()
) -> None:
    """Refuse a folder that is new to a store and so large that it may be a slip."""
    root = real_folder(folder)
    known = store in library.stores.names(OWNER)
    if known and library.sources.draft(OWNER, store, root, patterns, exclude).id:
        return
    if why := doubt(root, patterns, preview(root, patterns, exclude, max_files=MANY_FILES)):
        raise InvalidInput(why, "Choose a folder inside it, or add --yes to index it all the same.")


def _by_root(patterns: Sequence[str], root: Path | None) -> _Wanted:
    """The patterns by the folder they start from: --root, else what an absolute one names, else here."""
    grouped: dict[Path, list[str]] = {}
    for whole in patterns:
        folder, pattern = (root, whole) if root else split_glob(whole)
        grouped.setdefault(folder, []).append(pattern)
    return list(grouped.items())


# --- what the owner may not expect ------------------------------------------------------


def _if_written_out(patterns: Sequence[str]) -> str:
    """What to know when a shell has replaced a pattern by the files that match it now."""
    if len(patterns) < 2 or not all(os.path.isfile(each) for each in patterns):  # noqa: PTH113 (no error)
        return ""
    return "These are single files: new ones will not be taken. Put a pattern in quotes, like '**/*.md'."


def _said_of_paused(library: Library, store: str) -> str:
    """The folders of a store that no run reads, and the command by which it goes on with one; '' for none."""
    paused = [each for each in library.stores.info(OWNER, store).sources if each.paused and not each.removed]
    if not paused:
        return ""
    one = len(paused) == 1
    are, roots = "is" if one else "are", line(", ".join(each.root for each in paused[:_MOST_NAMED]))
    resume = f"commonplace source resume {paused[0].id} --store {store}"
    return (
        f"{plural(len(paused), 'folder')} {are} paused and not read: {roots}."
        f" To go on with {'it' if one else 'one'}: {resume}"
    )


def _explain(
    library: Library, store: str, folder: Path, patterns: Sequence[str], exclude: Sequence[str] = ()
) -> None:
    """Say what adding patterns does to a folder that the store has, or has a part of, already."""
    draft = library.sources.draft(OWNER, store, folder, patterns, exclude)
    others = [each for each in library.stores.info(OWNER, store).sources if not each.removed]
    known = next((each for each in others if each.id == draft.id), None)
    if known and known.root != str(real_folder(folder)):
        say(said_of_covered(str(real_folder(folder)), known))
        return
    if known is None:
        say(shared_files(draft.root, [each.root for each in others]))
        say(said_of_label(draft))
        return
    more = [each for each in draft.include if each not in known.include]
    less = [each for each in draft.exclude if each not in known.exclude]
    if not (more or less):
        return
    added = f" Added to these: {' '.join(more)}." if more else ""
    left_out = f" Left out, too: {' '.join(less)}." if less else ""
    edit = f"commonplace source edit {known.id} --store {store} --include PATTERN"
    say(
        f"{draft.root!r} is in store {store!r} already, with the patterns {' '.join(known.include)}."
        f"{added}{left_out} To replace them: {edit}"
    )
