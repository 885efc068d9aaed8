"""A store of three notes whose vectors are in a remote index or in its own file, and what tests ask of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag_core.errors import Unreachable
from rag_core.library import Library
from rag_core.models.hashing import Hashing
from rag_core.types import OWNER, Answer, Vectors, Viewer
from tests.conftest import index
from tests.support.stored import store_of
from tests.vectors.s3vectors import Faults, Server
from tests.vectors.s3vectors.http import REGION

GUEST = Viewer("guest@example.org", stores=frozenset({"zoo"}))
ANIMALS = ("otter", "badger", "stoat")


@pytest.fixture
def remote_library(library: Library, amazon: Server, tmp_path: Path) -> Iterator[Library]:
    """A library whose new stores keep their vectors at the stand-in."""
    at = library.settings.model_copy(
        update={"backend": "s3vectors", "s3_region": REGION, "s3_endpoint_url": amazon.url}
    )
    opened = Library(at)
    options = opened._shared.vector_options
    options["s3vectors"] = replace(options["s3vectors"], attempts=2, backoff=0.01)
    yield opened
    opened.close()


@pytest.fixture
def remote_zoo(remote_library: Library, notes: Path) -> Library:
    """A store of three notes whose vectors have been sent."""
    for name in ANIMALS:
        (notes / f"{name}.md").write_text(f"The {name} swam.\n", "utf-8")
    index(remote_library, "zoo", notes)
    return remote_library


@pytest.fixture
def local_zoo(library: Library, notes: Path) -> Library:
    """A local store of three notes."""
    for name in ANIMALS:
        (notes / f"{name}.md").write_text(f"The {name} swam.\n", "utf-8")
    index(library, "zoo", notes)
    return library


def cut_off(amazon: Server) -> None:
    amazon.faults = Faults(1.0, 1, ("503",))


def keys_there(library: Library, store: str = "zoo") -> set[str]:
    opened = store_of(library, store)
    try:
        target = library._shared.stores.target(opened)
        return set(target.keys()) if target else set()
    finally:
        opened.close()


def keys_here(library: Library, store: str = "zoo") -> set[str]:
    opened = store_of(library, store)
    try:
        with opened.read() as db:
            return {row[0] for row in db.execute("SELECT key FROM chunks")}
    finally:
        opened.close()


def meant(library: Library, text: str, store: str = "zoo") -> Answer:
    return library.search(OWNER, text, [store], mode="vector", top_k=3)


def calls(amazon: Server, operation: str) -> int:
    return sum(seen.operation == operation for seen in amazon.seen)


@contextmanager
def embedder_away(after: int = 0) -> Iterator[None]:
    """An embedder that gives ``after`` texts their vectors and then no more; it knows the canary always."""
    really = Hashing.embed_documents
    left = after

    def embed(self: Hashing, texts: Sequence[str]) -> Vectors:
        nonlocal left
        if "commonplace" not in texts[0]:
            left -= len(texts)
            if left < 0:
                raise Unreachable("Nobody answers.", "Start the server.")
        return really(self, list(texts))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Hashing, "embed_documents", embed)
        yield


def run(library: Library) -> None:
    library.jobs.request(OWNER, "zoo")
    library.jobs.run(OWNER, "zoo")


def indexes(amazon: Server) -> list[str]:
    found = amazon.service._buckets.items()
    return sorted(f"s3vectors://{bucket}/{name}" for bucket, made in found for name in made.indexes)


def rows(library: Library, sql: str) -> list[tuple[Any, ...]]:
    opened = store_of(library, "zoo")
    try:
        with opened.read() as db:
            return [tuple(row) for row in db.execute(sql)]
    finally:
        opened.close()


def change(library: Library, sql: str) -> None:
    opened = store_of(library, "zoo")
    with opened.write() as db:
        db.execute(sql)
    opened.close()
