"""Finds moved files: pairs documents whose file is missing with new files of the same content."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple

from rag_core.extract import file_type, is_current
from rag_core.files import FileStat
from rag_core.store.documents import FileRecord

HashOf = Callable[[FileRecord], str]
"""Returns the sha256 of a file's content, or '' if the file cannot be read."""


class KnownFile(NamedTuple):
    """A file as the store knows it. It is a tuple to save memory, because there is one for every file."""

    id: int
    display: str
    stat: FileStat
    file_hash: str
    state: str
    title_from: str
    extractor: int

    @property
    def is_current(self) -> bool:
        """Whether the file was read by the current version of its extractor."""
        return is_current(self.extractor, PurePosixPath(self.display))


@dataclass(frozen=True, slots=True)
class Move:
    """A document and its file today. The file has another path than before, or another size or time."""

    known: KnownFile
    file: FileRecord


def moved_in_cloud(gone: Sequence[KnownFile], in_cloud: Sequence[FileRecord]) -> list[Move]:
    """Pair each file that is only in a cloud with the missing document of the same size, time and type. A
    pair is made only if exactly one document and one file have these."""
    new: defaultdict[tuple[int, int, str], list[FileRecord]] = defaultdict(list)
    missing: defaultdict[tuple[int, int, str], list[KnownFile]] = defaultdict(list)
    for file in in_cloud:
        new[file.stat.size, file.stat.mtime_ns, _type(file)].append(file)
    for known in gone:
        if known.state == "indexed" and known.file_hash:
            missing[known.stat.size, known.stat.mtime_ns, _type(known)].append(known)
    pairs = [(missing[key], new[key]) for key in new.keys() & missing.keys()]
    return [Move(known[0], files[0]) for known, files in pairs if len(known) == len(files) == 1]


def moved_candidates(
    gone: Sequence[KnownFile], new: Sequence[FileRecord], hash_of: HashOf
) -> list[tuple[FileRecord, list[KnownFile]]]:
    """Return each new file that is as large as a missing document, with the missing documents of the same
    content and type, which may be none."""
    missing: defaultdict[tuple[str, str], list[KnownFile]] = defaultdict(list)
    for known in gone:
        if known.state == "indexed" and known.file_hash:
            missing[known.file_hash, _type(known)].append(known)
    sizes = {known.stat.size for group in missing.values() for known in group}
    same_size = [file for file in new if file.stat.size in sizes]
    return [(file, missing.get((hash_of(file), _type(file)), [])) for file in same_size]


def paired(choices: Sequence[tuple[FileRecord, list[KnownFile]]]) -> list[Move]:
    """Pair each new file with one of its candidate documents, and each document with at most one file.
    Candidates with the same file name are preferred. Files without a candidate are left out."""
    moves: list[Move] = []
    placed: set[bytes] = set()
    for by_name in (True, False):
        for file, group in choices:
            if file.stat.path in placed:
                continue
            if best := next((known for known in group if not by_name or _name(known) == _name(file)), None):
                group.remove(best)
                placed.add(file.stat.path)
                moves.append(Move(best, file))
    return moves


def _name(file: KnownFile | FileRecord) -> str:
    return PurePosixPath(file.display).name


def _type(file: KnownFile | FileRecord) -> str:
    return file_type(PurePosixPath(file.display))
