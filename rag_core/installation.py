"""The environment that runs this program, and the command that adds an optional package to it."""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec
from pathlib import Path

from rag_core.system import join_command

DISTRIBUTION = "commonplace-search"


def install_line(extra: str) -> str:
    """Return the command that installs an optional part of this program, in backquotes.

    In a clone, the command names the clone's folder. Elsewhere it names the packages of the part, because on
    a package index the name of this program may belong to another project.
    """
    package = Path(__file__).parent
    is_clone = not (package / "_app").is_dir()  # only a wheel has the app inside the package
    wanted = ["-e", f"{package.parent}[{extra}]"] if is_clone else _requirements(extra)
    pip = [sys.executable, "-m", "pip", "install"]
    if not has_pip():
        pip = ["uv", "pip", "install", "--python", sys.executable]
    return f"`{join_command([*pip, *wanted])}`"


def has_pip() -> bool:
    """Whether pip is installed in this environment. Environments made by uv have no pip."""
    return find_spec("pip") is not None


def _requirements(extra: str) -> list[str]:
    """Return the packages that an optional part needs, with their versions, from the installed metadata."""
    from importlib.metadata import requires  # only now: it is slow to import

    lines = [line.partition(";") for line in requires(DISTRIBUTION) or ()]
    marker = re.compile(rf"""\bextra == ['"]{re.escape(extra)}['"]""")
    return [requirement.strip() for requirement, _, condition in lines if marker.search(condition)]
