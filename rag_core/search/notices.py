"""What is said beside an answer: which stores were searched by words only, which values nothing has."""

from __future__ import annotations

import difflib
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, islice
from math import floor
from pathlib import PurePath

from rag_core.errors import RagError
from rag_core.extract import hardly_text
from rag_core.store import Store, find, view, vocabulary
from rag_core.store.sources import all_sources
from rag_core.text.words import is_unspaced
from rag_core.types import Filters, Hit, Notice, Query, Viewer

_MOST_COMPARED = 5000
_MOST_NAMED = 8
_MOST_MEANT = 3  # every word of a store is compared with each
_LACKS = {
    "types": "is of the type",
    "tags": "has the tag",
    "folders": "is in a folder called",
    "files": "is called",
    "pages": "has a page or slide",
}


def failures(errors: Mapping[str, RagError]) -> list[Notice]:
    """One notice for each store (by name) that could not be searched, or not as it should."""
    return [Notice(str(error), (name,), error.for_page()) for name, error in errors.items()]


def words_only(reasons: Mapping[str, RagError]) -> list[Notice]:
    """One notice a reason, given why each store (by name) is searched by words only."""
    stores: dict[tuple[str, str], list[str]] = {}
    for name, error in reasons.items():
        stores.setdefault((str(error), error.for_page()), []).append(name)
    return [_words_only(names, *reason) for reason, names in stores.items()]


def _words_only(names: Sequence[str], reason: str, on_page: str) -> Notice:
    said = f"{_named(names)} {_is(names)} searched by words only."
    return Notice(f"{said} {reason}", tuple(names), f"{said} {on_page}")


def below(scores: Sequence[float], min_score: float | None) -> list[Notice]:
    """What is said where every passage has one of these scores, all too low."""
    if not scores or min_score is None:
        return []
    down = floor(max(scores) * 10_000) / 10_000  # never up to the least
    best = f"The best passage has a score of {down:g}"
    return [
        Notice(
            f"{best}, below the least that is wanted, {min_score:g} (min_score).",
            on_page=f"{best}, below the minimum score of {min_score:g}.",
        )
    ]


def over_budget(hits: Sequence[Hit], tokens: int, max_tokens: int, *, goes_on: bool) -> Notice:
    """What is said where the first of ``hits`` alone takes so many ``tokens``, more than ``max_tokens``."""
    fit = sum(hit.relevant for hit in hits)
    takes = f"takes {tokens:,} tokens, more than {max_tokens:,} (max_tokens)."
    if not fit:
        return Notice(f"No passage fits the query well, and the nearest {takes}")
    least = "At least " if goes_on else ""
    said = "passage fits the query. It" if fit == 1 else "passages fit the query. The first"
    return Notice(f"{least}{fit:,} {said} {takes}")


def unknown_values(stores: Sequence[Store], filters: Filters, viewer: Viewer) -> list[Notice]:
    """One notice for each type, tag, path, file and page in ``filters`` that nothing ``viewer`` may see in
    ``stores`` has, and one for days that none of it is of."""
    undated = [_undated(stores, filters, viewer)] if filters.after or filters.before else []
    return [*_unknown(stores, filters, viewer), *filter(None, undated)]


def no_document(stores: Sequence[Store], query: Query, viewer: Viewer) -> list[Notice]:
    """What is said where each filter of ``query`` fits something that ``viewer`` may see in ``stores``, and
    nothing fits all of them."""
    allowed = find.eligible(replace(query, phrases=(), without=()), viewer)
    if not allowed.narrows:
        return []
    for store in stores:
        with store.read() as db:
            if find.few(db, allowed, 0) is None:
                return []
    names = tuple(store.name for store in stores)
    return [Notice(f"The filters leave no document of {_named(names, 's')}.", names)]


def _unknown(stores: Sequence[Store], filters: Filters, viewer: Viewer) -> list[Notice]:
    if not (filters.types or filters.tags or filters.paths or filters.files or filters.pages):
        return []
    lacking: list[list[tuple[str, str]]] = []
    for store in stores:
        with store.read() as db:
            lacking.append(find.unknown(db, filters, viewer))
    everywhere = [pair for pair in lacking[0] if all(pair in others for others in lacking)]
    return [_nothing_has(facet, value, stores, viewer) for facet, value in dict.fromkeys(everywhere)]


def _undated(stores: Sequence[Store], filters: Filters, viewer: Viewer) -> Notice | None:
    """That nothing is of the days between ``after`` and ``before``, if so, and of which days there is."""
    after, before = filters.after, filters.before
    if after and before and after >= before:
        return Notice(f"No day is {after} or later and also before {before}.")
    alone = find.eligible(Query("", "", (), filters=Filters(after=after, before=before)), viewer)
    known: list[str] = []
    for store in stores:
        with store.read() as db:
            if find.few(db, alone, 0) is None:
                return None
            known += view.days(db, viewer) or ()
    wanted = " and ".join(filter(None, (after and f"{after} or later", before and f"before {before}")))
    names = tuple(store.name for store in stores)
    return Notice(f"No document in {_named(names, 's')} is of a day {wanted}.{_between(known)}", names)


