"""The environment that this program runs in, and the command that adds an optional package to it."""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec
from pathlib import Path

from rag_core.system import join_command

DISTRIBUTION = "commonplace-search"


def install_line(extra: str) -> str:
    """Return the command that installs an optional part of this program, in backquotes.

    A clone is named by its folder. Elsewhere the part's own packages are named: the name of this program may
    be somebody else's on a package index.
    """
    package = Path(__file__).parent
    is_clone = not (package / "_app").is_dir()  # only a wheel has the app inside the package
    wanted = ["-e", f"{package.parent}[{extra}]"] if is_clone else _requirements(extra)
    pip = [sys.executable, "-m", "pip", "install"]
    if not has_pip():
        pip = ["uv", "pip", "install", "--python", sys.executable]
    return f"`{join_command([*pip, *wanted])}`"


def has_pip() -> bool:
    """Whether pip is installed in this environment. One that uv created has none."""
    return find_spec("pip") is not None


def _requirements(extra: str) -> list[str]:
    """Return the packages that an optional part adds, with their versions, from the installed metadata."""
    from importlib.metadata import requires  # only now: it is slow to import

    lines = [line.partition(";") for line in requires(DISTRIBUTION) or ()]
    marker = re.compile(rf"""\bextra == ['"]{re.escape(extra)}['"]""")
    return [requirement.strip() for requirement, _, condition in lines if marker.search(condition)]
