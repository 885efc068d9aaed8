"""Scores: what they promise about the order, about each hit, and about whether anything fits."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_core.config import Settings
from rag_core.library import Library
from rag_core.search.query import parse
from rag_core.search.weigh import FEW_HOLDERS, RELEVANT, Candidate, weigh
from rag_core.text.words import query_words, units, with_corrections
from rag_core.types import OWNER, Answer, Mode
from tests.conftest import index

MODES: tuple[Mode, ...] = ("hybrid", "vector", "lexical")
WORDS = "amber birch cedar dune ember fjord grove heath inlet juniper 价格 计划 getUserName café".split()
_SPANISH = "estornudar primavera jardines flores".split()
queries = st.lists(
    st.sampled_from([*WORDS, "missing", "-amber", "is", '"birch cedar"']), min_size=1, max_size=5
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """Two stores of notes made of a few words, with repetitions, names and copies."""
    folder = tmp_path_factory.mktemp("rank")
    chance = random.Random(20260731)
    for number in range(60):
        text = "\n\n".join(
            f"## {chance.choice(WORDS)}\n\n{' '.join(chance.choices(WORDS, k=chance.randint(3, 60)))}."
            for _ in range(chance.randint(1, 4))
        )
        file = folder / ("even" if number % 2 else "odd") / f"{number}.md"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"# {chance.choice(WORDS)}-{chance.choice(WORDS)}\n\n{text}\n", "utf-8")
    opened = Library.open(Settings(folder / "data", folder / "models", ()))
    index(opened, "odd", folder / "odd")
    index(opened, "even", folder / "even")
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def garden(tmp_path_factory: pytest.TempPathFactory, model_dir: Path) -> Iterator[Library]:
    """Notes of a gardener, embedded with the built-in model."""
    folder = tmp_path_factory.mktemp("garden")
    notes = {
        "roses": "Cut roses back hard in late winter, above a bud that faces outwards.",
        "compost": "Kitchen scraps and dry leaves rot into dark crumbly soil within a year.",
        "bees": "The hive swarmed in May; the old queen left with half of the workers.",
        "taxes": "The deadline for the income tax return moved to the end of September.",
        "linux": "Use journalctl -u nginx to read the logs of a systemd service.",
        "bread": "Let the sourdough rise overnight in the fridge, then bake it in a hot pot.",
    }
    (folder / "notes").mkdir()
    for name, text in notes.items():
        (folder / "notes" / f"{name}.md").write_text(f"# {name.capitalize()}\n\n{text}\n", "utf-8")
    opened = Library.open(Settings(folder / "data", model_dir, ()))
    opened.create_store(OWNER, "garden", "minilm")
    index(opened, "garden", folder / "notes")
    yield opened
    opened.close()


def paths(answer: Answer) -> list[str]:
    return [hit.document.path for hit in answer.hits]


# --- order ------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(queries.map(" ".join), st.sampled_from(MODES), st.integers(1, 60), st.sampled_from([(), ("odd",)]))
def test_scores_are_from_0_to_1_and_never_rise(
    library: Library, query: str, mode: Mode, top_k: int, stores: tuple[str, ...]
) -> None:
    hits = library.search(OWNER, f"{query} grove", stores, mode=mode, top_k=top_k).hits
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    assert all(hit.relevant == (hit.score >= RELEVANT) for hit in hits)


@pytest.mark.parametrize("mode", MODES)
def test_more_results_begin_with_the_same_ones(library: Library, mode: Mode) -> None:
    few = library.search(OWNER, "amber fjord", mode=mode, top_k=5).hits
    many = library.search(OWNER, "amber fjord", mode=mode, top_k=50).hits
    assert [hit.key for hit in few] == [hit.key for hit in many[:5]]


@pytest.mark.parametrize("mode", MODES)
def test_same_query_gives_the_same_answer(library: Library, mode: Mode) -> None:
    first, second = (library.search(OWNER, "heath inlet juniper", mode=mode).hits for _ in range(2))
    assert first == second


@pytest.mark.parametrize("mode", MODES)
def test_min_score_keeps_exactly_the_scores_from_it(library: Library, mode: Mode) -> None:
    every = library.search(OWNER, "amber fjord", mode=mode, top_k=50).hits
    least = every[len(every) // 3].score
    kept = library.search(OWNER, "amber fjord", mode=mode, top_k=50, min_score=least).hits
    assert [hit.key for hit in kept] == [hit.key for hit in every if hit.score >= least]
    assert len(kept) < len(every)


@pytest.mark.parametrize(
    ("mode", "measures"),
    [("hybrid", {(True, True)}), ("lexical", {(False, True)}), ("vector", {(True, False)})],
)
def test_a_hit_tells_what_its_mode_measured(
    library: Library, mode: Mode, measures: set[tuple[bool, bool]]
) -> None:
    hits = library.search(OWNER, "amber", mode=mode, top_k=3).hits
    assert {(hit.similarity is not None, hit.bm25 is not None) for hit in hits} == measures
    assert all(-1 <= (hit.similarity or 0) <= 1 and (hit.bm25 or 1) > 0 for hit in hits)


# --- reasons ----------------------------------------------------------------------------


def reasons(library: Library, query: str, mode: Mode = "lexical") -> tuple[str, ...]:
    return library.search(OWNER, query, mode=mode).hits[0].reasons


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("amber", "the word"),
        ("amber birch", "every word"),
        ("amber missing", "1 of 2 words: “amber”; without “missing”"),
        ("格", "the word"),
        ("价格 missing", "1 of 2 words: “价格”; without “missing”"),
        ("user name", "every word"),
        ("getUserName missing", "1 of 2 words: “getUserName”; without “missing”"),
        ('"amber birch"', "the exact phrase"),
        ('"amber" birch', "every word"),
        ('where is "amber birch"', "the exact phrase"),
        ('"amber" "birch"', "the exact phrases"),
        ("amber iota eta zeta beta rho", "1 of 6 words: “amber”; without “iota”, “eta”, “zeta”, “beta”, …"),
    ],
)
def test_reason_says_which_words_were_found(library: Library, query: str, reason: str) -> None:
    assert reasons(library, query)[-1] == reason


def test_of_a_phrase_the_whole_is_marked(library: Library) -> None:
    hit = library.search(OWNER, '"birch cedar"').hits[0]
    assert {" ".join(hit.content[start:end].split()) for start, end in hit.spans} == {"birch cedar"}


def test_reason_says_that_a_run_was_found_only_in_part(library: Library) -> None:
    assert reasons(library, "格计价格") == ("parts of words",)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("pruning flower bushes", "related in meaning"),
        ("when should I cut back my roses in winter", "close in meaning"),
    ],
)
def test_reason_says_how_near_the_meaning_is(garden: Library, query: str, reason: str) -> None:
    assert reason in reasons(garden, query, "vector")


def test_reason_of_a_near_miss_promises_nothing(garden: Library) -> None:
    assert reasons(garden, "quantum chromodynamics", "vector") == ("distantly related",)


# --- whether anything fits ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("how do I prune my rose bushes", "roses.md"),
        ("insects that make honey", "bees.md"),
        ("when must I file with the revenue office", "taxes.md"),
        ("reading server log files", "linux.md"),
        ("sourdough", "bread.md"),
    ],
)
def test_good_passage_is_first_and_convincing(garden: Library, query: str, path: str) -> None:
    answer = garden.search(OWNER, query)
    assert paths(answer)[0] == path
    assert answer.convincing
    assert answer.hits[0].relevant


@pytest.mark.parametrize(
    "query", ["quantum chromodynamics", "the football world cup final", "how to renew a passport in Peru"]
)
@pytest.mark.parametrize("mode", ["hybrid", "vector"])
def test_query_about_nothing_here_is_not_convincing(garden: Library, query: str, mode: Mode) -> None:
    answer = garden.search(OWNER, query, mode=mode)
    assert answer.hits
    assert not answer.convincing
    assert not any(hit.relevant for hit in answer.hits)


def test_meaning_alone_finds_other_words(garden: Library) -> None:
    answer = garden.search(OWNER, "honey insects colony", mode="vector")
    assert paths(answer)[0] == "bees.md"
    by_words = garden.search(OWNER, "honey insects colony", mode="lexical")
    assert by_words.hits == ()
    assert not by_words.convincing


def test_query_in_another_script_is_searched_by_words_and_says_so(garden: Library) -> None:
    answer = garden.search(OWNER, "价格歧视")
    assert answer.hits == ()
    assert answer.warnings == (
        "Only words are searched in store 'garden'. The model reads only Latin script, and this query has"
        " another.",
    )


def test_title_with_capitals_beyond_ascii_is_a_name_in_any_case(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("# Über uns\n\nWer wir sind.\n", "utf-8")
    index(library, "notes", notes)
    assert reasons(library, "über uns") == ("its name", "every word")


def ranked(count: int, *, is_exact: bool = False) -> list[float]:
    """The scores of ``count`` passages that hold the only word of a query and are far from it in meaning,
    beside one that lacks it and is nearer."""
    text = "a clove from zanzibar" + " and other spices" * 20
    found = [Candidate(number, text, similarity=-0.2) for number in range(count)]
    lacking = Candidate(count, "a clove from elsewhere", similarity=0.3)
    query = parse('"zanzibar"' if is_exact else "zanzibar")
    placed = weigh([lacking, *found], query, {"zanzibar": 5.0}, "hybrid")
    return [item.score for item in placed if item.candidate is not lacking]


def test_a_word_that_few_passages_hold_is_enough_however_far_they_are_in_meaning() -> None:
    assert min(ranked(FEW_HOLDERS)) >= RELEVANT
    assert max(ranked(FEW_HOLDERS + 1)) < RELEVANT


def test_a_phrase_is_enough_however_many_passages_hold_it() -> None:
    assert min(ranked(FEW_HOLDERS + 1, is_exact=True)) >= RELEVANT


def test_of_passages_that_a_word_is_enough_for_the_nearer_stay_before_the_farther() -> None:
    near, far = (Candidate(number, "zanzibar", similarity=near) for number, near in enumerate((0.05, -0.05)))
    placed = weigh([far, near], parse("zanzibar"), {"zanzibar": 5.0}, "hybrid")
    assert [item.candidate for item in placed] == [near, far]
    assert placed[0].score > placed[1].score >= RELEVANT


def test_a_part_of_the_words_is_not_enough() -> None:
    found = Candidate(1, "a clove from zanzibar", similarity=-0.2)
    idf = {"zanzibar": 5.0, "tasting": 4.0}
    [placed] = weigh([found], parse(" ".join(idf)), idf, "hybrid")
    assert placed.score < RELEVANT


def test_data_fits_nothing_however_many_words_it_holds() -> None:
    found = [
        Candidate(1, "zanzibar clove", "zanzibar clove", is_data=True),
        Candidate(2, "a clove", similarity=0.4),
    ]
    placed = weigh(found, parse("zanzibar clove"), {"zanzibar": 5.0, "clove": 4.0}, "hybrid")
    assert [item.candidate.chunk_id for item in placed if item.score >= RELEVANT] == [2]
    assert placed[0].candidate.chunk_id == 2


def test_similarities_count_less_where_passages_are_near_questions_that_nothing_answers() -> None:
    found = [Candidate(n, "rose", similarity=n / 10) for n in range(-2, 11)]
    near: dict[float, list[float]] = {}
    for highest in (0.3, 0.42):
        query, idf = parse("how do I prune"), {"prune": 5.0}
        placed = weigh(found, query, idf, "hybrid", real={"prune"}, highest=highest)
        assert [item.candidate.chunk_id for item in placed] == [*range(10, -3, -1)]
        near[highest] = [item.score for item in placed]
    assert near[0.42][6] < RELEVANT <= near[0.3][6], "a similarity of 0.4"
    assert near[0.42][0] == near[0.3][0], "the same text is the same everywhere"


def test_furniture_fits_only_with_every_word() -> None:
    idf = {"zanzibar": 5.0, "clove": 4.0, "tasting": 1.0}
    texts = ["zanzibar clove", "a tasting of zanzibar clove"]
    silent = [Candidate(n, text, by_words=True, is_silent=True) for n, text in enumerate(texts)]
    placed = weigh(silent, parse(" ".join(idf)), idf, "hybrid")
    assert [item.candidate.chunk_id for item in placed if item.score >= RELEVANT] == [1]
    waiting = silent[0]._replace(is_silent=False)
    assert weigh([waiting], parse(" ".join(idf)), idf, "hybrid")[0].score >= RELEVANT


def test_furniture_with_a_corrected_word_does_not_fit() -> None:
    query = with_corrections(parse("zanzibar tasting cloev"), {"cloev": ["clove"]})
    idf = {"zanzibar": 5.0, "tasting": 4.0, "clove": 0.5}
    found = Candidate(1, "a tasting of zanzibar clove", by_words=True)
    assert weigh([found], query, idf, "hybrid")[0].score >= RELEVANT
    assert weigh([found._replace(is_silent=True)], query, idf, "hybrid")[0].score < RELEVANT


def test_a_document_named_like_the_query_comes_first() -> None:
    others = [Candidate(n, "obsidian git, git obsidian " * 3, similarity=0.9) for n in range(5)]
    named = Candidate(9, "obsidian git", "obsidian git", is_named=True)
    placed = weigh([*others, named], parse("obsidian-git"), {"obsidian": 0.1, "git": 0.1}, "hybrid")
    assert (placed[0].candidate, placed[0].score) == (named, 1.0)


def test_a_title_with_just_the_words_of_the_query_is_its_name() -> None:
    titles = ["grove and heath", "grove", "heath grove"]
    found = [Candidate(n, f"{title} text", title, similarity=0.1 * n) for n, title in enumerate(titles)]
    placed = weigh(found, parse("grove heath"), {"grove": 3.0, "heath": 3.0}, "hybrid")
    assert [item.reasons[0] == "its name" for item in placed] == [True, True, False]


def test_a_title_without_the_small_words_of_the_query_is_not_its_name() -> None:
    found = [Candidate(1, "route text", "route"), Candidate(2, "get route text", "get route")]
    placed = weigh(found, parse("route get"), {"route": 3.0}, "hybrid")
    assert [(item.candidate.chunk_id, item.reasons[0] == "its name") for item in placed] == [
        (2, True),
        (1, False),
    ]


@pytest.mark.parametrize(
    ("query", "comes_first"),
    [("edi", True), ("word edi", True), ("word", False)],  # "word" is what passages hold
)
def test_the_beginning_of_a_name_comes_first_unless_it_is_a_word_of_its_own(
    query: str, comes_first: bool
) -> None:
    idf = dict.fromkeys(query.split(), 6.0)
    found = [
        Candidate(1, "a word", similarity=0.5),
        Candidate(2, "something else", begun=0.2, similarity=0.1),
    ]
    first = weigh(found, parse(query), idf, "hybrid")[0]
    assert ((first.candidate.chunk_id == 2), (first.score >= RELEVANT)) == (comes_first, True)
    assert ("the beginning of its name" in first.reasons) == comes_first


def test_a_dated_note_is_called_what_stands_behind_its_date() -> None:
    found = [Candidate(1, "weekly review of all", similarity=0.9)]
    found.append(Candidate(2, "2026-03-14 weekly review", "2026-03-14 weekly review", similarity=0.1))
    first = weigh(found, parse("weekly review"), {"weekly": 4.0, "review": 4.0}, "hybrid")[0]
    assert (first.candidate.chunk_id, first.reasons[0]) == (2, "its name")


def test_the_more_words_nothing_holds_the_more_similarity_it_takes() -> None:
    found = [Candidate(1, "some text", similarity=0.6)]
    [alone] = weigh(found, parse("xalvent"), {"xalvent": 9.0}, "hybrid")
    [beside] = weigh(found, parse("xalvent text"), {"xalvent": 9.0, "text": 6.0}, "hybrid")
    assert alone.score < RELEVANT <= beside.score


def test_a_word_that_nothing_holds_takes_less_similarity_if_the_embedder_knows_it() -> None:
    found, query, idf = [Candidate(1, "some text", similarity=0.5)], parse("breakfast"), {"breakfast": 9.0}
    [made_up], [real] = (weigh(found, query, idf, "hybrid", real=known) for known in (set(), {"breakfast"}))
    assert made_up.score < RELEVANT <= real.score


def test_one_unknown_word_of_several_says_little() -> None:
    """It may be a rare one: a vocabulary for all languages has few whole words of each."""
    query, idf = parse(" ".join(_SPANISH)), dict.fromkeys(_SPANISH, 8.0)
    found = [Candidate(1, "the pollen", similarity=0.39)]
    [placed] = weigh(found, query, idf, "hybrid", real={*_SPANISH[1:]})
    assert placed.score >= RELEVANT
    [placed] = weigh(found, query, idf, "hybrid", real={*_SPANISH[2:]})
    assert placed.score < RELEVANT


def test_parts_of_a_made_up_word_do_not_make_it_known() -> None:
    idf = dict.fromkeys(units(query_words("tQ9hL7")), 5.0)
    [placed] = weigh([Candidate(1, "a diagram of 9 and l", similarity=0.4)], parse("tQ9hL7"), idf, "hybrid")
    assert placed.score < RELEVANT


def test_one_word_of_several_counts_less() -> None:
    idf = dict.fromkeys("medieval siege weapons".split(), 6.0)
    found = [Candidate(1, "siege a server", similarity=0.25), Candidate(2, "siege weapons", similarity=0.25)]
    found.append(Candidate(3, "medieval", similarity=0.0))
    placed = weigh(found, parse("medieval siege weapons"), idf, "hybrid")
    assert [(item.candidate.chunk_id, item.score >= RELEVANT) for item in placed[:2]] == [
        (2, True),
        (1, False),
    ]


def test_the_order_is_that_of_the_values_and_no_score_is_lower_than_one_behind_it() -> None:
    idf = {"grove": 3.0, "inlet": 9.0}
    found = [Candidate(1, "something else", similarity=0.6), Candidate(2, "a grove", similarity=0.59)]
    placed = weigh(found, parse("grove inlet"), idf, "hybrid")
    assert [item.candidate.chunk_id for item in placed] == [2, 1]
    assert placed[0].score >= placed[1].score >= RELEVANT


@pytest.mark.parametrize(
    ("text", "title", "is_named"),
    [
        ("forge was funded by ann lee", "ann lee", True),
        ("forge was funded by joann lee", "ann lee", False),
        ("forge was funded by apex", "apex", False),
        ("forge was funded by [[apex|them]]", "apex", True),
    ],
)
def test_what_a_better_passage_names_comes_before_others_as_near(
    text: str, title: str, is_named: bool
) -> None:
    best = Candidate(1, text, "forge", similarity=0.6)
    others = [
        Candidate(2, "someone else", "bob ray", similarity=0.4),
        Candidate(3, "who", title, similarity=0.35),
    ]
    placed = weigh([best, *others], parse("funders"), {"funders": 6.0}, "hybrid")
    assert [item.candidate.title for item in placed].index(title) == (1 if is_named else 2)
    assert ("named in a top result" in placed[1].reasons) == is_named


def test_where_nothing_fits_no_reason_speaks_of_a_top_result() -> None:
    found = [Candidate(1, "forge was funded by ann lee", "forge", similarity=0.3)]
    found.append(Candidate(2, "who", "ann lee", similarity=0.28))
    placed = weigh(found, parse("funders"), {"funders": 6.0}, "hybrid")
    assert placed[0].score < RELEVANT
    assert [item.reasons for item in placed] == [("distantly related",)] * 2


def test_of_equally_good_passages_the_newer_comes_first() -> None:
    found = [Candidate(1, "amber", date="2024-05-01"), Candidate(2, "amber", date="2026-05-01T10:00")]
    placed = weigh(found, parse("amber"), {"amber": 6.0}, "lexical")
    assert [item.candidate.chunk_id for item in placed] == [2, 1]


def test_a_passage_without_a_vector_gets_the_similarity_of_like_ones() -> None:
    def comes_first(nearness: float) -> bool:
        near = [Candidate(n, "amber grove", by_words=True, similarity=nearness) for n in range(5)]
        beside = [Candidate(8, "nothing of it", similarity=0.6), Candidate(9, "amber grove", by_words=True)]
        placed = weigh([*beside, *near], parse("amber"), {"amber": 6.0}, "hybrid")
        places = [item.candidate.chunk_id for item in placed]
        return places.index(9) < places.index(8)

    assert comes_first(0.5)
    assert not comes_first(-0.1)


def test_a_rare_word_in_a_long_note_is_no_near_miss(tmp_path: Path, model_dir: Path) -> None:
    said = "The harvest was early, the roads were dry and nobody complained about the weather. "
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "diary.md").write_text(
        f"# Diary\n\n{said * 9}We picked the smoky zanzibar clove.\n", "utf-8"
    )
    library = Library.open(Settings(tmp_path / "data", model_dir, (tmp_path,)))
    library.create_store(OWNER, "notes", "minilm")
    index(library, "notes", tmp_path / "notes")
    for query in ("zanzibar", "zanzibar clove", '"zanzibar clove"', "zanzibars"):
        [hit] = [hit for hit in library.search(OWNER, query).hits if hit.relevant]
        assert "zanzibar" in hit.content
    library.close()


def order(query: str, texts: dict[str, tuple[str, float]], idf: dict[str, float]) -> list[tuple[str, bool]]:
    """(name, whether it fits) of passages, each with its text and its similarity."""
    found = [Candidate(number, text, similarity=near) for number, (text, near) in enumerate(texts.values())]
    placed = weigh(found, parse(query), idf, "hybrid")
    return [([*texts][item.candidate.chunk_id], item.score >= RELEVANT) for item in placed]


@pytest.mark.parametrize(
    ("query", "holds", "lacks"),
    [
        ("INV-2024-019", "the bill inv-2024-019", "the bill inv-2024-018"),
        ("utf-8", "written in utf8", "written in utf-16, with 8 bits"),
        ("2026-12-11", "the exam 2026-12-11 20261211", "the exam 2026-12-12 20261212"),
    ],
)
def test_a_number_alone_fits_only_what_has_it(query: str, holds: str, lacks: str) -> None:
    idf = dict.fromkeys(units(query_words(query)), 5.0)
    placed = order(query, {"lacks": (lacks, 0.9), "holds": (holds, 0.6)}, idf)
    assert placed == [("holds", True), ("lacks", False)]


def test_one_word_of_a_question_does_not_displace_what_is_near_in_meaning() -> None:
    idf = {"blood": 5.0, "test": 3.0, "tired": 6.0}
    near = Candidate(1, "your iron stores are low", similarity=0.34)
    found = [near, Candidate(2, "a test tool", similarity=0.27)]
    assert weigh(found, parse("blood test tired"), idf, "hybrid")[0].candidate is near


@pytest.mark.parametrize(("asked", "is_code_first"), [("who mends pipes here", False), ("mends pipes", True)])
def test_code_answers_a_question_of_several_words_only_with_the_words(
    asked: str, is_code_first: bool
) -> None:
    code = Candidate(1, "class duct", is_code=True, similarity=0.32)
    note = Candidate(2, "call the plumber", similarity=0.3)
    query = parse(asked)
    placed = weigh([note, code], query, dict.fromkeys(query.terms.forms, 4.0), "hybrid")
    assert (placed[0].candidate is code) == is_code_first