def _between(days: Sequence[str]) -> str:
    """Of which days there is something, of the first and last ones of each store."""
    if not days:
        return ""
    first, last = min(days), max(days)
    return f" All are of {first}." if first == last else f" The first is of {first}, the last of {last}."


def _nothing_has(facet: str, value: str, stores: Sequence[Store], viewer: Viewer) -> Notice:
    known: dict[str, int] = {}
    skipped = 0
    for store in stores:
        with store.read() as db:
            known |= _known(db, facet, viewer)
            if facet == "types" and viewer.is_owner:
                skipped += find.skipped_count(db, f".{value}")
    names = tuple(store.name for store in stores)
    message = f"No document in {_named(names, 's')} {_LACKS[facet]} {value[:80]!r}."
    close = _closest(value, known)
    if facet == "pages":
        message += " Notes, text and code have no pages, only lines."
    elif close:
        message += f" Did you mean {close!r}?"
    elif facet in ("types", "folders") and known:
        tops = dict.fromkeys(name.partition("/")[0] for name in known if name)
        message += f" There are: {', '.join(list(tops)[:_MOST_NAMED])}." if tops else ""
    message += _skipped(skipped, value) if skipped else ""
    message += _unlabelled(value, stores) if facet == "folders" and viewer.is_owner else ""
    return Notice(message, names)


def _known(db: sqlite3.Connection, facet: str, viewer: Viewer) -> dict[str, int]:
    if facet == "pages":
        return {}
    if facet == "files":
        return dict.fromkeys(find.file_names(db, viewer, _MOST_COMPARED), 1)
    return find.facets(db, viewer)[facet]


def _skipped(count: int, suffix: str) -> str:
    """Why there are files of a type and none of them is found."""
    files = "1 file was" if count == 1 else f"{count:,} files were"
    if hardly_text(f"x.{suffix}"):
        kind = suffix.upper()
        return f" {files.replace('file', f'{kind} file')} skipped: {kind} is not read yet."
    return f" {files} skipped whose {'name ends' if count == 1 else 'names end'} in {f'.{suffix}'!r}."


def misspelled(stores: Sequence[Store], words: Sequence[str], viewer: Viewer) -> list[Notice]:
    """One notice for each of a query's ``words`` that no passage has that ``viewer`` may see in ``stores``,
    and no longer word begins with, if another one is spelled much like it."""
    asked = [word for word in words if word.isalpha() and not is_unspaced(word)]
    held: set[str] = set()
    for store in stores:
        with store.read() as db:
            held |= {word for word, count in find.frequencies(db, asked, viewer)[1].items() if count}
    unknown = [word for word in asked if word not in held][:_MOST_MEANT]
    meant = {word: _meant(stores, word, viewer) for word in unknown if not _begins(stores, word, viewer)}
    said = "No passage has the word {!r}. Did you mean {!r}?"
    return [Notice(said.format(word, other)) for word, other in meant.items() if other]


def _begins(stores: Sequence[Store], word: str, viewer: Viewer) -> bool:
    """Whether a longer word begins with it, in a passage that ``viewer`` may see."""
    seen = find.visible(viewer)
    for store in stores:
        with store.read() as db:
            if find.by_beginnings(db, [word], seen):
                return True
    return False


def _meant(stores: Sequence[Store], word: str, viewer: Viewer) -> str:
    near: list[str] = []
    for store in stores:
        with store.read() as db:
            near.append(vocabulary.like(db, word, viewer))
    return next(iter(difflib.get_close_matches(word, near, 1, 0.0)), "")


def _unlabelled(path: str, stores: Iterable[Store]) -> str:
    """What to know of the first folder of a store: its own name is in no path."""
    called = path.strip("/").partition("/")[0].casefold()
    for store in stores:
        with store.read() as db:
            first = next((source for source in all_sources(db) if not source.label), None)
        if first and PurePath(first.root).name.casefold() == called:
            return f" The paths of the folder {first.root!r} begin below it: leave its name out."
    return ""


def _closest(value: str, known: Iterable[str]) -> str:
    """The most similar of ``known`` and of the tags above them (``a`` of ``a/b``), if any is similar; by its
    last name alone, too, or by a word of that."""
    folded = {above.casefold(): above for name in islice(known, _MOST_COMPARED) for above in _path(name)}
    last = {name.rpartition("/")[2]: name for name in reversed(folded)}  # of equal ones the first
    asked = value.strip("/").casefold()
    close = [last[asked]] if asked in last else difflib.get_close_matches(asked, folded, n=1)
    close = close or [name for name in folded if asked and name.startswith(asked)]
    close = close or [last[name] for name in difflib.get_close_matches(asked, last, n=1)]
    close = close or [last[name] for name in last if asked and asked in re.split(r"[\W_]+", name)]
    return folded[close[0]] if close else ""


def _path(tag: str) -> Iterable[str]:
    return accumulate(tag.split("/"), lambda above, name: f"{above}/{name}")


def _named(names: Sequence[str], kind: str = "S") -> str:
    quoted = ", ".join(map(repr, names))
    return f"{kind}tore {quoted}" if len(names) == 1 else f"{kind}tores {quoted}"


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
