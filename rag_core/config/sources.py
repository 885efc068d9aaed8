"""Where settings are read: environment > ``.env`` > ``config.yaml`` > default. Reading creates nothing.

Both files are read only from the configuration folder, because files in the working directory must not change
settings. Each source is checked as a whole, even if another source overrides it.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import platformdirs
from dotenv.parser import parse_stream

from rag_core.config.keys import HOME, VARIABLE_PREFIX
from rag_core.config.kinds import FOLDER
from rag_core.config.origin import Origin, Text
from rag_core.config.settings import BORROWED, BY_NAME, BY_VARIABLE, Settings
from rag_core.config.tables import check_overlap, fields, suggest, unknown
from rag_core.errors import InvalidInput

NOT_SETTINGS = (
    HOME,
    f"{VARIABLE_PREFIX}TEST_",
    f"{VARIABLE_PREFIX}TORTURE",
)  # the last two are for the test suite
Given = dict[str, Any]
"""Setting → its value as written."""


def load(environ: Mapping[str, str] | None = None, *, config_text: str | None = None) -> Settings:
    """Read the settings from the environment (default: of this process), .env and config.yaml.
    ``config_text`` replaces the content of config.yaml. Raises InvalidSettings with the place and the allowed
    values."""
    env = os.environ if environ is None else environ
    ours = (
        (name, value) for name, value in env.items() if name.startswith(VARIABLE_PREFIX) or name in BORROWED
    )
    given = tuple(sorted((name, value) for name, value in ours if value and name != HOME))
    if home := env.get(HOME):
        config: Path = FOLDER.read(Text(home, Origin("environment", HOME)))
        data = config / "data"
    else:
        config = Path(platformdirs.user_config_dir("commonplace", appauthor=False))
        data = Path(platformdirs.user_data_dir("commonplace", appauthor=False))
    user = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home raises where there is none
    yaml = Origin("config.yaml", "", str(config / "config.yaml"), 1)
    dotenv = Origin(".env", "", str(config / ".env"), 1)
    in_yaml = file_text(yaml) if config_text is None else config_text
    return _load(given, user, data, yaml, dotenv, in_yaml, file_text(dotenv))


def file_text(file: Origin) -> str:
    """Return the text of a settings file; '' if it does not exist. Raises InvalidSettings if it cannot be
    read or is not UTF-8."""
    try:
        data = Path(file.file).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        advice = "Check whether you may read it and its folder."
        raise file.error(f"The file cannot be read: {error.strerror}.", advice) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = file.at(data.count(b"\n", 0, error.start) + 1)
        raise place.error("This is not UTF-8 text.", "Save the file as UTF-8.") from None


# Called on every rerun of a page. The files' content is the key, so a change is seen at once.
@lru_cache(maxsize=8)
def _load(
    given: tuple[tuple[str, str], ...],
    user: Path,
    data: Path,
    yaml: Origin,
    dotenv: Origin,
    in_yaml: str,
    in_dotenv: str,
) -> Settings:
    environment, borrowed, warnings = _from_environment(given)
    layers = (environment, _from_dotenv(in_dotenv, dotenv), _from_yaml(in_yaml, yaml), borrowed)
    placed = {
        "data_dir": data,
        "model_dir": data / "models",
        "roots": (user,),
        "config_file": Path(yaml.file),
        "env_file": Path(dotenv.file),
        "origins": _origins(layers),
        "warnings": tuple(warnings),
    }
    return _checked([_by_attribute(layer) for layer in layers], placed)


def _checked(sources: Sequence[dict[str, Any]], placed: dict[str, Any]) -> Settings:
    """Return the settings from all ``sources``. Earlier sources override later ones. Each source is also
    checked alone."""
    for source in sources:
        Settings(sources=(source, placed))
    settings = Settings(sources=(*sources, placed))
    if settings.chunk_overlap is not None:
        origin = settings.origin("chunk_overlap")
        if settings.chunk_size is None:
            raise origin.error(f"{origin.name} is set without a chunk_size.", "Give both, or none.")
        check_overlap(settings.chunk_size, settings.chunk_overlap, origin)
    return settings


def _by_attribute(layer: Given) -> dict[str, Any]:
    return {BY_NAME[name].attribute: value for name, value in layer.items()}


def _origins(layers: Sequence[Given]) -> dict[str, Origin]:
    """Return the place of each setting's value: in the first of the ``layers`` that has the setting."""
    merged = {name: value for layer in reversed(layers) for name, value in layer.items()}
    return {name: value.origin for name, value in merged.items()}


def _from_yaml(text: str, file: Origin) -> Given:
    if not text.strip():
        return {}
    from rag_core.config import yaml_file  # only now: it imports yaml

    given = fields(yaml_file.parse_yaml(text, file), BY_NAME, "a table of settings")
    for name, value in given.items():
        if BY_NAME[name].secret:
            raise value.origin.error(
                f"{value.origin.name} is a secret, which config.yaml must not hold.",
                f"Write {BY_NAME[name].variable}=… into .env next to it, or set the variable.",
            )
    return {name: value for name, value in given.items() if value or not BY_NAME[name].kind.before}


def _from_dotenv(text: str, file: Origin) -> Given:
    given = []
    for binding in parse_stream(io.StringIO(text)):
        written = binding.original.string
        blank = len(written) - len(written.lstrip())
        place = file.at(binding.original.line + written[:blank].count("\n"), binding.key or "")
        if binding.error or (binding.key and binding.value is None):
            advice = "Write NAME=VALUE, or NAME='VALUE' if the value contains a quote or ' #'."
            raise place.error("This is not an assignment.", advice)
        if binding.key == HOME:
            raise place.error(f"{HOME} says where this file is.", "Set it in the environment.")
        if binding.key:
            if binding.key not in BY_VARIABLE:
                raise unknown(Text(binding.key, place), BY_VARIABLE)
            given.append(Text(binding.value or "", place))
    return _from_variables(given)


def _from_environment(given: tuple[tuple[str, str], ...]) -> tuple[Given, Given, list[str]]:
    """Return the values of our variables, those of other programs' variables, and a warning for each variable
    that cannot be used."""
    ours: list[Text] = []
    borrowed: Given = {}
    warnings: list[str] = []
    for name, value in given:
        written = Text(value, Origin("environment", name))
        if name in BY_VARIABLE:
            ours.append(written)
        elif name in BORROWED:
            try:
                BORROWED[name].kind.read(written)
                borrowed[BORROWED[name].name] = written
            except InvalidInput as error:
                warnings.append(f"{error.message} It is ignored.")
        elif not name.startswith(NOT_SETTINGS):
            problem = f"The variable {name} is not a setting of Commonplace. {suggest(name, BY_VARIABLE)}"
            warnings.append(problem)
    return _from_variables(ours), borrowed, warnings


def _from_variables(given: list[Text]) -> Given:
    values: Given = {}
    for value in given:
        name = value.origin.name
        key = BY_VARIABLE[name].name
        if key in values:
            raise value.origin.error(f"{name} is set twice.", "Remove one of them.")
        if value:
            values[key] = value
    return values
