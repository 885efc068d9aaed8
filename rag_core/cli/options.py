"""What commands share: options, the owner's library, and printing an answer."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from rag_core.api.encoding import Value, json_bytes, plain
from rag_core.config import load, logs
from rag_core.errors import InvalidInput, NotFound, RagError
from rag_core.files import current_folder
from rag_core.library import Library
from rag_core.types import OWNER

if TYPE_CHECKING:
    from rag_core.config import Settings  # brings pydantic, which commands need only for settings

_MOST_BEGUN = 100
"""So many documents a shell is given to choose from."""


class OfStore(click.Command):
    """A command that is given nothing but options: a word without one is the store, as after --store."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does it, but for a word that nothing takes."""
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        given, left, _ = self.make_parser(ctx).parse_args(list(args))
        if left and not self._takes_several and ("store" in given or left[1:]):
            command = f"`{ctx.command_path} --store {shlex.quote(left[-1])}`"
            raise InvalidInput(f"{left[-1]!r} belongs to no option.", f"Name one store: {command}.")
        for name in left:
            args.remove(name)
        return super().parse_args(ctx, [*(f"--store={name}" for name in left), *args])

    @property
    def _takes_several(self) -> bool:
        return any(each.multiple for each in self.params if "--store" in each.opts)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """As click does it, with the names of stores."""
        found = super().shell_complete(ctx, incomplete)
        return [*map(CompletionItem, _begun(ctx, None, incomplete)), *found]


class ByKey(RagError):
    """What the owner ended by a key; the exit status is that of a program that a signal ended."""


@contextmanager
def asking(option: str) -> Iterator[None]:
    """A question inside, which ``option`` answers where nobody can. Raises RagError when it stays open."""
    try:
        yield
    except click.Abort as stopped:
        if not isinstance(stopped.__context__, EOFError):
            raise
        click.echo(err=True)  # the line with the question is still open
        raise RagError("Stopped.", f"Nothing was changed. In a script, add {option}.") from None


