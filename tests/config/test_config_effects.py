"""Each setting does what it says, from the file to where it is felt."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from rag_core.errors import StoreError, VectorsUnreachable
from rag_core.extract.chunk import CHUNK_SIZES
from rag_core.library import Library
from rag_core.models.hashing import Hashing
from rag_core.store import lexical
from rag_core.types import OWNER, Vectors
from rag_core.vectors.backends import address_of, open_remote, vector_options
from rag_core.vectors.local import LocalVectors
from tests.conftest import index
from tests.support.command import Run
from tests.support.configured import configure, settings
from tests.support.installed_packages import Install
from tests.support.mailboxes import mailbox, message
from tests.support.standin import Asked, StandIn, serving

pytestmark = pytest.mark.thorough

OpenLibrary = Callable[..., Library]


@pytest.fixture
def configured(home: Path) -> Iterator[OpenLibrary]:
    """Open a library with a config.yaml; those opened are closed at the end."""
    opened: list[Library] = []

    def open_with(yaml: str) -> Library:
        opened.append(Library.open(settings(home, yaml)))
        return opened[-1]

    yield open_with
    for library in opened:
        library.close()


def sizes(library: Library, store: str) -> dict[str, list[int]]:
    with closing(sqlite3.connect(library.settings.store_dir / f"{store}.db")) as db:
        found: dict[str, list[int]] = json.loads(
            db.execute("SELECT value FROM meta WHERE key = 'chunk_sizes'").fetchone()[0]
        )
    return found


def zoo(notes: Path, count: int = 6) -> None:
    """Notes that all hold the word zebra, the first ones oftener."""
    for number in range(count):
        text = f"# Animal {number}\n\nA {'zebra ' * (count - number)} and {number} llamas.\n"
        (notes / f"{number}.md").write_text(text, "utf-8")


# --- searching --------------------------------------------------------------------------


def test_a_search_takes_top_k_and_mode_unless_it_is_asked_otherwise(
    configured: OpenLibrary, notes: Path
) -> None:
    library = configured("top_k: 2\nmode: lexical\n")
    zoo(notes)
    index(library, "zoo", notes)
    answer = library.search(OWNER, "zebra")
    assert (len(answer.hits), answer.mode) == (2, "lexical")
    answer = library.search(OWNER, "zebra", top_k=4, mode="vector")
    assert (len(answer.hits), answer.mode) == (4, "vector")


def test_min_score_leaves_out_what_is_below_it(configured: OpenLibrary, notes: Path) -> None:
    library = configured("mode: lexical\n")
    zoo(notes)
    (notes / "other.md").write_text(
        "# Other\n\nOne zebra among many things, the llama is the best.\n", "utf-8"
    )
    index(library, "zoo", notes)
    scores = [hit.score for hit in library.search(OWNER, "zebra llamas").hits]
    between = (scores[0] + scores[-1]) / 2
    assert scores[-1] < between
    strict = configured(f"mode: lexical\nmin_score: {between}\n")
    kept = [hit.score for hit in strict.search(OWNER, "zebra llamas").hits]
    assert kept == [score for score in scores if score >= between]
    assert len(strict.search(OWNER, "zebra llamas", min_score=0).hits) == len(scores)


@pytest.mark.parametrize(("recency", "first"), [(0, "old.md"), (0.8, "new.md")])
def test_recency_brings_newer_notes_before_better_ones(
    configured: OpenLibrary, notes: Path, recency: float, first: str
) -> None:
    library = configured(f"mode: lexical\nrecency: {recency}\n")
    (notes / "old.md").write_text("---\ndate: 2019-01-01\n---\nA zebra, a zebra.\n", "utf-8")
    (notes / "new.md").write_text("---\ndate: 2026-01-01\n---\nA zebra among some other animals.\n", "utf-8")
    index(library, "zoo", notes)
    assert library.search(OWNER, "zebra").hits[0].document.path == first


def test_max_tokens_ends_a_search_where_its_passages_are_read(configured: OpenLibrary, notes: Path) -> None:
    library = configured("max_tokens: 40\n")
    zoo(notes)
    index(library, "zoo", notes)
    assert 0 < len(library.search(OWNER, "zebra").hits) < 6
    assert len(library.search(OWNER, "zebra", max_tokens=10_000).hits) == 6


def test_k_lex_and_k_vec_are_how_many_candidates_are_taken(
    configured: OpenLibrary, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = configured("k_lex: 30\nk_vec: 20\ntop_k: 2\n")
    zoo(notes, 60)
    index(library, "zoo", notes)
    taken: dict[str, int] = {}
    by_words, nearest = lexical.by_words, LocalVectors.search
    monkeypatch.setattr(
        lexical,
        "by_words",
        lambda db, match, allowed, k: taken.setdefault("words", k) and by_words(db, match, allowed, k),
    )
    monkeypatch.setattr(
        LocalVectors,
        "search",
        lambda self, query, k, _: taken.setdefault("meaning", k) and nearest(self, query, k),
    )
    assert len(library.search(OWNER, "zebra").hits) == 2
    assert taken == {"words": 30, "meaning": 40}, "20 more: the index may round"


# --- new stores -------------------------------------------------------------------------


def test_embedder_is_what_a_new_store_gets(configured: OpenLibrary) -> None:
    library = configured("embedder: hashing:64\n")
    assert library.create_store(OWNER, "a").embedder == "hashing:64"
    assert library.create_store(OWNER, "b", "hashing:32").embedder == "hashing:32"


def test_without_sizes_a_store_gets_those_of_the_table_scaled(configured: OpenLibrary) -> None:
    library = configured("embedder: hashing\n")
    library.create_store(OWNER, "a")
    table = {kind: [round(0.8 * size), round(0.8 * overlap)] for kind, (size, overlap) in CHUNK_SIZES.items()}
    assert sizes(library, "a") == table


def test_chunk_size_is_for_every_file_type_that_is_not_named(configured: OpenLibrary) -> None:
    library = configured(
        "embedder: hashing\nchunk_size: 300\nchunking:\n  sql: {chunk_size: 500, chunk_overlap: 0}\n"
    )
    library.create_store(OWNER, "a")
    assert sizes(library, "a") == {kind: [300, 60] for kind in CHUNK_SIZES} | {"sql": [500, 0]}


def test_a_store_keeps_its_sizes_and_embedder_when_the_settings_change(configured: OpenLibrary) -> None:
    configured("embedder: hashing:64\nchunk_size: 300\n").create_store(OWNER, "a")
    library = configured("embedder: hashing:32\nchunk_size: 600\n")
    assert library.stores.info(OWNER, "a").embedder == "hashing:64"
    assert sizes(library, "a")["markdown"] == [300, 60]


# --- indexing ---------------------------------------------------------------------------


def test_batch_size_is_how_many_texts_are_embedded_at_once(
    configured: OpenLibrary, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[int] = []
    embed = Hashing.embed_documents

    def note(self: Hashing, texts: Sequence[str]) -> Vectors:
        given.append(len(texts))
        return embed(self, texts)

    monkeypatch.setattr(Hashing, "embed_documents", note)
    zoo(notes, 10)
    index(configured("batch_size: 4\n"), "zoo", notes)
    assert given[-3:] == [4, 4, 2]


def test_a_file_that_was_too_large_is_read_when_the_limit_allows_it(
    configured: OpenLibrary, notes: Path
) -> None:
    (notes / "large.md").write_text("# Large\n\n" + "whale " * 250_000, "utf-8")
    (notes / "small.md").write_text("# Small\n\nshrimp\n", "utf-8")
    small = configured("max_file_mb: 1\n")
    assert index(small, "sea", notes).counts == {"unchanged": 0, "added": 1, "skipped": 1}
    assert not small.search(OWNER, "whale", mode="lexical").convincing
    assert index(configured("max_file_mb: 2\n"), "sea").counts["changed"] == 1


@pytest.mark.parametrize("codec", ["koi8-r", "cp866", "mac-cyrillic"])
def test_encodings_says_what_the_old_files_of_a_folder_are_in(
    configured: OpenLibrary, notes: Path, codec: str
) -> None:
    (notes / "old" / "deeper").mkdir(parents=True)
    word = "Щи"  # too little to guess by
    old = {"a.txt": word, "deeper/b.html": f"<p>{word} two", "c.mbox": mailbox(message(word, word))}
    for name, text in old.items():
        (notes / "old" / name).write_text(text, codec)
    (notes / "old" / "new.md").write_text("борщ", "utf-8")
    (notes / "d.txt").write_text(word, codec)
    library = configured(f"encodings: [{notes / 'old'}={codec}]\n")
    index(library, "sea", notes)
    found = library.search(OWNER, word, mode="lexical").hits
    assert {hit.document.path for hit in found if hit.relevant} == {f"old/{name}" for name in old}
    assert library.search(OWNER, "борщ", mode="lexical").convincing


def test_a_mailbox_may_be_larger_than_a_file_but_a_message_may_not(
    configured: OpenLibrary, notes: Path
) -> None:
    filler = "x" * 400_000
    messages = [message(f"Number {n}", f"About animal{n}. {filler}", 2, f"m{n}@x.org") for n in range(4)]
    huge = message("Huge", "a walrus " * 200_000, 3, "huge@x.org")
    (notes / "a.mbox").write_text(mailbox(*messages, huge), "utf-8")
    library = configured("max_file_mb: 1\n")
    [result] = index(library, "sea", notes).results
    assert (result.outcome, result.message) == (
        "added",
        "Some of this document could not be read. 1 message cannot be read, such as number 5.",
    )
    found = library.search(OWNER, "animal3", mode="lexical")
    assert (found.convincing, found.hits[0].document.part) == (True, "m3@x.org")
    assert not library.search(OWNER, "walrus", mode="lexical").convincing


def test_busy_timeout_is_how_long_to_wait_for_another_writer(configured: OpenLibrary, notes: Path) -> None:
    library = configured("busy_timeout_s: 0.1\n")
    library.create_store(OWNER, "a", "hashing")
    with closing(sqlite3.connect(library.settings.store_dir / "a.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked"):
            library.add_source(OWNER, "a", notes, ["**/*"])


def test_extractor_timeout_is_how_long_a_package_may_take_for_a_file(
    configured: OpenLibrary, notes: Path, install: Install
) -> None:
    reads = "import time\n\nAPI_VERSION = 1\n\ndef read(data, path):\n    time.sleep(2)\n    return 0\n"
    install("reader", "1", {"extractors": {"letter.foo": "made_up_reader:read"}}, reads)
    (notes / "a.foo").write_text("It is late.", "utf-8")
    [failed] = index(configured("extractor_timeout_s: 1\n"), "late", notes).results
    assert "took more than 1 seconds for this file (the setting `extractor_timeout_s`)" in failed.message
    [failed] = index(configured("extractor_timeout_s: 60\n"), "in-time", notes).results
    assert "gave a value of type int instead of Extracted" in failed.message


# --- vector indexes ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["s3vectors", "qdrant", "chroma"])
def test_vectors_timeout_is_how_long_an_index_may_take_to_answer(aws: None, home: Path, kind: str) -> None:
    class Late(StandIn):
        def answer(self, asked: Asked) -> dict[str, str]:
            time.sleep(1.5)
            return {}

    with serving(Late()) as late:
        urls = f"s3_endpoint_url: {late.url}\nqdrant_url: {late.url}\nchroma_url: {late.url}\n"
        known = vector_options(settings(home, f"{urls}s3_region: eu-central-1\nvectors_timeout_s: 1\n"))
        once = {kind: replace(known[kind], attempts=1)}
        there = open_remote(address_of(kind, "notes", once), 16, "cosine", once)
        with pytest.raises(VectorsUnreachable, match="ReadTimeout"):
            there.prepare("me")


# --- declared stores --------------------------------------------------------------------


def declared(notes: Path, extra: str = "", include: str = "**/*.md") -> str:
    folder = f"{{root: {notes}, include: ['{include}'], exclude: [old/**]}}"
    return f"embedder: hashing\nstores:\n  zoo: {{folders: [{folder}{extra}]}}\n  empty:\n"


def test_declared_stores_are_made_with_their_folders(configured: OpenLibrary, notes: Path) -> None:
    library = configured(declared(notes))
    assert library.stores.make_declared(OWNER) == ["Made store 'zoo'.", "Made store 'empty'."]
    [source] = library.stores.info(OWNER, "zoo").sources
    assert (source.root, source.include, source.exclude) == (str(notes), ("**/*.md",), ("old/**",))
    assert library.stores.info(OWNER, "zoo").embedder == "hashing"
    assert library.stores.info(OWNER, "empty").sources == ()


def test_declared_stores_that_exist_are_left_alone(
    configured: OpenLibrary, notes: Path, tmp_path: Path
) -> None:
    configured(declared(notes)).stores.make_declared(OWNER)
    yaml = declared(notes, f", {tmp_path}", "**/*.txt").replace("zoo: {", "Zoo: {embedder: hashing:64, ")
    library = configured(yaml)
    before = library.stores.info(OWNER, "zoo"), library.stores.generations(OWNER)
    assert library.stores.make_declared(OWNER) == []
    assert (library.stores.info(OWNER, "zoo"), library.stores.generations(OWNER)) == before


def test_a_declared_store_whose_folder_is_missing_waits_for_it(
    configured: OpenLibrary, notes: Path, tmp_path: Path
) -> None:
    library = configured(declared(notes, f", {tmp_path / 'disk'}"))
    said = library.stores.make_declared(OWNER)
    assert "The store 'zoo', which config.yaml declares, could not be made." in said[0]
    assert str(tmp_path / "disk") in said[0]
    assert library.stores.names(OWNER) == ["empty"]
    (tmp_path / "disk").mkdir()
    assert len(library.stores.make_declared(OWNER)) == 1
    assert len(library.stores.info(OWNER, "zoo").sources) == 2


def test_serve_makes_declared_stores_before_it_serves(
    run: Run, home: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[tuple[int, bool]] = []
    monkeypatch.setattr("rag_core.cli.serving.serve_app", lambda *given: served.append(given))
    configure(home, declared(notes) + "port: 9000\n")
    result = run("serve")
    assert result.status == 0, result.err
    assert "Made store 'zoo'" in result.err
    assert served == [(9000, False)]
    assert [store["name"] for store in run("store", "list", "--json").json["stores"]] == ["empty", "zoo"]
    assert run("serve", "--port", "9001").err == ""
    assert served[-1] == (9001, False)


def test_watch_makes_declared_stores_before_it_watches(
    run: Run, home: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rag_core.running.watching.watch", interrupted)
    configure(home, declared(notes))
    said = run("watch").err.splitlines()
    assert said == ["Made store 'zoo'.", "Made store 'empty'.", "Watching 1 folder. Ctrl-C stops it."]


def test_other_commands_make_no_declared_store(run: Run, home: Path, notes: Path) -> None:
    configure(home, declared(notes))
    assert run("status", "--json").json["stores"] == []
