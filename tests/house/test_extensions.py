"""Packages that add to Commonplace: the example does, and one that is wrong costs only itself."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import pytest

from rag_core.errors import EmbedderError, ExtractError, InvalidInput, VectorError
from rag_core.extract import extract, file_type
from rag_core.extract.chunk import chunk_spec, cut
from rag_core.library import Library
from rag_core.models import EmbedderOptions, open_embedder
from rag_core.types import OWNER, Filters
from rag_core.vectors.backends import address_of, kinds, open_remote
from tests.conftest import index
from tests.docs.doc_pages import ROOT, fences
from tests.support.configured import settings
from tests.support.consistency import check_library
from tests.support.installed_packages import EXAMPLE, Install

SCRIPT = """Title: The Heron
Author: Nobody

INT. BOAT HOUSE - NIGHT

A heron waits beside the lamp, which nobody has lit for years.

EXT. RIVER - DAY

The boat drifts past the reeds and under the wooden bridge.
"""
EXTRACTORS, CHUNKERS, EMBEDDERS, INDEXES = "extractors", "chunkers", "embedders", "vector_indexes"
Extend = Callable[[Path], None]


def sentences(library: Library, state: str) -> list[str]:
    """What ``doctor`` says of packages."""
    return [
        step.sentence
        for step in library.upkeep.doctor(OWNER)
        if step.state == state and step.sentence.startswith("The package")
    ]


# --- the example ------------------------------------------------------------------------


def test_the_page_about_extending_shows_or_links_the_package_that_is_tested() -> None:
    page = ROOT / "docs" / "extending.md"
    linked = page.read_text("utf-8")
    shown = [
        "\n".join(line for _, line in fence.lines)
        for fence in fences(page)
        if fence.language in ("python", "toml")
    ]
    files = [EXAMPLE / "pyproject.toml", *sorted((EXAMPLE / "commonplace_example").glob("*.py"))]
    assert [
        file.name
        for file in files
        if file.read_text("utf-8").strip() not in shown and f"/{file.name})" not in linked
        if file.stem != "__init__"
    ] == []


def test_nothing_is_imported_before_it_is_asked_for(example_folder: Path) -> None:
    code = (
        "import sys; from pathlib import PurePosixPath as P; import rag_core.library, rag_core.extract as x\n"
        "from rag_core.vectors.backends import backend_of\n"
        "found = [x.file_type(P('a.fountain')), x.file_type(P('a.md'))]\n"
        "print(found, [name for name in sys.modules if name.startswith('commonplace_example')])"
    )
    path = f"import sys; sys.path[:0] = [{str(example_folder)!r}, {str(ROOT)!r}]\n"
    done = subprocess.run(
        [sys.executable, "-c", path + code], capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.strip() == "['screenplay', 'markdown'] []"


def test_doctor_lists_what_packages_add(example_package: None, library: Library) -> None:
    who = "The package 'commonplace-example' 0.1.0"
    assert sentences(library, "ok") == [
        f"{who} reads files that end in '.fountain' as screenplay (commonplace.extractors).",
        f"{who} adds the chunker 'stanzas' (commonplace.chunkers).",
        f"{who} adds the embedders 'example:…' (commonplace.embedders).",
        f"{who} adds the vector index 'shelf' (commonplace.vector_indexes).",
    ]
    assert sentences(library, "no") == []


def test_files_of_a_claimed_suffix_are_read_by_the_package_and_found(
    example_package: None, library: Library, notes: Path
) -> None:
    (notes / "heron.fountain").write_text(SCRIPT, "utf-8")
    job = index(library, "s", notes)
    assert (job.state, job.message) == ("done", "")
    [document] = library.documents.all(OWNER, "s")
    assert (document.file_type, document.title) == ("screenplay", "The Heron")
    hit = library.search(OWNER, "reeds", ["s"]).hits[0]
    assert (hit.anchor_type, hit.anchor_ref) == ("scene", "EXT. RIVER - DAY")
    assert library.search(OWNER, "heron type:screenplay").hits
    assert library.search(OWNER, "heron type:fountain").hits, "a suffix names its type"
    assert not library.search(OWNER, "heron", filters=Filters(types=("markdown",))).hits
    check_library(library, "s")


def test_a_store_can_have_an_embedder_and_a_vector_index_of_packages(
    example_package: None, library: Library, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXAMPLE_SHELF", str(tmp_path / "shelf"))
    (notes / "heron.md").write_text("# Heron\n\nIt waits.", "utf-8")
    assert "shelf" in library.placement.backends(OWNER)
    assert library.placement.backends(OWNER)["shelf"] == "stays on this machine"
    library.create_store(OWNER, "s", "example:letters", backend="shelf")
    job = index(library, "s", notes)
    assert (job.state, job.message, job.texts_embedded) == ("done", "", 1)
    assert (tmp_path / "shelf" / "s.db").is_file()
    answer = library.search(OWNER, "herons", ["s"], mode="vector")
    assert (answer.notices, [hit.document.path for hit in answer.hits]) == ((), ["heron.md"])


# --- chunkers ---------------------------------------------------------------------------

POEM = "# Heron\n\nIt waits\nby the lamp.\n\n## Boat\n\nIt drifts\npast the reeds.\n"
STANZAS = "embedder: hashing\nchunking:\n  markdown: {chunk_size: 1000, chunker: stanzas}\n"


@pytest.fixture
def with_stanzas(home: Path) -> Iterator[Library]:
    """A library whose config.yaml gives Markdown the example's chunker."""
    opened = Library.open(settings(home, STANZAS))
    yield opened
    opened.close()


