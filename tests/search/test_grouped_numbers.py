"""A number of an account, a card, a telephone or a device is found however it is grouped. A code is one
word."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.text.numbers import codes, joined_codes, numbers
from rag_core.types import OWNER, Mode
from tests.conftest import stores_of

ACCOUNTS = (
    "DE89370400440532013000 GB82WEST12345698765432 FR1420041010050500013M02606 NO9386011117947"
    " MT84MALT011000012345MTLCAST001S CH9300762011623852957 NL91ABNA0417164300"
    " BE68539007547034 AT611904300234573201 DO28BAGR00000001212453611324 IS140159260076545510730339"
).split()
CARDS = ("4111111111111111", "378282246310005", "30569309025904")
DEVICES = ("001A2B3C4D5E", "f0de14b2c399", "001122334455", "902244668800")
SERIALS = ("SN0042AX", "INV20240017", "XK12B7700")
TELEPHONES = {
    "germany": (
        "+49 (0)30 1234-5678",
        "+49 (0)30 / 123 456 78",
        "+49 30 - 12345678",
        "+49 30 12345678",
        "030 12345678",
        "(030) 1234 5678",
        "0049 30 12345678",
    ),
    "france": ("+33 6 12 34 56 78", "06 12 34 56 78", "06.12.34.56.78", "0612345678", "+33 612345678"),
    "america": ("(415) 555-2671", "+1 415 555 2671", "415-555-2671", "415 555 2671"),
    "austria": ("+43 664 765 43 21", "0664 / 765 43 21", "0664/7654321", "06647654321"),
    "netherlands": ("+31 6 42 34 56 78", "06 - 42 34 56 78", "06-42345678", "0642345678"),
    "portugal": ("+351 912 345 678", "912 345 678", "912345678", "00351 912345678"),
}


def in_groups(whole: str, size: int, sign: str) -> str:
    return sign.join(whole[start : start + size] for start in range(0, len(whole), size))


WRITTEN: dict[str, list[str]] = {
    **{account: [account, in_groups(account, 4, " ")] for account in ACCOUNTS},
    **{card: [card, in_groups(card, 4, " "), in_groups(card, 4, "-")] for card in CARDS},
    **{
        device: [device, in_groups(device, 2, ":"), in_groups(device, 2, "-"), in_groups(device, 4, ".")]
        for device in DEVICES
    },
    "DE129273398": ["DE129273398", "DE 129 273 398"],
    "FR40303265045": ["FR40303265045", "FR 40 303 265 045"],
    "269054958815780": ["269054958815780", "2 69 05 49 588 157 80"],
    "1Z999AA10123456784": ["1Z999AA10123456784", "1Z 999 AA1 01 2345 6784"],
    "022147110": ["0221 47110", "(0221) 47 11-0", "0221 4711-0"],
    "9002490100070": ["9002490100070", "9 002490 100070"],
    "4016381333931": ["4016381333931", "4 016381 333931"],
    "9783866801929": ["9783866801929", "978 3 86680 192 9", "978-3-86680-192-9", "978-3-8668-01929"],
    "SN0042AX": ["SN0042AX", "SN-0042-AX"],
    "INV20240017": ["INV20240017", "INV-2024-0017", "INV-20240017"],
    "XK12B7700": ["XK12B7700", "XK12-B7700"],
    "12AB34CD56EF": ["12AB34CD56EF", "12AB.34CD.56EF", "12AB-34CD-56EF"],
    "7H4K21M90042": ["7H4K21M90042", "7H4K.21M9.0042"],
    **{country: list(spellings) for country, spellings in TELEPHONES.items()},
}
PAIRS = [
    (whole, written, typed)
    for whole, spellings in WRITTEN.items()
    for written, typed in product(range(len(spellings)), spellings)
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    notes = {"numbers/other.md": "Nothing of this is numeric, and 12 of 30 is no number."}
    for whole, spellings in WRITTEN.items():
        for index, written in enumerate(spellings):
            notes[f"numbers/{whole}_{index}.md"] = f"It was {written}, said the letter."
    with stores_of(tmp_path_factory.mktemp("grouped"), notes) as opened:
        yield opened


@pytest.mark.parametrize(("whole", "written", "typed"), PAIRS)
def test_a_number_is_found_however_it_is_grouped(
    library: Library, whole: str, written: int, typed: str
) -> None:
    hits = library.search(OWNER, typed, mode="lexical", top_k=20).hits
    fitting = [Path(hit.document.path).stem.rpartition("_") for hit in hits if hit.relevant]
    assert (whole, "_", str(written)) in fitting
    assert {name for name, _, _ in fitting} == {whole}


@pytest.mark.parametrize(
    "text",
    [
        "12:34:56",
        "2019 2020 2021",
        "10.0.0.1",
        "1.5 and 2.5",
        "3 12 45 77",
        "v2.10.3",
        "a1.b2.example.org",
        "978 1 2 3 4",
    ],
)
def test_times_years_and_small_numbers_are_not_grouped(text: str) -> None:
    assert not list(numbers(text))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("E1102", ("e", "1102")),
        ("ODD022X", ("odd", "022", "x")),
        ("utf-8", ("utf", "8")),
        ("INV-2024-0017", ("inv", "2024", "0017")),
        ("e929cafe102a", None),
        ("follow-up", None),
        ("31-12-2026", None),
    ],
)
def test_a_code_has_letters_and_digits(text: str, parts: tuple[str, ...] | None) -> None:
    assert [code.parts for code in codes(text)] == ([parts] if parts else [])


def test_only_codes_whose_parts_would_melt_are_indexed_whole() -> None:
    assert list(joined_codes("(INV-2024-0017), AB-CD-12, SN-0042-AX, utf-8, follow-up, 1-2")) == [
        "inv20240017",
        "abcd12",
    ]


def test_a_code_is_one_word_and_its_parts_are_near_misses(tmp_path: Path) -> None:
    notes = {f"codes/{n}.md": f"An odd thing, x number {n}, and 022 of it." for n in range(5)}
    notes["codes/order.md"] = "The order ODD022X came with a long list of other things. " * 3
    with stores_of(tmp_path, notes) as library:
        hits = library.search(OWNER, "ODD022X", mode="lexical").hits
    assert [Path(hit.document.path).stem for hit in hits if hit.relevant] == ["order"]
    assert len(hits) > 1


@pytest.mark.parametrize(
    ("code", "in_a_row"),
    [("ODD022X", "odd 022 x"), ("INV-2024-0017", "inv 2024 0017"), ("E1102", "e 1102"), ("utf-8", "utf 8")],
)
def test_a_code_as_it_was_typed_comes_before_its_parts_in_a_row(
    tmp_path: Path, code: str, in_a_row: str
) -> None:
    long = f"The part {code} belongs to the pump, which stands in the cellar since last spring."
    with stores_of(tmp_path, {"notes/parts.md": in_a_row, "notes/whole.md": long}) as library:
        hits = library.search(OWNER, code, mode="lexical").hits
    assert [Path(hit.document.path).stem for hit in hits] == ["whole", "parts"]


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
@pytest.mark.parametrize(
    ("code", "written", "in_a_row"),
    [
        ("ODD022X", "ODD022X", "odd 022 x"),
        ("ODD022X", "ODD-022-X", "odd 022 x"),
        ("INV-2024-0017", "INV20240017", "inv 2024 0017"),
        ("E1102", "e1102", "E 1102"),
        ("KX-77-B", "KX-77-B", "kx 77 b"),
    ],
)
def test_parts_in_a_row_do_not_fit_beside_the_code_itself(
    tmp_path: Path, mode: Mode, code: str, written: str, in_a_row: str
) -> None:
    notes = {
        "notes/parts.md": f"We count {in_a_row} today.",
        "notes/whole.md": f"The part {written}, a pump.",
    }
    with stores_of(tmp_path, notes) as library:
        hits = library.search(OWNER, code, mode=mode).hits
    assert [Path(hit.document.path).stem for hit in hits if hit.relevant] == ["whole"]


@pytest.mark.parametrize(("typed", "written"), [("ISO9001", "ISO 9001"), ("COVID19", "COVID 19")])
def test_parts_in_a_row_fit_where_nothing_has_the_code_itself(
    tmp_path: Path, typed: str, written: str
) -> None:
    with stores_of(tmp_path, {"notes/it.md": f"It was {written} again."}) as library:
        assert [hit.relevant for hit in library.search(OWNER, typed, mode="lexical").hits] == [True]


def test_groups_of_a_number_fit_beside_the_number_in_one_piece(tmp_path: Path) -> None:
    """What counts as one word is a short code; an account is the same number in groups."""
    notes = {f"notes/{size}.md": f"Pay to {in_groups(ACCOUNTS[0], size, ' ')}." for size in (4, 22)}
    with stores_of(tmp_path, notes) as library:
        for typed in (ACCOUNTS[0], in_groups(ACCOUNTS[0], 4, " ")):
            hits = library.search(OWNER, typed, mode="lexical").hits
            assert [hit.relevant for hit in hits] == [True, True]