class SettingOption(click.Option):
    """An option whose default is the setting called ``setting``; help shows what that is here."""

    def __init__(self, *args: Any, setting: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.setting = setting

    def get_default(self, ctx: click.Context, call: bool = True) -> Any:
        """What is configured; click's own default where nothing is."""
        try:
            value = getattr(_settings(ctx), self.setting)
        except InvalidInput:
            if not ctx.resilient_parsing:  # help and completion work whatever config.yaml holds
                raise
            value = None
        return super().get_default(ctx, call) if value in (None, ()) else value


def setting_option(*names: str, setting: str, **attributes: Any) -> Callable[[Any], Any]:
    """``click.option`` with a setting as its default."""
    return click.option(*names, cls=SettingOption, setting=setting, show_default=True, **attributes)


def _or_the_only_store(ctx: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    """The store that was named; without a name the only one there is. Raises InvalidInput unless there
    is exactly one."""
    if ctx.resilient_parsing:
        return name
    if name is not None:
        check_configured(ctx, parameter, name)
        return name
    return only(store_names(ctx), "Add --store with" if isinstance(parameter, click.Option) else "Name")


def _if_named(ctx: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    """The store that was named with the command; what is configured is left to the library."""
    if name is not None and not ctx.resilient_parsing:
        check_configured(ctx, parameter, name)
    return name if ctx.get_parameter_source("store") is ParameterSource.COMMANDLINE else None


def store_of_file(library: Library, store: str | None, path: str) -> str:
    """The store that was named; without a name the only one that the file can be meant of."""
    return store or only(library.files.stores_meant(OWNER, path, current_folder()), "Add --store with")


def only(names: Sequence[str], advice: str) -> str:
    """The one of these stores. Raises InvalidInput that begins its ``advice`` so where there are several."""
    if len(names) == 1:
        return names[0]
    raise _which(names, advice)


def check_configured(ctx: click.Context, parameter: click.Parameter, name: str) -> None:
    """Raises NotFound where the setting ``default_store`` names a store that is not there."""
    source = ctx.get_parameter_source(parameter.name or "")
    if source not in (ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP):
        return
    if name not in (names := store_names(ctx)):
        where = _settings(ctx).origins.get("default_store", "default")
        known = f"name another one with --store: {', '.join(names)}" if names else "make a store of that name"
        raise NotFound(
            f"There is no store called {name!r}, which the setting default_store names ({where}).",
            f"Change the setting, or {known}.",
        )


def _named_store(ctx: click.Context, _: click.Parameter, name: str | None) -> str | None:
    """The store that was named. Raises InvalidInput that names the stores when none was."""
    if name is not None or ctx.resilient_parsing:
        return name
    raise _which(store_names(ctx), "Name")


def store_names(ctx: click.Context) -> list[str]:
    """The names of all stores."""
    with closing(Library.open(_settings(ctx))) as library:
        return library.stores.names(OWNER)


def _which(names: Sequence[str], advice: str) -> RagError:
    if not names:
        return NotFound("There is no store yet.", "Make one: commonplace init FOLDER")
    return InvalidInput("Which store is meant?", f"{advice} one of these: {', '.join(names)}.")


def _begun(ctx: click.Context, _: click.Parameter | None, incomplete: str) -> list[str]:
    """The names of stores that begin so, for a shell; none where they cannot be read."""
    try:
        names = store_names(ctx)
    except (RagError, OSError):
        return []
    return [name for name in names if name.startswith(incomplete)]


def begun_tokens(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The names of tokens that begin so, for a shell; none where they cannot be read."""
    with suppress(RagError, OSError), closing(Library.open(_settings(ctx))) as library:
        return [each.name for each in library.sharing.tokens(OWNER) if each.name.startswith(incomplete)]
    return []


def begun_paths(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The documents that begin so, for a shell, and whatever files it finds itself."""
    found: set[str] = set()
    with suppress(RagError, OSError), closing(Library.open(_settings(ctx))) as library:
        named = ctx.params.get("stores") or filter(None, [ctx.params.get("store")])
        for store in [*named] or library.stores.names(OWNER):
            with suppress(RagError, OSError):
                found.update(library.files.paths_like(OWNER, store, incomplete, _MOST_BEGUN))
    names = map(CompletionItem, sorted(found)[:_MOST_BEGUN])
    return [CompletionItem(incomplete, type="file"), *names]


_FROM_THE_FOLDER = "a pattern starts at the folder, as 'drafts/**' does. Repeat for several."
include_option = click.option(
    "--include", multiple=True, metavar="PATTERN", help=f"Take these files; {_FROM_THE_FOLDER}"
)
exclude_option = click.option(
    "--exclude", multiple=True, metavar="PATTERN", help=f"Leave these out; {_FROM_THE_FOLDER}"
)

name_of_store: dict[str, Any] = {"metavar": "NAME", "shell_complete": _begun}
"""What every option for a store says of itself."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
stores_option = click.option(
    "--store",
    "stores",
    multiple=True,
    help="A store; repeat for several (default: every store).",
    **name_of_store,
)
store_option = setting_option(
    "--store", "store", setting="default_store", callback=_or_the_only_store,
    help="The store; not needed when there is only one.", **name_of_store,
)  # fmt: skip
store_of_file_option = setting_option(
    "--store", "store", setting="default_store", callback=_if_named,
    help="The store; not needed when only one has the file.", **name_of_store,
)  # fmt: skip
store_argument = click.argument(
    "name", metavar="NAME", required=False, callback=_named_store, shell_complete=_begun
)
any_store_argument = click.argument(
    "name", metavar="[NAME]", required=False, callback=_or_the_only_store, shell_complete=_begun
)


def settings_of_owner() -> Settings:
    """The settings of this command, after saying what is odd about them; logging follows them."""
    settings = _settings(click.get_current_context())
    logs.configure(settings.log_level)
    say(*settings.warnings)
    return settings


def _settings(ctx: click.Context) -> Settings:
    given: Settings | None = ctx.find_root().obj  # docs/make_cli.py gives the defaults, not this machine's
    return given or load()


def library_of_owner() -> Library:
    """The owner's library, closed when the command ends."""
    library = Library.open(settings_of_owner())
    click.get_current_context().call_on_close(library.close)
    return library


def say(*sentences: str) -> None:
    """Tell the owner something beside the answer; '' is nothing."""
    for sentence in filter(None, sentences):
        click.secho(plain(sentence), fg="yellow", err=True)


def emit(as_json: bool, value: Value, show: Callable[[], None]) -> None:
    """Print ``value`` as JSON, or what ``show`` prints for people."""
    if as_json:
        print_json(value)
    else:
        show()


def print_json(value: Value) -> None:
    """Print JSON in which nothing steers a terminal, whatever a file name holds."""
    click.echo(json_bytes(value), nl=False)
