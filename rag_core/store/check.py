"""The checks of a store: each looks at one promise, and together they say whether it is sound."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rag_core.errors import StoreError
from rag_core.reports import Finding, Health, Severity
from rag_core.store import faults, schema
from rag_core.store.connection import blames_file, can_be_written, damage
from rag_core.store.documents import storable
from rag_core.store.faults import Find, Wrong
from rag_core.store.file import Store, now
from rag_core.wording import plural

EXAMPLES = 5
WORDS = "words"


@dataclass(frozen=True, slots=True)
class Check:
    """One promise. What breaks it is said as ``3 {noun}s {fault}.``"""

    name: str
    noun: str
    fault: str
    find: Find
    severity: Severity = "fault"


def check(store: Store, *, files: bool = False, report: Callable[[int, int], None] | None = None) -> Health:
    """Make every check of ``store``; ``files`` also compares its documents with their files.

    ``report`` is told before each check how many were made, of how many; what it raises ends them.
    Raises StoreError when the file cannot be read at all.
    """
    started = time.perf_counter()
    found: list[Finding | None] = []
    with store.read() as db, any_text(db):
        has_tables = not schema.lost_tables(db)
        wanted = CHECKS if has_tables else CHECKS[:1]
        wanted += (FILES,) if has_tables and files else ()
        for number, each in enumerate(wanted):
            if report:
                report(number, len(wanted))
            found.append(_look(each, db))
    names = tuple(each.name for each in wanted)
    if has_tables:
        names += (WORDS,)
        found.append(_words(store))
    return Health(
        store=store.name,
        checked_at=now(),
        checks=names,
        findings=tuple(finding for finding in found if finding),
        took_ms=(time.perf_counter() - started) * 1000,
    )


def _look(each: Check, db: sqlite3.Connection) -> Finding | None:
    count, examples = 0, []
    try:
        for row in each.find(db):
            count += 1
            if count <= EXAMPLES:
                examples.append(storable(row.shown))
    except Exception as error:
        if not damage(db, error):
            raise
        return Finding(each.name, "fault", f"The file is damaged in what the check of {each.name} reads.", 1)
    if not count:
        return None
    sentence = f"{plural(count, each.noun)} {each.fault}."
    return Finding(each.name, each.severity, sentence, count, tuple(examples))


@contextmanager
def any_text(db: sqlite3.Connection) -> Iterator[None]:
    """Let ``db`` give also text whose bytes are no UTF-8, with lone surrogates for those."""
    db.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    try:
        yield
    finally:
        db.text_factory = str


# --- the words --------------------------------------------------------------------------


def _words(store: Store) -> Finding | None:
    try:
        with store.note() as db:
            compare_words(db)
    except StoreError as error:
        if blames_file(error):
            return Finding(WORDS, "fault", "The index of words does not match the passages.", 1)
        if can_be_written(store.path) and can_be_written(store.path.parent):
            raise
        said = "The index of words was not compared with the passages, as nothing can be written here."
        return Finding(WORDS, "note", said, 1)
    return None


def compare_words(db: sqlite3.Connection) -> None:
    """Let FTS5 compare its words with those of every passage, which only a writer may ask for.

    Raises an error that ``blames_file`` knows where they differ.
    """
    db.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")


def _schema(db: sqlite3.Connection) -> Iterator[Wrong]:
    return (Wrong(each.name, f"{each.kind} {each.name}: {each.what}") for each in schema.differences(db))


CHECKS: tuple[Check, ...] = (
    Check("schema", "part", "of the schema missing, altered or unknown", _schema),
    Check("structure", "fault", "in the structure of the file", faults.structure),
    Check("references", "row", "that should belong to another one, which is not there", faults.references),
    Check("about", "fact", "about the store itself that cannot be true", faults.about),
    Check("values", "row", "with a value that cannot be read", faults.values),
    Check("states", "document", "in a state that the passages contradict", faults.states),
    Check("places", "document", "with two different paths or titles", faults.places),
    Check("private", "document", "with another mark than the rules for private notes give", faults.private),
    Check("names", "document", "with other names than path and title give", faults.names),
    Check("tags", "document", "with a tag that is not filed as it should be", faults.tags),
    Check("links", "link", "that should lead elsewhere", faults.links),
    Check("numbering", "document", "with passages that repeat or are numbered wrongly", faults.numbering),
    Check("offsets", "passage", "with a place in the file that cannot be", faults.offsets),
    Check("hashes", "passage", "with a text that is not the one that was stored", faults.hashes),
    Check("unembedded", "passage", "with neither a vector nor a place in the queue", faults.unembedded),
    Check("queue", "waiting text", "that no passage holds, or that has its vector", faults.queue),
    Check("vectors", "vector", "of a wrong length or without a direction", faults.vectors),
    Check("leftovers", "vector", "no passage needs; the next run drops them", faults.leftovers, "note"),
    Check("jobs", "run", "that cannot be under way, because a newer one began", faults.jobs),
)

FILES = Check("files", "file", "no longer as it was read; the next run sees to it", faults.files, "note")
