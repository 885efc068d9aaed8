"""Numbers, times, states and places in words, with the same words in the terminal and in the browser."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from pathlib import PurePath
from typing import TYPE_CHECKING

from rag_core import system
from rag_core.types import (
    Answer,
    Document,
    DocumentView,
    Freshness,
    Hit,
    Job,
    Neighbour,
    Progress,
    Source,
    StoreInfo,
)

if TYPE_CHECKING:
    from rag_core.replies import Reference
    from rag_core.reports import Diagnosis, LanguageAdvice, Privacy, SavedSearch

EXAMPLE_MODEL = "llama3.2:3b"  # small, and answers at once without thinking aloud first: 2 GB
EXAMPLE_LINE = f"llm: ollama:{EXAMPLE_MODEL}"  # of config.yaml
GET_A_MODEL = (
    f"Install Ollama (ollama.com), fetch a model such as `ollama pull {EXAMPLE_MODEL}`, then set"
    f" `{EXAMPLE_LINE}` in config.yaml."
)
"""How to set up a model that answers questions."""

_BUILT_IN = {
    "minilm": "the built-in model for English",
    "multilingual": "the built-in model for every language",
}


def plural(count: int, noun: str) -> str:
    """Write a count with its noun: ``1 file``, ``2,000 files``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def contents(passages: int, files: int) -> str:
    """Write how much a store holds: ``3 passages of 1 file``."""
    return f"{plural(passages, 'passage')} of {plural(files, 'file')}"


NOTES = frozenset("markdown text org rst asciidoc textile tiddlywiki typst wiki".split())
"""The file types of prose that people read by line numbers."""


def documents_in_words(count: int, types: Iterable[str], *, has_parts: bool = False) -> str:
    """Write a number of documents: ``18 notes`` if every type in ``types`` is a note, else ``18 files``. With
    ``has_parts``, where some documents are parts of a file, write ``18 documents``."""
    if has_parts:
        return plural(count, "document")
    return plural(count, "note" if NOTES.issuperset(types) else "file")


_OUTCOMES = {
    "reread": "read again",
    "deleted": "forgotten",
    "unlikely": "will probably be skipped",
    "still_skipped": "still skipped",
}
_ORDER = (
    "added", "changed", "reread", "moved", "deleted", "excluded", "unlikely", "unchanged",
    "still_skipped", "skipped", "failed",
)  # fmt: skip


_FEW = 3
_MOST_VALUES = 8


def some(names: Sequence[str], noun: str) -> str:
    """List up to three names with commas, ``a, b and c``. Of more names, count the others: ``a, b, c and 2
    more guests``."""
    if len(names) > _FEW:
        return f"{', '.join(names[:_FEW])} and {plural(len(names) - _FEW, f'more {noun}')}"
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def outcome(name: str) -> str:
    """Say what happened to a file. The words never suggest that this program deleted a file."""
    return _OUTCOMES.get(name, name)


def outcomes(counts: Mapping[str, int], *, bold: bool = False) -> list[str]:
    """Write the number of files with each outcome, in a fixed order: ``3 added``, or ``**3** added`` with
    ``bold``."""
    mark = "**" if bold else ""
    return [f"{mark}{counts[name]:,}{mark} {outcome(name)}" for name in _ORDER if counts.get(name)]


def read_and_embedded(job: Job) -> list[str]:
    """Write how many passages a run added and how many texts it embedded. Equal passages share one vector."""
    added = f"{plural(job.total_chunks_added, 'passage')} added"
    if job.texts_embedded == job.total_chunks_added > 0:
        return [f"{added} and embedded"]
    embedded = f"{plural(job.texts_embedded, 'text')} embedded"
    counted = ((job.total_chunks_added, added), (job.texts_embedded, embedded))
    return [words for count, words in counted if count]


def unreadable(count: int) -> str:
    """Say that ``count`` passages are in a script that this model cannot read, and name one that can; '' for
    0."""
    if not count:
        return ""
    passages = plural(count, "passage")
    return (
        f"{passages} in a script that this model cannot read: found by words only. ollama:bge-m3 reads more."
    )


