"""A store whose embedder is on a server: made, indexed and searched, with the server there and away."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rag_core.config import Settings
from rag_core.errors import EmbedderError, ModelMissing
from rag_core.library import Library
from rag_core.models import registry
from rag_core.types import OWNER, Viewer
from tests.conftest import index
from tests.support.consistency import check_library
from tests.support.ollama_server import EOF, OllamaServer
from tests.support.openai_server import OpenAIServer
from tests.support.standin import Refusal, nobody
from tests.support.stored import found

pytestmark = pytest.mark.thorough

GEMMA = "embeddinggemma:latest"
Make = Callable[..., Library]


@pytest.fixture
def make(home: Path, tmp_path: Path) -> Iterator[Make]:
    """A library with these settings that does not wait between tries; each call makes another one."""
    made: list[Library] = []

    def make(**settings: object) -> Library:
        given = Settings(home / "data", home / "models", (tmp_path,), **settings)  # type: ignore[arg-type]
        made.append(Library.open(given))
        made[-1]._shared.embedders.options = replace(made[-1]._shared.embedders.options, retry_s=0)
        return made[-1]

    yield make
    for library in made:
        library.close()


@pytest.fixture
def library(make: Make, ollama: OllamaServer) -> Library:
    """A library with an empty store called ``s`` whose embedder is the stand-in's."""
    opened = make(ollama_url=ollama.url)
    opened.create_store(OWNER, "s", "ollama")
    return opened


def write(notes: Path, count: int = 3, text: str = "It tells of subject{}.\n") -> None:
    for number in range(count):
        (notes / f"{number:02}.md").write_text(text.format(number), "utf-8")


def embeds(ollama: OllamaServer) -> int:
    return len(ollama.bodies("/api/embed"))


# --- making a store ---------------------------------------------------------------------


def test_a_store_knows_its_embedder_in_full_and_what_it_reads(library: Library) -> None:
    info = library.stores.info(OWNER, "s")
    assert (info.embedder, info.dimension) == ("ollama:embeddinggemma", 768)
    assert library._shared.stores.open(OWNER, "s").store.spec.max_tokens > 2000


@pytest.mark.parametrize(
    ("embedder", "error"), [("ollama:gone", ModelMissing), ("ollama:x@256", ModelMissing)]
)
def test_no_store_is_made_without_its_model(
    library: Library, embedder: str, error: type[EmbedderError]
) -> None:
    with pytest.raises(error, match="does not have the model"):
        library.create_store(OWNER, "t", embedder)
    assert library.stores.names(OWNER) == ["s"]


# --- indexing and searching ---------------------------------------------------------------


def test_a_missing_model_is_told_before_any_file_is_read_and_words_are_indexed(
    library: Library, ollama: OllamaServer, notes: Path
) -> None:
    write(notes)
    del ollama.models[GEMMA]
    job = index(library, "s", notes)
    assert "Only words are indexed for now." in job.message
    assert "`ollama pull embeddinggemma`" in job.message
    assert embeds(ollama) == 0
    assert found(library, "subject1") == ["01.md"]
    assert library.stores.info(OWNER, "s").pending == 3


def test_a_lost_server_ends_embedding_and_keeps_the_queue(
    library: Library, ollama: OllamaServer, notes: Path
) -> None:
    write(notes, 100)
    embed = ollama._embed

    def once(body: dict[str, object]) -> object:
        if len(ollama.texts) > 30:
            raise Refusal(503, {"error": "gone"})
        return embed(body)

    ollama._embed = once  # type: ignore[method-assign, assignment]
    job = index(library, "s", notes)
    assert job.texts_embedded == 32
    assert "Embedding stopped, and only words are indexed from here on. Ollama at" in job.message
    assert library.stores.info(OWNER, "s").pending == 68
    assert embeds(ollama) < 10, "not every text was tried"
    assert library.jobs.problems(OWNER, "s") == [], "no text is blamed"
    assert found(library, "subject99") == ["99.md"]

    ollama._embed = embed  # type: ignore[method-assign]
    assert index(library, "s").texts_embedded == 68
    check_library(library, "s")


@pytest.mark.parametrize("fault", [Refusal(500, {"error": "out of memory"}), Refusal(400, {"error": EOF})])
def test_a_server_that_fails_whatever_it_is_given_is_not_asked_for_every_text(
    library: Library, ollama: OllamaServer, notes: Path, fault: Refusal
) -> None:
    write(notes, 64)
    embed = ollama._embed

    def failing(body: dict[str, object]) -> object:
        if len(ollama.texts) > 10:
            raise fault
        return embed(body)

    ollama._embed = failing  # type: ignore[method-assign, assignment]
    job = index(library, "s", notes)
    assert job.texts_embedded == 32
    assert "It fails on every text" in job.message
    assert embeds(ollama) < 16
    assert library.jobs.problems(OWNER, "s") == []


