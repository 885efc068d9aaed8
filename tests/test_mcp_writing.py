"""MCP: the tools that write, for an owner who lets assistants do so."""

from __future__ import annotations

from pathlib import Path

from rag_core.library import Library
from rag_core.types import OWNER
from tests.assistant import Assistant, over_http, serving_mcp
from tests.consistency import check_library
from tests.mcp_door import READING, VIEWERS, WRITING, known
from tests.trees import write


def test_a_file_and_a_folder_are_indexed(mcp_owner: Assistant, mcp_library: Library, notes: Path) -> None:
    write(notes / "sea", {"new.md": "# New\n\nA new lighthouse.\n", "deep/more.md": "# More\n\nMore.\n"})
    done = mcp_owner.data("index_file", file_path=str(notes / "sea" / "new.md"))
    assert (done["source_file"], done["finished"], done["job"]["state"]) == ("new.md", True, "done")
    assert done["job"]["results"][0]["outcome"] == "added"
    assert mcp_owner.data("search", query="lighthouse", n_results=1)["results"][0]["file_path"] == "new.md"
    assert "deep/more.md" not in known(mcp_library)
    done = mcp_owner.data("index_directory", dir_path="deep")
    assert [each["source_file"] for each in done["job"]["results"]] == ["deep/more.md"]
    done = mcp_owner.data("index_directory", dir_path="deep")
    assert (done["finished"], done["job"]["counts"]) == (True, {"unchanged": 2})
    whole = mcp_owner.data("index_directory", dir_path=str(notes / "sea"))
    assert whole["job"]["counts"] == {"unchanged": 7}


def test_a_file_that_cannot_be_read_is_an_error(mcp_owner: Assistant, notes: Path) -> None:
    (notes / "sea" / "bad.md").write_bytes(b"\xef\xbb\xbf" + b"\xff" * 20)
    assert "'bad.md' could not be read." in mcp_owner.error("index_file", file_path="bad.md")


def test_another_file_that_fails_in_the_same_run_is_no_error_of_this_one(
    mcp_owner: Assistant, mcp_library: Library, notes: Path
) -> None:
    write(notes / "sea", {"new.md": "# New\n\nA new lighthouse.\n"})
    (notes / "sea" / "bad.md").write_bytes(b"\xef\xbb\xbf" + b"\xff" * 20)
    mcp_library.request_path(OWNER, "sea", "bad.md")
    done = mcp_owner.data("index_file", file_path="new.md")
    assert (done["source_file"], done["job"]["failed"]) == ("new.md", 1)


def test_passages_are_taken_out_and_it_says_for_how_long(mcp_owner: Assistant, mcp_library: Library) -> None:
    [hit] = mcp_owner.data("search", query="berth forty euros", n_results=1)["results"]
    done = mcp_owner.data("delete_chunks", ids=[hit["id"]])
    assert done["chunks_deleted"] == 1
    assert "back as soon as its file changes" in done["message"]
    assert mcp_owner.data("search", query='"forty euros"')["results"] == []
    assert "no longer in the store" in mcp_owner.error("open", id=hit["id"])
    check_library(mcp_library, "sea")


def test_a_document_is_excluded_and_it_says_how_to_take_it_back(
    mcp_owner: Assistant, mcp_library: Library, notes: Path
) -> None:
    done = mcp_owner.data("delete_file", source_file=str(notes / "sea" / "boats.md"))
    assert done["source_file"] == "boats.md"
    assert "commonplace exclude boats.md --undo --store sea" in done["message"]
    assert "boats.md" not in known(mcp_library)
    assert mcp_library.file(OWNER, "sea", "boats.md").state == "excluded"
    assert (notes / "sea" / "boats.md").exists()
    assert "excluded" in mcp_owner.error("index_file", file_path="boats.md")


def test_a_store_is_emptied_paused_and_the_files_stay(
    mcp_owner: Assistant, mcp_library: Library, notes: Path
) -> None:
    done = mcp_owner.data("clear_index", confirm=True)
    assert (done["documents"], done["finished"]) == (5, True)
    assert "paused" in done["message"]
    assert known(mcp_library) == set()
    assert all(each.source.paused for each in mcp_library.sources(OWNER, "sea"))
    assert len(list((notes / "sea").rglob("*.md"))) == 5


def test_without_leave_nothing_can_be_written(mcp_library: Library) -> None:
    before = known(mcp_library)
    with serving_mcp(mcp_library, VIEWERS) as url:
        assistant = over_http(url, {"who": "owner"})
        assert {tool.name for tool in assistant.tools()} == READING
        for name in WRITING:
            assert "mcp_allow_writes" in assistant.error(name, confirm=True)
    assert known(mcp_library) == before
