"""Replaces escapes of text formats by the characters that they mean. Line numbers stay the same."""

from __future__ import annotations

import html
import re
import unicodedata
from contextlib import suppress
from pathlib import PurePosixPath

from rag_core.extract import inner_pages, yaml_strings
from rag_core.text.inline import Mark, without_marks
from rag_core.text.markup import read_markup
from rag_core.text.other_markup import marks_of_language

_HEX = re.compile(
    r"(?<!\\)((?:\\\\)*)\\u(?:([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|([0-9a-fA-F]{4}))"
)
_BEYOND_ASCII = re.compile(r"(?<!\\)((?:\\\\)*)((?:\\u00[89a-fA-F][0-9a-fA-F])+|\\u(?!00)[0-9a-fA-F]{4})")
"""Escapes of characters beyond ASCII, those of one byte in a row."""
_GAP_OF_JSON = re.compile(r"(?<!\\)((?:\\\\)*\\[nrt])(?=\w)(?![A-Za-z0-9+/]{60})")
"""The end of a line or a tab before a word (no base64) in a string. The word would begin with its letter."""
_SLASH = re.compile(r"(?<!\\)((?:\\\\)*)\\/")
_TRANSLATIONS = (".po", ".pot")
_STRING = re.compile(r'"(?:[^"\\\n]|\\[^\n])*+(?P<end>")?')
_STRING_OF_TOML = re.compile(
    rf"#[^\n]*+|\"\"\"(?:[^\"\\]|\\(?s:.)|\"(?!\"\"))*+(?P<last>\"\"\")?"
    rf"|'''(?s:.*?)(?:'''|\Z)|'[^'\n]*+'?|{_STRING.pattern}"
)
"""A string in double quotes; its last quote is in the group ``end``, or ``last`` if it may go over several
lines. A comment, and a string without escapes, has neither."""
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}|[0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|[^\r\n])")
_GOES_ON = re.compile(r"(?P<gap>[ \t]?)\\[ \t]*(?P<breaks>(?:\r?\n[ \t]*)+)(?P<next>[^\s\\]*)")
"""The end of a line after which a string goes on, and the word with which it does."""
_NEXT_PIECE = re.compile(r'"[ \t]{0,9}\r?\n[ \t]{0,9}"')
"""The break between two pieces of a text that a translation file (gettext) writes on several lines."""
_REST_OF_WORD = re.compile(r'(?<=\w)"[ \t]{0,9}(?P<breaks>\r?\n)[ \t]{0,9}"(?P<next>\w++)')
"""The same inside a word, and the rest of the word."""
_QUOTE = re.compile(r'(?<!\\)((?:\\\\)*)\\"')
_CONTINUED = re.compile(r"(?<!\\)((?:\\\\)*+)\\(\r?\n)")
"""The end of a line of a properties file that continues on the next line."""
_ENTITY = re.compile(r"&(?:#\d{2,7}|#[xX][0-9a-fA-F]{2,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_ACCENTS = {
    "`": "\u0300",
    "'": "\u0301",
    "^": "\u0302",
    "~": "\u0303",
    "=": "\u0304",
    "u": "\u0306",
    ".": "\u0307",
    '"': "\u0308",
    "r": "\u030a",
    "H": "\u030b",
    "v": "\u030c",
    "d": "\u0323",
    "c": "\u0327",
    "k": "\u0328",
}
"""Accent command of TeX → combining character."""

_LETTERS = {
    "ss": "ß",
    "ae": "æ",
    "AE": "Æ",
    "oe": "œ",
    "OE": "Œ",
    "aa": "å",
    "AA": "Å",
    "o": "ø",
    "O": "Ø",
    "l": "ł",
    "L": "Ł",
    "i": "ı",
    "j": "ȷ",
    "dh": "ð",
    "th": "þ",
}
"""Command of TeX → letter."""

