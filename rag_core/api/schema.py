"""What a request may hold: a part of JSON Schema, which OpenAPI publishes and `check` enforces.

``object`` (properties, required; nothing else is allowed), ``array`` (items, maxItems), ``string``
(minLength, maxLength, enum), ``integer`` and ``number`` (minimum, maximum), and a list of types.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rag_core.errors import InvalidInput

Schema = Mapping[str, Any]

_SAME = (
    frozenset({"store", "stores", "vault", "vaults"}),
    frozenset({"question", "query", "text"}),
    frozenset({"k", "top_k", "n_results"}),
)
"""Names that some requests have and others call otherwise."""
_SHOWN = 40  # characters of a wrong value that an error repeats


def record(properties: Mapping[str, Schema], required: Sequence[str] | None = None) -> dict[str, Any]:
    """An object with these properties and no others; without ``required`` it has all of them."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties if required is None else required),
        "additionalProperties": False,
    }


def check(schema: Schema, value: Any, at: str = "") -> Any:
    """``value`` as ``schema`` has it, whole numbers as int. ``at`` is where it stands in the request.

    Raises InvalidInput that names the place and what may stand there.
    """
    match value:
        case dict() if _takes(schema, "object"):
            return _check_object(schema, value, at)
        case list() if _takes(schema, "array"):
            if len(value) <= schema.get("maxItems", math.inf):
                return [check(schema["items"], each, f"{at}[{number}]") for number, each in enumerate(value)]
        case str() if _takes(schema, "string"):
            least, most = schema.get("minLength", 0), schema.get("maxLength", math.inf)
            if least <= len(value) <= most and value in schema.get("enum", (value,)) and _is_text(value):
                return value
        case bool():
            if _takes(schema, "boolean"):
                return value
        case int() | float() if _takes(schema, "integer") and value == value // 1 and _fits(schema, value):
            return int(value)
        case int() | float() if _takes(schema, "number") and _fits(schema, value):
            return value
    raise InvalidInput(f"{at or 'The request'}: {_shown(value)} cannot be used.", f"Use {allowed(schema)}.")


def _check_object(schema: Schema, value: dict[str, Any], at: str) -> dict[str, Any]:
    properties: Mapping[str, Schema] = schema["properties"]
    within = f"{at}." if at else ""
    if (name := next((name for name in value if name not in properties), None)) is not None:
        close = _also_called(name, properties) or difflib.get_close_matches(name[:_SHOWN], properties, n=1)
        known = f"Use {_listed(list(properties))}." if properties else "Leave it out."
        advice = f"Did you mean {close[0]}?" if close else known
        raise InvalidInput(f"{within}{name[:_SHOWN]}: There is no such field.", advice)
    for name in schema["required"]:
        if name not in value:
            raise InvalidInput(f"{within}{name}: It is missing.", f"Give {allowed(properties[name])}.")
    return {name: check(properties[name], each, f"{within}{name}") for name, each in value.items()}


def _also_called(name: str, known: Iterable[str]) -> list[str]:
    return [each for each in known if any({each, name} <= group for group in _SAME)]


def allowed(schema: Schema) -> str:
    """What a schema takes, in words."""
    if "enum" in schema:
        return _listed(schema["enum"])
    types = schema["type"]
    if not isinstance(types, str):
        return _listed([allowed({**schema, "type": each}) for each in types])
    match types:
        case "object":
            return "a JSON object"
        case "array":
            most = f"at most {schema['maxItems']:,} of: " if "maxItems" in schema else ""
            return f"a list of {most}{allowed(schema['items'])}"
        case "string":
            return f"a text, {_range(schema, 'minLength', 'maxLength')} characters long"
        case "boolean":
            return "true or false"
        case kind:
            name = "a whole number" if kind == "integer" else "a number"
            return f"{name} {_range(schema, 'minimum', 'maximum')}".rstrip()


def _range(schema: Schema, least: str, most: str) -> str:
    match schema.get(least), schema.get(most):
        case None, None:
            return "any number of" if least == "minLength" else ""
        case None, high:
            return f"at most {high:,}"
        case low, None:
            return f"at least {low:,}"
        case low, high:
            return f"from {low:,} to {high:,}"
    raise AssertionError


def _takes(schema: Schema, kind: str) -> bool:
    return kind == schema["type"] or (isinstance(schema["type"], list) and kind in schema["type"])


def _fits(schema: Schema, value: float) -> bool:
    return bool(schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf))


def _is_text(value: str) -> bool:
    """Whether there is no half of a character in it, which JSON can write and UTF-8 cannot."""
    return value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value)


def _listed(values: Sequence[str]) -> str:
    return values[0] if len(values) == 1 else f"{', '.join(values[:-1])} or {values[-1]}"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