def test_a_chunker_of_a_package_cuts_the_files_of_a_type(
    example_package: None, with_stanzas: Library, notes: Path
) -> None:
    library = with_stanzas
    (notes / "poem.md").write_text(POEM, "utf-8")
    (notes / "poem.txt").write_text(POEM, "utf-8")
    index(library, "s", notes)
    chunks = library.documents.get(OWNER, "s", "poem.md").chunks
    assert [(chunk.content, chunk.heading_path) for chunk in chunks] == [
        ("# Heron", ("Heron",)),
        ("It waits\nby the lamp.", ("Heron",)),
        ("## Boat", ("Heron", "Boat")),
        ("It drifts\npast the reeds.", ("Heron", "Boat")),
    ]
    assert len(library.documents.get(OWNER, "s", "poem.txt").chunks) == 1, "other types are cut as before"
    check_library(library, "s")


def test_a_chunker_that_no_package_brings_is_refused_before_a_store_is_made(with_stanzas: Library) -> None:
    with pytest.raises(InvalidInput, match="There is no chunker called 'stanzas'"):
        with_stanzas.create_store(OWNER, "s")


@pytest.mark.parametrize(
    ("gives", "wrong"),
    [
        ("[Segment(0, 99)]", "gave Segment(start=0, end=99"),
        ("[Segment(4, 6), Segment(0, 2)]", "gave Segment(start=0, end=2"),
        ("['words']", "gave 'words'"),
        ("1 / 0", "failed in cutting this file (ZeroDivisionError)"),
    ],
)
def test_what_a_chunker_does_wrong_fails_the_file_and_names_the_package(
    install: Install, gives: str, wrong: str
) -> None:
    source = f"from rag_core.types import Segment\nAPI_VERSION = 1\ndef cut(document, *_): return {gives}\n"
    install("odd", "1", {CHUNKERS: {"odd": "made_up_odd:cut"}}, source)
    spec = chunk_spec(256, by_type={"text": (100, 0, "odd")})
    with pytest.raises(ExtractError) as caught:
        cut(extract(b"A heron waits.", PurePosixPath("a.txt")), spec, None)
    assert f"The package 'odd' 1, which adds 'odd' to commonplace.chunkers, {wrong}" in caught.value.message


# --- names ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("group", "name", "why"),
    [
        (EXTRACTORS, "screenplay.md", "cannot be used: '.md' is built in"),
        (EXTRACTORS, "markdown.foo", "cannot be used: 'markdown' is built in"),
        (EXTRACTORS, "foo", "cannot be used: the name that it adds must be TYPE.SUFFIX"),
        (EXTRACTORS, "Foo.BAR", "cannot be used: the name that it adds must be TYPE.SUFFIX"),
        (EMBEDDERS, "ollama", "cannot be used: 'ollama' is built in"),
        (EMBEDDERS, "my embedder", "cannot be used: the name that it adds must be up to 40 small letters"),
        (INDEXES, "qdrant", "cannot be used: 'qdrant' is built in"),
        (INDEXES, "local", "cannot be used: 'local' is built in"),
    ],
)
def test_a_name_that_is_built_in_or_malformed_is_refused(
    install: Install, library: Library, group: str, name: str, why: str
) -> None:
    install("a-package", "1.2", {group: {name: "nowhere:nothing"}})
    [said] = sentences(library, "no")
    assert said.startswith(f"The package 'a-package' 1.2, which adds {name!r} to commonplace.{group}, {why}")
    assert file_type(PurePosixPath("a.md")) == "markdown"


