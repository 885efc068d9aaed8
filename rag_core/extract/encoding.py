"""Decodes bytes as text: by the declared encoding, as UTF-8, or by a guess (chardet) that is reported."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace

_BOMS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, because this mark begins with that of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED = re.compile(
    rb"coding[:=][ \t]*([-\w.]+)|charset=\s*[\"']?([-\w.]+)|\bencoding=\s*[\"']([-\w.]+)"
    rb"|@charset[ \t]+[\"']([-\w.]+)|\\usepackage\[([-\w]+)\]\{inputenc\}",
    re.I,
)
_DECLARING_LINES = {"html": 40, "xml": 1, "latex": 80}
"""File type → number of lines at its beginning that may declare an encoding (HTML meta, XML declaration,
inputenc)."""

_OTHER_LINES = 2
"""The same number for all other types (PEP 263, Emacs)."""

_DECLARING_BEGINNINGS = {b"<?xml": "xml", b"<!doctype html": "html", b"<html": "html"}
"""Beginning of a file, in lower case → file type, whatever the file's name says."""

_NOT_DECLARABLE = frozenset(
    {"idna", "punycode", "raw-unicode-escape", "unicode-escape", "utf-7", "utf-16", "utf-32"}
)
"""Codecs that no file uses, that create lone surrogates, or that can run forever."""

_NAMES = {"x-sjis": "cp932", "iso-8859-8-i": "iso8859-8", "ansinew": "cp1252", "applemac": "mac-roman"}
"""Name of an encoding in files → name of Python's codec, if the two differ."""

_SUPERSETS = {
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
}
"""Codec → the larger codec that browsers use for it."""

_GUESSED = (
    "cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 cp874 koi8-r koi8-u"
    " iso8859-1 iso8859-2 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-9 iso8859-13 iso8859-15 tis-620"
    " cp437 cp850 cp852 cp866 mac-roman mac-cyrillic"
    " cp932 euc_jis_2004 cp949 euc_kr big5hkscs gb18030"
).split()
"""Encodings that old files of people use. The other encodings that chardet knows are hardly ever used."""

_SINGLE_BYTES = frozenset(_GUESSED) - {"cp932", "euc_jis_2004", "cp949", "euc_kr", "big5hkscs", "gb18030"}
"""Encodings in which nearly any bytes are some text, so that a wrong declaration is not noticed."""

_LEAST_DOUBTED = 6  # bytes beyond ASCII
_FAR_LIKELIER = 5
"""In 2,400 texts of 13 languages, a guess was more than five times as likely as the encoding of the text in
three; as one of another alphabet, in 99 of 100."""

_JAPANESE_ESCAPES = b"\x1b$B", b"\x1b$@"
_CONTROLS = bytes(b for b in range(32) if b not in b"\t\n\v\f\r\x1b\b") + b"\x7f"
_ASCII = bytes(range(128))
_EBCDIC_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789".encode("cp037")
_EBCDIC = _EBCDIC_LETTERS + bytes.fromhex(
    "05 0d 15 25 40 4a4b4c4d4e4f 50 5a5b5c5d5e5f 60616a6b6c6d6e6f 7a7b7c7d7e7f"
)
_OTHER_THAN_EBCDIC_LETTERS = bytes(byte for byte in range(256) if byte not in _EBCDIC_LETTERS)
_LEAST_EBCDIC = 24  # bytes
_SAMPLE = 65_536
_FEW_ZEROS = 3  # number of zero bytes that counts as few in any text
_TEXT_A_ZERO = 20  # bytes of text for each further zero byte
_LEAST_STRETCH = 2  # minimum bytes of a word between zero bytes
_ZEROS = re.compile(b"\0+")
_LEAST_UTF16 = 8  # minimum number of characters
_NOT_IN_TEXT = frozenset({"Cc", "Cn", "Co", "Cs"})
_LOOKED_AT = 1000  # number of bytes examined to choose between guesses
_MOST_GUESSES = 8
_LEAST_CHANCE = 0.01  # a lower confidence means nothing; text has 0.04 and more
_ALPHABETS = frozenset("LATIN GREEK CYRILLIC HEBREW ARABIC THAI".split())
_SAME_IN_WINDOWS = re.compile(
    r"(?:[^\x80-\U0010ffff]|(?<=[A-Za-z])[äöüßéóÄÖÜÉ]|[äöüéóÄÖÜÉ](?=[a-z])"
    r"|(?<![A-Za-z])[„“‘§€–—]|[“”’…](?![A-Za-z])|(?<=[A-Za-z])’)*+"
)
"""Text in letters and signs that have the same bytes in all Windows encodings of Latin letters."""
_CUT_CHARACTER = re.compile(rb"[\xc3-\xf4][\x80-\xbf]{0,2}\Z")
"""The beginning of a UTF-8 character at the end of a cut text."""
_REPLACED = re.compile("[\0\x80-\x9f\ufffd]")