_ACCENT = re.compile(
    r"""(?<!\\)(\{?)\\(?:([`'^~=."])[ \t]{0,3}|([urHvdck])(?:[ \t]{1,3}|(?=\{)))"""
    r"""(?:\{\\?([A-Za-z])\}|\\([ij])(?![A-Za-z])|([A-Za-z]))(\}?)"""
)
_LETTER = re.compile(
    r"(?<!\\)(?:\{\\(ss|ae|AE|oe|OE|aa|AA|o|O|l|L|i|j|dh|th)\}|"
    r"\\(ss|ae|AE|oe|OE|aa|AA|o|O|l|L|dh|th)(?:\{\}|[ \t]|(?![A-Za-z])))"
)


_COLOUR = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[@-Z^_])")
"""A terminal code that sets colours, moves the cursor or sets the title of the window."""

_OVERSTRUCK = re.compile("[^\n\b]\b")
"""A letter that a terminal prints another one over, as ``man x > file`` writes bold words."""
_IN_WORD = re.compile(r"[^\W_](?:\*{1,3}|~~|==|</?[A-Za-z]{1,6}>)[^\W_]")
"""Signs of emphasis, or a tag, inside a word."""
_WITH_MARKS_IN_WORDS = frozenset(
    {"asciidoc", "bibtex", "latex", "org", "texinfo", "textile", "tiddlywiki", "typst", "xml"}
)
"""The other types in which part of a word may be emphasized."""
_BESIDE_LETTERS = frozenset({"asciidoc", "markdown", "org"})
_IN_WORD_OF_RST = re.compile(
    r"(?<=\w)\\ (?::[\w-]{1,20}:)?([`*]{1,2})(\w{1,40})\1(?:\\ (?=\w))?"
    r"|(?<!\S)(?::[\w-]{1,20}:)?([`*]{1,2})(\w{1,40})\3\\ (?=\w)"
)
_LINK_OF_WIKI = r"\[\[(?:[^\[\]|\n]{1,200}\|)?(\w{1,60})\]\]"
_TAGS_OF_WIKI = r"<(?:sub|sup|b|i|u|s|em|strong|small)>([^\s<>&]{1,60})</(?:sub|sup|b|i|u|s|em|strong|small)>"
_IN_WORD_OF_WIKI = re.compile(
    rf"(?<=\w)'{{2,5}}(?=\w)|(?<=\w){_LINK_OF_WIKI}|{_LINK_OF_WIKI}(?=\w)"
    rf"|(?<=\w){_TAGS_OF_WIKI}|{_TAGS_OF_WIKI}(?=\w)"
)
"""Markup that splits a word in a wiki: ``''w''ord``, ``[[boat]]s``."""
_HYPHEN_OF_TEX = re.compile(r"(?<=[^\W\d_])\\[-/](?=[^\W\d_])")
"""A TeX command for a possible hyphen, or to prevent a ligature."""
_FORMATTING = re.compile(r"<(/?)(sub|sup|b|i|u|s|em|strong|mark|small|kbd|ins|del)>")
_SIGNS = ("*", "~", "=")
_SHORT_ESCAPES = {"n": " ", "r": " ", "t": " ", "N": " ", "_": " ", "/": "/"}
_NOT_SHOWN = ("Cc", "Cs", "Zl", "Zp")  # categories of Unicode
_LONGEST = 40
"""Maximum number of emphasized characters inside a word. If there are more, or several words, a space is
missing next to them."""
_INDENTED = ("    ", "\t")
_ITEM = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]")


def shown(text: str, kind: str, path: PurePosixPath) -> str:
    """Return ``text``, of a file of the type ``kind``, with the characters that its escapes stand for.

    Codes of terminals are left out. So is markup inside words, and HTML in strings of JSON and in cells of
    tables.

    An escaped sign stays escaped if the sign alone would mean something in the format.
    """
    if "\b" in text:
        text = _OVERSTRUCK.sub("", text)
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    if kind in _WITH_MARKS_IN_WORDS or (kind == "markdown" and _IN_WORD.search(text)):
        text = _with_whole_words(text, kind)
    if kind == "rst" and "\\ " in text:
        text = _IN_WORD_OF_RST.sub(lambda match: match[2] or match[4], text)
    if kind == "man":
        marks = marks_of_language(text, kind)
        return without_marks(text, [mark for mark in marks if not _begins_section(text, mark)])
    if kind == "wiki":
        text = _ENTITY.sub(_of_entity, _IN_WORD_OF_WIKI.sub(_inside, text))
    if kind in ("csv", "tsv") or (kind == "text" and inner_pages.is_table_of_pages(text)):
        return inner_pages.without_pages_in_cells(text)
    return _unescaped(text, kind, path)


