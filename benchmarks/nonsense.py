"""Does a search say that nothing fits where nothing can, and that something fits where it does?

    python benchmarks/nonsense.py [DIR…] [--queries 200] [--embedder NAME] [--home HOME] [--json]

Each DIR is a folder of files; beside them notes, mails with attachments, pictures in SVG and minified code
are made up. In each, two sorts of queries are asked. Nonsense: random letters, keys struck at random, made-up
words that can be spoken, one to three of them, the beginnings of base64, and things that no such folder is
about. Paraphrases (paraphrases.tsv, written by hand from the files of ``tldr``, ``people`` and ``garden``):
questions in other words than those of the files, for the folders that have such names. Counted is how often
the answer says that something fits, and of paraphrases how often the right file is among the first five."""

from __future__ import annotations

import argparse
import base64
import json
import random
import string
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.notes import Author, write_notes
from benchmarks.process import Figures, lines
from rag_core import config
from rag_core.config import Settings
from rag_core.library import Library
from rag_core.types import OWNER

STORE = "nonsense"
PARAPHRASES = Path(__file__).with_name("paraphrases.tsv")
ABSENT = (
    "sourdough hydration", "how do I prune rose bushes", "Treaty of Westphalia", "symptoms of gout",
    "who painted the Sistine chapel", "knitting a cable sweater", "best time to plant garlic",
    "recipe for lentil soup", "Champions League final lineup", "how deep is the Mariana trench",
    "mating calls of tree frogs", "history of the Ottoman navy", "vaccination schedule for puppies",
    "how to renew a passport in Peru", "baroque violin bowing", "Byzantine mosaics in Ravenna",
    "why do cats purr", "marathon training for beginners", "phases of the moon", "gluten free pancakes",
    "Napoleon's retreat from Moscow", "caring for orchids indoors", "rules of curling", "origami crane",
    "where do puffins nest", "plot of Anna Karenina", "volcanoes of Iceland", "how to tie a bowline",
    "child with a fever at night", "opening hours of the dentist", "anatomy of the knee",
    "Mozart's last symphony", "polar bear diet", "learning to ride a unicycle", "medieval siege weapons",
    "grandmother's apple pie", "hiking boots for wide feet", "who won the chess olympiad",
    "replacing a bicycle chain", "watercolour techniques for skies",
)  # fmt: skip
"""What none of the folders is about: half as words, half as questions."""
NOTES, MAILS, PICTURES, SCRIPTS = 100, 10, 5, 5
ATTACHMENT, IMAGE, STATEMENTS = 40_000, 15_000, 400
_KEYS = "asdfghjklqwertyuiop"
_ONSETS = "b bl br d dr f fl g gr k kl l m n p pl qu r s sk sl sp st t tr v w x z zw".split()
_RIMES = (
    "ab ag ak al am ando ap arg eb ed ek el ent erf ib ig ilm ink ob ock ol onk orp ub ug unt uzz".split()
)


def _letters(chance: random.Random) -> str:
    return "".join(chance.choices(string.ascii_lowercase, k=chance.randint(5, 12)))


def _mash(chance: random.Random) -> str:
    return "".join(chance.choices(_KEYS, k=chance.randint(6, 14)))


def _word(chance: random.Random) -> str:
    return "".join(chance.choice(_ONSETS) + chance.choice(_RIMES) for _ in range(chance.randint(2, 3)))


def _words(chance: random.Random) -> str:
    return " ".join(_word(chance) for _ in range(chance.randint(2, 3)))


def _encoded(chance: random.Random) -> str:
    return base64.b64encode(chance.randbytes(9)).decode()


def _absent(chance: random.Random) -> str:
    return chance.choice(ABSENT)


KINDS: dict[str, Callable[[random.Random], str]] = {
    "letters": _letters,
    "mash": _mash,
    "word": _word,
    "words": _words,
    "base64": _encoded,
    "absent": _absent,
}


