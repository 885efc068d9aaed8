"""Finds folders that are worth indexing: Obsidian vaults, Documents, folders of code."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

FolderKind = Literal["vault", "documents", "code"]

_DOCUMENTS = ("Documents", "Notes", "notes")
_NOT_WALKED = frozenset({"AppData", "Library", "node_modules", "site-packages", "venv"})
_DEEPEST = 3  # maximum depth below a root
_MOST_WALKED = 3000  # maximum number of folders visited; ten thousand take a tenth of a second
_MOST_CODE = 3


@dataclass(frozen=True, slots=True)
class Offered:
    """A folder that the app offers to index, with its kind."""

    path: Path
    kind: FolderKind


def offered_folders(roots: Sequence[Path]) -> list[Offered]:
    """Return folders worth indexing: Obsidian vaults below ``roots`` (with ``.obsidian``), then folders of
    documents, then the folders with the most git repositories. Hidden folders and links are not followed."""
    vaults: list[Path] = []
    code: Counter[Path] = Counter()
    for folder, names in _walk(roots):
        if ".obsidian" in names:
            vaults.append(folder)
        elif ".git" in names:
            code[folder if folder.parent in roots else folder.parent] += 1
    documents = (root / name for root in roots for name in _DOCUMENTS)
    return [
        *(Offered(path, "vault") for path in sorted(vaults)),
        *(Offered(path, "documents") for path in documents if path not in vaults and _has_entries(path)),
        *(Offered(path, "code") for path, _ in code.most_common(_MOST_CODE)),
    ]


def _walk(roots: Iterable[Path]) -> Iterator[tuple[Path, set[str]]]:
    """Yield each folder with the names of its subfolders, nearest first. Vaults and repositories are not
    entered."""
    waiting = deque((root, 0) for root in roots)
    for _ in range(_MOST_WALKED):
        if not waiting:
            return
        folder, depth = waiting.popleft()
        with suppress(OSError), os.scandir(folder) as entries:
            names = {entry.name for entry in entries if entry.is_dir(follow_symlinks=False)}
            yield folder, names
            if depth < _DEEPEST and not names & {".obsidian", ".git"}:
                inside = sorted(name for name in names - _NOT_WALKED if not name.startswith("."))
                waiting.extend((folder / name, depth + 1) for name in inside)


def _has_entries(folder: Path) -> bool:
    with suppress(OSError), os.scandir(folder) as entries:
        return next(entries, None) is not None
    return False
