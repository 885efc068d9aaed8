"""A reply as JSON and as Markdown."""

from __future__ import annotations

import json

import pytest

from rag_core.ask import Checker, reply_forms
from rag_core.replies import Reference, Reply
from rag_core.types import Notice

HOSTILE = (
    "![x](http://evil.example/x.png) <img src=http://evil.example/y> [click](javascript:alert) [[note]]"
    " www.evil.example mail@evil.example `code` $x$ #tag &#33;[x](javascript:alert)"
)


def reply_of(said: str, path: str = "a.md") -> Reply:
    passage = "The harbour opens at six."
    checker = Checker(
        [Reference(1, "port", path, "# Harbour", 0, "key", "H", "markdown", 3, 5, "text", "", passage)]
    )
    checker.feed(said)
    checker.end()
    return Reply(
        "When?", "answered", ("port",), tuple(checker.statements), checker.references, 1,
        notices=(Notice("Mind the gap.", on_page="Mind."),), model="ollama:talker", took_ms=1.5,
    )  # fmt: skip


REPLIES = [
    reply_of('It "opens at six" [1], "at noon" [1]. No [9].\n\n- One [1]'),
    reply_of(""),
    Reply("Why?", "nothing found", ("port",), message="Nothing."),
]


@pytest.mark.parametrize("reply", REPLIES)
def test_what_is_kept_is_read_as_it_was(reply: Reply) -> None:
    assert reply_forms.from_kept(json.loads(json.dumps(reply_forms.kept(reply)))) == reply


def test_what_was_kept_before_passages_had_scores_is_read_as_well() -> None:
    kept = json.loads(json.dumps(reply_forms.kept(REPLIES[0])))
    del kept["pending"]
    for reference in kept["references"]:
        del reference["score"], reference["relevant"]
    assert reply_forms.from_kept(kept) == REPLIES[0]


def test_a_heading_that_only_repeats_the_name_of_the_file_is_not_said_twice() -> None:
    [reference] = reply_of("", "notes/harbour.md").references
    assert reference.place == "port/notes/harbour.md"
    [reference] = reply_of("", "notes/sea.md").references
    assert reference.place == "port/notes/sea.md :: Harbour"


def test_json_has_the_seeds_names() -> None:
    written = reply_forms.reply(REPLIES[0])
    assert {"answer", "references", "found", "retrieved_chunks", "message"} <= written.keys()
    [reference] = written["references"]
    names = {"vault": "port", "rel_path": "a.md", "heading_path": "# Harbour", "chunk_index": 0}
    assert names.items() <= reference.items()
    assert reference["spans"] == [[12, 24]]
    assert (reference["score"], reference["relevant"]) == (0.0, True)
    assert reference["link"] == "/files?store=port&path=a.md&passage=key"
    said = 'It "opens at six" [1], "at noon" [not in the passage] [1]. No. [no source]'
    assert written["answer"] == f"{said}\n\n- One [1] [no quote]"


def test_nothing_found_is_empty_in_json() -> None:
    written = reply_forms.reply(REPLIES[2])
    assert (written["answer"], written["references"], written["found"]) == ("", [], False)
    assert (written["retrieved_chunks"], written["message"]) == (0, "Nothing.")


def test_markdown_has_the_question_the_answer_and_the_sources() -> None:
    assert reply_forms.markdown(reply_of('It "opens at six" [1].')) == (
        '**When?**\n\nIt "opens at six" [1].\n\nSources:\n\n- [1] port/a.md :: Harbour, lines 3-5\n'
    )


def test_nothing_in_markdown_fetches_or_leads_anywhere() -> None:
    markdown = reply_forms.markdown(
        reply_of(f"{HOSTILE} [1](http://evil.example) [1]: http://evil.example [1]", HOSTILE)
    )
    for live in ("![", "](", "<img", "[[", "http:", "www.", "@", "`", "$", "[1]:", "&"):
        assert not any(
            markdown[at - 1 : at] != "\\" for at in range(len(markdown)) if markdown.startswith(live, at)
        ), live


def test_a_path_over_several_lines_is_one_line_of_the_sources() -> None:
    path = "a\n\n# Heading\r\n[1]: http://evil.example\u2028> quote.md"
    markdown = reply_forms.markdown(reply_of("It opens [1].", path))
    [source] = markdown.partition("Sources:")[2].strip().splitlines()
    assert source.startswith("- [1] port/a \\# Heading \\[1\\]: http\\://evil.example \\> quote.md")
