"""What a mail program shows of a message is found, whatever tree its parts make."""

from __future__ import annotations

import base64
import binascii
import io
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import product

import pytest
from PIL import Image

from tests.extract.test_readers import place_of, read
from tests.support import outlook_made
from tests.support.outlook_made import outlook_item

SENTENCES = {
    "English": "The dress rehearsal is in the old chapel",
    "Deutsch": "Die Generalprobe ist in der Jägerkapelle",
    "русский": "Генеральная репетиция будет в часовне",
    "日本語": "総練習は礼拝堂で行います",
}
LENGTHS = {"short": 1, "long": 80}


def leaf(kind: str, text: str, *headers: str) -> str:
    return "\n".join([f"Content-Type: {kind}; charset=utf-8", *headers, "", text])


def tree(kind: str, *parts: str) -> str:
    """A multipart with a boundary of its own."""
    mark = f"=={abs(hash((kind, parts)))}"
    inside = "\n".join(f"--{mark}\n{part}" for part in parts)
    return f'Content-Type: multipart/{kind}; boundary="{mark}"\n\n{inside}\n--{mark}--\n'


def message(body: str, subject: str = "Plan") -> bytes:
    return f"From: Ada <ada@example.org>\nSubject: {subject}\nMIME-Version: 1.0\n{body}".encode()


def html(text: str) -> str:
    return leaf("text/html", f"<html><body><p>{text}</p></body></html>")


FOOTER = leaf("text/plain", "____\nchoir mailing list", "Content-Disposition: inline")
INVITATION = leaf(
    "text/calendar",
    "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20260312T130000Z\nSUMMARY:Planning\nLOCATION:{}\nEND:VEVENT\n"
    "END:VCALENDAR",
)
STUB = leaf("text/plain", "Your program cannot show this message.")
PNG = "Content-Type: image/png\nContent-ID: <a>\n\nx"
TREES = {
    "footer after HTML": lambda text: tree("mixed", html(text), FOOTER),
    "footer after plain text": lambda text: tree("mixed", leaf("text/plain", text), FOOTER),
    "the last of three texts": lambda text: tree("mixed", FOOTER, html("Hello"), leaf("text/plain", text)),
    "inline HTML after text": lambda text: tree(
        "mixed", leaf("text/plain", "See the picture"), PNG, html(text)
    ),
    "a plain stub": lambda text: tree("alternative", STUB, html(text)),
    "a page with pictures": lambda text: tree("alternative", STUB, tree("related", html(text), PNG)),
    "a page between texts": lambda text: tree(
        "alternative", STUB, tree("mixed", html("First"), PNG, html(text))
    ),
    "signed": lambda text: tree("signed", tree("mixed", leaf("text/plain", text), FOOTER), "\nx"),
    "alternatives in mixed": lambda text: tree("mixed", tree("alternative", STUB, html(text)), FOOTER),
    "an invitation beside a text": lambda text: tree("alternative", STUB, INVITATION.format(text)),
    "an invitation alone": lambda text: INVITATION.format(text),
    "a forwarded message": lambda text: tree(
        "mixed", FOOTER, "Content-Type: message/rfc822\n\n" + message(html(text)).decode()
    ),
    "a digest": lambda text: tree("digest", "\nSubject: One\n\nHi", f"\nSubject: Two\n\n{text}"),
    "a text with a name": lambda text: tree(
        "mixed", FOOTER, leaf("text/plain", text, 'Content-Disposition: inline; filename="notes"')
    ),
    "a page attached": lambda text: tree(
        "mixed", FOOTER, leaf("text/html", text, 'Content-Disposition: attachment; filename="t.html"')
    ),
    "no boundary": lambda text: f"Content-Type: multipart/mixed\n\n{text}",
}


