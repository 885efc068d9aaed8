"""Is the right thing first in a home of many kinds, and is the passage shown the one that answers?

    python -m benchmarks mixed DATA [--embedder NAME] [--home HOME] [--half tune|unseen] [--missed] [--json]

DATA has the folders ``people`` (notes, meetings, mails and messages of one person) and ``tldr`` (short pages
about commands). Beside them stand Python's own library and a generated home: a mailbox, a calendar, contacts,
expenses, a chat, references, bookmarks and highlights. Of each kind a few are written in mixed.tsv, in which
the questions stand, too; most are templates that fill the place, as receipts and daily meetings do.

A question is asked by the *words* of what answers it or by its *meaning*. Printed per kind and way: how often
the document that answers is first and among the first five, and how often the passage shown first is one that
answers, all in percent. The odd questions of each kind are those to tune on; the even ones are the *unseen*
half.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sqlite3
import sys
import sysconfig
import tempfile
from contextlib import closing
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path

from benchmarks.process import Figures, lines
from rag_core import config
from rag_core.config import Settings
from rag_core.hits import Hit
from rag_core.library import Library
from rag_core.types import OWNER

STORE = "mixed"
ROWS = Path(__file__).with_name("mixed.tsv")
MAILS, DAYS, PEOPLE, PAYMENTS, CHATTED, WORKS, PAGES, MARKED = 200, 120, 40, 800, 400, 40, 80, 60
_MONTHS = "January February March April May June".split()
_SHOPS = "Rema 1000|Kiwi|Coop|Ruter|Vinmonopolet|Spotify|Circle K|Narvesen|Bolt|Felix Bakery".split("|")
_BOUGHT = "groceries|milk and bread|monthly ticket|coffee|fuel|wine|subscription|newspaper|lunch|taxi".split(
    "|"
)
_FIRMS = "Parcelbox|Tickety|Streamly|Gymnast|Bookwave|Cloudbox|Fotoprint|Shoply|Mapster|Newsly".split("|")
_NEWS = (
    "your parcel is on its way and arrives between {a} and {b} o'clock",
    "thank you for your order number {a}{b}; the receipt is attached",
    "your password was changed, if that was not you please write to us",
    "this week: {a} new articles that people like you have read",
    "your subscription is renewed for {a} euros on the first of the month",
    "we have changed our terms, section {a} now says what section {b} said",
)
_TALK = "ok|on my way|can you get milk?|ha, yes|see you at {a}|late, {a} minutes|good night|thanks!".split(
    "|"
)
_SUBJECTS = "soil|sleep|traffic|paper|glass|bees|tides|noise|chess|mirrors".split("|")
_METHODS = "a survey|a model|a field study|two experiments|an archive|interviews".split("|")
_FIRST = "Anders|Bea|Claes|Dina|Erik|Frida|Gunnar|Hilde|Ivar|Jorun".split("|")
_LAST = "Aas|Bye|Dahl|Eide|Foss|Gran|Haug|Lie|Moe|Nygaard".split("|")
_PLACES = (
    "json",
    "email",
    "asyncio",
    "http",
    "logging",
    "unittest",
    "xml",
    "urllib",
    "concurrent",
    "collections",
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and where its answer stands."""

    kind: str  #: Of what answers it: mail, event, row, …
    way: str  #: ``words`` or ``meaning``
    text: str
    path: str  #: A part of the path of the file that answers; of several the parts with ``|`` between.
    answer: str  #: What stands in each passage that answers; any case.

    def documents(self, db: sqlite3.Connection) -> set[str]:
        """The paths of the documents that answer: those in which a passage has the answer."""
        sql = """SELECT d.display FROM chunks c JOIN documents d ON d.id = c.document_id
                 WHERE instr(d.display, ?) AND instr(lower(c.text), lower(?))"""
        found = [row for path in self.path.split("|") for row in db.execute(sql, (path, self.answer))]
        if not found:
            raise LookupError(f"nothing holds {self.answer!r} in {self.path}")
        return {path for (path,) in found}

    def is_answered_by(self, hit: Hit) -> bool:
        """Whether the passage shown has the answer."""
        is_there = any(path in hit.document.path for path in self.path.split("|"))
        return is_there and self.answer.casefold() in hit.content.casefold()


def rows(kind: str) -> list[list[str]]:
    """The rows of a kind in mixed.tsv, without it."""
    cut = [line.split("\t") for line in ROWS.read_text("utf-8").splitlines()]
    return [[cell.replace("\\n", "\n") for cell in rest] for first, *rest in cut if first == kind]


def questions(half: str = "") -> list[Question]:
    """All questions, or those of one half: of each kind the odd ones to tune on, the even ones unseen."""
    counts: dict[str, int] = {}
    chosen: list[Question] = []
    for row in rows("ask"):
        counts[row[0]] = counts.get(row[0], 0) + 1
        if not half or (half == "tune") == bool(counts[row[0]] % 2):
            chosen.append(Question(*row))
    return chosen


