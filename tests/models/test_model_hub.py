"""`commonplace model install hf:ORG/NAME`, over real HTTP to a stand-in for the hub."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_core.config import Settings
from rag_core.errors import EmbedderError, ModelMissing
from rag_core.models import EmbedderOptions, open_embedder
from rag_core.models.check import Need
from rag_core.models.onnx_folder import check_onnx, installed_models
from tests.models.hub_server import REPO, REVISION, Hub, hub_of
from tests.models.onnx_models import embedding_model, reranking_model
from tests.support.standin import nobody

OTHERS = {"README.md": b"# Tiny", "pytorch_model.bin": b"pickled", "modeling.py": b"raise SystemExit"}


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    made = embedding_model(tmp_path / "made")
    files = {str(path.relative_to(made)): path.read_bytes() for path in made.rglob("*") if path.is_file()}
    with hub_of({**files, **OTHERS}) as hub:
        yield hub


def install(tmp_path: Path, url: str, name: str = f"hf:{REPO}") -> subprocess.CompletedProcess[str]:
    env = {
        **os.environ,
        "HF_ENDPOINT": url,
        "HF_HOME": str(tmp_path / "hf"),
        "HF_TOKEN": "sesame",
        "HF_HUB_OFFLINE": "0",
        "COMMONPLACE_HOME": str(tmp_path / "home"),
        "COMMONPLACE_MODELS": str(models(tmp_path)),
    }
    command = [sys.executable, "-m", "rag_core", "model", "install", name]
    return subprocess.run(command, env=env, capture_output=True, encoding="utf-8", check=False, cwd=tmp_path)


def models(tmp_path: Path) -> Path:
    return tmp_path / "models"


def test_a_model_is_fetched_pinned_and_used_by_its_name(tmp_path: Path, hub: Hub) -> None:
    done = install(tmp_path, hub.url)
    assert done.returncode == 0, done.stderr
    assert f"onnx:{REPO}" in done.stdout
    manifest = json.loads((models(tmp_path) / REPO / "manifest.json").read_text("utf-8"))
    assert manifest["revision"] == REVISION
    folder = models(tmp_path) / REPO
    there = {str(path.relative_to(folder)) for path in folder.rglob("*.*")}
    assert there & OTHERS.keys() == set()
    assert there >= {"onnx/model.onnx", "tokenizer.json", "1_Pooling/config.json", "modules.json"}
    options = EmbedderOptions(model_dir=models(tmp_path))
    embedder = open_embedder(f"onnx:{REPO}", options)
    made = open_embedder(f"onnx:{tmp_path / 'made'}", EmbedderOptions())
    assert embedder.embed_query("cat").tolist() == made.embed_query("cat").tolist()
    assert embedder.identity.model == REPO

    before = len(hub.asked)
    again = install(tmp_path, hub.url, f"hf:{REPO}@{REVISION}")
    assert again.returncode == 0
    assert hub.asked[before:] == [f"GET /api/models/{REPO}/revision/{REVISION}"]


def test_a_reranker_is_offered_as_one_and_embeds_nothing(tmp_path: Path) -> None:
    made = reranking_model(tmp_path / "made")
    with hub_of({each.name: each.read_bytes() for each in made.iterdir()}) as hub:
        assert f"config set reranker onnx:{REPO}" in install(tmp_path, hub.url).stdout
    assert installed_models(models(tmp_path), reranking=True) == [REPO]
    need = Need(Settings(tmp_path, tmp_path, ()), EmbedderOptions(model_dir=models(tmp_path)))
    assert check_onnx(need).embedders == ()
    with pytest.raises(EmbedderError, match="it is a reranker"):
        open_embedder(f"onnx:{REPO}", EmbedderOptions(model_dir=models(tmp_path)))


def test_an_installed_file_that_changed_is_refused_and_fetched_again(tmp_path: Path, hub: Hub) -> None:
    install(tmp_path, hub.url)
    pooling = models(tmp_path) / REPO / "1_Pooling" / "config.json"
    pooling.write_text('{"pooling_mode_cls_token": true}', "utf-8")
    with pytest.raises(ModelMissing, match="is damaged"):
        open_embedder(f"onnx:{REPO}", EmbedderOptions(model_dir=models(tmp_path)))
    assert install(tmp_path, hub.url).returncode == 0
    open_embedder(f"onnx:{REPO}", EmbedderOptions(model_dir=models(tmp_path)))


@pytest.mark.parametrize("name", ["onnx/model.onnx", "modules.json"])
def test_a_file_with_another_hash_than_listed_is_refused(tmp_path: Path, hub: Hub, name: str) -> None:
    changed = bytearray(hub.files[name])
    changed[len(changed) // 2] ^= 1
    hub.sent[name] = bytes(changed)
    done = install(tmp_path, hub.url)
    assert done.returncode != 0
    assert "its hash differs" in done.stderr
    assert not (models(tmp_path) / REPO).exists()


@pytest.mark.parametrize("lacking", ["onnx/model.onnx", "tokenizer.json"])
def test_a_model_that_was_not_exported_is_refused_before_anything_is_fetched(
    tmp_path: Path, hub: Hub, lacking: str
) -> None:
    del hub.files[lacking]
    done = install(tmp_path, hub.url)
    assert "exported to ONNX" in done.stderr
    assert not any("/resolve/" in asked for asked in hub.asked)


def test_a_graph_that_cannot_be_loaded_is_not_installed(tmp_path: Path, hub: Hub) -> None:
    hub.files["onnx/model.onnx"] = b"not a graph"
    assert "cannot be run" in install(tmp_path, hub.url).stderr
    assert not (models(tmp_path) / REPO).exists()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("hf:tester/absent", "no public model 'tester/absent'"),
        (f"hf:{REPO}@other", "not at this revision"),
        ("hf:../../etc", "names no model"),
        ("tiny-model", "hf:ORG/NAME"),
        (REPO, f"Did you mean hf:{REPO}?"),
        (str(Path(__file__).parent), "needs no installing"),
    ],
)
def test_a_name_that_is_not_there_is_said_so(tmp_path: Path, hub: Hub, name: str, said: str) -> None:
    done = install(tmp_path, hub.url, name)
    assert done.returncode != 0
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_hub_that_does_not_answer_is_named(tmp_path: Path) -> None:
    url = nobody()
    done = install(tmp_path, url)
    assert done.returncode != 0
    assert f"{url} did not give the model" in done.stderr
    assert "Traceback" not in done.stderr
