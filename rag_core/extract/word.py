"""Word documents (DOCX) → their text under its headings. It includes tables, text boxes, equations, notes,
comments, links, alternative texts, charts, headers and footers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from docx import Document
from lxml.etree import _Element

from rag_core.extract import pictures, readers
from rag_core.extract.building import Builder
from rag_core.extract.office import (
    BROKEN,
    core_properties,
    local_name,
    opened_package,
    refuse_encrypted,
    text_of_graphic,
    xml,
)
from rag_core.extract.word_numbers import Numbering, attribute, value
from rag_core.extract.word_text import WordText, vanishes
from rag_core.types import Extracted

_HEADING = re.compile(r"(?:heading|title|überschrift|titre|título|titolo) ?(\d?)", re.I)
_BESIDE = {"footnotes": "Footnotes", "endnotes": "Endnotes", "comments": "Comments"}
_GRAPHICS = frozenset({"chart", "chartEx", "diagramData"})
_DELETED = frozenset({"del", "moveFrom"})


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """Return the document in ``data``. A part that cannot be read is named in a warning."""
    refuse_encrypted(data, path)
    document, warnings = opened_package(data, Document)
    builder = Builder()
    styles = {
        attribute(style, "styleId"): style for style in document.styles.element.iterchildren("{*}style")
    }
    numbering = _numbering(document, styles, warnings)
    text = WordText(document.part.rels, numbering, _hiding_styles(styles))
    levels = {name: level for name, style in styles.items() if (level := _level(style))}
    _Blocks(builder, document.part, text, levels, warnings).add(document.element.body)
    _add_notes(builder, document, text, warnings)
    _add_graphics(builder, document, text, warnings)
    _add_margins(builder, document, text)
    builder.add_lines("Links", text.links)
    builder.add_lines("Readings", text.readings.lines())
    title, more = core_properties(document, warnings)
    return builder.document("word", path.name, title or builder.opening, warnings=warnings, **more)


def _level(style: _Element) -> int | None:
    """The level of the headings that have this style, None for other paragraphs."""
    match = _HEADING.fullmatch(value(style, "name"))
    return int(match[1] or 1) if match else None


def _numbering(document: Any, styles: Mapping[str, _Element], warnings: list[str]) -> Numbering:
    """The lists of a document; of a damaged part with them none."""
    for _, part in _parts(document, "numbering"):
        try:
            return Numbering(xml(part.blob), styles)
        except BROKEN:
            warnings.append(f"{part.partname.lstrip('/')!r} is damaged.")
    return Numbering(None, styles)


def _hiding_styles(styles: Mapping[str, _Element]) -> set[str]:
    """The ids of the styles that hide their text, themselves or as they are based on one that does."""
    own = {name: vanishes(style) for name, style in styles.items()}
    based_on = {name: value(style, "basedOn") for name, style in styles.items()}
    hiding: set[str] = set()
    for name in own:
        at, seen = name, set[str]()
        while own.get(at) is None and at in based_on and at not in seen:
            seen.add(at)
            at = based_on[at]
        if own.get(at):
            hiding.add(name)
    return hiding


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Adds the blocks of a document to what is built of it."""

    builder: Builder
    part: Any
    text: WordText
    levels: dict[str, int]  #: The levels of the styles of headings.
    warnings: list[str]

    def add(self, blocks: Iterable[_Element]) -> None:
        """Add paragraphs and tables, also those in content controls and in what was inserted."""
        initial = ""  # a large first letter, which is a paragraph of its own
        for block in blocks:
            name = local_name(block)
            if name in ("tbl", "sdt", "altChunk"):
                self.builder.add(initial)
                initial = ""
            if name == "tbl":
                _add_table(self.builder, block, self.text)
            elif name == "p":
                words, initial = initial + self.text.of(block), ""
                level = self.levels.get(value(block, "pPr/pStyle"))
                if _is_initial(block):
                    initial = words
                elif level:
                    self.builder.heading(level, words)
                else:
                    self.builder.add(words)
            elif name == "altChunk":
                self._add_file(attribute(block, "id"))
            elif name not in _DELETED:
                self.add(block.iterchildren())
        self.builder.add(initial)

    def _add_file(self, relation: str) -> None:
        """Add a file whose text Word shows as a part of the document, such as a web page."""
        try:
            file = self.part.related_parts[relation]
            found = readers.read(file.blob, PurePosixPath(file.partname))
        except Exception:  # whatever its parser raises, the document is read
            self.warnings.append(f"The inserted file {relation!r} is missing or cannot be read.")
            return
        self.warnings.extend(found.warnings)
        for segment in found.segments:
            text = found.text[segment.start : segment.end]
            heading = "".join(segment.heading_path[-1:])
            if heading and text.startswith(heading):
                self.builder.heading(len(segment.heading_path), heading)
                text = text.removeprefix(heading)
            self.builder.add(text)


