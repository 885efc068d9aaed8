"""Are notes in eleven languages found by questions in other words, and is it said when nothing fits?

    python benchmarks/languages.py [--embedder NAME] [--home HOME] [--json]

All notes of languages.tsv, ten a language, are in one store. Six questions a language are asked in it in each
mode, then the same ones in English (*from English*), then eight a language that no note answers (*absent*),
and gibberish: letters of chance in that language's script, in words of Latin length. Printed per language:
how often the right note is first, among the first five, and how often something is said to fit; all in
percent."""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.process import Figures, lines
from rag_core import config
from rag_core.config import Settings
from rag_core.library import Library
from rag_core.types import OWNER, Mode

STORE = "languages"
ROWS = Path(__file__).with_name("languages.tsv")
MODES: tuple[Mode, ...] = ("lexical", "vector", "hybrid")
GIBBERISH = 20  # queries a language
LETTERS = {
    "ru": "абвгдежзийклмнопрстуфхцчшщыэюя",
    "zh": "".join(map(chr, range(0x4E00, 0x9FA5))),
    "ja": "".join(map(chr, (*range(0x3041, 0x3094), *range(0x30A1, 0x30F5), *range(0x4E00, 0x9FA5, 80)))),
    "ko": "".join(map(chr, range(0xAC00, 0xD7A4))),
    "ar": "ابتثجحخدذرزسشصضطظعغفقكلمنهوي",
    "hi": "अआइईउऊएऐओऔकखगघचछजझटठडढणतथदधनपफबभमयरलवशषसह",
}
LATIN = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the path of the note that answers it; '' if none does."""

    language: str
    text: str
    path: str = ""


def rows(kind: str) -> Iterator[list[str]]:
    """The rows of a kind, without it."""
    for line in ROWS.read_text("utf-8").splitlines():
        first, *rest = line.split("\t")
        if first == kind:
            yield rest


def write_notes(folder: Path) -> None:
    """Write each note as a file, in a folder of its language."""
    for language, name, text in rows("note"):
        (folder / language).mkdir(parents=True, exist_ok=True)
        (folder / language / f"{name}.md").write_text(f"{text}\n", "utf-8")


def questions() -> dict[str, list[Question]]:
    """All questions by their kind."""
    asked = [*rows("ask")]
    return {
        "asked": [Question(language, text, f"{language}/{name}.md") for language, name, text, *_ in asked],
        "from English": [
            Question(language, rest[0], f"{language}/{name}.md") for language, name, _, *rest in asked if rest
        ],
        "absent": [Question(language, text) for language, text in rows("absent")],
        "gibberish": [*gibberish()],
    }


def gibberish() -> Iterator[Question]:
    """Words of chance in each language's script, each time the same."""
    chance = random.Random(5)
    for language in dict.fromkeys(language for language, *_ in rows("note")):
        letters = LETTERS.get(language, LATIN)
        dense = language in ("zh", "ja", "ko")
        for _ in range(GIBBERISH):
            words = (
                "".join(chance.choices(letters, k=chance.randint(2, 4) if dense else chance.randint(4, 9)))
                for _ in range(chance.randint(1, 3))
            )
            yield Question(language, " ".join(words))


def ask(library: Library, asked: Iterable[Question], mode: Mode) -> dict[str, dict[str, float]]:
    """The percentages of each language and of all: `first`, `five` and `fits`, and how many were asked."""
    counts: dict[str, dict[str, float]] = {}
    for question in asked:
        answer = library.search(OWNER, question.text, [STORE], mode=mode)
        paths = [hit.document.path for hit in answer.hits[:5]]
        right = [question.path == path for path in paths]
        for language in (question.language, "all"):
            count = counts.setdefault(language, {"first": 0, "five": 0, "fits": 0, "asked": 0})
            count["first"] += right[:1] == [True]
            count["five"] += any(right)
            count["fits"] += answer.convincing
            count["asked"] += 1
    for count in counts.values():
        for name in ("first", "five", "fits"):
            count[name] = round(100 * count[name] / count["asked"], 1)
    return counts


def measure(home: Path, embedder: str) -> Figures:
    """The figures of each mode and kind of question."""
    known = config.load()
    library = Library.open(Settings(home / "data", known.model_dir, known.roots))
    if STORE not in library.stores.names(OWNER):
        write_notes(home / "notes")
        library.create_store(OWNER, STORE, embedder)
        library.add_source(OWNER, STORE, home / "notes", ["**/*"])
        library.index(OWNER, STORE)
    found: Figures = {}
    for mode in MODES:
        for kind, asked in questions().items():
            counts = ask(library, asked, mode)
            has_answer = kind in ("asked", "from English")
            found[f"{mode}, {kind}"] = {
                language: " / ".join(f"{count[name]:g}" for name in ("first", "five", "fits"))
                if has_answer
                else f"{count['fits']:g}"
                for language, count in counts.items()
            }
    library.close()
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--embedder", default="multilingual")
    parser.add_argument("--home", type=Path, help="keep the store here and use it again")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as home:
        found = measure(given.home or Path(home), given.embedder)
    print(json.dumps(found, ensure_ascii=False) if given.json else "\n".join(lines(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
