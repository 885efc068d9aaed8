"""Changing one setting in config.yaml. Everything else in the file stays as it is, including comments."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import yaml
from filelock import FileLock

from rag_core import system
from rag_core.config.origin import Origin
from rag_core.config.settings import BY_NAME, Key, Settings
from rag_core.config.sources import file_text, load
from rag_core.errors import InvalidInput, InvalidSettings

_BARE = re.compile(r"[0-9]+(?:\.[0-9]+)?|true|false")  # values that YAML does not read as text


def change(name: str, value: str | float | bool | None) -> Settings:
    """Write a setting into config.yaml, or remove it if ``value`` is None. Return the new settings.

    Raises:
        InvalidInput: the setting is unknown or secret, or a variable or .env overrides it.
        InvalidSettings: the value is not allowed, or the file cannot be read or written.

    """
    key = BY_NAME.get(name)
    if key is None:
        raise InvalidInput(f"{name!r} is not a setting.", "`commonplace config` lists them.")
    if key.secret:
        raise InvalidInput(f"{name} is a secret.", f"Write {key.variable}=… into .env instead.")
    folder = Path(str(load().config_file)).parent
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with FileLock(folder / ".config.lock"):  # of all processes
            return _change(key, value)
    except OSError as error:
        problem = f"{str(error.filename or folder)!r} cannot be written: {error.strerror}."
        raise InvalidSettings(problem, "Check whether you may write to its folder.") from error


def _change(key: Key, value: str | float | bool | None) -> Settings:
    now = load()
    origin = now.origin(key.name)
    if origin.layer in ("environment", ".env"):
        problem = f"{key.name} is set in {origin}, which overrides config.yaml."
        raise InvalidInput(problem, "Change it there, or remove it there.")
    file = Path(os.path.realpath(str(now.config_file)))
    text = _changed(file_text(Origin("config.yaml", file=str(file), line=1)), key, value)
    after = load(config_text=text)
    unfinished = file.with_name(f".{file.name}.new")
    unfinished.write_text(text, encoding="utf-8")
    if file.exists():
        unfinished.chmod(file.stat().st_mode)
    system.replace(unfinished, file)
    return after


def _changed(text: str, key: Key, value: str | float | bool | None) -> str:
    """Return ``text`` with the value of one key changed, added or removed. All other characters stay the
    same."""
    root = yaml.compose(text, yaml.BaseLoader)
    is_bare = isinstance(value, str) and _BARE.fullmatch(value)
    written = value if is_bare else json.dumps(value, ensure_ascii=False)
    line = "" if value is None else f"{key.name}: {written}\n"
    pairs = root.value if isinstance(root, yaml.MappingNode) else []
    if isinstance(root, yaml.MappingNode) and root.flow_style:
        raise InvalidInput(
            "config.yaml holds its settings in braces, which the app cannot change.",
            f"Remove the braces and write one setting a line, like '{line.strip() or key.name}'.",
        )
    place = next(((name, old) for name, old in pairs if name.value == key.name), None)
    if place is None:
        return f"{text}\n{line}" if text and not text.endswith("\n") else text + line
    name, old = place
    if not isinstance(old, yaml.ScalarNode) or old.style in ("|", ">"):
        problem = f"{name.value} has several lines in config.yaml, which the app cannot change."
        raise InvalidInput(problem, "Change it in the file.")
    if value is not None:
        return f"{text[: name.end_mark.index]}: {written}{text[old.end_mark.index :]}"
    _, newline, rest = text[old.end_mark.index :].partition("\n")
    return text[: name.start_mark.index] + (rest if newline else "")