def left_out(failed: int, skipped: int, excluded: int = 0) -> list[str]:
    """Write the numbers of files that were not read, such as ``2 skipped``. Kinds without files are left
    out."""
    kinds = ((failed, "failed"), (skipped, "skipped"), (excluded, "excluded"))
    return [f"{count:,} {kind}" for count, kind in kinds if count]


def skips(by_suffix: Mapping[str, int]) -> str:
    """Warn about the number of chosen files that will be skipped, because nothing reads their kinds."""
    files, kinds = plural(sum(by_suffix.values()), "file"), facet(by_suffix)
    return f"{files} of these will probably be skipped. Nothing reads such files: {kinds}."


def pictures_by_ocr(pictures: int, pdfs: int, engine: str, install: str, *, is_off: bool) -> str:
    """Say whether OCR will read pictures and scanned PDF files; '' if there are none. ``install`` is the
    command that installs OCR."""
    kinds = [plural(pictures, "picture")] if pictures else []
    kinds += [f"scanned pages of {plural(pdfs, 'PDF file')}"] if pdfs else []
    if not kinds:
        return ""
    what = " and ".join(kinds)
    if engine:
        return f"OCR ({engine}) reads {what}."
    if is_off:
        return f"Not read, because the setting `ocr` is off: {what}."
    return f"Not read, because no OCR is installed: {what}. Install Tesseract, or run {install}."


def size(count: int) -> str:
    """Write a number of bytes: ``1.2 MB``."""
    for power, unit in ((9, "GB"), (6, "MB"), (3, "kB")):
        if count >= 10**power:
            return f"{count / 10**power:.1f} {unit}"
    return f"{count} B"


def document_day(view: DocumentView) -> str:
    """Write the day that date filters use: ``dated …`` if it is from the text or the name, ``changed …`` if
    it is from the file."""
    day = view.document.date[:10]
    return f"{'dated' if view.is_dated else 'changed'} {day}" if day else ""


def duration(seconds: float) -> str:
    """Write a duration: ``45 s``, ``3 min``, ``1 h 5 min``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def still(seconds: float) -> str:
    """Write the remaining time as a range: ``4–8 min left``."""
    if seconds < 60:
        return "less than a minute left"
    shortest, longest = int(seconds * _SHORTER / 60), math.ceil(seconds * _LONGER / 60)
    if longest < 90:
        return f"{max(1, shortest)}–{longest} min left"
    return f"{max(1, round(shortest / 60))}–{math.ceil(longest / 60)} h left"


_SHORTER, _LONGER = 0.7, 1.4
_SURE_FROM = 3  # steps, before a pace is said
_STANDS_STILL_S = 60

PHASES = {
    "scanning": "Looking for files",
    "reading": "Reading files",
    "embedding": "Embedding passages",
    "pictures": "Reading text in pictures",
    "sending": "Sending vectors",
    "done": "Finishing",
}


def progress(now: Progress) -> str:
    """Write the progress of a run in one line: phase, finished steps, speed and remaining time."""
    parts = [PHASES[now.phase]]
    if now.total or now.done:
        parts.append(f"{now.done:,} of {now.total:,}" if now.total else f"{now.done:,}")
    if now.idle >= _STANDS_STILL_S:
        return " · ".join([*parts, f"nothing finished for {duration(now.idle)}"])
    if now.rate:
        parts.append(f"{now.rate:,.0f}/s" if now.rate >= 1 else f"{now.rate * 60:,.0f} a minute")
    if now.eta and now.done >= _SURE_FROM:
        parts.append(still(now.eta))
    return " · ".join(parts)


def took(job: Job) -> str:
    """Write how long a run took."""
    return duration(job.duration_ms / 1000) if job.duration_ms >= 1000 else "less than a second"


def moment(written: str) -> str:
    """Write an ISO time in this computer's time zone: ``2026-03-15 14:05``. Other text is returned
    unchanged."""
    try:
        return datetime.fromisoformat(written).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError):  # an imported store may say anything
        return written


def age(day: str, today: date) -> str:
    """Write how long ago an ISO day was, in one unit: ``today``, ``3 d``, ``2 mo``, ``5 y``; '' for any other
    text."""
    try:
        days = (today - date.fromisoformat(day)).days
    except ValueError:
        return ""
    if days < 1:
        return "today"
    for length, unit in ((365, "y"), (30, "mo"), (7, "w")):
        if days >= length:
            return f"{days // length} {unit}"
    return f"{days} d"


def embedder(name: str) -> str:
    """Return an embedder's name; for a built-in one, its purpose: *the built-in model for English*."""
    return _BUILT_IN.get(name, name)


