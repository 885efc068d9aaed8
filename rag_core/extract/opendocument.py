"""OpenDocument texts and presentations (ODT, ODP) → their text under its headings, or slide by slide. It
includes tables, notes, comments, links, equations, alternative texts, charts, headers and footers."""

from __future__ import annotations

import io
from pathlib import PurePosixPath
from zipfile import ZipFile

from lxml.etree import _Element

from rag_core.extract.building import Builder, needs_password, one_line
from rag_core.extract.office import BROKEN, is_encrypted, local_name, member, salvaged, xml
from rag_core.extract.opendocument_numbers import OpenNumbers
from rag_core.extract.opendocument_text import FRAMES, OpenText, hiding_styles
from rag_core.types import Extracted

_USES_MARGIN = ("}use-header-name", "}use-footer-name", "}use-date-time-name")
_APART = {"note": "Notes", "annotation": "Comments"}


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """Return the document in ``data``. A part that cannot be read is named in a warning. Raises ExtractError
    if it needs a password."""
    builder = Builder()
    warnings: list[str] = []
    with ZipFile(io.BytesIO(data)) as archive:
        if is_encrypted(archive):
            raise needs_password(path)
        content = salvaged(member(archive, "content.xml"), "content.xml", warnings)
        facts = _part(archive, "meta.xml", warnings)
        styles = _part(archive, "styles.xml", warnings)
        numbers = OpenNumbers((styles, content))
        text = OpenText(archive, warnings, numbers, hiding_styles((content, styles)))
        is_slides = path.suffix.lower() == ".odp"
        if is_slides:
            _add_slides(builder, content, text)
        else:
            _add_text(builder, content, text)
        _add_beside(builder, text, styles)
    author = one_line(_fact(facts, "creator"))
    made = _fact(facts, "creation-date")[:10]
    return builder.document(
        "slides" if is_slides else "word",
        path.name,
        _fact(facts, "title") or ("" if is_slides else builder.opening),
        warnings=warnings,
        date=made if len(made) == 10 else None,
        metadata={"author": author} if author else {},
    )


def _part(archive: ZipFile, name: str, warnings: list[str]) -> _Element | None:
    """Return an optional part of a document, or None if it is missing or damaged."""
    try:
        return xml(member(archive, name))
    except KeyError:
        return None
    except BROKEN:
        warnings.append(f"{name!r} is damaged.")
        return None


def _fact(facts: _Element | None, name: str) -> str:
    return (facts.findtext(f".//{{*}}meta/{{*}}{name}") or "") if facts is not None else ""


def _add_slides(builder: Builder, content: _Element, text: OpenText) -> None:
    margins = {
        value: text.of(declared)
        for declared in content.iter("{*}header-decl", "{*}footer-decl", "{*}date-time-decl")
        for key, value in declared.items()
        if key.endswith("}name")
    }
    for number, page in enumerate(content.iter("{*}page"), 1):
        builder.begin("slide", number)
        _add(builder, page, text)
        for heading in _APART.values():
            builder.add("\n".join(text.taken(heading)))
        used = [value for key, value in page.items() if key.endswith(_USES_MARGIN)]
        builder.add("\n".join(filter(None, map(margins.get, used))))


def _add_text(builder: Builder, content: _Element, text: OpenText) -> None:
    body = next(content.iterfind("{*}body/{*}text"), content)
    _add(builder, body, text)
    for heading in _APART.values():
        builder.add_lines(heading, text.taken(heading))


def _add(builder: Builder, parent: _Element, text: OpenText) -> None:
    """Add the paragraphs, headings and tables in ``parent`` in order."""
    for element in parent.iterchildren():
        if text.hides(element):
            continue
        match local_name(element):
            case "tracked-changes" | "forms":
                continue
            case "table-row":
                cells = element.iterchildren("{*}table-cell")
                builder.add(" | ".join(" ".join(text.of(cell).split()) for cell in cells), gap="\n")
            case "h":
                level = next((value for key, value in element.items() if key.endswith("}outline-level")), "1")
                builder.heading(int(level) if level.isdecimal() else 1, text.numbered(element))
            case "p":
                builder.add(text.numbered(element))
            case name if name == "annotation" or name in FRAMES:
                text.read_apart(element)
            case _:
                _add(builder, element, text)
                continue
        for box in text.boxes():
            _add(builder, box, text)


def _is_on_every_slide(drawn: _Element) -> bool:
    """Whether an element of a master slide shows a text of its own on all of its slides."""
    said = {key.rpartition("}")[2]: value for key, value in drawn.items()}
    return (
        local_name(drawn) in FRAMES
        and said.get("placeholder") != "true"
        and said.get("class", "") in ("", "footer", "header")
    )


def _add_beside(builder: Builder, text: OpenText, styles: _Element | None) -> None:
    """Add the texts that belong to the whole document."""
    lines: dict[str, None] = {}
    for margin in styles.iter("{*}master-page") if styles is not None else ():
        for part in margin.iterchildren():
            if local_name(part).startswith(("header", "footer")) or _is_on_every_slide(part):
                lines.update(dict.fromkeys(text.of(paragraph) for paragraph in part.iter("{*}p")))
    builder.begin("text", "")
    for line in lines:
        builder.add(line)
    for heading in ("Pictures", "Charts", "Links"):
        builder.add_lines(heading, text.taken(heading))
    builder.add_lines("Readings", text.readings.lines())
