"""The switch that points the contract at real services: tried with the stand-ins in their place."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from rag_core.errors import Unreachable
from rag_core.models import open_embedder
from tests.command import pytest_of_its_own
from tests.ollama_server import Model, OllamaServer
from tests.openai_server import OpenAIServer
from tests.standin import nobody, serving
from tests.test_embedder_contract import ollama, openai

ROOT = Path(__file__).resolve().parents[1]


def test_the_contract_can_be_pointed_at_other_servers(tmp_path: Path) -> None:
    first = OllamaServer(models={"mine:v1": Model(dimension=64)})
    second = OpenAIServer(models={"yours": 96}, key="sk-sesame")
    with serving(first), serving(second):
        environment = {
            **os.environ,
            "COMMONPLACE_TEST_OLLAMA": first.url,
            "COMMONPLACE_TEST_OLLAMA_MODEL": "mine:v1",
            "COMMONPLACE_TEST_OPENAI": second.url,
            "COMMONPLACE_TEST_OPENAI_MODEL": "yours",
            "COMMONPLACE_TEST_OPENAI_KEY": second.key,
        }
        only = ["tests/test_embedder_contract.py", "-k", "ollama or openai"]
        command = [*pytest_of_its_own(tmp_path), *only]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) >= 20
    assert {body["model"] for body in first.bodies("/api/embed")} == {"mine:v1"}
    assert {body["model"] for body in second.bodies("/v1/embeddings")} == {"yours"}
    assert "sesame" not in done.stdout


def test_a_service_that_is_not_there_fails_the_contract_and_is_not_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable, server in (("COMMONPLACE_TEST_OLLAMA", ollama), ("COMMONPLACE_TEST_OPENAI", openai)):
        monkeypatch.setenv(variable, url := nobody())
        with server() as (name, options, _), pytest.raises(Unreachable, match=f"{url}.* is not running"):
            open_embedder(name, options)