def language_advice(advice: LanguageAdvice) -> str:
    """Say which language a store is in, and what the model for every language would improve."""
    begins = f"{'Mostly' if advice.is_most else 'Partly'} {advice.language}."
    size_ = f" It is a download of {advice.megabytes} MB." if advice.megabytes else ""
    better = "The model for every language finds such texts better, but takes about twice as long to index."
    return f"{begins} {better}{size_}"


def shared_files(root: str, others: Iterable[str]) -> str:
    """Say which of the folders ``others`` overlap the folder ``root``; '' if none."""
    here, rest = PurePath(root), (other for other in others if other != root)
    shared = [other for other in rest if here.is_relative_to(other) or PurePath(other).is_relative_to(here)]
    return f"{root!r} overlaps {', '.join(map(repr, shared))}. Files in both are read once." if shared else ""


def covered_by(root: str, by: Source) -> str:
    """Say that the store's folder ``by`` already includes the folder ``root``."""
    return f"The store's folder {by.root!r} includes {root!r} already, so no folder is added."


def privacy(report: Privacy) -> str:
    """Write the number of private documents of a store, and why they are private."""
    if not report.private:
        return "No private notes."
    why = f" ({report.by_note:,} marked in the file, {report.by_rule:,} by a rule)"
    return f"{plural(report.private, 'private note')}{why if report.by_note and report.by_rule else ''}."


def taken(source: Source) -> str:
    """Write which files of a folder are indexed: ``every file``, or its patterns."""
    every = {*source.include} <= {"**/*"}
    without = f", without {' '.join(source.exclude)}" if source.exclude else ""
    return ("every file" if every else " ".join(source.include)) + without


_KEYS = ("type", "tag", "path", "file", "title", "heading", "page", "place", "symbol", "date")
_ORDERS = {"best": "", "newest": "newest first", "oldest": "oldest first", "name": "by name"}


def asked_by(saved: SavedSearch) -> str:
    """Write what a saved search asks for: text and filters as a query, then the minimum score and the
    order."""
    filters = saved.filters
    words = [saved.text, *(f"store:{name}" for name in saved.stores)]
    for key in _KEYS:
        words += [f"{key}:{value}" for value in getattr(filters, f"{key}s")]
    words += filters.properties
    words += [f"{key}:{day}" for key, day in (("after", filters.after), ("before", filters.before)) if day]
    least = f"score ≥ {saved.min_score:.0%}" if saved.min_score else ""
    parts = (" ".join(filter(None, words)), least, _ORDERS[saved.sort])
    return " · ".join(filter(None, parts))


def roots(sources: Iterable[Source]) -> str:
    """Write where the folders of a store are on this computer; '' if the viewer may not know."""
    there = [source for source in sources if source.root and not source.removed]
    there.sort(key=lambda source: bool(source.label))
    places = [f"{source.label and f'{source.label}/ is '}{_shown(source.root)}" for source in there]
    return f"Folders: {'; '.join(places)}." if places else ""


def top_folder(sources: Iterable[Source]) -> str:
    """Return the name of the folder whose paths have no label; '' if the viewer may not know."""
    names = [PurePath(_shown(source.root)).name for source in sources if not (source.label or source.removed)]
    return ", ".join(dict.fromkeys(filter(None, names)))