@pytest.mark.parametrize(("kind", "language", "length"), list(product(TREES, SENTENCES, LENGTHS)))
def test_every_text_of_a_message_is_found(kind: str, language: str, length: str) -> None:
    found = read(message(TREES[kind]("X" * 9)), "a.eml").text
    assert "X" * 9 in found
    text = " ".join([SENTENCES[language]] * LENGTHS[length])
    assert text in " ".join(read(message(TREES[kind](text)), "a.eml").text.split())


@pytest.mark.parametrize("language", SENTENCES)
def test_of_two_versions_of_a_text_one_is_kept(language: str) -> None:
    text = SENTENCES[language]
    found = read(message(tree("alternative", leaf("text/plain", text), html(f"<b>{text}</b>"))), "a.eml")
    assert found.text.count(text) == 1
    assert found.warnings == ()


def test_attachments_of_every_version_are_kept() -> None:
    attached = leaf("text/plain", "the ferry", 'Content-Disposition: attachment; filename="t.txt"')
    body = tree("alternative", tree("mixed", leaf("text/plain", "Hello"), attached), html("Hello you there"))
    assert place_of(read(message(body), "a.eml"), "the ferry")[:2] == ("attachment", "t.txt")


def test_an_invitation_says_what_when_and_where() -> None:
    found = read(message(tree("mixed", FOOTER, INVITATION.format("Room 7"))), "a.eml")
    when = "Thursday, 12 March 2026, 13:00 (UTC)"
    assert f"Planning\nWhen: {when}\nWhere: Room 7" in found.text
    assert place_of(found, "Room 7")[1] == f"invitation.ics › event Planning {when}"


@pytest.mark.parametrize("charset", ["iso-8859-1", "utf-8", "us-ascii", "no-such-charset"])
@pytest.mark.parametrize("kind", ["text/plain", "text/html", "text/csv"])
def test_a_wrong_charset_costs_no_letter(charset: str, kind: str) -> None:
    encoded = "latin-1" if charset == "iso-8859-1" else "utf-8"
    data = message("").rstrip() + f"\nContent-Type: {kind}; charset={charset}\n\nJägerhütte".encode(encoded)
    assert "Jägerhütte" in read(data, "a.eml").text


@pytest.mark.parametrize("charset", ["utf-8", "cp1252", "cp1251", "koi8-r", "shift-jis"])
def test_a_header_without_a_charset_is_read_like_a_file(charset: str) -> None:
    words = {"utf-8": "Jägerhütte", "cp1252": "Jägerhütte über Köln", "shift-jis": "来週の会議は横浜支店です"}
    subject = words.get(charset, "Приглашение на праздник в деревне")
    assert subject in read(b"Subject: " + subject.encode(charset) + b"\nFrom: a@b.org\n\nx", "a.eml").text


def test_the_name_of_an_attached_picture_without_text_is_found() -> None:
    picture = leaf("image/png", "", 'Content-Disposition: attachment; filename="kestrel.png"')
    found = read(message(tree("mixed", leaf("text/plain", "See the picture"), picture)), "a.eml")
    assert place_of(found, "kestrel.png")[1] == "kestrel.png"


def test_an_empty_attachment_says_so() -> None:
    part = "Content-Type: application/msword; name=a.doc\nContent-Transfer-Encoding: x-uuencode\n\n"
    found = read(message(tree("mixed", FOOTER, part)), "a.eml")
    assert found.warnings == ("The attachment 'a.doc' is empty.",)
    assert place_of(found, "a.doc")[1] == "a.doc"


def test_a_picture_without_text_in_a_mail_needs_no_sentence() -> None:
    png = io.BytesIO()
    Image.new("RGB", (40, 40), "white").save(png, "PNG")
    head = "Content-Type: image/png; name=img.png\nContent-Transfer-Encoding: base64\n\n"
    part = head + base64.encodebytes(png.getvalue()).decode()
    found = read(message(tree("related", FOOTER, part)), "a.eml")
    assert (found.warnings, place_of(found, "img.png")[1]) == ((), "img.png")


