"""Reads the text in pictures, with a program on this computer or with a model on a server. Each text is read
once and cached."""

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
"""Returns three texts for a PNG or JPEG: its text, the reason why it must wait for the server, and the reason
why the server refused it. At most one is not ''."""

LEAST_SIDE = 40
"""Pictures with a side of fewer pixels are icons and lines, and are not read."""
_LONGEST_SIDE = 4000  # pixels; larger ones are scaled down
_LARGE_PNG = 4_000_000  # bytes; a larger one is sent as JPEG
_MOST_CHARACTERS = 100_000  # maximum length of a server's text for a picture
_MOST_NOTES = 3
_LISTS = "documents"  # the folder with the lists of pictures


class Waits(Exception):
    """Raised if the server that reads the text in pictures cannot do so now. Try later. The exception's text
    is the reason."""


class NotRead(Exception):
    """Raised if the server that reads the text in pictures refused one picture. The exception's text is the
    reason."""


class RemoteReader(Protocol):
    """A model on a server that reads pictures."""

    name: str  #: Its name in the setting ``ocr``.
    leaves: bool  #: Whether pictures leave this machine.

    def read(self, picture: bytes, is_wanted: Callable[[], bool]) -> str:
        """Return the text in a PNG or JPEG. Raises NotRead if the server refuses this picture, and Waits if
        the server is not available or ``is_wanted()`` returns False."""


class UnlessHidden:
    """A `RemoteReader` that sends pictures of a document to ``remote`` as long as the document is not hidden.
    ``is_hidden()`` is called before each picture."""

    def __init__(self, remote: RemoteReader, is_hidden: Callable[[], bool]) -> None:
        self.name, self.leaves = remote.name, remote.leaves
        self._remote = remote
        self._is_hidden = is_hidden

    def read(self, picture: bytes, is_wanted: Callable[[], bool]) -> str:
        """Return the text in a PNG or JPEG. Raises NotRead if the server refuses this picture, and Waits if
        the document is hidden, the server not available or ``is_wanted()`` False."""
        if self._is_hidden():
            raise Waits(
                "A rule now hides the document from guests. The next run reads its pictures on this computer."
            )
        return self._remote.read(picture, is_wanted)


def find_engine(setting: str) -> str | None:
    """Return the engine for a setting of ``ocr``: the name of an installed program, or for a model on a
    server the setting itself. ``auto`` selects the first installed program. None for ``off``, or if nothing
    is installed."""
    if is_remote(setting):
        return setting
    engines = (row for row in PICTURE_READERS.values() if setting in ("auto", row.name))
    return next((row.name for row in engines if not is_remote(row.name) and row.opener.is_installed()), None)


def why_none(setting: str) -> str:
    """Return the reason why this setting of ``ocr`` reads no text in pictures."""
    if setting == "off":
        return "OCR is off, so the text in pictures is not read."
    step = f"install Tesseract, or run {install_line('ocr')}"
    return f"Nothing is installed that reads the text in pictures: {step}."


REASONS = why_none("off"), why_none("auto")
"""All values that `why_none` can return."""


def is_remote(setting: str) -> bool:
    """Whether a setting of ``ocr`` names a model on a server."""
    row = PICTURE_READERS.get(setting.partition(":")[0])
    return row is not None and bool(row.after.word)


def read_by_server(
    remote: RemoteReader | None, picture: bytes, is_wanted: Callable[[], bool]
) -> tuple[str, str, str]:
    """Return the text of a picture, the reason to wait and the reason why it was refused, as `Ask` does. All
    are '' if ``remote`` is None. ``is_wanted`` tells whether the text is still wanted."""
    try:
        return remote.read(picture, is_wanted)[:_MOST_CHARACTERS] if remote else "", "", ""
    except Waits as why:
        return "", str(why), ""
    except NotRead as why:
        return "", "", str(why)