def write_home(folder: Path, data: Path) -> None:
    """Write the whole mixed home into ``folder``."""
    for vault in ("people", "tldr"):
        shutil.copytree(data / vault, folder / vault)
    library = Path(sysconfig.get_path("stdlib"))
    sources = [*library.glob("*.py"), *(path for name in _PLACES for path in (library / name).rglob("*.py"))]
    for source in sources:
        target = folder / "lib" / source.relative_to(library)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
    chance = random.Random(7)
    for name, text in (
        ("Mail/Archive.mbox", _mailbox(chance)),
        ("Calendar/family.ics", _calendar()),
        ("Contacts/people.vcf", _contacts(chance)),
        ("Money/expenses.csv", _expenses(chance)),
        ("Chats/WhatsApp Chat with Family.txt", _chat(chance)),
        ("Papers/library.bib", _references(chance)),
        ("Web/bookmarks.html", _bookmarks(chance)),
        ("Books/My Clippings.txt", _highlights(chance)),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")


def _day(number: int) -> str:
    """One of the days of half a year, as an ISO date."""
    return f"2026-{1 + number % 6:02}-{1 + number % 28:02}"


def _name(number: int) -> str:
    return f"{_FIRST[number % 10]} {_LAST[number // 10 % 10]}"


def _mailbox(chance: random.Random) -> str:
    mails = rows("mail")
    for number in range(MAILS):
        firm = chance.choice(_FIRMS)
        news = chance.choice(_NEWS).format(a=chance.randrange(8, 20), b=chance.randrange(20, 60))
        body = f"Hello Nora,\n\n{news}.\n\nYour {firm} team"
        mails.append([_day(number), f"{firm} <news@{firm.lower()}.example>", f"{firm}: news for you", body])
    chance.shuffle(mails)
    parts: list[str] = []
    for number, (day, sender, subject, body) in enumerate(mails):
        message = EmailMessage()
        month, date = _MONTHS[int(day[5:7]) - 1], int(day[8:])
        message["From"], message["To"], message["Subject"] = sender, "Nora <nora@lindqvist.example>", subject
        message["Date"] = f"{date} {month[:3]} 2026 09:{number % 60:02}:00 +0000"
        message["Message-ID"] = f"<{number}@lindqvist.example>"
        message.set_content(body)
        parts.append(f"From nora@lindqvist.example Mon {month[:3]} {date:2} 09:00:00 2026\n{message}\n")
    return "".join(parts)


def _calendar() -> str:
    events = [*rows("event")]
    for number in range(DAYS):
        day = _day(number).replace("-", "")
        title = ("Standup", "Piano", "Choir", "Bins out", "Call with Sofia", "Gym")[number % 6]
        events.append([f"{day}T{8 + number % 9:02}00", title, "", ""])
    parts = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//home//EN"]
    for number, (start, title, place, notes) in enumerate(events):
        parts += ["BEGIN:VEVENT", f"UID:{number}@home", f"DTSTART:{start}00", f"SUMMARY:{_escaped(title)}"]
        parts += [f"LOCATION:{_escaped(place)}"] * bool(place)
        parts += [f"DESCRIPTION:{_escaped(notes)}"] * bool(notes)
        parts.append("END:VEVENT")
    return "\r\n".join([*parts, "END:VCALENDAR", ""])


def _escaped(value: str) -> str:
    """A value as calendars and contacts write it."""
    return value.replace(",", "\\,").replace(";", "\\;")


def _contacts(chance: random.Random) -> str:
    people = [*rows("contact")]
    for number in range(PEOPLE):
        number_of_phone = f"+47 4{chance.randrange(10**7):07}"
        people.append([_name(number + 7), "Fjordtech", number_of_phone, f"floor {number % 5}"])
    cards = [
        f"BEGIN:VCARD\nVERSION:3.0\nFN:{name}\nTITLE:{_escaped(title)}\nTEL:{phone}\nNOTE:{_escaped(note)}\nEND:VCARD\n"
        for name, title, phone, note in people
    ]
    return "".join(cards)


def _expenses(chance: random.Random) -> str:
    payments = [*rows("row")]
    for number in range(PAYMENTS):
        kind = chance.randrange(10)
        payments.append(
            [_day(number), _SHOPS[kind], _BOUGHT[kind], f"{chance.randrange(200, 9000) / 100:.2f}"]
        )
    payments.sort()
    return "date,payee,purpose,amount\n" + "".join(f'{d},{p},"{w}",{a}\n' for d, p, w, a in payments)


def _chat(chance: random.Random) -> str:
    messages = [*rows("chat")]
    for number in range(CHATTED):
        text = chance.choice(_TALK).format(a=chance.randrange(5, 20))
        who = chance.choice(("Nora", "Jonas", "Greta"))
        messages.append([f"{_day(number)} {7 + number % 15:02}:{number % 60:02}", who, text])
    messages.sort()
    shown = [f"{at[8:10]}/{at[5:7]}/{at[:4]}, {at[11:]} - {who}: {text}\n" for at, who, text in messages]
    return "".join(shown)


def _references(chance: random.Random) -> str:
    works = [*rows("cite")]
    for number in range(WORKS):
        subject, method = chance.choice(_SUBJECTS), chance.choice(_METHODS)
        author = f"{_LAST[number % 10]}, {_FIRST[number // 10]}"
        title = f"On {subject.title()}, by {method}"
        works.append(
            [f"work{number}", author, title, "Annals", str(2000 + number % 20), f"We study {subject}."]
        )
    return "\n".join(
        f"@article{{{key},\n  author = {{{author}}},\n  title = {{{title}}},\n  journal = {{{journal}}},\n"
        f"  year = {{{year}}},\n  abstract = {{{abstract}}}\n}}\n"
        for key, author, title, journal, year, abstract in works
    )


def _bookmarks(chance: random.Random) -> str:
    pages = [*rows("mark")]
    for number in range(PAGES):
        firm, subject = chance.choice(_FIRMS), chance.choice(_SUBJECTS)
        pages.append([f"{firm}: all about {subject}", f"https://{firm.lower()}.example/{subject}/{number}"])
    head = "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<TITLE>Bookmarks</TITLE>\n<H1>Bookmarks</H1>\n<DL><p>\n"
    marks = (f'<DT><A HREF="{link}" ADD_DATE="1767225600">{title}</A>\n' for title, link in pages)
    return f"{head}{''.join(marks)}</DL><p>\n"


def _highlights(chance: random.Random) -> str:
    marked = [*rows("light")]
    for number in range(MARKED):
        subject, other = chance.sample(_SUBJECTS, 2)
        marked.append(
            [f"Essays on {subject}", _name(number), _day(number), f"Nobody sees {subject} in {other}."]
        )
    parts: list[str] = []
    for number, (book, author, day, text) in enumerate(marked):
        place = f"- Your Highlight on page {number + 3} | location {40 * number}-{40 * number + 2}"
        added = f"Added on {int(day[8:])} {_MONTHS[int(day[5:7]) - 1]} 2026"
        parts.append(f"{book} ({author})\n{place} | {added} 10:15:00\n\n{text}\n==========\n")
    return "".join(parts)


def indexed(home: Path, data: Path, embedder: str) -> Library:
    """The library of the mixed home, which is written and indexed if it is not there yet."""
    known = config.load()
    library = Library.open(Settings(home / "data", known.model_dir, known.roots))
    if STORE not in library.stores.names(OWNER):
        write_home(home / "files", data)
        library.create_store(OWNER, STORE, embedder)
        library.add_source(OWNER, STORE, home / "files", ["**/*"])
        library.index(OWNER, STORE)
    return library


def measure(library: Library, half: str, *, missed: bool) -> Figures:
    """The percentages by kind and way: document first, among five, and answered by the passage shown."""
    counts: dict[str, dict[str, float]] = {}
    with closing(sqlite3.connect(library.settings.store_dir / f"{STORE}.db")) as db:
        for question in questions(half):
            documents = question.documents(db)
            hits = library.search(OWNER, question.text, [STORE], top_k=5, group="document").hits
            right = [hit.document.path in documents for hit in hits]
            answered = bool(hits) and question.is_answered_by(hits[0])
            if missed and not answered:
                shown = f"{hits[0].document.path} | {hits[0].content[:90]!r}" if hits else ""
                print(f"{question.kind}, {question.way}: {question.text} | {right} | {shown}")
            for name in (f"{question.kind}, {question.way}", f"all, {question.way}"):
                count = counts.setdefault(name, {"first": 0, "five": 0, "answered": 0, "asked": 0})
                count["first"] += right[:1] == [True]
                count["five"] += any(right)
                count["answered"] += answered
                count["asked"] += 1
    return {
        name: {
            "first / five / answered": " / ".join(
                f"{100 * count[figure] / count['asked']:.0f}" for figure in ("first", "five", "answered")
            ),
            "questions": count["asked"],
        }
        for name, count in sorted(counts.items())
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--home", type=Path, help="keep files and store here and use them again")
    parser.add_argument("--half", choices=("tune", "unseen"), default="")
    parser.add_argument(
        "--missed", action="store_true", help="print each question that is not answered first"
    )
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as place:
        library = indexed(given.home or Path(place), given.data, given.embedder)
        found = measure(library, given.half, missed=given.missed)
        library.close()
    print(json.dumps(found) if given.json else "\n".join(lines(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
