"""The commands that say who embeds a store and where its vectors are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import Run
from tests.vectors.s3vectors import Server

pytestmark = pytest.mark.thorough


@pytest.fixture
def zoo(run: Run, amazon_configured: Server, notes: Path) -> Run:
    (notes / "otter.md").write_text("The otter swam.\n", "utf-8")
    (notes / "diary.md").write_text("---\nprivate: true\n---\nThe owl cried.\n", "utf-8")
    assert run("store", "create", "zoo", "--embedder", "hashing", "--backend", "s3vectors").status == 0
    assert run("index", "**/*.md", "--root", notes, "--store", "zoo", "--yes").status == 0
    return run


def test_switch_makes_the_vectors_anew_and_says_so(zoo: Run) -> None:
    done = zoo("store", "switch", "zoo", "--embedder", "hashing:64")
    assert done.status == 0
    assert "Searches use hashing:64 now." in done.err
    info = zoo("store", "info", "zoo", "--json").json
    assert (info["embedder"], info["dimension"], info["switching"]) == ("hashing:64", 64, "")


def test_switch_may_be_left_for_later_and_abandoned(zoo: Run) -> None:
    said = zoo("store", "switch", "zoo", "--backend", "local", "--later").out
    assert said == "Store 'zoo' switches to hashing with its next run.\n"
    assert "switching to hashing" in zoo("store", "info", "zoo").out
    assert zoo("store", "switch", "zoo", "--abandon").out == "Store 'zoo' stays as it was.\n"
    assert "switching" not in zoo("store", "info", "zoo").out


def test_verify_and_heal_look_at_the_index(zoo: Run, amazon_configured: Server) -> None:
    assert zoo("verify", "--store", "zoo").status == 0
    amazon_configured.service.DeleteIndex({"vectorBucketName": "commonplace-zoo", "indexName": "main"})
    broken = zoo("verify", "--store", "zoo")
    assert broken.status == 1
    assert "The vector index is not there." in broken.out
    assert zoo("verify", "--store", "zoo", "--heal").status == 0


def test_attach_and_take_over(zoo: Run, notes: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "second"))
    assert zoo("store", "attach", "s3vectors://commonplace-zoo/main", "sea").out == (
        "Store 'sea' is attached: 2 passages.\n"
    )
    assert "attached: this computer only reads it" in zoo("store", "info", "sea").out
    refused = zoo("index", "--store", "sea")
    assert refused.status == 2
    assert zoo("store", "take-over", "sea").out.startswith("Store 'sea' is yours now.")


def test_rules_for_private_notes_are_added_shown_and_taken_away(zoo: Run, notes: Path) -> None:
    (notes / "deep").mkdir()
    (notes / "deep" / "stoat.md").write_text("The stoat ran.\n", "utf-8")
    zoo("index", "--store", "zoo")
    assert "1 private note." in zoo("store", "private", "zoo").out
    slips = {"--hide": ("../x", "leads out of its folder"), "--show": ("x/**", "has no rule 'x/**'")}
    for option, (glob, error) in slips.items():
        refused = zoo("store", "private", "zoo", option, glob)
        assert (refused.status, error in refused.err) == (2, True)
    assert "may not go" in zoo("store", "private", "zoo").out
    assert "may go" in zoo("store", "private", "zoo", "--send").out
    assert "may not go" in zoo("store", "private", "zoo", "--keep").out
    said = zoo("store", "private", "zoo", "--hide", "deep/**", "--hide", "*.key.md").out
    assert "2 private notes (1 marked in the file, 1 by a rule)." in said
    assert "  deep/**: 1 document\n  *.key.md: hides nothing yet\n" in said
    assert "applies this to copies outside the store and to scores: commonplace index --store zoo" in said
    shown = zoo("store", "private", "zoo", "--show", "*.key.md", "--json").json
    assert shown["private_rules"] == {"deep/**": 1}
    assert (shown["documents"], shown["private"]) == (3, 2)
    assert (shown["private_by_note"], shown["private_by_rule"], shown["sends_private"]) == (1, 1, False)
    zoo("index", "--store", "zoo")
    assert zoo("store", "info", "zoo", "--json").json["unsent"] == 0
    assert zoo("verify", "--store", "zoo").status == 0  # the index has one copy left, as it should


def test_an_empty_embedder_is_an_error_and_changes_nothing(run: Run) -> None:
    refused = run("store", "create", "s", "--embedder", "")
    assert (refused.status, refused.err.split("\n")[0]) == (2, "Error: There is no embedder called ''.")
    assert run("store", "list", "--json").json["stores"] == []
    run("store", "create", "s", "--embedder", "hashing")
    refused = run("store", "switch", "s", "--embedder", "")
    assert (refused.status, refused.err.split("\n")[0]) == (2, "Error: There is no embedder called ''.")


def test_the_embedder_for_tests_is_offered_to_nobody(run: Run) -> None:
    said = run("store", "create", "s", "--embedder", "nothing").err
    assert "'minilm' (built in)" in said
    assert "hashing" not in said
    for page in ("cli", "configuration", "using", "installing"):
        assert "hashing" not in (Path(__file__).parents[2] / "docs" / f"{page}.md").read_text("utf-8")
