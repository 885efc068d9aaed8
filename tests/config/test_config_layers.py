"""Which value wins: environment > .env > config.yaml > default; and that each knows where it is from."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import get_args

import pytest

from rag_core import config
from rag_core.config.keys import STORE_NAME
from rag_core.config.origin import DEFAULT, Origin
from rag_core.config.settings import KEYS
from rag_core.errors import InvalidInput
from rag_core.index.reading import Limits
from rag_core.library import Library
from rag_core.library.searching import MAX_TOP_K
from rag_core.models import DEFAULT_EMBEDDER
from rag_core.types import OWNER, Mode
from rag_core.vectors.chroma import ChromaOptions
from rag_core.vectors.qdrant import QdrantOptions
from rag_core.vectors.s3vectors import S3Options
from tests.support.configured import configure, refusal, settings


def test_each_layer_wins_over_the_one_behind_it(tmp_path: Path) -> None:
    yaml, env = "top_k: 2\n", "COMMONPLACE_TOP_K=3\n"
    assert settings(tmp_path).top_k == 10
    assert settings(tmp_path, yaml).top_k == 2
    assert settings(tmp_path, yaml, env).top_k == 3
    assert settings(tmp_path, yaml, env, TOP_K="4").top_k == 4


def test_a_layer_that_says_nothing_of_a_setting_leaves_it_to_the_next(tmp_path: Path) -> None:
    found = settings(tmp_path, "top_k: 2\nmode: vector\n", "COMMONPLACE_TOP_K=\n", MODE="")
    assert (found.top_k, found.mode) == (2, "vector")


@pytest.mark.parametrize(
    "yaml", ["# nothing yet\n", "top_k:\nmin_score: null\nroots: ~\nstores:\nchunking:\n"]
)
def test_a_setting_without_a_value_is_the_default(tmp_path: Path, yaml: str) -> None:
    assert settings(tmp_path, yaml, "\n# nothing\n") == settings(tmp_path)


def test_every_value_knows_where_it_was_given(tmp_path: Path) -> None:
    found = settings(
        tmp_path, "mode: vector\nmin_score: 0.5\n", "\nCOMMONPLACE_PORT=9000\n", PORT="", K_LEX="7"
    )
    assert str(found.origin("mode")) == f"{tmp_path / 'config.yaml'}:1"
    assert found.origin("min_score") == Origin("config.yaml", "min_score", str(tmp_path / "config.yaml"), 2)
    assert str(found.origin("port")) == f"{tmp_path / '.env'}:2"
    assert str(found.origin("k_lex")) == "environment, COMMONPLACE_K_LEX"
    assert found.origin("top_k") == DEFAULT
    assert str(DEFAULT) == "default"


@pytest.mark.parametrize("written", ["embedder: nomic-embed-text", "llm: llama2", "backend: ChromaDB"])
def test_values_of_other_tools_are_refused(tmp_path: Path, written: str) -> None:
    assert "which is not" in refusal(tmp_path, f"{written}\n")


def test_a_file_is_checked_whatever_wins_over_it(tmp_path: Path) -> None:
    assert "top_k is '0'" in refusal(tmp_path, "top_k: 0\n", TOP_K="5")


def test_a_running_program_sees_a_changed_file(tmp_path: Path) -> None:
    before = settings(tmp_path, "top_k: 5\n")
    assert settings(tmp_path, "top_k: 6\n").top_k == 6
    assert settings(tmp_path, "top_k: 5\n") == before


# --- where the files are ----------------------------------------------------------------


def test_without_a_home_the_files_are_in_the_systems_configuration_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "conf"))
    configure(tmp_path / "conf" / "commonplace", "top_k: 3\n", "COMMONPLACE_PORT=9000\n")
    found = config.load({})
    assert found.config_file is not None
    if sys.platform == "linux":
        assert found.config_file == tmp_path / "conf" / "commonplace" / "config.yaml"
        assert (found.top_k, found.port) == (3, 9000)


def test_files_of_the_working_directory_are_not_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    configure(tmp_path, "top_k: 3\n", "COMMONPLACE_TOP_K=4\nCOMMONPLACE_HOME=/elsewhere\n")
    monkeypatch.chdir(tmp_path)
    assert config.load({"COMMONPLACE_HOME": str(tmp_path / "home")}).top_k == 10


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


# --- variables of the environment -------------------------------------------------------


def test_a_variable_that_means_nothing_is_named_in_a_warning(tmp_path: Path) -> None:
    [warning] = settings(tmp_path, TOPK="5").warnings
    assert warning == (
        "The variable COMMONPLACE_TOPK is not a setting of Commonplace. Did you mean 'COMMONPLACE_TOP_K'?"
    )


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("TOP_K", "ten", "COMMONPLACE_TOP_K is 'ten', which is not a whole number from 1 to 1000."),
        ("MIN_SCORE", "nan", "COMMONPLACE_MIN_SCORE is 'nan', which is not a number from 0 to 1."),
        ("PORT", "70000", "COMMONPLACE_PORT is '70000', which is not a whole number from 1 to 65535."),
        ("LOG_LEVEL", "loud", "COMMONPLACE_LOG_LEVEL is 'loud', which is not debug, info, warning, error or"),
        ("DEFAULT_STORE", "my notes", "COMMONPLACE_DEFAULT_STORE is 'my notes', which is not a store's name"),
        ("ROOTS", "/a:b", "COMMONPLACE_ROOTS is 'b', which is not an absolute folder."),
    ],
)
def test_a_wrong_variable_is_named_with_what_is_allowed(
    tmp_path: Path, name: str, value: str, said: str
) -> None:
    assert refusal(tmp_path, **{name: value}).startswith(said)


def test_words_are_taken_in_any_case(tmp_path: Path) -> None:
    found = settings(tmp_path, LOG_LEVEL="INFO", MODE="Lexical")
    assert (found.log_level, found.mode) == ("info", "lexical")


# --- the table itself -------------------------------------------------------------------


def test_the_defaults_are_those_of_the_engine(tmp_path: Path) -> None:
    plain = settings(tmp_path)
    kinds = {key.name: key.kind for key in KEYS}
    assert plain.embedder == DEFAULT_EMBEDDER
    assert Limits(plain.batch_size, plain.max_file_bytes, plain.extractor_timeout_s) == Limits()
    for options in (S3Options(), QdrantOptions(), ChromaOptions()):
        assert options.timeout == plain.vectors_timeout_s
    assert kinds["mode"].words == "{}, {} or {}".format(*get_args(Mode))
    assert kinds["top_k"].words == f"a whole number from 1 to {MAX_TOP_K}"


@pytest.mark.parametrize("name", ["a", "A-1_b", "0", "a" * 63, "", "-a", "a b", "a/b", "a" * 64, "ä", "a\n"])
def test_a_name_is_a_stores_here_and_there(library: Library, name: str) -> None:
    try:
        library.create_store(OWNER, name, "hashing")
        accepted = True
    except InvalidInput:
        accepted = False
    assert accepted == bool(STORE_NAME.fullmatch(name))