def test_while_the_server_is_away_words_find_and_a_notice_says_so(
    library: Library, make: Make, notes: Path
) -> None:
    write(notes)
    index(library, "s", notes)
    away = make(ollama_url=nobody())
    answer = away.search(OWNER, "subject1", ["s"])
    assert answer.hits[0].document.path == "01.md"
    [notice] = answer.notices
    assert notice.message.startswith("Only words are searched in store 's'. Ollama at")
    assert away.stores.info(OWNER, "s").dimension == 768


def test_a_search_does_not_wait_again_for_a_server_that_another_has_waited_for(
    library: Library, ollama: OllamaServer, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(notes)
    index(library, "s", notes)
    monkeypatch.setattr(registry, "_LONG_S", 0.0)
    ollama.fail("/api/embed", *[Refusal(503, {"error": "busy"})] * 9)
    library.search(OWNER, "subject1", ["s"])
    before = embeds(ollama)
    assert library.search(OWNER, "subject2", ["s"]).notices
    assert embeds(ollama) == before
    ollama.faults.clear()
    index(library, "s")
    assert not library.search(OWNER, "subject2", ["s"]).notices, "a run finds out that it is back"


def test_a_model_that_reads_less_than_the_passages_hold_is_told(
    library: Library, make: Make, ollama: OllamaServer, notes: Path
) -> None:
    write(notes)
    job = index(make(ollama_url=ollama.url, embedding_context=512), "s", notes)
    assert "Searches find the rest of these by words only." in job.message
    assert job.texts_embedded == 3


# --- a server that does not tell what model it has ------------------------------------------


def test_another_model_of_the_same_name_is_noticed_by_its_vectors(
    make: Make, openai: OpenAIServer, notes: Path
) -> None:
    write(notes)
    library = make(embedding_base_url=openai.url)
    library.create_store(OWNER, "o", "openai:nomic-embed-text")
    assert index(library, "o", notes).texts_embedded == 3
    assert library.search(OWNER, "subject1", ["o"], mode="vector").notices == ()
    assert library.upkeep.verify(OWNER, "o").sound
    assert library.stores.info(OWNER, "o").identity.startswith("openai:nomic-embed-text@unknown/384/")

    openai.turn = 3
    other = make(embedding_base_url=openai.url)
    [notice] = other.search(OWNER, "subject1", ["o"]).notices
    assert "a different model with the same name, 'nomic-embed-text'" in notice.message
    (notes / "new.md").write_text("It is new.\n", "utf-8")
    assert index(other, "o").texts_embedded == 0


# --- private ------------------------------------------------------------------------------


@pytest.fixture
def afar(ollama: OllamaServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """An address on another machine that leads to the stand-in, which is the proxy to it."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, ollama.url)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    return "http://home.invalid:11434"


def private(notes: Path) -> None:
    write(notes)
    (notes / "diary.md").write_text("---\nprivate: true\n---\nThe sesame is under the stone.\n", "utf-8")
    (notes / "shared.md").write_text("---\nprivate: true\n---\nIt tells of subject1.\n", "utf-8")


def test_private_documents_are_not_sent_to_another_machine(
    make: Make, ollama: OllamaServer, afar: str, notes: Path
) -> None:
    private(notes)
    library = make(ollama_url=afar)
    library.create_store(OWNER, "s", "ollama")
    job = index(library, "s", notes)
    assert job.texts_embedded == 3
    assert "Not sent to home.invalid: 1 private text." in job.message
    assert not any("sesame" in text for text in ollama.texts)
    assert found(library, "sesame") == ["diary.md"]
    [problem] = library.jobs.problems(OWNER, "s")
    assert (problem.kind, problem.files) == ("refused", ("diary.md",))
    assert "private" in problem.reason
    info = library.stores.info(OWNER, "s")
    assert (info.pending, info.withheld) == (0, 1), "nothing is left to do"
    assert library.search(OWNER, "sesame", ["s"]).pending == 0
    assert library.stores.info(Viewer("friend", stores=frozenset({"s"})), "s").withheld == 0

    (notes / "diary.md").write_text("The sesame is under the stone.\n", "utf-8")
    assert index(library, "s").texts_embedded == 1
    assert library.jobs.problems(OWNER, "s") == []


def test_what_was_withheld_is_embedded_once_the_server_is_on_this_machine(
    make: Make, ollama: OllamaServer, afar: str, notes: Path
) -> None:
    private(notes)
    library = make(ollama_url=afar)
    library.create_store(OWNER, "s", "ollama")
    index(library, "s", notes)
    library.close()

    home = make(ollama_url=ollama.url)
    assert index(home, "s").texts_embedded == 1
    assert (home.stores.info(OWNER, "s").withheld, home.jobs.problems(OWNER, "s")) == (0, [])
    check_library(home, "s")


# --- what is written down -----------------------------------------------------------------


def test_a_guest_is_not_told_of_servers(library: Library, make: Make, notes: Path) -> None:
    write(notes)
    index(library, "s", notes)
    away = make(ollama_url=nobody())
    [notice] = away.search(Viewer("guest", stores=frozenset({"s"})), "subject1", ["s"]).notices
    away = "The model that compares meanings is not available just now."
    assert notice.message == f"Only words are searched in store 's'. {away}"
