"""Is every false quote called false, and no true one? A scripted model misquotes, misnumbers and invents.

    python benchmarks/citations.py [DIR] [--questions 60] [--json]

DIR is a folder of notes; without it some are made up. The questions are the titles of its own documents. From
the passages that it is given the model makes statements of which it is known what is wrong with them, and
each goes through the same `Library.ask` as any answer. Whether a quote is altered enough to be false is
decided here by its bare words, not by the code that is measured. Status 1 when anything was judged wrongly.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.notes import write_notes
from benchmarks.process import Figures, lines
from rag_core.config import Settings
from rag_core.library import Library
from rag_core.replies import MAX_K, Reply, Statement, lacks, marked
from rag_core.types import OWNER
from tests.support.chat_servers import Messages, OllamaChat
from tests.support.standin import serving

STORE = "cited"
MADE_UP = 60
MARKS = (
    '"{}"',
    "“{}”",
    "„{}“",
    "«{}»",
    "‘{}’",
    "'{}'",
    '""{}""',
    "❝{}❞",
    "&quot;{}&quot;",
    "``{}''",
    "*“{}”*",
)
STRANGE = ("Zanzibar", "seventeen", "never", "nobody", "zinc", "midnight")
_QUOTES_OR_BRACKETS = re.compile(r"[\"'“”„‟‘’‚‛«»‹›❝❞″`´<>\[\]&…]|\.\.|\n\s*\n")


@dataclass(frozen=True, slots=True)
class Planned:
    """A statement that the model makes, and of which kind it is."""

    kind: str
    said: str


def words(text: str) -> str:
    """The bare words of a text, for comparing: nothing but them can make a quote false here."""
    return " ".join(("", *re.findall(r"[^\W_]+", text), "")).casefold()


@dataclass
class Liar:
    """The model. Of every passage it makes one statement of each kind."""

    chance: random.Random
    planned: list[Planned] = field(default_factory=list)

    def __call__(self, messages: Messages) -> Iterator[str]:
        passages = given(messages[-1]["content"])
        for number in passages:
            for each in self._statements(number, passages):
                yield f"Statement {len(self.planned)}: {each.said}\n"
                self.planned.append(each)

    def _statements(self, number: int, passages: dict[int, str]) -> Iterator[Planned]:
        strange = self.chance.choice(STRANGE)
        yield Planned("invented", f"All was sent to {strange}.")
        yield Planned("invented, numbered", f"All was sent to {strange} [{number}].")
        stretch = self._stretch(passages[number])
        if not stretch:
            return
        quote = self.chance.choice(MARKS).format(stretch)
        yield Planned("true", f"It says {quote} [{number}].")
        yield Planned("misnumbered", f"It says {quote} [{max(passages) + self.chance.randint(1, 80)}].")
        others = [other for other, text in passages.items() if words(stretch) not in words(text)]
        if others:
            yield Planned("of another passage", f"It says {quote} [{self.chance.choice(others)}].")
        altered = self._altered(stretch, strange)
        if not any(words(altered) in words(text) for text in passages.values()):
            yield Planned("altered", f"It says {self.chance.choice(MARKS).format(altered)} [{number}].")

    def _stretch(self, text: str) -> str:
        """Some words in a row, without quote marks and brackets of their own."""
        places = [match.span() for match in re.finditer(r"\S+", text)]
        for _ in range(20):
            length = self.chance.randint(4, 9)
            if len(places) < length:
                break
            first = self.chance.randrange(len(places) - length + 1)
            stretch = text[places[first][0] : places[first + length - 1][1]]
            if len(words(stretch).split()) > 2 and not _QUOTES_OR_BRACKETS.search(stretch):
                return stretch
        return ""

    def _altered(self, stretch: str, strange: str) -> str:
        """One word replaced, left out or added, or two swapped."""
        said = stretch.split()
        at = self.chance.randrange(1, len(said) - 1)
        match self.chance.randrange(4):
            case 0:
                said[at] = strange
            case 1:
                del said[at]
            case 2:
                said.insert(at, strange)
            case _:
                said[at - 1], said[at] = said[at], said[at - 1]
        return " ".join(said)


def given(message: str) -> dict[int, str]:
    """The passages of a request by their numbers."""
    fence = re.findall(r"Content: <<<(\w+)\n", message)[0]
    found = re.findall(
        rf"^\[(\d+)\] \[Vault.*?<<<{fence}\n(.*?)\n{fence}>>>", message, re.DOTALL | re.MULTILINE
    )
    return {int(number): text for number, text in found}


def is_right(kind: str, found: Statement) -> bool:
    """Whether a statement of this kind was judged as what it is."""
    holds = [quote.holds for quote in found.quotes]
    match kind:
        case "true":
            return (found.support, holds, lacks(found)) == ("quoted", [True], "")
        case "altered":
            return holds == [False] and "[not in the passage]" in marked(found)
        case "of another passage":
            return holds == [False] and "[not there, but in passage" in marked(found)
        case "misnumbered":
            return not found.numbers and bool(found.removed) and lacks(found) == "no source"
        case "invented, numbered":
            return lacks(found) == "no quote"
        case _:
            return lacks(found) == "no source"


def judged(planned: list[Planned], replies: list[Reply]) -> tuple[Counter[str], list[str]]:
    """How many statements of each kind there were, and those judged wrongly or lost."""
    found: dict[int, Statement] = {}
    for each in (statement for reply in replies for statement in reply.statements):
        if match := re.match(r"Statement (\d+):", each.text):
            found[int(match[1])] = each
    wrong = [
        f"{each.kind}: {marked(found[number]) if number in found else 'lost: ' + each.said}"
        for number, each in enumerate(planned)
        if number not in found or not is_right(each.kind, found[number])
    ]
    return Counter(each.kind for each in planned), wrong


def measure(folder: Path, home: Path, questions: int) -> tuple[Figures, list[str]]:
    """Ask about the documents of a folder; the figures, and what was judged wrongly."""
    chance = random.Random(5)
    liar = Liar(chance)
    with serving(OllamaChat(script=liar)) as server:
        library = Library.open(
            Settings(
                home / "data", home / "models", (folder,), llm="ollama:talker", ollama_url=server.url,
                llm_context=32768,
            )
        )  # fmt: skip
        library.create_store(OWNER, STORE, "hashing")
        library.add_source(OWNER, STORE, folder, ["**/*"])
        library.jobs.request(OWNER, STORE)
        library.jobs.run(OWNER, STORE)
        documents = [each for each in library.documents.all(OWNER, STORE) if each.chunks]
        if not documents:
            raise SystemExit(f"There is nothing to read in {str(folder)!r}.")
        asked = [_question(chance.choice(documents).title) for _ in range(questions)]
        replies = [library.ask(OWNER, each, k=MAX_K) for each in asked]
        library.close()
    counts, wrong = judged(liar.planned, replies)
    report: Figures = {
        "documents": len(documents),
        "questions": questions,
        "answered": sum(reply.ending == "answered" for reply in replies),
        "judged_wrongly": len(wrong),
        "statements": dict(counts),
    }
    return report, wrong


def _question(title: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", title))[:100] or "notes"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, metavar="DIR")
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--json", action="store_true", dest="as_json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or write_notes(Path(temporary, "notes"), MADE_UP)
        report, wrong = measure(folder.resolve(), Path(temporary, "home"), options.questions)
    print(json.dumps(report, indent=2) if options.as_json else "\n".join(lines(report)))
    for each in wrong[:20]:
        print(each, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
