"""The differences between operating systems: what each allows with files, and how it marks them.

Code that works with files asks this module, not which system is running. Tests put the `Rules` of another
system in the place of `rules`.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Rules:
    """The file and path rules of an operating system."""

    #: The separator that the system writes in paths. Every system accepts ``/``, too.
    separator: bytes = b"/"
    #: Whether a folder can be opened, to wait until its list of names is on the disk.
    syncs_folders: bool = True
    moves_open_files: bool = True  #: Whether a file can be renamed or deleted while somebody has it open.
    lists_inodes: bool = True  #: Whether listing a folder tells the inodes of its files.
    ignores_case: bool = False  #: Whether ``Notes`` and ``notes`` are usually the same folder.
    longest_path: int = sys.maxsize  #: Maximum characters of a path without the prefix for long paths.
    quotes: str = "'"  #: The quote mark that command lines put around an argument with spaces.


WINDOWS = Rules(
    separator=b"\\",
    syncs_folders=False,
    moves_open_files=False,
    lists_inodes=False,
    ignores_case=True,
    longest_path=247,  # of a folder; a file may have 12 characters more
    quotes='"',
)
MACOS = Rules(ignores_case=True)
_RULES = {"win32": WINDOWS, "darwin": MACOS}
rules = _RULES.get(sys.platform, Rules())
"""The rules of this system."""

pause = time.sleep
_TRIES, _PAUSE_S = 20, 0.05
_LONG_PATH, _LONG_SHARE = b"\\\\?\\", b"\\\\?\\UNC\\"
_PROGRAMS = ("/opt/homebrew/bin", "/usr/local/bin", "/opt/local/bin")
"""Folders where installers put programs. They are not on the PATH of a service of the system."""
_PROGRAMS_OF_WINDOWS = (
    r"%ProgramFiles%\Tesseract-OCR",
    r"%ProgramFiles(x86)%\Tesseract-OCR",
    r"%LOCALAPPDATA%\Programs\Tesseract-OCR",
)

NO_WINDOW: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)
"""``creationflags`` for starting a program without a console window."""

RESERVED_NAMES = frozenset(
    (*("con", "prn", "aux", "nul"), *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10)))
)
"""Names of devices on Windows, with any suffix. No file can have these names."""


# --- what a file is ---------------------------------------------------------------------


def is_online_only(status: os.stat_result) -> bool:
    """Whether the content of a file is only in a cloud, so that reading the file would download it."""
    flags: int = getattr(status, "st_flags", 0)
    attributes: int = getattr(status, "st_file_attributes", 0)
    return bool(flags & _DATALESS or attributes & _RECALLED)


_DATALESS = 0x4000_0000  # SF_DATALESS of macOS, in <sys/stat.h>
_RECALLED = 0x40_0000 | 0x4_0000 | 0x1000  # RECALL_ON_DATA_ACCESS, RECALL_ON_OPEN, OFFLINE of Windows
_UF_HIDDEN = 0x8000
_SYSTEM = 0x4


def is_hidden(status: os.stat_result) -> bool:
    """Whether the system hides a file or folder from people by an attribute. Hidden names are not
    considered."""
    flags: int = getattr(status, "st_flags", 0)
    attributes: int = getattr(status, "st_file_attributes", 0)
    if attributes & _SYSTEM and not stat.S_ISDIR(status.st_mode):  # Explorer marks folders that have an icon
        return True
    return bool(flags & _UF_HIDDEN or attributes & _WINDOWS_HIDDEN)


_WINDOWS_HIDDEN = 0x2


@contextmanager
def without_download() -> Iterator[None]:
    """Context manager: reads by this thread download nothing.

    On macOS, a file can move to a cloud after its flags were checked. Reading such a file then fails with
    `NOT_DOWNLOADED`.
    """
    if _set_policy is None:
        yield
        return
    _set_policy(_DOWNLOADING, _OF_THREAD, _OFF)
    try:
        yield
    finally:
        _set_policy(_DOWNLOADING, _OF_THREAD, _USUAL)


NOT_DOWNLOADED = errno.EDEADLK
"""The error number when reading a file would need a download, see `without_download`."""

_DOWNLOADING, _OF_THREAD, _USUAL, _OFF = 3, 1, 0, 1
"""IOPOL_TYPE_VFS_MATERIALIZE_DATALESS_FILES, IOPOL_SCOPE_THREAD and the policies, in <sys/resource.h>."""


def _library(name: str | None) -> Any:
    """The functions of a system library; of the C library for None."""
    import ctypes  # only now: `commonplace --version` needs none

    return ctypes.CDLL(name)


_set_policy: Callable[[int, int, int], int] | None = (
    _library(None).setiopolicy_np if sys.platform == "darwin" else None
)

_STUB = b".icloud"


def of_stub(name: bytes) -> bytes | None:
    """Return the name of the file in iCloud Drive that the stub ``name`` represents; None if ``name`` is no
    stub. Up to macOS 13, a stub takes the place of a file that is only in the cloud."""
    is_stub = name.startswith(b".") and name.endswith(_STUB) and len(name) > len(_STUB) + 1
    return name[1 : -len(_STUB)] if is_stub else None


def stub_of(path: bytes) -> bytes:
    """Return the path of the stub that represents the file ``path`` while it is only in iCloud."""
    folder, _, name = path.rpartition(b"/")
    return folder + b"/." + name + _STUB


# --- paths ------------------------------------------------------------------------------


def slashed(path: bytes) -> bytes:
    """Return a path with ``/`` between its folders, as it is stored."""
    return path if rules.separator == b"/" else path.replace(rules.separator, b"/")


def slashed_text(path: str) -> str:
    """Return a path with ``/`` between its folders, as `slashed` does, but for text."""
    return path if rules.separator == b"/" else path.replace(os.fsdecode(rules.separator), "/")


def for_calls(path: bytes) -> bytes:
    """Return an absolute path in the form that the system accepts. On Windows, a long path gets a prefix,
    without which it is refused."""
    if len(path) < rules.longest_path or path.startswith(_LONG_PATH):
        return path
    whole = path.replace(b"/", rules.separator)
    return _LONG_SHARE + whole[2:] if whole.startswith(b"\\\\") else _LONG_PATH + whole


def without_prefix(path: bytes) -> bytes:
    """Undo `for_calls`, and return the path with ``/`` between its folders."""
    if path.startswith(_LONG_SHARE):
        path = b"\\\\" + path[len(_LONG_SHARE) :]
    return slashed(path.removeprefix(_LONG_PATH))


def as_spelled(folder: Path) -> Path:
    """Return the path of an existing folder as it is spelled on the disk. The given path may differ in case
    and accents."""
    if not rules.ignores_case:
        return folder
    spelled = Path(folder.anchor)
    for part in folder.parts[1:]:
        names: list[str] = []
        with suppress(OSError):  # what cannot be listed stays as it was typed
            names = [path.name for path in spelled.iterdir()]
        same = [name for name in names if _folded(name) == _folded(part)]
        spelled /= same[0] if same and part not in names else part
    return spelled


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


# --- files ------------------------------------------------------------------------------


def sync(path: Path) -> None:
    """Wait until a file, or a folder's list of names, is written to disk."""
    is_folder = path.is_dir()
    if is_folder and not rules.syncs_folders:  # NTFS keeps a journal of names
        return
    handle = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)  # Windows flushes what may be written
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def when_free(action: Callable[[], object]) -> None:
    """Call ``action``, which renames or deletes a file. If the system refuses because the file is open, try
    again for a second. Raises OSError."""
    for _ in range(0 if rules.moves_open_files else _TRIES):
        try:
            action()
        except PermissionError:
            pause(_PAUSE_S)
        else:
            return
    action()


