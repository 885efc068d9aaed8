"""Tags and links inside one line of Markdown. Every step is linear in the line's length."""

from __future__ import annotations

import re
from urllib.parse import unquote

from rag_core.types import Link

_RUN = re.compile(r"`+")
_HTML_TAG = re.compile(r"<[A-Za-z/][^<>]*>")
_BRACKET = re.compile(r"\\.|[\[\]]", re.S)
_DESTINATION = re.compile(
    r"\(\s*(?:<([^<>\n]*)>|([^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*))"
    r"(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*\)"
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|\\\\")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_MAX_DESTINATION = 2_000

# Obsidian's own exclusions (ASCII and general punctuation, spaces) and the full-width ones;
# the zero-width joiner U+200D stays, emoji are made with it.
_TAG = re.compile(
    r"(?:(?<=\s)|^)#([^\s\x00-\x1f!-,.:-@\[-^`{-~\u2000-\u200c\u200e-\u206f\u2e00-\u2e7f\u3000-\u303f"
    r"\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]+)"
)
_NOT_A_NAME = re.compile(r"[\d/-]+")


def hide_code(line: str) -> str:
    """``line`` with its code spans blanked out, length kept.

    A span that goes on in the next line is not seen.
    """
    runs = [(match.start(), match.end()) for match in _RUN.finditer(line)]
    by_length: dict[int, list[int]] = {}
    for index in range(len(runs) - 1, -1, -1):
        by_length.setdefault(runs[index][1] - runs[index][0], []).append(index)
    spans, at = [], 0
    while at < len(runs):
        start, end = runs[at]
        same = by_length[end - start]
        while same and same[-1] <= at:
            same.pop()
        if same and not (start and line[start - 1] == "\\"):
            at = same[-1]
            spans.append((start, runs[at][1]))
        at += 1
    return _blank(line, spans)


def links(line: str, hidden: str, start: int) -> tuple[list[Link], str]:
    """The links of a line and the line with them blanked out.

    ``hidden`` is ``line`` without its code, ``start`` the line's offset in the document.
    """
    found: list[Link] = []
    if "[[" in hidden:
        spans = []
        for begin, end in _wiki_spans(hidden):
            spans.append((begin, end))
            found.append(_wikilink(line, begin, end, start))
        hidden = _blank(hidden, spans)
    if "](" in hidden:
        spans = []
        for begin, close, end, target in _markdown_spans(hidden):
            spans.append((begin, end))
            if target and not _is_url(target):
                found.append(_markdown_link(line, begin, close, target, start))
        hidden = _blank(hidden, sorted(spans))
    found.sort(key=lambda link: link.start)
    return found, hidden


def tags(hidden: str) -> list[str]:
    """The ``#tags`` of a line whose code and links are blanked out, without ``#``."""
    if "<" in hidden:
        hidden = _HTML_TAG.sub(lambda match: "\0" * len(match[0]), hidden)
    found = [tag.strip("/") for tag in _TAG.findall(hidden)]
    return [tag for tag in found if tag and not _NOT_A_NAME.fullmatch(tag)]


def _blank(line: str, spans: list[tuple[int, int]]) -> str:
    """Spans may nest (an image inside a link); zero bytes are neither space nor word."""
    parts, at = [], 0
    for begin, end in spans:
        if end <= at:
            continue
        begin = max(begin, at)
        parts += [line[at:begin], "\0" * (end - begin)]
        at = end
    return "".join(parts) + line[at:]


def _wiki_spans(hidden: str) -> list[tuple[int, int]]:
    spans, at = [], 0
    while (close := hidden.find("]]", at)) >= 0:
        begin = hidden.rfind("[[", at, close)
        if begin >= 0:
            spans.append((begin, close + 2))
        at = close + 2
    return spans


def _wikilink(line: str, begin: int, end: int, start: int) -> Link:
    target, _, label = line[begin + 2 : end - 2].partition("|")
    target, _, heading = target.removesuffix("\\").partition("#")  # tables write [[a\|b]]
    is_embed = begin > 0 and line[begin - 1] == "!"
    return Link(
        "embed" if is_embed else "wikilink",
        target.strip(),
        heading.strip(),
        label.strip(),
        start + begin - is_embed,
    )


def _markdown_spans(hidden: str) -> list[tuple[int, int, int, str]]:
    """(begin, closing bracket, end, destination) of each ``[label](destination)``."""
    spans: list[tuple[int, int, int, str]] = []
    opened: list[int] = []
    at = 0
    while match := _BRACKET.search(hidden, at):
        at = match.end()
        if match[0] == "[":
            opened.append(match.start())
        elif match[0] == "]" and opened:
            begin = opened.pop()
            destination = _DESTINATION.match(hidden, at, at + _MAX_DESTINATION)
            if destination:
                angled, plain = destination.groups()
                spans.append((begin, match.start(), destination.end(), angled or plain or ""))
                at = destination.end()
    return spans


def _is_url(target: str) -> bool:
    return bool(_SCHEME.match(target)) and not _DRIVE.match(target)


def _markdown_link(line: str, begin: int, close: int, target: str, start: int) -> Link:
    is_embed = begin > 0 and line[begin - 1] == "!"
    path, _, heading = target.partition("#")
    label = line[begin + 1 : close].strip()
    return Link(
        "embed" if is_embed else "markdown", unquote(path), unquote(heading), label, start + begin - is_embed
    )
