"""Which reader takes which file type, and what they all share: a title and at least one segment."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import PurePosixPath

from rag_core.extract import definitions, frontmatter, keyed, markdown, outline, rows
from rag_core.extract.encoding import Decoded
from rag_core.extract.naming import title_of_name
from rag_core.types import Extracted, Segment

_HTML_TITLE = re.compile(r"<title(?:\s[^<>]*)?>([^<]{1,1000})", re.I)
_TITLE_LIMIT = 200
_UNSHOWN = re.compile(r"<(?:(!--)|(script|style|head)(?=[\s>]))", re.I)
_TAG = re.compile("<[^<>]*>")
_ENDS = {"!--": re.compile("-->")} | {
    tag: re.compile(rf"</{tag}\s*>", re.I) for tag in ("script", "style", "head")
}

_Segments = tuple[Segment, ...]


def read(decoded: Decoded, path: PurePosixPath, kind: str) -> Extracted:
    """The document that ``decoded`` is, read as file type ``kind``."""
    text = decoded.text
    if kind == "markdown":
        return markdown.read(text, title_of_name(path), decoded.encoding, decoded.warning)
    segments = _SEGMENTS.get(kind, _whole)(text)
    heading = _TITLES.get(kind, _no_title)(text, segments)
    # Front matter is read for this alone. In YAML a first line of dashes begins the document itself.
    front = frontmatter.FrontMatter() if kind == "yaml" else frontmatter.read(text)
    return Extracted(
        text=text,
        file_type=kind,
        encoding=decoded.encoding,
        title=heading or path.name,
        title_from="heading" if heading else "file name",
        segments=segments,
        date=_DATES.get(kind, _no_date)(text),
        private=front.private,
        warnings=tuple(sentence for sentence in (decoded.warning, front.unsure) if sentence),
    )


def _whole(text: str, start: int = 0, end: int | None = None) -> _Segments:
    end = len(text) if end is None else end
    return (Segment(start, end),) if start < end else ()


def _no_title(_text: str, _segments: _Segments) -> str:
    return ""


def _no_date(_text: str) -> str | None:
    return None


def _first_heading(_text: str, segments: _Segments) -> str:
    return next((segment.heading_path[0] for segment in segments if segment.heading_path), "")


def _org_title(text: str, segments: _Segments) -> str:
    return outline.org_title(text) or _first_heading(text, segments)


def _html_segments(text: str) -> _Segments:
    """The text between comments, scripts, styles and the head. One of them that does not end is left in."""
    found: list[Segment] = []
    endless: set[str] = set()
    start = at = 0
    while opening := _UNSHOWN.search(text, at):
        kind = opening[1] or opening[2].lower()
        closing = None if kind in endless else _ENDS[kind].search(text, opening.end())
        if closing is None:
            endless.add(kind)
            at = opening.end()
            continue
        found += _whole(text, start, opening.start())
        start = at = closing.end()
    if not start:
        return _whole(text)
    found += _whole(text, start)
    return tuple(each for each in found if _TAG.sub("", text[each.start : each.end]).strip())


def _html_title(text: str, _segments: _Segments) -> str:
    match = _HTML_TITLE.search(text)
    return " ".join(html.unescape(match[1]).replace("\0", "").split())[:_TITLE_LIMIT] if match else ""


_SEGMENTS: dict[str, Callable[[str], _Segments]] = {
    "python": definitions.segments,
    "json": keyed.json_segments,
    "yaml": keyed.yaml_segments,
    "toml": keyed.table_segments,
    "ini": keyed.table_segments,
    "terraform": keyed.terraform_segments,
    "csv": lambda text: rows.segments(text, ","),
    "tsv": lambda text: rows.segments(text, "\t"),
    "html": _html_segments,
    "rst": outline.rst_segments,
    "org": outline.org_segments,
}

_DATES: dict[str, Callable[[str], str | None]] = {"json": keyed.date_of_records}

_TITLES: dict[str, Callable[[str, _Segments], str]] = {
    "rst": _first_heading,
    "org": _org_title,
    "html": _html_title,
}