_OR_SET = "If its letters look wrong, set the encoding of its folder in the setting `encodings`."

_expected: ContextVar[str] = ContextVar("expected encoding", default="")


@contextmanager
def expecting(codec: str) -> Iterator[None]:
    """Context manager: decode text of unknown encoding as ``codec`` in this thread, if its bytes allow that.
    '' changes nothing."""
    token = _expected.set(codec)
    try:
        yield
    finally:
        _expected.reset(token)


def expected() -> str:
    """Return the codec that `expecting` set in this thread, or '' if it set none."""
    return _expected.get()


class BinaryError(ValueError):
    """Raised if bytes are not text."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """Decoded text without its byte order mark. ``warning`` is a sentence, or '' if there is nothing to
    report."""

    text: str
    encoding: str
    warning: str = ""


def decode(data: bytes, file_type: str = "text", charset: str = "", *, is_sure: bool = True) -> Decoded:
    """Decode ``data`` as text. These are tried in order: a byte order mark, UTF-16 without a mark, UTF-8, the
    declared encoding, UTF-8 with a few damaged bytes, a guess. A few NUL characters are replaced by
    ``\ufffd``.

    UTF-8 comes before a declaration: text is hardly ever valid UTF-8 by chance, and a declaration often
    becomes wrong when a file is converted. A declared encoding that uses only ASCII bytes comes first.

    Args:
        data: The bytes.
        file_type: Decides in which lines ``data`` may declare its encoding.
        charset: The encoding that a mail declares for a part. It takes precedence over one in the data.
        is_sure: Whether a declared encoding counts wherever the bytes can be in it. Otherwise it must also be
            about as likely as the guess.

    Raises:
        BinaryError: The data has many NUL or other control characters.
        UnicodeDecodeError: The data does not match its byte order mark.

    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _after_mark(data[len(mark) :], encoding)
    zeros = data.count(0)
    if zeros and (found := _spaced_out(data) or _utf16(data)):
        return found
    are_few = zeros <= max(_FEW_ZEROS, len(data) // _TEXT_A_ZERO) and 3 * zeros <= len(data)
    if _many_controls(data) or not (are_few or _are_padding(data)):
        raise BinaryError
    data = data if are_few else _ZEROS.sub(b" ", data)
    decoded = _of_bytes(data, file_type, charset) if is_sure else _of_doubtful(data, file_type, charset)
    if not zeros:
        return decoded
    said = (
        "A few NUL characters were replaced."
        if are_few
        else "NUL characters between words were read as spaces."
    )
    text = decoded.text.replace("\0", "\ufffd")
    return replace(decoded, text=text, warning=f"{decoded.warning} {said}".strip())


def is_ebcdic(data: bytes) -> bool:
    """Whether ``data`` is text in EBCDIC, an encoding of mainframes: its spaces are the bytes 0x40, it has
    none of the usual spaces, and nearly all its other bytes mean letters, digits and signs in EBCDIC."""
    sample = data[:_SAMPLE]
    if len(sample) < _LEAST_EBCDIC or 12 * sample.count(b"@") < len(sample) or b" " in sample:
        return False
    letters = len(sample.translate(None, _OTHER_THAN_EBCDIC_LETTERS))
    return len(sample.translate(None, _EBCDIC)) * 20 <= len(sample) and 4 * letters >= len(sample)


def _spaced_out(data: bytes) -> Decoded | None:
    """Return text that has a zero byte next to every letter, but is no longer UTF-16 because its line ends
    were written as single bytes. Returns None for anything else."""
    text = data.replace(b"\0", b"")
    line_ends = text.count(b"\n") + text.count(b"\r")
    are_beside = line_ends > 1 and abs(len(text) - line_ends - data.count(0)) <= 1 and b"\0\0" not in data
    if not are_beside or text != text.translate(None, _CONTROLS):
        return None
    with suppress(UnicodeDecodeError):
        return Decoded(text.decode("utf-8"), "utf-8", "The NUL characters between its letters were left out.")
    return None


def _are_padding(data: bytes) -> bool:
    """Whether everything between the zero bytes is text, in pieces long enough to be words. This is true of
    fields in records, a list of names, or a log whose end was never written.

    In UTF-16 the pieces are single letters. In a program they contain control characters, too.
    """
    if data.startswith(b"\0"):
        return False
    stretches = [stretch for stretch in _ZEROS.split(data) if stretch]
    text = b"".join(stretches)
    if len(text) < _LEAST_STRETCH * len(stretches) or not text or text != text.translate(None, _CONTROLS):
        return False
    with suppress(UnicodeDecodeError):
        return bool(text.decode("utf-8"))
    return 10 * len(text.translate(None, _ASCII)) <= len(text)


def _of_bytes(data: bytes, file_type: str, charset: str) -> Decoded:
    with suppress(UnicodeDecodeError):
        text = data.decode("utf-8")
        shifted = (_declared(data, file_type, charset) or _japanese(data)) if b"\x1b" in data else None
        return shifted or Decoded(text, "utf-8")
    return _declared(data, file_type, charset) or _as_expected(data) or _damaged_utf8(data) or _guessed(data)


def _of_doubtful(data: bytes, file_type: str, charset: str) -> Decoded:
    """Return ``data`` as declared, if the guess is not far more likely."""
    decoded = _of_bytes(data, file_type, charset)
    sample = _telling(data)
    wide = len(sample.translate(None, _ASCII))
    if decoded.warning or decoded.encoding not in _SINGLE_BYTES or wide < _LEAST_DOUBTED:
        return decoded
    chances = _chances(sample)
    own = max(
        (chances[name] for name in chances if _SUPERSETS.get(name, name) == decoded.encoding), default=0
    )
    is_likely = max(chances.values(), default=0) <= _FAR_LIKELIER * own
    if is_likely or _SAME_IN_WINDOWS.fullmatch(sample[:_LOOKED_AT].decode("cp1252", "replace")):
        return decoded
    instead = _as_expected(data) or _guessed(data)
    return decoded if instead.text == decoded.text else instead


def _as_expected(data: bytes) -> Decoded | None:
    """Return ``data`` in the encoding that the owner set for its folder. Returns None if none is set or the
    bytes cannot be in it."""
    with suppress(UnicodeDecodeError):
        return _by_codec(data, expected()) if expected() else None
    return None


def _after_mark(data: bytes, encoding: str) -> Decoded:
    try:
        decoded = Decoded(data.decode(encoding), encoding)
    except UnicodeDecodeError:
        text = data.decode(encoding, "replace")
        if text.count("\ufffd") > max(2, len(text) // 100):
            raise
        decoded = Decoded(text, encoding, f"A few bytes were not valid {encoding.upper()} and were replaced.")
    if "\0" in decoded.text:
        raise BinaryError
    return decoded


def _utf16(data: bytes) -> Decoded | None:
    """Return text in UTF-16 without a mark. Its spaces, digits and Latin letters have a zero byte, and only
    one of the two byte orders gives plausible text."""
    even, odd = data[:_SAMPLE:2].count(0), data[1:_SAMPLE:2].count(0)
    for encoding in ("utf-16-le", "utf-16-be") if odd > even else ("utf-16-be", "utf-16-le"):
        with suppress(UnicodeDecodeError):
            text = data[: len(data) // 2 * 2].decode(encoding)
            has_ascii = re.search("[\t\n -~]", text) is not None
            is_text = _is_plausible if len(text) >= _LEAST_UTF16 else _is_one_alphabet
            if "\0" not in text and has_ascii and is_text(text[:_SAMPLE]):
                warning = f"The file does not say its encoding; it was read as {encoding.upper()}."
                return Decoded(text, encoding, warning)
    return None


def _is_plausible(text: str) -> bool:
    """Whether ``text`` contains hardly any characters that texts do not have, and its Chinese characters are
    mostly common ones."""
    odd = sum(unicodedata.category(char) in _NOT_IN_TEXT and char not in "\t\n\v\f\r" for char in text)
    hanzi = [char for char in text if "一" <= char <= "鿿"]
    return odd * 50 <= len(text) and sum(map(_is_everyday, hanzi)) >= 0.85 * len(hanzi)


def _is_one_alphabet(text: str) -> bool:
    """Whether a short text consists of signs and several characters of one alphabet."""
    scripts = {_script(char) for char in text if char.isalpha()}
    return (
        len(text) > 1
        and all(char.isprintable() or char in "\t\r\n" for char in text)
        and (len(scripts) == 1 and scripts <= _ALPHABETS)
    )


def _is_everyday(hanzi: str) -> bool:
    """Whether a character is in the first level of a Chinese or Japanese standard."""
    for codec, first, last in (
        ("gb2312", b"\xb0\xa1", b"\xd7\xf9"),
        ("shift_jis", b"\x88\x9f", b"\x98\x72"),
        ("big5", b"\xa4\x40", b"\xc6\x7e"),
    ):
        if first <= hanzi.encode(codec, "ignore") <= last:
            return True
    return False


def _many_controls(data: bytes) -> bool:
    sample = data[:_SAMPLE].replace(b"\0", b"")
    return len(sample) - len(sample.translate(None, _CONTROLS)) > 1 + len(sample) // 50


def codec_of(name: str) -> str:
    """Return Python's name of the codec that files call ``name``. Raises LookupError if Python has no such
    codec, or if it is none that files of text are written in."""
    codec = codecs.lookup(_NAMES.get(name.lower(), name)).name
    if codec in _NOT_DECLARABLE:
        raise LookupError(name)
    return codec


def _declared(data: bytes, file_type: str, charset: str) -> Decoded | None:
    beginning = data[:100].lstrip().lower()
    kind = next((kind for mark, kind in _DECLARING_BEGINNINGS.items() if beginning.startswith(mark)), "")
    lines = _DECLARING_LINES.get(kind or file_type, _OTHER_LINES)
    match = _DECLARED.search(b"\n".join(data[:4096].split(b"\n", lines)[:lines]))
    in_file = match[match.lastindex or 0].decode("ascii", "replace") if match else ""
    for name in filter(None, (charset.strip(), in_file)):
        with suppress(LookupError, ValueError):
            return _by_codec(data, codec_of(name))
    return None


def _by_codec(data: bytes, codec: str) -> Decoded:
    """Return ``data`` decoded as browsers decode ``codec``. Raises ValueError."""
    if larger := _SUPERSETS.get(codec):
        with suppress(UnicodeDecodeError):
            return Decoded(data.decode(larger), larger)
    return Decoded(data.decode(codec), codec)


def _japanese(data: bytes) -> Decoded | None:
    """Return text in ISO-2022-JP, which marks the beginning of Japanese text in ASCII bytes."""
    if any(escape in data for escape in _JAPANESE_ESCAPES):
        with suppress(UnicodeDecodeError):
            return _said(data.decode("iso2022_jp_2"), "iso2022_jp_2")
    return None


def _damaged_utf8(data: bytes) -> Decoded | None:
    """Return text in UTF-8 with stray bytes, such as a log or a file that was cut within a character.

    In 6,441 texts of 10 to 2,000 characters, in 22 languages and 37 other encodings, none has twice as many
    valid characters beyond ASCII as invalid bytes.
    """
    text = data.decode("utf-8", "replace")
    inside = _CUT_CHARACTER.sub(b"", data).decode("utf-8", "replace")
    damaged = inside.count("\ufffd")
    whole = len(inside) - len(inside.encode("ascii", "ignore")) - damaged
    few = "A few bytes were not valid UTF-8 and were replaced."
    return Decoded(text, "utf-8", few) if whole and whole >= 2 * damaged else None


def _guessed(data: bytes) -> Decoded:
    """Return ``data`` in the encoding that its lines with bytes beyond ASCII suggest."""
    sample = _telling(data)
    chances = _chances(sample)
    codec = max(chances, key=lambda name: chances[name])
    looked_at = sample[:_LOOKED_AT].decode("cp1252", "replace")
    if chances[codec] < _LEAST_CHANCE or _SAME_IN_WINDOWS.fullmatch(looked_at):
        codec = "cp1252"
    codec = _SUPERSETS.get(codec, codec)
    text = data.decode(codec, "replace")
    if len(_REPLACED.findall(text[:_SAMPLE])) > 1 + len(text[:_SAMPLE]) // 50:
        raise BinaryError
    guessed = _said(text, codec)
    return replace(guessed, warning=f"{guessed.warning} {_OR_SET}")


def _telling(data: bytes) -> bytes:
    """Return the first lines of ``data`` with bytes beyond ASCII."""
    telling = (line for line in data.split(b"\n") if not line.isascii())
    return b"\n".join(telling)[:_SAMPLE].replace(b"\0", b" ")


def _chances(lines: bytes) -> dict[str, float]:
    """Return how likely each encoding is that these lines may have."""
    import chardet  # only now: few files need it

    guesses = chardet.detect_all(lines, ignore_threshold=True, compat_names=False, include_encodings=_GUESSED)
    likely = {guess["encoding"] or "cp1252": guess["confidence"] for guess in guesses[:_MOST_GUESSES]}
    return {name: likely[name] * _sense(lines[:_LOOKED_AT].decode(name, "replace")) for name in likely}


def _sense(text: str) -> float:
    """Return how plausible the characters beyond ASCII are within their words, from 0 to 1. Words should have
    letters of one alphabet, no capital after a small letter, and no sign between letters."""
    wide = odd = 0
    for before, char, after in zip(" " + text, text, text[1:] + " ", strict=False):
        if char <= "\x7f":
            continue
        wide += 1
        if char.isalpha():
            script = _script(char)
            odd += any(near.isalpha() and _script(near) != script for near in (before, after))
            odd += (before.islower() and char.isupper()) or (char.islower() and after.isupper())
        else:
            odd += char not in "’\xad" and before.isalpha() and after.isalpha()
            odd += char in "\ufffd¤¬¦" or "\x80" <= char <= "\x9f"
    return max(0.0, 1 - odd / max(1, wide)) ** 4


def _script(letter: str) -> str:
    """Return the alphabet of a letter. The alphabets that East Asian texts mix have one common name."""
    script = unicodedata.name(letter, "").partition(" ")[0]
    return script if script in _ALPHABETS else "other"


def _said(text: str, codec: str) -> Decoded:
    name = codec.upper() if codec == "gb18030" else codec
    return Decoded(text, codec, f"The file is not UTF-8; it was read as {name}.")
