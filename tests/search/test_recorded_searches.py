"""Three hundred searches of a small vault give what was recorded: hits, scores, reasons, notices and counts.

After a change that is meant, `python -m tests.search.test_recorded_searches` records them again;
the difference in ``recorded_searches.txt`` shows what the change does.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from rag_core.config import Settings
from rag_core.library import Library
from tests.conftest import index
from tests.search.recorded import line, searches, write_vault

RECORDED = Path(__file__).with_name("recorded_searches.txt")


def answers(folder: Path) -> list[str]:
    """Index the vault in ``folder`` and return a line for each search."""
    write_vault(folder / "vault")
    library = Library.open(Settings(folder / "data", folder / "models", ()))
    try:
        for store in ("garden", "work"):
            index(library, store, folder / "vault" / store)
        return [
            line(asked, library.search(asked.viewer, asked.text, **asked.options)) for asked in searches()
        ]
    finally:
        library.close()


def test_searches_give_what_was_recorded(tmp_path: Path) -> None:
    found, recorded = answers(tmp_path), RECORDED.read_text("utf-8").splitlines()
    assert len(recorded) >= 300
    assert found == recorded


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        RECORDED.write_text("".join(f"{answer}\n" for answer in answers(Path(folder))), "utf-8")
