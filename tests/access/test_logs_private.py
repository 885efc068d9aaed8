"""No log and no error ever holds a key, a credential, or the text of a note or query: whatever servers say,
at whatever level, with the loggers of their libraries turned up."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from rag_core.config import Settings, logs
from rag_core.errors import EmbedderError
from rag_core.library import Library
from rag_core.types import OWNER
from tests.conftest import index
from tests.support.ollama_server import OllamaServer
from tests.support.openai_server import OpenAIServer
from tests.support.standin import Refusal, nobody, serving
from tests.vectors.s3vectors import Server
from tests.vectors.s3vectors.http import REGION
from tests.vectors.s3vectors.rules import ServiceError

API_KEY = "sk-sesame-4711"
SECRET = "wJalrSESAME/bPxRfiCY"
TOKEN = "FwoGSESAMEtoken"
NOTE = "The spy hides the parcel below the third bridge."
QUERY = "where is the parcel of the spy"
PRIVATE = ("sesame", "spy", "parcel", "bridge")

Make = Callable[..., Library]


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Logging is the process's: leave it as it was."""
    factory = logging.getLogRecordFactory()
    names = (*logs.OURS, *logs.CHATTY)
    known = [(logger := logging.getLogger(name), logger.level, logger.handlers[:]) for name in names]
    yield
    logging.setLogRecordFactory(factory)
    for logger, level, handlers in known:
        logger.setLevel(level)
        logger.handlers = handlers


