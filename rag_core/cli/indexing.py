"""Updating a store from folders."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

import click

from rag_core.api import reports
from rag_core.cli import commands, options
from rag_core.cli.runs import run_requests
from rag_core.cli.screen import line, warn
from rag_core.cli.terminal import show_plans
from rag_core.errors import InvalidInput
from rag_core.files import MANY_FILES, doubt, preview, real_folder, split_glob
from rag_core.library import Library
from rag_core.system import quote
from rag_core.types import OWNER, StoreInfo
from rag_core.wording import covered_by, shared_files

_MOST_NAMED = 3
_ALL = ("**/*",)

yes_option = click.option("--yes", is_flag=True, help="Allow indexing the whole disk or home folder.")


@click.command(cls=commands.Answering)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--store",
    "store",
    help="The store to create or add to (default: the folder's name).",
    **options.name_of_store,
)
@click.option(
    "--yes",
    is_flag=True,
    help="Allow indexing the whole disk or home folder, and stores on a network disk or in a cloud folder.",
)
def init(folder: Path, store: str | None, yes: bool) -> None:
    """Create a store and index a folder into it.

    Every readable file in FOLDER is indexed. Run `index` later to update the store.
    """
    library = options.library_of_owner(shared_disk=yes)
    library.stores.require_own_disk(OWNER)
    folder = real_folder(folder)
    name = store or library.sources.name_for(OWNER, folder)
    if not yes:
        _refuse_if_huge(library, name, folder, _ALL)
    if library.stores.make_if_needed(OWNER, name):
        click.echo(f"Created store {name!r}.", err=True)
    _explain(library, name, folder, _ALL)
    source = library.sources.add(OWNER, name, folder, _ALL)
    library.jobs.request(OWNER, name, [source.id])
    run_requests(library, name, lambda: _next_steps(library.stores.info(OWNER, name)))


def _next_steps(info: StoreInfo) -> str:
    if not info.chunk_count:
        return f"\nPut notes into the folder, then:  commonplace index --store {info.name}"
    search = f"commonplace query {quote('a few words')} --store {info.name}"
    return f"\nNow search:  {search}\nOr open:  commonplace serve --open"


def _refuse_if_huge(
    library: Library, store: str, folder: Path, patterns: Sequence[str], exclude: Sequence[str] = ()
) -> None:
    """Raise InvalidInput if a folder is new to a store and so large that adding it may be a mistake."""
    root = real_folder(folder)
    known = store in library.stores.names(OWNER)
    if known and library.sources.draft(OWNER, store, root, patterns, exclude).id:
        return
    if why := doubt(root, patterns, preview(root, patterns, exclude, max_files=MANY_FILES)):
        raise InvalidInput(why, "Choose a folder inside it, or add --yes to index it all the same.")


@click.command(cls=commands.Answering)
@click.argument("patterns", nargs=-1, metavar="[PATTERN]...")
@options.store_option
@click.option(
    "--root", type=click.Path(path_type=Path), help="The folder that the patterns start from (default: here)."
)
@options.exclude_option
@click.option("--incremental", is_flag=True, help="Read only changed files (the default).")
@click.option("--force", is_flag=True, help="Read all files, even unchanged ones.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@yes_option
def index(
    patterns: tuple[str, ...],
    store: str,
    root: Path | None,
    exclude: tuple[str, ...],
    incremental: bool,
    force: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Update a store, or add files to it by patterns.

    Without PATTERN, the store's folders are read. A pattern such as '**/*.md' (in quotes) adds the folder
    from which it starts. If the store already has the folder, the pattern is added to it.
    """
    if incremental and force:
        raise click.UsageError("Give --incremental or --force, not both.")
    library = options.library_of_owner()
    if not patterns and (exclude or root):
        raise InvalidInput(
            "--exclude and --root need a PATTERN.",
            f"To change a folder: `commonplace source edit NUMBER --store {store}`.",
        )
    wanted = _by_folder(patterns, root)
    paused = _paused(library, store, has_patterns=bool(wanted))
    if len(patterns) > 1 and all(Path(pattern).is_file() for pattern in patterns):
        warn("These are single files: new ones are not taken. Put a pattern in quotes, like '**/*.md'.")
    for folder, chosen in wanted.items():
        if not (dry_run or yes):
            _refuse_if_huge(library, store, folder, chosen, exclude)
        _explain(library, store, folder, chosen, exclude)
        warn(*library.sources.idle_excludes(OWNER, real_folder(folder), exclude))
    if dry_run:
        warn(paused)
        _show_dry_run(library, store, wanted, exclude, force=force)
        return
    added = [
        library.sources.add(OWNER, store, folder, chosen, exclude).id for folder, chosen in wanted.items()
    ]
    library.jobs.request(OWNER, store, added or None, force=force)
    run_requests(library, store, lambda: paused)


