"""Adds to a note the text of Logseq blocks that the note refers to and that are in other notes of its folder.

A note keeps the text that a block had when the note was read. The text is updated when the note itself
changes, or by `commonplace reindex`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from rag_core.errors import ExtractError, NotText
from rag_core.extract import file_type, frontmatter, note_apps
from rag_core.files import display, read_bytes
from rag_core.index.embedded import EmbeddedPictures
from rag_core.store import Store, privacy
from rag_core.types import Extracted

_MOST_BYTES = 4_000_000  # the largest note that is searched for blocks


@dataclass
class ReferencedBlocks:
    """Adds the text of the blocks that notes refer to. The first note that refers to a block makes it read
    all notes of the folder; the texts are then kept for the other notes."""

    store: Store
    _folder: EmbeddedPictures | None = None
    _text_of: Mapping[str, str] = field(default_factory=dict)

    def shown_in(self, note: Extracted, folder: EmbeddedPictures | None) -> Extracted:
        """Return ``note`` with the text of each block that it refers to. ``folder`` holds the files of the
        note's folder; if it is None, the note is returned unchanged."""
        if folder is None or note.file_type != "markdown" or not note_apps.refers_to_blocks(note.text):
            return note
        if self._folder is not folder:
            self._text_of = _blocks_of(self.store, folder)
            self._folder = folder
        return note_apps.with_blocks(note, self._text_of)


def _blocks_of(store: Store, folder: EmbeddedPictures) -> dict[str, str]:
    """Return the texts of all blocks in the notes of a folder, by block identifier. Private and excluded
    notes are left out, because other viewers may see the notes that refer to them."""
    root = Path(folder.source.root)
    text_of: dict[str, str] = {}
    for file in folder.files:
        is_note = file_type(PurePosixPath(display(file.path))) == "markdown"
        if not is_note or file.path in folder.left_out or file.path in folder.online_only:
            continue
        try:
            data = read_bytes(root, file.path, _MOST_BYTES)
        except (ExtractError, NotText):
            continue
        text = data.decode("utf-8", "replace") if b"id::" in data else ""
        if (
            text
            and not frontmatter.read_frontmatter(text).private
            and not _is_hidden(store, folder, file.path)
        ):
            text_of |= note_apps.blocks_of(text)
    return text_of


def _is_hidden(store: Store, folder: EmbeddedPictures, path: bytes) -> bool:
    with store.read() as db:
        return privacy.hides_file(db, folder.source, path)
