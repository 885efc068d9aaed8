"""Qdrant's REST interface, as far as it is used, in front of the package's own engine in memory.

What it finds is found by comparing every vector; its errors look as a server's do.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from qdrant_client import QdrantClient, models

from tests.support.standin import Asked, Refusal, StandIn


@dataclass
class QdrantServer(StandIn):
    """``key`` is what it wants to see; ``indexes`` the payload indexes that were made, by collection."""

    key: str = ""
    indexes: dict[str, dict[str, Any]] = field(default_factory=lambda: defaultdict(dict))
    engine: QdrantClient = field(default_factory=lambda: QdrantClient(":memory:"))

    def answer(self, asked: Asked) -> Any:
        if self.key and asked.headers.get("api-key") != self.key:
            raise Refusal(401, "Must provide an API key or an Authorization bearer token")
        _, name, *rest = [*asked.path.strip("/").split("/"), ""]
        with self.lock:
            if not name:
                return {"result": _plain(self.engine.get_collections()), "status": "ok", "time": 0.0}
            try:
                found = self._do(asked.method, name, "/".join(rest).strip("/"), asked.body)
            except ValueError as error:
                if not self.engine.collection_exists(name):
                    raise _refusal(404, f"Not found: Collection `{name}` doesn't exist!") from None
                raise _refusal(400, f"Wrong input: {error}") from None
        return {"result": found, "status": "ok", "time": 0.0}

    def _do(self, method: str, name: str, what: str, body: Any) -> Any:
        match method, what:
            case "GET", "exists":
                return {"exists": self.engine.collection_exists(name)}
            case "GET", "":
                return {**_plain(self.engine.get_collection(name)), "payload_schema": self.indexes[name]}
            case "PUT", "":
                if self.engine.collection_exists(name):
                    raise ValueError(f"Collection `{name}` already exists!")
                return self.engine.create_collection(name, models.VectorParams(**body["vectors"]))
            case "DELETE", "":
                self.indexes.pop(name, None)
                return self.engine.delete_collection(name)
            case "PUT", "index":
                kind = body["field_schema"]
                data_type = kind["type"] if isinstance(kind, dict) else kind
                self.indexes[name][body["field_name"]] = {"data_type": data_type, "points": 0}
                return {"operation_id": 0, "status": "completed"}
            case "PUT", "points":
                return self._upsert(name, body)
            case "POST", _:
                return self._ask(name, what.removeprefix("points").strip("/"), body)
        raise AssertionError(f"{method} {name}/{what}")

    def _upsert(self, name: str, body: Any) -> Any:
        points = [models.PointStruct(**point) for point in body["points"]]
        for point in points:
            numbers: Any = point.vector
            if not all(math.isfinite(number) for number in numbers):
                raise ValueError("not a number")
        only = models.Filter(**body["update_filter"]) if body.get("update_filter") else None
        return _plain(self.engine.upsert(name, points, update_filter=only))

    def _ask(self, name: str, what: str, body: Any) -> Any:
        wanted = models.Filter(**body["filter"]) if body.get("filter") else None
        match what:
            case "":
                found: Any = self.engine.retrieve(name, body["ids"], with_payload=body["with_payload"])
                return [_plain(point) for point in found]
            case "query":
                limit = body["limit"]
                nearest = models.NearestQuery(**body["query"])
                found = self.engine.query_points(name, nearest, query_filter=wanted, limit=limit)
                return {"points": [{"id": p.id, "version": 0, "score": p.score} for p in found.points]}
            case "scroll":
                how = {each: body[each] for each in ("limit", "offset", "with_payload") if each in body}
                page, after = self.engine.scroll(name, wanted, with_vectors=body["with_vector"], **how)
                return {"points": [_plain(point) for point in page], "next_page_offset": after}
            case "facet":
                if body["key"] not in self.indexes[name]:
                    raise ValueError(f'Index required but not found for "{body["key"]}"')
                return _plain(self.engine.facet(name, body["key"], wanted, body["limit"]))
            case "count":
                return {"count": self.engine.count(name, wanted).count}
            case "delete":
                assert wanted is not None
                return _plain(self.engine.delete(name, models.FilterSelector(filter=wanted)))
        raise AssertionError(what)


def _refusal(status: int, said: str) -> Refusal:
    return Refusal(status, {"status": {"error": said}, "time": 0.0})


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json", exclude_none=True)
