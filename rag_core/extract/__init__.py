"""File → text, segments and metadata. Pure: bytes and a name in, a value out.

Files of a suffix that an installed package claims are read by the package, in a process of its own.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from contextlib import closing, nullcontext
from functools import partial
from pathlib import PurePosixPath

from rag_core.errors import ExtractError, NotText
from rag_core.extract import binary, code, encoding, frontmatter, keyed, markdown, markup
from rag_core.extract.filetypes import (
    EXTRACTOR_VERSION,
    Extractor,
    current_sql,
    extractor_number,
    file_type,
    is_current,
    package_of,
    reader_of,
    title_of_name,
    type_of_suffix,
)
from rag_core.extract.worker import TIME_LIMIT_S, Worker
from rag_core.types import Extracted, Segment

__all__ = [
    "EXTRACTOR_VERSION",
    "TIME_LIMIT_S",
    "Extractor",
    "Worker",
    "current_sql",
    "extract",
    "extractor_number",
    "file_type",
    "hardly_text",
    "is_current",
    "reader_of",
    "type_of_suffix",
]

_SEGMENTS: dict[str, Callable[[str], tuple[Segment, ...]]] = {
    "python": code.segments,
    "json": keyed.json_segments,
    "yaml": keyed.yaml_segments,
    "toml": keyed.table_segments,
    "ini": keyed.table_segments,
    "terraform": keyed.terraform_segments,
    "csv": partial(keyed.row_segments, delimiter=","),
    "tsv": partial(keyed.row_segments, delimiter="\t"),
    "html": markup.html_segments,
    "rst": markup.rst_segments,
    "org": markup.org_segments,
}
"""How each file type is cut into segments; files of all others are one."""

_TITLES: dict[str, Callable[[str], str]] = {"html": markup.html_title, "org": markup.org_title}


def hardly_text(path: str) -> bool:
    """Whether a file is hardly text by its name alone, so that ``extract`` is likely to refuse it."""
    return posixpath.splitext(path)[1].lower() in binary.SUFFIXES and not package_of(PurePosixPath(path))


def extract(data: bytes, path: PurePosixPath, worker: Worker | None = None) -> Extracted:
    """Read a file's bytes as text, with its title, sections, tags, links and front matter.

    ``path`` is only a name: its suffix chooses the format, its stem is the title of last
    resort. Raises NotText for images, archives and other binaries, ExtractError when the
    bytes claim an encoding that they break, or the package that reads them fails. ``worker`` is where
    packages work; without it they get one for this file alone.
    """
    if package := package_of(path):
        with nullcontext(worker) if worker else closing(Worker()) as process:
            return process.read(package, data, path)
    if what := binary.signature(data, path.suffix):
        raise _not_text(path, what)
    kind = file_type(path)
    try:
        decoded = encoding.decode(data, kind)
    except encoding.BinaryError:
        raise _not_text(path, binary.guess(data)) from None
    except UnicodeDecodeError as error:
        raise ExtractError(
            f"{path.name!r} is marked as {error.encoding.upper()} but is not valid {error.encoding.upper()}.",
            "Save it as UTF-8 in the program that made it.",
        ) from None
    if kind == "markdown":
        return markdown.read(decoded.text, title_of_name(path), decoded.encoding, decoded.warning)
    return _read(decoded, path, kind)


def _not_text(path: PurePosixPath, what: str) -> NotText:
    return NotText(
        f"{path.name!r} is {what}, not text.",
        "It is skipped; export its words as Markdown or text to search them.",
    )


def _read(decoded: encoding.Decoded, path: PurePosixPath, kind: str) -> Extracted:
    text = decoded.text
    segments = _SEGMENTS[kind](text) if kind in _SEGMENTS else (Segment(0, len(text)),) if text else ()
    heading = _TITLES[kind](text) if kind in _TITLES else ""
    if not heading and kind in ("rst", "org"):
        heading = next((each.heading_path[0] for each in segments if each.heading_path), "")
    # Front matter is read only for `private`. In YAML a first line of dashes begins the document itself.
    front = frontmatter.FrontMatter() if kind == "yaml" else frontmatter.read(text)
    return Extracted(
        text=text,
        file_type=kind,
        encoding=decoded.encoding,
        title=heading or path.name,
        title_from="heading" if heading else "file name",
        segments=segments,
        date=keyed.date_of_records(text) if kind == "json" else None,
        private=front.private,
        warnings=tuple(sentence for sentence in (decoded.warning, front.unsure) if sentence),
    )
