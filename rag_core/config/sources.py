"""Where settings are read: environment > ``.env`` > ``config.yaml`` > default. Reading creates nothing.

Both files are read from the configuration folder alone, because files of the working directory must not
configure us. Each is checked as a whole, even where another source overrides it.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import platformdirs
from dotenv.parser import parse_stream

from rag_core.config import yaml_file
from rag_core.config.keys import HOME, PREFIX
from rag_core.config.kinds import FOLDER
from rag_core.config.origin import Layer, Origin, Text
from rag_core.config.settings import BORROWED, BY_NAME, BY_VARIABLE, Settings
from rag_core.config.tables import check_overlap, fields, meant, suggest, unknown
from rag_core.errors import InvalidInput

MAX_BYTES = 256_000
"""A longer file is refused."""

NOT_SETTINGS = (HOME, f"{PREFIX}TEST_", f"{PREFIX}TORTURE")
"""Variables that begin so are no settings: the last two are for the test suite."""

Given = dict[str, Any]
"""Setting → its value as written."""

_NAMES = {name: key.name for name, key in BY_NAME.items()}
_VARIABLES = {name: key.variables[0] for name, key in BY_VARIABLE.items()}


def load(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings that the environment (default: this process's) and the two files give.

    Raises InvalidSettings that names variable or file and line, what is wrong and what is allowed.
    """
    env = os.environ if environ is None else environ
    ours = ((name, value) for name, value in env.items() if name.startswith(PREFIX) or name in BORROWED)
    given = tuple(sorted((name, value) for name, value in ours if value and name != HOME))
    config, data = _folders(env.get(HOME, ""))
    user = os.path.expanduser("~")  # noqa: PTH111 - Path.home raises where there is none
    files = config / "config.yaml", config / ".env"
    return _load(given, Path(user), data, files, (_bytes(files[0]), _bytes(files[1])))


def _folders(home: str) -> tuple[Path, Path]:
    """Where the configuration and the data are."""
    if home:
        folder = FOLDER.read(Text(home, Origin("environment", HOME)))
        return folder, folder / "data"
    config = platformdirs.user_config_dir("commonplace", appauthor=False)
    return Path(config), Path(platformdirs.user_data_dir("commonplace", appauthor=False))


def _bytes(path: Path) -> bytes | None:
    """The content of the file; None when it does not exist."""
    origin = _file(path)
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise origin.error("This is not a file", "Move it away.")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise origin.error(
            f"The file cannot be read: {error.strerror}", "Check who may read it and its folder."
        ) from None
    if len(data) > MAX_BYTES:
        raise origin.error(f"The file is longer than {MAX_BYTES:,} bytes", "Keep only settings in it.")
    return data


def _file(path: Path) -> Origin:
    layer: Layer = ".env" if path.name == ".env" else "config.yaml"
    return Origin(layer, "", str(path), 1)


# Asked on every rerun of a page; the files' content is the key, so a change is seen at once.
@lru_cache(maxsize=8)
def _load(
    given: tuple[tuple[str, str], ...],
    user: Path,
    data: Path,
    files: tuple[Path, Path],
    contents: tuple[bytes | None, bytes | None],
) -> Settings:
    environment, warnings = _from_environment(given)
    borrowed, misread = _borrowed(given)
    config, dotenv = _from_yaml(contents[0], _file(files[0])), _from_dotenv(contents[1], _file(files[1]))
    layers = (environment, dotenv, config, borrowed)
    merged = {name: value for layer in reversed(layers) for name, value in layer.items()}
    placed = {
        "data_dir": data,
        "model_dir": data / "models",
        "roots": (user,),
        "config_file": files[0],
        "env_file": files[1],
        "origins": {name: value.origin for name, value in merged.items()},
        "warnings": (*warnings, *misread),
    }
    sources = [{BY_NAME[name].attribute: value for name, value in layer.items()} for layer in layers]
    for source in sources:
        Settings(sources=(source, placed))  # each is checked as a whole
    settings = Settings(sources=(*sources, placed))
    _check_sizes(settings)
    return settings


def _check_sizes(settings: Settings) -> None:
    """Raises InvalidSettings unless chunk_overlap has a chunk_size that is larger."""
    if settings.chunk_overlap is None:
        return
    origin = settings.origin("chunk_overlap")
    if settings.chunk_size is None:
        raise origin.error(f"{origin.name} stands without a chunk_size", "Give both, or none.")
    check_overlap(settings.chunk_size, settings.chunk_overlap, origin)


# --- the layers -------------------------------------------------------------------------


def _from_yaml(data: bytes | None, file: Origin) -> Given:
    if data is None:
        return {}
    given = fields(yaml_file.parse(_text(data, file), file), _NAMES, "settings")
    for name, value in given.items():
        if BY_NAME[name].secret:
            raise value.origin.error(
                f"{value.origin.name} is a secret, which config.yaml must not hold",
                f"Write {BY_NAME[name].variables[0]}=… into .env beside it, or set the variable.",
            )
    return {name: value for name, value in given.items() if value or not BY_NAME[name].kind.before}


def _from_dotenv(data: bytes | None, file: Origin) -> Given:
    if data is None:
        return {}
    given = []
    for binding in parse_stream(io.StringIO(_text(data, file))):
        written = binding.original.string
        blank = len(written) - len(written.lstrip())
        place = file.at(binding.original.line + written[:blank].count("\n"), binding.key or "")
        if binding.error or (binding.key and binding.value is None):
            raise place.error(
                "This is no assignment", "Write NAME=VALUE, or NAME='VALUE' where it holds a quote or ' #'."
            )
        if binding.key == HOME:
            raise place.error(f"{HOME} says where this file is", "Set it in the environment.")
        if binding.key and binding.key not in BY_VARIABLE:
            raise unknown(Text(binding.key, place), _VARIABLES)
        if binding.key:
            given.append(Text(binding.value or "", place))
    return _from_variables(given)


def _from_environment(given: tuple[tuple[str, str], ...]) -> tuple[Given, list[str]]:
    """The values of the variables, and a warning for each unknown one. It is no error, because the variable
    may belong to another version."""
    known = [Text(value, Origin("environment", name)) for name, value in given if name in BY_VARIABLE]
    warnings = [
        f"The variable {name} means nothing to Commonplace. {suggest(name, _VARIABLES)}"
        for name, _ in given
        if name not in {*BY_VARIABLE, *BORROWED} and not name.startswith(NOT_SETTINGS)
    ]
    return _from_variables(known), warnings


def _borrowed(given: tuple[tuple[str, str], ...]) -> tuple[Given, list[str]]:
    """The values of other programs' variables, and a warning for each that cannot be read. It is no error,
    because the variable is not ours."""
    found: Given = {}
    warnings = []
    for key, written in ((BORROWED[n], Text(v, Origin("environment", n))) for n, v in given if n in BORROWED):
        try:
            key.kind.read(written)
            found[key.name] = written
        except InvalidInput as error:
            warnings.append(f"{error.message} It is passed over.")
    return found, warnings


def _from_variables(given: list[Text]) -> Given:
    found: Given = {}
    for value in given:
        name = value.origin.name
        key = BY_VARIABLE[name].name
        if key in found:
            other = found[key].origin.name
            twice = "is there twice" if other == name else f"and {other} mean the same"
            raise value.origin.error(f"{name} {twice}", "Remove one of them.")
        if value:
            found[key] = meant(name, value)
    return found


def _text(data: bytes, file: Origin) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = file.at(data.count(b"\n", 0, error.start) + 1)
        raise place.error("This is not UTF-8 text", "Save the file as UTF-8.") from None
