"""Paths as people see them, and checks that keep every path inside its folder.

Threat. A link, ``..`` or a race between checking and opening could lead to a file that the owner never chose.
So the resolved path is checked. A file is opened from its root downwards, without following links on the way.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from rag_core import system
from rag_core.errors import ExtractError, FileGone, InvalidInput, NotText, OnlyInCloud
from rag_core.files.slices import FileSlices

SEP = b"/"
"""The separator of folders in stored paths, on every system."""

GONE = FileNotFoundError, NotADirectoryError
"""The errors of opening a path that no longer exists. The second is raised if a file has replaced a
folder."""

_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
_ESCAPED_CATEGORIES = frozenset(("Cc", "Cs", "Zl", "Zp"))
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_READ = os.O_RDONLY | _NOFOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_FOLDER = os.O_RDONLY | _NOFOLLOW | getattr(os, "O_DIRECTORY", 0)
_BY_FOLDER_FD = os.open in os.supports_dir_fd


def display(path: bytes) -> str:
    r"""Return the path as text for people, in NFC. Undecodable bytes are shown like ``\xff``, and control
    characters like ``\n`` or ``\u202e``.

    Never fails and returns no lone surrogate. Two paths may look the same, so the text cannot serve as a key.
    """
    text = os.fsdecode(path)
    if text.isascii() and text.isprintable():
        return text
    visible = ""
    for character in unicodedata.normalize("NFC", text):
        if "\udc80" <= character <= "\udcff":  # an undecodable byte
            visible += f"\\x{ord(character) - 0xDC00:02x}"
        elif character in _BIDI or unicodedata.category(character) in _ESCAPED_CATEGORIES:
            visible += character.encode("unicode_escape").decode("ascii")
        else:
            visible += character
    return unicodedata.normalize("NFC", visible)  # an accent may follow an escape


def expanded(path: str | Path) -> Path:
    """Replace ``~`` in ``path`` by the home folder. The path stays as it is if that user is unknown."""
    try:
        return Path(os.path.expanduser(path))  # noqa: PTH111 - Path.expanduser raises for an unknown user
    except ValueError:  # the path contains NUL
        return Path(path)


def current_folder() -> Path:
    """Return the current folder. Raises InvalidInput if it was removed."""
    try:
        return Path.cwd()
    except OSError as error:
        message = "The current folder no longer exists."
        raise InvalidInput(message, "Change to another folder, or write whole paths.") from error


def real_folder(root: str | Path) -> Path:
    """Resolve ``~`` and links in ``root``, and return the folder. Raises InvalidInput if it is not a
    folder."""
    with suppress(OSError, RuntimeError, ValueError):  # no permission, a loop of links, a NUL
        folder = expanded(root).resolve()
        if folder.is_dir():
            return system.as_spelled(folder)
        if folder.is_file():
            message = f"{str(root)!r} is not a folder but a file."
            raise InvalidInput(message, f"Give its folder: {str(folder.parent)!r}.")
    raise InvalidInput(f"{str(root)!r} is not a folder.", "Check the spelling, or mount its disk.")


def contained(path: Path, roots: Sequence[Path]) -> Path:
    """Resolve ``~`` and links in ``path``, which need not exist, and return it. Raises InvalidInput if the
    result lies in none of ``roots``. The error does not reveal whether the path exists."""
    with suppress(OSError, RuntimeError, ValueError):
        resolved = expanded(path).resolve()
        if any(resolved.is_relative_to(root.resolve()) for root in roots):
            return resolved
    allowed = " or ".join(repr(str(root)) for root in roots) or "the folders in the settings"
    raise InvalidInput(f"The folder {str(path)!r} cannot be chosen.", f"Choose one inside {allowed}.")


def list_folders(folder: Path, roots: Sequence[Path]) -> list[Path]:
    """Return the folders directly in ``folder`` that a person may open, sorted by name. Hidden and unreadable
    folders and links that leave ``roots`` are left out. Raises InvalidInput if ``folder`` is outside
    ``roots`` or cannot be listed."""
    resolved = contained(folder, roots)
    try:
        with os.scandir(resolved) as entries:
            folders = [Path(entry.path) for entry in entries if _can_be_opened(entry, roots)]
    except OSError as error:
        message = f"The folder {str(folder)!r} cannot be read: {system_reason(error)}."
        raise InvalidInput(message, "Choose another folder.") from error
    return sorted(folders, key=lambda path: (path.name.casefold(), path.name))


def _can_be_opened(entry: os.DirEntry[str], roots: Sequence[Path]) -> bool:
    with suppress(OSError, InvalidInput):
        if entry.is_symlink():
            contained(Path(entry.path), roots)
        is_hidden = entry.name.startswith(".") or system.is_hidden(entry.stat(follow_symlinks=False))
        return not is_hidden and entry.is_dir() and os.access(entry.path, os.R_OK | os.X_OK)
    return False


IN_CLOUD = "It is in the cloud, not on this computer."
"""The reason why a file in a cloud is not read: reading would download it."""


def read_bytes(root: Path, path: bytes, max_bytes: int, *, from_cloud: bool = False) -> bytes:
    """Read one regular file at ``path`` in the resolved folder ``root``. A link is followed if it stays
    inside the folder. With ``from_cloud`` the file is downloaded if necessary.

    Raises:
        OnlyInCloud: The file would have to be downloaded.
        NotText: It is no regular file, lies outside ``root`` or has more than ``max_bytes`` bytes.
        FileGone: The file no longer exists.
        ExtractError: The file cannot be read.

    """
    shown = display(path)
    try:
        with (
            nullcontext() if from_cloud else system.without_download(),
            os.fdopen(_opened(root, path, from_cloud=from_cloud), "rb") as file,
        ):
            status = os.fstat(file.fileno())
            _require_regular(status, shown)
            content = file.read(status.st_size + 1) if status.st_size <= max_bytes else None
            if content is not None and len(content) > status.st_size:  # the file grows while it is read
                content += file.read(max_bytes - status.st_size)
    except (OSError, ValueError) as error:
        raise _not_read(error, shown) from error
    if content is None or len(content) > max_bytes:
        message = f"The file {shown!r} is larger than {max_bytes / 1e6:g} MB."
        raise NotText(message, "Split it, or set `max_file_mb` higher.")
    return content


@contextmanager
def opened_in_slices(root: Path, path: bytes, *, from_cloud: bool = False) -> Iterator[FileSlices]:
    """Context manager: open a regular file of any size to read it in slices. With ``from_cloud`` the file is
    downloaded if necessary.

    Raises:
        NotText: It is no regular file, or lies outside ``root``.
        OnlyInCloud: The file would have to be downloaded.
        FileGone: The file no longer exists.
        ExtractError: The file cannot be read.

    """
    shown = display(path)
    try:
        file = os.fdopen(_opened(root, path, from_cloud=from_cloud), "rb")
    except (OSError, ValueError) as error:
        raise _not_read(error, shown) from error
    with file, nullcontext() if from_cloud else system.without_download():
        status = os.fstat(file.fileno())
        _require_regular(status, shown)
        yield FileSlices(file, status)


def _not_read(error: Exception, shown: str) -> ExtractError:
    if isinstance(error, OSError) and error.errno == system.NOT_DOWNLOADED:
        return _in_cloud()
    kind_of_error = FileGone if isinstance(error, GONE) else ExtractError
    suggestion = "Check that it is still there and that you may read it, then index again."
    return kind_of_error(f"The file {shown!r} cannot be read: {system_reason(error)}.", suggestion)


def _in_cloud() -> OnlyInCloud:
    return OnlyInCloud(IN_CLOUD, "Open it once in its own program, then index again.")


def _opened(root: Path, path: bytes, *, from_cloud: bool) -> int:
    top = os.fsencode(root)
    real = real_path(os.path.join(top, path))  # noqa: PTH118  (bytes)
    inside = real.removeprefix(with_sep(top))
    if inside == real or not inside:
        message = f"The file {display(path)!r} lies outside its folder."
        raise NotText(message, "Add the folder that it lies in, too.")
    file = system.for_calls(real)
    status = os.lstat(file)
    _require_regular(status, display(path))  # a device is not even opened
    if not from_cloud and system.is_online_only(status):
        raise _in_cloud()
    if not _BY_FOLDER_FD:
        return os.open(file, _READ)
    parts = inside.split(SEP)
    folder = os.open(top, _FOLDER)
    try:
        for part in parts[:-1]:
            below = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = below
        return os.open(parts[-1], _READ, dir_fd=folder)
    finally:
        os.close(folder)


def _require_regular(status: os.stat_result, shown: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotText(
            f"{shown!r} is not read. {not_a_file(status.st_mode)}",
            "Only regular files are read; nothing needs to be done.",
        )


def with_sep(folder: bytes) -> bytes:
    """Return the path of a folder with exactly one slash at its end, even for the root of the file system."""
    return system.slashed(folder).rstrip(SEP) + SEP


def real_path(path: bytes) -> bytes:
    """Resolve every link in the path of an existing file. Raises OSError if the file does not exist or cannot
    be reached."""
    return system.without_prefix(os.path.realpath(system.for_calls(path), strict=True))


def not_a_file(mode: int) -> str:
    """Return a sentence that says what a file is, such as ``It is a folder.``, given the ``st_mode`` of a
    file that is no regular file."""
    sentences = {
        stat.S_IFDIR: "It is a folder.",
        stat.S_IFIFO: "It is a named pipe.",
        stat.S_IFSOCK: "It is a socket.",
        stat.S_IFCHR: "It is a device.",
        stat.S_IFBLK: "It is a device.",
    }
    return sentences.get(stat.S_IFMT(mode), "It is not a regular file.")


def cannot_be_read(error: Exception) -> str:
    """Return a sentence that says why the system refused to read a file."""
    return f"It cannot be read: {system_reason(error)}."


def system_reason(error: Exception) -> str:
    """Return the system's reason for not reading a file, with a lower-case first letter."""
    reason = (error.strerror if isinstance(error, OSError) else None) or "its name cannot be used"
    return f"{reason[:1].lower()}{reason[1:]}"