def test_two_packages_with_one_name_are_both_refused_and_named(install: Install, library: Library) -> None:
    twins = {CHUNKERS: {"twin": "x"}, EMBEDDERS: {"twin": "x"}, INDEXES: {"twin": "x"}}
    install("one", "1", {EXTRACTORS: {"a.foo": "x"}, **twins})
    install("two", "2", {EXTRACTORS: {"b.foo": "x"}, **twins})
    both = "The packages 'one' 1 and 'two' 2 both add"
    assert [said.startswith(both) for said in sentences(library, "no")] == [True] * 4
    with pytest.raises(ExtractError, match=both):
        extract(b"words", PurePosixPath("x.foo"))
    with pytest.raises(EmbedderError, match=both):
        open_embedder("twin:model", EmbedderOptions())
    with pytest.raises(VectorError, match=both):
        open_remote("twin://there", 8, "cosine", {})


# --- packages that are broken -----------------------------------------------------------

EVERYTHING = {
    EXTRACTORS: {"foo.foo": "made_up_broken:read"},
    EMBEDDERS: {"broken": "made_up_broken:open"},
    INDEXES: {"broken": "made_up_broken:BACKEND"},
}


@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        ("import nothing_of_the_kind", "cannot be loaded: ModuleNotFoundError: No module named 'nothing_of"),
        ("raise SystemExit(3)", "cannot be loaded: SystemExit: 3"),
        ("", "cannot be loaded: AttributeError: module 'made_up_broken' has no attribute"),
        ("read = open = BACKEND = print", "has no API_VERSION; Commonplace needs 1"),
        ("API_VERSION = 2; read = open = BACKEND = print", "has API_VERSION 2, but Commonplace needs 1"),
    ],
)
def test_a_package_that_cannot_be_used_costs_only_its_own_names(
    install: Install, library: Library, notes: Path, source: str, wrong: str
) -> None:
    install("broken", "1", EVERYTHING, source)
    for name in ("a.foo", "b.md"):
        (notes / name).write_text("A heron waits.", "utf-8")
    job = index(library, "s", notes)
    results = {result.source_file: result for result in library.jobs.get(OWNER, "s", job.id).results}
    assert results["b.md"].outcome == "added"
    assert results["a.foo"].outcome == "failed"
    who = "The package 'broken' 1, which adds 'foo.foo' to commonplace.extractors, "
    assert results["a.foo"].message.startswith(who + wrong)
    with pytest.raises(EmbedderError, match=r"'broken' to commonplace.embedders, (has|cannot be loaded)"):
        open_embedder("broken:x", EmbedderOptions())
    with pytest.raises(VectorError, match=r"'broken' to commonplace.vector_indexes, (has|cannot be loaded)"):
        address_of("broken", "s", {})
    assert "broken" not in kinds()
    assert len(sentences(library, "no")) == 3


def test_a_search_goes_on_by_words_when_the_package_of_its_embedder_is_gone(
    library: Library, notes: Path, example_folder: Path, extended: Extend, monkeypatch: pytest.MonkeyPatch
) -> None:
    extended(example_folder)
    (notes / "heron.md").write_text("# Heron\n\nIt waits.", "utf-8")
    library.create_store(OWNER, "s", "example:letters")
    index(library, "s", notes)
    sys.path.remove(str(example_folder))
    extended(notes)
    again = Library.open(library.settings)
    answer = again.search(OWNER, "heron", ["s"])
    assert [hit.document.path for hit in answer.hits] == ["heron.md"]
    assert "There is no embedder called 'example:letters'" in answer.notices[0].message
    again.close()


# --- embedders --------------------------------------------------------------------------

