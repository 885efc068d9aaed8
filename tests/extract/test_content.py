"""Files are known by what they hold where their names say nothing or lie, and what is not read says so."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path, PurePosixPath

import pytest

from rag_core.errors import ExtractError, NotText
from rag_core.extract import extract
from rag_core.extract.tnef import unpacked
from rag_core.library import Library
from rag_core.types import OWNER, Extracted
from tests.conftest import index
from tests.extract.test_readers import PHRASE, SAMPLES
from tests.support import documents_made as made
from tests.support import outlook_made
from tests.support.trees import plant


def read(data: bytes, name: str) -> Extracted:
    return extract(data, PurePosixPath(name))


def sample(name: str) -> bytes:
    return SAMPLES[name][0]


PAGE = f"<!DOCTYPE html><html><head><title>Tea</title></head><body><p>{PHRASE}</p></body></html>".encode()
TABLE = f"<table><tr><td>Kind</td><td>{PHRASE}</td></tr></table>".encode()
FB2 = (
    '<?xml version="1.0" encoding="UTF-8"?><FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0">'
    "<description><title-info><author><first-name>Ada</first-name><last-name>Byron</last-name></author>"
    "<book-title>Leaves</book-title></title-info></description><body><section><title><p>Tea</p></title>"
    f"<p>{PHRASE} in a <emphasis>t</emphasis>in.</p></section></body>"
    "<binary id='x'>AAAA</binary></FictionBook>"
).encode()
OPML = (
    '<?xml version="1.0"?><opml version="2.0"><head><title>Leaves</title></head><body><outline text="Tea">'
    f'<outline text="{PHRASE}" xmlUrl="https://example.org/feed"/></outline></body></opml>'
).encode()
ENTRY = f'<node TEXT="Tea"><node TEXT="{PHRASE}"/></node>'
MAP = f'<map version="1.0"><node TEXT="Leaves">{ENTRY}</node></map>'.encode()
EVENT = f"BEGIN:VEVENT\r\nSUMMARY:{PHRASE}\r\nDTSTART:20240203\r\nEND:VEVENT\r\n"
CALENDAR = f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{EVENT}END:VCALENDAR\r\n"
CARD = f"BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Ada\r\nNOTE:{PHRASE}\r\nEND:VCARD\r\n".encode()
ENEX = (
    '<?xml version="1.0"?><!DOCTYPE en-export SYSTEM "http://xml.evernote.com/pub/evernote-export4.dtd">'
    f"<en-export><note><title>Tea</title><content><![CDATA[<en-note>{PHRASE}</en-note>]]></content></note></en-export>"
).encode()


def web_archive(subject: str = "Tea") -> bytes:
    message = EmailMessage()
    message["From"], message["Subject"] = "<Saved by Blink>", subject
    message["Snapshot-Content-Location"] = "https://example.org/tea"
    message.set_content("unused")
    message.clear_content()
    message.make_related()
    page = EmailMessage()
    page.set_content(PAGE.decode(), subtype="html", cte="quoted-printable")
    message.attach(page)
    style = EmailMessage()
    style.set_content("p { color: red }", subtype="css")
    message.attach(style)
    return bytes(message)


LYING = [
    ("letter.doc", made.rtf(PHRASE), "word"),
    ("letter.doc", PAGE, "html"),
    ("letter.doc", sample("letter.docx"), "word"),
    ("letter.doc", f"Plain words\n{PHRASE}\n".encode(), "text"),
    ("letter.doc", web_archive(), "html"),
    (
        "letter.doc",
        b"Date: Tue, 10 Feb 2026\nSubject: Exported\n"
        + b"".join(web_archive().partition(b"MIME-Version")[1:]),
        "html",
    ),
    ("letter.docx", sample("letter.odt"), "word"),
    ("letter.odt", sample("letter.docx"), "word"),
    ("letter.rtf", sample("letter.docx"), "word"),
    ("stock.xls", TABLE, "html"),
    ("stock.xls", sample("stock.xlsx"), "sheet"),
    ("stock.xls", f"Kind\tKeeps\n{PHRASE}\t6\n".encode(), "csv"),
    ("stock.xls", f"Kind\tKeeps\r\n{PHRASE}\t6\r\n".encode("utf-16"), "csv"),
    ("stock.xlsx", sample("stock.xls"), "sheet"),
    ("talk.ppt", sample("talk.pptx"), "slides"),
    ("note.txt", sample("note.eml").replace(b"Subject", b"Message-ID: <1@x>\nSubject", 1), "mail"),
    ("report.txt", sample("report.pdf"), "pdf"),
    ("note.txt", made.rtf(PHRASE), "word"),
    ("note.log", made.rtf(PHRASE), "word"),
    ("page.txt", PAGE, "html"),
    ("page.json", PAGE, "html"),
    ("page.pdf", PAGE, "html"),
    ("page.mht", PAGE, "html"),
    ("page.html", web_archive(), "html"),
    ("page.txt", web_archive(), "html"),
    ("page.htm", sample("report.pdf"), "pdf"),
    ("data.txt", json.dumps([{"tea": PHRASE}], indent=1).encode(), "json"),
    ("data.html", json.dumps({"tea": PHRASE}).encode(), "json"),
    ("data.txt", f"<?xml version='1.0'?>\n<tea>{PHRASE}</tea>\n".encode(), "xml"),
    ("feeds.xml", OPML, "text"),
    ("feeds.txt", OPML, "text"),
    ("book.xml", FB2, "ebook"),
    ("notes.xml", ENEX, "evernote"),
    ("book.zip", sample("book.epub"), "ebook"),
    ("letter.zip", sample("letter.docx"), "word"),
    ("letter.zip", sample("letter.odt"), "word"),
    ("stock.csv", sample("stock.xlsx"), "sheet"),
    ("stock.csv", TABLE, "html"),
    ("events.txt", CALENDAR.encode(), "calendar"),
    ("ada.txt", CARD, "contacts"),
]
WITHOUT_SUFFIX = [
    ("letter", sample("letter.docx"), "word"),
    ("letter", made.of_word_in_a_browser(sample("letter.docx")), "word"),
    ("talk", sample("talk.pptx"), "slides"),
    ("stock", sample("stock.xlsx"), "sheet"),
    ("stock", sample("stock.xls"), "sheet"),
    ("letter", sample("letter.odt"), "word"),
    ("book", sample("book.epub"), "ebook"),
    ("report", sample("report.pdf"), "pdf"),
    ("note", made.rtf(PHRASE), "word"),
    ("note", sample("note.eml"), "mail"),
    ("1699437600.M123P45.host:2,S", sample("note.eml"), "mail"),
    ("Inbox", sample("all.mbox"), "mail"),
    ("page", PAGE, "html"),
    ("page.download", PAGE, "html"),
    ("book", FB2, "ebook"),
    ("feeds", OPML, "text"),
    ("data", json.dumps({"tea": PHRASE}).encode(), "json"),
    ("events", CALENDAR.encode(), "calendar"),
    ("message", outlook_made.msg("Tea", PHRASE), "mail"),
    ("winmail.dat", outlook_made.tnef("Tea", PHRASE), "mail"),
    ("build", f"#!/usr/bin/env python3\n# {PHRASE}\n".encode(), "python"),
    ("deploy", f"#!/bin/bash -e\n# {PHRASE}\n".encode(), "shell"),
    ("run", f"#!/usr/bin/env -S node --harmony\n// {PHRASE}\n".encode(), "javascript"),
    ("stats", f"#!/usr/bin/Rscript\n# {PHRASE}\n".encode(), "r"),
    ("README", f"{PHRASE}\n".encode(), "text"),
]


def test_an_archive_that_ends_inside_its_media_type_is_damaged() -> None:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("mimetype", b"x")
    packed = bytearray(written.getvalue())
    for place in (20, 24):  # its sizes in the directory, which are beyond the end now
        place += packed.find(b"PK\x01\x02")
        packed[place : place + 2] = b"\xff\x7f"
    with pytest.raises(ExtractError, match="is damaged or not a"):
        extract(bytes(packed), PurePosixPath("letter.odt"))


@pytest.mark.parametrize(("name", "data", "kind"), LYING + WITHOUT_SUFFIX)
def test_a_file_is_read_as_what_it_holds(name: str, data: bytes, kind: str) -> None:
    found = read(data, name)
    assert found.file_type == kind
    assert PHRASE in found.text
    if found.title_from == "file name":
        assert found.title == name


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "From: me\nTo: you\nSubject: not sent\n\nA letter in a text file.\n"),
        ("a.txt", "<html> is the tag that begins a page.\n"),
        ("notes", "Dear: all\nthis is no mail\n"),
        ("a.md", "#!/usr/bin/env python3\n"),
        ("a.txt", "{ a brace } begins this note\n"),
        ("a.txt", "[1]\n"),
        ("a.txt", '{"a": 1} is JSON, and this is a note about it\n'),
        ("a.txt", "<table> begins a table, </table> ends it. See you\n"),
        ("a.txt", "<opml is a format of outlines\n"),
        ("a.txt", "BEGIN:VCARD\nis how a contact begins\n"),
        ("a.md", "<table><tr><td>x</td></tr></table>\n\nA table in a note.\n"),
        ("a.md", '{"a": 1}\n'),
        ("a.xml", "<html><body>x</body></html>"),
        ("list", "[not json\n"),
    ],
)
def test_text_stays_what_its_name_says(name: str, text: str) -> None:
    found = read(text.encode(), name)
    assert found.text == text
    assert found.file_type in ("text", "markdown", "xml")


def test_the_mails_of_a_maildir_are_found(library: Library, notes: Path) -> None:
    plant(notes, "mail/cur/1699437600.M1P2.host:2,S", text=sample("note.eml"))
    plant(notes, "mail/new/1699437601.M2P3.host", text=made.mail("Walnuts", "Bring walnuts"))
    index(library, "notes", notes)
    hits = library.search(OWNER, "type:mail").hits
    assert {hit.document.title for hit in hits} == {"Tea", "Walnuts"}


def test_the_dialogue_of_styled_subtitles_is_read() -> None:
    styled = (
        "[Script Info]\nTitle: Tea\n\n[V4+ Styles]\nFormat: Name, Fontname\nStyle: A,Arial\n\n[Events]\n"
        "Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
        "Comment: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,not shown\n"
        "Dialogue: 0,0:00:01.00,0:00:02.00,Default,Ada,0,0,0,,{\\i1}Green tea{\\i0}, keeps\\Nfor six months\n"
    )
    for name in ("film.ass", "film.ssa"):
        found = read(b"\xef\xbb\xbf" + styled.encode(), name)
        assert (found.file_type, found.text) == ("subtitles", "Ada: Green tea, keeps for six months")


# --- new readers ------------------------------------------------------------------------


def test_a_book_in_fictionbook_has_chapters_title_and_author() -> None:
    found = read(FB2, "roman.fb2")
    assert (found.title, found.metadata) == ("Leaves", {"author": "Ada Byron"})
    assert [each.heading_path for each in found.segments] == [("Tea",)]
    assert f"{PHRASE} in a tin." in found.text
    assert "AAAA" not in found.text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "paper.nxml",
            '<!DOCTYPE article\nPUBLIC "-//NLM//DTD" "a.dtd">\n<article><p>H<sub>2</sub>O</p></article>\n',
        ),
        ("App.csproj", '<Project Sdk="x">\n  <About>H<b>2</b>O</About>\n</Project>\n'),
        ("saved", "<notes><note>H<i>2</i>O</note></notes>"),
    ],
)
def test_xml_without_a_declaration_is_told(name: str, text: str) -> None:
    found = read(text.encode(), name)
    assert found.file_type == "xml"
    assert "H2O" in found.text


@pytest.mark.parametrize("text", ["<b> is bold", "<stdin>:1: error\n", "<Ada> hello\n<Bob> hi\n"])
def test_a_text_that_begins_with_a_bracket_is_no_xml(text: str) -> None:
    assert read(text.encode(), "saved.irc").file_type == "text"


def test_what_a_book_says_of_itself_is_read() -> None:
    about = "</book-title><annotation><p>A tale of the mizzen mast.</p></annotation>"
    found = read(FB2.replace(b"</book-title>", about.encode()), "roman.fb2")
    assert found.text.startswith("A tale of the mizzen mast.\n\n")
    more = made.rewritten(
        made.epub("Tides", one="<p>One</p>"),
        "OEBPS/book.opf",
        ("</metadata>", "<dc:creator>Charles Babbage</dc:creator></metadata>"),
    )
    assert read(more, "tides.epub").metadata == {"author": "Ada Lovelace, Charles Babbage"}


def test_the_comments_of_an_editor_are_no_part_of_a_book() -> None:
    commented = FB2.replace(b"<body>", b"<!-- edited --><?edited?><body><!-- edited -->")
    assert commented != FB2
    assert read(commented, "roman.fb2").text == read(FB2, "roman.fb2").text


@pytest.mark.parametrize(("name", "data"), [("feeds.opml", OPML), ("mind.mm", MAP)])
def test_outlines_are_read_below_what_is_above(name: str, data: bytes) -> None:
    found = read(data, name)
    assert (found.title, found.file_type) == ("Leaves", "text")
    assert found.segments[-1].heading_path[-1] == "Tea"
    if name == "feeds.opml":
        assert found.text.endswith(f"{PHRASE}\nhttps://example.org/feed")


@pytest.mark.parametrize("suffix", ["mht", "mhtml"])
def test_a_saved_page_is_shown_as_a_browser_shows_it(suffix: str) -> None:
    found = read(web_archive(), f"page.{suffix}")
    assert (found.title, found.file_type) == ("Tea", "html")
    assert found.text == PHRASE
    assert found.metadata == {"url": "https://example.org/tea"}


@pytest.mark.parametrize(
    ("body", "html", "rtf"),
    [
        (PHRASE, "", b""),
        ("", f"<p>{PHRASE}</p>", b""),
        ("See the page.", f"<p>{PHRASE}</p>", b""),
        ("", "", outlook_made.packed_rtf(made.rtf(PHRASE))),
    ],
)
def test_a_message_of_outlook_is_read_as_mail(body: str, html: str, rtf: bytes) -> None:
    attached = {"walnuts.txt": b"Bring walnuts", "letter.docx": sample("letter.docx")}
    found = read(outlook_made.msg("Tea", body, html, rtf, attached), "tea.msg")
    assert (found.title, found.date, found.file_type) == ("Tea", "2024-02-03", "mail")
    assert "ada@example.org" in found.metadata["from"]
    assert found.text.count(PHRASE) == 2, "in the message, and in the letter"
    assert "Bring walnuts" in found.text


RUSSIAN = "Паромщик ждал у старой пристани, пока туман не рассеялся над рекой."
POLISH = "Prom odpływa o świcie, więc proszę przyjść wcześniej; bilety są już opłacone."
GERMAN = "Die Fähre fährt früh, bitte rechtzeitig kommen; Grüße aus Köln"
JAPANESE = "渡し船は夜明けに出ますので、早めに来てください。"
GUESSED = "The file is not UTF-8; it was read as "


@pytest.mark.parametrize(
    ("text", "codec", "page", "note"),
    [
        (RUSSIAN, "cp1251", 1251, ""),
        (RUSSIAN, "cp1251", 1252, "cp1251"),
        (RUSSIAN, "cp1251", 0, "cp1251"),
        (RUSSIAN, "cp1251", 65001, "cp1251"),
        (RUSSIAN, "cp1251", 4711, "cp1251"),
        (RUSSIAN, "koi8-r", 1251, "koi8-r"),
        (RUSSIAN, "utf-8", 1252, ""),
        (POLISH, "cp1250", 1250, ""),
        (POLISH, "cp1250", 0, "cp1250"),
        (GERMAN, "cp1252", 1252, ""),
        (GERMAN, "cp1252", 0, "cp1252"),
        (JAPANESE, "cp932", 932, ""),
        (JAPANESE, "cp932", 1252, "cp932"),
        ("Plain words of the ferryman", "ascii", 4711, ""),
        ("Die Fähre fährt früh", "cp1252", 1252, ""),
        ("Żółw już śpi w łóżku", "cp1250", 1250, ""),
        ("渡船在黎明出發請早點來", "cp950", 950, ""),
        ("배는 새벽에 떠납니다 일찍 오세요", "cp949", 949, ""),
    ],
)
def test_texts_of_outlook_in_bytes_are_decoded_and_a_guess_is_said(
    text: str, codec: str, page: int, note: str
) -> None:
    name, body = f"{text[:12].strip()}.txt", f"{text}\n{text}"
    data = outlook_made.msg(text[:20], body, attached={name: b"Bring walnuts"}, codec=codec, page=page)
    found = read(data, "a.msg")
    assert found.title == text[:20].strip()
    assert found.text.count(text) >= 2
    assert name in found.segments[-1].heading_path
    assert [said.partition(GUESSED)[2].partition(".")[0] for said in found.warnings] == [note] * bool(note)


@pytest.mark.parametrize(("language", "subject", "codec"), [
    (0x0407, "Subject öäü Subject", "cp1252"),
    (0x0415, "Łódź", "cp1250"),
    (0x0419, "Щи да каша", "cp1251"),
    (0x0404, "格式測試", "cp950"),
])  # fmt: skip
def test_the_language_of_a_message_tells_the_encoding_of_its_texts(
    language: int, subject: str, codec: str
) -> None:
    body = "Żółw już śpi".encode()
    data = outlook_made.msg(subject, "x", codec=codec, page=1251, page_of=0x3FDE, language=language)
    data = outlook_made.with_stream(data, "__substg1.0_1000001E", body)
    found = read(data, "a.msg")
    assert (found.title, found.warnings) == (subject, ())
    assert "Żółw już śpi" in found.text


def test_a_message_attached_to_one_of_outlook_is_read() -> None:
    attached = {"w.txt": b"Bring walnuts"}
    inner = outlook_made.msg("Harbour", PHRASE, attached=attached, codec="cp1252", page=1252)
    found = read(outlook_made.with_message(outlook_made.msg("Tea", "See below"), inner), "a.msg")
    assert PHRASE in found.text
    assert "Bring walnuts" in found.text
    assert "Harbour" in found.segments[-1].heading_path


@pytest.mark.parametrize("charset", ["", "; charset=us-ascii", "; charset=no-such"])
def test_the_guessed_encoding_of_a_mail_is_said(charset: str) -> None:
    data = b"Subject: Tea\nContent-Type: text/plain" + charset.encode() + b"\n\n" + RUSSIAN.encode("koi8-r")
    found = read(data, "a.eml")
    assert RUSSIAN in found.text
    assert [said.partition(GUESSED)[2][:6] for said in found.warnings] == ["koi8-r"]


@pytest.mark.parametrize("in_properties", [False, True])
@pytest.mark.parametrize("name", ["winmail.dat", "part.tnef", "mail.eml"])
def test_winmail_is_read_with_its_attachments_and_the_meeting(in_properties: bool, name: str) -> None:
    start = datetime(2026, 12, 11, 9, 30, tzinfo=UTC)
    data = outlook_made.tnef(
        "Tea", PHRASE, in_properties=in_properties, where="Room Cormorant", start=start,
        attached={"a long name.txt": b"Bring walnuts"},
    )  # fmt: skip
    if name == "mail.eml":
        data = made.mail("Tea", "", attached={"winmail.dat": data})
    found = read(data, name)
    for words in (PHRASE, "Bring walnuts", "Where: Room Cormorant", "11 December 2026, 09:30"):
        assert words in found.text
    assert any("a long name.txt" in " ".join(each.heading_path) for each in found.segments)
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("code_page", "subject", "body"),
    [
        (1250, "Čaj", "Žluťoučký kůň"),
        (1251, "Чай", "Хранить в сухом месте"),
        (1253, "Τσάι", "Κρατήστε το στεγνό"),
        (1255, "תה", "לשמור יבש"),
        (1257, "Arbata", "Laikyti sausai, šaltai"),
        (932, "お茶", "乾いた所に保つ"),
        (936, "茶", "保持干燥"),
        (949, "차", "건조하게 보관"),
    ],
)
def test_the_texts_of_winmail_are_in_its_code_page(code_page: int, subject: str, body: str) -> None:
    found = read(outlook_made.tnef(subject, body, code_page=code_page), "winmail.dat")
    assert found.title == subject
    assert body in found.text
    assert found.warnings == ()


@pytest.mark.parametrize("packed", [outlook_made.packed_rtf(made.rtf(PHRASE)), b""])
def test_the_body_of_winmail_may_be_packed_or_a_page(packed: bytes) -> None:
    data = outlook_made.tnef("Tea", rtf=packed, html="" if packed else f"<p>{PHRASE}</p>")
    assert PHRASE in read(data, "winmail.dat").text


def test_packed_rtf_refers_back() -> None:
    packed = bytes.fromhex("2d0000002b0000004c5a4675f1c5c7a703000a0072637067313235423 20af8".replace(" ", ""))
    assert unpacked(packed).startswith(b"{\\rtf1")


# --- what is not read -------------------------------------------------------------------

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + "WordDocument".encode("utf-16-le") + bytes(100)
ZIP = made.zipped({"Index/Document.iwa": "x"})


@pytest.mark.parametrize(
    ("name", "data", "advice"),
    [
        ("letter.doc", OLE, "DOCX"),
        ("letter", OLE, "DOCX"),
        ("talk.ppt", OLE.replace(b"W\0o\0r\0d\0", b"X\0"), "PPTX"),
        ("letter.pages", ZIP, "DOCX"),
        ("talk.key", ZIP, "PPTX"),
        ("stock.numbers", ZIP, "XLSX"),
        ("letter.sxw", made.zipped({"content.xml": "x"}), "DOCX"),
        ("table.sxc", made.zipped({"content.xml": "x"}), "XLSX"),
        ("help.chm", b"ITSF\3" + bytes(range(256)), "PDF"),
        ("book.djvu", b"AT&TFORM\0\0\0\1DJVU", "PDF"),
        ("book.mobi", b"Leaves".ljust(60, b"\0") + b"BOOKMOBI" + bytes(99), "EPUB"),
        ("page.webarchive", b"bplist00\xd1\x01\x02_\x10\x0fWebMainResource", "HTML"),
        ("book.azw3", b"Leaves".ljust(60, b"\0") + b"BOOKMOBI" + bytes(99), "EPUB"),
        ("talk.mp3", b"ID3\x04" + bytes(99), "transcript"),
        ("talk.m4a", bytes(4) + b"ftypM4A " + bytes(99), "transcript"),
        ("film.mp4", bytes(4) + b"ftypisom" + bytes(99), "transcript"),
        ("film.mkv", b"\x1aE\xdf\xa3" + bytes(99), "transcript"),
        ("talk.wav", b"RIFF" + bytes(4) + b"WAVE" + bytes(99), "transcript"),
        ("mails.pst", b"!BDN" + bytes(range(256)), "EML"),
    ],
)
def test_a_format_that_is_not_read_says_what_would_help(name: str, data: bytes, advice: str) -> None:
    with pytest.raises(NotText, match=r"^This format is not read yet\. ") as refused:
        read(data, name)
    assert advice in refused.value.message


def test_a_file_that_is_not_read_is_listed_with_its_reason(library: Library, notes: Path) -> None:
    plant(notes, "letter.doc", text=OLE)
    plant(notes, "talk.mp3", text=b"ID3\x04" + bytes(99))
    index(library, "notes", notes)
    rows = {row.path: row for row in library.files.all(OWNER, "notes")}
    assert rows["letter.doc"].reason.startswith("This format is not read yet. Save it as DOCX")
    assert rows["talk.mp3"].state == "skipped"


@pytest.mark.parametrize("inside", ["WordDocument", "PowerPoint Document", "__properties_version1.0"])
def test_a_workbook_with_another_document_in_it_is_a_workbook(inside: str) -> None:
    data = sample("stock.xls") + inside.encode("utf-16-le")
    assert PHRASE in read(data, "stock.xls").text
