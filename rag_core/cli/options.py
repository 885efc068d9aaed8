"""The common parts of commands: options, the owner's library, and printing an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from rag_core.api.encoding import JsonValue, json_bytes, plain
from rag_core.cli.commands import wants_json
from rag_core.cli.screen import warn
from rag_core.config import load, logs
from rag_core.errors import InvalidInput, NotFound, RagError
from rag_core.files import current_folder, shared_by
from rag_core.library import Library
from rag_core.types import OWNER

if TYPE_CHECKING:
    from rag_core.config import Settings  # brings pydantic, which commands need only for settings


def _settings(ctx: click.Context) -> Settings:
    # docs/make_cli.py passes the defaults, not this machine's settings
    given: Settings | None = ctx.find_root().obj
    return given or load()


def settings_of_owner() -> Settings:
    """Return the settings for the command that runs now. Print their warnings and configure logging. Raises
    InvalidSettings."""
    settings = _settings(click.get_current_context())
    logs.configure(settings.log_level)
    warn(*settings.warnings)
    return settings


shared_disk_option = click.option(
    "--yes",
    "shared_disk",
    is_flag=True,
    help="Allow stores on a network disk or in a cloud folder.",
)


def library_of_owner(*, shared_disk: bool = False) -> Library:
    """Return the owner's library, which is closed when the command ends. If ``shared_disk`` and the data
    folder is on a network disk or in a cloud folder, write the setting of that name into config.yaml."""
    settings = settings_of_owner()
    if shared_disk and not settings.shared_disk and shared_by(settings.data_dir):
        from rag_core.config.change import change  # only now: it brings a parser of YAML

        settings = change("shared_disk", True)
        warn("Stores may be on this disk from now on: the setting shared_disk in config.yaml is true.")
    library = Library.open(settings)
    click.get_current_context().call_on_close(library.close)
    return library


def store_names(ctx: click.Context) -> list[str]:
    """Return the names of all stores."""
    with closing(Library.open(_settings(ctx))) as library:
        return library.stores.names(OWNER)


def emit(value: JsonValue, show: Callable[[], None] | str) -> None:
    """Print ``value`` as JSON if --json was given. Otherwise print ``show`` if it is a text, else call it: it
    must print the result for people."""
    if wants_json():
        print_json(value)
    elif isinstance(show, str):
        click.echo(plain(show))
    else:
        show()


def print_json(value: JsonValue) -> None:
    """Print JSON without control characters."""
    click.echo(json_bytes(value), nl=False)


@contextmanager
def asking(option: str) -> Iterator[None]:
    """Context manager around a question to the owner. If it cannot be answered, as in a script, a RagError
    names the ``option`` to use instead."""
    try:
        yield
    except click.Abort as stopped:
        if not isinstance(stopped.__context__, EOFError):
            raise
        click.echo(err=True)  # ends the line of the question
        raise RagError("Stopped.", f"Nothing was changed. In a script, add {option}.") from None


class SettingOption(click.Option):
    """An option whose default is the setting called ``setting``. Help shows the setting's value on this
    computer."""

    def __init__(self, *args: Any, setting: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.setting = setting

    def get_default(self, ctx: click.Context, call: bool = True) -> Any:
        """Return the value of the setting, or click's default if the setting has no value."""
        try:
            value = getattr(_settings(ctx), self.setting)
        except InvalidInput:
            if not ctx.resilient_parsing:  # help and completion work even with a broken config.yaml
                raise
            value = None
        return super().get_default(ctx, call) if value in (None, ()) else value


def setting_option(*names: str, setting: str, **attributes: Any) -> Callable[[Any], Any]:
    """Return a ``click.option`` whose default is a setting."""
    return click.option(*names, cls=SettingOption, setting=setting, show_default=True, **attributes)


def _complete_stores(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    with suppress(RagError, OSError):
        return [name for name in store_names(ctx) if name.startswith(incomplete)]
    return []


def complete_files(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Let the shell complete file names. Names from a store are not used, because they could contain text
    that a shell would run."""
    return [CompletionItem(incomplete, type="file")]


def _only_store(names: Sequence[str], advice: str) -> str:
    if not names:
        raise NotFound("There is no store yet.", "Create a store with `commonplace init FOLDER`.")
    if len(names) > 1:
        raise InvalidInput("Which store is meant?", f"{advice} There are: {', '.join(names)}.")
    return names[0]


def store_of_file(library: Library, store: str | None, path: str) -> str:
    """Return ``store``; if it is None, return the only store that may have the file at ``path``. Raises
    InvalidInput if several may have it, and NotFound if there is no store."""
    return store or _only_store(
        library.files.stores_meant(OWNER, path, current_folder()), "Name it with --store."
    )


def _or_the_only_store(ctx: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    if name is not None or ctx.resilient_parsing:
        return name
    advice = "Name it with --store." if isinstance(parameter, click.Option) else "Name it."
    return _only_store(store_names(ctx), advice)


name_of_store: dict[str, Any] = {"metavar": "NAME", "shell_complete": _complete_stores}
"""Attributes of every option that takes the name of a store."""

stores_option = click.option(
    "--store",
    "stores",
    multiple=True,
    help="A store; repeat for several (default: every store).",
    **name_of_store,
)
store_option = setting_option(
    "--store",
    "store",
    setting="default_store",
    callback=_or_the_only_store,
    help="The store; not needed when there is only one.",
    **name_of_store,
)
store_of_file_option = click.option(
    "--store", "store", help="The store; not needed when only one has the file.", **name_of_store
)
store_argument = click.argument("name", **name_of_store)
any_store_argument = click.argument(
    "name", metavar="[NAME]", required=False, callback=_or_the_only_store, shell_complete=_complete_stores
)
_FROM_THE_FOLDER = "the pattern starts in the folder, such as 'drafts/**'. Repeat for several."
include_option = click.option(
    "--include", multiple=True, metavar="PATTERN", help=f"Index these files; {_FROM_THE_FOLDER}"
)
exclude_option = click.option(
    "--exclude", multiple=True, metavar="PATTERN", help=f"Leave out these files; {_FROM_THE_FOLDER}"
)
