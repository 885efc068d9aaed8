"""Decides whether a note's front matter makes the note private.

Guests must never see a note that was meant to be private. So only a clear no counts as no.

If front matter names ``private`` but cannot be read with certainty, the note is private, with a warning that
gives the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any, NamedTuple

UNSURE = "It is private to be safe: "
"""The beginning of the warning about a note whose privacy is uncertain."""

_MERGE = "<<"
PRIVATE_KEYS = ("private", _MERGE)
"""The keys that set privacy. A mapping may have each only once."""

_ADVICE = (
    "Write `private: true` or `private: false` once, in YAML between two lines of `---` at the very start."
)
_NO = frozenset({"", "false", "no", "n", "off", "0", "null", "none", "~"})
_YES = frozenset({"true", "yes", "y", "on", "1"})

# The name in the position of a key, and its value with the indented lines below. Repetitions are limited:
# after each comma only a few characters are examined.
_SETTING = re.compile(
    r"(?:^|[{,])[ \t]*(?:(?:[-?]|[&!]\S{0,40})[ \t]+){0,4}[\"']?private[\"']?(?:\s{0,9}[:\uff1a]|[ \t]*=)"
    r"(.*(?:\n+[ \t-].*)*)",
    re.I | re.M,
)
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*", re.M)
_OPEN = re.compile(r"[\s\ufeff\u200b]*(---|\+\+\+)[ \t]*+(?:\w++[ \t]*+)?(?:\r\n|\n|\r)")
_LIKE_SETTING = re.compile(r"\s*\Z|[ \t#\-?{}]|.*[:=]", re.S)
_CLOSE_TOML = re.compile(r"^\+\+\+[ \t]*\r?$", re.M)


class Claim(NamedTuple):
    """Whether a note counts as private. ``unsure`` is a sentence that tells the owner why that is uncertain;
    '' if it is certain."""

    private: bool = False
    unsure: str = ""


def of_values(values: Mapping[str, Any]) -> Claim:
    """Decide by the ``values`` of valid front matter, including mappings that it merges (``<<``)."""
    said = list(map(_plain, _settings(values)))
    if _NO.issuperset(said):
        return Claim()
    if _YES.issuperset(said):
        return Claim(True)
    if len(said) > 1:
        return Claim(True, f"{UNSURE}`private` in its front matter has more than one value. {_ADVICE}")
    return Claim(True, f"{UNSURE}`private` in its front matter is neither yes nor no. {_ADVICE}")


def of_unreadable(block: str, why: str) -> Claim:
    """Decide by the text of front matter that cannot be read: the note is private if it names ``private``
    with anything but a clear no. ``why`` is a sentence that says why it cannot be read."""
    found = _SETTING.finditer("\n".join(block.splitlines()))
    if all(_plain(_COMMENT.sub("", match[1]).strip().strip("\"'")) in _NO for match in found):
        return Claim()
    return Claim(True, f"{UNSURE}its front matter names `private` but cannot be read. {why} {_ADVICE}")


def of_beginning(text: str) -> Claim:
    """Decide by a text whose beginning resembles front matter. Any other text is not private.

    The front matter may start after the first line, have no end, or be TOML. Text below a line of dashes
    counts only if it looks like front matter, because the line may be a horizontal rule.
    """
    opening = _OPEN.match(text)
    if not opening:
        return Claim()
    is_toml = opening[1] == "+++"
    why = "It is never closed, or does not begin with `---` in the first line."
    if is_toml:
        why = "It is TOML."
    if is_toml and (closing := _CLOSE_TOML.search(text, opening.end())):
        return of_unreadable(text[opening.end() : closing.start()], why)
    lines = takewhile(_LIKE_SETTING.match, text[opening.end() :].splitlines())
    return of_unreadable("\n".join(lines), why)


def _settings(values: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the values of ``private`` in a mapping and in the mappings that it merges."""
    for key, value in values.items():
        if key.strip().lower() == "private":
            yield value
        elif key.strip() == _MERGE:
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, dict):
                    yield from _settings(each)


def _plain(value: Any) -> str:
    """Return a value for comparison with yes and no. Lists and mappings are neither, unless they are
    empty."""
    return "" if value in ([], {}) else str(value).strip().lower()
