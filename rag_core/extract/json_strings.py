"""Strings of JSON that hold a page of HTML → what a browser shows of it. The text stays JSON, in as many
lines."""

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
_UNSEEN = re.compile(r"<!--(?s:.*?)(?:-->|\Z)|<(script|style|head)\b(?s:.*?)(?:</\1\s{0,9}>|\Z)", re.I)
_ANY_TAG = re.compile(r"</?[A-Za-z][\w:-]{0,40}(?:\s(?:[^<>\"']|\"[^\"<]*+\"|'[^'<]*+')*+)?/?>")
_WORD = re.compile(r"\w")


def without_pages(text: str) -> str:
    """``text``, which is JSON, with the text of each page of HTML in its strings instead of the markup."""
    return _STRING.sub(_shown, text) if _MAY_HOLD_PAGES.search(text) else text


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
    page = html.unescape(_ANY_TAG.sub(_between, _UNSEEN.sub("", written)))
    page = "\n".join(filter(None, (" ".join(line.split()) for line in page.split("\n"))))
    return json.dumps(page, ensure_ascii=False) if _WORD.search(page) else match[0]


def _between(tag: re.Match[str]) -> str:
    """What is shown in the place of a tag: nothing inside a line, else the end of a line."""
    known = TAG.fullmatch(tag[0])
    return "\n" if known is None or instead(tag[0]) else ""
