"""Base64, ``data:`` URIs and minified code: found by words, never embedded, and no fit."""

from __future__ import annotations

import base64
import random
from pathlib import Path, PurePosixPath

import pytest

from rag_core.ask.passages import heading_path
from rag_core.extract import extract
from rag_core.extract.chunk import chunk_spec, cut
from rag_core.library import Library
from rag_core.text.words import extra_terms
from rag_core.types import DATA, OWNER, Passage
from tests.conftest import index

NOISE = random.Random(1).randbytes(6000)
LINES = base64.encodebytes(NOISE).decode()
ONE_LINE = base64.b64encode(NOISE).decode()
PROSE = "The heron waits at the weir until the water falls. " * 8
MINIFIED = "".join(f"function f{n}(a){{if(a.heron{n}!==void 0)return a.weir(f{n});}}" for n in range(80))


def passages(text: str, name: str = "a.txt") -> list[Passage]:
    document = extract(text.encode(), PurePosixPath(name))
    found = cut(document, chunk_spec(256), None)
    assert all(document.text[each.start : each.end] == each.text for each in found)
    return found


@pytest.mark.parametrize(
    ("name", "before", "block", "behind"),
    [
        ("a.eml", f"Subject: Heron\n\n{PROSE}\n\n", LINES, f"\n--x\n{PROSE}"),
        ("a.svg", f"<svg><title>{PROSE}</title>", f'<image href="data:image/png;base64,{ONE_LINE}"/>', "\n"),
        ("a.md", f"# Heron\n\n{PROSE}\n\n", f"![](data:image/png;base64,{ONE_LINE})", f"\n\n{PROSE}"),
        ("a.json", f'{{"heron": "{PROSE}",\n', '"png": "' + LINES.replace("\n", "\\n") + '",', '\n"x": 1}'),
    ],
)
def test_of_a_large_block_of_base64_one_passage_is_kept(
    name: str, before: str, block: str, behind: str
) -> None:
    found = passages(before + block + behind, name)
    encoded = [each for each in found if each.anchor_type == DATA]
    start, end = len(before), len(before + block)
    assert 1 <= len(encoded) <= 3  # what one passage has room for, in tokens
    assert sum(len(each.text) for each in encoded) <= 1000 < len(block)
    assert all(start <= each.start < end for each in encoded)
    others = [each for each in found if each.anchor_type != DATA]
    assert "The heron waits" in others[0].text
    assert not any(ONE_LINE[4000:4020] in each.text for each in found)


def test_minified_code_is_told_from_code_that_people_wrote() -> None:
    written = f"/* {PROSE} */\n" + "function heron(a) {\n  return a.weir;\n}\n" * 9
    assert {each.anchor_type for each in passages(MINIFIED, "a.js")} == {DATA}
    assert DATA not in {each.anchor_type for each in passages(written, "a.js")}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("SHA256SUMS", "".join(f"{NOISE[n : n + 32].hex()}  heron-{n}.tar.gz\n" for n in range(9))),
        ("a.md", "".join(f"- https://example.org/{ONE_LINE[n : n + 90]}?key={n}\n" for n in range(9))),
        ("paths.txt", "src/main/java/org/example/heron/service/AbstractSingletonProxyFactoryBean/impl\n" * 9),
        ("a.rst", f"{'=' * 70}\nHeron\n{'=' * 70}\n\n{'-' * 70}\n{'/' * 70}\n"),
        ("a.txt", "蒼鷺站在堰邊等待水位下降然後捕魚回到樹林裡休息直到天亮" * 30),
        ("a.csv", "name,place,day,count\n" + "heron,weir,2026-01-02,12\n" * 40),
        ("a.jsonl", '{"level":"info","at":1700000000,"msg":"heron-started","id":"a1b2c3"}\n' * 20),
        ("a.py", "VALUES = [" + ",".join(map(str, range(900))) + "]\n"),
    ],
)
def test_hashes_addresses_paths_tables_and_other_scripts_are_no_base64(name: str, text: str) -> None:
    assert DATA not in {each.anchor_type for each in passages(text, name)}


def test_base64_gives_no_extra_terms() -> None:
    assert extra_terms(f"getUserName {ONE_LINE[:100]}=") == extra_terms("getUserName")


@pytest.fixture
def mixed(library: Library, notes: Path) -> Library:
    (notes / "heron.md").write_text(f"# Heron\n\n{PROSE}\n", "utf-8")
    (notes / "a.eml").write_text(f"Subject: Oak\n\n{LINES}", "utf-8")
    (notes / "a.min.js").write_text(MINIFIED, "utf-8")
    index(library, "s", notes)
    return library


def test_what_is_no_prose_has_no_vector_and_is_not_said_to_be_in_another_script(mixed: Library) -> None:
    info = mixed.stores.info(OWNER, "s")
    assert (info.pending, info.unreadable) == (0, 0)
    [job, *_] = mixed.jobs.all(OWNER, "s")
    assert job.texts_embedded < job.total_chunks_added
    assert "script" not in job.message


@pytest.mark.parametrize("mode", ["hybrid", "vector", "lexical"])
@pytest.mark.parametrize("query", ["heron7", '"a.heron7"', "void weir", LINES[:12]])
def test_minified_code_and_base64_are_found_by_words_and_are_no_fit(
    mixed: Library, query: str, mode: str
) -> None:
    answer = mixed.search(OWNER, query, ["s"], mode=mode)  # type: ignore[arg-type]
    encoded = [hit for hit in answer.hits if hit.anchor_type == DATA]
    assert not any(hit.relevant for hit in encoded)
    if mode != "vector" and "heron7" in query:
        assert encoded[0].document.path == "a.min.js"


def test_headings_are_shown_with_their_levels(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text(f"## Birds\n\n#### Herons\n\n{PROSE}\n", "utf-8")
    index(library, "s", notes)
    [hit] = library.search(OWNER, "weir", ["s"]).hits
    assert (hit.headings, hit.heading_path) == ("## Birds > #### Herons", ("Birds", "Herons"))
    assert heading_path(hit) == "## Birds > #### Herons"
    [shown] = library.documents.get(OWNER, "s", "a.md").chunks
    assert shown.headings == hit.headings


def test_prose_beside_it_fits(mixed: Library) -> None:
    answer = mixed.search(OWNER, "heron waits at the weir", ["s"])
    assert (answer.convincing, answer.hits[0].document.path) == (True, "heron.md")
