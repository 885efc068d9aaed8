"""Bytes and names: what is text, in which encoding, of which type."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_core.errors import ExtractError, NotText
from rag_core.extract import extract, file_type
from rag_core.types import Extracted

CHINESE = "我们在这里说的是一个人的笔记，可以用来记录他的生活和工作。" * 2


def read(data: bytes, name: str = "notes/a.txt") -> Extracted:
    return extract(data, PurePosixPath(name))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.md", "markdown"),
        ("A.MDX", "markdown"),
        ("a.pyi", "python"),
        ("a.yml", "yaml"),
        ("a.csv", "csv"),
        ("x/Dockerfile", "dockerfile"),
        ("Makefile", "makefile"),
        ("CMakeLists.txt", "cmake"),
        ("a.unheard-of", "text"),
        ("LICENSE", "text"),
    ],
)
def test_the_name_gives_the_file_type(name: str, expected: str) -> None:
    assert file_type(PurePosixPath(name)) == expected
    assert read(b"", name).file_type == expected


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"", "utf-8"),
        ("grün 中".encode(), "utf-8"),
        ("grün 中".encode("utf-8-sig"), "utf-8"),
        ("grün 中".encode("utf-16"), "utf-16-le"),
        (b"\xfe\xff" + "grün 中".encode("utf-16-be"), "utf-16-be"),
        ("grün 中".encode("utf-32"), "utf-32-le"),
    ],
)
def test_unicode_is_read_without_its_byte_order_mark(data: bytes, encoding: str) -> None:
    found = read(data)
    assert found.text == ("grün 中" if data else "")
    assert found.encoding == encoding
    assert found.warnings == ()


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_latin_utf16_without_a_mark_is_recognised(encoding: str) -> None:
    found = read("Dear diary, hello.\r\nBye, grün".encode(encoding))
    assert found.text == "Dear diary, hello.\r\nBye, grün"
    assert found.encoding == encoding
    assert "does not say its encoding" in found.warnings[0]


def test_windows_text_is_read_with_a_warning() -> None:
    found = read("“Café” – naïve déjà vu, çà et là".encode("cp1252"))
    assert found.text == "“Café” – naïve déjà vu, çà et là"
    assert found.encoding == "cp1252"
    [warning] = found.warnings
    assert warning.startswith("The file is not UTF-8; it was read as cp1252.")


def test_chinese_text_in_gb18030_is_recognised() -> None:
    found = read(CHINESE.encode("gb18030"))
    assert (found.text, found.encoding) == (CHINESE, "gb18030")
    [warning] = found.warnings
    assert warning.startswith("The file is not UTF-8; it was read as GB18030.")


@pytest.mark.parametrize("encoding", ["cp1251", "koi8-r", "euc_kr", "cp1253"])
def test_other_alphabets_are_not_mistaken_for_chinese(encoding: str) -> None:
    sample = {
        "euc_kr": "안녕하세요 저는 오늘 학교에 갔습니다 " * 3,
        "cp1253": "Καλημέρα σας, τι κάνετε σήμερα ",
    }
    text = sample.get(encoding, "Съешь же ещё этих мягких французских булок да выпей чаю")
    assert read(text.encode(encoding)).encoding != "gb18030"


@pytest.mark.parametrize(
    ("name", "head"), [("a.py", "# -*- coding: koi8-r -*-\n"), ("a.html", "<html><meta charset='koi8-r'>\n")]
)
def test_a_declared_encoding_is_used(name: str, head: str) -> None:
    found = read((head + "Привет, как дела").encode("koi8-r"), name)
    assert found.text.endswith("Привет, как дела")
    assert (found.encoding, found.warnings) == ("koi8-r", ())


@pytest.mark.posix
def test_a_few_damaged_bytes_do_not_turn_utf8_into_gibberish() -> None:
    found = read(CHINESE.encode() + b"\xff\n")
    assert found.text == CHINESE + "\ufffd\n"
    assert found.encoding == "utf-8"
    assert "replaced" in found.warnings[0]


@pytest.mark.parametrize(
    ("data", "name", "what"),
    [
        (b"\0\0\0 ftypisom\0", "a.unknown", "an MP4 video"),
        (b"abc\0def\xff" * 9, "a.dat", "binary data"),
        (bytes(range(1, 32)) * 9, "a.dat", "binary data"),
        (bytes(range(128, 160)) * 9, "a.dat", "binary data"),
        ("a\0b".encode("utf-16"), "a.txt", "binary data"),
    ],
)
def test_binaries_are_refused_by_what_they_are(data: bytes, name: str, what: str) -> None:
    with pytest.raises(NotText) as error:
        read(data, name)
    assert repr(name) in error.value.message
    assert what in error.value.message
    assert error.value.suggestion


def test_a_text_with_a_few_zero_bytes_is_text_and_says_so() -> None:
    found = read(b"The pump stopped.\n" * 9 + b"\0\0\0\n" + "Café.\n".encode(), "a.log")
    assert found.text == "The pump stopped.\n" * 9 + "\ufffd\ufffd\ufffd\nCafé.\n"
    assert found.warnings == ("A few NUL characters were replaced.",)


@given(st.binary(max_size=300), st.sampled_from(["a.md", "a.py", "a.html", "a.txt", "a.csv"]))
@settings(deadline=None)
def test_any_bytes_are_read_or_refused_with_two_sentences(data: bytes, name: str) -> None:
    try:
        found = read(data, name)
    except ExtractError as error:
        refusal = error
    else:
        found.text.encode()  # no lone surrogates: SQLite could not keep them
        assert "\0" not in found.text
        return
    assert refusal.message.endswith(".")
    assert refusal.suggestion.endswith(".")


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"])))
def test_utf8_text_comes_back_as_it_was(text: str) -> None:
    assert read(text.encode()).text == text.removeprefix("\ufeff")
