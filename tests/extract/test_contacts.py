"""What an address book shows of a contact is found."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from tests.extract.test_readers import place_of, read


def card(*lines: str) -> str:
    return "".join(f"{line}\r\n" for line in ("BEGIN:VCARD", "VERSION:3.0", *lines, "END:VCARD"))


TEXTS = ["meet at the harbour, then lunch; bring bread", "Jägerhütte\nzweite Zeile", "礼拝堂で練習します"]


def folded(line: str, _: str) -> str:
    return "\r\n ".join(line[at : at + 20] for at in range(0, len(line), 20))


def quoted(_: str, text: str) -> str:
    encoded = "".join(f"={byte:02X}" for byte in text.encode())
    rows = [encoded[at : at + 60] for at in range(0, len(encoded), 60)]
    return "NOTE;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:" + "=\r\n".join(rows)


@pytest.mark.parametrize(("text", "write"), list(product(TEXTS, [folded, quoted])))
def test_notes_are_shown_as_written(text: str, write: Callable[[str, str], str]) -> None:
    escaped = text.replace(",", "\\,").replace(";", "\\;").replace("\n", "\\n")
    found = read(card("FN:Ada", write(f"NOTE:{escaped}", text), "TEL:5").encode(), "a.vcf").text
    assert found == f"Ada\n{text}\nPhone: 5"


@pytest.mark.parametrize(
    ("charset", "text"),
    [
        ("SHIFT_JIS", "表 渡辺 紀子①"),
        ("windows-1251", "Ёлка у реки"),
        ("ISO-8859-2", "Łoś i żaba"),
        ("GB2312", "联通"),
        ("no-such", "Fête"),
    ],
)
def test_a_value_is_in_the_encoding_that_it_declares(charset: str, text: str) -> None:
    codec = {"SHIFT_JIS": "cp932", "no-such": "cp1252"}.get(charset, charset)
    first, value = text[:3].encode(codec), text[3:].encode(codec)
    lines = [
        b"BEGIN:VCARD\r\nVERSION:2.1",
        b"FN;CHARSET=UTF-8:" + "Zoë".encode(),
        b'NOTE;ENCODING=8BIT;CHARSET="%s":%s\r\n %s' % (charset.encode(), first, value),
        b"TEL;CHARSET=%s:5\r\nEND:VCARD\r\n" % charset.encode(),
    ]
    assert read(b"\r\n".join(lines), "a.vcf").text == f"Zoë\n{text}\nPhone: 5"


def test_a_contact_is_shown_as_in_an_address_book() -> None:
    found = read(
        card(
            "N:Lovelace;Ada;;;",
            "FN:Ada Lovelace",
            "ORG:Engines\\, Ltd;Research",
            "item1.TEL;TYPE=WORK,VOICE:+49 30 123",
            "EMAIL;TYPE=INTERNET;TYPE=HOME:ada@example.org",
            "ADR;TYPE=HOME:;;12 Square\\, rear;London;;W1;UK",
            "BDAY:18151210",
            "PHOTO;ENCODING=b;TYPE=JPEG:/9j/4AAQSkZJRg",
        ).encode(),
        "a.vcf",
    )
    assert found.text.split("\n") == [
        "Ada Lovelace",
        "Engines, Ltd, Research",
        "Phone (work): +49 30 123",
        "Mail (home): ada@example.org",
        "Address (home): 12 Square, rear, London, W1, UK",
        "Birthday: 1815-12-10",
    ]
    assert found.title == "Ada Lovelace"


def test_each_contact_is_a_part_of_its_own() -> None:
    found = read((card("FN:Ada", "TEL:1") + card("N:Babbage;Charles;;;", "TEL:2")).encode(), "all.vcf")
    assert place_of(found, "Phone: 2") == ("contact", "Charles Babbage", ("Charles Babbage",))
    assert found.title == "all.vcf"


@pytest.mark.parametrize(
    "line",
    [
        'X-MS-OL-DESIGN;CHARSET=utf-8:<card ver="1.0"><fld prop="name"/></card>',
        "X-MS-OL-DEFAULT-POSTAL-ADDRESS:2",
        "X-MS-OL-FLAGS:1024",
        "X-MS-CARDPICTURE;TYPE=JPEG;ENCODING=BASE64:/9j/4AAQ",
        "X-COVER;ENCODING=b:/9j/4AAQ",
        "item1.X-ABADR:us",
        "X-ABUID:C8B4F1A2-93D1-4B6E-8E0A-6A1C7F1D9E55:ABPerson",
        "X-SYNC-ID:c8b4f1a2-93d1-4b6e-8e0a-6a1c7f1d9e55",
        "X-MOZILLA-HTML:FALSE",
    ],
)
def test_what_only_a_program_reads_is_left_out(line: str) -> None:
    assert read(card("FN:Ada", line, "TEL:5").encode(), "a.vcf").text == "Ada\nPhone: 5"


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        ("item2.TEL:5\r\nitem2.X-ABLabel:_$!<AssistantPhone>!$_", "Phone (assistant phone): 5"),
        ("item1.TEL;type=HOME:5\r\nitem1.X-ABLabel:Allotment", "Phone (home, Allotment): 5"),
        ("item3.URL:http\\://a.example\r\nitem3.X-ABLabel:Blog", "Blog: http://a.example"),
        ("item4.X-ABRELATEDNAMES:Bob\r\nitem4.X-ABLabel:_$!<Spouse>!$_", "Related (spouse): Bob"),
        ("item5.X-ABDATE:20120606\r\nitem5.X-ABLabel:_$!<Anniversary>!$_", "Date (anniversary): 2012-06-06"),
        ("ADR:;;Silicon Alley 5,;New York;;1;US", "Address: Silicon Alley 5, New York, 1, US"),
        ("X-ICQ:123456789", "Icq: 123456789"),
        ("X-MS-MANAGER:Grace", "Manager: Grace"),
        ("X-MS-ANNIVERSARY:20120801", "Anniversary: 2012-08-01"),
    ],
)
def test_labels_of_groups_and_properties_of_programs_are_shown(lines: str, shown: str) -> None:
    assert read(card("FN:Ada", lines).encode(), "a.vcf").text == f"Ada\n{shown}"
