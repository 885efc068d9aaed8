"""Text files → text, segments and metadata. They are read in the process of the run, except HTML, which the
worker reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath

from rag_core.errors import ExtractError, NotText
from rag_core.extract import (
    binary,
    code,
    encoding,
    escapes,
    exports,
    frontmatter,
    keyed,
    markdown,
    markup,
    nested,
    not_read,
    org,
    references,
    ruby,
    subtitles,
    tables,
    tiddlers,
    webpage,
)
from rag_core.extract.building import Builder
from rag_core.extract.filetypes import file_type, title_of_name
from rag_core.text import tags
from rag_core.types import Extracted, Segment

_SEGMENTS: dict[str, Callable[[str], tuple[Segment, ...]]] = {
    "python": code.segments,
    "json": keyed.json_segments,
    "yaml": nested.yaml_segments,
    "toml": keyed.table_segments,
    "ini": keyed.table_segments,
    "terraform": keyed.terraform_segments,
    "csv": partial(tables.row_segments, usual=","),
    "tsv": partial(tables.row_segments, usual="\t"),
    "rst": markup.rst_segments,
    "bibtex": references.reference_segments,
}
"""File type → function that splits it into segments. Files of all other types are one segment."""


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """Read a text file. Only the name of ``path`` matters. Raises NotText for pictures, programs and other
    binary files, and ExtractError if the bytes do not match the encoding that they declare."""
    if what := binary.signature(data):
        raise _not_text(path, what)
    kind = file_type(path)
    decoded = _decoded(data, path, kind)
    if found := _exported(decoded, path, kind):
        return found
    decoded = replace(decoded, text=escapes.shown(decoded.text, kind, path))
    readings: list[str] = []
    if kind == "text":
        text, readings = ruby.without_aozora(decoded.text)
        decoded = replace(decoded, text=text)
    if kind == "subtitles":
        of_cues = path.suffix.lower() not in subtitles.OF_SUBTITLES
        spoken = subtitles.without_tags if of_cues else subtitles.dialogue
        decoded = replace(decoded, text=spoken(decoded.text))
    if kind == "markdown":
        text, readings = ruby.without_elements(decoded.text)
        note = markdown.read(text, path, decoded.encoding, decoded.warning)
        return _with_readings(note, readings)
    if kind == "org":
        return org.read(decoded.text, path, decoded.encoding, decoded.warning)
    if kind == "html":
        return _read_page(decoded, path)
    return _with_readings(_read(decoded, path, kind), readings)


def _decoded(data: bytes, path: PurePosixPath, kind: str) -> encoding.Decoded:
    if encoding.is_ebcdic(data):
        raise NotText(
            f"{path.name!r} is text in EBCDIC, the encoding of mainframes, which is not read.",
            "Save it as UTF-8 to search it.",
        )
    try:
        return encoding.decode(data, kind)
    except encoding.BinaryError:
        raise _not_text(path, binary.guess(data)) from None
    except UnicodeDecodeError as error:
        raise ExtractError(
            f"{path.name!r} is marked as {error.encoding.upper()} but is not valid {error.encoding.upper()}.",
            "Save it as UTF-8 in the program that made it.",
        ) from None


def _with_fields(document: Extracted) -> Extracted:
    """Return a document of TiddlyWiki with what its fields say."""
    fields = tiddlers.fields_of(document.text)
    kept, left_out = tags.bounded(frontmatter.unique(fields.tags))
    parts = [replace(part, start=max(part.start, fields.body)) for part in document.segments]
    return replace(
        document,
        title=fields.title or document.title,
        title_from="front matter" if fields.title else document.title_from,
        tags=kept,
        date=fields.date,
        segments=tuple(part for part in parts if part.start < part.end),
        warnings=(*document.warnings, *((left_out,) if left_out else ())),
    )


def _with_readings(document: Extracted, readings: Sequence[str]) -> Extracted:
    """Return ``document`` with the pronunciations of its words under a heading at its end."""
    if not readings:
        return document
    text = document.text.rstrip("\n") + "\n\n"
    end = Segment(len(text), len(text) + len("\n".join(readings)), ("Readings",), "heading", "Readings")
    *others, last = document.segments or (Segment(0, len(text)),)
    segments = (*others, replace(last, end=len(text)), end)
    return replace(document, text=text + "\n".join(readings), segments=segments)


def _exported(decoded: encoding.Decoded, path: PurePosixPath, kind: str) -> Extracted | None:
    """Return the document for an export of another app, or None for any other file."""
    found = None
    if kind == "text":
        found = exports.read_text(decoded.text, path.name)
    elif kind == "json":
        found = exports.read_json(decoded.text, path)
    elif kind == "html" and (reader := exports.page_reader(decoded.text, path.name)):
        root = webpage.page_tree(decoded.text)
        found = reader(root, path.name) if root is not None else None
    if found is None:
        return None
    warnings = (*((decoded.warning,) if decoded.warning else ()), *found.warnings)
    return replace(found, encoding=decoded.encoding, warnings=warnings)


def _read_page(decoded: encoding.Decoded, path: PurePosixPath) -> Extracted:
    page, builder, front = (
        webpage.visible_page(decoded.text),
        Builder(),
        frontmatter.read_frontmatter(decoded.text),
    )
    page.add_to(builder)
    builder.add_lines("Readings", page.readings)
    builder.private = front.private
    builder.notes += filter(None, (decoded.warning, front.unsure))
    title = page.title or page.first_heading
    found = builder.document("html", path.name, title)
    return replace(found, encoding=decoded.encoding)


def _not_text(path: PurePosixPath, what: str) -> NotText:
    if sentence := not_read.why_not_read(path.suffix.lower(), what):
        return NotText(sentence, f"{path.name!r} is found by its name.")
    return NotText(
        f"{path.name!r} is {what}, not text.",
        "It is skipped; export its words as Markdown or text to search them.",
    )


def _read(decoded: encoding.Decoded, path: PurePosixPath, kind: str) -> Extracted:
    text = decoded.text
    headings = markup.headings_of(text, kind) if kind in markup.WITH_HEADINGS else []
    whole = markup.sections(headings, 0, len(text))
    segments = _SEGMENTS[kind](text) if kind in _SEGMENTS else whole
    heading = next((each.text for each in headings if each.level == 1), "")
    if kind == "rst":
        heading = next((each.heading_path[0] for each in segments if each.heading_path), "")
    elif kind == "bibtex" and len(segments) == 1:
        heading = " ".join(segments[0].heading_path)
    # Front matter is read only for `private`. In YAML, a first line of dashes begins the document itself.
    front = frontmatter.FrontMatter() if kind == "yaml" else frontmatter.read_frontmatter(text)
    document = Extracted(
        text=text,
        file_type=kind,
        encoding=decoded.encoding,
        title=heading or title_of_name(path),
        title_from="heading" if heading else "file name",
        segments=segments,
        date=keyed.date_of_records(text) if kind == "json" else None,
        private=front.private,
        warnings=tuple(sentence for sentence in (decoded.warning, front.unsure) if sentence),
    )
    return _with_fields(document) if kind == "tiddlywiki" else document
