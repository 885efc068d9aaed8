"""The table of operations as an OpenAPI 3.1 document."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from http import HTTPStatus
from typing import Any

from pydantic import TypeAdapter

from rag_core import __version__
from rag_core.api.answers import Error, Unanswered
from rag_core.api.http import EVENTS, JSON
from rag_core.api.operations import OPERATIONS, Operation
from rag_core.api.requests import Schema, without_titles

PREFIX = "/api/v1"
DOCUMENT = "/openapi.json"
_ALWAYS = (400, 401, 403, 406, 408, 413, 429, 500)
_WITH_A_BODY = (415,)


@cache
def document() -> dict[str, Any]:
    """The whole document."""
    answers, parts = _answers()
    paths: dict[str, dict[str, Any]] = {}
    for each in OPERATIONS:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each, answers[each.name])
    itself = {"operationId": "openapi", "summary": "This document."}
    paths[DOCUMENT] = {"get": {**itself, "responses": _responses({JSON: {"type": "object"}}, _ALWAYS)}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Commonplace",
            "version": __version__,
            "description": "Find your own passages. Open on the computer that it runs on, or with a token.",
        },
        "servers": [{"url": PREFIX}],
        "paths": paths,
        "components": {"schemas": parts, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],
    }


def _answers() -> tuple[dict[str, Schema], dict[str, Schema]]:
    """The schema of each operation's answer, and the schemas that they refer to."""
    kinds = {**{each.name: each.answer for each in OPERATIONS}, "": Error | Unanswered}
    made, parts = TypeAdapter.json_schemas(
        [(name, "serialization", TypeAdapter(kind)) for name, kind in kinds.items()],
        ref_template="#/components/schemas/{model}",
    )
    return {name: without_titles(schema) for (name, _), schema in made.items()}, without_titles(
        parts["$defs"]
    )


def _operation(each: Operation, answer: Schema) -> dict[str, Any]:
    asks = each.act is None
    refused = [*_ALWAYS, *each.refusals, *(_WITH_A_BODY if each.method == "POST" else ())]
    content = {JSON: answer, **({EVENTS: {"type": "string"}} if asks else {})}
    described: dict[str, Any] = {
        "operationId": each.name,
        "summary": each.summary,
        "responses": _responses(content, refused, Unanswered=502 if asks else 0),
    }
    if each.method == "POST":
        described["requestBody"] = {"required": True, "content": {JSON: {"schema": each.given.schema}}}
    elif each.given.schema["properties"]:
        described["parameters"] = list(_parameters(each))
    return described


def _parameters(each: Operation) -> Iterable[dict[str, Any]]:
    in_path = re.findall(r"\{(\w+)\}", each.path)
    for name, schema in each.given.schema["properties"].items():
        where = "path" if name in in_path else "query"
        required = name in each.given.schema["required"]
        yield {"name": name, "in": where, "required": required, "schema": schema}


def _responses(answer: dict[str, Schema], codes: Iterable[int], **special: int) -> dict[str, Any]:
    """The answer by media type, and the errors; ``special`` gives another model than `Error` to a status."""
    names = dict.fromkeys(codes, "Error") | {code: name for name, code in special.items() if code}
    errors = {
        str(code): _response(
            f"{HTTPStatus(code).phrase}.", {JSON: {"$ref": f"#/components/schemas/{names[code]}"}}
        )
        for code in sorted(names)
    }
    return {"200": _response("The answer.", answer), **errors}


def _response(description: str, kinds: dict[str, Schema]) -> dict[str, Any]:
    content = {kind: {"schema": schema} for kind, schema in kinds.items()}
    return {"description": description, "content": content}
