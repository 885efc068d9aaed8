"""Suggestions on the Search page: other spellings, existing values, looser searches, and why a file is
missing."""

from __future__ import annotations

import re
from typing import Any, Final

from rag_core.types import Answer, Notice, Viewer
from ui.frame import visit
from ui.frame.deps import store_infos
from ui.frame.links import FILES_PAGE, INDEX_PAGE, link
from ui.frame.search_state import SearchState, usual
from ui.reader.missing_file import WHY
from ui.search import filters
from ui.search.search_box import Way

_NARROWING: Final = ("store", "type", "tag", "path", "has", "after", "before")


def offers(viewer: Viewer, request: SearchState, answer: Answer) -> tuple[Way, ...]:
    """Return the buttons next to an answer, the most useful first: corrected words, existing values for
    unknown ones, and, if nothing fits, looser searches and links to read files and to find a missing one."""
    ways = [_correction(request, notice) for notice in answer.notices if notice.code == "corrected"]
    ways += [way for notice in answer.notices for way in _values(request, notice)]
    if not answer.convincing:
        ways += [*loosen(request), *_why_missing(viewer, answer)]
    return tuple(ways)


def _correction(request: SearchState, notice: Notice) -> Way:
    """Return the button for a corrected word. If the correction was already searched, return the button for
    the typed word in quotes."""
    word, meant = str(notice.data["word"]), str(notice.data["meant"])
    put, instead = (f'"{word}"', meant) if notice.code == "corrected" else (meant, word)
    text = re.sub(rf"\b{re.escape(word)}\b", lambda _: put, request.q, flags=re.IGNORECASE)
    return Way(f"Search {put}", f"instead of {instead}", params={"q": [text]})


def _values(request: SearchState, notice: Notice) -> list[Way]:
    """Return buttons that replace a filter's unknown value by existing values, if the notice names some."""
    hints: Any = notice.data.get("hints", ()) if notice.code == "unknown_value" else ()
    values = [str(hint.data["value"]) for hint in hints if hint.code == "did_you_mean"]
    values += [value for hint in hints if hint.code == "there_are" for value in hint.data["each"]]
    unknown = re.escape(str(notice.data.get("value", "")))
    written = re.search(rf'([\w.-]+:=?)(?:"[#.]?{unknown}"|[#.]?{unknown}(?!\S))', request.q, re.IGNORECASE)
    if written is None:
        return []
    ways = []
    for value in values:
        put = written[1] + (f'"{value}"' if re.search(r"\s", value) else value)
        text = request.q[: written.start()] + put + request.q[written.end() :]
        ways.append(Way(f"Search {put}", f"instead of {written[0]}", params={"q": [text]}))
    return ways


def loosen(request: SearchState) -> list[Way]:
    """Return buttons for searches that find more than the request, the most useful first."""
    narrowed = [name for name in _NARROWING if getattr(request, name)]
    unquoted = request.q.replace('"', "")
    whole = " ".join(word for word in request.q.split() if not word.startswith("-"))
    ways = [
        Way("Without the quotes", params={"q": [unquoted]}) if unquoted != request.q else None,
        Way("Without the minus", params={"q": [whole]}) if whole != request.q and whole else None,
        Way(f"Score below {request.min * 100:g} %, too", params=filters.any_score(usual().min))
        if request.min
        else None,
        Way("Without filters", params={name: [] for name in narrowed}) if narrowed else None,
        Way("By meaning, too", params={"mode": []}) if request.mode == "lexical" else None,
    ]
    return [way for way in ways if way is not None]


def _why_missing(viewer: Viewer, answer: Answer) -> list[Way]:
    """Return, for the owner, links that read new files and that explain why a file is not found."""
    if not (viewer.is_owner and answer.stores):
        return []
    sizes = {info.name: info.file_count for info in store_infos(viewer)}
    largest = max(answer.stores, key=lambda name: sizes.get(name, 0))
    likely = visit.last_store(answer.stores) or largest  # the store that is probably meant
    why = {"store": likely, WHY: answer.query.raw or "1"}
    return [
        Way("Read new files", href=link({"store": likely}, INDEX_PAGE)),
        Way("Why is a file not found?", href=link(why, FILES_PAGE)),
    ]
