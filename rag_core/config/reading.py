"""Where settings are read: environment > ``.env`` > ``config.yaml`` > default. Reading creates nothing.

Both files stand in the configuration folder and nowhere else: what lies in the working directory
must not configure us. Each is checked as a whole, whatever wins over it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import platformdirs

from rag_core.config import dotenv, tree
from rag_core.config.keys import (
    BORROWED,
    BY_NAME,
    BY_VARIABLE,
    HOME,
    KEYS,
    NOT_SETTINGS,
    PLAIN,
    PREFIX,
    Key,
    meant,
    suggest,
)
from rag_core.config.kinds import Folder, Labels, PromptsByEmbedder, SizesByType, Stores
from rag_core.config.origin import Layer, Origin
from rag_core.config.settings import Settings
from rag_core.config.tables import (
    as_meant,
    check_overlap,
    fields,
    read_chunking,
    read_labels,
    read_prompts,
    read_stores,
    unknown,
)
from rag_core.config.values import from_node, from_text
from rag_core.errors import InvalidInput

MAX_BYTES = 256_000
"""A longer file is refused."""

Found = dict[str, tuple[Any, Origin]]
"""Key → its value and where it was given."""

_NAMES = {name: key.name for name, key in BY_NAME.items()}
_VARIABLES = {name: key.variables[0] for name, key in BY_VARIABLE.items()}


class _Places(NamedTuple):
    """Where things are, which only the environment says."""

    config: Path
    data: Path
    user: str


def load(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings that the environment (default: this process's) and the two files give.

    Raises InvalidInput that names variable or file and line, what is wrong and what is allowed.
    """
    env = os.environ if environ is None else environ
    given = tuple(sorted((n, v) for n, v in env.items() if _is_ours(n) and v))
    places = _places(env.get(HOME, ""))
    return _load(given, places, _bytes(places.config / "config.yaml"), _bytes(places.config / ".env"))


def _is_ours(name: str) -> bool:
    return (name.startswith(PREFIX) and name != HOME) or name in BORROWED


def _places(home: str) -> _Places:
    user = os.path.expanduser("~")  # noqa: PTH111 - Path.home raises where there is none
    if home:
        folder = from_text(Folder(), home, Origin("environment", HOME))
        return _Places(folder, folder / "data", user)
    data = platformdirs.user_data_dir("commonplace", appauthor=False)
    return _Places(Path(platformdirs.user_config_dir("commonplace", appauthor=False)), Path(data), user)


def _bytes(path: Path) -> bytes | None:
    """What the file holds; None when it is not there."""
    origin = Origin(_layer(path), "", str(path), 1)
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


def _layer(path: Path) -> Layer:
    return ".env" if path.name == ".env" else "config.yaml"


# Asked on every rerun of a page; the files' content is the key, so a change is seen at once.
@lru_cache(maxsize=8)
def _load(
    given: tuple[tuple[str, str], ...], places: _Places, config: bytes | None, dotenv_: bytes | None
) -> Settings:
    config_file, env_file = places.config / "config.yaml", places.config / ".env"
    environment, warnings = _from_environment(given)
    borrowed, misread = _borrowed(given)
    found = borrowed | _from_yaml(config, config_file) | _from_dotenv(dotenv_, env_file) | environment
    _check_sizes(found)
    values = {key.attribute: found[key.name][0] for key in KEYS if key.name in found}
    values["model_dir"] = values.get("model_dir") or places.data / "models"
    values["roots"] = values.get("roots") or (Path(places.user),)
    return Settings(
        data_dir=places.data,
        **values,
        config_file=config_file,
        env_file=env_file,
        origins={name: origin for name, (_, origin) in found.items()},
        warnings=warnings + misread,
    )


# --- the three layers -------------------------------------------------------------------


def _from_yaml(data: bytes | None, path: Path) -> Found:
    if data is None:
        return {}
    file = Origin("config.yaml", "", str(path), 1)
    table = tree.parse(_text(data, file), file)
    written = fields(table, file, _NAMES, "settings")
    return {name: (_from_node(BY_NAME[name], *each), each[1]) for name, each in written.items()}


def _from_node(key: Key, node: tree.Node, origin: Origin) -> Any:
    if key.secret:
        raise origin.error(
            f"{origin.name} is a secret, which config.yaml must not hold",
            f"Write {key.variables[0]}=… into .env beside it, or set the variable.",
        )
    match key.kind:
        case SizesByType():
            return read_chunking(node, origin)
        case PromptsByEmbedder():
            return read_prompts(node, origin)
        case Stores():
            return read_stores(node, origin)
        case Labels():
            return read_labels(node, origin)
        case plain:
            return from_node(plain, as_meant(node, origin), origin, secret=key.secret)


def _from_dotenv(data: bytes | None, path: Path) -> Found:
    if data is None:
        return {}
    file = Origin(".env", "", str(path), 1)
    given = []
    for name, value, line in dotenv.parse(_text(data, file), file):
        place = file.at(line, name)
        if name == HOME:
            raise place.error(f"{HOME} says where this file is", "Set it in the environment.")
        if name not in BY_VARIABLE:
            raise unknown(name, place, _VARIABLES)
        given.append((value, place))
    return _from_variables(given)


def _from_environment(given: tuple[tuple[str, str], ...]) -> tuple[Found, tuple[str, ...]]:
    """What the variables give, and a sentence about each that means nothing: it may be another
    version's, so it stops nobody."""
    known = [(value, Origin("environment", name)) for name, value in given if name in BY_VARIABLE]
    strange = [n for n, _ in given if n not in {*BY_VARIABLE, *BORROWED} and not n.startswith(NOT_SETTINGS)]
    return _from_variables(known), tuple(_means_nothing(name) for name in strange)


def _borrowed(given: tuple[tuple[str, str], ...]) -> tuple[Found, tuple[str, ...]]:
    """What variables of other programs give, and a sentence about each that cannot be read: that is their
    business, so it stops nobody."""
    found: Found = {}
    misread = []
    for name, value in given:
        if key := BORROWED.get(name):
            origin = Origin("environment", name)
            try:
                found[key.name] = from_text(PLAIN[key.name], value, origin, secret=key.secret), origin
            except InvalidInput as error:
                misread.append(f"{error.message} It is passed over.")
    return found, tuple(misread)


def _means_nothing(name: str) -> str:
    return f"The variable {name} means nothing to Commonplace. {suggest(name, _VARIABLES)}"


def _from_variables(given: list[tuple[str, Origin]]) -> Found:
    found: Found = {}
    for value, origin in given:
        key = BY_VARIABLE[origin.name]
        if key.name in found:
            other = found[key.name][1].name
            twice = "is there twice" if other == origin.name else f"and {other} mean the same"
            raise origin.error(f"{origin.name} {twice}", "Remove one of them.")
        if value:
            text = meant(origin.name, value)
            found[key.name] = from_text(PLAIN[key.name], text, origin, secret=key.secret), origin
    return found


def _text(data: bytes, file: Origin) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = file.at(data.count(b"\n", 0, error.start) + 1, "")
        raise place.error("This is not UTF-8 text", "Save the file as UTF-8.") from None


def _check_sizes(found: Found) -> None:
    """Raises InvalidInput unless chunk_overlap has a chunk_size that is larger."""
    if "chunk_overlap" not in found:
        return
    overlap, origin = found["chunk_overlap"]
    if "chunk_size" not in found:
        raise origin.error(f"{origin.name} stands without a chunk_size", "Give both, or none.")
    check_overlap(found["chunk_size"][0], overlap, origin)
