"""Damaged files of every format cost themselves alone: the reader process answers, or is replaced."""

from __future__ import annotations

import io
import json
import os
import random
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path, PurePosixPath

import pytest
from PIL import Image, UnidentifiedImageError
from pillow_heif import register_heif_opener

from rag_core.errors import ExtractError
from rag_core.extract import Worker, extract, ocr, pictures
from rag_core.extract.containers import data_of, parts_of
from rag_core.store.problems import shared_reason
from rag_core.types import Extracted
from tests.extract import (
    test_binary_workbooks,
    test_rich_text,
    test_ruby,
    test_sheets_as_shown,
    test_slides_as_shown,
    test_word_as_shown,
)
from tests.extract.test_calendars import calendar
from tests.extract.test_content import FB2, MAP, OPML, web_archive
from tests.extract.test_exports import BOOKMARKS, CLIPPINGS
from tests.extract.test_note_apps import BLOCK, ORG
from tests.extract.test_ocr import packed, picture
from tests.extract.test_readers import PHRASE, SAMPLES
from tests.extract.test_telegram import PAGE, TELEGRAM
from tests.support import documents_made as made
from tests.support import outlook_made
from tests.support.killing import MUTATIONS

register_heif_opener()
_KINDS = {"png": "PNG", "jpg": "JPEG", "webp": "WEBP", "gif": "GIF", "tiff": "TIFF", "heic": "HEIF"}
_SMALL = picture(PHRASE).resize((300, 66))
_PICTURES = {f"photo.{suffix}": packed(_SMALL, kind) for suffix, kind in _KINDS.items()}
_FAMILIES = (
    {name: sample[0] for name, sample in SAMPLES.items() if name != "files.zip"}
    | _PICTURES
    | {
        "tea.msg": outlook_made.msg("Tea", PHRASE, attached={"a.txt": b"x"}),
        "winmail.tnef": outlook_made.tnef("Tea", PHRASE, in_properties=True, attached={"a.txt": b"x"}),
        "packed.tnef": outlook_made.tnef("Tea", rtf=outlook_made.packed_rtf(made.rtf(PHRASE))),
        "roman.fb2": FB2,
        "feeds.opml": OPML,
        "mind.mm": MAP,
        "page.mht": web_archive(),
        "bookmarks.html": BOOKMARKS.replace("How to feed it", PHRASE).encode(),
        "tea.ics": calendar(f"UID:1\r\nSUMMARY:{PHRASE}\r\nDTSTART:20260612T074500", "UID:2\r\nSUMMARY:Sea"),
        "tea.vcf": f"BEGIN:VCARD\nFN:{PHRASE}\nTEL:1\nEND:VCARD\nBEGIN:VCARD\nFN:Ann\nEND:VCARD\n".encode(),
    }
)
_TEXTS = {
    "a.csv": f"Kind;Keeps\n{PHRASE};6\n" * 20,
    "a.json": json.dumps({"kinds": [{"name": f"n{n}", "note": PHRASE} for n in range(30)]}, indent=1),
    "a.yaml": "kinds:\n" + f"  - name: green\n    note: {PHRASE}\n    more: |\n      text\n" * 20,
    "a.org": ORG.format(title=f"#+title: {PHRASE}", tags="#+filetags: :a:", date="#+date: [2025-11-08]"),
    "a.md": f"tags:: a, [[b c]]\n\n- {PHRASE}\n  id:: {BLOCK}\n- (({BLOCK})) H<sub>2</sub>O **w**ord\n",
    "_chat.txt": f"[08.11.25, 10:15:00] Anna: {PHRASE}\n" * 10,
    "My Clippings.txt": f"Emma (Austen)\n{CLIPPINGS['English']}\n\n{PHRASE}\n==========\n" * 3,
    "a.bib": f"@book{{a1,\n title = {{{PHRASE}}},\n year = 1999\n}}\n\n@misc{{b2,\n title = {{Sea}}\n}}\n"
    * 3,
    "result.json": json.dumps(TELEGRAM).replace("Good night", PHRASE),
    "feed.xml": f"<rss><d>&lt;p&gt;{PHRASE} &lt;/p&gt;</d><e><![CDATA[<p>Sea</p>]]></e></rss>\n",
    "a.typ": f"= Tea\n\n{PHRASE} *now* #emph[and _then_] // no\n/* not */ @key #footnote[Sea]\n" * 4,
    "a.texi": f"@node Tea\n@chapter Tea\n\n{PHRASE} @code{{x}}@footnote{{Sea}}\n@c no\n" * 4,
    "a.textile": f'h1. Tea\n\n{PHRASE} *now* "a link":https://example.org\n|_. a|b|\n' * 4,
    "a.wiki": f"== Tea ==\n{PHRASE} '''now''' [[Sea|the sea]] {{{{a|b}}}}\n{{| a\n|-\n| b || c\n|}}\n" * 4,
    "a.tid": f"title: Tea\ntags: [[green tea]] a\ncreated: 20251108101500000\n\n! Tea\n{PHRASE} ''now''\n",
    "a.1": f".TH TEA 1\n.SH NAME\ntea \\- {PHRASE}\n.SH MORE\n\\fBnow\\fR and\n.BR then (1)\n" * 4,
    "a.rst": f"+-----+------+\n| {PHRASE} |\n+=====+======+\n| a   | b    |\n+-----+------+\n\n"
    "==== ====\na    b\n==== ====\nc    d\n==== ====\n",
    "joplin.md": f"Tea\n\n{PHRASE}\n\n"
    f"id: {BLOCK.replace('-', '')}\nupdated_time: 2025-02-04T10:00:00.000Z\ntype_: 1",
    "keep.json": json.dumps({"isTrashed": False, "title": "Tea", "textContent": PHRASE}),
    "a.canvas": json.dumps({"nodes": [{"id": "a", "type": "text", "text": PHRASE}], "edges": []}),
}
"""Families that are read in the process of the run."""


