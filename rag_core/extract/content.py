"""Recognizes the format of a file by its content when its name says nothing or is wrong.

Examples are a mail in a Maildir, a DOC that is RTF or HTML, an XLS that is an HTML table, and a script
without a suffix.
"""

from __future__ import annotations

import io
import json
import re
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import PurePosixPath
from zipfile import BadZipFile, ZipFile

from rag_core.errors import ExtractError, NotText
from rag_core.extract.building import damaged
from rag_core.extract.filetypes import (
    READER_MODULES,
    TYPE_BY_NAME,
    TYPE_BY_SUFFIX,
    package_of,
    title_of_name,
)
from rag_core.types import Extracted

_LOOKED_AT = 16_384  # number of bytes that are examined
_MOST_JSON = 2_000_000  # maximum bytes of a file without a suffix that is parsed as JSON
_OFFICE = frozenset(
    ".docx .docm .dotx .pptx .pptm .xlsx .xlsm .xlsb .odt .odp .ods .epub .rtf .msg"
    " .doc .dot .xls .xlt .ppt .pps".split()
)
"""Suffixes under which programs also save other formats."""
_TEXTS = frozenset(".txt .text .log .csv .tsv .md .json .xml .html .htm .mht .mhtml".split())
"""Suffixes under which documents of other programs are often saved. Such a text counts as another kind only
if all of it is that kind."""
_OTHER = frozenset({".zip", ".pdf"})
_PROSE = frozenset({".txt", ".text"})
_TEXT_OF_OLD = {".doc": ".txt", ".dot": ".txt", ".msg": ".txt", ".xls": ".csv", ".xlt": ".csv"}
"""Suffix of an old format → suffix under which plain text in such a file is read. The programs of these
formats open plain text."""
_IN_ZIP = {
    b"word/document.xml": ".docx",
    b"word/document2.xml": ".docx",  # of Word in a browser
    b"ppt/presentation.xml": ".pptx",
    b"xl/workbook.xml": ".xlsx",
    b"xl/workbook.bin": ".xlsb",
    b"META-INF/container.xml": ".epub",
    b"mimetypeapplication/epub+zip": ".epub",
    b"mimetypeapplication/vnd.oasis.opendocument.text": ".odt",
    b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet": ".ods",
    b"mimetypeapplication/vnd.oasis.opendocument.presentation": ".odp",
}
"""Bytes in an archive → its format. Names and uncompressed members can be found without unpacking."""
_LONGEST_MIMETYPE = 100
_DAMAGED = (BadZipFile, KeyError, ValueError, OSError, EOFError, RuntimeError, zlib.error)
"""What a damaged archive raises."""
_IN_OLE = {
    "__properties_version1.0": ".msg",
    "WordDocument": ".doc",
    "PowerPoint Document": ".ppt",
    "Workbook": ".xls",
    "Book": ".xls",
}
"""Names of streams in Office's old container format → suffix."""
_BEGINNINGS = {
    b"{\\rtf": ".rtf",
    b"%PDF-": ".pdf",
    b"BEGIN:VCALENDAR": ".ics",
    b"BEGIN:VCARD": ".vcf",
    b"\x89PNG\r\n": ".png",
    b"\xff\xd8\xff": ".jpg",
    b"GIF8": ".gif",
    b'x\x9f>"': ".tnef",
}
_PAGES = frozenset({".html", ".htm", ".mht", ".mhtml"})
_RELATED = re.compile(rb"^content-type:[ \t]*multipart/(?:related|alternative)", re.I | re.M)
_HEADER = re.compile(rb"([A-Za-z][A-Za-z0-9-]{1,60}):[^\r\n]*(?:\r?\n[ \t][^\r\n]*)*\r?\n")
_OF_MAIL = frozenset(b"date to subject message-id received mime-version return-path delivered-to".split())
_OF_RAW_MAIL = frozenset(b"message-id received mime-version return-path delivered-to".split())
_MAILBOX = re.compile(rb"From (\S[^\n]{5,200})\n[!-9;-~]{1,80}:")
_YEAR = re.compile(rb"\b(?:19|20)\d\d\b")
_PAGE = re.compile(
    rb"(?:<\?xml[^>]*>\s*)?(?:<!--[^>]*-->\s*)*<(?:!doctype[ ]html|html|head|body|table|meta)\b", re.I
)
_END_OF_PAGE = re.compile(rb"</(?:html|body|table)\s*>\s*(?:<!--[^>]*-->\s*)*\Z", re.I)
_LONGEST_END = 1_000  # bytes
_ROOT = re.compile(
    rb"(?:<\?xml[^>]*>\s*)?(?:<!--[^>]*-->\s*|<!DOCTYPE[^>\[]*(?:\[[^\]]*\]\s*)?>\s*)*<([A-Za-z][\w:.-]{0,60})[\s>/]"
)
_BY_ROOT = {
    b"en-export": ".enex",
    b"FictionBook": ".fb2",
    b"opml": ".opml",
    b"map": ".mm",
    b"rss": ".xml",
    b"feed": ".xml",
    b"svg": ".xml",
}
"""Outermost element of XML → suffix of such files."""
_RECORD = re.compile(rb"BEGIN:V(?:CALENDAR|CARD)[ \t]*\r?\n(?:[A-Z][A-Z0-9-]*[;:]|BEGIN:)")
_MAN = re.compile(rb"^\.(?:TH|Dd)[ ]", re.M)
_DOKUWIKI = re.compile(rb"(?:~~\w+~~\s*)?={6}[ ][^=\n]{1,200}[ ]={6}\s|Content-Type: text/x-zim-wiki\b")
_TABLE = re.compile(rb"[^\n\t;,]*[\t;,][^\n]*\n[^\n\t;,]*[\t;,]")
_SHEBANG = re.compile(rb"#![ \t]*(?:[^\s]*/)?(?:env[ \t]+(?:-S[ \t]+)?)?([A-Za-z]+)")
_SUFFIX_OF_PROGRAM = {
    **dict.fromkeys(("python", "pypy", "uv"), ".py"),
    **dict.fromkeys(("sh", "bash", "zsh", "dash", "ksh", "fish", "ash"), ".sh"),
    **dict.fromkeys(("node", "nodejs", "bun"), ".js"),
    **dict.fromkeys(("deno", "ts"), ".ts"),
    "ruby": ".rb",
    "perl": ".pl",
    "php": ".php",
    "lua": ".lua",
    "Rscript": ".r",
    "awk": ".sh",
    "osascript": ".txt",
    "groovy": ".groovy",
    "julia": ".jl",
    "pwsh": ".ps1",
}


