"""What is said beside an answer: which stores were searched by words only, which values nothing has."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, islice
from math import floor
from pathlib import PurePath

from rag_core.errors import RagError, StoreError
from rag_core.extract import hardly_text
from rag_core.store import Store, find, lexical, view
from rag_core.store.sources import all_sources
from rag_core.text.words import is_unspaced
from rag_core.types import Filters, Hit, Mode, Notice, Query, Viewer

_MOST_COMPARED = 5000
_MOST_NAMED = 8
_MOST_MEANT = 3  # every word of a store is compared with each


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


def pasted(length: int, words: int, mode: Mode) -> Notice:
    """What is said of a query of so many characters, of which so many ``words`` are looked for."""
    by_words = f"its {words} rarest words are looked for" if words != 1 else "its rarest word is looked for"
    by_meaning = "its beginning is compared by meaning, as far as the model reads"
    ways = {"lexical": by_words, "vector": by_meaning, "hybrid": f"{by_meaning}, and {by_words}"}
    return Notice(
        f"The query is a text of {length:,} characters: {ways[mode]}. A few words find more exactly."
    )


def over_budget(hits: Sequence[Hit], tokens: int, max_tokens: int, *, goes_on: bool) -> Notice:
    """What is said where the first of ``hits`` alone takes so many ``tokens``, more than ``max_tokens``."""
    fit = sum(hit.relevant for hit in hits)
    takes = f"takes {tokens:,} tokens, more than {max_tokens:,} (max_tokens)."
    if not fit:
        return Notice(f"No passage fits the query well, and the nearest {takes}")
    least = "At least " if goes_on else ""
    said = "passage fits the query. It" if fit == 1 else "passages fit the query. The first"
    return Notice(f"{least}{fit:,} {said} {takes}")


def hints(stores: Sequence[Store], query: Query, viewer: Viewer, *, spelling: bool) -> list[Notice]:
    """What in ``query`` nothing has that ``viewer`` may see in ``stores``, with what may be meant; of its
    words only where ``spelling`` is asked for."""
    said: list[Notice] = []
    try:
        for filters in (query.filters, query.beside):
            if filters != Filters():
                said += _unknown(stores, filters, viewer) + _undated(stores, filters, viewer)
        if not said and (query.filters, query.excluded) != (Filters(), Filters()):
            said += _no_document(stores, query, viewer)
        if spelling:
            said += _misspelled(stores, query.words, viewer)
    except StoreError:  # what was found is worth more than a hint
        return []
    return said


def _no_document(stores: Sequence[Store], query: Query, viewer: Viewer) -> list[Notice]:
    """That nothing fits all filters of ``query``, if so."""
    allowed = find.eligible(replace(query, phrases=(), without=()), viewer)
    for store in stores:
        with store.read() as db:
            if find.few(db, allowed, 0) is None:
                return []
    return [Notice("No document matches these filters.", tuple(store.name for store in stores))]


def _unknown(stores: Sequence[Store], filters: Filters, viewer: Viewer) -> list[Notice]:
    """One notice for each type, tag, path, file and page that nothing has."""
    lacking: list[list[tuple[find.Filter, str]]] = []
    for store in stores:
        with store.read() as db:
            lacking.append(find.unknown(db, filters, viewer))
    everywhere = [pair for pair in lacking[0] if all(pair in others for others in lacking)] if lacking else []
    return [_nothing_has(kind, value, stores, viewer) for kind, value in dict.fromkeys(everywhere)]


def _undated(stores: Sequence[Store], filters: Filters, viewer: Viewer) -> list[Notice]:
    """That nothing is of the days between ``after`` and ``before``, if so, and of which days there is."""
    after, before = filters.after, filters.before
    if not after and not before:
        return []
    if after and before and after >= before:
        return [Notice("'after' must be earlier than 'before'.")]
    alone = find.eligible(Query("", "", (), filters=Filters(after=after, before=before)), viewer)
    known: list[str] = []
    for store in stores:
        with store.read() as db:
            if find.few(db, alone, 0) is None:
                return []
            known += view.days(db, viewer) or ()
    wanted = " and ".join(filter(None, (after and f"{after} or later", before and f"before {before}")))
    names = tuple(store.name for store in stores)
    return [Notice(f"No document in {_named(names, 's')} is of a day {wanted}.{_between(known)}", names)]


def _between(days: Sequence[str]) -> str:
    """Of which days there is something, of the first and last ones of each store."""
    if not days:
        return ""
    first, last = min(days), max(days)
    return f" All are of {first}." if first == last else f" The first is of {first}, the last of {last}."


def _nothing_has(kind: find.Filter, value: str, stores: Sequence[Store], viewer: Viewer) -> Notice:
    known: dict[str, int] = {}
    skipped = 0
    for store in stores:
        with store.read() as db:
            if kind.facet:
                known |= find.facets(db, viewer)[kind.facet]
            elif kind.field == "files":
                known |= dict.fromkeys(find.file_names(db, viewer, _MOST_COMPARED), 1)
            if kind.field == "types" and viewer.is_owner:
                skipped += find.skipped_count(db, f".{value}")
    names = tuple(store.name for store in stores)
    message = f"No document in {_named(names, 's')} {kind.lacks} {value[:80]!r}."
    close = _closest(value, known)
    if kind.field == "pages":
        message += " Notes, text and code have no pages, only lines."
    elif close:
        message += f" Did you mean {close!r}?"
    elif kind.field in ("types", "paths") and known:
        tops = dict.fromkeys(name.partition("/")[0] for name in known if name)
        message += f" There are: {', '.join(list(tops)[:_MOST_NAMED])}." if tops else ""
    message += _skipped(skipped, value) if skipped else ""
    message += _unlabelled(value, stores) if kind.field == "paths" and viewer.is_owner else ""
    return Notice(message, names)


def _skipped(count: int, suffix: str) -> str:
    """Why there are files of a type and none of them is found."""
    files = "1 file was" if count == 1 else f"{count:,} files were"
    if hardly_text(f"x.{suffix}"):
        kind = suffix.upper()
        return f" {files.replace('file', f'{kind} file')} skipped: {kind} is not read yet."
    return f" {files} skipped whose {'name ends' if count == 1 else 'names end'} in {f'.{suffix}'!r}."


def _misspelled(stores: Sequence[Store], words: Sequence[str], viewer: Viewer) -> list[Notice]:
    """One notice for each of a query's ``words`` that no passage has, and no longer word begins with, if
    another one is spelled much like it."""
    unknown = [word for word in words if word.isalpha() and not is_unspaced(word)]
    for store in stores:
        with store.read() as db:
            held = lexical.frequencies(db, unknown, viewer)[1]
        unknown = [word for word in unknown if not held[word]]
    found: list[Notice] = []
    for word in unknown[:_MOST_MEANT]:
        near: list[str] = []
        for store in stores:
            with store.read() as db:
                if lexical.by_beginnings(db, [word], find.visible(viewer)):
                    break
                near.append(lexical.spelled_like(db, word, viewer))
        else:
            near = list(filter(None, near))
            if meant := difflib.get_close_matches(word, near, 1, 0.0):
                found.append(Notice(f"No passage has the word {word!r}. Did you mean {meant[0]!r}?"))
    return found


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
