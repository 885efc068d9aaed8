"""A small vault that is always the same, and three hundred searches that ask for everything a search can do.
What they give is written down in ``recorded_searches.txt``."""

from __future__ import annotations

import base64
import os
import random
from dataclasses import dataclass, field, fields
from itertools import cycle
from pathlib import Path
from typing import Any

from rag_core.types import OWNER, Answer, Filters, Hit, Viewer

GUEST = Viewer("guest@example.com", stores=frozenset({"garden", "work"}))

_SUBJECTS = {
    "garden": (
        "tomato seedlings|compost heap|rose pruning|apple grafting|rain barrel|bean trellis|greenhouse vents"
        "|slug traps|lavender hedge|potato blight"
    ).split("|"),
    "work": (
        "quarterly budget|hiring plan|incident review|database migration|customer interview|release checklist"
        "|travel policy|login service|pricing model|security audit"
    ).split("|"),
}
_SENTENCES = (
    "The {0} needs attention every {1} days in {2}.|Last {2} the {0} failed because nobody measured the {3}."
    "|Compare the {3} of the {0} with the notes from {2}.|{1} people asked how the {0} affects the {3}."
    "|Keep the {3} below {1} percent, or the {0} suffers.|We decided to move the {0} after the {3} in {2}."
    "|A friend wrote that her {0} improved with a better {3}.|See the invoice INV-2024-0{1} for the {0}."
).split("|")
_MONTHS = "January February March April May June July August September October November December".split()
_THINGS = "temperature soil budget deadline moisture schedule warranty coverage latency harvest".split()
_FOOTER = "Written with the house template, reviewed by the usual people."


def write_vault(root: Path) -> None:
    """Write the folders ``garden`` and ``work`` below ``root``."""
    chance = random.Random(30)
    for store, subjects in _SUBJECTS.items():
        for number, subject in enumerate(subjects * 3):
            _write(root / store, *_note(chance, store, number, subject))
    for path, text in _PARTICULAR.items():
        _write(root, path, text)
    long = " ".join(_sentence(chance, "orchard ladder") for _ in range(30))
    _write(root / "garden", "copies/ladder.md", f"# Orchard ladder\n\n{long}\n")
    _write(root / "garden", "copies/again/ladder.md", f"# Orchard ladder\n\n{long}\n")
    _write(
        root / "garden",
        "copies/ladder revised.md",
        f"# Orchard ladder\n\n{long.replace('friend', 'guest', 1)}\n",
    )
    noise = base64.b64encode(chance.randbytes(1500)).decode()
    _write(root / "work", "attachments.md", f"# Attachments\n\ndata:image/png;base64,{noise}\n")
    (root / "garden" / "broken.pdf").write_bytes(b"not a PDF")


def _note(chance: random.Random, store: str, number: int, subject: str) -> tuple[str, str]:
    """The path and the text of an ordinary note."""
    day = f"{2023 + number % 3}-{number % 12 + 1:02}-{number % 27 + 1:02}"
    matter = [f"date: {day}", f"tags: [{subject.split()[0]}, {store}/{('plan', 'log')[number % 2]}]"]
    matter += [f"status: {('open', 'done', 'waiting')[number % 3]}"] if number % 4 else []
    matter += ["private: true"] if number % 7 == 3 else []
    matter += [f"aliases: [{subject.title()} notes]"] if number % 5 == 0 else []
    sections = []
    for heading in chance.sample(_MONTHS, number % 3 + 1):
        text = " ".join(_sentence(chance, subject) for _ in range(chance.randint(2, 9)))
        sections.append(f"## {heading}\n\n{text}")
    title = f"{subject.capitalize()} {('plan', 'log', 'review')[number // 10]}"
    body = "\n\n".join([f"# {title}", *sections, _FOOTER])
    return f"{('plans', 'logs')[number % 2]}/{day} {title}.md", "---\n" + "\n".join(
        matter
    ) + f"\n---\n{body}\n"


def _sentence(chance: random.Random, subject: str) -> str:
    form = chance.choice(_SENTENCES)
    return form.format(subject, chance.randint(2, 90), chance.choice(_MONTHS), chance.choice(_THINGS))


_PARTICULAR = {
    "garden/deutsch.md": "# Gemüsebeet\n\nDie Straße zum Garten. Müller gießt am 6. Dezember 2024.\n",
    "garden/中文.md": "# 价格歧视\n\n价格歧视是指卖家对不同的买家收取不同的价格。番茄计划在春天。\n",
    "garden/arabic.md": "# الحديقة\n\nالوزير زار الحديقة في الربيع ومعه كتاب.\n",
    "garden/private diary.md": "---\nprivate: true\n---\n# Diary\n\nA zeppelin landed on the compost.\n",
    "garden/index.md": "# Start\n\nSee [[Compost heap plan]], [[rose pruning log]] and the Orchard ladder.\n",
    "garden/table.csv": "plant,height,month\ntomato,120,July\nbean,200,August\nrose,90,June\n",
    "work/code/budget_tool.py": (
        '"""Tools for the budget."""\n\n\nclass BudgetPlanner:\n    """Plans the quarterly budget."""\n\n'
        "    def getUserName(self) -> str:\n        return lookup_user_name(self)\n\n\n"
        "def load_config(path):\n    return open(path).read()\n"
    ),
    "work/settings.json": '{"login": {"timeout": 30, "retries": 5}, "pricing": {"currency": "EUR"}}\n',
    "work/calls.txt": "Call Ms Ferreira at +49 30 123456 on 2024-12-06. Owes 1,234.50 EUR; INV-2024-019.\n",
    "work/login.md": "# Login\n\nThe login service refuses old tokens.\n\n# Logout\n\nEnds the session.\n",
    "work/empty title.md": "---\ntitle: Sabbatical\naliases: [year off]\n---\n",
}


