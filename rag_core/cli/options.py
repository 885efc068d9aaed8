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

_AS_JSON = "commonplace.as_json"


# --- the library of a command -----------------------------------------------------------


def _settings(ctx: click.Context) -> Settings:
    given: Settings | None = ctx.find_root().obj  # docs/make_cli.py gives the defaults, not this machine's
    return given or load()


def settings_of_owner() -> Settings:
    """The settings of this command. Prints their warnings and configures logging."""
    settings = _settings(click.get_current_context())
    logs.configure(settings.log_level)
    say(*settings.warnings)
    return settings


def library_of_owner() -> Library:
    """The owner's library, closed when the command ends."""
    library = Library.open(settings_of_owner())
    click.get_current_context().call_on_close(library.close)
    return library


def store_names(ctx: click.Context) -> list[str]:
    """The names of all stores."""
    with closing(Library.open(_settings(ctx))) as library:
        return library.stores.names(OWNER)


# --- printing ---------------------------------------------------------------------------


class ByKey(RagError):
    """The owner stopped the command with Ctrl-C."""


def say(*sentences: str) -> None:
    """Print remarks to standard error; '' is skipped."""
    for sentence in filter(None, sentences):
        click.secho(plain(sentence), fg="yellow", err=True)


def wants_json() -> bool:
    """Whether this command was given --json."""
    return bool(click.get_current_context().meta[_AS_JSON])


def emit(value: Value, show: Callable[[], None] | str) -> None:
    """Print ``value`` with --json. Without it print the sentence ``show``, or call ``show`` to print."""
    if wants_json():
        print_json(value)
    elif isinstance(show, str):
        click.echo(plain(show))
    else:
        show()


def print_json(value: Value) -> None:
    """Print JSON without control characters."""
    click.echo(json_bytes(value), nl=False)


@contextmanager
def asking(option: str) -> Iterator[None]:
    """Wrap a question to the owner. Raises RagError that names ``option`` where no terminal can answer."""
    try:
        yield
    except click.Abort as stopped:
        if not isinstance(stopped.__context__, EOFError):
            raise
        click.echo(err=True)  # ends the line of the question
        raise RagError("Stopped.", f"Nothing was changed. In a script, add {option}.") from None


# --- options and arguments --------------------------------------------------------------


