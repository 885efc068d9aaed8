"""Where things are, and the few settings there are. Reading creates nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from rag_core.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Settings:
    """What the owner configured. ``roots`` are the folders that the folder picker offers."""

    data_dir: Path
    model_dir: Path
    roots: tuple[Path, ...]

    @property
    def store_dir(self) -> Path:
        """Where the store files are."""
        return self.data_dir / "stores"


def load(environ: Mapping[str, str] | None = None) -> Settings:
    """Settings from the environment: ``COMMONPLACE_HOME`` (config and data; default: the
    system's places), ``COMMONPLACE_MODELS`` (weights; default: ``models`` in the data folder)
    and ``COMMONPLACE_ROOTS`` (folders the picker offers, separated like PATH; default: home).

    Raises InvalidInput for a folder that is not absolute.
    """
    env = os.environ if environ is None else environ
    home = _folder(env, "COMMONPLACE_HOME")
    data_dir = home / "data" if home else Path(platformdirs.user_data_dir("commonplace", appauthor=False))
    roots = tuple(
        _absolute("COMMONPLACE_ROOTS", part)
        for part in env.get("COMMONPLACE_ROOTS", "").split(os.pathsep)
        if part
    )
    return Settings(
        data_dir=data_dir,
        model_dir=_folder(env, "COMMONPLACE_MODELS") or data_dir / "models",
        roots=roots or (Path.home(),),
    )


def _folder(env: Mapping[str, str], key: str) -> Path | None:
    value = env.get(key, "")
    return _absolute(key, value) if value else None


def _absolute(key: str, value: str) -> Path:
    path = Path(os.path.expanduser(value))  # noqa: PTH111 - Path.expanduser raises for an unknown user
    if not path.is_absolute():
        raise InvalidInput(
            f"{key} is {value!r}, which is not an absolute folder.",
            "Write it from the root, like /home/me/x.",
        )
    return path
