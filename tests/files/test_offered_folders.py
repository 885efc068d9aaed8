"""Which folders of a home are offered to be indexed."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_core.files import offered_folders


def made(home: Path, *folders: str) -> Path:
    for folder in folders:
        (home / folder).mkdir(parents=True)
    return home


def found(home: Path) -> list[tuple[str, str]]:
    return [(each.kind, each.path.relative_to(home).as_posix()) for each in offered_folders([home])]


def test_vaults_come_first_then_documents_then_code(tmp_path: Path) -> None:
    home = made(
        tmp_path, "work/garden/.obsidian", "brain/.obsidian/plugins", "Documents/letters", "src/one/.git",
        "src/two/.git", "src/one/deep/.git", "dots/.git", "Notes",
    )  # fmt: skip
    assert found(home) == [
        ("vault", "brain"), ("vault", "work/garden"), ("documents", "Documents"), ("code", "src"),
        ("code", "dots"),
    ]  # fmt: skip


@pytest.mark.posix
def test_hidden_folders_links_and_packages_are_left_out(tmp_path: Path) -> None:
    home = made(tmp_path / "home", ".trash/old/.obsidian", "a/node_modules/x/.git", "1/2/3/4/.obsidian")
    made(tmp_path / "elsewhere", "vault/.obsidian")
    (home / "link").symlink_to(tmp_path / "elsewhere")
    assert found(home) == []


def test_a_root_that_is_not_there_offers_nothing(tmp_path: Path) -> None:
    assert offered_folders([tmp_path / "none"]) == []
