"""Does a note come up by what its owner remembers of it: its name, or a few words?

    python benchmarks/known.py [DIR] [--queries 150] [--embedder NAME] [--embedded SHARE] [--home HOME]
                               [--json]

DIR is a folder of notes; without it some are made up. Names: notes are drawn whose title is theirs alone, and
asked for by their file name, title, alias, id (of the front matter; the path where there is none), two words
of the title that no other one has, the title with one slip in a word, and its beginning. Counted is how often
the note is the first hit and among the first five. Words: for each number of words, passages are drawn, and
of each the words that few passages hold: one word that at most three do, or two or three that at most ten do.
Counted is how often the passage is found among the first twenty, is called relevant, and is first; and how
often something fits. With ``--embedded 0.1`` nine of ten texts wait for the embedder.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path, PurePath

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.notes import write_notes
from benchmarks.process import Figures, lines
from benchmarks.retrieval import partly_embedded, quoted
from rag_core import config
from rag_core.config import Settings
from rag_core.library import Library
from rag_core.types import OWNER

STORE = "known"
MADE_UP = 200
FIRST = 20
FEW = {1: 3, 2: 10, 3: 10}
"""How many words a query has, and how many passages hold each of them at most."""
KINDS = ("file", "title", "alias", "id", "two words", "slip", "beginning")
_WORD = re.compile(r"[a-z]{4,}")
_LETTERS = re.compile(r"[^\W\d_]{2,}")


def passages(library: Library) -> dict[str, str]:
    """The text of each passage by its key."""
    return {
        chunk.key: chunk.content
        for document in library.documents.all(OWNER, STORE)
        if document.state == "indexed"
        for chunk in library.documents.get(OWNER, STORE, document.path).chunks
    }


def queries(
    texts: Mapping[str, str], count: int, words: int, chance: random.Random
) -> Iterator[tuple[str, str]]:
    """The key of a passage, and so many of its words that few passages hold."""
    held = Counter(word for text in texts.values() for word in set(_WORD.findall(text.lower())))
    keys = list(texts)
    for _ in range(count):
        key = chance.choice(keys)
        rare = sorted({word for word in _WORD.findall(texts[key].lower()) if held[word] <= FEW[words]})
        if len(rare) >= words:
            yield key, " ".join(chance.sample(rare, words))


def names(library: Library, count: int, chance: random.Random) -> dict[str, list[tuple[str, str]]]:
    """By kind: what is asked, and the path of the note that is meant."""
    notes = [each for each in library.documents.all(OWNER, STORE) if each.state == "indexed" and each.title]
    called = Counter(each.title.casefold() for each in notes)
    ends = Counter(PurePath(each.path).name for each in notes)
    alone = [e for e in notes if called[e.title.casefold()] == 1 and ends[PurePath(e.path).name] == 1]
    found: dict[str, list[tuple[str, str]]] = {kind: [] for kind in KINDS}
    for note in chance.sample(alone, len(alone)):
        view = library.documents.get(OWNER, STORE, note.path)
        words = _LETTERS.findall(note.title)
        ids = [value for key, value in view.properties if key.lower() in ("id", "uid", "slug")]
        asked = {
            "file": PurePath(note.path).stem,
            "title": note.title,
            "alias": view.aliases[0] if view.aliases else "",
            "id": ids[0] if ids else note.path,
            "two words": _two_words(words, called, chance),
            "slip": _with_slip(note.title, chance),
            "beginning": _beginning(note.title, called),
        }
        for kind, text in asked.items():
            if text and len(found[kind]) < count:
                found[kind].append((text, note.path))
    return found


def _two_words(words: Sequence[str], called: Mapping[str, int], chance: random.Random) -> str:
    """Two of a title's words that no other title has together."""
    if len(words) < 3:
        return ""
    two = chance.sample(words, 2)
    others = sum(all(word.casefold() in _LETTERS.findall(title) for word in two) for title in called)
    return " ".join(two) if others == 1 else ""


