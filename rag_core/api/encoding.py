"""Answers as JSON and CSV, without characters that could control a terminal."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from pydantic import BaseModel

    from rag_core.types import Answer, Hit, Viewer

_CSV_COLUMNS = (
    "rank score relevant similarity bm25 store file_path start_line end_line title heading_path tags date"
    " content"
).split()  # then every other field that people see
# Characters at the start of a formula in spreadsheets, as typed on a Western or an East Asian keyboard.
_FORMULA = tuple("=+-@\t\r＝＋－＠")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

JsonValue: TypeAlias = "BaseModel | Mapping[str, Any]"


def plain(text: str) -> str:
    """Replace each control character in ``text`` by ``�``, except tabs. All line ends become line feeds."""
    return _CONTROL.sub("�", re.sub("\r\n?", "\n", text)).encode("utf-8", "replace").decode("utf-8")


def json_text(value: JsonValue, indent: int | None = None) -> str:
    """Return ``value`` as JSON text, with control characters escaped."""
    from pydantic import BaseModel  # only now: they are slow to import
    from pydantic_core import PydanticSerializationError, to_json

    try:
        text = to_json(value, indent=indent).decode()
    except PydanticSerializationError:  # a lone surrogate, as in the name of a folder that is not UTF-8
        text = json.dumps(value, ensure_ascii=False, indent=indent, default=BaseModel.model_dump)
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def json_bytes(value: JsonValue) -> bytes:
    """Return ``value`` as indented JSON text in UTF-8."""
    return json_text(value, indent=2).encode("utf-8", "backslashreplace") + b"\n"


def editor_place(hit: Hit) -> str:
    """Return ``path:line`` for editors: the absolute path for the owner, the path in the store for a guest.
    The line is left out for pages and other places without lines."""
    path = hit.document.absolute_path or hit.document.path
    return path if hit.anchor is not None else f"{path}:{hit.start_line}"


def hits_csv(answer: Answer, viewer: Viewer, *, marked: bool = True) -> bytes:
    """Return the hits as CSV (RFC 4180) in UTF-8, with numbers as in JSON.

    ``marked`` adds a byte order mark, by which Excel recognizes UTF-8. Text that a spreadsheet would run as a
    formula gets an apostrophe at its beginning. Only the owner gets the last column, ``absolute_path``.
    """
    from rag_core.api import answers
    from rag_core.hits import SEEN

    columns = [*dict.fromkeys((*_CSV_COLUMNS, *SEEN))] + ["absolute_path"] * viewer.is_owner
    file = io.StringIO()
    # Every text is in quotes: in countries with a decimal comma, spreadsheets would split at semicolons.
    table = csv.DictWriter(file, columns, extrasaction="ignore", quoting=csv.QUOTE_NONNUMERIC)
    table.writeheader()
    table.writerows(_row(answers.Hit.of(hit).model_dump()) for hit in answer.hits)
    return file.getvalue().encode("utf-8-sig" if marked else "utf-8")


def _row(shown: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = shown | shown["metadata"]
    flat["heading_path"] = " > ".join(flat["heading_path"])
    for name, value in flat.items():
        if isinstance(value, (list, tuple)):
            value = ", ".join(map(str, value))
        if isinstance(value, str):
            text = plain(value)
            flat[name] = f"'{text}" if text.startswith(_FORMULA) else text
    return flat