def has_known_name(path: PurePosixPath) -> bool:
    """Whether a file's name determines its format."""
    suffix, name = path.suffix.lower(), path.name.lower()
    return suffix in TYPE_BY_SUFFIX or name in TYPE_BY_NAME or package_of(path) is not None


def named_by_content(data: bytes, path: PurePosixPath) -> PurePosixPath:
    """Return ``path``, with the suffix for the file's content added if the content differs from the name."""
    suffix, is_known = path.suffix.lower(), has_known_name(path)
    if is_known and suffix not in _OFFICE | _TEXTS | _OTHER:
        return path
    told = _suffix_of(data, suffix, is_known=is_known)
    return path.with_name(path.name + told) if told not in ("", suffix) else path


@contextmanager
def under_its_name(path: PurePosixPath, named: PurePosixPath, data: bytes) -> Iterator[None]:
    """Context manager for reading the file ``path`` with the bytes ``data`` under another name, ``named``.
    Errors raised in the block name the file ``path`` instead."""
    try:
        yield
    except ExtractError as error:
        if named == path or named.name not in error.message:
            raise
        if path.suffix.lower() in READER_MODULES and not isinstance(error, NotText):
            raise damaged(path, data) from None
        raise type(error)(error.message.replace(named.name, path.name), error.suggestion) from None


def with_its_name(found: Extracted, path: PurePosixPath, named: PurePosixPath) -> Extracted:
    """Return ``found`` with the title from the file's own name, if it has no other title."""
    if named == path or found.title_from != "file name":
        return found
    return replace(found, title=title_of_name(path))


def _suffix_of(data: bytes, suffix: str, *, is_known: bool) -> str:
    """Return the suffix for the content of ``data``, or '' if nothing contradicts the name."""
    if data.startswith(b"PK\x03\x04"):
        return _of_archive(data) if suffix == ".zip" else _of_zip(data, suffix)
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        return _of_ole(data, suffix)
    beginning = data[:_LOOKED_AT].removeprefix(b"\xef\xbb\xbf").lstrip()
    for mark, kind in _BEGINNINGS.items():
        if beginning.startswith(mark) and (not mark.startswith(b"BEGIN") or _RECORD.match(beginning)):
            return kind
    if suffix in _TEXTS:
        return _of_named_text(data, beginning, suffix)
    if suffix in _OTHER:
        return ".html" if _PAGE.match(beginning) else ""
    return _of_text(data, beginning, suffix, is_known=is_known)


def _of_ole(data: bytes, suffix: str) -> str:
    """Return the suffix for an old container of Office, or '' if the name may be right: a workbook can hold a
    text, and an encrypted file says nothing about its content."""
    kinds = [kind for name, kind in _IN_OLE.items() if name.encode("utf-16-le") in data]
    is_encrypted = "EncryptedPackage".encode("utf-16-le") in data
    return "" if is_encrypted or not kinds or suffix in kinds else kinds[0]