def _with_slip(title: str, chance: random.Random) -> str:
    """A title with one letter of a long word left out, doubled, replaced, or swapped with the next."""
    words = [match for match in _LETTERS.finditer(title) if len(match[0]) >= 5]
    if not words:
        return ""
    at = (match := chance.choice(words)).start() + chance.randrange(1, len(match[0]) - 1)
    letter, behind = title[at], title[at + 1]
    slip = chance.choice(["", letter * 2, chance.choice("aeioust"), behind + letter])
    return title[:at] + slip + title[at + 1 + (len(slip) == 2 and slip[0] == behind) :]


def _beginning(title: str, called: Mapping[str, int]) -> str:
    """The least beginning of a title that no other title has, of three letters or more, not the whole."""
    for length in range(3, len(title)):
        begun = title[:length].casefold()
        if title[length - 1].isalnum() and sum(other.startswith(begun) for other in called) == 1:
            return title[:length]
    return ""


def ask_names(library: Library, asked: Mapping[str, Sequence[tuple[str, str]]]) -> Figures:
    """How often the note that is meant is the first hit, and among the first five, in percent."""
    found: Figures = {}
    for kind, items in asked.items():
        places: list[int] = []
        for text, path in items:
            hits = library.search(OWNER, quoted(text), [STORE], top_k=FIRST).hits
            order = list(dict.fromkeys(hit.document.path for hit in hits))
            places.append(order.index(path) if path in order else FIRST)
        shares = [100 * sum(place < depth for place in places) / max(1, len(places)) for depth in (1, 5)]
        found[kind] = {"asked": len(places), "hit@1": round(shares[0], 1), "hit@5": round(shares[1], 1)}
    asked_kinds = [each for each in found.values() if each["asked"]]
    for name in ("hit@1", "hit@5"):
        found[name] = round(sum(each[name] for each in asked_kinds) / max(1, len(asked_kinds)), 1)
    return found


def ask(library: Library, asked: Iterator[tuple[str, str]]) -> Figures:
    """What came of the queries."""
    counted: Counter[str] = Counter(asked=0, found=0, fits=0, first=0, convincing=0)
    for key, text in asked:
        answer = library.search(OWNER, text, top_k=FIRST)
        own = next((hit for hit in answer.hits if hit.key == key), None)
        counted["asked"] += 1
        counted["convincing"] += answer.convincing
        if own is not None:
            counted.update(found=1, fits=own.relevant, first=own.rank == 1)
    return dict(counted)


def measure(home: Path, folder: Path | None, count: int, embedder: str, share: float) -> Figures:
    """The figures for each kind of name and each number of words."""
    known = config.load()
    settings = Settings(home / "data", known.model_dir, known.roots)
    library = Library.open(settings)
    if STORE not in library.stores.names(OWNER):
        library.create_store(OWNER, STORE, embedder)
        library.add_source(OWNER, STORE, folder or write_notes(home / "notes", MADE_UP), ["**/*"])
        library.index(OWNER, STORE)
    library.close()
    store = home / "data" / "stores" / f"{STORE}.db"
    with partly_embedded(store, share) if share < 1 else nullcontext():
        library = Library.open(settings)
        chance = random.Random(1)
        found = {"names": ask_names(library, names(library, count, chance))}
        texts = passages(library)
        found |= {f"words {words}": ask(library, queries(texts, count, words, chance)) for words in FEW}
        library.close()
    return {"passages": len(texts), **found}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, metavar="DIR")
    parser.add_argument("--queries", type=int, default=150)
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--embedded", type=float, default=1.0, metavar="SHARE")
    parser.add_argument("--home", type=Path, help="keep the store here and use it again")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as home:
        found = measure(given.home or Path(home), given.folder, given.queries, given.embedder, given.embedded)
    print(json.dumps(found) if given.json else "\n".join(lines(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
