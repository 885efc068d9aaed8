"""How a note is found by its words, however they are written. All through lexical searches."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_core.config import Settings
from rag_core.library import Library
from rag_core.text.words import query_words
from rag_core.types import OWNER, Hit
from tests.conftest import index, stores_of

NOTES = {
    "camel": "It calls getUserName of the HTTPServer, in utf8.",
    "joined": "Run load_all_files in the state-of-the-art pkg.sub.mod.",
    "chinese": "我们讨论了价格歧视的问题，写在2023年计划里。",
    "japanese": "東京タワーに行きました。",
    "kana": "カタカナとひらがな。",
    "thai": "ฉันชอบกินข้าวที่บ้าน",
    "hindi": "हिन्दी भाषा में लिखा है",
    "korean": "문서를 검색합니다",
    "accented": "We met at the café near the Straße.",
    "plain": "The cafe near the strasse was shut.",
    "decomposed": unicodedata.normalize("NFD", "Her résumé, naïve; がぎぐ; 한국어."),
    "turkish": "İstanbul is large.",
    "wide": "ＡＢＣ and ﬁne print, ｶﾞｲﾄﾞ.",
    "english": "Indexing the old archives of letters.",
    "polish": "Bułka from Łódź, for Søren and Đorđe, in Tromsø.",
    "amount": "It costs 48,700 euros; call 0441 55 98 21 until 2026-05-03.",
    "plain amount": "It costs 51200 euros and 1284.60 more, about 9786 or 85 and 97 of 86.",
    "other days": "The roof on 2026-03-03, the cellar on 2026-05-10.",
    "umlauts": "Herr Größler grüßt aus Brömmelhaus.",
    "what": "That which is what it is about.",
    "arabic": "زرنا المكتبات القديمة، وكتابها الأول مع الوزير.",
    "hyphens": "The Ri\u00adver\u00adbank of Nova\u200bMind.",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("words")
    (folder / "notes").mkdir()
    for number, text in enumerate(NOTES.values()):
        (folder / "notes" / f"{number}.md").write_text(f"# {number}\n\n{text}\n", "utf-8")
    opened = Library.open(Settings(folder / "data", folder / "models", ()))
    index(opened, "words", folder / "notes")
    yield opened
    opened.close()


def found(library: Library, query: str) -> list[str]:
    names = list(NOTES)
    hits = library.search(OWNER, query, mode="lexical", top_k=50).hits
    return [names[int(Path(hit.document.path).stem)] for hit in hits]


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("user name", "camel"),
        ("getusername", "camel"),
        ("getUserName", "camel"),
        ("GETUSERNAME", "camel"),
        ("http server", "camel"),
        ("httpserver", "camel"),
        ("server", "camel"),
        ("utf8", "camel"),
        ("utf 8", "camel"),
        ("load_all_files", "joined"),
        ("load files", "joined"),
        ("state-of-the-art", "joined"),
        ("art", "joined"),
        ("pkg.sub.mod", "joined"),
        ("sub", "joined"),
    ],
)
def test_identifier_is_found_whole_and_by_its_parts(library: Library, query: str, note: str) -> None:
    assert found(library, query)[0] == note


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("歧视", "chinese"),
        ("价格歧视", "chinese"),
        ("视", "chinese"),
        ("题", "chinese"),
        ("我", "chinese"),
        ("2023", "chinese"),
        ("2023年计划", "chinese"),
        ("計画 計劃 计划", "chinese"),
        ("東京", "japanese"),
        ("タワー", "japanese"),
        ("京タ", "japanese"),
        ("ひら", "kana"),
        ("ข้าว", "thai"),
        ("กินข้าว", "thai"),
        ("บ้าน", "thai"),
        ("검색", "korean"),
        ("검색합니다", "korean"),
        ("문서", "korean"),
    ],
)
def test_word_is_found_inside_a_run_without_spaces(library: Library, query: str, note: str) -> None:
    assert found(library, query)[0] == note


@pytest.mark.parametrize("query", ["歧格", "视歧", "畑", "นกข", "색검"])
def test_run_is_not_found_by_characters_that_do_not_stand_together(library: Library, query: str) -> None:
    assert found(library, query) == []


@pytest.mark.parametrize("query", ["हिन्दी", "भाषा", "लिखा"])
def test_hindi_word_is_one_word_with_its_marks(library: Library, query: str) -> None:
    (hit,) = library.search(OWNER, query, mode="lexical").hits
    assert hit.reasons == ("the word",)
    assert [hit.content[start:end] for start, end in hit.spans] == [query]


@pytest.mark.parametrize("query", ["cafe", "café", "CAFÉ", unicodedata.normalize("NFD", "café")])
def test_accents_are_no_difference(library: Library, query: str) -> None:
    assert set(found(library, query)) == {"accented", "plain"}


@pytest.mark.parametrize(
    ("written", "typed", "is_found"),
    [
        ("Ёлка", "елка", True),
        ("елка", "ёлка", True),
        ("Фёдора", "федора", True),
        ("йод", "иод", False),
        ("Γιώργος", "Γιωργος", True),
        ("ΓΙΩΡΓΟΣ", "Γιώργος", True),
        ("Ευρωπαϊκή", "ευρωπαικη", True),
        ("שָׁלוֹם", "שלום", True),
        ("שלום", "שָׁלוֹם", True),
    ],
)
def test_accents_of_other_scripts_are_no_difference(
    tmp_path: Path, written: str, typed: str, is_found: bool
) -> None:
    with stores_of(tmp_path, {"n/a.md": f"Here is {written}.\n", "n/b.md": "Nothing.\n"}) as opened:
        assert [hit.relevant for hit in opened.search(OWNER, typed, mode="lexical").hits] == [True] * is_found


@pytest.mark.parametrize("query", ["broemmelhaus", "Brömmelhaus", "brommelhaus", "Groessler", "gruesst"])
def test_umlauts_are_found_as_they_are_typed_without_them(library: Library, query: str) -> None:
    assert found(library, query) == ["umlauts"]


@pytest.mark.parametrize("query", ["bulka", "BUŁKA", "Lodz", "soren", "søren", "dorde", "Tromso"])
def test_strokes_are_no_difference_either(library: Library, query: str) -> None:
    assert found(library, query) == ["polish"]


@pytest.mark.parametrize(
    ("query", "note", "marked"),
    [
        ("48700", "amount", "48,700"),
        ("48,700", "amount", "48,700"),
        ("48 700", "amount", "48,700"),
        ("48.700 euros", "amount", "48,700"),
        ("0441 559821", "amount", "0441 55 98 21"),
        ("0441/559821", "amount", "0441 55 98 21"),
        ("51,200", "plain amount", "51200"),
        ("1,284.60", "plain amount", "1284.60"),
        ("2026-05-03", "amount", "2026-05-03"),
        ("2026/05/03", "amount", "2026-05-03"),
    ],
)
def test_a_number_is_found_however_its_digits_are_parted(
    library: Library, query: str, note: str, marked: str
) -> None:
    hits = library.search(OWNER, query, mode="lexical").hits
    assert [list(NOTES)[int(Path(hit.document.path).stem)] for hit in hits if hit.relevant] == [note]
    assert "front matter" not in hits[0].reasons[0]
    assert marked in [hits[0].content[start:end] for start, end in hits[0].spans]


@pytest.mark.parametrize("query", ["2026-03-10", "2026-05-11", "48,701", "487"])
def test_a_part_of_a_number_or_another_sign_in_it_is_another_number(library: Library, query: str) -> None:
    assert not any(hit.relevant for hit in library.search(OWNER, query, mode="lexical").hits)


def test_two_numbers_with_a_sign_between_are_two(library: Library) -> None:
    hits = library.search(OWNER, "2026-05", mode="lexical").hits
    assert len([hit for hit in hits if hit.relevant]) == 2
    assert found(library, "48700-51200") == ["plain amount", "amount"]


@pytest.mark.parametrize(
    "query", ["0171 5550199", '"waiting for deposit"', "deposit", "7412", "2019-02-28", "Grete"]
)
def test_what_else_front_matter_says_is_found_by_words(library: Library, notes: Path, query: str) -> None:
    (notes / "customer.md").write_text(
        "---\ntags: [tax]\nphone: 0171 555 0199\nstatus: waiting for deposit\namount: 7412.00\n"
        "date: 2019-02-28\nfamily: {wife: Grete, sons: [Ole]}\n---\nThe kitchen.\n",
        "utf-8",
    )
    (notes / "other.md").write_text("A phone in the hall, and a wife.\n", "utf-8")
    index(library, f"customers{abs(hash(query))}", notes)
    hits = library.search(OWNER, query, [f"customers{abs(hash(query))}"], mode="lexical").hits
    assert [hit.document.path for hit in hits if hit.relevant] == ["customer.md"]
    assert hits[0].reasons[0].endswith(" in its tags or front matter")


def test_where_a_word_stands_that_the_passage_has_not_is_said(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("---\nauthor: William Wascher\n---\nWascher on wages.\n", "utf-8")
    tape = "It reads a stretch of the tape. " * 12
    parts = [f'    def part{number}(self):\n        """{tape}"""\n' for number in range(6)]
    (notes / "b.py").write_text("\n".join(["class Decoder:", *parts]), "utf-8")
    index(library, "where", notes)

    def hits(query: str) -> tuple[Hit, ...]:
        return library.search(OWNER, query, ["where"], mode="lexical").hits

    assert hits("William Wascher")[0].reasons == ("every word, some in its tags or front matter",)
    assert hits("Wascher wages")[0].reasons == ("every word",)
    above = [hit.reasons for hit in hits("decoder") if "Decoder" not in hit.content]
    assert above == [("the word in its name or headings",)] * 5


@pytest.mark.parametrize(
    "query", ["مكتبة", "المكتبات", "والمكتبة", "كتاب", "الكتاب", "اول", "الأوّل", "قديم", "وزير"]
)
def test_an_arabic_word_is_found_without_article_ending_and_marks(library: Library, query: str) -> None:
    assert found(library, query) == ["arabic"]


@pytest.mark.parametrize("query", ["riverbank", "NovaMind", "nova\u00admind"])
def test_invisible_characters_do_not_part_a_word(library: Library, query: str) -> None:
    assert found(library, query) == ["hyphens"]


@pytest.mark.parametrize("query", ["straße", "strasse", "STRASSE", "STRAẞE"])
def test_sharp_s_is_double_s(library: Library, query: str) -> None:
    assert set(found(library, query)) == {"accented", "plain"}


@pytest.mark.parametrize("query", ["istanbul", "İstanbul", "ISTANBUL"])
def test_dotted_capital_i_is_an_i(library: Library, query: str) -> None:
    assert found(library, query) == ["turkish"]


@pytest.mark.parametrize("query", ["résumé", "resume", "naive", "がぎ", "ぐ", "한국", "한국어"])
def test_decomposed_text_is_found(library: Library, query: str) -> None:
    assert found(library, query) == ["decomposed"]


@pytest.mark.parametrize("query", ["abc", "ＡＢＣ", "fine", "ガイド", "ｶﾞｲﾄﾞ"])
def test_wide_and_narrow_letters_are_the_same(library: Library, query: str) -> None:
    assert found(library, query)[0] == "wide"


@pytest.mark.parametrize("query", ["cafe", "strasse", "istanbul", "resume", "fine"])
def test_word_in_another_spelling_counts_and_is_highlighted(library: Library, query: str) -> None:
    hits = library.search(OWNER, query, mode="lexical").hits
    assert hits
    assert all(hit.spans and hit.reasons == ("the word",) for hit in hits)


@pytest.mark.parametrize("query", ["index archive letter", "archived indexes", "lettering"])
def test_other_form_of_an_english_word_is_found(library: Library, query: str) -> None:
    assert found(library, query) == ["english"]


def test_any_word_is_enough(library: Library) -> None:
    assert set(found(library, "archives istanbul xylophone")) == {"english", "turkish"}


def test_passage_with_more_of_the_words_comes_first(library: Library) -> None:
    assert found(library, "large archives of letters")[:2] == ["english", "turkish"]


def test_stop_words_do_not_find_anything_beside_other_words(library: Library) -> None:
    assert found(library, "what is the istanbul about") == ["turkish"]


def test_stop_words_count_when_there_are_no_others(library: Library) -> None:
    assert found(library, "what is that about")[0] == "what"


def test_long_query_is_answered(library: Library) -> None:
    words = "istanbul " + " ".join(f"w{number}" for number in range(800, 1130))
    assert found(library, words)[0] == "turkish"


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("how much is the annual fee", ("annual", "fee")),
        ("how many jars did she give us", ("jars", "give")),
        ("not afraid of some birds", ("afraid", "birds")),
        ("how much", ("how", "much")),
        ("how do I use tmux", ("tmux",)),
    ],
)
def test_a_question_is_about_what_it_names(question: str, words: tuple[str, ...]) -> None:
    assert query_words(question) == words


@pytest.mark.parametrize(
    "query", ["worksheet", "source criticism worksheet", "source-criticism-worksheet.md"]
)
def test_the_words_of_a_file_name_count_as_those_of_a_title(tmp_path: Path, query: str) -> None:
    notes = {
        "n/lessons/source-criticism-worksheet.md": "# How to question a text\n\nWho wrote it?\n",
        "n/lessons/other.md": "# Magna Carta\n\nThe barons and the king.\n",
    }
    with stores_of(tmp_path, notes) as opened:
        hits = [hit for hit in opened.search(OWNER, query, mode="lexical").hits if hit.relevant]
        assert [hit.document.title for hit in hits] == ["How to question a text"]
        assert "without" not in hits[0].reasons[0]


def test_the_words_of_folders_and_suffixes_do_not_count_so(tmp_path: Path) -> None:
    notes = {f"n/lessons/{name}.md": f"# {name}\n\nThe barons.\n" for name in "abc"}
    with stores_of(tmp_path, notes) as opened:
        assert not any(hit.relevant for hit in opened.search(OWNER, "lessons md", mode="lexical").hits)


@pytest.mark.parametrize("query", ["cafe", "café", "929"])
def test_a_hash_does_not_hold_the_words_in_it(tmp_path: Path, query: str) -> None:
    text = "# Log\n\nThe commit e929cafe102a broke it, and BEEF00CAFE91 mended it."
    with stores_of(tmp_path, {"h/log.md": text}) as opened:
        assert opened.search(OWNER, query, mode="lexical").hits == ()
        for whole in ("e929cafe102a", "beef00cafe91", "E929CAFE102A"):
            assert opened.search(OWNER, whole, mode="lexical").convincing


def test_other_identifiers_with_digits_keep_their_parts(tmp_path: Path) -> None:
    with stores_of(tmp_path, {"h/a.md": "# Keys\n\nUse ed25519 and page2line4 and cafe2go."}) as opened:
        for part in ("25519", "line", "cafe"):
            assert opened.search(OWNER, part, mode="lexical").hits
