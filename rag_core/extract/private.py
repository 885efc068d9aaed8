"""Whether a note says in its front matter that it is private.

A guest must never see a note that was meant to be private, so only a plain no is a no: front matter that
names ``private`` and cannot be read for certain makes a note private, with a warning that says why.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any, NamedTuple

UNSURE = "It is private to be safe: "
"""The beginning of the warning about a note whose privacy is not certain."""

_MERGE = "<<"
PRIVATE_KEYS = ("private", _MERGE)
"""The keys that tell of privacy: a mapping may have each only once."""

_ADVICE = (
    "Write `private: true` or `private: false` once, in YAML between two lines of `---` at the very start."
)
_NO = frozenset({"", "false", "no", "n", "off", "0", "null", "none", "~"})
_YES = frozenset({"true", "yes", "y", "on", "1"})

# The name where a key can stand, and its value with the indented lines below it. Repetitions are bounded:
# from each comma on only a few characters are looked at.
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
    """Whether a note says that it is private. ``unsure`` tells the owner why that is not certain."""

    private: bool = False
    unsure: str = ""


def of_values(values: Mapping[str, Any]) -> Claim:
    """The claim of valid front matter, including merged mappings."""
    said = list(map(_plain, _settings(values)))
    if _NO.issuperset(said):
        return Claim()
    if _YES.issuperset(said):
        return Claim(True)
    if len(said) > 1:
        return Claim(True, f"{UNSURE}`private` in its front matter has more than one value. {_ADVICE}")
    return Claim(True, f"{UNSURE}`private` in its front matter is neither yes nor no. {_ADVICE}")


def of_unreadable(block: str, why: str) -> Claim:
    """The claim of front matter that cannot be read, for the reason in the sentence ``why``."""
    found = _SETTING.finditer("\n".join(block.splitlines()))
    if all(_plain(_COMMENT.sub("", match[1]).strip().strip("\"'")) in _NO for match in found):
        return Claim()
    return Claim(True, f"{UNSURE}its front matter names `private` but cannot be read. {why} {_ADVICE}")


def of_beginning(text: str) -> Claim:
    """Whether a text claims to be private that begins almost as if it had front matter.

    The front matter may start after the first line, have no end, or be TOML. Text below a line of dashes
    counts only if it looks like front matter: the line may be a horizontal rule.
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
    """The values of ``private`` in a mapping and in those that it merges."""
    for key, value in values.items():
        if key.strip().lower() == "private":
            yield value
        elif key.strip() == _MERGE:
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, dict):
                    yield from _settings(each)


def _plain(value: Any) -> str:
    """A value to be compared with yes and no; lists and mappings are neither, unless they are empty."""
    return "" if value in ([], {}) else str(value).strip().lower()