def ber(tag: int, *parts: bytes, is_open: bool = False) -> bytes:
    """An element of BER; an open one does not say how long it is."""
    body = b"".join(parts)
    if is_open:
        return bytes((tag, 0x80)) + body + b"\0\0"
    size = bytes((len(body),)) if len(body) < 128 else b"\x82" + len(body).to_bytes(2, "big")
    return bytes((tag,)) + size + body


def signed(text: bytes, kind: str = "02", *, is_open: bool = False, piece: int = 0) -> bytes:
    """``text`` as signed data (CMS) whose signatures are left out, whole or in pieces."""
    octets = ber(0x04, text)
    if piece:
        pieces = [ber(0x04, text[start : start + piece]) for start in range(0, len(text), piece)]
        octets = ber(0x24, *pieces, is_open=is_open)
    data = ber(0x06, bytes.fromhex("2a864886f70d010701"))
    content = ber(0x30, data, ber(0xA0, octets, is_open=is_open), is_open=is_open)
    inner = ber(0x30, ber(0x02, b"\1"), ber(0x31), content, ber(0x31), is_open=is_open)
    outer = ber(0x06, bytes.fromhex(f"2a864886f70d0107{kind}"))
    return ber(0x30, outer, ber(0xA0, inner, is_open=is_open), is_open=is_open)


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("piece", [0, 7, 1000])
@pytest.mark.parametrize("kind", ["pkcs7-mime", "x-pkcs7-mime"])
def test_a_mail_that_is_signed_as_a_whole_is_read(is_open: bool, piece: int, kind: str) -> None:
    inside = tree("mixed", leaf("text/plain", "the error budget"), FOOTER).encode()
    written = base64.encodebytes(signed(inside, is_open=is_open, piece=piece)).decode()
    head = f'Content-Type: application/{kind}; smime-type=signed-data; name="smime.p7m"\n'
    found = read(message(f"{head}Content-Transfer-Encoding: base64\n\n{written}"), "a.eml")
    assert "error budget" in found.text
    assert "choir mailing list" in found.text
    assert not found.warnings


@pytest.mark.parametrize(
    "data", [signed(b"x", kind="03"), signed(b"x")[:-3], b"\x30\x80" * 5000, b"\x30\x84\xff\xff\xff\xff", b""]
)
def test_a_sealed_mail_that_is_not_signed_or_damaged_says_so(data: bytes) -> None:
    head = 'Content-Type: application/pkcs7-mime; name="smime.p7m"\nContent-Transfer-Encoding: base64\n\n'
    found = read(message(head + base64.encodebytes(data).decode()), "a.eml")
    assert ["encrypted, or signed in a form" in warning for warning in found.warnings] == [True]


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ('Content-Type: application/ms-tnef; name="winmail.dat"\n\nx', "'winmail.dat' is damaged"),
        ("Content-Type: application/vnd.ms-tnef\n\nx", "'winmail.dat' is damaged"),
        ('Content-Type: application/octet-stream; name="WINMAIL.DAT"\n\nx', "'winmail.dat' is damaged"),
        ('Content-Type: application/pkcs7-mime; name="smime.p7m"\n\nx', "encrypted"),
        (tree("encrypted", "Content-Type: application/pgp-encrypted\n\nVersion: 1", "\nx"), "encrypted"),
    ],
)
def test_what_is_not_read_says_so(part: str, sentence: str) -> None:
    found = read(message(tree("mixed", FOOTER, part)), "a.eml")
    assert "choir mailing list" in found.text
    assert [sentence in warning for warning in found.warnings] == [True]


def test_an_attached_message_in_base64_is_a_message() -> None:
    inner = base64.encodebytes(b"Subject: Mizzen\nContent-Type: text/plain\n\nthe error budget\n").decode()
    head = "Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n"
    found = read(message(tree("mixed", FOOTER, head + inner)), "a.eml")
    assert found.segments[-1].heading_path == ("Mizzen",)
    assert found.text.endswith("Subject: Mizzen\n\nthe error budget")