class Eye:
    """What reads the text in pictures: it takes each that could be opened, and no time."""

    name, leaves = "ollama:eye", False

    def read(self, picture: bytes, is_wanted: Callable[[], bool]) -> str:
        assert Image.open(io.BytesIO(picture)).size
        return PHRASE


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with closing(Worker(limit_s=30, ocr="off")) as made:
        yield made


def mutated(data: bytes, seed: int) -> bytes:
    """``data`` with some bytes changed, a stretch gone or doubled, or the end missing."""
    chance = random.Random(seed)
    changed = bytearray(data)
    at, length = chance.randrange(len(data)), chance.randrange(1, 64)
    match seed % 4:
        case 0:
            for _ in range(chance.randrange(1, 40)):
                changed[chance.randrange(len(data))] = chance.randrange(256)
        case 1:
            del changed[at : at + length]
        case 2:
            changed[at:at] = changed[at : at + length] * chance.randrange(1, 50)
        case _:
            del changed[at:]
    return bytes(changed)


def mutated_inside(data: bytes, seed: int) -> bytes:
    """An archive in which one file is damaged or missing; a text is damaged as a whole."""
    if not zipfile.is_zipfile(io.BytesIO(data)):
        return mutated(data, seed)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    name = random.Random(seed).choice([name for name in files if files[name]])
    part = files.pop(name)
    return made.zipped(files if seed % 5 == 0 else {**files, name: mutated(part, seed)})


def read(worker: Worker, data: bytes, name: str) -> Extracted | ExtractError:
    try:
        return extract(data, PurePosixPath(name), worker, Eye() if name in _PICTURES else None)
    except ExtractError as error:
        return error


def open_files() -> int:
    place = Path("/proc/self/fd")
    return len(list(place.iterdir())) if place.exists() else 0


@pytest.mark.parametrize("name", _FAMILIES)
def test_no_damage_ends_or_stops_the_one_who_reads(worker: Worker, name: str) -> None:
    data, before = _FAMILIES[name], open_files()
    sound = read(worker, data, name)
    for seed in range(MUTATIONS):
        found = read(worker, mutated(data, seed), name)
        if isinstance(found, ExtractError):
            assert found.message
            assert found.suggestion
        else:
            assert all(0 <= each.start <= each.end <= len(found.text) for each in found.segments)
    assert isinstance(sound, Extracted)
    assert PHRASE in sound.text
    assert read(worker, data, name) == sound, "the next file is read as ever"
    assert open_files() <= before + 4, "the pipes of one process"


