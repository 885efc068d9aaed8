"""One written value → one typed value, or an error that names it, its place and what is allowed.

Variables and config.yaml share one grammar: everything arrives as the text that was written.
"""

from __future__ import annotations

import difflib
import os
import re
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rag_core.config.kinds import Address, Choice, Folder, Folders, Number, Plain, Switch, Whole, Word, Words
from rag_core.config.origin import Origin
from rag_core.config.tree import Listing, Node, Scalar
from rag_core.errors import InvalidInput

_DIGITS = re.compile(r"[+-]?[0-9]{1,18}")


class _WrongError(ValueError):
    """A text that is not of its kind."""


def from_text(kind: Plain, text: str, origin: Origin, *, secret: bool = False) -> Any:
    """The value that a variable's ``text`` means. Raises InvalidInput."""
    if isinstance(kind, Folders):
        return tuple(from_text(Folder(), part, origin) for part in text.split(os.pathsep) if part)
    if isinstance(kind, Words):
        return tuple(from_text(kind.each, part, origin).lower() for part in re.split(r"[,\s]+", text) if part)
    try:
        return _one(kind, text)
    except _WrongError:
        raise refused(kind, text, origin, secret=secret) from None


def from_node(kind: Plain, node: Node, origin: Origin, *, secret: bool = False) -> Any:
    """The value that config.yaml means by ``node``. Raises InvalidInput."""
    if isinstance(kind, Folders):
        return tuple(from_node(Folder(), item, origin.at(item.line, origin.name)) for item in listed(node))
    if isinstance(kind, Words):
        words = (from_node(kind.each, item, origin.at(item.line, origin.name)) for item in listed(node))
        return tuple(word.lower() for word in words)
    if not isinstance(node, Scalar):
        raise refused(kind, node, origin)
    return from_text(kind, node.text, origin, secret=secret)


def listed(node: Node) -> tuple[Node, ...]:
    """The items of a list; a single text stands for a list of one, nothing for an empty one."""
    match node:
        case Listing():
            return node.items
        case Scalar() if node.is_null:
            return ()
        case _:
            return (node,)


def refused(kind: object, value: str | Node, origin: Origin, *, secret: bool = False) -> InvalidInput:
    """The error for a value that is not of its kind."""
    text = value.text if isinstance(value, Scalar) else value
    hidden = secret or (isinstance(kind, Address) and "@" in str(text))  # it may be a password
    said = "(hidden)" if hidden else repr(text[:80]) if isinstance(text, str) else str(text)
    return origin.error(
        f"{origin.name} is {said}, which is not {kind}", _advice(kind, text if isinstance(text, str) else "")
    )


def _advice(kind: object, text: str) -> str:
    match kind:
        case Folder() | Folders():
            return "Write it from the root, like /home/me/x."
        case Choice(words):
            close = difflib.get_close_matches(text.lower(), words, n=1)
            return f"Did you mean {close[0]!r}?" if close else "Write one of these words."
        case Address() if "@" in text:
            return "A key belongs into a variable of its own, or into .env."
        case _:
            return "Change it, or leave it out for the default."


def _one(kind: Plain, text: str) -> Any:
    match kind:
        case Whole(low, high):
            return _between(low, int(text) if _DIGITS.fullmatch(text) else None, high)
        case Number(low, high):
            return _between(low, _number(text), high)
        case Choice(words):
            if text.lower() not in words:
                raise _WrongError
            return text.lower()
        case Switch():
            if text.lower() not in ("true", "false"):
                raise _WrongError
            return text.lower() == "true"
        case Address(port):
            return _address(text, port)
        case Word(shape):
            if not shape.fullmatch(text):
                raise _WrongError
            return text
        case _:
            return _folder(text)


def _between(low: float, value: float | None, high: float) -> float:
    if value is None or not low <= value <= high:
        raise _WrongError
    return value


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _folder(text: str) -> Path:
    if "\0" in text:
        raise _WrongError
    path = Path(os.path.expanduser(text))  # noqa: PTH111 - Path.expanduser raises for an unknown user
    if not path.is_absolute():
        raise _WrongError
    return path


_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what a server listens on is no address


def _address(text: str, port: int | None) -> str:
    """``scheme://host:port/path`` of a server, in one way of writing."""
    if "://" not in text:
        alone = text.count(":") > 1 and not text.startswith("[")
        text = f"http://[{text}]" if alone else f"http://{text}"
        bare = True
    else:
        bare = False
    try:
        parts = urlsplit(text)
        host, given = parts.hostname or "", parts.port
        numeric = ip_address(host).version == 6 if ":" in host else False
    except ValueError:
        raise _WrongError from None
    odd = re.search(r"[\s\x00-\x1f\x7f@?#]", text) or not re.fullmatch(r"[\w.:-]{1,253}", host)
    if odd or parts.scheme not in ("http", "https"):
        raise _WrongError
    host = _ANYWHERE.get(host, host)
    number = given if given is not None else port if bare else None
    shown = f"[{host}]" if numeric else host
    return f"{parts.scheme}://{shown}{f':{number}' if number else ''}{parts.path.rstrip('/')}"
