"""What a portable file says about itself, as JSON:

    format           the number of this layout
    program          the version of Commonplace that wrote it
    schema           the number of the store's schema, see `rag_core.store.migrations`
    exported_at      ISO 8601, UTC
    store            name, created_at, embedder, identity, dimension, metric, backend, and how many
                     files, passages, pending, failed, skipped
    members          {"store.db": {"size", "sha256"}}

Only ``format``, ``schema``, the name and ``members`` decide anything; the rest is for people.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from rag_core import __version__
from rag_core.types import StoreInfo

FORMAT = 1
MANIFEST = "manifest.json"
STORE = "store.db"


class Unfit(Exception):
    """What a file holds and a portable file does not, as the end of a sentence."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The part of a manifest that an import goes by. ``size`` and ``sha256`` are of ``store.db``."""

    format: int
    program: str
    schema: int
    name: str
    size: int
    sha256: str


def written(info: StoreInfo, *, schema: int, exported_at: str, size: int, sha256: str) -> bytes:
    """The manifest of a copy that ``info`` describes."""
    value = {
        "format": FORMAT,
        "program": __version__,
        "schema": schema,
        "exported_at": exported_at,
        "store": {
            "name": info.name,
            "created_at": info.created_at,
            "embedder": info.embedder,
            "identity": info.identity,
            "dimension": info.dimension,
            "metric": info.distance_metric,
            "backend": info.backend,
            "files": info.file_count,
            "passages": info.chunk_count,
            "pending": info.pending,
            "failed": info.failed,
            "skipped": info.skipped,
        },
        "members": {STORE: {"size": size, "sha256": sha256}},
    }
    return json.dumps(value, ensure_ascii=False, indent=2).encode()


def parsed(data: bytes) -> Manifest:
    """The manifest in ``data``, which may hold anything. Raises Unfit."""
    try:
        value = json.loads(data)
    except RecursionError:
        raise Unfit("its manifest is nested too deeply") from None
    except ValueError:
        raise Unfit("its manifest is no JSON") from None
    number = _found(value, int, "format")
    if number > FORMAT:  # whatever else it holds is not for this program to read
        return Manifest(number, _text(value, "program"), 0, "", 0, "")
    member = _found(value, dict, "members", STORE)
    return Manifest(
        number,
        _text(value, "program"),
        _found(value, int, "schema"),
        _found(value, str, "store", "name"),
        _found(member, int, "size"),
        _found(member, str, "sha256"),
    )


def _found(value: Any, kind: type, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    fits = isinstance(value, kind) and not isinstance(value, bool)
    if not fits or (isinstance(value, int) and value < 0):
        raise Unfit(f"its manifest does not say {'.'.join(keys)!r}")
    return value


def _text(value: dict[str, Any], key: str) -> str:
    """A text that is only shown, cut to what a version takes."""
    return str(value.get(key, ""))[:20]