def _inside(match: re.Match[str]) -> str:
    return match[match.lastindex] if match.lastindex else ""


def _begins_section(text: str, mark: Mark) -> bool:
    return text.startswith((".SH", ".SS", ".Sh", ".Ss"), mark.start)


def _with_whole_words(text: str, kind: str) -> str:
    """Return ``text`` without markup inside words, such as ``H<sub>2</sub>O`` and ``**w**ord`` of a note and
    ``{B}ibTeX``. Code stays."""
    left_out: list[Mark] = []
    opened: dict[str, Mark] = {}
    marks = read_markup(text).marks if kind == "markdown" else marks_of_language(text, kind)
    by_start = {mark.start: mark for mark in marks}
    code = _lines_of_code(text) if kind == "markdown" else frozenset()
    for mark in marks:
        tag = _FORMATTING.fullmatch(text, mark.start, mark.end)
        if tag and not tag[1]:
            opened[tag[2]] = mark
        opener = opened.pop(tag[2], None) if tag and tag[1] else by_start.get(mark.opener)
        is_sign = kind in _BESIDE_LETTERS and tag is None
        if (
            opener
            and mark.kind != "aside"
            and text.rfind("\n", 0, opener.start) + 1 not in code
            and _is_in_word(text, opener, mark, is_sign=is_sign)
        ):
            left_out += opener, mark
    return without_marks(text, sorted(left_out))


def _lines_of_code(text: str) -> frozenset[int]:
    """Return where the indented lines of a note begin that are code: after an empty line, outside lists."""
    starts: list[int] = []
    place = 0
    is_list, may_be_code = False, True
    for line in text.splitlines(keepends=True):
        if not line.strip():
            may_be_code = True
        elif line.startswith(_INDENTED) and may_be_code and not is_list:
            starts.append(place)
        else:
            is_text = may_be_code and not line.startswith(_INDENTED)
            is_list = _ITEM.match(line) is not None or (is_list and not is_text)
            may_be_code = False
        place += len(line)
    return frozenset(starts)


def _is_in_word(text: str, opener: Mark, closer: Mark, *, is_sign: bool) -> bool:
    """Whether the emphasized text is part of a word. Signs next to digits may belong to a formula."""
    inside = text[opener.end : closer.start].strip("*~=")
    if not inside[:1].isalnum() or len(inside) > _LONGEST or len(inside.split()) > 1:
        return False
    first, last = opener.start, closer.end
    while first > 0 and text[first - 1] in _SIGNS:
        first -= 1
    while text[last : last + 1] in _SIGNS:
        last += 1
    beside = text[max(0, first - 1) : first], text[last : last + 1]
    return any(map(str.isalpha if is_sign else str.isalnum, beside))


def _unescaped(text: str, kind: str, path: PurePosixPath) -> str:
    suffix = path.suffix.lower()
    if "\\" in text:
        if kind == "json":
            text = _of_json(text)
        elif suffix == ".properties":
            text = _HEX.sub(_of_hex, _CONTINUED.sub(r"\1\2", text))
        elif kind == "toml" or suffix in (*_TRANSLATIONS, ".strings"):
            text = (_STRING_OF_TOML if kind == "toml" else _STRING).sub(_of_string, text)
        elif kind in ("latex", "bibtex"):
            text = _HYPHEN_OF_TEX.sub("", _ACCENT.sub(_of_accent, text))
            return _LETTER.sub(lambda match: _LETTERS[match[1] or match[2]], text)
    if kind == "yaml" and ("\\" in text or "''" in text):
        return _of_yaml(text)
    if kind == "json":
        return _GAP_OF_JSON.sub(r"\1 ", inner_pages.without_pages_in_json(text))
    if kind == "xml":
        text = inner_pages.without_pages_in_xml(text)
    if "&" in text and kind in ("xml", "markdown"):
        return _ENTITY.sub(_of_entity, text)
    return _of_translations(text) if suffix in _TRANSLATIONS else text


