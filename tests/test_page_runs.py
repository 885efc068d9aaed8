"""What the Index page tells of a store's runs: what failed, what is asked for, and what there was."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from rag_core.store import lock
from rag_core.store.jobs import UNSAID
from rag_core.types import OWNER
from tests.conftest import index
from tests.index_page import finished, page, texts, until
from tests.pages import drawn, press
from ui.deps import library

STORE = "mine"
BROKEN = b"\xff\xfe" + b"\x00\xd8" * 9


pytestmark = pytest.mark.usefixtures("owner")


def done(app: AppTest) -> AppTest:
    """Until nothing runs and nothing is asked for."""
    return until(app, lambda app: finished(app) and not library().jobs.requested(OWNER, STORE))


def choose_run(app: AppTest, row: int) -> AppTest:
    app.session_state[f"index_runs_{STORE}"] = {"selection": {"rows": [row], "columns": [], "cells": []}}
    return drawn(app.run())


# --- what could not be read -------------------------------------------------------------


def test_files_that_failed_are_one_line_a_reason_and_only_they_are_tried_again(notes: Path) -> None:
    for name in ("a.md", "b.md"):
        (notes / name).write_bytes(BROKEN)
    (notes / "good.md").write_text("It is good.\n")
    index(library(), STORE, notes)
    app = page()
    assert "**2 files could not be read.** It is marked as UTF-16-LE" in texts(app)
    assert "a.md\nb.md" in texts(app)
    (notes / "a.md").write_text("It is mended.\n")
    (notes / "new.md").write_text("It is new.\n")

    done(press(app, "index_retry_0"))

    assert "**1 file could not be read.**" in texts(app)
    assert [document.path for document in library().documents.all(OWNER, STORE)] == [
        "a.md",
        "b.md",
        "good.md",
    ]


# --- what is asked for ------------------------------------------------------------------


def test_what_is_asked_while_another_process_holds_the_store_is_kept_and_shown(notes: Path) -> None:
    (notes / "a.md").write_text("It is a note.\n")
    index(library(), STORE, notes)
    with lock.hold(library().settings.store_dir / f"{STORE}.db"):
        app = press(page(), f"source_index_{STORE}_1")
        until(app, lambda app: f"Asked for and not begun: {notes}." in texts(app))
        assert library().jobs.requested(OWNER, STORE)
    done(press(app, "index_go_on"))
    assert library().jobs.all(OWNER, STORE, 1)[0].state == "done"


def test_a_run_that_was_killed_says_so_and_can_go_on(notes: Path) -> None:
    (notes / "a.md").write_text("It is a note.\n")
    library().create_store(OWNER, STORE, "hashing")
    library().add_source(OWNER, STORE, notes, ("**/*",))
    library().jobs.request(OWNER, STORE)
    with library()._shared.stores.open(OWNER, STORE).store.note() as db:
        db.execute("INSERT INTO jobs (state, start_time) VALUES ('running', '2026-01-01T00:00:00Z')")
    app = page()
    assert "it did not finish" in texts(app)
    assert UNSAID in texts(app)

    done(press(app, "index_go_on"))

    assert library().stores.info(OWNER, STORE).file_count == 1


# --- what there was ---------------------------------------------------------------------


def test_the_last_runs_are_a_table_and_one_is_shown_with_its_files(notes: Path) -> None:
    (notes / "a.md").write_text("It is a note.\n")
    (notes / "b.md").write_bytes(BROKEN)
    index(library(), STORE, notes)
    (notes / "b.md").write_text("It is mended.\n")
    index(library(), STORE)
    app = page()
    table = app.dataframe[-1].value
    assert list(table["Files"]) == ["1 changed, 1 unchanged", "1 added, 1 failed"]
    assert "could not be read" not in texts(app)

    choose_run(app, 1)

    assert "**1 file could not be read.**" in texts(app)
    assert list(app.dataframe[-1].value["File"]) == ["a.md"]
