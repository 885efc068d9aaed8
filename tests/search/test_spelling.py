"""A word that no passage has finds those that are one slip away, and the answer says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rag_core.config import Settings
from rag_core.library import Library
from rag_core.types import OWNER, Mode, Viewer
from tests.conftest import index, stores_of
from tests.support.trees import write

GUEST = Viewer("friend@example.com", stores=frozenset({"firms"}))
NOTES = {
    "firms/terraform.md": "# Terraform Dynamics\n\nThe warehouse robots of Meridian.",
    "firms/kapoor.md": "# Mina Kapoor\n\nShe configured the happiest stories of Zürich.",
    "firms/secret.md": "---\nprivate: true\n---\n# Xylophone\n\nNobody may know of it.",
    **{
        f"firms/secret{n}.md": f"---\nprivate: true\n---\n# Robto{end}\n\nHidden."
        for n, end in enumerate("bdfghjklmn")
    },
    "tags/a.md": "---\ntags: [greenhouse]\n---\n# Vegetables\n\nTomatoes.",
    "tags/b.md": "# Seeds\n\nThe greenhouse is big.",
    "tags/pergola/a.md": "# Vines\n\nGrapes.",
    "tags/pergola/b.md": "# Roses\n\nThe pergola is white.",
    "tags/long.md": f"# Long\n\n{'antidisestablishment' * 3}.",
    "code/http.py": "def parse_header(header):\n    return header\n",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    with stores_of(tmp_path_factory.mktemp("spelling"), NOTES) as opened:
        yield opened


def meant(library: Library, query: str, viewer: Viewer = OWNER) -> tuple[str, ...]:
    return library.search(viewer, query, mode="lexical").warnings


def said(typed: str, word: str) -> str:
    return f"No passage has the word {typed!r}, so {word!r} was searched. Quotes keep a word as it is."


SLIPS = [
    *("terrafrom terraform", "dynamcis dynamics", "meridain meridian", "kapor kapoor", "zurihc zurich"),
    *("warehuose warehouse", "confgured configured", "storries stories", "happyest happiest"),
    *("haeder header", "greenhuose greenhouse", "pergloa pergola"),
]


@pytest.mark.parametrize("slip", SLIPS)
def test_a_word_with_a_slip_leads_to_the_one_that_was_meant(library: Library, slip: str) -> None:
    typed, word = slip.split()
    answer = library.search(OWNER, typed, mode="lexical")
    assert answer.hits
    assert answer.warnings == (said(typed, word),)
    assert answer.notices[0].data == {"word": typed, "meant": word}


def test_each_word_with_a_slip_is_named(library: Library) -> None:
    assert len(meant(library, "Terrafrom Dynamcis robots")) == 2


@pytest.mark.parametrize("query", ["kayak", "zzzz", "xy", "robots", "configuration", "价格歧视", "1234567"])
def test_other_words_lead_nowhere(library: Library, query: str) -> None:
    assert meant(library, query) == ()


@pytest.mark.parametrize("query", ["peru", "shoold", "whitch"])
def test_nobody_means_a_word_that_is_short_or_everywhere(tmp_path: Path, query: str) -> None:
    text = "# Costs\n\nWe should pay per head, which is dear; shoals are dearer.\n"
    with stores_of(tmp_path, {"costs/a.md": text}) as opened:
        assert meant(opened, query) == ()
        assert meant(opened, "shaols") == (said("shaols", "shoals"),)


def test_a_word_in_quotes_stays_as_it_is(library: Library) -> None:
    answer = library.search(OWNER, '"terrafrom"', mode="lexical")
    assert (answer.hits, answer.warnings) == ((), ())


def test_a_name_with_a_slip_finds_its_document_first(library: Library) -> None:
    hits = library.search(OWNER, "terrafrom dynamics").hits
    assert (hits[0].document.title, hits[0].reasons[0]) == ("Terraform Dynamics", "its name")


def test_reasons_name_the_word_that_was_found_and_not_the_one_with_a_slip(library: Library) -> None:
    hits = library.search(OWNER, "terrafrom zyzzyva", mode="lexical").hits
    assert hits[0].reasons[0].startswith("1 of 2 words: “terraform”; without “zyzzyva”")


def test_a_word_that_is_one_slip_from_several_finds_those_in_titles_first(tmp_path: Path) -> None:
    notes = {"n/a.md": "# Stone\n\nGrey.\n"} | {f"n/{n}.md": f"# {n}\n\nA store.\n" for n in range(3)}
    with stores_of(tmp_path, notes) as opened:
        [notice] = opened.search(OWNER, "stohe", mode="lexical").notices
        assert notice.data["meant"] == "stone"
        answer = opened.search(OWNER, "stoqe", mode="lexical")
        assert dict(answer.query.terms.corrected) == {"stoqe": ("stone", "store")}
        assert answer.hits[0].document.title == "Stone"
        assert len(answer.hits) == 4


def test_meaning_alone_corrects_no_words(library: Library) -> None:
    assert library.search(OWNER, "terrafrom", mode="vector").warnings == ()


def test_private_words_that_are_nearer_hide_nothing_from_a_guest(library: Library) -> None:
    assert "so 'robto" in meant(library, "robtos")[0], "one of ten private words"
    assert meant(library, "robtos", GUEST) == (said("robtos", "robots"),)


def test_a_word_too_long_to_be_typed_is_like_no_other(library: Library) -> None:
    assert meant(library, "antidisestablishment" * 2 + "antidisestablishmetn") == ()


def test_of_many_words_with_a_slip_the_first_are_named(library: Library) -> None:
    assert len(meant(library, "terrafrom dynamcis meridain kapor warehuose")) == 3


def test_a_guest_is_told_of_no_private_word(library: Library) -> None:
    assert meant(library, "xylophnoe") == (said("xylophnoe", "xylophone"),)
    assert meant(library, "xylophnoe", GUEST) == ()
    assert meant(library, "haeder", GUEST) == (), "a store that is not shared"
    assert meant(library, "meridain", GUEST) == (said("meridain", "meridian"),)


@pytest.mark.parametrize(
    ("query", "title"), [("terraf", "Terraform Dynamics"), ("warehou robots", "Terraform Dynamics")]
)
def test_a_word_that_stands_nowhere_finds_those_that_begin_with_it(
    library: Library, query: str, title: str
) -> None:
    answer = library.search(OWNER, query, mode="lexical")
    assert [hit.document.title for hit in answer.hits if hit.relevant] == [title]
    assert answer.warnings == ()


WEEKS = {f"n/2026-03-{day} week.md": f"# 2026-03-{day} Weekly Review\n\nGutters.\n" for day in range(10, 15)}
WEEKS |= {"n/a.md": "# Book\n\nA reversible jacket.\n", "n/b.md": "# Weekly plan\n\nMonday.\n"}


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
@pytest.mark.parametrize("query", ["weekly rev", "rev", "Review WEE"])
def test_three_letters_of_the_last_word_find_titles(tmp_path: Path, query: str, mode: Mode) -> None:
    with stores_of(tmp_path, WEEKS) as opened:
        answer = opened.search(OWNER, query, mode=mode)
        titles = [hit.document.title for hit in answer.hits[:5] if hit.relevant]
        assert [title[11:] for title in titles] == ["Weekly Review"] * 5
        assert "its name" not in answer.hits[0].reasons
        assert answer.warnings == ()


@pytest.mark.parametrize("query", ["rev gutter", '"rev"', "re", "jac", "gutters rex"])
def test_other_beginnings_of_three_letters_are_not_completed(tmp_path: Path, query: str) -> None:
    with stores_of(tmp_path, WEEKS) as opened:
        assert opened.search(OWNER, query, mode="lexical").query.terms.completed == ""


def test_a_word_that_is_completed_from_titles_finds_longer_words_in_texts(tmp_path: Path) -> None:
    notes = {"n/a.md": "# Harpsichords\n\nKeys.\n", "n/b.md": "# B\n\nThe harpsist plays.\n"}
    with stores_of(tmp_path, notes) as opened:
        assert len(opened.search(OWNER, "harps", mode="lexical").hits) == 2


def test_a_word_that_one_store_has_is_not_completed_from_another(tmp_path: Path) -> None:
    with stores_of(tmp_path, WEEKS | {"m/a.md": "# Engine\n\nOne rev more.\n"}) as opened:
        hits = opened.search(OWNER, "rev", mode="lexical").hits
        assert [hit.document.title for hit in hits if hit.reasons == ("the word",)] == ["Engine"]


def test_a_word_that_stands_somewhere_finds_no_longer_ones(tmp_path: Path) -> None:
    notes = {"n/a.md": "# A\n\nThe harp.\n", "n/b.md": "# B\n\nA harpsichord.\n"}
    with stores_of(tmp_path, notes) as opened:
        assert [hit.document.title for hit in opened.search(OWNER, "harp", mode="lexical").hits] == ["A"]
        assert [hit.document.title for hit in opened.search(OWNER, "harps", mode="lexical").hits] == ["A"]
        assert [hit.document.title for hit in opened.search(OWNER, "harpsi", mode="lexical").hits] == ["B"]


@pytest.mark.parametrize("query", ["informat", "informa", "universi", "conferen"])
def test_a_beginning_may_be_longer_than_the_stem(tmp_path: Path, query: str) -> None:
    text = "# A\n\nThe communication of information by engineering universities, at a conference.\n"
    with stores_of(tmp_path, {"n/a.md": text, "n/b.md": "# B\n\nInforming.\n"}) as opened:
        answer = opened.search(OWNER, query, mode="lexical")
        assert [hit.document.title for hit in answer.hits] == ["A"]
        assert answer.warnings == ()


def test_folders_take_no_place_from_what_begins_so(tmp_path: Path) -> None:
    notes = {f"n/projects/{number}.md": f"# {number}\n\nA pale stone.\n" for number in range(120)}
    with stores_of(tmp_path, notes | {"n/b.md": "# B\n\nThe projector hums.\n"}) as opened:
        hits = opened.search(OWNER, "projecto", mode="lexical").hits
        assert [hit.document.title for hit in hits if hit.relevant] == ["B"]


def test_a_beginning_finds_nothing_hidden(library: Library) -> None:
    assert library.search(OWNER, "xylo", mode="lexical").hits != ()
    assert library.search(GUEST, "xylo", mode="lexical").hits == ()
    assert library.search(OWNER, "xyl", mode="lexical").query.terms.completed == "xyl"
    assert library.search(GUEST, "xyl", mode="lexical").query.terms.completed == ""


GUESSES = {
    "g/case.md": "# Law\n\nThe case was heard in court.",
    "g/peter.md": "# Peter\n\nYesterday peter won the game.",
    "g/tea.md": "# Tea\n\nThe tea house by the harbour opens at seven.",
}


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
@pytest.mark.parametrize(("query", "first"), [("café", "case.md"), ("meter", "peter.md")])
def test_a_word_that_nobody_typed_orders_and_never_makes_a_hit_fit(
    tmp_path: Path, query: str, first: str, mode: Mode
) -> None:
    with stores_of(tmp_path, GUESSES) as opened:
        answer = opened.search(OWNER, query, mode=mode)
        assert [notice.code for notice in answer.notices][:1] == ["corrected"]
        assert answer.hits[0].document.path == first
        assert not answer.convincing
        assert not any(hit.relevant for hit in answer.hits)


def test_what_was_typed_fits_and_comes_before_what_was_guessed(tmp_path: Path) -> None:
    with stores_of(tmp_path, GUESSES) as opened:
        hits = opened.search(OWNER, "meter tea house harbour opens", mode="lexical").hits
        assert [(hit.document.path, hit.relevant) for hit in hits] == [("tea.md", True), ("peter.md", False)]


@pytest.mark.parametrize("query", ["café", "meter"])
def test_a_word_that_stands_somewhere_is_not_corrected(tmp_path: Path, query: str) -> None:
    notes = {**GUESSES, "g/z.md": "# Bills\n\nThe meter of the Café reads high."}
    with stores_of(tmp_path, notes) as opened:
        answer = opened.search(OWNER, query, mode="lexical")
        assert [hit.document.path for hit in answer.hits] == ["z.md"]
        assert answer.notices == ()


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("lawyer", {}),
        ("noodle soup", {}),
        ("layre", {"layre": ("layer",)}),
        ("dooble art", {"dooble": ("doodle",)}),
    ],
)
def test_a_word_that_the_model_knows_is_no_typing_error(
    model_dir: Path, tmp_path: Path, query: str, meant: dict[str, tuple[str, ...]]
) -> None:
    notes = tmp_path / "notes"
    write(notes, {"onion.md": "# Onions\n\nEach layer of an onion is a leaf.", "art.md": "A doodle of soup."})
    with closing(Library.open(Settings(tmp_path / "data", model_dir, (tmp_path,)))) as library:
        library.create_store(OWNER, "s", "minilm")
        index(library, "s", notes)
        answer = library.search(OWNER, query, mode="hybrid")
        assert dict(answer.query.terms.corrected) == meant
