"""The container: what it copies is there, notes cannot be written, and nobody else reaches the app."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from rag_core.config import Settings
from tests.docs.doc_pages import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
    return loaded


def test_the_image_gets_every_file_that_the_wheel_is_made_of() -> None:
    copied = {name for line in re.findall(r"(?m)^COPY (.*) \S+$", DOCKERFILE) for name in line.split()}
    assert [name for name in copied if not (ROOT / name).exists()] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    described = [project["project"]["readme"], *project["project"]["license-files"]]
    assert {*wheel["packages"], *wheel["force-include"], *described, "pyproject.toml"} <= copied


def test_the_python_of_the_image_is_one_that_the_packages_have_wheels_for() -> None:
    [version] = re.findall(r"(?m)^FROM python:3\.(\d+)-slim$", DOCKERFILE)
    lowest, above = re.findall(
        r'(?m)^requires-python = ">=3\.(\d+),<3\.(\d+)"', (ROOT / "pyproject.toml").read_text("utf-8")
    )[0]
    assert int(lowest) <= int(version) < int(above)


def test_the_app_does_not_run_as_root() -> None:
    user, command = DOCKERFILE.index("\nUSER reader"), DOCKERFILE.index("\nCMD")
    assert user < command


def test_no_service_can_be_reached_from_another_computer(compose: dict[str, Any]) -> None:
    networks = {name: service.get("network_mode") for name, service in compose["services"].items()}
    assert networks == {"local": "host", "shared": "service:tailscale", "tailscale": None}
    assert [
        name for name, service in compose["services"].items() if service.keys() & {"ports", "expose"}
    ] == []
    assert not re.search(r"(?m)^EXPOSE", DOCKERFILE)


@pytest.mark.parametrize("name", ["local", "shared"])
def test_the_app_can_write_its_data_and_nothing_else(compose: dict[str, Any], name: str) -> None:
    service = compose["services"][name]
    notes, data = service["volumes"]
    assert notes.endswith(":/notes:ro")
    assert data == "data:/data"
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]


def test_tailscale_serves_the_port_that_the_app_has(compose: dict[str, Any]) -> None:
    serve = json.loads(compose["configs"]["serve"]["content"].replace("$$", "$"))
    [web] = serve["Web"].values()
    assert web["Handlers"] == {"/": {"Proxy": f"http://127.0.0.1:{Settings(Path(), Path(), ()).port}"}}
    assert "AllowFunnel" not in serve
