"""The query language: what is an operator, what is not, and what each one does to a search."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_core.config import Settings
from rag_core.errors import EmptyQuery, InvalidInput, NotFound
from rag_core.library import Library
from rag_core.search.query import MAX_OPERATORS, asked, merge, parse
from rag_core.text.phrases import exact, has_phrase
from rag_core.text.words import fold
from rag_core.types import OWNER, Filters, Mode
from tests.conftest import index
from tests.support.trees import write

MODES: tuple[Mode, ...] = ("hybrid", "vector", "lexical")
FRONT = "---\ntags: [{}]\ndate: {}\n---\n"
NOTES = {
    "apple.md": FRONT.format("fruit/pome", "2026-03-15") + "# Apple\n\nAnna's red apple pie, baked.",
    "pear.md": FRONT.format("fruit", "2025-12-31") + "# Pear\n\nThe pie of red pears, an apple\n  less pie.",
    "cake.md": FRONT.format("Fruits, Ünï", "2026-01-01") + "# Cake\n\nApples, a pie, C++ and redder things.",
    "pie.py": "# apple pie\ndef apple_pie():\n    return 'pie'\n",
    "pro/one.md": "# One\n\nAn apple below pro.",
    "projects/two.md": "# Two\n\nAn apple below projects.",
    "projects/deep/three.md": "# Three\n\nAn apple deep below projects.",
    "50%_a/four.md": "# Four\n\nAn apple below percent.",
    "50zza/five.md": "# Five\n\nAn apple below zza.",
    "[old] x/six.md": "# Six\n\nAn apple below old.",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("query")
    write(folder / "notes", NOTES)
    opened = Library.open(Settings(folder / "data", folder / "models", ()))
    index(opened, "kitchen", folder / "notes")
    index(opened, "copy", folder / "notes", "*.md")
    yield opened
    opened.close()


def found(library: Library, query: str, mode: Mode = "lexical", filters: Filters | None = None) -> set[str]:
    answer = library.search(OWNER, query, ["kitchen"], mode=mode, top_k=50, filters=filters)
    hints = ("No document", "No note has", "No passage has the word", "Without the filters something fits")
    others = [said for said in answer.warnings if not said.startswith(hints)]
    assert not [said for said in others if "is searched as" not in said and not said.startswith("OR works")]
    return {hit.document.path for hit in answer.hits}


# --- operators --------------------------------------------------------------------------


IN_PROJECTS = {"projects/two.md", "projects/deep/three.md"}
FILTERS: list[tuple[str, set[str]]] = [
    *(
        (f"apple {each}", {"pie.py"})
        for each in ("type:python", "file_type:python", "TYPE:Python", 'type:"python"')
    ),
    *(
        (f"pie {key}", {"apple.md", "pear.md"})
        for key in ("tag:fruit", "tags:fruit", "tag:#fruit", "tag:FRUIT")
    ),
    ("pie tag:fruit/", {"apple.md", "pear.md"}),
    ("tag:fruit/pome", {"apple.md"}),
    *((f"tag:{each}", {"cake.md"}) for each in ("ünï", "ÜNÏ", unicodedata.normalize("NFD", "Ünï"))),
    *(
        (f"apple {each}", {"pro/one.md"})
        for each in ("path:pro", "folder:pro", "path:pro/", "path:/pro", "path:PRO")
    ),
    ("path:projects", IN_PROJECTS),
    ("path:projects/deep", {"projects/deep/three.md"}),
    ("path:50%_a", {"50%_a/four.md"}),
    ('path:""', {"apple.md", "pear.md", "cake.md", "pie.py"}),
    ("path:pro*", {"pro/one.md", *IN_PROJECTS}),
    ("path:*.py", {"pie.py"}),
    ("path:PROJECTS/*/three.md", {"projects/deep/three.md"}),
    ('path:"[old] x/*"', {"[old] x/six.md"}),
    *((f"{key}:projects/two.md", {"projects/two.md"}) for key in ("file", "source_file", "file_path")),
    ("apple page:1", set()),
    ("apple tag:fruit tag:fruits after:2026", {"apple.md", "cake.md"}),
]


@pytest.mark.parametrize(("query", "paths"), FILTERS)
def test_a_filter_keeps_exactly_the_documents_that_fit(library: Library, query: str, paths: set[str]) -> None:
    assert found(library, query) == paths


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("after:2026-03-15 before:2026-03-16", {"apple.md"}),
        ("after:2026-03-16 before:2026-03-17", set()),
        ("after:2026-03 before:2026-04", {"apple.md"}),
        ("before:2026", {"pear.md"}),
        ("after:2026 before:2026-01-02", {"cake.md"}),
        ("after:2026 after:2026-03-01 before:2027 before:2026-03-16", {"apple.md"}),
    ],
)
def test_dates_are_from_and_until_before(library: Library, query: str, paths: set[str]) -> None:
    assert found(library, f"{query} tag:fruit tag:fruits") == paths


@pytest.mark.parametrize("day", ["someday", "2026-13", "2026-02-30", "26-01-01", "2026-1-1-1", '""', "0000"])
def test_what_is_no_date_is_refused_with_the_way_to_write_one(library: Library, day: str) -> None:
    with pytest.raises(InvalidInput, match="is not a date") as error:
        found(library, f"pie after:{day}")
    assert "2026-03-15" in error.value.suggestion


def test_store_in_the_query_wins_over_the_one_beside_it(library: Library) -> None:
    answer = library.search(OWNER, "apple store:copy store:kitchen", mode="lexical")
    assert answer.stores == ("copy", "kitchen")
    assert library.search(OWNER, "apple store:copy", ["kitchen"], mode="lexical").stores == ("copy",)


def test_store_alone_lists_its_documents(library: Library) -> None:
    hits = library.search(OWNER, "store:copy").hits
    assert {hit.document.path for hit in hits} == {"apple.md", "pear.md", "cake.md"}


def test_unknown_store_in_the_query_is_not_found(library: Library) -> None:
    with pytest.raises(NotFound, match="'kitchn'") as error:
        library.search(OWNER, "apple store:kitchn")
    assert error.value.suggestion == "Did you mean 'kitchen'?"


# --- phrases and exclusions -------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("query", "paths"),
    [
        *((f'"{phrase}"', {"apple.md", "pie.py"}) for phrase in ("apple pie", "APPLE Pie", "apple   pie")),
        ('"apple less pie"', {"pear.md"}),  # across a line break
        ('"pie of" "red pears"', {"pear.md"}),
        ('pie -anna -pears type:markdown path:""', {"cake.md"}),
        ('pie -"apple pie" tag:fruit', {"pear.md"}),
    ],
)
def test_phrases_must_occur_and_exclusions_must_not_in_every_mode(
    library: Library, mode: Mode, query: str, paths: set[str]
) -> None:
    assert found(library, query, mode) == paths


@pytest.mark.parametrize(
    ("phrase", "path"),
    [
        ("apples", "cake.md"),
        ("pears", "pear.md"),
        ("C++", "cake.md"),
        ("'pie'", "pie.py"),
        ("Anna's", "apple.md"),
    ],
)
def test_phrase_of_one_word_is_no_other_form_of_it(library: Library, phrase: str, path: str) -> None:
    assert found(library, f'"{phrase}"') == {path}


@pytest.mark.parametrize(
    ("phrase", "path"), [("apple", "cake.md"), ("thing", "cake.md"), ("bake", "apple.md")]
)
def test_phrase_is_not_found_inside_words(library: Library, phrase: str, path: str) -> None:
    assert path in found(library, phrase)
    assert path not in found(library, f'"{phrase}"')


ALIKE = {  # as written → as it is typed
    "apostrophe": ("don’t panic", "don't panic"),
    "typed apostrophe": ("don't panic", "don’t panic"),
    "dash": ("pages 10–12", "pages 10-12"),
    "hyphen": ("a well\u2011known bird", "a well-known bird"),
    "no-break space": ("10\u00a0km away", "10 km away"),
}


@pytest.mark.parametrize(("written", "typed"), ALIKE.values(), ids=ALIKE)
def test_a_phrase_may_have_other_forms_of_signs(written: str, typed: str) -> None:
    assert has_phrase(f"Here is {written}, at last.", typed)
    assert not has_phrase(f"Here is {written}, at last.", f"{typed} again")
    assert [match[0] for match in exact(typed).pattern.finditer(fold(f"Here is {written}."))]


@pytest.mark.parametrize("quotes", ["“”", "„“", "«»", "»«"])
def test_the_quotes_of_other_keyboards_are_quotes(quotes: str) -> None:
    quoted = f"{quotes[0]}kettle whistles{quotes[1]}"
    assert [phrase.text for phrase in parse(quoted).phrases] == ["kettle whistles"]
    assert [phrase.text for phrase in parse(f"tea -{quoted}").without] == ["kettle whistles"]


def test_phrase_does_not_go_on_from_the_title_into_the_headings(library: Library) -> None:
    assert found(library, '"Apple Apple"') == set()


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("pie -pears tag:fruit tag:fruits", {"apple.md", "cake.md"}),  # a word in all its forms
        ("pie -c++ tag:fruit tag:fruits", {"apple.md", "pear.md"}),  # signs exactly
        ("pie -c# tag:fruits", {"cake.md"}),
        ("pie -red-pie tag:fruit", {"apple.md", "pear.md"}),  # joined words only where they are joined
        ("apple -apple_pie type:python", set()),
        ("-below", {"apple.md", "pear.md", "cake.md", "pie.py"}),
        ("tag:fruit -anna", {"pear.md"}),
    ],
)
def test_an_exclusion_leaves_out_exactly_what_holds_it(library: Library, query: str, paths: set[str]) -> None:
    assert found(library, query) == paths


@pytest.mark.parametrize("raw", ["state-of-the-art -draft", '"red pie"-x -draft', "a -draft", "ls -l -draft"])
def test_hyphen_excludes_only_behind_a_space_and_before_more_than_a_letter(raw: str) -> None:
    assert [phrase.text for phrase in parse(raw).without] == ["draft"]


# --- what is no operator ----------------------------------------------------------------


@pytest.mark.parametrize(
    "raw",
    ["std::vector", "http://x.y/z", r"C:\x", "note:this", "12:30", "type:", "re: pie", "a=b", "(type:x)"],
)
def test_unknown_key_is_plain_words(raw: str) -> None:
    query = parse(raw)
    assert query.text == raw
    assert query.filters == Filters()


@pytest.mark.parametrize(
    "raw", ['pie "', '"pie', 'p"ie', 'pie ""', '" pie', "pie -", "pie --", 'pie -""', 'pie -"']
)
def test_stray_signs_are_no_operators(raw: str) -> None:
    query = parse(raw)
    assert "pie" in query.terms.words or query.terms.words == ("p", "ie")
    assert query.phrases == query.without == ()


@pytest.mark.parametrize(
    "query",
    [
        "pie AND",
        "NOT PIE",
        "pie OR",
        "NEAR(pie)",
        "pie*",
        "^pie",
        "{text} : pie",
        "text: pie",
        "(pie",
        "pie)",
        "+pie",
    ],
)
def test_syntax_of_the_index_is_plain_words(library: Library, query: str) -> None:
    assert "apple.md" in found(library, query)


@pytest.mark.parametrize("query", ["\x00pie", "pi\udcffe pie", "pie tag:\udcff", 'pie "\x00"'])
def test_what_no_database_takes_does_no_harm(library: Library, query: str) -> None:
    found(library, query)


@pytest.mark.parametrize("query", ["", "   ", '""', '" "', "\x00", "--"])
def test_query_without_anything_to_look_for_is_refused(library: Library, query: str) -> None:
    with pytest.raises(InvalidInput, match="empty") as caught:
        library.search(OWNER, query, ["kitchen"])
    assert caught.value.suggestion == "Type a few words, or a filter such as tag:recipe."


@pytest.mark.parametrize("quoted", ['"{}"', '-"{}"', "-{}"])
def test_phrase_of_200_characters_is_answered_and_a_longer_one_refused(library: Library, quoted: str) -> None:
    found(library, "pie " + quoted.format("x" * 200))
    with pytest.raises(InvalidInput, match="201") as error:
        found(library, "pie " + quoted.format("x" * 201))
    assert "200" in error.value.suggestion


def test_long_words_are_no_phrase(library: Library) -> None:
    assert "apple.md" in found(library, f"pie {'x' * 500}")


def test_pasted_text_is_ranked_by_its_first_words_only() -> None:
    query = parse(" ".join(f"word{number}" for number in range(200)))
    assert query.text.endswith("word199")
    assert "word99" in query.terms.words
    assert "word199" not in query.terms.words


@pytest.mark.parametrize("operator", ["-w{}", '"w{}"', "path:w{}", "tag:w{}", "store:w{}"])
def test_too_many_operators_are_refused(library: Library, operator: str) -> None:
    parse(" ".join(operator.format(0) for _ in range(100)))
    with pytest.raises(InvalidInput, match="101"):
        found(library, " ".join(operator.format(number) for number in range(101)))


SIGNS = [*'"-*:(){}^%[\\ ', "type:", "tag:", "path:", "page:", "after:2026", "AND", "NOT", "NEAR("]
WORDS = ["apple", "pie", "价格", "ß", "\u0301", "\x00", "\ud800"]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.text(max_size=12) | st.sampled_from(SIGNS) | st.sampled_from(WORDS), max_size=16).map(
        "".join
    ),
    st.sampled_from(MODES),
)
def test_any_text_is_a_query_or_refused(library: Library, text: str, mode: Mode) -> None:
    try:
        answer = library.search(OWNER, text, ["kitchen"], mode=mode)
    except (InvalidInput, NotFound):  # such as a store that is not there
        return
    hints = ("No document", "No note has", "No passage has the word", "Without the filters something fits")
    others = [said for said in answer.warnings if not said.startswith(hints)]
    assert not [said for said in others if "is searched as" not in said and not said.startswith("OR works")]


# --- filters given beside the query -----------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("typed", "filters", "paths"),
    [
        ("tag:fruits", Filters(tags=("fruit/pome",)), set()),
        ("tag:fruit", Filters(tags=("fruit/pome",)), {"apple.md"}),
        ("tag:fruit/pome", Filters(tags=("fruit", "fruits")), {"apple.md"}),
        ("tag:fruits tag:fruit", Filters(tags=("ünï", "fruit/pome")), {"apple.md", "cake.md"}),
        ("type:md", Filters(types=("markdown",), tags=("fruits",)), {"cake.md"}),
        ("path:projects", Filters(paths=("projects/deep",)), {"projects/deep/three.md"}),
        ("file:apple.md", Filters(files=("pear.md",)), set()),
    ],
)
def test_filters_beside_the_query_narrow_those_in_it(
    library: Library, typed: str, filters: Filters, paths: set[str], mode: Mode
) -> None:
    assert found(library, f"apple pie {typed}", mode, filters) == paths


def test_an_unknown_filter_beside_the_query_is_named(library: Library) -> None:
    answer = library.search(OWNER, "pie tag:fruit", ["kitchen"], filters=Filters(tags=("fruitz",)))
    assert [said.partition(" Did")[0] for said in answer.warnings] == [
        "No document in store 'kitchen' has the tag 'fruitz'."
    ]


def test_dates_beside_the_query_narrow_it(library: Library) -> None:
    query = "after:2025 before:2027 tag:fruit tag:fruits"
    assert found(library, query, filters=Filters(after="2026-01-01", before="2026-02-01")) == {"cake.md"}


def test_filters_alone_list_one_passage_a_document_newest_first(library: Library) -> None:
    answer = library.search(OWNER, "tag:fruit tag:fruits", ["kitchen"])
    assert [hit.document.path for hit in answer.hits] == ["apple.md", "cake.md", "pear.md"]
    assert answer.convincing
    assert {hit.reasons for hit in answer.hits} == {("matches the filters",)}


@pytest.mark.parametrize("signs", [":", "???!!", " : - … ", "—", "_", '" :', "\U0001f331"])
def test_signs_alone_ask_nothing(library: Library, signs: str) -> None:
    with pytest.raises(EmptyQuery, match=r"There is no letter or digit in .* put them in double quotes: "):
        library.search(OWNER, signs, ["kitchen"])


@pytest.mark.parametrize("mode", MODES)
def test_signs_in_quotes_are_found_exactly(library: Library, mode: Mode) -> None:
    [hit] = library.search(OWNER, '"++"', ["kitchen"], mode=mode).hits
    assert (hit.document.path, hit.relevant, hit.reasons) == ("cake.md", True, ("holds it exactly",))
    assert [hit.content[start:end] for start, end in hit.spans] == ["++"]
    assert found(library, '"++" -redder') == set()


def test_signs_beside_filters_are_filters_alone(library: Library) -> None:
    assert found(library, ": tag:fruit ?") == found(library, "tag:fruit")


@pytest.mark.parametrize("word", ["7", "桃", "ぶ", "½", "का", "x"])
def test_a_single_letter_or_digit_of_any_script_asks_something(word: str) -> None:
    assert asked(word).text == word


def test_filters_beside_the_query_are_as_few_as_in_it(library: Library) -> None:
    many = Filters(tags=tuple(f"tag{n}" for n in range(MAX_OPERATORS + 1)))
    library.create_store(OWNER, "s", "hashing")
    with pytest.raises(InvalidInput, match=f"has {MAX_OPERATORS + 1} filters"):
        library.search(OWNER, "heron", filters=many)


def test_half_a_character_in_a_filter_is_no_error() -> None:
    assert merge(Filters(), Filters(tags=("\ud800",)))[0].tags == ("?",)
