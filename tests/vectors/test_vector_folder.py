"""A folder with a vector engine in it: one process at a time uses it, and who does is told."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock, Timeout

from rag_core.errors import VectorError, VectorsUnreachable
from rag_core.vectors.chroma import Chroma, ChromaOptions
from rag_core.vectors.qdrant import Qdrant, QdrantOptions
from tests.vectors.vector_bench import vault

pytestmark = [pytest.mark.usefixtures("no_waiting_for_the_disk"), pytest.mark.thorough]

Index = Qdrant | Chroma
NOTES = vault(8, 16)


def open_qdrant(folder: Path) -> Qdrant:
    index = Qdrant("qdrant:///notes#notes", 16, "cosine", QdrantOptions(path=folder))
    index.prepare("me")
    return index


def open_chroma(folder: Path) -> Chroma:
    index = Chroma("chroma:///notes", 16, "cosine", ChromaOptions(path=folder))
    index.prepare("me")
    return index


ENGINES = pytest.mark.parametrize("open_index", [open_qdrant, open_chroma])
Open = Callable[[Path], Index]

HOLD = """
import sys
from pathlib import Path
from rag_core.vectors.folder import running
held = running(Path(sys.argv[1]), "Qdrant", str, lambda engine: None)
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held_elsewhere(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that uses ``folder``, until its input ends."""
    command = [sys.executable, "-c", HOLD, str(folder)]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", env=env
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        try:
            yield other
        finally:
            other.kill()


@ENGINES
def test_a_second_process_is_told_who_has_the_folder_until_that_one_ends(
    open_index: Open, tmp_path: Path
) -> None:
    folder = tmp_path / "engine"
    with held_elsewhere(folder) as other:
        with pytest.raises(VectorsUnreachable) as caught:
            open_index(folder)
        assert "is in use by another process" in caught.value.message
        assert re.search(r"\(`(qdrant|chroma)_url`\)", caught.value.suggestion)
        other.kill()
        other.wait(10)
        assert open_index(folder).owner() == "me"


@ENGINES
def test_what_was_put_is_there_after_the_folder_was_let_go(open_index: Open, tmp_path: Path) -> None:
    first = open_index(tmp_path / "engine")
    first.put(note.record for note in NOTES)
    first.close()
    again = open_index(tmp_path / "engine")
    assert {*again.keys()} == {note.key for note in NOTES}
    assert again.search(NOTES[3].vector, 1)[0].key == NOTES[3].key


@ENGINES
def test_a_folder_is_let_go_when_nobody_refers_to_it(open_index: Open, tmp_path: Path) -> None:
    index: Any = open_index(tmp_path / "engine")
    assert not is_free(tmp_path / "engine")
    del index
    assert is_free(tmp_path / "engine")


def is_free(folder: Path) -> bool:
    """Whether another process could have the folder."""
    lock = FileLock(folder / "commonplace.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return False
    lock.release()
    return True


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(VectorError, match="of Qdrant cannot be used: Not a directory"):
        open_qdrant(tmp_path / "file" / "engine")
