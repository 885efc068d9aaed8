"""What an answer lacks is said wherever it is shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest

from rag_core.ask.markdown import markdown
from rag_core.library import Library
from rag_core.types import OWNER
from tests.api.mcp_door import VIEWERS
from tests.ask.answering import QUESTION, Answering
from tests.conftest import index
from tests.support.assistant import over_http, serving_mcp
from tests.support.chat_servers import OllamaChat, say
from tests.support.command import Run
from tests.support.configured import configure
from tests.support.documents_made import pdf
from tests.support.rest import serving_rest
from ui.ask.ask_html import answer_html

SAID = 'Herons fly to the moon [1]. It "opens at six" [1]. It "closes" [1]. Nobody says so.'
MARKED = (
    'Herons fly to the moon [1]. [no quote] It "opens at six" [1]. It "closes" [not in the passage] [1].'
    " Nobody says so. [no source]"
)


def as_rest(library: Library, _: Run) -> str:
    with serving_rest(library, OWNER) as rest:
        return str(rest.post("/ask", {"question": QUESTION}).json["answer"])


def as_mcp(library: Library, _: Run) -> str:
    with serving_mcp(library, VIEWERS) as url:
        return str(over_http(url, {"who": "owner"}).data("ask", question=QUESTION, store="port")["answer"])


def on_the_page(library: Library, _: Run) -> str:
    """Its marks are told from the text by their looks."""
    page = answer_html(library.ask(OWNER, QUESTION).statements, 1)
    flagged = re.sub(r'<span class="cp-(?:flag|quiet)"> ?\(?([^<(]*?)\)?</span>', r" [\1]", page)
    return unescape(re.sub(r"<[^>]*>", "", flagged))


FACES: dict[str, Callable[[Library, Run], str]] = {
    "library": lambda library, _: library.ask(OWNER, QUESTION).answer,
    "markdown": lambda library, _: markdown(library.ask(OWNER, QUESTION)).replace("\\", ""),
    "command line": lambda _, run: run("ask", QUESTION).out,
    "command line, JSON": lambda _, run: str(run("ask", QUESTION, "--json").json["answer"]),
    "REST": as_rest,
    "MCP": as_mcp,
    "page": on_the_page,
}


@pytest.mark.parametrize("face", FACES)
def test_every_face_marks_what_is_false_has_no_source_or_no_quote(
    face: str, answering: Answering, ollama_chat: OllamaChat, home: Path, run: Run
) -> None:
    library = answering(say(SAID))
    configure(home, f"llm: ollama:talker\nollama_url: {ollama_chat.url}\n")
    assert MARKED in FACES[face](library, run)


def test_every_face_says_in_the_same_words_where_a_passage_is(
    library: Library, notes: Path, run: Run
) -> None:
    (notes / "tea.pdf").write_bytes(pdf("Black tea", "Green tea"))
    index(library, "s", notes)
    with serving_rest(library, OWNER) as rest, serving_mcp(library, {"owner": OWNER}) as url:
        told = [
            rest.post("/search", {"query": "green"}).json["results"][0],
            rest.get("/documents/s/tea.pdf").json["passages"][1],
            over_http(url, {"who": "owner"}).data("search", query="green")["results"][0],
            run("query", "green", "--json").json["results"][0],
        ]
    assert [each["anchor"] for each in told] == ["page 2"] * 4
    assert "tea.pdf, page 2" in run("query", "green").out
