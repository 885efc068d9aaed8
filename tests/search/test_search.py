"""Searching: modes, names, copies, several stores, and how much comes back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from rag_core.config import Settings
from rag_core.errors import Forbidden, InvalidInput, NotFound
from rag_core.library import Library
from rag_core.library.searching import MAX_TOP_K
from rag_core.search.query import parse
from rag_core.store import find
from rag_core.text.tokens import estimate_tokens
from rag_core.types import OWNER, Answer, Job, Mode, Viewer
from tests.conftest import index
from tests.support.stored import store_of
from tests.support.trees import plant

MODES: tuple[Mode, ...] = ("hybrid", "vector", "lexical")


def write(folder: Path, name: str, text: str) -> None:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")


def paths(answer: Answer) -> list[str]:
    return [hit.document.path for hit in answer.hits]


def interrupt_embedding(job: Job) -> None:
    if job.progress.phase == "embedding":
        raise KeyboardInterrupt


@pytest.fixture
def half_embedded(library: Library, notes: Path) -> Library:
    """A store with one embedded note, *old*, and one that waits for its vector, *new*."""
    write(notes, "old.md", "# Old\n\nThe lighthouse keeper counted ships.")
    index(library, "sea", notes)
    write(notes, "new.md", "# New\n\nThe lighthouse lamp burned whale oil.")
    library.jobs.request(OWNER, "sea")
    with pytest.raises(KeyboardInterrupt):
        library.jobs.run(OWNER, "sea", interrupt_embedding)
    return library


# --- modes ------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_pending_passage_is_found_by_words_and_has_no_similarity(half_embedded: Library, mode: Mode) -> None:
    answer = half_embedded.search(OWNER, "whale oil lamp", mode=mode)
    assert paths(answer)[0] == "new.md"
    assert answer.pending == 1
    assert answer.hits[0].similarity is None
    assert answer.hits[0].relevant


def test_pending_passage_is_not_found_by_meaning_yet(half_embedded: Library) -> None:
    assert paths(half_embedded.search(OWNER, "whale oil lamp", mode="vector")) == ["old.md"]


def test_passage_found_by_words_far_from_the_nearest_still_has_its_similarity(
    library: Library, notes: Path
) -> None:
    for number in range(120):
        write(notes, f"{number}.md", f"# {number}\n\nzinc zinc {number}")
    write(notes, "long.md", "# Long\n\n" + "Nothing of the kind. " * 20 + "A little zinc.")
    index(library, "ore", notes)
    nearest = library.search(OWNER, "zinc kind", mode="vector", top_k=100).hits
    assert "long.md" not in [hit.document.path for hit in nearest]
    hits = library.search(OWNER, "zinc kind").hits
    assert next(hit for hit in hits if hit.document.path == "long.md").similarity is not None


@pytest.mark.parametrize("mode", ["hybrid", "vector"])
def test_store_without_its_model_is_searched_by_words_with_one_warning(
    library: Library, notes: Path, mode: Mode
) -> None:
    library.create_store(OWNER, "ideas", "minilm")
    write(notes, "a.md", "# A\n\nThe tide tables of Brest.")
    index(library, "ideas", notes)
    answer = library.search(OWNER, "tide tables", mode=mode)
    assert paths(answer) == ["a.md"]
    (warning,) = answer.warnings
    assert warning.startswith("Only words are searched in store 'ideas'. ")


def test_words_are_searched_without_a_word_about_the_missing_model(library: Library, notes: Path) -> None:
    library.create_store(OWNER, "ideas", "minilm")
    write(notes, "a.md", "# A\n\nThe tide tables of Brest.")
    index(library, "ideas", notes)
    assert library.search(OWNER, "tide", mode="lexical").warnings == ()


@pytest.mark.parametrize("mode", MODES)
def test_empty_store_answers_with_nothing(library: Library, mode: Mode) -> None:
    library.create_store(OWNER, "empty", "hashing")
    answer = library.search(OWNER, "anything", mode=mode)
    assert answer.hits == ()
    assert not answer.convincing
    assert answer.warnings == ()


@pytest.mark.parametrize("mode", ["hybrid", "vector"])
def test_strict_filter_still_gives_as_many_results_as_asked(
    library: Library, notes: Path, mode: Mode
) -> None:
    for number in range(300):
        write(notes, f"{number}.md", f"# {number}\n\nred granite rock {number}")
    for number in range(12):
        write(notes, f"rare/{number}.md", f"# Rare {number}\n\nSome other stone of a pale colour, {number}.")
    index(library, "stones", notes)
    answer = library.search(OWNER, "red granite rock path:rare", mode=mode, top_k=10)
    assert len(answer.hits) == 10
    assert all(path.startswith("rare/") for path in paths(answer))


def test_nearest_passage_that_became_another_documents_meanwhile_is_not_shown(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(notes, "open.md", "The harbour opens at six.")
    write(notes, "secret.md", "---\nprivate: true\n---\nThe harbour secret.")
    index(library, "sea", notes)
    # The index answered before a run gave the same number to a passage of a private document.
    monkeypatch.setattr("rag_core.search.gather.nearest", lambda *_: dict.fromkeys(range(1, 99), 0.9))
    guest = Viewer("ann", stores=frozenset({"sea"}))
    assert paths(library.search(guest, "harbour", mode="vector")) == ["open.md"]


# --- names ------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["note-0024", "20260224T1031"])
def test_a_note_is_found_by_its_id_before_those_that_name_it(
    library: Library, notes: Path, query: str
) -> None:
    write(notes, "a.md", "---\nid: note-0024\nuid: 20260224T1031\n---\nPotatoes first.")
    write(notes, "b.md", "See note-0024, 20260224T1031. " * 3)
    index(library, "ids", notes)
    hits = library.search(OWNER, query, ["ids"]).hits
    assert (hits[0].document.path, hits[0].reasons[0]) == ("a.md", "its name")


@pytest.fixture
def named(library: Library, notes: Path) -> Library:
    write(notes, "plan.md", "---\ntitle: Garden Plan\naliases: [Allotment, 园子]\n---\nPotatoes first.")
    write(notes, "deep/daily note.md", "Woke early.")
    for number in range(8):
        write(
            notes,
            f"other{number}.md",
            f"# {number}\n\nThe garden plan, a garden plan, daily note, allotment.",
        )
    index(library, "names", notes)
    return library


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("Garden Plan", "plan.md"),
        ("garden plan", "plan.md"),
        ("allotment", "plan.md"),
        ("园子", "plan.md"),
        ("plan.md", "plan.md"),
        ("daily note", "deep/daily note.md"),
        ("deep/daily note", "deep/daily note.md"),
        ("deep/daily note.md", "deep/daily note.md"),
    ],
)
def test_document_called_as_the_query_comes_first_and_says_why(
    named: Library, query: str, path: str, mode: Mode
) -> None:
    hit = named.search(OWNER, query, mode=mode).hits[0]
    assert hit.document.path == path
    assert hit.reasons[0] == "its name"


def test_document_called_as_the_query_must_still_match_the_filters(named: Library) -> None:
    assert "plan.md" not in paths(named.search(OWNER, "allotment path:deep"))


def test_path_is_searched_as_words(named: Library) -> None:
    assert paths(named.search(OWNER, "deep", mode="lexical")) == ["deep/daily note.md"]


# --- copies -----------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_copies_of_a_passage_are_one_hit_with_the_other_paths(
    library: Library, notes: Path, mode: Mode
) -> None:
    for name in ("a.md", "b/a.md", "c.md"):
        write(notes, name, "# Moss\n\nMoss grows on the north side.")
    write(notes, "d.md", "# Fern\n\nMoss and fern.")
    index(library, "woods", notes)
    answer = library.search(OWNER, "moss grows", mode=mode)
    assert len(answer.hits) == 2
    assert sorted([answer.hits[0].document.path, *answer.hits[0].copies]) == ["a.md", "b/a.md", "c.md"]
    assert answer.hits[1].copies == ()


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A passage with more copies than there are candidates, and five others that fit less."""
    folder = tmp_path_factory.mktemp("crowd")
    for number in range(150):
        text = "---\ndate: 2026-02-02\n---\n# Moss\n\nMoss grows. Moss grows."
        write(folder / "notes", f"copy{number}.md", text)
    for number in range(5):
        text = f"---\ndate: 2020-01-01\n---\n# {number}\n\nWhere number {number} of the moss grows."
        write(folder / "notes", f"other{number}.md", text)
    opened = Library.open(Settings(folder / "data", folder / "models", ()))
    index(opened, "woods", folder / "notes")
    yield opened
    opened.close()