def test_a_mark_of_its_encoding_before_a_message_is_no_part_of_it() -> None:
    found = read(
        b"\xef\xbb\xbf" + message(leaf("text/plain", "QnVsbGV0", "Content-Transfer-Encoding: base64")),
        "a.eml",
    )
    assert (found.title, found.metadata["from"]) == ("Plan", "Ada <ada@example.org>")
    assert "Bullet" in found.text


def test_a_message_in_very_many_others_says_that_it_is_not_read() -> None:
    inner = "Content-Type: text/plain\n\nDeep"
    for number in range(6):
        inner = f"Content-Type: message/rfc822\n\nSubject: Level {number}\nMIME-Version: 1.0\n{inner}"
    assert "nested too deeply" in read(message(inner), "a.eml").warnings[0]


@pytest.mark.parametrize(
    ("headers", "tags"),
    [
        ("X-Gmail-Labels: =?utf-8?q?Inbox=2CPriv=C3=A9?=", ("Inbox", "Privé")),
        ('X-Gmail-Labels: Work,"Bills, paid"\nX-Keywords: later    ', ("Work", "Bills", "paid", "later")),
        ("Keywords: ,  ,", ()),
        ("X-Other: Work", ()),
    ],
)
def test_the_labels_of_a_message_are_its_tags(headers: str, tags: tuple[str, ...]) -> None:
    assert read(f"From: a@b.org\nTo: c@d.org\n{headers}\n\nHello.".encode(), "a.eml").tags == tags


# --- what is written into a plain text --------------------------------------------------


def uuencoded(name: str, data: bytes, end: str = "`\nend\n") -> str:
    lines = [binascii.b2a_uu(data[at : at + 45]).decode() for at in range(0, len(data), 45)]
    return f"begin 644 {name}\n{''.join(lines)}{end}"


LONG = "The mizzen mast was painted on a Sunday in May. " * 5


@pytest.mark.parametrize("end", ["`\nend\n", " \nend\n", "end\n"])
@pytest.mark.parametrize("headers", ["", "Content-Type: text/plain; charset=us-ascii\n"])
def test_a_uuencoded_file_is_an_attachment(headers: str, end: str) -> None:
    text = f"Hello,\n\n{uuencoded('the sails.txt', LONG.encode(), end)}\nGoodbye."
    found = read(f"From: a@b.org\nSubject: Plan\n{headers}\n{text}".encode(), "a.eml")
    assert place_of(found, "mizzen mast")[:2] == ("attachment", "the sails.txt")
    assert "Goodbye." in found.text
    assert "begin 644" not in found.text
    assert "M5&AE" not in found.text
    assert found.warnings == ()


def test_a_uuencoded_file_of_a_few_bytes_is_an_attachment() -> None:
    body = f"Hello\n{uuencoded('sail.txt', b'keel')}Goodbye"
    found = read(f"From: a@b.org\nSubject: Plan\n\n{body}".encode(), "a.eml")
    assert place_of(found, "keel")[:2] == ("attachment", "sail.txt")


def test_a_uuencoded_file_that_cannot_be_read_is_named() -> None:
    body = f"Hello\n{uuencoded('sails.bin', bytes(range(256)) * 3)}Goodbye"
    found = read(f"From: a@b.org\nSubject: Plan\n\n{body}".encode(), "a.eml")
    assert [line for line in found.text.split("\n") if line] == [
        "Subject: Plan",
        "From: a@b.org",
        "Hello",
        "Goodbye",
        "sails.bin",
    ]


@pytest.mark.parametrize(("name", "kind"), [("comments.doc", "DOC"), ("talk.PPT", "PPT"), ("a.mp3", "MP3")])
def test_an_attachment_in_a_format_that_is_not_read_yet_says_so(name: str, kind: str) -> None:
    body = f"Hello\n{uuencoded(name, bytes(range(256)) * 3)}Goodbye"
    found = read(f"From: a@b.org\nSubject: Plan\n\n{body}".encode(), "a.eml")
    assert found.warnings == (f"The attachment {name!r} ({kind}) is not read yet.",)
    assert place_of(found, name)[:2] == ("attachment", name)


