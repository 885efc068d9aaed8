"""Why a file is found or not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rag_core.errors import InvalidInput, NotFound
from rag_core.library import Library
from rag_core.messages import say
from rag_core.types import OWNER
from tests.command import Run
from tests.conftest import index
from tests.diagnosed import EXCLUDES, ask, last
from tests.stored import store_of
from ui.messages import sentence


def test_a_file_that_is_found_says_how_it_was_read_and_embedded(library: Library, vault: Path) -> None:
    found = ask(library, vault / "a.md")
    assert found.findable
    assert [step.state for step in found.steps] == ["ok"] * 4
    assert "It was read as markdown" in found.steps[2].sentence
    assert last(found) == "1 passage can be found by meaning."


@pytest.mark.parametrize("path", ["sub/b.md", "./sub/../sub/b.md"])
def test_a_path_may_be_relative_or_as_the_store_calls_it(library: Library, vault: Path, path: str) -> None:
    assert ask(library, path, here=vault).path == "sub/b.md"
    assert ask(library, "sub/b.md", here=Path("/")).findable


def test_a_file_that_was_not_read_yet_may_be_called_as_the_store_would_call_it(
    library: Library, vault: Path, tmp_path: Path
) -> None:
    (vault / "sub" / "new.md").write_text("Nobody read it.")
    found = ask(library, "sub/new.md", here=tmp_path)
    assert (found.path, found.steps[-1].sentence) == ("sub/new.md", "It was not read yet.")
    assert found.advice == say("index", store="s")
    assert sentence(found.advice) == "Index the store again on the Index page."
    assert str(found.advice) == "Index the store on the Index page, or with `commonplace index --store s`."
    assert ask(library, "../notes/sub/new.md", here=tmp_path / "elsewhere").path == "sub/new.md"
    library.sources.pause(OWNER, "s", 1)
    assert ask(library, vault / "sub/new.md").advice == say("resume_folder", number=1, store="s")


NOT_FOUND = {
    "draft.md": ("it matches an exclude pattern: 'draft*'", EXCLUDES.replace("NUMBER", "1 --store s")),
    "ignored.md": (".gitignore", "Move or rename the file."),
    "key.pem": ("looks like a key or secret", "Move or rename the file."),
    "picture.png": ("It was skipped: ", "Only text is read: Markdown"),
    "nowhere.md": ("cannot be read: no such file", "Check that the file is there"),
}


@pytest.mark.parametrize("name", NOT_FOUND)
def test_a_file_that_is_not_found_names_the_rule_and_the_next_step(
    library: Library, vault: Path, name: str
) -> None:
    found = ask(library, vault / name)
    assert not found.findable
    assert NOT_FOUND[name][0] in last(found)
    assert str(found.advice).startswith(NOT_FOUND[name][1])


def test_a_file_outside_every_folder_names_the_folders(library: Library, vault: Path) -> None:
    outside = vault.parent / "x.md"
    outside.write_text("Nobody chose it.")
    found = ask(library, outside)
    assert not found.findable
    assert last(found) == f"No folder of store 's' contains it. Its folders: {vault}."
    assert found.advice == say("add_folder")


@pytest.mark.parametrize("path", ["/elsewhere/x.md", "sub/nowhere.md"])
def test_a_file_that_is_nowhere_is_said_to_be_nowhere(library: Library, vault: Path, path: str) -> None:
    found = ask(library, path)
    assert last(found) == f"There is no file {path!r} in the folders of store 's': {vault}."
    assert found.advice == say("spelling")


def test_a_file_that_is_nowhere_is_said_with_one_that_may_be_meant(library: Library, vault: Path) -> None:
    (vault / "sub" / "meeting-01.md").write_text("They met.")
    index(library, "s")
    asked, meant = "meeting-001.md", "sub/meeting-01.md"
    found = ask(library, asked)
    assert last(found).endswith(f" Did you mean {meant!r}?")
    with pytest.raises(NotFound, match=f"Did you mean '{meant}'"):
        library.jobs.request_file(OWNER, "s", asked)
    assert "Did you mean" not in last(ask(library, "elsewhere/report.md"))


def test_a_new_file_is_found_below_its_folder_by_its_name(library: Library, vault: Path) -> None:
    (vault / "sub" / "heliotrope.md").write_text("Nobody read it.")
    found = ask(library, "heliotrope.md")
    assert (found.path, last(found)) == ("sub/heliotrope.md", "It was not read yet.")


def test_a_file_of_another_store_names_that(library: Library, vault: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    library.create_store(OWNER, "other", "hashing")
    library.add_source(OWNER, "other", tmp_path / "empty", ["**/*"])
    [found] = library.upkeep.explain(OWNER, str(vault / "a.md"), ["other"])
    assert (found.store, found.findable) == ("other", False)
    assert found.advice == say("ask_in_store", store="s")


@pytest.mark.parametrize("name", ["a.pdf", "b.EPUB", "c.png"])
def test_a_file_of_a_kind_that_is_not_read_says_so_wherever_it_is(
    library: Library, vault: Path, name: str
) -> None:
    elsewhere = ask(library, Path("/elsewhere") / name)
    (vault / name).write_bytes(b"%PDF-1.7 \x00\x01")
    not_read_yet = ask(library, vault / name)
    index(library, "s")
    skipped = ask(library, vault / name)
    library.sources.change(OWNER, "s", 1, ["*.md"])
    left_out = ask(library, vault / name)
    assert {each.findable for each in (elsewhere, not_read_yet, skipped, left_out)} == {False}
    assert {each.advice for each in (elsewhere, not_read_yet, skipped, left_out)} == {say("only_text")}
    assert last(skipped).startswith("It was skipped: ")


def test_a_file_of_such_a_kind_is_asked_about_in_the_store_that_holds_it(
    library: Library, vault: Path
) -> None:
    (vault / "a.pdf").write_bytes(b"%PDF-1.7")
    library.create_store(OWNER, "other", "hashing")
    assert ask(library, vault / "a.pdf").store == "s"


@pytest.mark.parametrize("name", ["b.md", "Boat", "boat"])
def test_a_bare_name_leads_to_the_documents_that_have_it(library: Library, vault: Path, name: str) -> None:
    found = ask(library, name, here=Path("/"))
    assert (found.findable, found.path) == (True, "sub/b.md")
    (vault / "other").mkdir()
    (vault / "other" / "b.md").write_text("---\naliases: [Boat]\n---\nAnother.", "utf-8")
    index(library, "s")
    found = ask(library, name, here=Path("/"))
    assert not found.findable
    assert str(found.advice).startswith("Ask about one of them: ")
    assert all(path in str(found.advice) for path in ("'sub/b.md'", "'other/b.md'"))


def test_a_file_that_lies_in_two_folders_is_told_why_neither_takes_it(library: Library, vault: Path) -> None:
    (vault / "sub" / "list.txt").write_text("Eggs.")
    library.add_source(OWNER, "s", vault / "sub", ["*"], exclude=["*.txt"])
    library.sources.change(OWNER, "s", 1, ["*.md"])
    found = ask(library, vault / "sub" / "list.txt")
    said = [step.sentence for step in found.steps]
    assert not found.findable
    assert [sentence for sentence in said if sentence.startswith("It is in the folder")] == [
        f"It is in the folder {str(folder)!r} of store 's'." for folder in (vault, vault / "sub")
    ]
    assert "matches no include pattern" in said[1]
    assert "matches an exclude pattern: '*.txt'" in said[3]


def test_changed_and_missing_files_are_found_as_they_were(library: Library, vault: Path) -> None:
    (vault / "a.md").write_text("# Heron\n\nIt flew away, and much has changed.", "utf-8")
    (vault / "sub/b.md").unlink()
    changed, missing = ask(library, vault / "a.md"), ask(library, "sub/b.md")
    assert (changed.findable, missing.findable) == (True, True)
    assert "The file has changed since it was read." in [step.sentence for step in changed.steps]
    assert [step.state for step in missing.steps] == ["ok", "note", "ok", "ok"]
    assert missing.steps[1].sentence.startswith("It cannot be read: no such file")
    assert missing.steps[1].sentence.endswith("The next run forgets it.")


def test_a_file_that_was_only_touched_has_not_changed(library: Library, vault: Path) -> None:
    os.utime(vault / "a.md", (1, 1))
    assert [step.state for step in ask(library, vault / "a.md").steps] == ["ok"] * 4
    assert library.files.get(OWNER, "s", "a.md").state == "fresh"
    assert library.documents.get(OWNER, "s", "a.md").document.state == "fresh"
    assert library.files.states(OWNER, "s")[library.files.get(OWNER, "s", "a.md").id] == "changed"
    (vault / "a.md").write_text("# Heron\n\nThe heron leave.", "utf-8")  # as long as it was
    assert library.files.get(OWNER, "s", "a.md").state == "changed"


def test_a_file_in_whose_place_a_folder_came_is_gone(library: Library, vault: Path) -> None:
    (vault / "a.md").unlink()
    (vault / "a.md").mkdir()
    found = ask(library, vault / "a.md")
    assert (found.findable, found.advice) == (True, say("ask_file_in_it"))
    assert (found.steps[1].state, found.steps[1].sentence) == (
        "note",
        "A folder has its name now. The next run forgets it.",
    )
    assert not any("has changed" in step.sentence for step in found.steps)
    assert library.files.get(OWNER, "s", "a.md").state == "missing"
    index(library, "s")
    assert last(ask(library, vault / "a.md")) == "It is a folder; only files are found."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "The file is empty; only its name finds it."),
        (" \n\t\n", "It has no text to be found by meaning; its name finds it."),
    ],
)
def test_a_note_without_text_is_not_said_to_be_found_by_meaning(
    library: Library, vault: Path, text: str, said: str
) -> None:
    (vault / "empty.md").write_text(text)
    (vault / "titled.md").write_text("---\ntitle: A title alone\n---\n")
    index(library, "s")
    assert last(ask(library, vault / "empty.md")) == said
    assert last(ask(library, vault / "titled.md")) == "1 passage can be found by meaning."


def test_an_empty_file_is_said_on_the_command_line_to_be_found_by_its_name(
    run: Run, library: Library, vault: Path
) -> None:
    (vault / "empty.md").write_text("")
    index(library, "s")
    shown = run("doctor", "--file", vault / "empty.md", "--query", "heron").out
    assert "empty.md can be found only by its name in store 's'" in shown
    assert run("query", "empty").out.splitlines()[0].endswith("empty.md:1")


def test_an_excluded_file_says_who_excluded_it(library: Library, vault: Path) -> None:
    library.files.exclude(OWNER, "s", "a.md", "Too long.")
    before = ask(library, vault / "a.md")
    assert before.findable
    assert "It is found until the next run." in before.steps[1].sentence
    library.jobs.run(OWNER, "s")
    found = ask(library, vault / "a.md")
    assert not found.findable
    assert last(found) == "It is excluded. Too long."
    assert found.advice == say("include", command="commonplace exclude a.md --undo --store s")


def test_a_private_note_is_for_the_owner(library: Library, vault: Path) -> None:
    said = "It is private, as the note says: only the owner finds it."
    assert last(ask(library, vault / "private.md")) == said
    library.privacy.set(OWNER, "s", ["sub/**", "private.*"])
    said = "It is private, by the rule 'sub/**': only the owner finds it."
    assert last(ask(library, vault / "sub" / "b.md")) == said
    said = "It is private, as the note says and by the rule 'private.*': only the owner finds it."
    assert last(ask(library, vault / "private.md")) == said


def test_paused_and_removed_folders_are_named(library: Library, vault: Path) -> None:
    source = library.stores.info(OWNER, "s").sources[0]
    library.sources.pause(OWNER, "s", source.id)
    assert "The folder is paused; changes wait." in [s.sentence for s in ask(library, vault / "a.md").steps]
    library.sources.remove(OWNER, "s", source.id)
    assert "The folder is being removed" in ask(library, vault / "a.md").steps[1].sentence


def test_only_the_stores_that_hold_the_file_answer(library: Library, vault: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x.md").write_text("Other.", "utf-8")
    index(library, "other", tmp_path / "other")
    assert [d.store for d in library.upkeep.explain(OWNER, str(vault / "a.md"))] == ["s"]
    assert len(library.upkeep.explain(OWNER, "/nowhere.md")) == 2


def test_a_whole_path_is_explained_also_where_the_current_folder_was_removed(
    library: Library, vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    [found] = library.upkeep.explain(OWNER, str(vault / "a.md"), ["s"])
    assert found.findable
    with pytest.raises(InvalidInput, match="no longer exists"):
        library.upkeep.explain(OWNER, "a.md")


def test_a_folder_is_no_file_that_was_not_read_yet(library: Library, vault: Path) -> None:
    for folder in (vault / "sub", vault):
        assert last(ask(library, folder)) == "It is a folder; only files are found."


def test_a_file_in_the_working_folder_goes_before_one_that_the_store_calls_so(
    library: Library, vault: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.md").write_text("Another heron.", "utf-8")
    (other / "b.txt").write_text("A bittern.", "utf-8")
    index(library, "s", other, "*.txt")
    assert ask(library, "a.md", here=other).path == "other/a.md"
    assert ask(library, "a.md", here=tmp_path).path == "a.md"


@pytest.mark.parametrize("path", ["a\0b.md", "~a\0b/c.md", "~nobody-here/x.md", "half \ud800.md", "x" * 5000])
def test_a_path_that_no_file_has_is_no_error(library: Library, vault: Path, path: str) -> None:
    assert not ask(library, path, here=vault).findable


def test_a_name_that_is_no_text_is_followed_too(library: Library, vault: Path) -> None:
    name = os.fsdecode(b"caf\xe9.md")
    (vault / name).write_text("Coffee.", "utf-8")
    index(library, "s")
    found = ask(library, name, here=vault)
    assert (found.findable, found.path) == (True, "caf\\xe9.md")
    assert ask(library, found.path, here=Path("/")).findable


def test_what_an_unplugged_disk_held_is_found_still_and_not_forgotten(
    library: Library, vault: Path, tmp_path: Path
) -> None:
    vault.rename(tmp_path / "gone")
    found = ask(library, "a.md")
    assert found.findable
    assert found.steps[1].sentence == (
        f"The folder {str(vault)!r} does not exist. What was read of it is still found."
    )
    assert "forgets" not in " ".join(step.sentence for step in found.steps)
    library.jobs.request(OWNER, "s")
    library.jobs.run(OWNER, "s")
    assert ask(library, "a.md").steps == found.steps


def test_a_file_that_was_excluded_from_another_folder_says_so(library: Library, vault: Path) -> None:
    library.create_store(OWNER, "t", "hashing")
    library.add_source(OWNER, "t", vault / "sub", ["**/*"])
    library.sources.pause(OWNER, "t", 1)
    index(library, "t", vault)
    library.files.exclude(OWNER, "t", "notes/sub/b.md", "It is old.")
    library.jobs.run(OWNER, "t")
    [found] = library.upkeep.explain(OWNER, str(vault / "sub/b.md"), ["t"])
    assert last(found) == "It is excluded. It is old."
    assert "`commonplace exclude notes/sub/b.md --undo --store t`" in str(found.advice)


def test_a_damaged_store_is_named_beside_the_others(library: Library, vault: Path) -> None:
    (library.settings.store_dir / "broken.db").write_bytes(b"not a database" * 100)
    library.create_store(OWNER, "empty", "hashing")
    found = library.upkeep.explain(OWNER, str(vault / "a.md"), query="heron")
    assert [(each.store, each.findable) for each in found] == [("broken", False), ("s", True)]
    assert last(found[0]).startswith("Store 'broken' cannot be opened")
    assert len(library.upkeep.explain(OWNER, "/elsewhere/a.md")) == 3


def test_a_refused_passage_is_not_said_to_wait_as_well(library: Library, vault: Path) -> None:
    store = store_of(library, "s")
    with store.write() as db:
        db.execute("DELETE FROM embeddings")
        db.execute(
            "INSERT INTO queue (hash, error) SELECT embed_hash, 'Too odd.' FROM chunks WHERE path = 'a.md'"
        )
    store.close()
    notes = [step.sentence for step in ask(library, "a.md").steps if step.state == "note"]
    assert notes == ["1 passage could not be embedded: Too odd."]