def _of_json(text: str) -> str:
    text = _HEX.sub(_of_hex, _with_bytes_joined(text))
    return _SLASH.sub(r"\1/", text)


def _with_bytes_joined(text: str) -> str:
    """Return JSON as Facebook and Instagram export it, which escapes each byte of UTF-8 as a character, with
    the characters that they meant. Any other JSON stays."""
    with suppress(ValueError):  # another escape, or bytes that are not UTF-8
        return _BEYOND_ASCII.sub(_of_bytes, text) if text.isascii() else text
    return text


def _of_bytes(match: re.Match[str]) -> str:
    chars = bytes.fromhex(match[2].replace("\\u00", "")).decode("utf-8")
    return match[1] + "".join(char if _is_shown(char) else " " for char in chars)


def _of_translations(text: str) -> str:
    """The texts of a translation file with their pieces joined and quotes in them as they are shown."""
    pieces = _NEXT_PIECE.sub("\n", _REST_OF_WORD.sub(r"\g<next>\g<breaks>", text))
    return _QUOTE.sub(r'\1"', pieces)


def _of_string(match: re.Match[str]) -> str:
    groups = match.groupdict()
    if groups.get("last"):
        return _of_lines(match[0])
    return _ESCAPE.sub(_of_escape, match[0]) if groups["end"] else match[0]


def _of_yaml(text: str) -> str:
    pieces: list[str] = []
    place = 0
    for start, end in yaml_strings.escaped_strings(text):
        string = text[start:end]
        pieces += text[place:start], _of_lines(string) if string[0] == '"' else _of_single_quotes(string)
        place = end
    return "".join((*pieces, text[place:]))


def _of_single_quotes(string: str) -> str:
    """A string in single quotes, whose only escape is two of them, in double quotes. It stays if it would
    mean something else there."""
    text = string[1:-1]
    is_same = "''" in text and '"' not in text and "\\" not in text
    return '"' + text.replace("''", "'") + '"' if is_same else string


def _of_lines(string: str) -> str:
    """The text of a string that may go over several lines."""
    return _ESCAPE.sub(_of_escape, _GOES_ON.sub(_joined, string))


def _joined(match: re.Match[str]) -> str:
    """Return the end of a line whose string continues. A word that continues, too, is put on the first
    line."""
    return match["breaks"] + match["next"] if match["gap"] else match["next"] + match["breaks"]


def _of_escape(match: re.Match[str]) -> str:
    """Return the character for an escape in double quotes. The end of a line becomes a space."""
    digits = match[1] or match[2] or match[3]
    if digits is None:
        return _SHORT_ESCAPES.get(match[0][1], match[0])
    with suppress(ValueError):
        if _is_shown_in_string(char := chr(int(digits, 16))):
            return char
    return match[0]


def _of_hex(match: re.Match[str]) -> str:
    if match[4]:
        char = chr(int(match[4], 16))
    else:
        pair = bytes.fromhex(match[2] + match[3])
        char = pair.decode("utf-16-be")
    return match[1] + char if _is_shown_in_string(char) else match[0]


def _of_entity(match: re.Match[str]) -> str:
    char = html.unescape(match[0])
    return char if _is_shown(char) else match[0]


def _is_shown(text: str) -> bool:
    """Whether each character is a letter, or is beyond ASCII and no control character, line end or
    surrogate."""
    return all(
        char.isalnum() or (char > "\x7f" and unicodedata.category(char) not in _NOT_SHOWN) for char in text
    )


def _is_shown_in_string(char: str) -> bool:
    """Like `_is_shown`, but also True for a sign that neither ends the string nor begins another escape."""
    return _is_shown(char) or (" " <= char < "\x7f" and char not in '"\\')


def _of_accent(match: re.Match[str]) -> str:
    """Return the letter with its accent. Braces around both are removed; a brace that belongs to something
    else stays."""
    letter = match[4] or match[5] or match[6]
    accent = _ACCENTS[match[2] or match[3]]
    char = unicodedata.normalize("NFC", letter + accent)
    if len(char) > 1:
        return match[0]
    return char if match[1] and match[7] else match[1] + char + match[7]
