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