@pytest.fixture
def everything(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """All that is logged, by anybody, at debug level."""
    caplog.set_level(logging.DEBUG)
    logs.configure("debug")
    return caplog


@pytest.fixture
def make(home: Path, tmp_path: Path, notes: Path) -> Iterator[Make]:
    """A library with these settings that does not wait between tries, and a note to read."""
    (notes / "secret.md").write_text(f"# Plan\n\n{NOTE}\n", "utf-8")
    made: list[Library] = []

    def make(**settings: Any) -> Library:
        known = {"ollama_url": nobody(), **settings}
        made.append(Library.open(Settings(home / "data", home / "models", (tmp_path,), **known)))
        own = made[-1]
        own._shared.embedders.options = replace(own._shared.embedders.options, retry_s=0)
        own._shared.vector_options = {
            **own._shared.vector_options,
            "s3vectors": replace(own._shared.vector_options["s3vectors"], attempts=2, backoff=0.01),
        }
        return own

    yield make
    for library in made:
        library.close()


def said_of(library: Library, store: str) -> str:
    """Every error, notice and reason that the owner is shown of a store after a run and a search."""
    job = index(library, store)
    answer = library.search(OWNER, QUERY, [store], mode="vector")
    problems = [problem.reason for problem in library.jobs.problems(OWNER, store)]
    checked = [each.sentence for each in library.models.connections(OWNER)]
    steps = [step.sentence for step in library.upkeep.doctor(OWNER)]
    try:
        library.models.try_embedder(OWNER, library.stores.info(OWNER, store).embedder, QUERY)
        tried = ""
    except EmbedderError as error:
        tried = str(error)
    said = [job.message, *(result.message for result in job.results), *answer.warnings]
    return "\n".join([*said, *problems, *checked, *steps, tried])


def assert_nothing_private(text: str) -> None:
    assert text
    assert [word for word in PRIVATE if word in text.lower()] == []


Echo = Callable[[str], Any]


@dataclass
class EchoingOpenAI(OpenAIServer):
    """A server that refuses private texts once it is told to, and repeats them."""

    status: int = 400
    echo: Echo | None = None

    def _embeddings(self, body: dict[str, Any]) -> dict[str, Any]:
        _refuse(self.status, self.echo, body["input"])
        return super()._embeddings(body)


@dataclass
class EchoingOllama(OllamaServer):
    """The same of Ollama."""

    status: int = 400
    echo: Echo | None = None

    def _embed(self, body: dict[str, Any]) -> bytes:
        _refuse(self.status, self.echo, body.get("input") or [])
        return super()._embed(body)


def _refuse(status: int, echo: Echo | None, texts: list[str]) -> None:
    private = next((text for text in texts if "spy" in text.lower()), "")
    if echo and private:
        raise Refusal(status, echo(private))


ECHOES: dict[str, tuple[int, Echo]] = {
    "whole": (400, lambda text: {"error": {"message": f"cannot read the input {text!r}"}}),
    "a piece": (422, lambda text: {"detail": [{"loc": ["input"], "input": f"…{text[5:40]}…"}]}),
    "key and text": (500, lambda text: {"error": f"Bearer {API_KEY} failed on {text}"}),
    "busy": (503, lambda text: {"error": {"message": f"{text} has to wait"}}),
    "key": (401, lambda _: {"error": {"message": f"Incorrect API key provided: {API_KEY}."}}),
}


@pytest.mark.parametrize(("status", "echo"), ECHOES.values(), ids=ECHOES)
def test_a_server_of_openais_protocol_that_repeats_what_it_was_sent(
    make: Make, notes: Path, everything: pytest.LogCaptureFixture, status: int, echo: Echo
) -> None:
    with serving(EchoingOpenAI(key=API_KEY, status=status)) as server:
        library = make(embedding_base_url=server.url, embedding_api_key=API_KEY)
        library.create_store(OWNER, "s", "openai:nomic-embed-text")
        assert index(library, "s", notes).texts_embedded == 1
        assert library.search(OWNER, QUERY, ["s"], mode="vector").hits
        (notes / "more.md").write_text(f"# More\n\n{NOTE} Twice.\n", "utf-8")
        server.echo = echo
        server.fail("/models", Refusal(401, echo(NOTE)))
        assert_nothing_private(said_of(library, "s"))
    assert_nothing_private(everything.text)


@pytest.mark.parametrize("status", [400, 500, 503])
def test_an_ollama_that_repeats_what_it_was_sent(
    make: Make,
    notes: Path,
    everything: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", API_KEY)
    with serving(EchoingOllama(status=status)) as server:
        library = make(ollama_url=server.url)
        library.create_store(OWNER, "s", "ollama")
        assert index(library, "s", notes).texts_embedded == 1
        (notes / "more.md").write_text(f"# More\n\n{NOTE} Twice.\n", "utf-8")
        server.echo = lambda text: {"error": f"no vector for {text}"}
        assert_nothing_private(said_of(library, "s"))
    assert_nothing_private(everything.text)


def test_amazon_that_refuses_in_many_words(
    make: Make, notes: Path, everything: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIASESAME")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", TOKEN)
    with Server() as amazon:
        library = make(backend="s3vectors", s3_region=REGION, s3_endpoint_url=amazon.url)
        index(library, "s", notes)
        assert library.search(OWNER, QUERY, ["s"], mode="vector").hits
        assert amazon.count("PutVectors") == 1
        canonical = f"The Canonical String should have been\n'POST\n/\nx-amz-security-token:{TOKEN}'"

        def refuse(_: Any) -> Any:
            raise ServiceError(
                403, "InvalidSignatureException", f"The signature does not match.\n{canonical}"
            )

        for operation in ("PutVectors", "QueryVectors", "ListVectorBuckets", "GetIndex"):
            monkeypatch.setattr(amazon.service, operation, refuse)
        (notes / "more.md").write_text(f"# More\n\n{NOTE} Twice.\n", "utf-8")
        assert_nothing_private(said_of(library, "s"))
    assert_nothing_private(everything.text)


def test_qdrant_and_chroma_are_asked_without_a_word_in_the_log(
    make: Make, everything: pytest.LogCaptureFixture
) -> None:
    with serving(OpenAIServer()) as there:
        library = make(qdrant_url=there.url, chroma_url=there.url)
        library.models.connections(OWNER)
    assert [record.name for record in everything.records if record.name in logs.CHATTY] == []
