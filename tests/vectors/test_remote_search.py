"""The bar of a remote index: among 5,000 vectors a search finds the very hits that it finds in the store's
own file, with every filter; and it shows nothing that the index should not know any more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rag_core.config import Settings
from rag_core.index import outbox
from rag_core.library import Library
from rag_core.library.store_files import Opened, StoreFiles
from rag_core.models.hashing import Hashing
from rag_core.store import embeddings
from rag_core.store import outbox as rows
from rag_core.types import OWNER, Filters, Mode, Viewer
from rag_core.vectors import VectorIndex
from tests.vectors.s3vectors import Server
from tests.vectors.s3vectors.http import REGION
from tests.vectors.vector_bench import FILTERS, _insert, vault
from tests.vectors.vector_fixtures import CREDENTIALS

pytestmark = pytest.mark.thorough

COUNT = 5000
DIMENSION = 64
GUEST = Viewer("guest@example.org", stores=frozenset({"vault"}))
QUERY = "Text of Projektarbeit"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A store of 5,000 passages, every 50th of them private, whose vectors are at a stand-in, too."""
    folder = tmp_path_factory.mktemp("remote")
    with pytest.MonkeyPatch.context() as patched, Server() as server:
        for name, value in CREDENTIALS.items():
            patched.setenv(name, value)
        settings = Settings(folder, folder, (folder,), s3_region=REGION, s3_endpoint_url=server.url)
        library = Library(settings)
        library.create_store(OWNER, "vault", f"hashing:{DIMENSION}", backend="s3vectors")
        fill(library, folder)
        yield library
        library.close()


def fill(library: Library, folder: Path) -> None:
    (folder / "notes").mkdir()
    library.add_source(OWNER, "vault", folder / "notes", ("**/*",))
    store = library._shared.stores.open(OWNER, "vault").store
    embedder = Hashing(DIMENSION)
    with store.write() as db:
        canary = embedder.embed_documents([embeddings.CANARY_TEXT])[0]
        embeddings.set_identity(db, embedder.identity, canary)
        for number, note in enumerate(vault(COUNT, DIMENSION)):
            _insert(db, replace(note, private=number % 50 == 0))
        db.execute("INSERT INTO words (words) VALUES ('rebuild')")
    index = library._shared.stores.target(store)
    assert index is not None
    assert outbox.flush(store, index, private=True)[0] == COUNT


def found(library: Library, viewer: Viewer, name: str, mode: Mode) -> dict[str, float]:
    answer = library.search(viewer, QUERY, ["vault"], mode=mode, top_k=20, filters=FILTERS.get(name))
    return {hit.key: hit.score for hit in answer.hits}


@pytest.mark.parametrize("name", ["", *FILTERS])
def test_a_search_finds_there_what_it_finds_here(
    library: Library, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(
        "rag_core.search.gather._FEW", 0
    )  # or what is left by a filter is compared without the index
    for viewer, mode in ((OWNER, "vector"), (GUEST, "hybrid")):
        there = found(library, viewer, name, mode)  # type: ignore[arg-type]
        with monkeypatch.context() as patched:
            patched.setattr(StoreFiles, "index", own_file)
            here = found(library, viewer, name, mode)  # type: ignore[arg-type]
        assert [*there] == [*here]
        assert there == pytest.approx(here, abs=1e-5)
        assert bool(there) == (name not in ("nothing fits", "folder that is the start of another"))


def test_a_filter_beside_a_typed_one_narrows_it_there_too(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_core.search.gather._FEW", 0)

    def paths(typed: str, folder: str) -> list[str]:
        query, filters = f"{QUERY} path:{typed}", Filters(paths=(folder,))
        answer = library.search(OWNER, query, ["vault"], mode="vector", top_k=20, filters=filters)
        return [hit.document.path for hit in answer.hits]

    deep = paths("projects", "projects/deep one")
    assert len(deep) == 20
    assert all(path.casefold().startswith("projects/deep one/") for path in deep)
    assert deep == paths('"projects/deep one"', "projects")
    assert paths("projects", "archive") == []


def own_file(_: StoreFiles, opened: Opened) -> VectorIndex:
    return opened.local


def test_what_is_gone_here_is_not_found_though_the_index_has_it_still(library: Library) -> None:
    store = library._shared.stores.open(OWNER, "vault").store
    best = [*found(library, OWNER, "", "vector")]
    with store.write() as db:
        db.executemany("DELETE FROM chunks WHERE key = ?", [(key,) for key in best[:15]])
    left = [*found(library, OWNER, "", "vector")]
    assert len(left) == 20
    assert left[:5] == best[15:]
    with store.read() as db:
        assert rows.backlog(db).queued == 15
