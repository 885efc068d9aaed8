"""How often the sentences that are shown without a model hold the answer to a question.

    python -m benchmarks.answers [VAULTS] [--missed]

The 60 questions in ``answers.tsv`` are about the pages of Python's own help, and about the vault ``people``
in the folder VAULTS, without which they are left out. The sentence picker was built while looking at all of
them. Somebody who had not seen it wrote the 60 in ``answers_of_others.tsv``, in vague words of their own; two
weights were chosen with half of these in view.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from pydoc_data.topics import topics

from rag_core.config import Settings, load
from rag_core.library import Library
from rag_core.replies import Reply
from rag_core.types import OWNER

FILES = {"own": "answers.tsv", "others": "answers_of_others.tsv"}


@dataclass(frozen=True, slots=True)
class Question:
    written: str  #: By whom: a key of FILES.
    store: str
    text: str
    answers: tuple[str, ...]  #: Any of these in a sentence answers it.


@dataclass(frozen=True, slots=True)
class Result:
    question: Question
    place: int  #: Of the first sentence that holds the answer, from 1; 0 if none does.
    took_ms: float


def questions() -> list[Question]:
    found: list[Question] = []
    for written, name in FILES.items():
        with Path(__file__).with_name(name).open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        found += [
            Question(written, row["set"], row["question"], tuple(row["answer"].split("|"))) for row in rows
        ]
    return found


def write_topics(folder: Path) -> Path:
    """Write the pages of Python's help as notes."""
    folder.mkdir(parents=True)
    for name, text in topics.items():
        (folder / f"{name}.rst").write_text(text, "utf-8")
    return folder


def place_of(answers: Sequence[str], reply: Reply) -> int:
    """The place of the first shown sentence that holds one of the answers; 0 if none does."""
    for number, statement in enumerate(reply.statements, 1):
        shown = " ".join(statement.text.split()).casefold()
        if any(answer.casefold() in shown for answer in answers):
            return number
    return 0


def results(library: Library, stores: Iterable[str]) -> Iterator[Result]:
    for question in [question for question in questions() if question.store in stores]:
        started = time.perf_counter()
        reply = library.asking.ask(OWNER, question.text, [question.store])
        took_ms = (time.perf_counter() - started) * 1000
        yield Result(question, place_of(question.answers, reply), took_ms)


def report(name: str, some: Sequence[Result]) -> None:
    shown = sum(result.place > 0 for result in some)
    first = sum(result.place == 1 for result in some)
    took = statistics.median(result.took_ms for result in some)
    print(
        f"{name:<18} shown {shown / len(some):4.0%}  first {first / len(some):4.0%}  median {took:4.0f} ms"
        f"  ({len(some)} questions)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("vaults", type=Path, nargs="?")
    parser.add_argument("--missed", action="store_true", help="print the questions without an answer")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        known = load()
        library = Library.open(Settings(Path(folder) / "data", known.model_dir, known.roots))
        folders = {"python": write_topics(Path(folder) / "python")}
        if given.vaults:
            folders["people"] = given.vaults / "people"
        for store, source in folders.items():
            library.create_store(OWNER, store, "minilm")
            library.add_source(OWNER, store, source, ["**/*"])
            library.index(OWNER, store)
        library.asking.ask(OWNER, "warm", ["python"])
        found = list(results(library, folders))
        library.close()
    for written in FILES:
        report(written, [result for result in found if result.question.written == written])
        for name in folders:
            both = written, name
            report(
                " ".join(both),
                [each for each in found if (each.question.written, each.question.store) == both],
            )
    for result in found if given.missed else ():
        if result.place != 1:
            print(result.place, result.question.store, result.question.text)


if __name__ == "__main__":
    main()