def _by_folder(patterns: Sequence[str], root: Path | None) -> dict[Path, list[str]]:
    """Group the patterns by the folder from which they start: ``root`` if given, else the folder in the
    pattern."""
    by_folder: defaultdict[Path, list[str]] = defaultdict(list)
    for whole in patterns:
        folder, pattern = (root, whole) if root else split_glob(whole)
        by_folder[folder].append(pattern)
    return by_folder


def _show_dry_run(
    library: Library,
    store: str,
    wanted: Mapping[Path, Sequence[str]],
    exclude: Sequence[str],
    *,
    force: bool,
) -> None:
    """Print which files a run would read in the folders ``wanted``; without such folders, in all folders of
    the store."""
    drafts = [
        library.sources.draft(OWNER, store, folder, chosen, exclude) for folder, chosen in wanted.items()
    ]
    plans = [library.sources.plan(OWNER, store, draft, force=force) for draft in drafts]
    plans = plans or library.sources.plans(OWNER, store, force=force)
    options.emit(reports.plan(plans), lambda: show_plans(plans))
    suffixes = Counter(
        PurePosixPath(file.display).suffix.lower()
        for plan in plans
        for files in plan.to_read.values()
        for file in files
    )
    warn(library.sources.said_of_pictures(OWNER, suffixes))


def _paused(library: Library, store: str, *, has_patterns: bool) -> str:
    """Return a sentence about the paused folders of a store, with the command that resumes one; '' if no
    folder is paused, or if there are patterns. Raises InvalidInput if there is nothing to read."""
    info = library.stores.info(OWNER, store)
    if not (info.sources or has_patterns):
        example = f"commonplace index {quote('**/*.md')} --store {store}"
        raise InvalidInput(
            f"Store {store!r} has no folder yet.", f"Name the folder or the files to index, like: {example}"
        )
    if has_patterns:
        return ""
    paused = [source for source in info.sources if source.paused and not source.removed]
    if not paused:
        return ""
    roots = line(", ".join(source.root for source in paused[:_MOST_NAMED]))
    resume = f"commonplace source resume {paused[0].id} --store {info.name}"
    return f"Paused and not read: {roots}. To go on: {resume}"


def _explain(
    library: Library, store: str, folder: Path, patterns: Sequence[str], exclude: Sequence[str] = ()
) -> None:
    """Print how new patterns affect a folder that the store already contains, fully or partly."""
    draft = library.sources.draft(OWNER, store, folder, patterns, exclude)
    others = [source for source in library.stores.info(OWNER, store).sources if not source.removed]
    known = next((source for source in others if source.id == draft.id), None)
    if known is None:
        warn(shared_files(draft.root, [source.root for source in others]))
        if draft.label:
            warn(f"In this store the files of {draft.root!r} are called '{draft.label}/…'.")
        return
    if known.root != str(real_folder(folder)):
        warn(covered_by(str(real_folder(folder)), known))
        return
    if not ({*draft.include} <= {*known.include} and {*draft.exclude} <= {*known.exclude}):
        edit = f"commonplace source edit {known.id} --store {store} --include PATTERN"
        patterns = " ".join(known.include)
        warn(f"{draft.root!r} has the patterns {patterns} already; these are added. To replace them: {edit}")
