"""Changing one setting in config.yaml: what is written, and that everything else in the file stays."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import given, settings
from hypothesis import strategies as some

from rag_core import config
from rag_core.config.change import change
from rag_core.errors import InvalidInput
from tests.support.command import Run
from tests.support.configured import configure

WRITTEN = """\
# mine
top_k: 7   # seven

# the model
llm: "ollama:llama3.2:3b"  # small
stores:
  notes:
    folders:
      - ~/notes   # all
      - root: ~/x
        include: ["**/*.md"]
"""


def text(home: Path) -> str:
    return (home / "config.yaml").read_text("utf-8")


def test_only_the_value_is_replaced(home: Path) -> None:
    configure(home, WRITTEN)
    assert change("llm", "openai:x").llm == "openai:x"
    assert text(home) == WRITTEN.replace("ollama:llama3.2:3b", "openai:x")


def test_changes_at_once_are_all_kept(home: Path) -> None:
    configure(home, WRITTEN)
    names = ["watch", "offline", "scan_on_start"] * 8
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(change, names, [False] * len(names)))
    assert text(home).startswith(WRITTEN)
    assert sorted(text(home).splitlines()[-3:]) == ["offline: false", "scan_on_start: false", "watch: false"]


def test_a_change_waits_for_that_of_another_process(home: Path) -> None:
    configure(home, "")
    with ThreadPoolExecutor(1) as threads:
        with FileLock(home / ".config.lock"):
            changed = threads.submit(change, "watch", False)
            assert not wait([changed], 0.3).done
            configure(home, "top_k: 3\n")
        assert changed.result().top_k == 3
    assert text(home) == "top_k: 3\nwatch: false\n"


def test_settings_in_braces_are_left_alone_with_advice(home: Path) -> None:
    configure(home, "{top_k: 3}\n")
    with pytest.raises(InvalidInput, match=r"in braces.* like 'watch: false'"):
        change("watch", False)
    assert text(home) == "{top_k: 3}\n"


def test_a_new_setting_is_the_last_line(home: Path) -> None:
    configure(home, WRITTEN.rstrip())
    assert change("watch", False).watch is False
    assert text(home) == f"{WRITTEN}watch: false\n"


def test_a_removed_setting_takes_its_line_alone(home: Path) -> None:
    configure(home, WRITTEN)
    assert change("top_k", None).top_k == 10
    assert text(home) == WRITTEN.replace("top_k: 7   # seven\n", "")


@pytest.mark.parametrize("before", ["", "# only a comment\n", "top_k:\n# x\n", "top_k: 3"])
def test_a_file_may_be_missing_or_nearly_empty(home: Path, before: str) -> None:
    configure(home, before)
    assert change("top_k", "5").top_k == 5
    assert change("ocr", "off").ocr == "off"
    change("top_k", None)
    assert "top_k" not in text(home)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("topk", "5", "'topk' is not a setting."),
        ("ocr", "maybe", "ocr is 'maybe', which is not auto, off,"),
        ("chat_api_key", "sesame", "chat_api_key is a secret."),
        ("access_hosts", "desk", "access_hosts has several lines in config.yaml, which"),
        ("mode", "vector", "mode is set in environment, COMMONPLACE_MODE, which"),
    ],
)
def test_what_cannot_be_written_leaves_the_file_alone(
    home: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    before = f"{WRITTEN}access_hosts:\n  - desk\n"
    configure(home, before)
    monkeypatch.setenv("COMMONPLACE_MODE", "lexical")
    with pytest.raises(InvalidInput) as refused:
        change(name, value)
    assert str(refused.value).startswith(said)
    assert text(home) == before


@pytest.mark.posix
def test_the_file_behind_a_link_is_changed_and_keeps_its_rights(home: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.yaml"
    real.write_text("top_k: 3\n", "utf-8")
    real.chmod(0o640)
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").symlink_to(real)
    change("top_k", "4")
    assert (home / "config.yaml").is_symlink()
    assert (real.read_text("utf-8"), real.stat().st_mode & 0o777) == ("top_k: 4\n", 0o640)


@settings(deadline=None, max_examples=50)
@given(some.text(some.characters(exclude_categories=("C", "Z")), min_size=1, max_size=20))
def test_every_value_is_read_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMMONPLACE_HOME", str(home))
        change("llm", f"ollama:{name}")
        assert config.load().llm == f"ollama:{name}"


def test_a_command_changes_a_setting(run: Run, home: Path) -> None:
    assert run("config", "set", "top_k", "5").out == f"top_k: 5  (from {home / 'config.yaml'}:1)\n"
    assert run("config", "set", "ocr", "off", "--json").json["value"] == "off"
    assert run("config", "unset", "top_k").out == "top_k: 10  (from default)\n"
    refused = run("config", "set", "ocr", "maybe")
    assert refused.status == 2
    assert "ocr is 'maybe'" in refused.err
