"""The table of operations as an OpenAPI 3.1 document."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from http import HTTPStatus
from typing import Any

from pydantic import TypeAdapter

from rag_core import __version__
from rag_core.api.answers import Error, Unanswered
from rag_core.api.http import EVENTS, JSON, PICTURE
from rag_core.api.operations import OPERATIONS, Operation
from rag_core.api.requests import Schema, without_titles

API_PREFIX = "/api/v1"
DOCUMENT = "/openapi.json"
_ALWAYS = (400, 401, 403, 408, 413, 429, 500)


@cache
def document() -> dict[str, Any]:
    """Return the whole OpenAPI document."""
    kinds = {**{operation.name: operation.answer for operation in OPERATIONS}, "": Error | Unanswered}
    answers, parts = TypeAdapter.json_schemas(
        [(name, "serialization", TypeAdapter(kind)) for name, kind in kinds.items()],
        ref_template="#/components/schemas/{model}",
    )
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        answer = without_titles(answers[operation.name, "serialization"])
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, answer)
    itself: dict[str, Any] = {"operationId": "openapi", "summary": "This document."}
    paths[DOCUMENT] = {"get": {**itself, "responses": _responses({JSON: {"type": "object"}}, _ALWAYS)}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Commonplace",
            "version": __version__,
            "description": "Find your own passages. Open on the computer that it runs on, or with a token.",
        },
        "servers": [{"url": API_PREFIX}],
        "paths": paths,
        "components": {
            "schemas": without_titles(parts["$defs"]),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(operation: Operation, answer: Schema) -> dict[str, Any]:
    described: dict[str, Any] = {"operationId": operation.name, "summary": operation.summary}
    codes, kinds = {*_ALWAYS, *operation.refusals}, {PICTURE if operation.answer is bytes else JSON: answer}
    if operation.act is None:
        kinds[EVENTS] = {"type": "string"}
    if operation.method == "POST":
        codes.add(415)
        described["requestBody"] = {"required": True, "content": {JSON: {"schema": operation.given.schema}}}
    elif fields := operation.given.schema["properties"]:
        described["parameters"] = [
            {
                "name": name,
                "in": "path" if f"{{{name}}}" in operation.path else "query",
                "required": name in operation.given.schema["required"],
                "schema": schema,
            }
            for name, schema in fields.items()
        ]
    return {**described, "responses": _responses(kinds, codes, asks=operation.act is None)}


def _responses(answer: dict[str, Schema], codes: Iterable[int], *, asks: bool = False) -> dict[str, Any]:
    """Return the responses of an operation: ``answer`` (media type → schema), and one response for each error
    code. With ``asks``, error 502 also has the passages."""
    content: dict[str, Any] = {kind: {"schema": schema} for kind, schema in answer.items()}
    responses = {"200": {"description": "The answer.", "content": content}}
    for code in sorted(codes):
        model = "Unanswered" if asks and code == 502 else "Error"
        error = {JSON: {"schema": {"$ref": f"#/components/schemas/{model}"}}}
        responses[str(code)] = {"description": f"{HTTPStatus(code).phrase}.", "content": error}
    return responses
