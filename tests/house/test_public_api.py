"""What ``rag_core`` offers by name, and what that costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import rag_core
from rag_core import OWNER, Library, Settings, Viewer
from rag_core.errors import Forbidden, InvalidInput
from tests.support.trees import write

NAMES = "OWNER Answer Document Filters Hit Job Library RagError Settings Viewer".split()


def test_public_names_are_listed_in_order() -> None:
    assert rag_core.__all__ == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_public_name_can_be_imported(name: str) -> None:
    assert getattr(rag_core, name) is not None
    assert name in dir(rag_core)


def test_star_import_gives_the_public_names() -> None:
    names: dict[str, object] = {}
    exec("from rag_core import *", names)  # noqa: S102
    assert set(NAMES) <= set(names)


def test_other_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'rag_core' has no attribute 'Nothing'"):
        rag_core.Nothing  # noqa: B018


def test_public_names_are_the_same_objects_as_in_their_modules() -> None:
    from rag_core.library import Library
    from rag_core.types import OWNER

    assert rag_core.Library is Library
    assert rag_core.OWNER is OWNER


def test_importing_the_package_imports_none_of_its_modules() -> None:
    code = """
import sys, rag_core
print([name for name in sys.modules if name.startswith("rag_core.")], rag_core.__version__)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert result.stdout.split() == ["[]", rag_core.__version__]


def test_a_script_needs_no_viewer(home: Path, tmp_path: Path) -> None:
    write(tmp_path, {"tea/green.md": "Green tea steeps for two minutes.", "old/tea/black.md": "Black tea."})
    library = Library.open(Settings(home / "data", home / "data" / "models", (tmp_path,), embedder="hashing"))
    job = library.add(tmp_path / "tea")
    assert job is not None
    assert job.counts["added"] == 1
    assert [hit.document.path for hit in library.search("steeps").hits] == ["green.md"]
    assert library.search("steeps", ["tea"]).hits == library.search(OWNER, "steeps", ["tea"]).hits
    guest = Viewer("guest@example.com", stores=frozenset({"tea"}))
    assert library.search(guest, "steeps").hits == library.searching.search(guest, "steeps").hits
    with pytest.raises(Forbidden):
        library.index(guest, "tea")
    with pytest.raises(InvalidInput, match="There is a store 'tea' already"):
        library.add(tmp_path / "old" / "tea")
    library.close()
