"""MCP for guests: they read what was shared with them, and hear of nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rag_core.library import Library
from rag_core.types import OWNER
from tests.assistant import Assistant
from tests.conftest import index
from tests.mcp_door import READING, Talk, known


def test_a_guest_has_no_tool_that_writes(mcp_guest: Assistant, mcp_library: Library) -> None:
    before = known(mcp_library)
    assert {tool.name for tool in mcp_guest.tools()} == READING
    for name, arguments in (("clear_index", {"confirm": True}), ("delete_file", {"source_file": "boats.md"})):
        assert mcp_guest.error(name, **arguments).startswith(f"There is no tool called '{name}'.")
    assert known(mcp_library) == before


def test_a_guest_finds_no_private_document_anywhere(mcp_guest: Assistant, mcp_library: Library) -> None:
    [secret] = mcp_library.documents.get(OWNER, "sea", "diary.md").chunks
    said = [
        mcp_guest.call("search", query="password sesame diary"),
        mcp_guest.call("search_with_budget", query="password sesame", max_tokens=9000),
        mcp_guest.call("open", file_path="harbour.md"),
        mcp_guest.call("ask", question="What is the password?"),
        mcp_guest.call("get_index_stats"),
        mcp_guest.call("status"),
    ]
    found = [hit for each in said for hit in each["data"].get("results") or ()]
    assert found
    own_words = [hit.pop("reasons") for hit in found]
    assert "sesame" not in str(found)
    assert all("sesame" not in reason.partition("; without ")[0] for each in own_words for reason in each)
    assert "diary.md" not in str(said)
    assert mcp_guest.data("get_index_stats")["unique_files"] == 4
    assert mcp_guest.error("open", file_path="diary.md").replace("diary", "…") == mcp_guest.error(
        "open", file_path="absent.md"
    ).replace("absent", "…")
    for name in ("open", "neighbors"):
        assert mcp_guest.error(name, id=secret.key) == mcp_guest.error(name, id="absent")


def test_a_guest_is_told_no_folder_of_this_machine(mcp_guest: Assistant, notes: Path) -> None:
    said = str(
        [
            mcp_guest.call("search", query="harbour"),
            mcp_guest.call("open", file_path="boats.md"),
            mcp_guest.call("open", file_path=str(notes / "sea" / "nothing.md")),
            mcp_guest.call("status"),
            mcp_guest.call("get_index_stats"),
        ]
    )
    assert said.count(str(notes)) == 1, "only what the guest wrote"


def test_an_ungranted_store_and_an_unknown_one_are_the_same(
    mcp_guest: Assistant, mcp_library: Library, notes: Path
) -> None:
    index(mcp_library, "mine", notes / "mine")
    for name, arguments in {
        "search": {"query": "harbour"},
        "open": {"file_path": "own.md"},
        "neighbors": {"id": "x"},
        "ask": {"question": "harbour"},
        "status": {},
        "get_index_stats": {},
    }.items():
        ungranted, unknown = (mcp_guest.error(name, **arguments, store=store) for store in ("mine", "nine"))
        assert ungranted.replace("mine", "…") == unknown.replace("nine", "…"), name
        assert "There are: sea." in ungranted
    inside, unknown = (mcp_guest.error("search", query=f"harbour store:{name}") for name in ("mine", "nine"))
    assert inside.replace("mine", "…") == unknown.replace("nine", "…")
    assert mcp_guest.data("search", query="harbour")["stores"] == ["sea"], "the only one needs no name"


def test_each_request_is_served_for_whoever_sent_it(
    mcp_talk: Talk, mcp_library: Library, notes: Path
) -> None:
    """Nothing is kept from a conversation that the next one could go on with."""
    index(mcp_library, "mine", notes / "mine")

    async def conversation(client: Any) -> Any:
        return client.session

    for who, names in (("owner", ["mine", "sea"]), ("guest", ["sea"])):
        mcp_talk(who).talk(conversation)
        assert [store["name"] for store in mcp_talk(who).data("status")["stores"]] == names


def test_nobody_gets_nothing(mcp_talk: Talk) -> None:
    stranger = mcp_talk("stranger")
    assert stranger.tools() == []
    assert stranger.error("search", query="harbour") == (
        "Nobody is known by this name. Ask the owner of this library."
    )
