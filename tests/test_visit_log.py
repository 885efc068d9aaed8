"""Visits that are counted, until they are written down."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_core.access import Visits
from rag_core.config import Settings
from rag_core.library import Library
from rag_core.library.sharing import Sharing
from rag_core.types import OWNER

ADA = "ada@example.com"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    opened = Library.open(Settings(tmp_path / "data", tmp_path / "models", ()))
    yield opened
    opened.close()


def test_who_comes_while_others_are_written_down_is_written_down_too(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = Sharing.record_visit

    async def come() -> None:
        visits, loop = Visits(lambda: library, every_s=0.01), asyncio.get_running_loop()
        counted = threading.Event()

        def count() -> None:
            visits.count(ADA, "/mcp")
            counted.set()

        def recording(own: Library, *given: Any, **options: Any) -> None:
            record(own, *given, **options)
            if not counted.is_set():
                loop.call_soon_threadsafe(count)
                assert counted.wait(20)

        monkeypatch.setattr(Sharing, "record_visit", recording)
        visits.count(ADA, "/")
        async with asyncio.timeout(20):
            while len(await asyncio.to_thread(library.sharing.visits, OWNER)) < 2:
                await asyncio.sleep(0.02)

    asyncio.run(come())
    assert {each.door: each.requests for each in library.sharing.visits(OWNER)} == {"pages": 1, "mcp": 1}