@pytest.mark.parametrize(
    ("packed", "times"), [("Meet  at the\r\nharbour", 1), ("Meet at the harbour at six", 2)]
)
def test_a_text_that_winmail_repeats_is_taken_once(packed: str, times: int) -> None:
    data = base64.encodebytes(outlook_made.tnef("Plan", packed, attached={"a.txt": b"sails"})).decode()
    head = 'Content-Type: application/ms-tnef; name="winmail.dat"\nContent-Transfer-Encoding: base64\n\n'
    found = read(message(tree("mixed", leaf("text/plain", "Meet at the harbour\n"), head + data)), "a.eml")
    assert found.text.count("harbour") == times
    assert "sails" in found.text


def test_a_uuencoded_file_without_an_end_says_so() -> None:
    body = f"Hello\n{uuencoded('sails.txt', LONG.encode(), '')}"
    found = read(f"From: a@b.org\nSubject: Plan\n\n{body}".encode(), "a.eml")
    assert found.warnings == (
        "The attachment 'sails.txt' is damaged or cut off; only its beginning is read.",
    )
    assert LONG.strip() in found.text


@pytest.mark.parametrize(
    "text",
    [
        "begin 644 things\nand end them",
        "begin 100 years later\n\nend",
        "begin\nend",
        "begin 100 days of code\n# A\nThen more",
        "begin 100 days of code\n# A\nend",
        "begin 100 days of code\n# A\n# B\nThen more",
        "=ybegin line=128 size=1 name=a is how it begins\nThen more",
        "=yend size=1\n=ybegin line=128 size=1 name=a\nThen more",
    ],
)
def test_a_text_that_begins_something_is_text(text: str) -> None:
    assert text in read(f"From: a@b.org\nSubject: Plan\n\n{text}\n".encode(), "a.eml").text


def test_a_file_in_yenc_is_named_and_said_not_to_be_read() -> None:
    data = bytes((byte + 42) % 256 for byte in b"mizzen" * 20).replace(b"=", b"=}")
    body = b"Hello\n=ybegin line=128 size=120 name=mast plan.jpg\n" + data + b"\n=yend size=120\nGoodbye"
    found = read(
        b"From: a@b.org\nSubject: Plan\nContent-Type: text/plain; charset=iso-8859-1\n\n" + body, "a.eml"
    )
    assert found.warnings == ("The attachment 'mast plan.jpg' is written in yEnc and is not read.",)
    assert found.text.endswith("Hello\nGoodbye\n\nmast plan.jpg")


FLOWED = [
    ("yes", "The mizzen mast was pain \nted on  \na Sunday.", "The mizzen mast was painted on a Sunday."),
    ("yes", "帆柱を日 \n曜日に塗る", "帆柱を日曜日に塗る"),
    ("no", "The mizzen mast \nwas \npainted.\nHere", "The mizzen mast was painted.\nHere"),
    ("no", "> The old \n> keel \n>> deeper \nmine", "> The old keel \n>> deeper \nmine"),
    ("no", "Regards\n-- \nAda\n From", "Regards\n-- \nAda\nFrom"),
]


@pytest.mark.parametrize(("delsp", "written", "shown"), FLOWED)
def test_soft_line_breaks_are_none(delsp: str, written: str, shown: str) -> None:
    body = f"Content-Type: text/plain; charset=utf-8; format=flowed; delsp={delsp}\n\n{written}"
    assert read(message(body), "a.eml").text.endswith(f"\n\n{shown}")


