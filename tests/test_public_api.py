"""What ``rag_core`` offers by name, and what that costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import rag_core

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
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["[]", rag_core.__version__]