def require_free(file: Path) -> None:
    """Raise PermissionError if a file cannot be replaced because another program has it open."""
    when_free(lambda: file.rename(file))


def replace(source: Path, target: Path) -> None:
    """Move the file ``source`` to ``target`` and replace ``target``. Raises OSError."""
    when_free(lambda: source.replace(target))


def move_to_new(source: Path, target: Path) -> None:
    """Rename a file to a name that no file has. Raises FileExistsError if one has it, else OSError.

    Without hard links (exFAT, network disks) only a lock keeps two processes apart. The caller must hold one.
    """
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:
        if os.path.lexists(target):
            raise FileExistsError(str(target)) from None
        when_free(lambda: source.rename(target))


def keep_as(file: Path, name: Path) -> None:
    """Keep the content of ``file`` under a second name, too. This is a hard link, or a copy on disks without
    hard links. Raises FileExistsError if a file has that name, else OSError."""
    try:
        os.link(file, name)
    except FileExistsError:
        raise
    except OSError:
        shutil.copyfile(file, name)


# --- programs ---------------------------------------------------------------------------


def find_program(name: str) -> str | None:
    """Return the path of an installed program; None if there is none."""
    folders = _PROGRAMS
    if sys.platform == "win32":
        expanded = [os.path.expandvars(folder) for folder in _PROGRAMS_OF_WINDOWS]
        folders = tuple(folder for folder in expanded if "%" not in folder)  # else it would be a relative one
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(folders))