def _of_named_text(data: bytes, beginning: bytes, suffix: str) -> str:
    """Return the suffix for a text whose own suffix is that of a text format, or '' if nothing contradicts
    that suffix."""
    named = READER_MODULES.get(suffix, suffix)
    told = ""
    if _PAGE.match(beginning):
        told = ".html" if suffix != ".xml" and _END_OF_PAGE.search(data[-_LONGEST_END:]) else ""
    elif root := _ROOT.match(beginning):
        other = ".xml" if beginning.startswith(b"<?xml") and suffix in _PROSE else ""
        told = _BY_ROOT.get(root[1], other) if _ends_with(data, root[1]) else ""
    elif suffix not in (".md", ".csv", ".tsv", ".log", ".json") and _is_mail(beginning, _OF_RAW_MAIL):
        is_saved = suffix in _PAGES or b"Snapshot-Content-Location:" in beginning
        told = ".mht" if is_saved and _RELATED.search(beginning) else ".eml"
    elif suffix in _PROSE and _DOKUWIKI.match(beginning):
        told = ".wiki"
    elif suffix in _PAGES | _PROSE and beginning[:1] in (b"{", b"[") and _is_json(data):
        told = ".json"
    return "" if READER_MODULES.get(told, told) == named else told


def _ends_with(data: bytes, name: bytes) -> bool:
    """Whether XML ends with the end tag of this element."""
    end = data[-_LONGEST_END:].rstrip()
    return end.endswith((b"</" + name + b">", b"-->", b"/>"))


def _of_zip(data: bytes, suffix: str) -> str:
    found = next((kind for name, kind in _IN_ZIP.items() if name in data), "")
    if not found and b"mimetype" in data[:_LOOKED_AT]:
        found = _by_packed_mimetype(data)
    if not found:
        return "" if suffix else ".zip"
    return "" if READER_MODULES.get(suffix) == READER_MODULES[found] else found


def _of_archive(data: bytes) -> str:
    """Return the suffix for an archive by the names of its members. A document inside an archive does not
    make it a document."""
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            names = frozenset(archive.namelist())
    except _DAMAGED:
        return ""
    if "mimetype" in names and (found := _by_packed_mimetype(data)):
        return found
    if "META-INF/container.xml" in names and any(name.endswith(".opf") for name in names):
        return ".epub"
    is_office = "[Content_Types].xml" in names
    return next((kind for name, kind in _IN_ZIP.items() if is_office and name.decode() in names), "")


def _by_packed_mimetype(data: bytes) -> str:
    """Return the suffix for an archive whose member with the media type is compressed."""
    try:
        with ZipFile(io.BytesIO(data)) as archive, archive.open("mimetype") as member:
            return _IN_ZIP.get(b"mimetype" + member.read(_LONGEST_MIMETYPE).strip(), "")
    except _DAMAGED:
        return ""


def _of_text(data: bytes, beginning: bytes, suffix: str, *, is_known: bool) -> str:
    """Return the suffix for a text without a suffix, with an unknown one or with that of an Office
    program."""
    if _PAGE.match(beginning):
        return ".html"
    if root := _ROOT.match(beginning):
        is_xml = beginning.startswith((b"<?xml", b"<!DOCTYPE")) or _ends_with(data, root[1])
        if told := _BY_ROOT.get(root[1], ".xml" if is_xml else ""):
            return told
    elif beginning.startswith(b"<?xml"):
        return ".xml"
    if suffix in _OFFICE and _HEADER.match(beginning) and _RELATED.search(beginning):
        return ".mht"  # a page that a program saved as a document of Word or Excel
    if _is_mail(beginning, _OF_MAIL):
        return ".eml"
    if (line := _MAILBOX.match(beginning)) and _YEAR.search(line[1]):
        return ".mbox"
    is_wide = beginning.startswith((BOM_UTF16_BE, BOM_UTF16_LE))
    if suffix in _TEXT_OF_OLD and beginning and (is_wide or b"\0" not in data[:_LOOKED_AT]):
        plain = beginning.decode("utf-16", "ignore").encode() if is_wide else beginning
        is_table = _TABLE.match(plain) or _TEXT_OF_OLD[suffix] != ".csv"
        return _TEXT_OF_OLD[suffix] if is_table else ""
    return "" if is_known else _of_unknown(data, beginning)


def _of_unknown(data: bytes, beginning: bytes) -> str:
    """Return the suffix for a text whose name determines no format."""
    if beginning[:1] in (b".", b"'") and _MAN.search(beginning):
        return ".man"
    if script := _SHEBANG.match(beginning):
        program = script[1].decode()
        return _SUFFIX_OF_PROGRAM.get(program, _SUFFIX_OF_PROGRAM.get(program.rstrip("0123456789."), ""))
    return ".json" if beginning[:1] in (b"{", b"[") and _is_json(data) else ""


def _is_mail(beginning: bytes, wanted: frozenset[bytes]) -> bool:
    """Whether a text begins with the headers of a mail: From, at least two others, and one of ``wanted``."""
    names: set[bytes] = set()
    place = 0
    while match := _HEADER.match(beginning, place):
        names.add(match[1].lower())
        place = match.end()
    is_cut = len(beginning) > _LOOKED_AT - 1000
    if not is_cut and place < len(beginning) and not beginning.startswith((b"\n", b"\r\n"), place):
        return False
    return b"from" in names and len(names & _OF_MAIL) > 1 and not names.isdisjoint(wanted)


def _is_json(data: bytes) -> bool:
    """Whether all of ``data`` is an object, or a list of objects or lists."""
    if len(data) > _MOST_JSON:
        return False
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) or any(isinstance(each, dict | list) for each in value)
