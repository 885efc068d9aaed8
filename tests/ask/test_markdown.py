"""A reply as Markdown."""

from __future__ import annotations

from rag_core.ask import Checker
from rag_core.ask.markdown import markdown
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
        notices=(Notice("", {"text": "Mind the gap."}),), model="ollama:talker", took_ms=1.5,
    )  # fmt: skip


def test_a_heading_that_only_repeats_the_name_of_the_file_is_not_said_twice() -> None:
    [reference] = reply_of("", "notes/harbour.md").references
    assert reference.place == "port/notes/harbour.md"
    [reference] = reply_of("", "notes/sea.md").references
    assert reference.place == "port/notes/sea.md :: Harbour"


def test_markdown_has_the_question_the_answer_and_the_sources() -> None:
    assert markdown(reply_of('It "opens at six" [1].')) == (
        '**When?**\n\nIt "opens at six" [1].\n\nSources:\n\n- [1] port/a.md :: Harbour, lines 3-5\n'
    )


def test_nothing_in_markdown_fetches_or_leads_anywhere() -> None:
    written = markdown(reply_of(f"{HOSTILE} [1](http://evil.example) [1]: http://evil.example [1]", HOSTILE))
    for live in ("![", "](", "<img", "[[", "http:", "www.", "@", "`", "$", "[1]:", "&"):
        assert not any(
            written[at - 1 : at] != "\\" for at in range(len(written)) if written.startswith(live, at)
        ), live


def test_a_path_over_several_lines_is_one_line_of_the_sources() -> None:
    path = "a\n\n# Heading\r\n[1]: http://evil.example\u2028> quote.md"
    written = markdown(reply_of("It opens [1].", path))
    [source] = written.partition("Sources:")[2].strip().splitlines()
    assert source.startswith("- [1] port/a \\# Heading \\[1\\]: http\\://evil.example \\> quote.md")