@pytest.mark.parametrize("query", ["moss grows", "type:markdown"])
@pytest.mark.parametrize("mode", MODES)
def test_copies_take_no_place_from_other_results(crowd: Library, query: str, mode: Mode) -> None:
    answer = crowd.search(OWNER, query, mode=mode, top_k=6)
    assert len(answer.hits) == 6
    assert len(answer.hits[0].copies) == 149


# --- several stores ---------------------------------------------------------------------


@pytest.fixture
def two(library: Library, notes: Path) -> Library:
    write(notes, "tea/a.md", "# Tea\n\nGreen tea is steamed.")
    write(notes, "coffee/b.md", "# Coffee\n\nGreen coffee is roasted, tea is not.")
    index(library, "tea", notes / "tea")
    index(library, "coffee", notes / "coffee")
    return library


def test_stores_are_merged_by_score(two: Library) -> None:
    answer = two.search(OWNER, "green tea steamed")
    assert answer.stores == ("coffee", "tea")
    assert [hit.store for hit in answer.hits] == ["tea", "coffee"]


def test_named_store_is_the_only_one_searched_and_once(two: Library) -> None:
    assert {hit.store for hit in two.search(OWNER, "tea", ["coffee"]).hits} == {"coffee"}
    assert len(two.search(OWNER, "coffee store:coffee", ["coffee"]).hits) == 1


