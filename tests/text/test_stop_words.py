"""Words that say nothing do not count, in the language of the query."""

from __future__ import annotations

import pytest

from rag_core.text.stop_words import ENGLISH, OTHERS, stop_words
from rag_core.text.words import fold, query_words

QUERIES = [
    ("when does the roofer come", "roofer come"),
    ("wann kommt der Heizungstechniker", "kommt heizungstechniker"),
    ("wie viel kostet die Miete für den Garten", "viel kostet miete garten"),
    ("où est la clé de la cave", "cle cave"),
    ("¿Cuándo es la revisión del coche?", "revision coche"),
    ("quando é a vacina do gato", "vacina gato"),
    ("dove sono le chiavi della cantina", "chiavi cantina"),
    ("wanneer komt de loodgieter voor het dak", "komt loodgieter dak"),
    ("när kommer rörmokaren till vår stuga", "kommer rormokaren stuga"),
    ("kiedy jest wizyta u dentysty", "wizyta dentysty"),
    ("kdy je prohlídka u zubaře", "prohlidka zubare"),
    ("когда придёт мастер по котлу", "придёт мастер котлу"),
    ("коли приїде майстер з котла", "приїде майстер котла"),
    ("πότε είναι το ραντεβού με τον γιατρό", "ραντεβού γιατρό"),
    ("متى موعد الطبيب في المدينة", "موعد الطبيب المدينة"),
    ("מתי התור של הרופא", "התור הרופא"),
    ("कब आएगा बिजली का बिल", "आएगा बिजली बिल"),
]


@pytest.mark.parametrize(("query", "left"), QUERIES)
def test_what_is_left_of_a_question_is_what_it_is_about(query: str, left: str) -> None:
    assert [word for word in query_words(query) if not word.isspace()] == [
        fold(word) for word in left.split()
    ]


@pytest.mark.parametrize(
    "query", ["die hard", "c t scan", "la", "les misérables", "san sebastian", "el niño"]
)
def test_one_word_of_another_language_counts(query: str) -> None:
    assert query_words(query) == tuple(fold(query).split())


@pytest.mark.parametrize("query", ["what is in the will", "on in an die", "the who"])
def test_a_query_that_is_in_english_is_read_as_english(query: str) -> None:
    assert stop_words(query.split()) == ENGLISH & {*query.split()}


def test_a_query_of_such_words_alone_keeps_them() -> None:
    assert query_words("la de los") == ("la", "de", "los")


def test_the_lists_are_as_the_words_of_queries_are() -> None:
    assert {word for words in OTHERS.values() for word in words if fold(word) != word} == set()
