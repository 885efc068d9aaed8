"""The Ollama embedder and its model: identity, prompts, where its server is, and the package it needs."""

from __future__ import annotations

import pytest

from rag_core.errors import EmbedderError, ModelMissing, Unreachable
from rag_core.models import EmbedderOptions, Prompts, open_embedder
from tests.models.embedder_servers import Open
from tests.support.ollama_server import Model, OllamaServer
from tests.support.standin import Refusal, nobody, serving

# --- the model --------------------------------------------------------------------------


def test_dimension_digest_and_length_are_what_the_server_says(
    ollama: OllamaServer, open_ollama: Open
) -> None:
    ollama.models["my-model:v2"] = Model("bert", dimension=512, context=1024)
    embedder = open_ollama("ollama:my-model:v2")
    assert embedder.identity.dimension == 512
    assert embedder.identity.digest == ollama.models["my-model:v2"].digest
    assert 1000 < embedder.max_tokens < 1024
    assert embedder.server == ollama.url


def test_a_model_that_can_read_more_is_asked_for_no_more_than_passages_need(
    ollama: OllamaServer, open_ollama: Open
) -> None:
    ollama.models["bge-m3:latest"] = Model("bert", dimension=1024, context=8192)
    assert 2000 < open_ollama("ollama:bge-m3").max_tokens < 2048
    assert 4000 < open_ollama("ollama:bge-m3", context=4096).max_tokens < 4096
    ollama.models["all-minilm:latest"] = Model("bert", dimension=384, context=512)
    assert open_ollama("ollama:all-minilm").max_tokens < 256, (
        "it learnt no longer texts, whatever its file says"
    )


def test_a_missing_model_names_the_command_that_gets_it(open_ollama: Open) -> None:
    with pytest.raises(ModelMissing, match="does not have the model 'bge-m3'") as caught:
        open_ollama("ollama:bge-m3")
    assert "`ollama pull bge-m3`" in caught.value.suggestion


def test_a_server_that_is_not_there_is_said_to_be_so(ollama: OllamaServer) -> None:
    url = nobody()
    with pytest.raises(Unreachable, match=f"Ollama at {url} is not running") as caught:
        open_embedder("ollama", EmbedderOptions(ollama_url=url))
    assert "`ollama_url`" in caught.value.suggestion


@pytest.mark.parametrize("answer", [["a list"], "<html>", {"models": 3}])
def test_something_that_is_not_ollama_is_said_to_be_so(
    ollama: OllamaServer, open_ollama: Open, answer: object
) -> None:
    ollama.fail("/api/show", Refusal(200, answer))
    ollama.fail("/api/tags", Refusal(200, answer))
    with pytest.raises(EmbedderError, match="Ollama"):
        open_ollama()


def test_text_never_follows_a_redirect(ollama: OllamaServer, open_ollama: Open) -> None:
    embedder = open_ollama()
    with serving(OllamaServer()) as elsewhere:
        ollama.fail("/api/embed", *[Refusal(307, "", Location=f"{elsewhere.url}/api/embed")] * 9)
        with pytest.raises(Unreachable, match="redirects to another address"):
            embedder.embed_query("my secret")
        assert elsewhere.asked == []


# --- prompts ----------------------------------------------------------------------------

PROMPTS = {
    "embeddinggemma": ("task: search result | query: ", "title: none | text: "),
    "nomic-embed-text": ("search_query: ", "search_document: "),
    "nomic-embed-text-v2-moe": ("search_query: ", "search_document: "),
    "mxbai-embed-large": ("Represent this sentence for searching relevant passages: ", ""),
    "bge-m3": ("", ""),
    "bge-large": ("Represent this sentence for searching relevant passages: ", ""),
    "snowflake-arctic-embed:33m": ("Represent this sentence for searching relevant passages: ", ""),
    "snowflake-arctic-embed2": ("query: ", ""),
    "all-minilm": ("", ""),
    "paraphrase-multilingual": ("", ""),
    "granite-embedding:278m": ("", ""),
    "hf.co/someone/multilingual-e5-large-GGUF:Q8_0": ("query: ", "passage: "),
    "hf.co/ggml-org/embeddinggemma-300M-GGUF": ("task: search result | query: ", "title: none | text: "),
    "someone/gemma-embedding2": ("task: search result | query: ", "title: none | text: "),
    "hf.co/someone/bge-large-zh-v1.5": ("", ""),
    "unheard-of": ("", ""),
}


@pytest.mark.parametrize("model", PROMPTS)
def test_a_model_gets_the_prompts_that_it_learnt(ollama: OllamaServer, open_ollama: Open, model: str) -> None:
    ollama.models[model if ":" in model else f"{model}:latest"] = Model(dimension=64)
    query, document = PROMPTS[model]
    embedder = open_ollama(f"ollama:{model}")
    embedder.embed_query("why?")
    embedder.embed_documents(["Because."])
    assert ollama.texts == [f"{query}why?", f"{document}Because."]


def test_only_the_passage_prompt_is_part_of_the_identity(
    open_ollama: Open,
) -> None:
    def identity(query: str, document: str) -> object:
        return open_ollama(prompts=(("ollama", Prompts(query, document)),)).identity

    assert identity("a", "x") == identity("b", "x") != identity("a", "y")
    assert open_ollama().identity != identity("", "")


def test_a_model_of_latin_script_says_what_it_cannot_read(ollama: OllamaServer, open_ollama: Open) -> None:
    ollama.models |= {f"{name}:latest": Model(dimension=64) for name in ("nomic-embed-text", "bge-m3")}
    assert not open_ollama("ollama:nomic-embed-text").reads("機械学習は面白い")
    assert open_ollama("ollama:nomic-embed-text").reads("plain words")
    assert open_ollama("ollama:bge-m3").reads("機械学習は面白い")
    assert open_ollama().reads("機械学習は面白い")


# --- addresses and packages ---------------------------------------------------------------


def test_a_proxy_is_for_other_machines_only(ollama: OllamaServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in is also the proxy: it is sent what is meant for a host that does not exist."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, nobody())
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    assert open_embedder("ollama", EmbedderOptions(ollama_url=ollama.url)).identity.dimension == 768
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, ollama.url)
    far = open_embedder("ollama", EmbedderOptions(ollama_url="http://home.invalid:11434"))
    assert far.embed_query("hello").shape == (768,)
    assert ollama.asked[-1].headers["host"] == "home.invalid:11434"
    with pytest.raises(ModelMissing) as caught:
        open_embedder("ollama:x", EmbedderOptions(ollama_url="http://home.invalid:11434"))
    assert caught.value.suggestion == "Run `ollama pull x` on home.invalid."


def test_the_command_that_gets_a_model_is_safe_to_copy_whatever_the_name(open_ollama: Open) -> None:
    with pytest.raises(ModelMissing) as caught:
        open_ollama("ollama:x;rm${IFS}-r$IFS~")
    assert caught.value.suggestion == "Run `ollama pull 'x;rm${IFS}-r$IFS~'`."
