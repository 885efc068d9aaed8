"""Why a file is found or not."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from rag_core.config import Settings
from rag_core.extract import plain
from rag_core.library import Library
from rag_core.messages import say
from rag_core.reports import Diagnosis, DiagnosisStep
from rag_core.types import OWNER, Extracted
from rag_core.wording import ranked
from tests.conftest import index
from tests.extract.test_ocr import packed, picture
from tests.search.diagnosed import EXCLUDES, ask, last
from tests.support.command import Run
from tests.support.trees import write


def test_a_file_that_is_found_says_how_it_was_read_and_embedded(library: Library, vault: Path) -> None:
    found = ask(library, vault / "a.md")
    assert found.findable
    assert [step.state for step in found.steps] == ["ok"] * 4
    assert "It was read as markdown" in found.steps[2].sentence
    assert last(found) == "1 passage can be found by meaning."


NOT_FOUND = {
    "draft.md": ("An exclude pattern matches it: 'draft*'.", EXCLUDES.replace("NUMBER", "1 --store s")),
    "ignored.md": (".gitignore", "Move or rename the file."),
    "key.pem": ("look like keys or secrets", "Move or rename the file."),
    "song.mp3": ("It was skipped: ", "Commonplace does not read this kind of file"),
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


def test_a_file_in_a_document_that_is_a_folder_says_how_to_save_it(library: Library, vault: Path) -> None:
    write(vault, {"My.pages/Index.zip": "x"})
    found = ask(library, vault / "My.pages" / "Index.zip")
    assert "Save it as DOCX to search its text." in last(found)
    assert found.advice == say("save_document")


def test_a_file_outside_every_folder_names_the_folders(library: Library, vault: Path) -> None:
    outside = vault.parent / "x.md"
    outside.write_text("Nobody chose it.", "utf-8")
    found = ask(library, outside)
    assert not found.findable
    assert last(found) == f"No folder of store 's' contains this file. The folders of the store: {vault}."
    assert found.advice == say("add_folder")


@pytest.mark.parametrize("path", ["/elsewhere/x.md", "sub/nowhere.md"])
def test_a_file_that_is_nowhere_is_said_to_be_nowhere(library: Library, vault: Path, path: str) -> None:
    found = ask(library, path)
    assert last(found) == f"There is no file {path!r} in the folders of store 's': {vault}."
    assert found.advice == say("spelling")


@pytest.mark.posix
@pytest.mark.parametrize("name", ["a.mobi", "b.MP3"])
def test_a_file_of_a_kind_that_is_not_read_says_so_wherever_it_is(
    library: Library, vault: Path, name: str
) -> None:
    elsewhere = ask(library, Path("/elsewhere") / name)
    (vault / name).write_bytes(b"\x00\x01BOOKMOBI\x00\xff")
    not_read_yet = ask(library, vault / name)
    index(library, "s")
    skipped = ask(library, vault / name)
    library.sources.change(OWNER, "s", 1, ["*.md"])
    left_out = ask(library, vault / name)
    assert {each.findable for each in (elsewhere, not_read_yet, skipped, left_out)} == {False}
    assert {each.advice for each in (elsewhere, not_read_yet, skipped, left_out)} == {say("not_a_document")}
    assert last(skipped).startswith("It was skipped: ")


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


def test_a_changed_file_is_found_as_it_was_and_a_missing_one_is_not(library: Library, vault: Path) -> None:
    (vault / "a.md").write_text("# Heron\n\nIt flew away, and much has changed.", "utf-8")
    (vault / "sub/b.md").unlink()
    changed, missing = ask(library, vault / "a.md"), ask(library, "sub/b.md")
    assert (changed.findable, missing.findable) == (True, False)
    assert "The file has changed since it was read." in [step.sentence for step in changed.steps]
    assert [step.state for step in missing.steps] == ["ok", "no"]
    assert not library.search(OWNER, "boat river", mode="lexical").hits
    assert missing.steps[1].sentence.startswith("It cannot be read: no such file")
    assert missing.steps[1].sentence.endswith("The next run removes it from the index.")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "The file is empty. It is found by its name only."),
        (" \n\t\n", "It has no text to compare by meaning. It is found by its name."),
    ],
)
def test_a_note_without_text_is_not_said_to_be_found_by_meaning(
    library: Library, vault: Path, text: str, said: str
) -> None:
    (vault / "empty.md").write_text(text, "utf-8")
    (vault / "titled.md").write_text("---\ntitle: A title alone\n---\n", "utf-8")
    index(library, "s")
    assert last(ask(library, vault / "empty.md")) == said
    assert last(ask(library, vault / "titled.md")) == "1 passage can be found by meaning."


def test_an_excluded_file_says_who_excluded_it(library: Library, vault: Path) -> None:
    library.files.exclude(OWNER, "s", "a.md", "Too long.")
    for _ in range(2):  # before the run that forgets it, and after
        found = ask(library, vault / "a.md")
        assert not found.findable
        assert last(found) == "It is excluded. Too long."
        assert found.advice == say("include", command="commonplace exclude a.md --undo --store s")
        library.jobs.run(OWNER, "s")


def test_a_private_note_is_for_the_owner(library: Library, vault: Path) -> None:
    said = "It is private: only the owner finds it. The note says so."
    assert last(ask(library, vault / "private.md")) == said
    library.privacy.set(OWNER, "s", ["sub/**", "private.*"])
    said = "It is private: only the owner finds it. The rule 'sub/**' says so."
    assert last(ask(library, vault / "sub" / "b.md")) == said
    said = "It is private: only the owner finds it. The note says so. The rule 'private.*' says so."
    assert last(ask(library, vault / "private.md")) == said


def test_what_an_unplugged_disk_held_is_found_still_and_not_forgotten(
    library: Library, vault: Path, tmp_path: Path
) -> None:
    vault.rename(tmp_path / "gone")
    found = ask(library, "a.md")
    assert found.findable
    assert found.steps[1].sentence == (
        f"The folder {str(vault)!r} does not exist. Its indexed text can still be found."
    )
    assert "The next run removes" not in " ".join(step.sentence for step in found.steps)
    library.jobs.request(OWNER, "s")
    library.jobs.run(OWNER, "s")
    assert ask(library, "a.md").steps == found.steps


def test_a_damaged_store_is_named_beside_the_others(library: Library, vault: Path) -> None:
    (library.settings.store_dir / "broken.db").write_bytes(b"not a database" * 100)
    library.create_store(OWNER, "empty", "hashing")
    found = library.upkeep.explain(OWNER, str(vault / "a.md"), query="heron")
    assert [(each.store, each.findable) for each in found] == [("broken", False), ("s", True)]
    assert last(found[0]).startswith("Store 'broken' cannot be opened")
    assert len(library.upkeep.explain(OWNER, "/elsewhere/a.md")) == 3


def test_a_file_that_is_not_among_the_first_for_a_query_says_so(library: Library, vault: Path) -> None:
    near = Diagnosis(
        "s", "a.md", (DiagnosisStep("ok", "Read."),), query="tea", rank=10, score=0.7, relevant=True
    )
    miss = replace(near, rank=112, score=0.2, relevant=False)
    assert ranked(near) == "For 'tea' its best passage is number 10 with a score of 0.70."
    assert ranked(miss).startswith(
        "For 'tea' its best passage is number 112 with a score of 0.20, a near miss."
    )
    assert ranked(replace(near, rank=None)).endswith("not among the first 1,000 passages.")


def test_the_rank_for_a_query_is_the_one_that_search_gives(library: Library, vault: Path) -> None:
    answer = library.search(OWNER, "river boat")
    rank = next(hit.rank for hit in answer.hits if hit.document.path == "a.md")
    assert ask(library, vault / "a.md", "river boat").rank == rank
    assert ask(library, vault / "sub/b.md", "river boat").rank == 1
    assert ask(library, vault / "a.md", "tag:none").rank is None


def test_doctor_names_what_does_not_work(library: Library, vault: Path, tmp_path: Path) -> None:
    (library.settings.store_dir / "broken.db").write_bytes(b"not a database")
    vault.rename(tmp_path / "gone")
    steps = library.upkeep.doctor(OWNER)
    assert next(s for s in steps if "SQLite" in s.sentence).state == "ok"
    assert any(s.state == "no" and "'broken'" in s.sentence for s in steps)
    assert any(s.state == "ok" and s.sentence.startswith("Store 's' opens: ") for s in steps)
    assert any(s.state == "note" and "is not there" in s.sentence for s in steps)


@pytest.mark.posix
def test_doctor_says_that_a_file_is_no_data_folder(library: Library, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("No folder.", "utf-8")
    (tmp_path / "file").chmod(0o700)
    elsewhere = Library.open(library.settings.model_copy(update={"data_dir": tmp_path / "file"}))
    assert elsewhere.upkeep.doctor(OWNER)[2].state == "no"


def test_doctor_on_the_command_line(run: Run, library: Library, vault: Path) -> None:
    result = run("doctor", "--file", vault / "draft.md")
    assert result.status == 1
    assert "draft.md cannot be found in store 's'" in result.out
    assert f"Next: {EXCLUDES.replace('NUMBER', '1 --store s')}" in result.out
    result = run("doctor", "--file", vault / "a.md", "--query", "heron", "--json")
    found = result.json["stores"][0]
    assert (result.status, found["findable"], found["rank"]) == (0, True, 1)


def test_doctor_without_a_model_says_how_to_get_it(run: Run) -> None:
    result = run("doctor")
    assert result.status == 1
    assert "commonplace model install" in result.out


DEEP = {
    "plan.md": "# Plan\n\nThe plan.",
    "old.md": "# Old\n\nNot ready.",
    "ignored.md": "An ignored note.",
    "key2.pem": "secret",
    "film.mp4": "\x00\x01\x02",
    "broken.pdf": "%PDF-1.4 broken",
}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("plan.md", "It is excluded. Too long."),
        ("old.md", "An exclude pattern matches it: '**/old.md'."),
        ("ignored.md", ".gitignore"),
        ("key2.pem", "look like keys or secrets"),
        ("film.mp4", "It was skipped: "),
        ("broken.pdf", "It could not be read: "),
        ("late.md", "It was not read yet."),
    ],
)
def test_a_file_is_known_by_its_name_alone_anywhere_below_the_folders(
    library: Library, vault: Path, name: str, said: str
) -> None:
    (vault / "ignored.md").unlink()
    write(vault / "far" / "below", DEEP)
    library.sources.change(OWNER, "s", 1, ["**/*"], ["**/old.md"])
    index(library, "s")
    library.files.exclude(OWNER, "s", "far/below/plan.md", "Too long.")
    library.jobs.run(OWNER, "s")
    (vault / "far" / "below" / "late.md").write_text("# Late\n", "utf-8")
    for here in (None, vault, vault / "sub"):  # the command line asks from any folder
        found = ask(library, name, here=here)
        assert found.path == f"far/below/{name}"
        assert not found.findable
        assert said in last(found)
        assert found.advice


def test_a_file_that_waits_to_be_read_says_that_its_name_is_found(
    library: Library, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(vault / "far", {"first.md": "# First\n", "second.md": "# Second\n"})
    read, said = plain.read, list[str]()

    def look(data: bytes, path: PurePosixPath) -> Extracted:
        if not said:
            other = {"first.md": "second.md", "second.md": "first.md"}[path.name]
            said.append(last(ask(library, other)))
        return read(data, path)

    monkeypatch.setattr("rag_core.extract.plain.read", look)
    index(library, "s")
    assert said == ["It is not read yet; until then it is found by its name."]


def test_a_picture_that_waits_for_ocr_is_not_said_to_be_read(tmp_path: Path, notes: Path) -> None:
    (notes / "photo.png").write_bytes(packed(picture(), "PNG"))
    known = Settings(tmp_path / "data", tmp_path / "models", (), ocr="off")
    with closing(Library.open(known)) as without_ocr:
        index(without_ocr, "s", notes)
        [found] = without_ocr.upkeep.explain(OWNER, "photo.png", ["s"])
    said = [str(step.said) for step in found.steps]
    assert said[-2:] == [
        "OCR is off, so the text in pictures is not read.",
        "It is a picture whose text is not read yet. Until then it is found by its name.",
    ]
    assert not any("was read as" in each or "no text" in each for each in said)


def test_several_files_of_one_name_that_are_not_read_are_listed(library: Library, vault: Path) -> None:
    for folder in ("far", "near"):
        write(vault / folder, {"draft-c.md": "# Draft\n"})
    found = ask(library, "draft-c.md")
    assert found.advice == say("one_of", paths="'far/draft-c.md', 'near/draft-c.md'")
