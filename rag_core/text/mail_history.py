"""Finds the parts of a mail that its sender did not write: quotes of earlier mails with their introductions,
and signatures. A forwarded mail is kept, because it is the subject of the mail."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rag_core.text.numbers import Span

_FORWARDED = re.compile(r"Subject: *(?:re: *)?(?:fwd?|wg|tr|rv|enc|i|vs|doorst)\b\.?:", re.IGNORECASE)
_HEADER = re.compile("(?:Subject|From|To|Cc|Date): ")  # the header lines that `extract/mail.py` writes
_QUOTED = re.compile(r"[ \t]{0,3}>")
_SIGNATURE = re.compile(r"--[ \t]?")
_MOST_OF_A_SIGNATURE = 12  # maximum number of lines
_MOST_OF_AN_INTRODUCTION = 2  # maximum number of lines: programs break "On Tuesday, 3 March 2026, Ada wrote:"
_WROTE = re.compile(
    r"^(?=[^\n]*\d)[^\n]*\b(?:wrote|schrieb|a écrit|escribió|ha scritto|schreef|escreveu|napisał(?:\(a\))?"
    r"|skrev|kirjoitti|napsal(?:\(a\))?|написал(?:\(а\)|а)?|пишет|写道|yazdı)\b[^\n]{0,80}[:：]$"
)
_RULE = re.compile(
    r"^[-_*]{2,}[ ]?(?:original message|ursprüngliche nachricht|message d'origine|mensaje original"
    r"|messaggio originale|oorspronkelijk bericht|mensagem original|исходное сообщение)[ ]?[-_*]{2,}$",
    re.IGNORECASE,
)
_SENDER = re.compile(r"^\*?(?:From|Von|De|Da|Van|Från|Fra|От):\*? \S", re.IGNORECASE)
_SENT = re.compile(
    r"^\*?(?:Sent|Gesendet|Envoyé|Enviado(?: el| em)?|Inviato|Verzonden|Skickat|Sendt|Отправлено|Date|Datum"
    r"|Data|Fecha) ?:\*? \S",
    re.IGNORECASE,
)


def history(text: str) -> list[Span]:
    """Return the spans of a mail that are quoted or a signature, in order and disjoint. ``text`` begins with
    the mail's header lines."""
    if _FORWARDED.match(text):
        return []
    lines = [*_lines(text)]
    spans: list[Span] = []
    index = next((at for at, (_, line) in enumerate(lines) if not _HEADER.match(line)), len(lines))
    while index < len(lines):
        start, line = lines[index]
        if _begins_earlier_mail(line, lines[index + 1 : index + 3]):
            return [*spans, (start, len(text))]
        end = index
        if _QUOTED.match(line):
            end = _end_of_quote(lines, index)
            start = _introduction(lines, index, spans[-1][1] if spans else 0)
        elif _SIGNATURE.fullmatch(line):
            end = _end_of_signature(lines, index)
        if end > index:
            spans.append((start, lines[end][0] if end < len(lines) else len(text)))
        index = max(end, index + 1)
    return spans


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for line in text.split("\n"):
        yield start, line
        start += len(line) + 1


def _begins_earlier_mail(line: str, following: list[tuple[int, str]]) -> bool:
    """Whether an earlier mail begins at a line and continues to the end. The introduction of quoted lines
    does not count, because answers may stand between and after the quotes."""
    if _WROTE.match(line):
        return not any(_QUOTED.match(other) for _, other in following)
    is_head = bool(_SENDER.match(line) and following and _SENT.match(following[0][1]))
    return is_head or bool(_RULE.match(line))


def _end_of_quote(lines: list[tuple[int, str]], index: int) -> int:
    """Return the index of the line after a block of quoted lines. Empty lines between quoted lines belong to
    the block."""
    end = index
    while index < len(lines) and (_QUOTED.match(lines[index][1]) or not lines[index][1].strip()):
        index += 1
        if _QUOTED.match(lines[index - 1][1]):
            end = index
    return end


def _introduction(lines: list[tuple[int, str]], index: int, least: int) -> int:
    """Return the offset where a quote begins, including its introduction. The introduction names a time and
    ends with a colon. The result is at least ``least``."""
    last = index - 1
    while last > 0 and not lines[last][1].strip():
        last -= 1
    if last < 1 or not lines[last][1].rstrip().endswith((":", "：")):
        return lines[index][0]
    first = last
    while first > 1 and last - first + 1 < _MOST_OF_AN_INTRODUCTION and lines[first - 1][1].strip():
        first -= 1
    named = [at for at in range(last, first - 1, -1) if any(map(str.isdigit, lines[at][1]))]
    return lines[named[-1]][0] if named and lines[named[-1]][0] >= least else lines[index][0]


def _end_of_signature(lines: list[tuple[int, str]], index: int) -> int:
    """Return the index of the line after a signature that begins at ``index``. An empty line, a quote or
    twelve lines end it."""
    end = index + 1
    while end < len(lines) and end - index <= _MOST_OF_A_SIGNATURE:
        if not lines[end][1].strip() or _QUOTED.match(lines[end][1]):
            break
        end += 1
    return end
