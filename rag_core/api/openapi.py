"""The table of operations as an OpenAPI 3.1 document."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from http import HTTPStatus
from typing import Any

from rag_core import __version__
from rag_core.api.answers import SCHEMAS
from rag_core.api.operations import OPERATIONS, Operation
from rag_core.api.requests import EVENTS, JSON
from rag_core.api.schema import Schema

PREFIX = "/api/v1"
DOCUMENT = "/openapi.json"
_ALWAYS = (400, 401, 403, 406, 408, 413, 429, 500)
_WITH_A_BODY = (415,)


@cache
def document() -> dict[str, Any]:
    """The whole document."""
    paths: dict[str, dict[str, Any]] = {}
    for each in OPERATIONS:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each)
    paths[DOCUMENT] = {"get": _itself()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Commonplace",
            "version": __version__,
            "description": "Find your own passages. Open on the computer that it runs on, or with a token.",
        },
        "servers": [{"url": PREFIX}],
        "paths": paths,
        "components": {
            "schemas": dict(SCHEMAS),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(each: Operation) -> dict[str, Any]:
    codes = [*_ALWAYS, *each.refusals, *(_WITH_A_BODY if each.method == "POST" else ())]
    content: dict[str, Any] = {JSON: {"schema": _ref(each.answer)}}
    if each.act is None:
        content[EVENTS] = {"schema": {"type": "string"}}
    errors = _errors(codes)
    if each.act is None:
        errors["502"]["content"] = {JSON: {"schema": _ref("Unanswered")}}
    described: dict[str, Any] = {
        "operationId": each.name,
        "summary": each.summary,
        "responses": {"200": {"description": "The answer.", "content": content}, **errors},
    }
    if each.method == "POST":
        described["requestBody"] = {"required": True, "content": {JSON: {"schema": each.given}}}
    elif each.given["properties"]:
        described["parameters"] = list(_parameters(each))
    return described


def _itself() -> dict[str, Any]:
    answer = {"description": "This document.", "content": {JSON: {"schema": {"type": "object"}}}}
    return {
        "operationId": "openapi",
        "summary": "This document.",
        "responses": {"200": answer, **_errors(_ALWAYS)},
    }


def _parameters(each: Operation) -> Iterable[dict[str, Any]]:
    in_path = re.findall(r"\{(\w+)\}", each.path)
    for name, schema in each.given["properties"].items():
        where = "path" if name in in_path else "query"
        yield {"name": name, "in": where, "required": name in each.given["required"], "schema": schema}


def _errors(codes: Iterable[int]) -> dict[str, Any]:
    content = {JSON: {"schema": _ref("Error")}}
    return {
        str(code): {"description": f"{HTTPStatus(code).phrase}.", "content": content}
        for code in sorted(set(codes))
    }


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}
