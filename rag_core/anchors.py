"""Where a passage is in its document, in words."""

from __future__ import annotations

_OWN_PARTS = frozenset(
    {"page", "slide", "row", "chapter", "cell", "message", "picture", "event", "contact", "bookmark"}
)  # anchor types
_MADE_TEXT = frozenset(
    "pdf word slides sheet ebook evernote mail notebook picture archive html calendar contacts".split()
)  # file types


def anchor_in_words(file_type: str, anchor_type: str, anchor_ref: str) -> str | None:
    """Return where a passage is in its document: ``page 3``, ``slide 2``, ``row Stock!14``, ``report.pdf ›
    page 2``.

    Return '' if no place is known, and None for a file that people read by line numbers.
    """
    if anchor_type in _OWN_PARTS:
        return f"{anchor_type} {anchor_ref}" if anchor_ref else ""
    return anchor_ref if anchor_type == "attachment" or file_type in _MADE_TEXT else None


def anchor_of_words(words: str) -> tuple[str, str] | None:
    """Return the anchor type and reference that words such as ``page 3`` stand for; None for other words."""
    anchor_type, _, anchor_ref = words.partition(" ")
    return (anchor_type, anchor_ref) if anchor_type in _OWN_PARTS and anchor_ref else None
