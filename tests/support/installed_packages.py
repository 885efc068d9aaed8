"""Packages that add something to Commonplace: the example, installed by pip, and made-up ones."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import invalidate_caches
from pathlib import Path

import pytest

from rag_core import providers
from rag_core.extract import chunkers, filetypes

EXAMPLE = Path(__file__).parent / "example_package"

Install = Callable[..., None]


@pytest.fixture(scope="session")
def example_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example package, installed as a user would, without a network."""
    copied = shutil.copytree(EXAMPLE, tmp_path_factory.mktemp("source") / "example")
    target = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-index", "--no-build-isolation", "--target", str(target), str(copied)]
    subprocess.run(command, check=True, capture_output=True, encoding="utf-8")
    return target


@pytest.fixture
def extended(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], None]]:
    """Lets packages of a folder be found as if they had always been there."""
    before = set(sys.modules)

    def extend(folder: Path) -> None:
        if str(folder) not in sys.path:
            monkeypatch.syspath_prepend(str(folder))
        _forget()

    yield extend
    monkeypatch.undo()
    _forget()
    for name in set(sys.modules) - before:
        if name.partition(".")[0].startswith(("commonplace_example", "made_up")):
            del sys.modules[name]


@pytest.fixture
def example_package(example_folder: Path, extended: Callable[[Path], None]) -> None:
    """The example package is installed."""
    extended(example_folder)


@pytest.fixture
def install(tmp_path: Path, extended: Callable[[Path], None]) -> Install:
    """Makes up a package and installs it: its name and version, its entry points by group, and the source
    of its one module, ``made_up_…``."""

    def install(package: str, version: str, entries: dict[str, dict[str, str]], source: str = "") -> None:
        folder = tmp_path / "packages"
        about = folder / f"{package.replace('-', '_')}-1.dist-info"
        about.mkdir(parents=True, exist_ok=True)
        (about / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n", "utf-8"
        )
        lines = [
            line
            for group, named in entries.items()
            for line in (f"[commonplace.{group}]", *(f"{name} = {target}" for name, target in named.items()))
        ]
        (about / "entry_points.txt").write_text("\n".join(lines), "utf-8")
        (folder / f"made_up_{package.replace('-', '_')}.py").write_text(source, "utf-8")
        extended(folder)

    return install


def _forget() -> None:
    """Let everything be looked for again, as in a new process."""
    invalidate_caches()
    for remembered in (
        filetypes.packages,
        chunkers.installed_chunkers,
        providers.added_embedders,
        providers.added_vector_indexes,
    ):
        remembered.cache_clear()