class Reader:
    """Reads the text in pictures with an engine. Without an engine it finds no text.

    ``folder`` caches each text by the hash of its picture. It also stores which pictures each document
    contains, so that a picture that was read is not even drawn again. None caches nothing.

    ``on_read`` is called after each picture, which may take seconds. ``ask`` sends a picture to the server of
    a remote engine.
    """

    def __init__(
        self, folder: Path | None, on_read: Callable[[], None], ask: Ask = lambda _: ("", "", "")
    ) -> None:
        self.engine: str | None = None
        #: The reason why whole pages or pictures of the document are not read yet; '' if all are read.
        self.waits = ""
        self.notes: list[str] = []  #: The reasons why pictures of the document could not be read.
        self.left: set[str] = set()  #: Places of pictures in the document that are not read yet.
        self._most: int | None = None  # number of pictures that may still be read now; None for all
        self._setting = ""
        self._is_late = False  # a picture took too long, so the following ones are left
        self._places: dict[str, str] = {}  # place in the document → digest of the picture read there
        self._folder = folder
        self._on_read = on_read
        self._ask = ask

    def begin(self, setting: str, data: bytes = b"", most: int | None = None) -> None:
        """Begin to read the pictures of the document with the bytes ``data``, with the engine that
        ``setting`` names. At most ``most`` pictures that are not cached are then read; None means all."""
        self.engine, self._setting, self._most = find_engine(setting), setting, most
        self.waits, self.notes, self.left, self._is_late = "", [], set(), False
        self._places = _listed(self._folder / _LISTS / _sha256(data), self.engine) if self._folder else {}

    def end(self, data: bytes) -> None:
        """Store which pictures the document with the bytes ``data`` contains, for its next reading and for
        `prune`."""
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
        """Return the text of a picture in the document, or '' if the picture is tiny or is left for later.

        Args:
            place: Identifies the picture in the document, such as ``page 3``.
            draw: Creates the picture. Called only if its text is not known.
            is_page: Whether the picture is the whole content of a page.
            preview: Creates a smaller copy. If it shows no text, an OCR program is not asked.

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
        """Record that a picture contains no text. Returns the digest of the record."""
        digest = _sha256(f"no text {seen.size} ".encode() + seen.tobytes())
        if self._folder:
            _write(self._file(self._folder, digest), "")
        return digest

    @staticmethod
    def _file(folder: Path, digest: str) -> Path:
        return folder / digest[:2] / f"{digest}.txt"

    def _cached(self, digest: str) -> str | None:
        """Return the cached text of a picture, or None if the picture was not read."""
        with suppress(OSError, UnicodeDecodeError):
            return self._file(self._folder, digest).read_text("utf-8") if self._folder else None
        return None

    def _read(self, picture: Image) -> str | None:
        """Return the text of a picture, or None if the document must be stored without it."""
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
    """Return the pictures that ``engine`` read in a document: place → digest."""
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
    """Whether pictures of the document with the bytes ``data`` were read before."""
    return (folder / _LISTS / _sha256(data)).is_file()


def note_pictures(folder: Path, document: str, pictures: Iterable[str]) -> None:
    """Record that ``document`` shows these picture files, so that `prune` keeps their texts. All are
    identified by the sha256 of their bytes."""
    used: set[str] = set()
    for each in pictures:
        with suppress(FileNotFoundError):  # its text was never read
            used.update(_digests(folder / _LISTS / each))
    _write(folder / _LISTS / document, "\n".join(sorted(used)))


def prune(folder: Path, documents: Set[str]) -> None:
    """Delete the cached texts of pictures that are in none of ``documents``. Documents are identified by the
    sha256 of their bytes."""
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
    """Return the digests in a document's list of pictures."""
    return {line.split(" ", 1)[0] for line in listed.read_text("utf-8").splitlines()}


def _packed(picture: Image) -> bytes:
    """Return a picture as PNG, or as JPEG if it is large."""
    packed = io.BytesIO()
    picture.save(packed, "PNG", compress_level=6)
    if packed.tell() > _LARGE_PNG:
        packed = io.BytesIO()
        picture.save(packed, "JPEG", quality=90)
    return packed.getvalue()


reader = Reader(None, lambda: None)
"""The reader of this process. The worker replaces it."""