def _is_initial(paragraph: _Element) -> bool:
    frame = paragraph.find("{*}pPr/{*}framePr")
    return frame is not None and any(
        key.endswith("}dropCap") and value != "none" for key, value in frame.items()
    )


def _add_table(builder: Builder, table: _Element, text: WordText) -> None:
    """Add a table, one line for each row. A table inside a cell becomes part of that cell's line."""
    rows = [row for row in table.iter("{*}tr") if next(row.iterancestors("{*}tbl")) is table]
    rows = [row for row in rows if row.find("{*}trPr/{*}del") is None]
    for number, row in enumerate(rows):
        inside = [cell for cell in row.iter("{*}tc") if next(cell.iterancestors("{*}tr")) is row]
        cells = [" ".join(text.of(cell).split()) for cell in inside]
        builder.add(" | ".join(cells), gap="\n" if number else "\n\n")


def _parts(document: Any, *kinds: str) -> list[tuple[str, Any]]:
    """Return the parts of a document of these kinds, each with its kind."""
    related = [(each.reltype.rsplit("/", 1)[-1], each) for each in document.part.rels.values()]
    return [(kind, each.target_part) for kind, each in related if kind in kinds and not each.is_external]


def _add_notes(builder: Builder, document: Any, text: WordText, warnings: list[str]) -> None:
    """Add footnotes, endnotes and comments."""
    for kind, part in _parts(document, *_BESIDE):
        try:
            notes = xml(part.blob)
        except BROKEN:
            warnings.append(f"{part.partname.lstrip('/')!r} is damaged.")
            continue
        builder.begin("heading", _BESIDE[kind], _BESIDE[kind])
        text.follow(part.rels)
        for note in notes.iterchildren():
            author = next((value for key, value in note.items() if key.endswith("}author")), "")
            said = text.of(note)
            builder.add(f"{author}: {said}" if author and said else said)


def _add_graphics(builder: Builder, document: Any, text: WordText, warnings: list[str]) -> None:
    """Add the text in pictures with their alternative texts, and the words in charts and SmartArt."""
    builder.begin("heading", "Pictures", "Pictures")
    for _, part in _parts(document, "image"):
        builder.add_seen(pictures.text_of(part.blob, part.partname.lstrip("/"), warnings))
    for alternative in text.alternatives:
        builder.add(alternative, gap="\n")
    builder.begin("heading", "Charts", "Charts")
    for _, part in _parts(document, *_GRAPHICS):
        try:
            builder.add(text_of_graphic(part.blob))
        except BROKEN:
            warnings.append(f"{part.partname.lstrip('/')!r} is damaged.")


def _add_margins(builder: Builder, document: Any, text: WordText) -> None:
    """Add each distinct line of the headers and footers, including those of first and even pages."""
    lines: dict[str, None] = {}
    for _, part in _parts(document, "header", "footer"):
        text.follow(part.rels)
        lines.update(dict.fromkeys(text.of(paragraph) for paragraph in part.element.iter("{*}p")))
    builder.begin("text", "")
    for line in lines:
        builder.add(line)
