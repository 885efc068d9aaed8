"""Names on disks that ignore case and accents, and output in code pages that lack most characters."""

from __future__ import annotations

import io
import os
import sys
import unicodedata
from pathlib import Path

import pytest

from rag_core import system
from rag_core.cli import main
from rag_core.files import real_folder
from rag_core.library import Library
from rag_core.running.watching import Folder, _below
from rag_core.types import OWNER, Source
from tests.conftest import index
from tests.support.stored import found

pytestmark = pytest.mark.posix  # it plays another system, with what this one has


@pytest.fixture
def case_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk on which the case of a name and the form of its accents do not matter."""
    monkeypatch.setattr(system, "rules", system.MACOS)
    for name in ("stat", "lstat", "scandir", "open"):
        monkeypatch.setattr(os, name, _finding(getattr(os, name)))


def _finding(function):  # type: ignore[no-untyped-def]
    listdir = os.listdir

    def folded(name: str) -> str:
        return unicodedata.normalize("NFC", name).casefold()

    def there(path: str) -> str:
        whole = "/"
        for part in filter(None, path.split("/")):
            try:
                names = listdir(whole)
            except OSError:
                names = []
            same = [name for name in names if folded(name) == folded(part)]
            whole = os.path.join(whole, part if part in names or not same else same[0])  # noqa: PTH118
        return whole

    def called(path: object = ".", *more: object, **options: object) -> object:
        if isinstance(path, str | bytes | os.PathLike) and options.get("dir_fd") is None:
            text = os.fsdecode(path)
            if text.startswith("/"):
                path = os.fsencode(there(text)) if isinstance(path, bytes) else there(text)
        return function(path, *more, **options)

    return called


@pytest.fixture
def typed(case_ignored: None, tmp_path: Path) -> Path:
    """The path of a folder as somebody types it: in another case, with composed accents."""
    folder = tmp_path / "Notes" / unicodedata.normalize("NFD", "Café")
    folder.mkdir(parents=True)
    (folder / "Tea.md").write_text("About green tea.\n", "utf-8")
    return tmp_path / "notes" / "café"


def test_a_folder_is_kept_as_the_disk_spells_it(typed: Path, tmp_path: Path) -> None:
    assert str(real_folder(typed)) == str(tmp_path / "Notes" / unicodedata.normalize("NFD", "Café"))


def test_one_folder_in_two_spellings_is_one_source(typed: Path, library: Library) -> None:
    index(library, "s", typed)
    index(library, "s", typed.parent.parent / "NOTES" / "CAFÉ", "*.md")
    assert len(library.stores.info(OWNER, "s").sources) == 1
    assert found(library, "tea") == ["Tea.md"]


def test_changes_that_the_system_reports_belong_to_the_folder(typed: Path) -> None:
    root = real_folder(typed)
    folder = Folder("s", Source(1, str(root), ("**/*",), (), "", False, False), 1)
    assert _below(folder, {str(root / "Tea.md")}) == [b"Tea.md"]


def test_output_in_a_code_page_that_lacks_a_character_escapes_it(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / "会議.md").write_text("# 会議\n\nThe meeting → Tokyo.\n", "utf-8")
    index(library, "s", notes)
    for words in (["query", "meeting"], ["list"], ["show", "会議.md"]):
        shown = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, "cp1252", write_through=True))
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert not ended.value.code
        assert rb"\u4f1a\u8b70" in shown.getvalue()