RICH = {
    "rich.xlsx": test_sheets_as_shown.RICH,
    "strict.xlsx": made.strict(test_sheets_as_shown.RICH),
    "rich.xls": test_sheets_as_shown.old_workbook(),
    "drawn.xls": test_binary_workbooks.drawn_workbook(),
    "rich.xlsb": test_binary_workbooks.binary_workbook(),
    "rich.rtf": "".join(f"{{\\{group} \\pard See \\'cf.\\par}}" for group in test_rich_text.APART)
    .join(("{\\rtf1\\ansi The ", "levain rises.\\par}"))
    .encode(),
    "rich.ods": made.opendocument(
        test_sheets_as_shown.SHEET, "spreadsheet", **{"Object 1__content": test_sheets_as_shown.CHART}
    ),
    "rich.docx": test_word_as_shown.rich(),
    "equations.docx": test_word_as_shown.docx(test_word_as_shown.ALL),
    "rich.pptx": test_slides_as_shown.PPTX,
    "rich.odt": made.opendocument(
        f"<office:text>{test_slides_as_shown.ODT}</office:text>",
        **{"Object 2__content": test_slides_as_shown.CHART, "styles": test_slides_as_shown.MARGINS},
    ),
    "ruby.epub": made.epub("x", one="".join(markup for markup, *_ in test_ruby.WEB.values())),
    "ruby.html": "".join(markup for markup, *_ in test_ruby.WEB.values()).encode(),
    "ruby.txt": "\n".join(test_ruby.AOZORA).encode(),
}
"""Files with one of everything that their readers know."""
_DAMAGED_PARTS = MUTATIONS if "COMMONPLACE_TORTURE" in os.environ else 25


@pytest.mark.parametrize("name", RICH)
def test_one_damaged_part_does_not_end_or_stop_the_one_who_reads(worker: Worker, name: str) -> None:
    data, before = RICH[name], open_files()
    sound = read(worker, data, name)
    assert isinstance(sound, Extracted)
    whole = 0
    for seed in range(_DAMAGED_PARTS):
        found = read(worker, mutated_inside(data, seed), name)
        whole += isinstance(found, Extracted)
    assert whole > _DAMAGED_PARTS // 4, "most damaged parts cost themselves alone"
    assert read(worker, data, name) == sound, "the next file is read as ever"
    assert open_files() <= before + 4, "the pipes of one process"


@pytest.mark.parametrize("name", _TEXTS)
def test_no_damage_to_text_stops_the_one_who_reads(name: str) -> None:
    data, path = _TEXTS[name].encode(), PurePosixPath(name)
    assert PHRASE in f"{extract(data, path).title}\n{extract(data, path).text}"
    for seed in range(MUTATIONS):
        try:
            found = extract(mutated(data, seed), path)
        except ExtractError:
            continue
        places = [(each.start, each.end) for each in found.segments]
        assert places == sorted(places)
        assert all(0 <= start <= end <= len(found.text) for start, end in places)
        assert all(0 <= link.start <= len(found.text) for link in found.links)


_CONTAINERS = {
    "all.mbox": _FAMILIES["all.mbox"],
    "notes.enex": _FAMILIES["notes.enex"],
    "tea.ics": _FAMILIES["tea.ics"],
    "tea.vcf": _FAMILIES["tea.vcf"],
    "a.bib": _TEXTS["a.bib"].encode(),
    "My Clippings.txt.clippings": _TEXTS["My Clippings.txt"].encode(),
    "chat.txt.whatsapp-dmy": f"8.11.25, 10:15 - Anna: {PHRASE}\n9.11.25, 10:16 - Bob: Yes\n".encode() * 3,
    "result.json.telegram": json.dumps(TELEGRAM, indent=1).encode(),
    "bookmarks.html.bookmarks": BOOKMARKS.encode(),
    "messages.html.telegrampage": PAGE.encode(),
}
"""Files of many documents, under the names that they are read by."""


@pytest.mark.parametrize("name", _CONTAINERS)
def test_parts_of_a_damaged_file_lie_apart_under_different_names(name: str) -> None:
    data, path = _CONTAINERS[name], PurePosixPath(name)
    assert len(parts_of(data, path)) > 1
    for seed in range(MUTATIONS):
        changed = mutated(data, seed)
        parts = sorted(parts_of(changed, path), key=lambda part: part.start)
        assert len({part.name for part in parts}) == len(parts)
        places = [place for part in parts for place in (part.start, part.end)]
        assert places == sorted(places)
        assert all(data_of(changed, path, part) is not None for part in parts)


