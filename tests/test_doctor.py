"""Whether the installation works."""

from __future__ import annotations

from pathlib import Path

from rag_core.library import Library
from rag_core.types import OWNER
from tests.command import Run
from tests.diagnosed import EXCLUDES


def test_doctor_names_what_does_not_work(library: Library, vault: Path, tmp_path: Path) -> None:
    (library.settings.store_dir / "broken.db").write_bytes(b"not a database")
    vault.rename(tmp_path / "gone")
    steps = library.upkeep.doctor(OWNER)
    assert next(s for s in steps if "SQLite" in s.sentence).state == "ok"
    assert any(s.state == "no" and "'broken'" in s.sentence for s in steps)
    assert any(s.state == "ok" and s.sentence.startswith("Store 's' opens: ") for s in steps)
    assert any(s.state == "note" and "is not there" in s.sentence for s in steps)


def test_doctor_says_that_a_file_is_no_data_folder(library: Library, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("No folder.")
    (tmp_path / "file").chmod(0o700)
    elsewhere = Library.open(library.settings.model_copy(update={"data_dir": tmp_path / "file"}))
    assert elsewhere.upkeep.doctor(OWNER)[2].state == "no"


def test_doctor_on_the_command_line(run: Run, library: Library, vault: Path) -> None:
    result = run("doctor", "--file", vault / "draft.md")
    assert result.status == 1
    assert "draft.md cannot be found in store 's'" in result.out
    assert f"Next: {EXCLUDES.replace('NUMBER', '1 --store s')}" in result.out
    result = run("doctor", "--file", vault / "a.md", "--query", "heron", "--json")
    found = result.json["stores"][0]
    assert (result.status, found["findable"], found["rank"]) == (0, True, 1)


def test_doctor_without_a_model_says_how_to_get_it(run: Run) -> None:
    result = run("doctor")
    assert result.status == 1
    assert "commonplace model install" in result.out
