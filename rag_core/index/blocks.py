"""Blocks of Logseq that stand in other notes of the folder: a reference to one is shown as its text.

A note keeps the text that a block had when the note was read. It is read again when it changes itself, or by
`commonplace reindex`.
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

_MOST_BYTES = 4_000_000  # of a note in which blocks are looked for


@dataclass
class ReferencedBlocks:
    """Shows the blocks that notes refer to. Of each folder all notes are read once, when the first one refers
    to a block of another."""

    store: Store
    _folder: EmbeddedPictures | None = None
    _text_of: Mapping[str, str] = field(default_factory=dict)

    def shown_in(self, note: Extracted, folder: EmbeddedPictures | None) -> Extracted:
        """Return the note with the text of each block that it refers to; ``folder`` is the folder of the
        note."""
        if folder is None or note.file_type != "markdown" or not note_apps.refers_to_blocks(note.text):
            return note
        if self._folder is not folder:
            self._text_of = _blocks_of(self.store, folder)
            self._folder = folder
        return note_apps.with_blocks(note, self._text_of)


def _blocks_of(store: Store, folder: EmbeddedPictures) -> dict[str, str]:
    """Return the text of each block in the notes of a folder, by its identifier. Private and excluded notes
    have none: the notes that refer to them may be seen by others."""
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