SAID = {
    "report.pdf": "is damaged or not a PDF.",
    "letter.docx": "is damaged or not a DOCX.",
    "talk.pptx": "is damaged or not a PPTX.",
    "stock.xlsx": "is damaged or not an XLSX.",
    "stock.xls": "is damaged or not an XLS.",
    "stock.ods": "is damaged or not an ODS.",
    "letter.odt": "is damaged or not an ODT.",
    "talk.odp": "is damaged or not an ODP.",
    "book.epub": "is damaged or not an EPUB.",
    "note.rtf": "is damaged or not an RTF.",
    "note.eml": "is damaged or not an EML.",
    "all.mbox": "is damaged or not an MBOX.",
    "notes.enex": "is damaged or not an ENEX.",
    "tea.ipynb": "is damaged or not an IPYNB.",
    "files.zip": "is damaged or not a ZIP.",
    "photo.png": "is damaged or not a PNG.",
    "photo.jpg": "is damaged or not a JPG.",
    "photo.webp": "is damaged or not a WEBP.",
    "photo.gif": "is damaged or not a GIF.",
    "photo.tiff": "is damaged or not a TIFF.",
    "photo.heic": "is damaged or not an HEIC.",
}
LENIENT = {"note.rtf", "note.eml", "all.mbox", "notes.enex"}
"""Formats of which a part can be read, and of which text is a part."""


def said(worker: Worker, data: bytes, name: str) -> str:
    """The reason on the row of a file that failed, '' for one that was read."""
    found = read(worker, data, name)
    return shared_reason(found.message, name) if isinstance(found, ExtractError) else ""


@pytest.mark.parametrize("name", SAID)
def test_a_file_of_another_kind_says_so_in_plain_words(worker: Worker, name: str) -> None:
    other = b"GIF89a" if name == "report.pdf" else b"%PDF-1.7"
    assert said(worker, other + bytes(100), name) == f"It {SAID[name]}"
    if name not in LENIENT:
        assert said(worker, b"not what the name says", name) == f"It {SAID[name]}"


@pytest.mark.parametrize(
    "name", sorted(SAID.keys() - {"note.eml", "all.mbox"})
)  # a mailbox may well be empty
def test_an_empty_file_says_so(worker: Worker, name: str) -> None:
    assert said(worker, b"", name) == "It is empty."


@pytest.mark.parametrize("name", [name for name in SAID if name not in LENIENT])
def test_a_file_that_was_cut_off_says_so_in_plain_words(worker: Worker, name: str) -> None:
    data = {**SAMPLES, **{name: (each, "", "") for name, each in _PICTURES.items()}}[name][0]
    assert said(worker, data[: len(data) // 2], name) == f"It {SAID[name]}"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.pdf", made.pdf("Secret", password="open")),
        *((f"a.{suffix}", made.encrypted_office()) for suffix in ("docx", "pptx", "xlsx", "xlsm", "xlsb")),
        ("a.odt", made.zipped({"META-INF/manifest.xml": "<m><encryption-data/></m>", "content.xml": "x"})),
    ],
)
def test_a_file_with_a_password_says_so(worker: Worker, name: str, data: bytes) -> None:
    assert said(worker, data, name) == "It needs a password."


def test_an_old_office_file_under_a_new_name_needs_no_password(worker: Worker) -> None:
    old = SAMPLES["stock.xls"][0]
    assert said(worker, old, "letter.docx") == "", "it is read as the sheet that it is"
    assert said(worker, old, "stock.xlsx") == "", "the reader of sheets knows both"


@pytest.mark.posix
def test_no_picture_starts_another_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = tmp_path / "started"
    ghostscript = tmp_path / "gs"
    ghostscript.write_text(f"#!/bin/sh\ntouch {started}\n", "utf-8")
    ghostscript.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(ocr, "reader", ocr.Reader(None, lambda: None))
    ocr.reader.begin("tesseract")
    eps = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 100 100\n%%EndComments\n(/tmp) run\n%%EOF\n"
    with pytest.raises(UnidentifiedImageError):
        pictures.read(eps, PurePosixPath("photo.png"))
    assert not started.exists()


def test_a_document_that_unpacks_without_end_is_one_error(worker: Worker) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr("content.xml", bytes(210_000_000))
    found = read(worker, made.getvalue(), "bomb.odt")
    assert isinstance(found, ExtractError)
    assert PHRASE in extract(SAMPLES["letter.odt"][0], PurePosixPath("letter.odt"), worker).text
