"""The text in pictures, by a program of this computer or a model on a server. It is read once and cached."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
from collections.abc import Callable, Iterable, Set
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rag_core import system
from rag_core.extract.glance import may_hold_text
from rag_core.installation import install_line
from rag_core.providers import PICTURE_READERS

if TYPE_CHECKING:
    from PIL.Image import Image

Ask = Callable[[bytes], tuple[str, str, str]]
"""The text of a PNG or JPEG; else why it waits for a server, or why the server does not take it."""

LEAST_SIDE = 40
"""Pictures with a shorter side (pixels) are icons and rules."""
_LONGEST_SIDE = 4000  # pixels; larger ones are scaled down
_LARGE_PNG = 4_000_000  # bytes; a larger one is sent as JPEG
_MOST_CHARACTERS = 100_000  # of what a server says of a picture
_MOST_NOTES = 3
_LISTS = "documents"  # the folder of the lists of pictures


class Waits(Exception):
    """The server that reads the text in pictures cannot do so now; try later. The exception's text says
    why."""


class NotRead(Exception):
    """The server that reads the text in pictures refused one picture. The exception's text says why."""


class RemoteReader(Protocol):
    """A model on a server that reads pictures."""

    name: str  #: Its name, as the setting ``ocr`` has it.
    leaves: bool  #: Whether pictures leave this machine.

    def read(self, picture: bytes, is_wanted: Callable[[], bool]) -> str:
        """The text in a PNG or JPEG. Raises NotRead, and Waits also once it is not wanted any more."""


class UnlessHidden:
    """A server elsewhere that reads the pictures of a document until ``is_hidden()``, asked before each."""

    def __init__(self, remote: RemoteReader, is_hidden: Callable[[], bool]) -> None:
        self.name, self.leaves = remote.name, remote.leaves
        self._remote = remote
        self._is_hidden = is_hidden

    def read(self, picture: bytes, is_wanted: Callable[[], bool]) -> str:
        """The text in a picture, as `RemoteReader.read` gives it. Raises Waits, too, once the document is
        hidden."""
        if self._is_hidden():
            raise Waits("A rule hides the document now, so its pictures are read on this computer.")
        return self._remote.read(picture, is_wanted)


def find_engine(setting: str) -> str | None:
    """The engine for a setting of ``ocr``, None if it is not installed; ``auto`` takes the first one that is.
    A model on a server is its own name."""
    if is_remote(setting):
        return setting
    engines = (row for row in PICTURE_READERS.values() if setting in ("auto", row.name))
    return next((row.name for row in engines if not is_remote(row.name) and row.opener.is_installed()), None)


def why_none(setting: str) -> str:
    """Why nothing reads the text in pictures with this setting of ``ocr``."""
    if setting == "off":
        return "OCR is off, so the text in pictures is not read."
    step = f"install Tesseract, or run {install_line('ocr')}"
    return f"Nothing is installed that reads the text in pictures: {step}."


REASONS = why_none("off"), why_none("auto")
"""All that `why_none` says."""


def is_remote(setting: str) -> bool:
    """Whether a setting of ``ocr`` names a model on a server."""
    row = PICTURE_READERS.get(setting.partition(":")[0])
    return row is not None and bool(row.after.word)


def read_by_server(
    remote: RemoteReader | None, picture: bytes, is_wanted: Callable[[], bool]
) -> tuple[str, str, str]:
    """What ``remote`` says of a picture while that is wanted, as `Ask`."""
    try:
        return remote.read(picture, is_wanted)[:_MOST_CHARACTERS] if remote else "", "", ""
    except Waits as why:
        return "", str(why), ""
    except NotRead as why:
        return "", "", str(why)


