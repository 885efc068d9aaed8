"""What a format writes around words is furniture: found, but not embedded and not in a snippet."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.text import furniture
from rag_core.text.syntax import SYNTAX

CHAT = "2026-04-05 (Sunday, 5 April 2026)\n08:15 Jonas: hedgehog in the compost\n08:17 Nora: see 10:30 then"
REFERENCE = (
    "@article{olsen2022,\n  author = {Olsen, Kari},\n  title = {Wooden {Bridges} in Salt Air},\n"
    '  year = 2022,\n  doi = "10.1/x",\n  abstract = {Larch without varnish lasts,\n   eleven years.},\n}'
)
READ = "Olsen, Kari\nWooden {Bridges} in Salt Air\n2022\nLarch without varnish lasts,\n   eleven years."


def kept(file_type: str, text: str) -> str:
    """What is embedded of a passage."""
    layout = furniture.layout(file_type, [(0, text)])
    assert layout is not None
    [spans] = furniture.kept_spans(layout.furniture(frozenset()), [(0, text)])
    return furniture.kept_text(text, spans)


@pytest.mark.parametrize(
    ("file_type", "text", "shown"),
    [
        ("text", CHAT, "08:15 Jonas: hedgehog in the compost\n08:17 Nora: see 10:30 then"),
        ("text", "08:15 Wake up\n08:30 Leave for the train", None),  # a list of one's own
        (
            "bibtex",
            REFERENCE,
            READ,
        ),
        ("bibtex", '@book(noether, author="Emmy Nöther", title = {{Rings}}, isbn = 3)', "Emmy Nöther Rings"),
        ("bibtex", "@article{k1,title={On kelp},author={Ana},month=jan}", "On kelp{Ana"),
        ("bibtex", "@misc{k2, title = {not closed, year = 2022}", "not closed, year = 2022"),
        ("bibtex", "@misc{k3, title = and so on", "and so on"),
        (
            "bibtex",
            "@misc{k4, author = ana # { and } # bo, url = {x}, title = {On kelp}}",
            "ana # { and } # bo On kelp",
        ),
        ("bibtex", "% a library of mine", None),
        (
            "json",
            '{"id":"sl-1","user":{"name":"Ana Costa","handle":"ana"},"text":"The boat needs new varnish"}',
            '"Ana Costa"The boat needs new varnish',
        ),
        ("json", '{"text": "Say \\"hello\\" to all of them", "n": 3}', '"Say \\"hello\\" to all of them'),
        ("json", '{"port": 80, "host": "db.local", "name": "web server"}', None),
        ("json", '{\n  "note": "a value of several words in a file"\n}', None),  # no record
        ("json", '{"text": "cut in the middle of a long recor', None),
    ],
)
def test_only_the_words_of_people_are_kept(file_type: str, text: str, shown: str | None) -> None:
    assert kept(file_type, text).startswith(text if shown is None else shown)


@given(st.sampled_from([*SYNTAX]), st.text(st.sampled_from('{}":\\\n ,@=a0-()b[]'), max_size=200))
def test_spans_are_in_order_and_disjoint(file_type: str, text: str) -> None:
    at = 0
    for start, end in SYNTAX[file_type](text):
        assert at <= start <= end <= len(text)
        at = end


def test_names_in_a_record_are_words_of_people() -> None:
    record = '{"role": "user", "from": "Muller", "at": "ÖBB", "text": "the train is late again"}'
    assert [word for word in ("Muller", "ÖBB", "user", "role") if word in kept("json", record)] == [
        "Muller",
        "ÖBB",
    ]


@given(st.lists(st.text(max_size=40), min_size=1, max_size=4))
def test_no_value_of_a_record_that_may_be_a_sentence_is_lost(values: list[str]) -> None:
    said = [*values, "one two three four five"]
    record = json.dumps({str(number): value for number, value in enumerate(said)}, ensure_ascii=False)
    assert "one two three four five" in kept("json", record)
