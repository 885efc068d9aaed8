"""Text in every encoding: kinds × languages × lengths."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from rag_core.errors import NotText
from rag_core.extract import extract
from rag_core.extract.encoding import BinaryError, decode, is_ebcdic
from rag_core.types import Extracted

TEXTS = {
    "russian": "Весной мы посадили на даче картофель и морковь, а соседка принесла нам рассаду помидоров. ",
    "ukrainian": "Сьогодні їдемо до бабусі в село, щоб зібрати яблука і груші з її старого саду біля річки. ",
    "greek": "Το καλοκαίρι ταξιδέψαμε στα νησιά και φάγαμε φρέσκο ψάρι κάθε βράδυ δίπλα στη θάλασσα. ",
    "turkish": "Geçen hafta sonu İstanbul'da yağmur yağdı, biz de evde kalıp eski fotoğraflara baktık. ",
    "hebrew": "אתמול הלכנו לשוק וקנינו לחם טרי, זיתים וגבינה לארוחת הערב עם כל המשפחה. ",
    "arabic": "ذهبنا أمس إلى السوق واشترينا الخبز والزيتون والجبن لعشاء العائلة في البيت. ",
    "polish": "Wczoraj Żaneta zrobiła pyszną zupę z grzybów, które zebraliśmy wcześniej w lesie za łąką. ",
    "czech": "Včera jsme šli přes most k řece a děti házely kamínky do vody, než začalo pršet. ",
    "hungarian": "Tegnap délután a nagymamám süteményt sütött, a gyerekek a kertben játszottak az esőben. ",
    "german": "Über den Johannisbeersträuchern hängt ein Netz, größer als das für die Äpfel im Frühjahr. ",
    "french": "Le café était fermé à cause de la grève, alors nous avons mangé des crêpes chez Hélène. ",
    "english": "He said “no thanks” and left; the rest of us stayed at the café until it closed. ",
    "japanese": "昨日は友達と一緒に新しい図書館へ行って、面白い本を三冊借りました。また来週も行きます。",
    "korean": "어제는 친구와 함께 서울역 근처에 있는 새 도서관에 가서 책을 세 권 빌렸습니다. ",
    "traditional": "昨天我們在臺北車站見面，然後一起去圖書館借了三本書，晚上回家吃飯。",
    "simplified": "昨天我们在火车站见面，然后一起去图书馆借了三本书，晚上回家吃饭。",
}
KINDS = {
    "russian": "cp1251 koi8-r iso8859-5 cp866 mac-cyrillic",
    "ukrainian": "cp1251 koi8-u",
    "greek": "iso8859-7 cp1253",
    "turkish": "iso8859-9 cp1254",
    "hebrew": "cp1255 iso8859-8",
    "arabic": "cp1256",
    "polish": "cp1250 iso8859-2 cp852",
    "czech": "cp1250 iso8859-2 cp852",
    "hungarian": "cp1250 iso8859-2 cp852",
    "german": "cp1252 cp850 mac-roman",
    "french": "cp1252 cp850 mac-roman",
    "english": "cp1252",
    "japanese": "shift_jis euc_jp iso2022_jp",
    "korean": "euc_kr cp949",
    "traditional": "big5",
    "simplified": "gb18030",
}
LENGTHS = (60, 300, 2000)
GUESSES = [
    (language, encoding, length)
    for language, encodings in KINDS.items()
    for encoding in encodings.split()
    for length in LENGTHS
]


def read(data: bytes, name: str = "a.txt") -> Extracted:
    return extract(data, PurePosixPath(name))


@pytest.mark.parametrize(("language", "encoding", "length"), GUESSES)
def test_text_is_read_in_the_encoding_it_is_in(language: str, encoding: str, length: int) -> None:
    text = (TEXTS[language] * 40)[:length]
    found = read(text.encode(encoding))
    assert found.text == text
    assert found.warnings[0].lower().startswith(f"the file is not utf-8; it was read as {found.encoding}.")


@pytest.mark.parametrize("language", ["russian", "greek", "japanese", "korean", "traditional", "german"])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark_is_told_in_every_script(language: str, encoding: str) -> None:
    text = TEXTS[language] + "\n7 " + TEXTS[language]
    found = read(text.encode(encoding))
    assert (found.text, found.encoding) == (text, encoding)


@pytest.mark.parametrize(
    "text", ["Hi", "Hi\n", "mizzen\r\n", "Да, щи\n", "Ναι\n", "7 eggs", "Grüße\n", "a\nb"]
)
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_very_short_text_in_utf16_without_a_mark_is_told(text: str, encoding: str) -> None:
    found = read(text.encode(encoding))
    assert (found.text, found.encoding) == (text, encoding)


@pytest.mark.parametrize("text", ["mizzen mast\nand keel\n", "a line\r\nGrusse an alle, sagt sie\r\n"])
@pytest.mark.parametrize(("before", "after"), [("\0", ""), ("", "\0")])
def test_a_zero_byte_beside_every_letter_is_left_out(text: str, before: str, after: str) -> None:
    spaced = "".join(char if char in "\r\n" else before + char + after for char in text)
    found = read(spaced.encode())
    assert found.text == text
    assert found.warnings == ("The NUL characters between its letters were left out.",)


@pytest.mark.parametrize(
    "data", [b"\0A", b"\1\0", b"\x10\0A\0", b"\0\0\0A", b"A\0\0\0B\0\0\0C\0\0\0", bytes(range(40)) * 3]
)
def test_few_numbers_are_no_text(data: bytes) -> None:
    with pytest.raises(BinaryError):
        decode(data)


@pytest.mark.parametrize(
    ("name", "head", "encoding"),
    [
        ("a.xml", '<?xml version="1.0" encoding="windows-1251"?><p>', "cp1251"),
        ("book.xml", '<?xml version="1.0" encoding="KOI8-R"?>\n<p>', "koi8-r"),
        ("saved", "<!DOCTYPE html>\n<html>\n<meta charset=iso-8859-5>\n", "iso8859-5"),
        ("a.css", '@charset "windows-1251";\n/* ', "cp1251"),
        ("a.tex", "\\documentclass{article}\n\\usepackage[cp1251]{inputenc}\n", "cp1251"),
    ],
)
def test_a_declaration_counts_before_a_guess(name: str, head: str, encoding: str) -> None:
    found = read((head + "Щи").encode(encoding), name)
    assert (found.encoding, found.warnings) == (encoding, ())
    assert found.text.endswith("Щи")


def test_the_charset_of_a_mail_counts_before_a_guess() -> None:
    assert decode("Щи".encode("koi8-r"), charset="KOI8-R").text == "Щи"
    assert decode(TEXTS["russian"].encode("cp1251"), charset="no-such-charset").encoding == "cp1251"
    assert decode("é".encode("latin-1"), charset="ISO-8859-1").encoding == "cp1252"


def test_utf8_with_a_declaration_left_from_before_is_utf8() -> None:
    assert (
        read(b'<?xml version="1.0" encoding="iso-8859-1"?>\n<p>' + "grün".encode(), "a.xml").encoding
        == "utf-8"
    )


def test_a_late_letter_decides_over_much_ascii() -> None:
    text = "plain words\n" * 40_000 + TEXTS["russian"]
    assert read(text.encode("cp1251")).text == text


@pytest.mark.parametrize(
    "data", [b"ab\0cd", b"Milk\0 and eggs", "Grüße\0 an Zoë".encode(), "Grüße\0 an alle".encode("cp1252")]
)
def test_a_zero_byte_does_not_make_a_short_text_binary(data: bytes) -> None:
    found = read(data)
    assert "\ufffd" in found.text
    assert found.warnings[0].endswith("A few NUL characters were replaced.")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"abcd\0\0\0\0efgh", "abcd efgh"),
        (b"Ada\0\0\0\0\0\0\0Byron\0\0\0\0\0", "Ada Byron "),
        ("Zoë\0\0\0\0Brandstötter\0\0".encode(), "Zoë Brandstötter "),
        ("Zoe Ann\0\0\0\0\0\0\0Brandstötter\0\0".encode("cp1252"), "Zoe Ann Brandstötter "),
        (b"the last line\n" + b"\0" * 4096, "the last line\n "),
        (b"./a.txt\0" * 5, "./a.txt " * 5),
    ],
)
def test_zero_bytes_that_fill_up_records_are_space(data: bytes, text: str) -> None:
    found = read(data)
    assert found.text == text
    assert found.warnings[0].endswith("NUL characters between words were read as spaces.")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("Grüße an Zoë".encode() + b"\xff", "Grüße an Zoë\ufffd"),
        ("Müller\n".encode() * 2 + b"x\xe9y\n", "Müller\nMüller\nx\ufffdy\n"),
        ("Ich hätte gern Kaf".encode() + b"\xc3", "Ich hätte gern Kaf\ufffd"),
        (TEXTS["japanese"].encode()[:-2], TEXTS["japanese"][:-1] + "\ufffd"),
        (b"\xb0" + TEXTS["russian"].encode(), "\ufffd" + TEXTS["russian"]),
    ],
)
def test_utf8_with_a_stray_byte_is_utf8(data: bytes, text: str) -> None:
    found = read(data)
    assert (found.text, found.encoding) == (text, "utf-8")
    assert found.warnings == ("A few bytes were not valid UTF-8 and were replaced.",)


@pytest.mark.parametrize(("language", "encoding"), [key[:2] for key in GUESSES[:: len(LENGTHS)]])
def test_text_in_another_encoding_is_never_damaged_utf8(language: str, encoding: str) -> None:
    for start in range(len(TEXTS[language]) - 12):
        data = TEXTS[language][start : start + 12].encode(encoding)
        if encoding != "iso2022_jp" and not data.isascii():
            assert decode(data).encoding != "utf-8"


@pytest.mark.parametrize("data", [b"\0", b"a\0\0\0", b"abc\0def\xff" * 9, bytes(range(128, 160)) * 9])
def test_what_is_mostly_no_text_stays_binary(data: bytes) -> None:
    with pytest.raises(NotText):
        read(data, "a.dat")


def test_a_long_line_of_umlauts_is_guessed_in_one_pass() -> None:
    assert read(("äöü " * 20_000 + "Ω").encode("cp1253", "ignore") + b"\xd9").text


MAINFRAME = "Dear Ada,\nthe ferry leaves at 7:15 from the old pier (gate 3).\nBring rope & walnuts!\n"


@pytest.mark.parametrize("codec", ["cp037", "cp500", "cp1140", "cp273", "cp1026"])
@pytest.mark.parametrize(
    "text", [MAINFRAME, MAINFRAME.upper(), MAINFRAME.replace("\n", "".ljust(40)), "7 eggs " * 9]
)
def test_text_of_a_mainframe_is_not_read_and_says_so(codec: str, text: str) -> None:
    for end in ("\n", "\x85"):
        with pytest.raises(NotText, match=r"'a\.txt' is text in EBCDIC"):
            read(text.replace("\n", end).encode(codec))


@pytest.mark.parametrize(
    "data",
    [
        b"@@@@ @@@@\n" * 9,
        b"\x40" * 400,
        bytes(range(256)) * 9,
        *(f"a@b.org;c@d.org;{text.strip()}".encode() for text in TEXTS.values()),
        "昨天我們在臺北車站見面".encode("big5") * 40,
        "昨日は友達と一緒に".encode("cp932") * 40,
        TEXTS["russian"].replace(" ", "@").encode("cp1251") * 4,
    ],
)
def test_other_bytes_are_not_taken_for_text_of_a_mainframe(data: bytes) -> None:
    assert not is_ebcdic(data)
