"""Passages: their size, their borders and what is embedded of them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import PurePosixPath

import pytest

from rag_core.errors import InvalidInput
from rag_core.extract import extract
from rag_core.extract.chunk import chunk_spec, cut, prefix_of
from rag_core.text.embedded import embedded_text
from rag_core.types import Extracted, Passage

SENTENCE = "The quick brown fox jumps over the lazy dog near the river bank. "


def count_tokens(text: str) -> int:
    """A stand-in for WordPiece: pieces of four letters, every other mark and character alone."""
    return 2 + len(re.findall(r"[A-Za-z]{1,4}|[0-9]{1,2}|[^\sA-Za-z0-9]", text))


def read(text: str, name: str = "a.md") -> Extracted:
    return extract(text.encode(), PurePosixPath(name))


def passages(text: str, name: str = "a.md") -> list[Passage]:
    return cut(read(text, name), chunk_spec(256), count_tokens)


def test_the_seeds_sizes_hold_where_the_embedder_reads_enough() -> None:
    sizes = chunk_spec(2048).sizes
    assert sizes["markdown"] == sizes["text"] == (1000, 200)
    assert sizes["python"] == sizes["rust"] == (1500, 200)
    assert sizes["java"] == (2000, 300)
    assert sizes["yaml"] == (500, 100)
    assert sizes["json"] == (500, 0)
    assert chunk_spec(320).sizes == sizes


def test_an_embedder_that_reads_next_to_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="max_tokens"):
        chunk_spec(3)


def test_a_section_that_fits_is_one_passage() -> None:
    text = f"# A\n\n{SENTENCE}\n\n## B\n\n  indented {SENTENCE}\n\n"
    first, second = passages(text)
    assert first.text == f"# A\n\n{SENTENCE.strip()}"
    assert (first.start_line, first.end_line, first.split_part) == (1, 3, 0)
    assert (second.heading_path, second.anchor_type, second.anchor_ref) == (("A", "B"), "heading", "B")
    assert (second.start_line, second.end_line) == (5, 7)


@pytest.mark.parametrize(
    ("name", "text", "path", "anchor"),
    [
        ("a.md", f"# Title\n\n## Short\nx\n\n## Long\n{SENTENCE}\n", "# Title", ("heading", "Title")),
        ("a.md", f"# Title\n\n## Long\n{SENTENCE}\n", "# Title > ## Long", ("heading", "Long")),
        ("a.md", f"## A\n#### B\n##### C\nx\n##### D\n{SENTENCE}", "## A > #### B", ("heading", "B")),
        ("a.md", f"# One\nx\n\n# Two\n{SENTENCE}\n", "# One", ("heading", "One")),
        ("a.md", f"So.\n\n# One\n{SENTENCE}\n", "# One", ("heading", "One")),
        ("a.py", "def hello(): ...\nclass Bye:\n    def bye(self): ...\n", "hello", ("definition", "hello")),
        ("a.py", f"class A:\n  def b(self): ...\n  def c(self):\n    {SENTENCE!r}", "A", ("definition", "A")),
    ],
)
def test_small_sections_join_the_next_under_what_they_begin_in_or_share(
    name: str, text: str, path: str, anchor: tuple[str, str]
) -> None:
    (only,) = passages(text, name)
    assert only.text == text.strip()
    assert (only.headings, (only.anchor_type, only.anchor_ref)) == (path, anchor)
    assert only.prefix == " > ".join(only.heading_path)


def test_a_small_last_section_joins_the_one_before() -> None:
    text = f"# Long\n{SENTENCE}\n\n## Last\nx\n"
    (only,) = passages(text)
    assert (only.text, only.heading_path) == (text.strip(), ("Long",))


def test_a_large_section_is_split_and_numbered() -> None:
    found = passages("# A\n" + f"{SENTENCE * 5}\n\n" * 8)
    assert [passage.split_part for passage in found] == list(range(1, len(found) + 1))
    assert all(len(passage.text) <= 800 for passage in found)
    assert all(passage.text.startswith(("# A", "The quick")) for passage in found), "cut at paragraphs"


def test_neighbouring_parts_overlap_at_a_word() -> None:
    found = passages(" ".join(f"word{n}" for n in range(400)), "a.txt")
    for before, after in pairwise(found):
        assert before.start < after.start < before.end < after.end
        assert before.end - after.start <= 160
        assert after.text.startswith("word")


def test_json_parts_do_not_overlap() -> None:
    found = passages("[" + ", ".join(str(n) for n in range(900)) + "]", "a.json")
    assert len(found) > 3
    assert all(before.end <= after.start for before, after in pairwise(found))


def test_a_record_of_json_lines_is_whole_where_the_embedder_can_read_it() -> None:
    lines = [json.dumps({"n": n, "text": SENTENCE * (n % 11)}) for n in range(33)]
    found = passages("\n".join(lines), "chat.jsonl")
    assert max(map(len, lines)) > 1.5 * chunk_spec(256).sizes["json"][0]
    assert [line for passage in found for line in passage.text.splitlines()] == lines
    lines[5] = json.dumps({"text": SENTENCE * 40})
    cut_up = [passage for passage in passages("\n".join(lines), "chat.jsonl") if passage.split_part]
    assert {passage.start_line for passage in cut_up} == {6}


@pytest.mark.parametrize("counter", [count_tokens, None])
def test_chinese_passages_stay_within_the_tokens(counter: object) -> None:
    text = "# 标题\n" + "这是一个很长的段落，里面没有任何空格。" * 200
    document = read(text)
    found = cut(document, chunk_spec(256), count_tokens if counter else None)
    assert all(
        count_tokens(embedded_text(passage.prefix, passage.text, passage.anchor_type)) <= 256
        for passage in found
    )
    assert sum(len(p.text) for p in found) / len(found) > 120, "and use most of them"
    assert all(passage.text.endswith("。") for passage in found), "cut between sentences"


def test_dense_text_is_split_by_the_exact_count() -> None:
    marks = "".join("a;" if n % 7 else "\n" for n in range(1500))
    assert all(count_tokens(passage.text) <= 256 for passage in passages(marks, "a.py"))


@pytest.mark.parametrize("one", ["Fox {} jumps over the lazy dog. ", "x{} = [y_2: z3, 4.5]; "])
def test_no_text_is_counted_twice(one: str) -> None:
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return count_tokens(text)

    cut(read("".join(map(one.format, range(300)))), chunk_spec(256), count)
    assert asked
    assert sorted(asked) == sorted(set(asked))


def test_the_words_of_code_keep_their_indentation() -> None:
    text = "class A:\n" + "".join(
        f"    def method_{n}(self):\n        return '{'x' * 60}'\n\n" for n in range(3)
    )
    assert [passage.text[:16] for passage in passages(text, "a.py")][1:] == [
        "    def method_1",
        "    def method_2",
    ]


def test_whitespace_makes_no_passage() -> None:
    assert [passage.text for passage in passages("\n\n  \n\t\n", "a.txt")] == [""]


@pytest.mark.parametrize("text", ["", "---\ntitle: T\naliases: [B]\n---\n", "\n\n"])
def test_a_document_without_text_is_one_passage_of_its_name(text: str) -> None:
    (found,) = passages(text)
    assert replace(found, prefix="") == Passage("", 0, 0, 1, 1, (), "title", "")


def test_a_name_without_text_is_embedded_with_its_aliases() -> None:
    (found,) = passages("---\ntitle: T\naliases: [B, C]\n---\n")
    assert embedded_text(found.prefix, found.text, found.anchor_type) == "T\nB\nC"


def test_a_file_name_alone_is_not_embedded_so_that_a_rename_embeds_nothing() -> None:
    (found,) = passages("")
    assert embedded_text(found.prefix, found.text, found.anchor_type) == ""


@pytest.mark.parametrize(
    ("title_from", "path", "expected"),
    [
        ("front matter", ("A", "B"), "Title > A > B"),
        ("file name", ("A", "B"), "A > B"),
        ("file name", (), ""),
        ("heading", ("title", "B"), "title > B"),
        ("heading", (), "Title"),
    ],
)
def test_title_and_headings_go_before_the_text(title_from: str, path: tuple[str, ...], expected: str) -> None:
    assert prefix_of("Title", title_from, path) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("word", ["long ", "长"])
def test_a_long_prefix_is_shortened_from_the_middle(word: str) -> None:
    prefix = prefix_of("Title", "heading", (word * 30, word * 35, "last"))
    assert len(prefix) <= 200
    assert prefix.startswith("Title > ")
    assert prefix.endswith("> last")
    assert len(prefix_of(word * 300, "heading", (word * 200,))) <= 200


def test_long_titles_leave_room_for_the_text() -> None:
    document = read(f"---\ntitle: {'标题' * 100}\n---\n# {'很长' * 90}\n{'正文，' * 300}")
    for passage in cut(document, chunk_spec(256), count_tokens):
        assert count_tokens(embedded_text(passage.prefix, passage.text, passage.anchor_type)) <= 256
