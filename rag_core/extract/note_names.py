"""Removes what note apps add to file names: a time before the title (Zettelkasten, Denote, Org-roam), tags
(Denote), folders (Logseq), and an identifier after the title (Notion)."""

from __future__ import annotations

import re
from urllib.parse import unquote

_NOTION = re.compile(r"(?<=.)[ _-]([0-9a-f]{32})(?=(?:_all)?(?:\.|\Z))")
_TIME = re.compile(
    r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])T?(?:[01]\d|2[0-3])[0-5]\d(?:[0-5]\d)?(?!\d)"
    r"[ _.-]*"
)
_DENOTE = re.compile(r"\d{8}T\d{6}(?:==[^.]*?)?(?:--([^.]*?))?(?:__([^.]*))?(?=\.|\Z)")
_ESCAPED = re.compile(r"%[0-9A-Fa-f]{2}")


def is_of_notion(name: str) -> bool:
    """Whether Notion created a file, judged by its name."""
    return bool(_NOTION.search(name))


def without_numbers(name: str) -> str:
    """Return the name or stem of a file without the parts that an app added before and after its title, with
    ``/`` between the names of pages: ``202511081015 Bread`` → ``Bread``, ``a___b`` → ``a/b``."""
    if (denote := _DENOTE.match(name)) and denote[1]:
        return denote[1].replace("-", " ") + name[denote.end() :]
    name = _NOTION.sub("", name)
    after_time = name[match.end() :] if (match := _TIME.match(name)) else ""
    if after_time and not after_time.startswith("."):
        name = after_time
    return as_page(name)


def as_page(stem: str) -> str:
    """Return the name of a Logseq page. Its file name has ``___`` or ``%2F`` in place of a slash."""
    name = stem.replace("___", "/")
    return unquote(name) if _ESCAPED.search(name) else name


def tags_of_name(name: str) -> list[str]:
    """Return the tags in a Denote file name: ``20251108T101500--walk__nature_dog``."""
    denote = _DENOTE.match(name)
    return [tag for tag in denote[2].split("_") if tag] if denote and denote[2] else []
