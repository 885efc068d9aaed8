"""Reads a file that holds many documents, such as a mailbox. Each part becomes a document. Only new and
changed parts are read.

The row of the file is written last. If a run is killed before that, the parts stored so far stay, and the
next run reads the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from rag_core.errors import ExtractError, NotText, RagError
from rag_core.extract import Workers, file_type, is_current
from rag_core.extract.containers import (
    ContainedPart,
    container_path,
    data_of,
    holds_parts,
    part_called,
    parts_of,
)
from rag_core.extract.content import has_known_name
from rag_core.extract.filetypes import title_of_name
from rag_core.files import opened_in_slices
from rag_core.files.slices import FileSlices, Sliced
from rag_core.store import Store, parts
from rag_core.store import documents as write
from rag_core.store.documents import FileRecord
from rag_core.types import Extracted, FileResult
from rag_core.wording import plural

_ROWS_A_WRITE = 500

_BEGINNING = 65_536  # bytes at the start of a file by which its format is recognized

_MAY_HOLD_PARTS = (".txt", ".xml", ".json", ".html", ".htm")
"""Suffixes of files that may hold one document or many."""
PartReader = Callable[[ContainedPart], Extracted | RagError]
"""Reads one part of a file. Returns the error, instead of raising it, if the part cannot be read. Safe in any
thread."""
PartWriter = Callable[[FileRecord, Extracted], FileResult | None]
"""Stores a part that was read. Returns None if the owner has excluded the file meanwhile."""


@dataclass(frozen=True, slots=True)
class Container:
    """An open file that holds many documents."""

    data: Sliced
    path: PurePosixPath  #: The file's name, with a suffix for its format.
    codec: str = ""  #: The codec for text whose encoding would otherwise be guessed; '' if not set.

    def bytes_of(self, part: ContainedPart, most: int) -> bytes:
        """Return the bytes of a part as a file of its own. Raises ExtractError if there are more than
        ``most`` bytes, or if the file was changed meanwhile."""
        if part.end - part.start > most:
            raise ExtractError(f"It is larger than {most / 1e6:g} MB.", "Raise the setting `max_file_mb`.")
        data = data_of(self.data, self.path, part)
        if data is None:
            raise ExtractError("The file was changed while it was read.", "Index again.")
        return data


def container_name(root: Path, file: FileRecord, *, from_cloud: bool) -> PurePosixPath | None:
    """Return the name under which to read a file of many documents, or None if the file holds only one. The
    name has a suffix for the format of the parts. Raises ExtractError if the file cannot be read."""
    path = PurePosixPath(file.display)
    if holds_parts(path):
        return path
    if has_known_name(path) and path.suffix.lower() not in _MAY_HOLD_PARTS:
        return None
    with opened_in_slices(root, file.stat.path, from_cloud=from_cloud) as data:
        return container_path(data[:_BEGINNING], path)


class KnownParts:
    """Finds the parts of files by name. The parts of the last file stay in memory, because a run asks for
    them one after the other."""

    def __init__(self) -> None:
        self._last: tuple[tuple[int, ...], dict[str, ContainedPart]] = (), {}

    def find(self, data: FileSlices, path: PurePosixPath, name: str) -> ContainedPart | None:
        """Return the part called ``name`` of a file, or None if there is no such part."""
        version, known = self._last
        if version != data.version:
            known = {part.name: part for part in parts_of(data, path)}
            self._last = data.version, known
        return known.get(name)


@dataclass
class PartsReading:
    """Updates the stored parts of one file."""

    store: Store
    workers: Workers
    file: FileRecord
    path: PurePosixPath
    """The name under which the file is read."""
    read: PartReader
    put: PartWriter
    put_failure: Callable[[FileRecord, RagError], object]
    look: Callable[[str], None]
    """Called between parts with a description of the part for people. May raise to stop the run."""
    embed_one: Callable[[], bool]
    """Embeds a text while a part is read. Returns False if no text is queued."""
    force: bool = False
    """Whether unchanged parts are read again, too."""
    passages: tuple[int, int] = (0, 0)
    """Number of new passages, then number of passages left out because they repeat another passage of their
    part."""
    _unread: list[int] = field(default_factory=list)
    _is_left_out: bool = False

    def run(self, contained: Sequence[ContainedPart], container: int) -> bool:
        """Store new and changed parts, and forget the parts that are gone.

        Args:
            contained: All parts that the file holds now.
            container: The row id of the file.

        Returns:
            False if the owner has excluded the file meanwhile.

        """
        with self.store.read() as db:
            stored = parts.stored_parts(db, container)
        unread = [part for part in contained if self.force or not self._is_as_stored(part, stored)]
        renumbered = {
            stored[part.name].id: part.number
            for part in contained
            if part.name in stored and stored[part.name].number != part.number
        }
        names = {part.name for part in contained}
        gone = [known.id for name, known in stored.items() if name not in names]
        forget_parts(self.store, gone)
        if renumbered:
            with self.store.write() as db:
                parts.number_parts(db, renumbered)
        self._read_all(unread, container)
        return not self._is_left_out

    def _is_as_stored(self, part: ContainedPart, stored: dict[str, parts.StoredPart]) -> bool:
        known = stored.get(part.name)
        if known is None or known.file_hash != part.data_hash or known.state == "failed":
            return False
        return is_current(known.extractor, PurePosixPath(self.file.display))

    def _read_all(self, unread: Sequence[ContainedPart], container: int) -> None:
        with closing(self.workers.ahead(unread, self._read_one, lambda _: True)) as begun:
            for number, (part, future) in enumerate(begun, 1):
                self.look(f"{self.file.display} ({number:,} of {len(unread):,})")
                assert future is not None  # noqa: S101 - all are begun early
                while not future.done() and self.embed_one():
                    pass
                if not self._is_left_out:
                    self._store(self._record(part, container), future.result())

    def _read_one(self, part: ContainedPart) -> Extracted | RagError:
        if self._is_left_out:
            return NotText("The file is excluded.", "Include it again to search it.")
        return self.read(part)

    def _record(self, part: ContainedPart, container: int) -> FileRecord:
        """Return the row of a part. It has the path of the file, but the part's own size and time."""
        time_ns = self.file.stat.mtime_ns if part.time_ns is None else part.time_ns
        stat = self.file.stat._replace(size=part.end - part.start, mtime_ns=time_ns, ctime_ns=0, inode=0)
        record = replace(self.file, stat=stat, file_hash=part.data_hash)
        return replace(record, part=part.name, number=part.number, container=container)

    def _store(self, record: FileRecord, doc: Extracted | RagError) -> None:
        if isinstance(doc, RagError):
            self._unread.append(record.number)
            self.put_failure(record, doc)
            return
        result = self.put(record, doc)
        if result is None:
            self._is_left_out = True
            return
        new, left = self.passages
        self.passages = new + result.chunks_added, left + result.chunks_skipped

    def document(self) -> Extracted:
        """Return the document for the row of the file. It has no text. Its warnings list the parts that
        cannot be read."""
        return row_of_file(self.file, self.path, warnings=tuple(self._warnings()), in_part=bool(self._unread))

    def _warnings(self) -> Iterator[str]:
        if self._unread:
            number = min(self._unread)
            count = plural(len(self._unread), part_called(self.path))
            yield f"{count} cannot be read, such as number {number:,}."


def forget_parts(store: Store, ids: Sequence[int]) -> None:
    """Remove parts of a file. They may be many, so they are removed in several transactions."""
    for start in range(0, len(ids), _ROWS_A_WRITE):
        with store.write() as db:
            for document_id in ids[start : start + _ROWS_A_WRITE]:
                write.remove_document(db, document_id)


def row_of_file(file: FileRecord, path: PurePosixPath, **more: Any) -> Extracted:
    """Return the document for the row of a file of many documents. It has no text. ``path`` is the name under
    which the file is read. ``more`` are further fields of `Extracted`."""
    title = title_of_name(PurePosixPath(file.display))
    return Extracted("", file_type(path), "", title, "file name", (), **more)
