"""Strings of JSON, texts of XML and cells of tables that hold a page of HTML → what a browser shows of it.
The text stays JSON, XML or a table, in as many lines."""

from __future__ import annotations

import html
import json
import re

from rag_core.text.inline import TAG, instead

_MAY_HOLD_PAGES = re.compile(r"(?:<|\\u003[cC])(?:\\?/[A-Za-z]|[bB][rR])")
_STRING = re.compile(r'"(?:[^"\\\n]|\\[^\n])*+(?P<end>"(?P<key>[ \t]{0,3}:)?)?')
_OF_A_PAGE = re.compile(
    r"</(?:a|b|blockquote|code|div|em|h[1-6]|i|li|ol|p|pre|span|strong|sub|sup|table|td|ul)[ \t]{0,9}>"
    r"|<br[ \t]{0,9}/?>",
    re.I,
)
"""The end of an element, or a line break: in a string with one of them other tags are markup, too."""
_UNSEEN = (
    re.compile(r"<!--(?s:.*?)(?:(?P<end>-->)|\Z)"),
    re.compile(r"<script\b(?s:.*?)(?:(?P<end></script\s{0,9}>)|\Z)", re.I),
    re.compile(r"<style\b(?s:.*?)(?:(?P<end></style\s{0,9}>)|\Z)", re.I),
    re.compile(r"<head\b(?s:.*?)(?:(?P<end></head\s{0,9}>)|\Z)", re.I),
)
"""What a browser does not show. Without its end it is only mentioned, and stays."""
_ANY_TAG = re.compile(r"</?([A-Za-z][\w:-]{0,40}+)(?:\s(?:[^<>\"']|\"[^\"<]*+\"|'[^'<]*+')*+)?/?>")
_OTHER_TAGS = frozenset(
    "area audio base body button canvas embed fieldset form frame frameset hgroup html iframe input label"
    " legend link map menu meta meter noscript o:p object optgroup option output param progress rb rp rt rtc"
    " ruby select template textarea title track".split()
)
"""Names of tags that are not in ``TAG``."""
_ATTRIBUTE = re.compile(r"([\w:-]{1,40}+)\s{0,9}=\s{0,9}(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_WORD = re.compile(r"\w")
_CELLS = re.compile(r'(?:(?<=[\t,;|\n])|\A)"(?:[^"]|"")*+"|(?:(?![\t,;|]")[^\r\n])++')
"""A cell in quotes, or the others of a line up to the next one in quotes."""
_REFERENCE = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_MAY_HOLD_PAGES_IN_XML = re.compile(r"&lt;(?:/[A-Za-z]|[bB][rR])|<!\[CDATA\[")
_OF_XML = re.compile(r"<!\[CDATA\[(?P<data>(?s:.*?))(?:\]\]>|\Z)|(?<=>)(?:[^<>&]|&(?!lt;))*+&lt;[^<>]*+(?=<)")
"""A text of XML with a page that is escaped or in CDATA."""
_TAG_OF_SOURCE = re.compile(
    r"<(?:(?:[\w-]{1,40}:)?(?:code|computeroutput|eg|egXML|literal|literallayout|markup|preformat|pre"
    r"|programlisting|screen|source|synopsis|tt|userinput|verbatim)[\s>]|Content>|text:)"
)
"""The tag before a text that is no page but shows the markup of one, as a manual does."""
_SIGNS_OF_TABLES = frozenset('"\t,;|\r\n')
_OF_ANKI = re.compile(r"#(?:separator|html):")
_FIRST_LINES = 400  # characters


def without_pages_in_json(text: str) -> str:
    """Return JSON with each page of HTML in its strings replaced by the text of the page."""
    return _STRING.sub(_shown, text) if _MAY_HOLD_PAGES.search(text) else text


def is_table_of_pages(text: str) -> bool:
    """Whether ``text`` is a table of notes that Anki exported, with cells in HTML."""
    return _OF_ANKI.match(text) is not None and "#html:true" in text[:_FIRST_LINES]


def without_pages_in_cells(text: str) -> str:
    """Return a table with each page of HTML in its cells replaced by the text of the page."""
    return _CELLS.sub(_shown_of_cells, text) if _MAY_HOLD_PAGES.search(text) else text


def _shown_of_cells(match: re.Match[str]) -> str:
    """Cells without the markup in them; those that hold no markup or nothing else stay."""
    written = match[0]
    if not _OF_A_PAGE.search(written):
        return written
    is_quoted = len(written) > 1 and written[0] == written[-1] == '"'
    page = written[1:-1].replace('""', '"') if is_quoted else written
    page = " ".join((_without_tags(page), *(_links(page) if is_quoted else [])))
    page = _REFERENCE.sub(lambda sign: _character(sign[0], is_quoted=is_quoted), page)
    if not _WORD.search(page):
        return written
    return '"' + page.replace('"', '""') + '"' if is_quoted else page


def without_pages_in_xml(text: str) -> str:
    """Return XML with each page of HTML in its elements replaced by the text of the page. In a feed or an
    export such pages are escaped (``&lt;p&gt;``) or in CDATA."""
    return _OF_XML.sub(_shown_of_xml, text) if _MAY_HOLD_PAGES_IN_XML.search(text) else text


def _shown_of_xml(match: re.Match[str]) -> str:
    if _TAG_OF_SOURCE.match(match.string, match.string.rfind("<", 0, match.start())):
        return match[0]
    if not match["data"]:
        page = _REFERENCE.sub(lambda sign: _character(sign[0], is_quoted=True), match[0])
    else:
        page = match["data"]
    if not _OF_A_PAGE.search(page):
        return match[0]
    page = " ".join((_without_tags(page), *_links(page)))
    page = _REFERENCE.sub(lambda sign: _character(sign[0], is_quoted=True), page)
    return html.escape(page, quote=False) if _WORD.search(page) else match[0]


def _without_tags(page: str) -> str:
    """A page without its markup, in as many lines."""
    for unseen in _UNSEEN:
        page = unseen.sub(lambda found: "\n" * found[0].count("\n") if found["end"] else found[0], page)
    return _ANY_TAG.sub(lambda tag: _in_one_line(_instead_of_tag(tag)) + "\n" * tag[0].count("\n"), page)


def _character(reference: str, *, is_quoted: bool) -> str:
    """What a reference stands for, if it does not end the cell."""
    character = html.unescape(reference)
    is_sign = "\n" in character or "\r" in character or (not is_quoted and character in _SIGNS_OF_TABLES)
    return reference if is_sign else character


def _shown(match: re.Match[str]) -> str:
    """A string without the markup in it. A key, and what holds no markup or nothing else, stays."""
    if match["key"] or not match["end"] or not _MAY_HOLD_PAGES.search(match[0]):
        return match[0]
    try:
        written = str(json.loads(match[0]))
    except ValueError:
        return match[0]
    if not _OF_A_PAGE.search(written):
        return match[0]
    for unseen in _UNSEEN:
        written = unseen.sub(lambda element: "" if element["end"] else element[0], written)
    page = html.unescape("\n".join((_ANY_TAG.sub(_instead_of_tag, written), *_links(written))))
    page = "\n".join(filter(None, (" ".join(line.split()) for line in page.split("\n"))))
    return json.dumps(page, ensure_ascii=False) if _WORD.search(page) else match[0]


def _instead_of_tag(tag: re.Match[str]) -> str:
    """What is shown in the place of a tag: nothing inside a line, the words for a picture, else the end of a
    line. What HTML does not know, such as ``List<String>``, stays."""
    name = tag[1]
    known = TAG.fullmatch(tag[0])
    if not (name.islower() or name.isupper()) or (known is None and name.lower() not in _OTHER_TAGS):
        return tag[0]
    if words := _attributes(tag[0]).get("alt"):
        return f" {words} "
    return "\n" if known is None or instead(tag[0]) else ""


def _links(page: str) -> list[str]:
    """The addresses of the links of a page, each once."""
    anchors = [tag[0] for tag in _ANY_TAG.finditer(page) if tag[1].lower() in ("a", "area")]
    return list(dict.fromkeys(_attributes(anchor).get("href", "") for anchor in anchors))


def _in_one_line(text: str) -> str:
    return text.replace("\n", " ")


def _attributes(tag: str) -> dict[str, str]:
    return {each[1].lower(): each[2] or each[3] or each[4] or "" for each in _ATTRIBUTE.finditer(tag)}
