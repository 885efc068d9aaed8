"""Files are read ahead by several processes, in their order, and never more than there is room for."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from rag_core.errors import ExtractError
from rag_core.extract import TIME_LIMIT_S, Worker, Workers, extract, worker
from rag_core.library import Library
from rag_core.types import OWNER, Extracted
from tests.conftest import index
from tests.support import documents_made as made
from tests.support.waiting import until


@pytest.fixture
def workers() -> Workers:
    return Workers(Worker)


def test_each_result_comes_in_its_turn_and_what_is_early_is_begun_before(workers: Workers) -> None:
    begun: list[int] = []
    both = threading.Barrier(2, timeout=60)

    def work(number: int) -> int:
        begun.append(number)
        if number in (1, 2):
            both.wait()  # neither ends before the other has begun
        return -number

    with closing(workers), closing(workers.ahead(range(6), work, lambda number: number % 3 != 0)) as results:
        found = [(number, future and future.result()) for number, future in results]
    assert found == [(0, None), (1, -1), (2, -2), (3, None), (4, -4), (5, -5)]
    assert sorted(begun) == [1, 2, 4, 5], "what is not begun early waits until it is asked for"


def test_what_was_read_and_waits_is_bounded(workers: Workers) -> None:
    begun: list[int] = []

    def work(number: int) -> None:
        begun.append(number)

    with closing(workers.ahead(range(100), work, lambda _: True)) as results:
        for done, (_, future) in enumerate(results):
            assert future
            future.result()
            assert len(begun) <= done + 6


def test_an_error_is_raised_in_its_turn(workers: Workers) -> None:
    def work(number: int) -> float:
        return 1 / number

    with closing(workers.ahead((1, 0, 2), work, lambda _: True)) as results:
        found = [future for _, future in results if future]
    assert found[0].result() == 1
    assert isinstance(found[1].exception(), ZeroDivisionError)
    assert found[2].result() == 0.5


MANY_ATTRIBUTES = "<p " + " ".join(f"a{number}=1" for number in range(75_000)) + ">slow"
"""0.7 MB of HTML that takes libxml2 more than a minute: it compares each attribute with those before it."""


def test_html_is_parsed_in_another_process() -> None:
    code = (
        "import sys; from pathlib import PurePosixPath; from rag_core.extract import extract;"
        "print(extract(b'<h1>Tea', PurePosixPath('a.html')).title, 'lxml' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.split() == ["Tea", "False"]


def test_a_tag_with_very_many_attributes_is_left_out_of_html() -> None:
    picture = '<img alt="a heron" src="data:image/png;base64,' + "A" * 30_000 + '">'
    with closing(Worker()) as worker:
        read = extract((picture + MANY_ATTRIBUTES).encode(), PurePosixPath("a.html"), worker)
    assert read.text == "a heron slow"


def test_html_that_takes_too_long_fails_alone() -> None:
    page = PurePosixPath("slow.html")
    hidden = MANY_ATTRIBUTES.replace("<p ", "<p title='>' ")  # the tag seems to end here
    with closing(Worker(limit_s=4)) as limited, pytest.raises(ExtractError, match="more than 4 seconds"):
        extract(hidden.encode(), page, limited)
    with closing(Worker()) as patient:
        assert extract(b"<p>Green tea", PurePosixPath("tea.html"), patient).text == "Green tea"


def test_whoever_stops_waits_for_no_document(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_START", "import time; time.sleep(600)")
    started = threading.Event()

    def work(number: int) -> None:
        with workers.one() as process:
            started.set()
            extract(made.pdf("Tea"), PurePosixPath("tea.pdf"), process)

    before = time.monotonic()
    with closing(workers), closing(workers.ahead(range(3), work, bool)) as results:
        next(results)
        assert started.wait(60)
    assert time.monotonic() - before < TIME_LIMIT_S


def test_documents_and_notes_are_indexed_as_ever(library: Library, notes: Path) -> None:
    for number in range(9):
        (notes / f"{number}.pdf").write_bytes(made.pdf(f"Tea {number}"))
        (notes / f"{number}.md").write_text(f"Coffee {number}.\n", "utf-8")
    (notes / "5.pdf").write_bytes(b"%PDF-1.4 damaged")
    job = index(library, "s", notes)
    assert (job.counts["added"], job.counts["failed"]) == (17, 1)
    job = index(library, "s")
    assert (job.counts["unchanged"], job.counts["failed"]) == (17, 1)


def test_while_a_document_is_read_the_notes_before_it_are_embedded(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(self: Worker, *given: Any) -> Extracted:
        until(lambda: library.stores.info(OWNER, "s").pending == 0)
        return plain(self, *given)

    plain = Worker.read
    monkeypatch.setattr(Worker, "read", read)
    (notes / "coffee.md").write_text("# Coffee\n\nGrind it.\n", "utf-8")
    (notes / "tea.pdf").write_bytes(made.pdf("Tea"))
    os.utime(notes / "coffee.md", (1_700_000_000,) * 2)
    assert index(library, "s", notes).counts == {"unchanged": 0, "added": 2}
