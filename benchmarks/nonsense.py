"""Does a search say that nothing fits where nothing can?

    python benchmarks/nonsense.py [DIR] [--queries 200] [--embedder NAME] [--json]

DIR is a folder of files; without it notes, mails with attachments, pictures in SVG and minified code are made
up. The queries are random letters, keys struck at random, made-up words that can be spoken, one to three of
them, and the beginnings of base64. Counted is how often the answer says that something fits.
"""

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


KINDS: dict[str, Callable[[random.Random], str]] = {
    "letters": _letters,
    "mash": _mash,
    "word": _word,
    "words": _words,
    "base64": _encoded,
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
            f"Content-Transfer-Encoding: base64\n\n{attached}--x--\n"
        )
    for number in range(PICTURES):
        image = base64.b64encode(chance.randbytes(IMAGE)).decode()
        (folder / f"picture {number}.svg").write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg"><title>{author.words(3)}</title>\n'
            f'<image href="data:image/png;base64,{image}"/></svg>\n'
        )
    for number in range(SCRIPTS):
        statements = (_statement(author, chance) for _ in range(STATEMENTS))
        (folder / f"script {number}.min.js").write_text("".join(statements))
    return folder


def _statement(author: Author, chance: random.Random) -> str:
    name, field, other = author.words(3).split()
    a, b = chance.sample(string.ascii_letters, 2)
    condition, set_ = f"if({b}.{name}!==void 0)return {b}.{field}({a})", f"{a}={{{other}:{b}[{len(name)}]}}"
    return f"function {a}({b}){{{condition};{set_}}}"


def ask(library: Library, count: int) -> Figures:
    """How many queries of each kind were asked, to how many something fits, and which these are."""
    chance = random.Random(3)
    asked: Counter[str] = Counter()
    fits: Counter[str] = Counter()
    fitting: dict[str, str] = {}
    for number in range(count):
        kind = list(KINDS)[number % len(KINDS)]
        text = KINDS[kind](chance)
        answer = library.search(OWNER, text, [STORE])
        asked[kind] += 1
        if answer.convincing:
            fits[kind] += 1
            best = answer.hits[0]
            fitting[text] = f"{best.document.path}:{best.start_line} ({', '.join(best.reasons)})"
    share = round(100 * len(fitting) / count, 1) if count else 0.0
    kinds = {kind: {"asked": asked[kind], "fits": fits[kind]} for kind in KINDS}
    return {"queries": count, "fits_percent": share, **kinds, "fitting": fitting}


def measure(home: Path, folder: Path | None, count: int, embedder: str) -> Figures:
    """The figures, with how many passages there are and how many texts of them were embedded."""
    known = config.load()
    library = Library.open(Settings(home / "data", known.model_dir, known.roots))
    library.create_store(OWNER, STORE, embedder)
    library.add_source(OWNER, STORE, folder or write_files(home / "files"), ["**/*"])
    job = library.index(OWNER, STORE)
    found = ask(library, count)
    library.close()
    return {"passages": job.total_chunks_added, "embedded": job.texts_embedded, **found}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, metavar="DIR")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as home:
        found = measure(Path(home), given.folder, given.queries, given.embedder)
    if given.json:
        print(json.dumps(found))
        return 0
    fitting = found.pop("fitting")
    print("\n".join([*lines(found), *(f"{text!r} {best}" for text, best in fitting.items())]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