def _shown(root: str) -> str:
    # it may hold bytes which are no text
    return root.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def nearest_found(info: StoreInfo) -> str:
    """Return the measured share of nearest passages that a search by meaning finds; '' if the search compares
    all."""
    return f"{info.recall:.1%} of the ten nearest are found (measured)" if info.recall < 1 else ""


def vectors_in(info: StoreInfo) -> str:
    """Say where the vectors of a store are: at an address, or in its own file."""
    return f"in {info.address}" if info.address else "in the store's own file"


def ranked(diagnosis: Diagnosis) -> str:
    """Say the rank of a diagnosed file's best passage for the query."""
    if diagnosis.rank is None:
        return f"For {diagnosis.query!r} it is not among the first 1,000 passages."
    place = f"number {diagnosis.rank:,} with a score of {diagnosis.score or 0:.2f}"
    near_miss = "" if diagnosis.relevant else ", a near miss"
    return f"For {diagnosis.query!r} its best passage is {place}{near_miss}."


def command(name: str, path: str, options: str) -> str:
    """Write ``commonplace NAME PATH OPTIONS`` for pasting into a terminal. A path with a leading hyphen comes
    last."""
    quoted = system.quote(path)
    parts = (options, "--", quoted) if path.startswith("-") else (quoted, options)
    return " ".join(("commonplace", name, *parts))


def on_shared_disk(folder: PurePath, service: str) -> str:
    """Say that other computers may write to a data folder, because it is on ``service``. Two sentences."""
    return (
        f"The data folder {str(folder)!r} is on {service}, which other computers may write, too."
        " Stores can be damaged there."
    )


def take_back(path: str, store: str) -> str:
    """Return the command that includes an excluded file again."""
    return command("exclude", path, f"--undo --store {store}")


def lines(start: int, end: int) -> str:
    """Write line numbers as they follow a path: ``35``, ``35-40``."""
    return str(start) if start == end else f"{start}-{end}"


def where(passage: Hit | Neighbour | Reference) -> str:
    """Write where a passage is in its document: ``page 3``, ``lines 35-40``; '' if no place is known."""
    if passage.anchor is not None:
        return passage.anchor
    several = "line" if passage.start_line == passage.end_line else "lines"
    return f"{several} {lines(passage.start_line, passage.end_line)}"


def place(path: str, passage: Hit | Neighbour | Reference) -> str:
    """Write a path and the place in the file: ``tea.md:12-30``, ``report.pdf, page 3``."""
    if passage.anchor is None:
        return f"{path}:{lines(passage.start_line, passage.end_line)}"
    return f"{path}, {passage.anchor}" if passage.anchor else path


def found(answer: Answer) -> str:
    """Write how many passages or documents an answer has, how they were found, and how long the search
    took."""
    took = f"in {answer.query_time_ms:.0f} ms."
    if not answer.hits and answer.has_more:  # there are passages, and a notice says why none is shown
        return f"Nothing shown {took}"
    if not answer.hits:
        return f"Nothing more {took}" if answer.offset else f"Nothing found {took}"
    fit = sum(hit.relevant for hit in answer.hits)
    near = len(answer.hits) - fit
    by_document = answer.group == "document"
    noun = plural(fit, "document") if by_document else f"{fit:,} match{'es' * (fit != 1)}"
    counts = [noun] if fit and (near or not (answer.offset or answer.has_more)) else []
    counts += [f"{near:,} near miss{'es' * (near != 1)}"] if near else []
    place = f"{answer.hits[0].rank:,} to {answer.hits[-1].rank:,}"
    if answer.has_more and answer.fitting:
        place += f" of {'at least ' if answer.fits_more else ''}{answer.fitting:,}"
    shown = ""
    if answer.offset or answer.has_more:
        shown = f"{'Documents' if by_document else 'Passages'} {place}{': ' if counts else ''}"
    by = " by meaning" if answer.mode == "vector" else ""
    if answer.mode == "lexical" or all(hit.similarity is None for hit in answer.hits):
        by = " by words"
    return f"{shown}{', '.join(counts)}{by if answer.query.text else ''} {took}"