class Reader:
    """Reads the text in pictures with an engine; without one it finds none.

    ``folder`` keeps each text by the hash of its picture, and for each document which picture stands where,
    so that a picture that was read once is not even drawn again. ``on_read`` is called after each picture,
    which may take seconds. ``ask`` asks the server of a remote engine.
    """

    def __init__(
        self, folder: Path | None, on_read: Callable[[], None], ask: Ask = lambda _: ("", "", "")
    ) -> None:
        self.engine: str | None = None
        self.waits = ""  #: Why whole pages of the document, or its pictures, are not read; '' if all are.
        self.notes: list[str] = []  #: Why pictures of the document could not be read.
        self.left: set[str] = set()  #: The places of pictures in the document that are not read yet.
        self._most: int | None = None  # pictures that may still be read now; None: all
        self._setting = ""
        self._is_late = False  # a picture took too long, so those that follow are left
        self._places: dict[str, str] = {}  # place in the document → digest of the picture read there
        self._folder = folder
        self._on_read = on_read
        self._ask = ask

    def begin(self, setting: str, data: bytes = b"", most: int | None = None) -> None:
        """Read the pictures of the document ``data`` with the engine that ``setting`` names; at most ``most``
        of those that were not read before."""
        self.engine, self._setting, self._most = find_engine(setting), setting, most
        self.waits, self.notes, self.left, self._is_late = "", [], set(), False
        self._places = _listed(self._folder / _LISTS / _sha256(data), self.engine) if self._folder else {}

    def end(self, data: bytes) -> None:
        """Keep which pictures the document ``data`` holds, for its next reading and for `prune`."""
        if self._folder and self._places:
            lines = [f"{digest} {self.engine} {place}" for place, digest in sorted(self._places.items())]
            _write(self._folder / _LISTS / _sha256(data), "\n".join(lines))

    def text(
        self,
        place: str,
        draw: Callable[[], Image],
        *,
        is_page: bool = False,
        preview: Callable[[], Image] | None = None,
    ) -> str:
        """The text of a picture of the document; '' for a tiny one, and for one that is left for later.

        Args:
            place: where in the document it is.
            draw: makes the picture; it is called only if its text is not known.
            is_page: whether it is all that a page holds.
            preview: makes a smaller copy. Where that shows no text, no engine of this computer is asked.

        """
        if self.engine is None:
            self.left.add(place)
            self.waits = why_none(self._setting) if is_page else self.waits
            return ""
        if place in self._places:
            self._on_read()
            return self._cached(self._places[place]) or ""
        if self._most == 0 or self.waits or self._is_late:
            self.left.add(place)
            return ""
        if preview and not is_remote(self.engine) and not may_hold_text(seen := preview()):
            self._places[place] = self._without_text(seen)
            self._on_read()
            return ""
        picture = draw().convert("RGB")
        if min(picture.size) < LEAST_SIDE:
            return ""
        picture.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))
        digest = _sha256(f"{self.engine} {picture.size} ".encode() + picture.tobytes())
        text = self._cached(digest)
        if text is None:
            text = self._read(picture)
            self._most = None if self._most is None else self._most - 1
            if text is not None and self._folder:
                _write(self._file(self._folder, digest), text)
        self._on_read()
        if self.waits or self._is_late:
            self.left.add(place)
        else:
            self._places[place] = digest
        return text or ""

    def _without_text(self, seen: Image) -> str:
        """Keep that a picture holds no text; returns the digest under which that is kept."""
        digest = _sha256(f"no text {seen.size} ".encode() + seen.tobytes())
        if self._folder:
            _write(self._file(self._folder, digest), "")
        return digest

    @staticmethod
    def _file(folder: Path, digest: str) -> Path:
        return folder / digest[:2] / f"{digest}.txt"

    def _cached(self, digest: str) -> str | None:
        """The text that was read in a picture; None if none was."""
        with suppress(OSError, UnicodeDecodeError):
            return self._file(self._folder, digest).read_text("utf-8") if self._folder else None
        return None

    def _read(self, picture: Image) -> str | None:
        """The text of a picture; None where the document is read without it."""
        try:
            if self.engine and not is_remote(self.engine):
                return str(PICTURE_READERS[self.engine].opener.read(picture))
        except subprocess.TimeoutExpired:  # the computer may be busy
            self._is_late = True
            return None
        except subprocess.SubprocessError:
            self._note(f"The text in a picture could not be read: {self.engine} failed.")
            return None
        text, self.waits, note = self._ask(_packed(picture))
        self._note(note)
        return None if self.waits or note else text

    def _note(self, note: str) -> None:
        if note and note not in self.notes and len(self.notes) < _MOST_NOTES:
            self.notes.append(note)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _listed(file: Path, engine: str | None) -> dict[str, str]:
    """Place → digest of the pictures that ``engine`` read in a document."""
    try:
        rows = [line.split(" ", 2) for line in file.read_text("utf-8").splitlines()]
    except (OSError, UnicodeDecodeError):
        return {}
    return {row[2]: row[0] for row in rows if len(row) == 3 and row[1] == engine}


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    written = file.with_suffix(f".{os.getpid()}")
    written.write_text(text, "utf-8")
    system.replace(written, file)


def was_read(folder: Path, data: bytes) -> bool:
    """Whether pictures of the document ``data`` were read before."""
    return (folder / _LISTS / _sha256(data)).is_file()


def note_pictures(folder: Path, document: str, pictures: Iterable[str]) -> None:
    """Keep for `prune` that a document shows these files of pictures; all by the sha256 of their bytes."""
    used: set[str] = set()
    for each in pictures:
        with suppress(FileNotFoundError):  # no text in it was read
            used.update(_digests(folder / _LISTS / each))
    _write(folder / _LISTS / document, "\n".join(sorted(used)))


def prune(folder: Path, documents: Set[str]) -> None:
    """Remove the cached texts of pictures that are in none of ``documents``, the sha256 hashes of their
    bytes."""
    used: set[str] = set()
    for listed in folder.glob(f"{_LISTS}/*"):
        if listed.name in documents:
            used.update(_digests(listed))
        else:
            listed.unlink(missing_ok=True)
    for text in folder.glob("??/*"):
        if text.stem not in used:
            text.unlink(missing_ok=True)


def _digests(listed: Path) -> set[str]:
    """The digests in the list of a document's pictures."""
    return {line.split(" ", 1)[0] for line in listed.read_text("utf-8").splitlines()}


def _packed(picture: Image) -> bytes:
    """A picture as PNG, a large one as JPEG."""
    packed = io.BytesIO()
    picture.save(packed, "PNG", compress_level=6)
    if packed.tell() > _LARGE_PNG:
        packed = io.BytesIO()
        picture.save(packed, "JPEG", quality=90)
    return packed.getvalue()


reader = Reader(None, lambda: None)
"""The reader of this process; the worker replaces it."""