def test_unknown_store_is_not_found_whatever_the_others_hold(two: Library) -> None:
    with pytest.raises(NotFound, match="'nope'") as error:
        two.search(OWNER, "tea", ["tea", "nope"])
    assert error.value.suggestion == "There are: coffee, tea."


def test_store_deleted_since_the_stores_were_listed_is_left_out(
    two: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    two.stores.delete(OWNER, "coffee")
    monkeypatch.setattr(two._shared.stores, "names", lambda _viewer: ["coffee", "tea"])
    assert two.search(OWNER, "green tea").stores == ("tea",)
    assert [named.title for named in two.searching.suggest(OWNER, "te").documents] == ["Tea"]


def test_search_without_any_store_says_how_to_make_one(library: Library) -> None:
    with pytest.raises(NotFound) as error:
        library.search(OWNER, "tea")
    assert "commonplace init" in error.value.suggestion


# --- how much ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("many")
    for number in range(30):
        write(folder / "notes", f"{number}.md", f"# {number}\n\nA pebble of {'grey ' * number} stone.")
    opened = Library.open(Settings(folder / "data", folder / "models", ()))
    index(opened, "many", folder / "notes")
    yield opened
    opened.close()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("top_k", "count"), [(1, 1), (7, 7), (30, 30), (MAX_TOP_K, 30)])
def test_as_many_results_as_asked_or_as_there_are(many: Library, mode: Mode, top_k: int, count: int) -> None:
    assert len(many.search(OWNER, "pebble stone", mode=mode, top_k=top_k).hits) == count


@pytest.mark.parametrize(
    "wish",
    [
        {"top_k": 0},
        {"top_k": -1},
        {"top_k": MAX_TOP_K + 1},
        {"min_score": -0.1},
        {"min_score": 1.1},
        {"min_score": float("nan")},
        {"max_tokens": 0},
    ],
)
def test_number_out_of_range_is_refused_by_name(many: Library, wish: dict[str, int]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wish))) as error:
        many.search(OWNER, "pebble", **wish)
    assert error.value.suggestion


def test_budget_keeps_whole_passages_best_first(many: Library) -> None:
    every = many.search(OWNER, "pebble stone", top_k=30).hits
    kept = many.search(OWNER, "pebble stone", top_k=30, max_tokens=60).hits
    assert 0 < len(kept) < len(every)
    assert kept == every[: len(kept)]
    assert sum(estimate_tokens(hit.content) for hit in kept) <= 60
    assert sum(estimate_tokens(hit.content) for hit in every[: len(kept) + 1]) > 60