def quote(word: str) -> str:
    """Quote an argument of a command that people paste into a terminal.

    On Windows the result works in both cmd.exe and PowerShell. If no quotes keep the word unchanged in both,
    the result works in PowerShell only.
    """
    if rules.quotes == "'":
        return shlex.quote(word)
    if _PLAIN.fullmatch(word):
        return word
    word = word[: len(word.rstrip("\\"))] + 2 * word[len(word.rstrip("\\")) :]  # else they escape the quote
    if _CHANGED_IN_QUOTES.search(word):
        return "'" + _SINGLE_QUOTE.sub(r"\g<0>\g<0>", word) + "'"
    return '"' + word.replace('"', '""') + '"'


_PLAIN = re.compile(r"[\w./\\:](?:[\w./\\:@+=-])*|--?\w[\w-]*")
_CHANGED_IN_QUOTES = re.compile(r'%[^%]+%|\$[\w{(?^$:]|[`\u201c-\u201e]|\\"')
"""Text that changes inside double quotes: variables of cmd.exe and PowerShell, backquotes, typographic
quotes, and a double quote after a backslash."""
_SINGLE_QUOTE = re.compile("['\u2018-\u201b]")
"""The characters that PowerShell takes for a single quote."""
_DRIVE = len("C:\\")


def join_command(words: list[str]) -> str:
    """Write a program with its arguments as a command that can be pasted into a terminal."""
    program = quote(words[0])
    if rules.quotes != "'" and program.startswith('"'):  # PowerShell would print a text that begins with one
        program = f'{words[0][:_DRIVE]}"{words[0][_DRIVE:]}"'
    elif rules.quotes != "'" and program.startswith("'"):
        program = f"& {program}"
    return " ".join([program, *[quote(word) for word in words[1:]]])


def memory_of(process_id: int) -> int:
    """Return the bytes of memory that a process of this account uses now; 0 if it has ended."""
    return _MEMORY[sys.platform](process_id) if sys.platform in _MEMORY else 0


def _memory_on_linux(process_id: int) -> int:
    with suppress(OSError):
        pages = Path(f"/proc/{process_id}/statm").read_bytes().split()[1]
        return int(pages) * os.sysconf("SC_PAGESIZE")
    return 0


def _memory_on_macos(process_id: int) -> int:
    """The memory of a process as Activity Monitor counts it: ``ri_phys_footprint`` of <sys/resource.h>,
    including compressed memory."""
    numbers = bytearray(96)  # struct rusage_info_v0: 16 bytes that name the program, and ten numbers
    failed = _library(None).proc_pid_rusage(process_id, 0, _filled(numbers))
    return 0 if failed else int.from_bytes(numbers[72:80], sys.byteorder)


def _memory_on_windows(process_id: int) -> int:
    """The memory that a process has committed: ``PagefileUsage`` of PROCESS_MEMORY_COUNTERS in a 64-bit
    program."""
    import ctypes

    kernel = _library("kernel32")
    kernel.OpenProcess.restype = ctypes.c_void_p
    handle = ctypes.c_void_p(kernel.OpenProcess(_QUERY_LIMITED_INFORMATION, False, process_id))
    if not handle:
        return 0
    counters = bytearray(72)
    succeeded = kernel.K32GetProcessMemoryInfo(handle, _filled(counters), len(counters))
    kernel.CloseHandle(handle)
    return int.from_bytes(counters[56:64], sys.byteorder) if succeeded else 0


def _filled(numbers: bytearray) -> Any:
    """``numbers`` as an argument for a function that fills it."""
    import ctypes

    return (ctypes.c_char * len(numbers)).from_buffer(numbers)


_QUERY_LIMITED_INFORMATION = 0x1000
_MEMORY = {"linux": _memory_on_linux, "darwin": _memory_on_macos, "win32": _memory_on_windows}
