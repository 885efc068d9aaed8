"""The packages that talk to Qdrant and Chroma: imported when needed, and told when they are missing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rag_core.errors import VectorError
from rag_core.installation import install_line
from rag_core.vectors import RemoteIndex
from rag_core.vectors.chroma import Chroma, ChromaOptions
from rag_core.vectors.qdrant import Qdrant, QdrantOptions
from tests.support.standin import nobody
from tests.vectors.vector_bench import vectors


@pytest.mark.parametrize("on_server", [True, False])
@pytest.mark.parametrize(("package", "extra"), [("qdrant_client", "qdrant"), ("chromadb", "chroma")])
def test_a_missing_package_is_told_with_the_line_that_installs_it(
    package: str, extra: str, on_server: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    index = _index(extra, nobody() if on_server else "", tmp_path / "x")
    for act in (lambda: index.prepare("me"), lambda: index.search(vectors(1, 16)[0], 5), index.owner):
        with pytest.raises(VectorError) as caught:
            act()
        assert caught.value.suggestion == f"Run {install_line(extra)}."


def _index(extra: str, url: str, folder: Path) -> RemoteIndex:
    if extra == "chroma":
        there = ChromaOptions(url=url, path=folder)
        return Chroma(Chroma.address_of("notes", "", there), 16, "cosine", there)
    here = QdrantOptions(url=url, path=folder)
    return Qdrant(Qdrant.address_of("notes", "", here), 16, "cosine", here)


def test_the_packages_are_imported_when_they_are_needed() -> None:
    script = (
        "import json, sys\n"
        "import rag_core, rag_core.library, rag_core.vectors.qdrant, rag_core.vectors.chroma\n"
        "print(json.dumps([name for name in ('qdrant_client', 'chromadb', 'grpc') if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, encoding="utf-8", timeout=60)
    assert json.loads(done.stdout) == []
