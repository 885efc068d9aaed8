"""What is counted over a store, asked by a guest: the same in a store whose private notes share lines, words,
names and whole texts with the others as in one that never had them."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import pytest

from rag_core.config import Settings
from rag_core.library import Library
from rag_core.store import Store, calibration
from rag_core.types import OWNER, Filters, Mode, Viewer
from tests.conftest import index
from tests.search.test_guests_meet_nothing import differing, told
from tests.support.stored import keys
from tests.support.trees import write

pytestmark = pytest.mark.thorough

GUEST = Viewer("ada@example.org", stores=frozenset({"notes"}))
WORDS = (
    "kettle mill garden harbour ferry timber ladder candle orchard saddle bridge lantern copper anchor marble"
    " willow barrel pepper thunder meadow canvas pocket ribbon saffron tunnel violet walnut yonder zephyr"
    " basket cactus dolphin ember falcon ginger hazel island jacket kernel lemon"
).split()
RARE = "quixotic ultramarine zugzwang"
SHARED = "This page is from the handbook of the harbour and its ferry."  # in 15 public notes
FOOTER = "Written with the template of the garden club, do not print."  # in 30 public notes
NEVER = "zanzibar"  # in private notes alone


def _sentences(dice: random.Random, words: Sequence[str], count: int) -> str:
    return "\n".join(" ".join(dice.choices(words, k=9)).capitalize() + "." for _ in range(count))


def public_notes() -> dict[str, str]:
    dice, found = random.Random(1), dict[str, str]()
    for number in range(44):
        own = dice.sample(WORDS, 8)  # the parts of a note are more alike than two notes
        first, second = WORDS[number % len(WORDS)], WORDS[(number * 7 + 3) % len(WORDS)]
        lines = [
            f"---\ntags: [{first}, trade/{second}]\naliases: [{second} {number}]\n---\n# {first} {second}\n",
            _sentences(dice, own, 4), f"\n## {second}\n", _sentences(dice, own, 3),
            f"See [[{WORDS[(number + 5) % len(WORDS)]} {second}]] and [[n{(number + 1) % 44}]].",
            SHARED if number < 15 else "", FOOTER if number % 3 else "", RARE if number == 7 else "",
        ]  # fmt: skip
        found[f"{first}/n{number}.md"] = "\n".join(lines) + "\n"
    found["copy.md"] = found["kettle/n0.md"]
    return found


def private_notes(public: Mapping[str, str]) -> dict[str, str]:
    """Many more than the others and newer: some are copies, with one word more or as they are, the rest has
    their words, titles, tags, names and lines, and words that are nearly theirs."""
    dice, found = random.Random(2), dict[str, str]()
    for number, (path, text) in enumerate(public.items()):
        more = f"\nThe {NEVER} of it.\n" if number % 2 else ""
        found[f"hidden/{number}/{path}"] = text.replace("---\n", "---\nprivate: true\n", 1) + more
    for number in range(260):
        first = WORDS[number % len(WORDS)]
        nearly = first[:-2] + first[-1]
        found[f"hidden/p{number}.md"] = (
            f"---\nprivate: true\ntags: [{first}, secret]\naliases: [{first} {NEVER}]\n---\n"
            f"# {first} {nearly}\n\n{_sentences(dice, WORDS, 2)}\n{nearly} {NEVER} {RARE} {SHARED[:-1]}\n"
            f"{SHARED}\n{SHARED}\nSee [[n{number % 44}]].\n"
        )
    return found


QUERIES = (
    *WORDS[:24], *RARE.split(), NEVER, "kettl", "ketle", "harbur ferrry", "mil garden", "zanzibr", "gardn",
    "quixotc", "kettle mill", "harbour ferry", "handbook of the harbour", "template garden club",
    "the handbook of the ferry", f'"{SHARED[:24]}"', f'"{FOOTER[13:30]}"', "garden -kettle",
    "harbour -handbook", "tag:kettle", "tag:secret", "tag:trade mill", "path:hidden", "path:kettle harbour",
    "file:n7.md", "file:p7.md", "after:2000-01-01 ferry", "type:markdown timber", "n7", "kettle harbour 3",
    "what is in the handbook of the harbour and the ferry?", " ".join(WORDS[:12]), " ".join(WORDS),
    "from template handbook page", "do not print", "anch", "lant", "wal",
)  # fmt: skip
BEGINNINGS = ("", "k", "ke", "ha", "harb", "n1", "p1", "tr", "trade/", "sec", "zan", "copy", "kettle z")


def asked(library: Library) -> dict[str, Callable[[], Any]]:
    """Every request, by what it is."""
    found: dict[str, Callable[[], Any]] = {}

    def search(query: str, **options: Any) -> Callable[[], Any]:
        return lambda: library.search(GUEST, query, **options)

    for query in QUERIES:
        for mode in get_args(Mode):
            found[f"{mode} {query}"] = search(query, mode=mode, top_k=30, min_score=0.0)
            found[f"{mode} documents {query}"] = search(
                query, mode=mode, top_k=5, offset=3, group="document", facets=True
            )
        found[f"filtered {query}"] = search(query, filters=Filters(paths=("kettle", "mill", "harbour")))
    for beginning in BEGINNINGS:
        found[f"suggest {beginning}"] = lambda text=beginning: library.searching.suggest(GUEST, text)  # type: ignore[misc]
    for path in public_notes():
        found[f"similar {path}"] = lambda p=path: library.searching.similar(GUEST, "notes", p, limit=20)  # type: ignore[misc]
        found[f"document {path}"] = lambda p=path: library.documents.get(GUEST, "notes", p)  # type: ignore[misc]
        key = keys(library, "notes", path)[0]
        found[f"near {path}"] = lambda k=key: library.searching.similar(GUEST, "notes", key=k)  # type: ignore[misc]
    for text in QUERIES[:20]:
        found[f"similar to {text}"] = lambda t=text: library.searching.similar(GUEST, "notes", text=t)  # type: ignore[misc]
    found["facets"] = lambda: library.documents.facets(GUEST)
    found["store"] = lambda: library.stores.info(GUEST, "notes")
    found["documents"] = lambda: library.documents.all(GUEST, "notes")
    found["status"] = lambda: library.stores.status(GUEST)
    return found


def everything(library: Library) -> dict[str, Any]:
    return {name: told(read) for name, read in asked(library).items()}


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[str], Library]]:
    libraries: list[Library] = []

    def make(name: str) -> Library:
        settings = Settings(tmp_path / name, tmp_path / "models", (tmp_path,))
        libraries.append(Library.open(settings))
        return libraries[-1]

    yield make
    for library in libraries:
        library.close()


def levels(library: Library, viewer: Viewer) -> calibration.Calibration | None:
    """What was measured of the embedder for ``viewer``."""
    with Store(library.settings.store_dir / "notes.db").read() as db:
        return calibration.of_active(db, viewer)


def place(folder: Path, files: Mapping[str, str], time: int) -> Path:
    """Write files that were all changed at one ``time``."""
    write(folder, files)
    for path in files:
        os.utime(folder / path, (time, time))
    return folder


def before(library: Library, folder: Path, hidden: Mapping[str, str]) -> None:
    """The private notes are there first."""
    index(library, "notes", place(folder, hidden, 1_600_000_000))
    index(library, "notes", place(folder, public_notes(), 1_700_000_000))


def together(library: Library, folder: Path, hidden: Mapping[str, str]) -> None:
    place(folder, public_notes(), 1_700_000_000)
    index(library, "notes", place(folder, hidden, 1_750_000_000))


def hidden_later(library: Library, folder: Path, hidden: Mapping[str, str]) -> None:
    """They were public first."""
    place(folder, public_notes(), 1_700_000_000)
    shown = {path: text.replace("private: true\n", "") for path, text in hidden.items()}
    index(library, "notes", place(folder, shown, 1_750_000_000))
    library.privacy.set(OWNER, "notes", ["hidden"])
    index(library, "notes")


@pytest.mark.parametrize("is_calibrated", [False, True], ids=["as it is", "calibrated"])
@pytest.mark.parametrize("way", [before, together, hidden_later], ids=lambda way: way.__name__)
def test_a_guest_is_told_the_same_whatever_private_notes_say(
    opened: Callable[[str], Library],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_calibrated: bool,
    way: Callable[[Library, Path, Mapping[str, str]], None],
) -> None:
    if is_calibrated:  # the hashing embedder gives a text the same vector in any batch
        monkeypatch.setattr(calibration, "_AS_THEY_ARE", frozenset())
    whole, without = opened("whole"), opened("without")
    way(whole, tmp_path / "a" / "notes", private_notes(public_notes()))
    index(without, "notes", place(tmp_path / "b" / "notes", public_notes(), 1_700_000_000))
    told_with, told_without = everything(whole), everything(without)
    assert len(told_with) > 500
    assert differing(told_with, told_without) == {}
    assert whole.search(OWNER, NEVER).hits
    assert levels(whole, GUEST) == levels(without, GUEST)
    assert (levels(whole, GUEST) is not None) == is_calibrated
    assert (levels(whole, OWNER) != levels(without, OWNER)) == is_calibrated, "the owner's are of all notes"