def facet(counts: Mapping[str, int]) -> str:
    """List the commonest values of a facet with their counts: ``markdown 12, pdf 3``."""
    named = [f"{value or '(top folder)'} {count:,}" for value, count in list(counts.items())[:_MOST_VALUES]]
    more = [f"and {len(counts) - _MOST_VALUES:,} more"] if len(counts) > _MOST_VALUES else []
    return ", ".join([*named, *more]) or "nothing"


def read_nothing(job: Job) -> bool:
    """Whether a finished job had files but could read none of them."""
    tried = {outcome for outcome, count in job.counts.items() if count}
    return job.state == "done" and bool(tried) and tried <= {"failed", "skipped", "still_skipped"}


def freshness(now: Freshness) -> str:
    """Write in one line how far stores are behind the files in their folders."""
    behind = "looking for changed files" if now.looking else "up to date"
    if now.reading:  # later passages still get more
        behind = f"reading {plural(now.reading, 'file')}"
    elif now.waiting:
        behind = f"{plural(now.waiting, 'passage')} not embedded yet"
    elif now.pictures:
        behind = f"the text in {plural(now.pictures, 'picture')} not read yet"
    left = still(now.eta) if now.eta else ""
    return " · ".join(filter(None, (behind, left, failed_files(now.failed))))


def failed_files(count: int) -> str:
    """Write the number of files that could not be read, such as ``3 failed``; '' for 0."""
    return f"{count:,} failed" if count else ""


def new_hits(saved: SavedSearch) -> str:
    """Write the number of new hits of a saved search, such as *3 new*, or that its stores are gone; '' if
    neither applies."""
    if saved.is_gone:
        return f"{'stores are' if len(saved.stores) > 1 else 'store is'} gone"
    return f"{'over ' * saved.more_new}{saved.new} new" if saved.new else ""


def unshown(answer: Answer) -> str:
    """Say the number of near misses that are not shown; '' for none."""
    return f"Near misses not shown: at least {answer.unshown:,}." if answer.unshown else ""


NOTHING_FITS = "Nothing fits well."
REORDERED = "Reordered by the reranker."
ONLY_TITLE = "There is only the title"


def is_empty(document: Document) -> bool:
    """Whether a file that was read is empty; always False for a guest."""
    return bool(document.indexed_at) and not document.size


def without_text(document: Document) -> str:
    """Say that a document's file is empty, contains several documents, or has only a title."""
    if document.part_count:
        return f"It holds {plural(document.part_count, 'document')}"
    return "The file is empty" if is_empty(document) else ONLY_TITLE


def only_title(hit: Hit) -> str:
    """Return the line shown for a document without text: its other names and tags, or why it has no text."""
    if reason := unread(hit.document):
        return reason
    names = f"also called {', '.join(hit.aliases)}" if hit.aliases else ""
    tags = " ".join(f"#{tag}" for tag in hit.document.tags)
    return " · ".join(filter(None, (names, tags))) or without_text(hit.document)


def unread(document: Document) -> str:
    """Say why a document is found only by its name; '' if its text is found, and for a guest."""
    match document.state:
        case "waiting":
            return document.reason or "It is not read yet."
        case "failed" | "skipped" if not document.chunks:
            return f"It is not read: {document.reason}"
        case _:
            return ""


CHANGED_IN_LISTS = "changed: the file's size or time is not the same as when it was read."

_ON_DISK = {
    "changed": "The file may have changed since it was indexed.",
    "missing": "The file is gone. The next run finds its new place, or removes it from the index.",
    "unknown": "The file cannot be reached now, so it may have changed.",
    "failed": "The file could not be read the last time; this is its last readable version.",
}


def on_disk(document: Document) -> str:
    """Say how the file differs from the text that was read; '' if nothing differs, if it was never read, or
    for a guest."""
    return "" if unread(document) else _ON_DISK.get(document.state, "")
