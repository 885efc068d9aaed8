"""What every embedder promises, whoever computes the vectors.

The servers are stand-ins, unless COMMONPLACE_TEST_OLLAMA or COMMONPLACE_TEST_OPENAI holds the address of a
real one; COMMONPLACE_TEST_OLLAMA_MODEL, COMMONPLACE_TEST_OPENAI_MODEL and COMMONPLACE_TEST_OPENAI_KEY say
which model, and with which key.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import copyfile

import numpy as np
import pytest

from rag_core.errors import EmbedderError, ModelMissing, Unreachable
from rag_core.models import Embedder, EmbedderOptions, open_embedder
from rag_core.models.built_in import BUILT_IN, MINILM
from rag_core.models.built_in_install import install
from rag_core.types import Vectors
from tests.models import model_packages
from tests.models.onnx_models import embedding_model
from tests.support.ollama_server import OllamaServer
from tests.support.openai_server import OpenAIServer
from tests.support.packed_model import packed_model
from tests.support.standin import serving

pytestmark = pytest.mark.thorough

TEXTS = [
    "How do I renew a passport?",
    "A recipe for sourdough bread with rye.",
    "def add(a, b):\n    return a + b",
    "Zażółć gęślą jaźń — naïve café, e\u0301 and ﬃ",
    "機械学習は面白い。검색 поиск بحث",
    "👩‍👩‍👧 emoji, \x00 nul, \u202e override, \ud800 lone surrogate",
    "Minutes: budget approved, next meeting on 14 March.",
]
BLANK = ["", "  \n\t "]
NAMES = (
    "minilm",
    "multilingual",
    "hashing",
    "ollama",
    "openai",
    "onnx",
    "sentence-transformers",
    "mlx",
    "example",
)


@dataclass(frozen=True)
class Target:
    """An embedder and how to open it again; ``bad`` is a text that it cannot embed, where there is one."""

    open: Callable[[], Embedder]
    embedder: Embedder
    bad: str = ""


@contextmanager
def ollama() -> Iterator[tuple[str, EmbedderOptions, str]]:
    model = os.environ.get("COMMONPLACE_TEST_OLLAMA_MODEL", "embeddinggemma")
    if real := os.environ.get("COMMONPLACE_TEST_OLLAMA"):
        yield f"ollama:{model}", EmbedderOptions(ollama_url=real), ""
        return
    with serving(OllamaServer()) as server:
        yield f"ollama:{model}", EmbedderOptions(ollama_url=server.url, retry_s=0), server.nan


@contextmanager
def openai() -> Iterator[tuple[str, EmbedderOptions, str]]:
    model = os.environ.get("COMMONPLACE_TEST_OPENAI_MODEL", "nomic-embed-text")
    if real := os.environ.get("COMMONPLACE_TEST_OPENAI"):
        key = os.environ.get("COMMONPLACE_TEST_OPENAI_KEY", "")
        yield f"openai:{model}", EmbedderOptions(openai_url=real, openai_key=key), ""
        return
    with serving(OpenAIServer()) as server:
        yield f"openai:{model}", EmbedderOptions(openai_url=server.url, retry_s=0), server.bad


@pytest.fixture(params=NAMES)
def target(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Target]:
    with ExitStack() as stack:
        match request.param:
            case "minilm":
                name, options, bad = "minilm", EmbedderOptions(request.getfixturevalue("model_dir")), ""
            case "multilingual":
                row = packed_model(tmp_path)
                monkeypatch.setitem(BUILT_IN, row.name, row)  # type: ignore[arg-type]
                install(row, tmp_path / "models", tmp_path)
                name, options, bad = row.name, EmbedderOptions(tmp_path / "models"), ""
            case "hashing":
                name, options, bad = "hashing", EmbedderOptions(), ""
            case "ollama":
                name, options, bad = stack.enter_context(ollama())
            case "openai":
                name, options, bad = stack.enter_context(openai())
            case "example":
                request.getfixturevalue("example_package")
                name, options, bad = "example:letters", EmbedderOptions(), ""
            case "onnx":
                folder = embedding_model(
                    tmp_path / MINILM.model, sentence_bert_config={"max_seq_length": 256}
                )
                model = request.getfixturevalue("model_dir") / MINILM.model
                for path in (*model.glob("model.onnx*"), model / "tokenizer.json"):
                    copyfile(path, (folder if path.suffix == ".json" else folder / "onnx") / path.name)
                name, options, bad = f"onnx:{folder}", EmbedderOptions(), ""
            case package:
                model_packages.install(monkeypatch)
                folder = model_packages.model_folder(tmp_path / "all-MiniLM-L6-v2")
                name, options, bad = f"{package}:{folder}", EmbedderOptions(), model_packages.BAD
        opened = partial(open_embedder, name, options)
        yield Target(opened, opened(), bad)


def cosines(first: Vectors, second: Vectors) -> Vectors:
    """Row by row."""
    found: Vectors = (first * second).sum(axis=1)
    return found


def test_order_every_text_has_its_vector_in_its_place(target: Target) -> None:
    together = target.embedder.embed_documents(TEXTS)
    alone = np.concatenate([target.embedder.embed_documents([text]) for text in TEXTS])
    backwards = target.embedder.embed_documents(TEXTS[::-1])[::-1]
    assert together.shape == (len(TEXTS), target.embedder.identity.dimension)
    assert cosines(together, alone).min() > 0.9999
    assert cosines(together, backwards).min() > 0.9999
    likeness = together @ together.T - 2 * np.eye(len(TEXTS))
    assert likeness.max() < 0.99, "different texts have different vectors"


def test_empty_no_text_gives_no_row_and_a_blank_one_a_vector(target: Target) -> None:
    assert target.embedder.embed_documents([]).shape == (0, target.embedder.identity.dimension)
    vectors = target.embedder.embed_documents([BLANK[0], TEXTS[0], BLANK[1]])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.linalg.norm(target.embedder.embed_query("")) == pytest.approx(1, abs=1e-5)


def test_long_what_is_beyond_the_limit_changes_nothing_and_is_no_error(target: Target) -> None:
    head = "alpha beta gamma " * 4 * target.embedder.max_tokens
    ended, longer = target.embedder.embed_documents([head, head + "something else entirely " * 20_000])
    assert float(ended @ longer) > 0.9999
    assert target.embedder.embed_query(head).shape == ended.shape


def test_long_a_text_of_as_many_tokens_as_are_read_counts_to_its_end(target: Target) -> None:
    words = "alpha beta gamma delta ".split() * target.embedder.max_tokens
    while target.embedder.count_tokens(" ".join(words)) > 0.9 * target.embedder.max_tokens:
        words = words[: int(len(words) * 0.9)]
    start = " ".join(words[: len(words) * 3 // 4])
    end = " omega" * (len(words) // 4)
    first, second = target.embedder.embed_documents([start, start + end])
    assert float(first @ second) < 0.9999


def test_unicode_any_text_is_taken(target: Target) -> None:
    odd = [*TEXTS[3:6], "\x00", "\ud800", "\ufeff\u200b", "e\u0301" * 50]
    vectors = target.embedder.embed_documents(odd)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert all(isinstance(target.embedder.reads(text), bool) for text in odd)
    assert all(target.embedder.count_tokens(text) >= 0 for text in odd)


def test_one_bad_text_costs_itself(target: Target) -> None:
    if not target.bad:  # none is known
        odd = "\ufffd " * 20
        assert len(target.embedder.embed_documents([*TEXTS, odd, *TEXTS])) == 2 * len(TEXTS) + 1
        return
    with pytest.raises(EmbedderError) as caught:
        target.embedder.embed_documents([*TEXTS, f"holds {target.bad}", *TEXTS])
    assert not isinstance(caught.value, ModelMissing | Unreachable), "the texts are to be told apart"
    with pytest.raises(EmbedderError):
        target.embedder.embed_documents([f"holds {target.bad}"])
    assert len(target.embedder.embed_documents(TEXTS)) == len(TEXTS)


def test_determinism_the_same_text_has_the_same_vector_again(target: Target) -> None:
    first = target.embedder.embed_documents(TEXTS)
    assert cosines(first, target.embedder.embed_documents(TEXTS)).min() > 0.9999
    assert cosines(first, target.open().embed_documents(TEXTS)).min() > 0.9999


def test_determinism_in_several_threads(target: Target) -> None:
    expected = target.embedder.embed_documents(TEXTS)
    with ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(target.embedder.embed_documents, [TEXTS] * 8):
            assert cosines(expected, vectors).min() > 0.9999


def test_normalisation_every_vector_has_length_one(target: Target) -> None:
    vectors = target.embedder.embed_documents(TEXTS)
    query = target.embedder.embed_query("a question")
    assert vectors.dtype == query.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.linalg.norm(query) == pytest.approx(1, abs=1e-5)
    assert query.shape == (target.embedder.identity.dimension,)


def test_identity_says_what_the_vectors_depend_on_and_is_the_same_again(target: Target) -> None:
    identity = target.embedder.identity
    assert target.open().identity == identity
    assert identity.model
    assert str(identity).startswith(f"{identity.provider}:{identity.model}@")
    assert identity.dimension == len(target.embedder.embed_query("x"))
    assert target.embedder.max_tokens >= 64


def test_meaning_or_at_least_words_bring_a_question_to_its_passage(target: Target) -> None:
    texts = ["Passport renewal forms", "Sourdough bread recipe", "Database index tuning"]
    found = [
        int(np.argmax(target.embedder.embed_documents(texts) @ target.embedder.embed_query(question)))
        for question in ("renewal of a passport", "a recipe for bread", "tuning a database")
    ]
    assert found == [0, 1, 2]
