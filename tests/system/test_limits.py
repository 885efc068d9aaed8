"""What other systems tell of a process and of files in a cloud, by stand-ins for their calls."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rag_core import system
from rag_core.errors import OnlyInCloud
from rag_core.files import read_bytes
from tests.support.trees import write

HANDLE = 0x1_0000_0004  # more than 32 bits, which must not be cut


@pytest.mark.skipif(sys.platform not in system._MEMORY, reason="its memory cannot be told")
def test_the_memory_of_a_process_is_what_it_holds() -> None:
    before = system.memory_of(os.getpid())
    held = bytearray(b"x" * 50_000_000)
    assert before > 1_000_000
    assert system.memory_of(os.getpid()) > before + len(held) // 2
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert system.memory_of(ended.pid) == 0


def put(buffer: Any, place: int, number: int) -> None:
    """Write a number of eight bytes to a place in a buffer, as a function of the system does."""
    buffer[place : place + 8] = number.to_bytes(8, sys.byteorder)


def test_macos_tells_what_activity_monitor_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    def rusage(process_id: int, flavor: int, buffer: Any) -> int:
        assert (flavor, len(buffer)) == (0, 96)
        put(buffer, 16 + 6 * 8, 1)  # ri_resident_size
        put(buffer, 16 + 7 * 8, 3_000_000_000)  # ri_phys_footprint
        return 0 if process_id == 7 else -1

    library = SimpleNamespace(proc_pid_rusage=rusage)
    monkeypatch.setattr(system, "_library", lambda name: {None: library}[name])
    assert system._memory_on_macos(7) == 3_000_000_000
    assert system._memory_on_macos(8) == 0


def test_windows_tells_what_a_process_has_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []

    def open_process(rights: int, inherits: bool, process_id: int) -> int | None:
        assert (rights, inherits) == (0x1000, False)
        return HANDLE if process_id == 7 else None

    def memory_info(handle: Any, buffer: Any, length: int) -> int:
        assert (handle.value, length, len(buffer)) == (HANDLE, 72, 72)
        put(buffer, 2 * 8, 1)  # WorkingSetSize
        put(buffer, 7 * 8, 3_000_000_000)  # PagefileUsage
        return 1

    open_process.restype = None  # type: ignore[attr-defined]
    kernel = SimpleNamespace(
        OpenProcess=open_process,
        K32GetProcessMemoryInfo=memory_info,
        CloseHandle=lambda handle: closed.append(handle.value),
    )
    monkeypatch.setattr(system, "_library", lambda name: {"kernel32": kernel}[name])
    assert system._memory_on_windows(7) == 3_000_000_000
    assert system._memory_on_windows(8) == 0
    assert closed == [HANDLE]


@pytest.fixture
def policies(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int, int]]:
    """What a thread of macOS asked for: to download what it reads (0), or not (1)."""
    asked: list[tuple[int, int, int]] = []

    def set_policy(kind: int, scope: int, policy: int) -> int:
        asked.append((kind, scope, policy))
        return 0

    monkeypatch.setattr(system, "_set_policy", set_policy)
    return asked


def test_a_file_that_leaves_for_a_cloud_before_it_is_opened_is_not_downloaded(
    notes: Path, policies: list[tuple[int, int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(notes, {"tea.md": "About green tea."})
    open_ = os.open

    def opened(path: Any, *more: Any, **options: Any) -> int:
        if os.fsdecode(path).endswith("tea.md") and policies[-1:] == [(3, 1, 1)]:
            raise OSError(errno.EDEADLK, "Resource deadlock avoided")
        return open_(path, *more, **options)

    monkeypatch.setattr(os, "open", opened)
    with pytest.raises(OnlyInCloud):
        read_bytes(notes, b"tea.md", 100)
    assert policies == [(3, 1, 1), (3, 1, 0)]
    assert read_bytes(notes, b"tea.md", 100, from_cloud=True) == b"About green tea."
    assert policies == [(3, 1, 1), (3, 1, 0)]
