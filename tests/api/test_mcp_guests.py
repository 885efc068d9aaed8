"""MCP for guests: they read what was shared with them, and hear of nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rag_core.library import Library
from tests.api.mcp_door import Talk
from tests.conftest import index
from tests.support.assistant import Assistant
from tests.support.stored import keys


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
        "neighbors": {"id": keys(mcp_library, "mine", "own.md")[0]},
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