def test_answer_says_what_was_asked(many: Library) -> None:
    answer = many.search(OWNER, " pebble  tag:x ", mode="lexical")
    assert answer.query.raw == " pebble  tag:x "
    assert answer.query.text == "pebble"
    assert answer.mode == "lexical"
    assert answer.query_time_ms > 0
    assert datetime.fromisoformat(answer.timestamp).tzinfo is not None


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("tea -tag:draft", ["code.py", "sub/note.md"]),
        ("tea -type:python", ["draft.md", "sub/note.md"]),
        ("tea -path:sub", ["code.py", "draft.md"]),
        ("tea type:py", ["code.py"]),
        ("tea type:md -tag:draft", ["sub/note.md"]),
        ("tea file:note.md", ["sub/note.md"]),
        ("tea file:note", ["sub/note.md"]),
        ("-tag:draft", ["code.py", "sub/note.md"]),
    ],
)
def test_filters_leave_out_and_take_short_names(
    library: Library, notes: Path, query: str, paths: list[str]
) -> None:
    (notes / "sub").mkdir()
    (notes / "draft.md").write_text("#draft tea leaves", "utf-8")
    (notes / "sub" / "note.md").write_text("tea time", "utf-8")
    (notes / "code.py").write_text("tea = 1\n", "utf-8")
    index(library, "notes", notes)
    assert sorted(hit.document.path for hit in library.search(OWNER, query).hits) == paths


def test_a_phrase_does_not_make_the_nearest_passages_slow_to_check(library: Library, notes: Path) -> None:
    for number in range(400):
        (notes / f"{number}.md").write_text(f"alpha beta gamma {number}\n", "utf-8")
    index(library, "notes", notes)
    query = parse('alpha "beta gamma"')
    with store_of(library, "notes").read() as db:
        steps: list[int] = []
        db.set_progress_handler(lambda: steps.append(1) and None, 1000)
        keys = [row[0] for row in db.execute("SELECT key FROM chunks")]
        assert len(find.chunk_ids(db, keys, find.eligible(query, OWNER))) == 400
        db.set_progress_handler(None, 0)
    assert len(steps) < 200, "thousands of SQLite's steps: it grows with passages, not with their square"


def test_what_is_too_new_to_be_compared_by_meaning_is_said_where_nothing_fits(half_embedded: Library) -> None:
    codes = [notice.code for notice in half_embedded.search(OWNER, "unrelated quantum topics").notices]
    assert "too_new" in codes
    assert half_embedded.search(OWNER, "whale oil lamp").notices == ()


def test_few_vectors_are_not_compared_yet(library: Library, notes: Path) -> None:
    write(notes, "old.md", "# Old\n\nThe lighthouse keeper counted ships.")
    index(library, "sea", notes)
    for number in range(9):
        write(notes, f"{number}.md", f"# {number}\n\nThe lighthouse lamp number {number}.")
    library.jobs.request(OWNER, "sea")
    with pytest.raises(KeyboardInterrupt):
        library.jobs.run(OWNER, "sea", interrupt_embedding)
    answer = library.search(OWNER, "lighthouse")
    assert answer.pending == 9
    assert {hit.similarity for hit in answer.hits} == {None}


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_the_beginning_of_a_name_finds_its_document_first(named: Library, mode: Mode) -> None:
    assert paths(named.search(OWNER, "allotm", mode=mode))[0] == "plan.md"
    assert paths(named.search(OWNER, "daily no", mode=mode))[0] == "deep/daily note.md"


def test_a_search_for_a_file_that_could_not_be_read_says_so_to_the_owner(
    library: Library, notes: Path
) -> None:
    write(notes, "a.md", "# Whales\n\nWhales sing in the report of a year.")
    plant(notes, "work/Yearly-report.pdf", text=b"%PDF-1.7 and no more")
    index(library, "sea", notes)

    def said(query: str) -> list[str]:
        answer = library.search(OWNER, query)
        return [notice.message for notice in library.searching.failed_files(OWNER, answer)]

    for query in ("yearly report.pdf", "yearly report", "work pdf"):
        [one] = said(query)
        assert one.startswith("'work/Yearly-report.pdf' could not be read: ")
    assert said("yearly plans") == said("whales") == said("report") == []
    guest = Viewer("ada@example.org", stores=frozenset({"sea"}))
    with pytest.raises(Forbidden):
        library.searching.failed_files(guest, library.search(guest, "yearly report.pdf"))