EMBEDDER = """
import numpy as np
from rag_core.types import EmbedderIdentity

API_VERSION = 1

class E:
    identity = EmbedderIdentity("odd", "m", "d", 8, "none")
    max_tokens = 100
    server = "https://example.org"
    def count_tokens(self, text): return len(text.split())
    def reads(self, text): return True
    def embed_documents(self, texts): return np.ones((len(texts), 8))
    def embed_query(self, text): return np.ones(8)

def open(model, options):
    e = E()
    {change}
    return e
"""


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ("e.server = None", "does not say where texts go"),
        ("del E.server", "does not say where texts go"),
        ("e.identity = 'me'", "does not say what its vectors depend on"),
        (
            "e.identity = EmbedderIdentity('minilm', 'm', 'd', 8, 'none')",
            "does not say what its vectors depend on",
        ),
        ("raise ZeroDivisionError", "failed in opening it (ZeroDivisionError)"),
    ],
)
def test_an_embedder_that_does_not_say_what_it_must_is_not_opened(
    install: Install, change: str, wrong: str
) -> None:
    install("odd", "1", {EMBEDDERS: {"odd": "made_up_odd:open"}}, EMBEDDER.replace("{change}", change))
    with pytest.raises(EmbedderError) as caught:
        open_embedder("odd:m", EmbedderOptions())
    assert wrong in caught.value.message


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (
            "e.embed_documents = lambda texts: np.ones((1, 8))",
            "vectors of the shape (1, 8) instead of (2, 8)",
        ),
        (
            "e.embed_documents = lambda texts: np.ones((2, 4))",
            "vectors of the shape (2, 4) instead of (2, 8)",
        ),
        ("e.embed_documents = lambda texts: np.full((2, 8), np.nan)", "gives no numbers for a text"),
        ("e.embed_documents = lambda texts: np.zeros((2, 8))", "gives no numbers for a text"),
        ("e.embed_documents = lambda texts: texts", "failed in embedding (ValueError)"),
        ("e.embed_documents = lambda texts: 1 / 0", "failed in embedding (ZeroDivisionError)"),
    ],
)
def test_vectors_that_would_spoil_a_store_are_refused(install: Install, change: str, wrong: str) -> None:
    install("odd", "1", {EMBEDDERS: {"odd": "made_up_odd:open"}}, EMBEDDER.replace("{change}", change))
    embedder = open_embedder("odd:m", EmbedderOptions())
    with pytest.raises(EmbedderError) as caught:
        embedder.embed_documents(["one", "two"])
    assert wrong in caught.value.message


def test_private_notes_stay_here_when_a_package_says_that_its_texts_leave(
    install: Install, library: Library, notes: Path
) -> None:
    source = EMBEDDER.replace("{change}", "pass")
    install("odd", "1", {EMBEDDERS: {"odd": "made_up_odd:open"}}, source)
    (notes / "mine.md").write_text("---\nprivate: true\n---\nA diary.", "utf-8")
    (notes / "theirs.md").write_text("A heron.", "utf-8")
    library.create_store(OWNER, "s", "odd:m")
    job = index(library, "s", notes)
    assert job.texts_embedded == 1
    assert "Not sent to example.org: 1 private text." in job.message
    assert any(each.goes == "goes to example.org" for each in library.models.connections(OWNER))


# --- vector indexes ---------------------------------------------------------------------

BACKEND = """
from rag_core.vectors import Match, Receipt

API_VERSION = 1

class Index:
    server = ""
    def prepare(self, owner, *, take_over=False): pass
    def owner(self): return ""
    def drop(self, owner): pass
    def put(self, records, settled=None): return Receipt()
    def delete(self, keys, settled=None): return Receipt()
    def search(self, query, k, filters=None): return {search}
    def keys(self): raise KeyError("a secret")
    def records(self): return iter(())

class B:
    server = {server}
    def address(self, store, variant): return {address}
    def open(self, address, dimension, metric): return Index()
    existing = open

BACKEND = B()
"""


def backend(install: Install, server: str = "''", address: str = "'odd://here'", search: str = "[]") -> None:
    source = BACKEND.replace("{server}", server).replace("{address}", address).replace("{search}", search)
    install("odd", "1", {INDEXES: {"odd": "made_up_odd:BACKEND"}}, source)


def test_a_backend_that_does_not_say_where_texts_go_is_not_used(install: Install) -> None:
    backend(install, server="'somewhere'")
    assert "odd" not in kinds()
    with pytest.raises(VectorError, match="does not say where texts go"):
        open_remote("odd://here", 8, "cosine", {})


@pytest.mark.parametrize("search", ["[('key', float('nan'))]", "[('key',)]", "1 / 0", "None"])
def test_whatever_goes_wrong_in_an_index_is_one_error_without_what_it_holds(
    install: Install, search: str
) -> None:
    backend(install, search=search)
    remote = open_remote("odd://here", 8, "cosine", {})
    with pytest.raises(VectorError, match="The package 'odd' 1"):
        remote.search(None, 3)  # type: ignore[arg-type]
    with pytest.raises(VectorError, match=r"failed in keys \(KeyError\)\.") as caught:
        list(remote.keys())
    assert "secret" not in str(caught.value)