def _write(root: Path, path: str, text: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    os.utime(file, (1_700_000_000, 1_700_000_000))


@dataclass(frozen=True, slots=True)
class Asked:
    """One search: who asks for what, and how."""

    text: str
    viewer: Viewer = OWNER
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        options = ", ".join(f"{name}={_brief(value)}" for name, value in self.options.items())
        return f"{self.viewer.login.partition('@')[0]}: {self.text[:60]!r} {options}".strip()


def _brief(value: Any) -> str:
    """An option as it is typed; of filters only those that are set."""
    if not isinstance(value, Filters):
        return repr(value)
    return repr(
        {each.name: getattr(value, each.name) for each in fields(Filters) if getattr(value, each.name)}
    )


_TEXTS = (
    "tomato seedlings|how often does the compost heap need attention|rose pruning log|quarterly budget review"
    "|why did the database migration fail|login|logni service|compst heap temperature|orchard ladder"
    "|Müller Strasse|价格歧视|番茄|الوزير|getUserName|load_config|6 December 2024|2024-12-06|INV-2024-019"
    "|1234.50|+49 30 123456|zeppelin|asdf qwer zxcv|quantum chromodynamics|tomato quantum entanglement"
    "|potato blight August soil moisture schedule warranty|what is the latency|sabbatical|year off"
    "|house template usual people|friend better harvest|travel pol|incid|rose|the of and|bean trellis vents"
    "|security audit deadline in March|pricing model coverage below percent|slug traps slug traps"
    "|Compost heap plan|ends the session|customer interviews|gardening in spring with vegetables"
).split("|")
_OPERATORS = (
    'type:python budget|tag:compost|tag:garden/plan soil|path:plans/ budget|path:"" login|status:open budget'
    "|status:nonsense budget|colour:red tomato|after:2024-01-01 before:2025-01-01 compost|date:2024-03 review"
    '|"compost heap" failed|"needs attention"|-friend compost heap|-tag:rose pruning|title:login'
    "|heading:July soil|symbol:BudgetPlanner|file:calls.txt"
    "|type:pdf budget|tag:compots heap|after:2030-01-01 budget"
    '|store:work budget|"-" budget|tag:compost tag:rose heap|type:markdown|place:"chapter 3" tomato'
    '|"no such phrase anywhere"|type:markdown quantum entanglement|-"usual people" rose|before:2023-02-01'
    "|after:2025-01-01 before:2024-01-01 rose|status:done tag:work/log|page:3 budget|type:csv bean"
    '|"Orchard ladder"|path:copies/ ladder|colour: tomato: soil'
).split("|")
_WAYS: tuple[dict[str, Any], ...] = (
    {"group": "document"},
    {"mode": "lexical"},
    {"mode": "vector"},
    {"stores": ("garden",)},
    {"stores": ("work",), "group": "document", "facets": True},
    {"facets": True},
    {"group": "document", "facets": True, "top_k": 3},
    {"offset": 3, "top_k": 4},
    {"min_score": 0.6},
    {"min_score": 0.95, "mode": "lexical"},
    {"sort": "newest", "top_k": 5},
    {"sort": "name", "group": "document"},
    {"sort": "oldest", "mode": "lexical", "offset": 2},
    {"max_tokens": 200},
    {"max_tokens": 3},
    {"filters": Filters(tags=("compost", "quarterly"), after="2023-06-01")},
    {"filters": Filters(paths=("plans",)), "mode": "vector"},
    {"top_k": 100, "group": "document"},
    {"top_k": 40, "offset": 30},
)


def searches() -> list[Asked]:
    """Three hundred searches: each text plainly by both, then in two to three of the ways in turn."""
    asked: list[Asked] = []
    ways, viewers = cycle(_WAYS), cycle((OWNER, OWNER, GUEST))
    for text in (*_TEXTS, *_OPERATORS):
        asked += [Asked(text), Asked(text, GUEST, {"group": "document", "facets": True})]
        asked += [Asked(text, next(viewers), next(ways)) for _ in range(2)]
    pasted = " ".join(f"{subject} {thing}" for subject in _SUBJECTS["garden"] for thing in _THINGS)
    return [*asked, *(Asked(pasted, viewer) for viewer in (OWNER, GUEST))]


def line(asked: Asked, answer: Answer) -> str:
    """What was asked and answered, in a line."""
    flags = "convincing" if answer.convincing else "nothing fits"
    counts = f"{answer.fitting}{'+' * answer.fits_more} fit, {answer.unshown}{'+' * answer.has_more} follow"
    notices = "; ".join(notice.message for notice in answer.notices)
    facets = {
        name: " ".join(f"{value}={count}" for value, count in list(counts.items())[:4])
        for name, counts in {**(answer.facets or {}), **(answer.properties or {})}.items()
    }
    hits = " | ".join(map(_hit, answer.hits[:3]))
    scores = " ".join(map(str, answer.score_counts))
    about = f"{flags}; {counts}; [{scores}]; {notices}; {facets or ''}"
    return f"{asked} => {about}; {len(answer.hits)} hits: {hits}"


def _hit(hit: Hit) -> str:
    place = f"{hit.store}/{hit.document.path}#{hit.chunk_index}"
    also = f" = {', '.join(hit.copies)}" if hit.copies else ""
    shown = hit.content[slice(*hit.snippet)]
    marks = "".join(hit.content[start:end] for start, end in hit.spans[:2])
    return f"{hit.score:.3f} {place}{also} +{hit.more} {', '.join(hit.reasons)} ({len(shown)} {marks})"
