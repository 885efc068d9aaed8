"""The settings of embedders: addresses, keys, prompts, and what is read of other programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_core import config
from rag_core.config import Settings
from rag_core.config.keys import OLLAMA_URL
from rag_core.config.kinds import EMBEDDER
from rag_core.config.options import options_from
from rag_core.config.origin import DEFAULT, Text
from rag_core.errors import InvalidInput
from rag_core.models import EmbedderOptions, Prompts, full_name
from rag_core.models.embedder import parse_name
from tests.support.configured import refusal, settings


def options(found: Settings) -> EmbedderOptions:
    return options_from(found, EmbedderOptions)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434"),
        ("http://127.0.0.1:11434/", "http://127.0.0.1:11434"),
        ("https://home.example/ollama/", "https://home.example/ollama"),
        ("http://home", "http://home"),
        ("home", "http://home:11434"),
        ("home:8080", "http://home:8080"),
        ("192.168.1.5", "http://192.168.1.5:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),  # noqa: S104 - what OLLAMA_HOST often is
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        ("::1", "http://[::1]:11434"),
        ("http://[::]:11434", "http://[::1]:11434"),
        ("HTTP://Home:1", "http://home:1"),
    ],
)
def test_an_address_is_read_as_people_write_it(tmp_path: Path, written: str, meant: str) -> None:
    assert settings(tmp_path, OLLAMA_URL=written).ollama_url == meant
    assert settings(tmp_path, f"ollama_url: '{written}'\n").ollama_url == meant


@pytest.mark.parametrize(
    "written",
    "ftp://home|http://|http://home:port|http://a b|http://home/?q=1|http://home#x|file:///x".split("|"),
)
def test_what_is_no_address_is_refused(tmp_path: Path, written: str) -> None:
    assert "which is not an address" in refusal(tmp_path, OLLAMA_URL=written)


@pytest.mark.parametrize("written", ["http://me:sesame@home", "me:sesame@home", "http://sesame@home:1"])
def test_a_password_in_an_address_is_refused_and_not_repeated(tmp_path: Path, written: str) -> None:
    for said in (
        refusal(tmp_path, EMBEDDING_BASE_URL=written),
        refusal(tmp_path, f"embedding_base_url: {written}\n"),
    ):
        assert "sesame" not in said
        assert "(hidden)" in said
        assert ".env" in said


def test_ollamas_own_variable_counts_where_nothing_else_is_said(tmp_path: Path) -> None:
    def read(yaml: str = "", **variables: str) -> Settings:
        (tmp_path / "config.yaml").write_text(yaml, "utf-8")
        return config.load({"COMMONPLACE_HOME": str(tmp_path), "OLLAMA_HOST": "0.0.0.0:9", **variables})

    assert read().ollama_url == "http://127.0.0.1:9"
    assert str(read().origin("ollama_url")) == "environment, OLLAMA_HOST"
    assert read("ollama_url: http://home:1\n").ollama_url == "http://home:1"
    assert read(COMMONPLACE_OLLAMA_URL="http://here:2").ollama_url == "http://here:2"
    assert options(settings(tmp_path)).ollama_url == OLLAMA_URL


def test_a_variable_of_ollama_that_cannot_be_read_stops_nobody(tmp_path: Path) -> None:
    found = config.load({"COMMONPLACE_HOME": str(tmp_path), "OLLAMA_HOST": "me:sesame@home"})
    assert found.ollama_url is None
    [warning] = found.warnings
    assert warning.startswith("OLLAMA_HOST is (hidden), which is not an address")
    assert warning.endswith("It is ignored.")


def test_a_key_comes_from_the_environment_or_env_and_is_not_part_of_any_text(tmp_path: Path) -> None:
    for found in (
        settings(tmp_path, "", "COMMONPLACE_EMBEDDING_API_KEY=sk-sesame\n"),
        settings(tmp_path, EMBEDDING_API_KEY="sk-sesame"),
    ):
        assert options(found).openai_key == "sk-sesame"
        assert "sesame" not in repr(found) + repr(options(found))
        [row] = [row for row in found.rows() if row.key.name == "embedding_api_key"]
        assert row.said == "********"
    assert "a key of visible characters" in refusal(tmp_path, EMBEDDING_API_KEY="two words")


def test_the_embedding_server_defaults_to_that_of_the_chat_model(tmp_path: Path) -> None:
    chat = "chat_base_url: http://chat:1/v1\n"
    keys = "COMMONPLACE_CHAT_API_KEY=sk-sesame-chat\n"
    alone = options(settings(tmp_path, chat, keys))
    assert (alone.openai_url, alone.openai_key) == ("http://chat:1/v1", "sk-sesame-chat")
    apart = options(settings(tmp_path, f"{chat}embedding_base_url: http://own:2/v1\n", keys))
    assert (apart.openai_url, apart.openai_key) == ("http://own:2/v1", "")
    both = options(settings(tmp_path, chat, f"{keys}COMMONPLACE_EMBEDDING_API_KEY=sk-sesame-own\n"))
    assert (both.openai_url, both.openai_key) == ("http://chat:1/v1", "sk-sesame-own")


def test_prompts_belong_to_embedders_by_any_of_their_names(tmp_path: Path) -> None:
    found = settings(
        tmp_path,
        "prompts:\n  ollama: {query: 'q: ', document: 'd: '}\n  'openai:x@64': {document: \"p:\\n\"}\n",
    )
    opened = options(found)
    assert opened.prompts_of(parse_name("ollama:embeddinggemma@256")) == Prompts("q: ", "d: ")
    assert opened.prompts_of(parse_name("ollama:bge-m3")) == Prompts()
    assert opened.prompts_of(parse_name("openai:x")) == Prompts("", "p:\n")
    [row] = [row for row in found.rows() if row.key.name == "prompts"]
    assert row.value["ollama"] == {"query": "q: ", "document": "d: "}


def test_prompts_for_what_is_no_embedder_are_refused(tmp_path: Path) -> None:
    assert "The embedder is 'bge'" in refusal(tmp_path, "prompts:\n  bge: {query: x}\n")
    assert "'before' is not a setting" in refusal(tmp_path, "prompts:\n  ollama: {before: x}\n")


def test_the_other_settings_reach_the_embedders(tmp_path: Path) -> None:
    found = settings(
        tmp_path, "embedding_timeout_s: 9\nembedding_context: 999\ndevice: cuda:1\noffline: false\n"
    )
    opened = options(found)
    assert (opened.timeout_s, opened.context, opened.device, opened.offline) == (9, 999, "cuda:1", False)
    assert options(settings(tmp_path)) == EmbedderOptions(model_dir=settings(tmp_path).model_dir)


NAMES = [
    *("minilm", "hashing", "hashing:64", "ollama", "ollama:bge-m3", "ollama:hf.co/a/b-GGUF:Q8_0"),
    *("ollama:x@256", "openai:text-embedding-3-small", "openai:@cf/baai/bge-m3"),
    *("onnx:BAAI/bge-small-en-v1.5", "sentence-transformers:/my models/x", "mlx:~/m"),
]
NO_NAMES = [
    *("", "bge", "minilm:x", "hashing:x", "openai", "openai:", "mlx"),
    *("ollama:a b", "ollama:a\nb", "OLLAMA:x"),
]


@pytest.mark.parametrize("name", [*NAMES, *NO_NAMES])
def test_an_embedders_name_is_one_in_the_settings_and_for_the_engine(name: str) -> None:
    try:
        full_name(name)
        taken = True
    except InvalidInput:
        taken = False
    try:
        EMBEDDER.read(Text(name, DEFAULT))
        accepted = True
    except InvalidInput:
        accepted = False
    assert taken == (name in NAMES) == accepted


def test_one_embedder_has_one_full_name() -> None:
    assert full_name("ollama") == full_name("ollama:embeddinggemma") == "ollama:embeddinggemma"
    assert parse_name("openai:@cf/baai/bge-m3").dimension is None
    assert parse_name("openai:@cf/baai/bge-m3@64").model == "@cf/baai/bge-m3"