def write_files(folder: Path) -> Path:
    """Write notes, mails, pictures and scripts below ``folder``: each time the same."""
    chance, author = random.Random(1), Author(2)
    write_notes(folder, NOTES)
    for number in range(MAILS):
        attached = base64.encodebytes(chance.randbytes(ATTACHMENT)).decode()
        (folder / f"mail {number}.eml").write_text(
            f"From: heron@example.org\nSubject: {author.words(5)}\n"
            f"Content-Type: multipart/mixed; boundary=x\n\n"
            f"--x\nContent-Type: text/plain\n\n{author.paragraph()}\n\n"
            f"--x\nContent-Type: image/png; name=a.png\n"
            f"Content-Transfer-Encoding: base64\n\n{attached}--x--\n",
            "utf-8",
        )
    for number in range(PICTURES):
        image = base64.b64encode(chance.randbytes(IMAGE)).decode()
        (folder / f"picture {number}.svg").write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg"><title>{author.words(3)}</title>\n'
            f'<image href="data:image/png;base64,{image}"/></svg>\n',
            "utf-8",
        )
    for number in range(SCRIPTS):
        statements = (_statement(author, chance) for _ in range(STATEMENTS))
        (folder / f"script {number}.min.js").write_text("".join(statements), "utf-8")
    return folder


def _statement(author: Author, chance: random.Random) -> str:
    name, field, other = author.words(3).split()
    a, b = chance.sample(string.ascii_letters, 2)
    condition, set_ = f"if({b}.{name}!==void 0)return {b}.{field}({a})", f"{a}={{{other}:{b}[{len(name)}]}}"
    return f"function {a}({b}){{{condition};{set_}}}"


def nonsense(count: int) -> list[tuple[str, str]]:
    """The kind and the text of so many queries: each time the same."""
    chance, kinds = random.Random(3), list(KINDS)
    return [(kind, KINDS[kind](chance)) for kind in (kinds[number % len(kinds)] for number in range(count))]


def paraphrases(name: str) -> list[tuple[str, str]]:
    """The questions about the folder ``name``, each with what is in the path of its file."""
    rows = (line.split("\t") for line in PARAPHRASES.read_text("utf-8").splitlines())
    return [(text, path) for folder, text, path in rows if folder == name]


def ask_nonsense(library: Library, store: str, count: int) -> Figures:
    """How many queries of each kind were asked, to how many something fits, and which these are."""
    asked: Counter[str] = Counter()
    fits: Counter[str] = Counter()
    fitting: dict[str, str] = {}
    for kind, text in nonsense(count):
        answer = library.search(OWNER, text, [store])
        asked[kind] += 1
        if answer.convincing:
            fits[kind] += 1
            best = answer.hits[0]
            fitting[text] = f"{best.document.path}:{best.start_line} ({', '.join(best.reasons)})"
    share = round(100 * sum(fits.values()) / count, 1) if count else 0.0
    kinds = {kind: {"asked": asked[kind], "fits": fits[kind]} for kind in KINDS}
    return {"queries": count, "fits_percent": share, **kinds, "fitting": fitting}


def ask_paraphrases(library: Library, store: str) -> Figures:
    """How many paraphrases are said to be answered, which are not, and how many have the right file among the
    first five."""
    asked, lost, found = paraphrases(store), [], 0
    for text, path in asked:
        answer = library.search(OWNER, text, [store])
        found += any(path in hit.document.path for hit in answer.hits[:5])
        if not answer.convincing:
            lost.append(text)
    if not asked:
        return {}
    kept = round(100 * (1 - len(lost) / len(asked)), 1)
    return {"paraphrases": len(asked), "kept_percent": kept, "found_percent": round(100 * found / len(asked),
    1), "lost": lost}  # fmt: skip


def measure(home: Path, folders: Sequence[Path], count: int, embedder: str) -> Figures:
    """The figures for each folder, with how many passages there are."""
    known = config.load()
    library = Library.open(Settings(home / "data", known.model_dir, known.roots))
    made = home / STORE
    for folder in (*folders, made):
        if folder.name not in library.stores.names(OWNER):
            library.create_store(OWNER, folder.name, embedder)
            library.add_source(OWNER, folder.name, write_files(made) if folder is made else folder, ["**/*"])
            library.index(OWNER, folder.name)
    found: Figures = {}
    for folder in (*folders, made):
        store = folder.name
        passages = library.stores.info(OWNER, store).chunk_count
        found[store] = {"passages": passages} | ask_nonsense(library, store, count)
        found[store] |= ask_paraphrases(library, store)
    library.close()
    found["fits_percent"] = round(sum(each["fits_percent"] for each in found.values()) / len(found), 1)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path, metavar="DIR")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--home", type=Path, help="keep the stores here and use them again")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as home:
        found = measure(given.home or Path(home), given.folders, given.queries, given.embedder)
    print(json.dumps(found) if given.json else "\n".join(lines(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
