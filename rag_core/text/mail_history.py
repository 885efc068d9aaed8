"""The parts of a mail that its sender did not write: quotes of earlier mails, what introduces them, and
signatures. A forwarded mail is not left out: it is what the mail is about."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rag_core.text.numbers import Span

_FORWARDED = re.compile(r"Subject: *(?:re: *)?(?:fwd?|wg|tr|rv|enc|i|vs|doorst)\b\.?:", re.IGNORECASE)
_HEADER = re.compile("(?:Subject|From|To|Cc|Date): ")  # of the mail itself, as its reader writes them
_QUOTED = re.compile(r"[ \t]{0,3}>")
_SIGNATURE = re.compile(r"--[ \t]?")
_MOST_OF_A_SIGNATURE = 12  # lines
_MOST_OF_AN_INTRODUCTION = 2  # lines: programs break "On Tuesday, 3 March 2026, Ada wrote:"
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
    """Return the spans of ``text``, a mail with its header lines, that are quoted or a signature, in order
    and disjoint."""
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
    """Whether an earlier mail begins at a line and goes on to the end. What introduces quoted lines does
    not: answers may stand between and after them."""
    if _WROTE.match(line):
        return not any(_QUOTED.match(other) for _, other in following)
    is_head = bool(_SENDER.match(line) and following and _SENT.match(following[0][1]))
    return is_head or bool(_RULE.match(line))


def _end_of_quote(lines: list[tuple[int, str]], index: int) -> int:
    """Return the line after a block of quoted lines; empty lines between two of them belong to it."""
    end = index
    while index < len(lines) and (_QUOTED.match(lines[index][1]) or not lines[index][1].strip()):
        index += 1
        if _QUOTED.match(lines[index - 1][1]):
            end = index
    return end


def _introduction(lines: list[tuple[int, str]], index: int, least: int) -> int:
    """Return where a quote begins with the lines that introduce it, which name a time and end with a colon;
    not before the offset ``least``."""
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
    """Return the line after a signature that begins at ``index``: an empty line, a quote, or twelve lines."""
    end = index + 1
    while end < len(lines) and end - index <= _MOST_OF_A_SIGNATURE:
        if not lines[end][1].strip() or _QUOTED.match(lines[end][1]):
            break
        end += 1
    return end
