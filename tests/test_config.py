"""Settings: where they come from, what is refused, and that reading them leaves no trace."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rag_core import config
from rag_core.errors import InvalidInput


def test_defaults_are_the_places_of_the_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    settings = config.load({})
    assert settings.data_dir.is_relative_to(tmp_path)
    assert settings.data_dir.name == "commonplace"
    assert settings.model_dir == settings.data_dir / "models"
    assert settings.store_dir == settings.data_dir / "stores"
    assert settings.roots == (tmp_path,)


@pytest.mark.parametrize(
    ("environment", "models"), [({}, "/srv/book/data/models"), ({"COMMONPLACE_MODELS": "/opt/m"}, "/opt/m")]
)
def test_home_moves_the_data(environment: dict[str, str], models: str) -> None:
    settings = config.load({"COMMONPLACE_HOME": "/srv/book", **environment})
    assert (settings.data_dir, settings.model_dir) == (Path("/srv/book/data"), Path(models))


def test_roots_are_separated_like_path() -> None:
    value = os.pathsep.join(["/home/me/notes", "", "/mnt/papers"])
    assert config.load({"COMMONPLACE_ROOTS": value}).roots == (Path("/home/me/notes"), Path("/mnt/papers"))


def test_tilde_is_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert config.load({"COMMONPLACE_HOME": "~/book"}).data_dir == Path("/home/me/book/data")


@pytest.mark.parametrize("key", ["COMMONPLACE_HOME", "COMMONPLACE_MODELS", "COMMONPLACE_ROOTS"])
@pytest.mark.parametrize("value", ["book", "./book", "../book", "~nobody-of-this-name/book"])
def test_folder_that_is_not_absolute_is_refused_by_name(key: str, value: str) -> None:
    with pytest.raises(InvalidInput) as error:
        config.load({key: value})
    assert error.value.message == f"{key} is {value!r}, which is not an absolute folder."
    assert error.value.suggestion