def test_parts_between_other_lines_than_declared_are_parts() -> None:
    page = base64.b64encode(f"<p>{LONG}</p>".encode()).decode()
    body = f"--other\nContent-Type: text/html;\nContent-Transfer-Encoding: base64\n\n{page}\n--other--\n"
    found = read(message(f'Content-Type: multipart/alternative; boundary="declared"\n\n{body}'), "a.eml")
    assert found.text.endswith(f"\n\n{LONG.strip()}")


def test_of_a_drawing_that_is_attached_the_words_are_read() -> None:
    drawing = '<svg xmlns="a"><path d="m481.992 488.112-41.8-56.831v-242"/><text>Main sail</text></svg>'
    part = leaf("image/svg+xml", drawing, 'Content-Disposition: attachment; filename="plan.svg"')
    text = read(message(tree("mixed", FOOTER, part)), "a.eml").text
    assert "Main sail" in text
    assert "488.112" not in text


NEVER = datetime(4501, 1, 1, tzinfo=UTC)
MORNING = datetime(2026, 12, 11, 9, 30, tzinfo=UTC)
ITEMS: list[tuple[str, dict[int, str], dict[int, str | int | datetime], str]] = [
    ("IPM.Appointment", {}, {0x8208: "Room 4", 0x820D: MORNING, 0x820E: MORNING.replace(hour=10)},
     "Where: Room 4\nWhen: Friday, 11 December 2026, 09:30 (UTC) to Friday, 11 December 2026, 10:30 (UTC)\n"),
    ("IPM.Schedule.Meeting.Request", {}, {0x8208: "", 0x0002: "Room 4"}, "Where: Room 4\n"),
    ("IPM.Contact",
     {0x3001: "Zoe Ash", 0x3A16: "Wren Ltd", 0x3A08: "+41 79 1", 0x3A1C: "+41 79 2"},
     {0x8083: "zoe@example.org", 0x801B: "Quay 4\r\nGeneva"},
     "Name: Zoe Ash\nCompany: Wren Ltd\nMail: zoe@example.org\nTelephone: +41 79 1\nTelephone: +41 79 2\n"
     "Address: Quay 4 Geneva\n"),
    ("IPM.Task", {}, {0x8105: MORNING, 0x8101: 1}, "Due: Friday, 11 December 2026\nState: in progress\n"),
    ("IPM.Task", {}, {0x8105: NEVER, 0x8101: 9}, ""),
    ("IPM.Note", {0x3001: "Tea"}, {0x8208: "Room 4", 0x8105: MORNING}, ""),
]  # fmt: skip
"""Kinds of Outlook's files, their properties, and what stands above their text."""


@pytest.mark.parametrize(("kind", "known", "named", "shown"), ITEMS)
def test_what_outlook_shows_of_an_item_is_read(
    kind: str, known: Mapping[int, str], named: Mapping[int, str | int | datetime], shown: str
) -> None:
    text = read(outlook_item(kind, known, named), "a.msg").text
    assert text.partition("\n\n")[2].startswith(f"{shown}See below")


INSIDE = "/o=ExchangeLabs/ou=Exchange (FYDIB)/cn=Recipients/cn=c30306-Ash, Zo"


@pytest.mark.parametrize(
    ("known", "sender"),
    [
        ({0x0C1A: "Zoe Ash", 0x0C1F: INSIDE}, '"Zoe Ash"'),
        ({0x0C1A: "Ash, Zoe", 0x0C1F: INSIDE}, '"Ash, Zoe"'),
        ({0x0C1A: "Ash, Zoe", 0x0C1F: INSIDE, 0x5D01: "zoe@example.org"}, '"Ash, Zoe" <zoe@example.org>'),
        ({0x0C1A: "", 0x0042: "Zoe Ash", 0x0C1F: INSIDE}, '"Zoe Ash"'),
    ],
)
def test_a_sender_inside_exchange_is_shown_by_name(known: Mapping[int, str], sender: str) -> None:
    assert read(outlook_item("IPM.Note", known, {}), "a.msg").metadata["from"] == sender
