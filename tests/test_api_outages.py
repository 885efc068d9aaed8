"""REST while a server that searches need is away: words are found, and the answer says what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.types import OWNER, Viewer
from tests.conftest import index
from tests.embedder_servers import OllamaServer
from tests.rest import serving_rest
from tests.standin import nobody
from tests.trees import write

GUEST = Viewer("ann@example.org", stores=frozenset({"port"}))


@pytest.fixture
def cut_off(library: Library, ollama: OllamaServer, notes: Path) -> Library:
    """A store of an embedder whose server nobody answers for any more."""
    write(notes, {"harbour.md": "# Harbour\n\nIt opens at six.\n"})
    with_server = Library.open(library.settings.model_copy(update={"ollama_url": ollama.url}))
    with_server.create_store(OWNER, "port", "ollama:embeddinggemma")
    index(with_server, "port", notes)
    assert not with_server.search(OWNER, "harbour", ["port"]).notices
    with_server.close()
    return Library.open(library.settings.model_copy(update={"ollama_url": nobody()}))


@pytest.mark.parametrize("mode", ["hybrid", "vector"])
@pytest.mark.parametrize(
    ("viewer", "says_where"), [(OWNER, True), (GUEST, False)], ids=["the owner", "a guest"]
)
def test_words_are_found_without_the_embedders_server(
    cut_off: Library, mode: str, viewer: Viewer, says_where: bool
) -> None:
    with serving_rest(cut_off, viewer) as rest:
        found = rest.post("/search", {"query": "harbour", "mode": mode})
    assert found.status == 200
    assert [hit["file_path"] for hit in found.json["results"]] == ["harbour.md"]
    [warning] = found.json["warnings"]
    assert "words" in str(warning)
    assert (cut_off.settings.ollama_url in str(warning)) is says_where