class SettingOption(click.Option):
    """An option whose default is the setting called ``setting``; help shows its value here."""

    def __init__(self, *args: Any, setting: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.setting = setting

    def get_default(self, ctx: click.Context, call: bool = True) -> Any:
        """The configured value, or else click's default."""
        try:
            value = getattr(_settings(ctx), self.setting)
        except InvalidInput:
            if not ctx.resilient_parsing:  # help and completion work even with a broken config.yaml
                raise
            value = None
        return super().get_default(ctx, call) if value in (None, ()) else value


def setting_option(*names: str, setting: str, **attributes: Any) -> Callable[[Any], Any]:
    """``click.option`` with a setting as its default."""
    return click.option(*names, cls=SettingOption, setting=setting, show_default=True, **attributes)


json_option = click.option(
    "--json", "as_json", is_flag=True, expose_value=False, help="Print JSON for programs.",
    callback=lambda ctx, _, value: ctx.meta.update({_AS_JSON: value}),
)  # fmt: skip


class Answering(click.Command):
    """A command with --json."""

    def __init__(self, name: str | None, **attributes: Any) -> None:
        super().__init__(name, **attributes)
        json_option(self)


class OfStore(Answering):
    """A command with options only. A word without an option is the store's name, as after --store."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does, with a bare word as --store. Raises InvalidInput for a word too many."""
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        given, left, _ = self.make_parser(ctx).parse_args(list(args))
        takes_several = any(each.multiple for each in self.params if "--store" in each.opts)
        if left and not takes_several and ("store" in given or left[1:]):
            command = f"`{ctx.command_path} --store {shlex.quote(left[-1])}`"
            raise InvalidInput(f"{left[-1]!r} belongs to no option.", f"Name one store: {command}.")
        for name in left:
            args.remove(name)
        return super().parse_args(ctx, [*(f"--store={name}" for name in left), *args])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The names of stores, and what click completes."""
        found = super().shell_complete(ctx, incomplete)
        return [*map(CompletionItem, _complete_stores(ctx, None, incomplete)), *found]


def _complete_stores(ctx: click.Context, _: click.Parameter | None, incomplete: str) -> list[str]:
    with suppress(RagError, OSError):
        return [name for name in store_names(ctx) if name.startswith(incomplete)]
    return []


def complete_tokens(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The names of tokens, for a shell."""
    with suppress(RagError, OSError), closing(Library.open(_settings(ctx))) as library:
        return [each.name for each in library.sharing.tokens(OWNER) if each.name.startswith(incomplete)]
    return []


def complete_files(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Leaves it to the shell to complete files. Names from a store could hold what a shell would run."""
    return [CompletionItem(incomplete, type="file")]


def _which_store(names: Sequence[str], advice: str) -> RagError:
    if not names:
        return NotFound("There is no store yet.", "Make one: commonplace init FOLDER")
    return InvalidInput("Which store is meant?", f"{advice} one of these: {', '.join(names)}.")


def _only_store(names: Sequence[str], advice: str) -> str:
    if len(names) == 1:
        return names[0]
    raise _which_store(names, advice)


def store_of_file(library: Library, store: str | None, path: str) -> str:
    """``store``, or without it the only store that may hold the file at ``path``. Raises InvalidInput."""
    return store or _only_store(library.files.stores_meant(OWNER, path, current_folder()), "Add --store with")


def check_configured(ctx: click.Context, parameter: click.Parameter, name: str) -> None:
    """Raises NotFound where the setting ``default_store`` names a store that does not exist."""
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


def _or_the_only_store(ctx: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    if ctx.resilient_parsing:
        return name
    if name is not None:
        check_configured(ctx, parameter, name)
        return name
    advice = "Add --store with" if isinstance(parameter, click.Option) else "Name"
    return _only_store(store_names(ctx), advice)


def _if_given(ctx: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    """The store from the command line; the library applies ``default_store`` itself."""
    if name is not None and not ctx.resilient_parsing:
        check_configured(ctx, parameter, name)
    return name if ctx.get_parameter_source("store") is ParameterSource.COMMANDLINE else None


def _must_be_given(ctx: click.Context, _: click.Parameter, name: str | None) -> str | None:
    if name is not None or ctx.resilient_parsing:
        return name
    raise _which_store(store_names(ctx), "Name")


name_of_store: dict[str, Any] = {"metavar": "NAME", "shell_complete": _complete_stores}
"""Attributes of every option that takes a store."""

stores_option = click.option(
    "--store", "stores", multiple=True, help="A store; repeat for several (default: every store).",
    **name_of_store,
)  # fmt: skip
store_option = setting_option(
    "--store", "store", setting="default_store", callback=_or_the_only_store,
    help="The store; not needed when there is only one.", **name_of_store,
)  # fmt: skip
store_of_file_option = setting_option(
    "--store", "store", setting="default_store", callback=_if_given,
    help="The store; not needed when only one has the file.", **name_of_store,
)  # fmt: skip
store_argument = click.argument(
    "name", metavar="NAME", required=False, callback=_must_be_given, shell_complete=_complete_stores
)
any_store_argument = click.argument(
    "name", metavar="[NAME]", required=False, callback=_or_the_only_store, shell_complete=_complete_stores
)
_FROM_THE_FOLDER = "a pattern starts at the folder, as 'drafts/**' does. Repeat for several."
include_option = click.option(
    "--include", multiple=True, metavar="PATTERN", help=f"Take these files; {_FROM_THE_FOLDER}"
)
exclude_option = click.option(
    "--exclude", multiple=True, metavar="PATTERN", help=f"Leave these out; {_FROM_THE_FOLDER}"
)
