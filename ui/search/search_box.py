"""The box, the filters and the results of the Search page as one component; also the filters of the Ask page.

Threat: text from a note is only in the component's data, and the component's script writes it by
``textContent``. The data that comes back is from a browser, perhaps a guest's: a text, and a search in the
form of an address.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final

from rag_core.search.shown import Block, Piece
from ui.frame import components
from ui.frame.search_state import Params

KEY: Final = "search_box"
_FILTERS: Final = "filters"


@dataclass(frozen=True, slots=True)
class Way:
    """A button or link that opens a page, or repeats the search with other parameters."""

    label: str
    beside: str = ""  #: The text next to the label, such as a number of documents.
    href: str = ""  #: The address of the page; '' for the search.
    #: The parameters of the search to change. An empty list removes a parameter.
    params: Params = field(default_factory=dict)
    hint: str = ""  #: Tooltip.
    saved: str = ""  #: The name of the saved search that it opens.


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter of the search."""

    name: str  #: The label while ``shown`` is empty.
    options: tuple[Way, ...]
    chosen: tuple[int, ...] = ()  #: The numbers of the chosen options, from 0.
    shown: str = ""  #: The chosen value, with a button to remove it; '' for the default.
    clear: Params = field(default_factory=dict)  #: Parameters that remove the filter.
    #: The parameters of two days that can be typed: the first day, and the day after the last. () for no
    #: days.
    dates: tuple[str, ...] = ()
    #: Whether the hints of the options are paths, each after the folder that contains it.
    is_tree: bool = False


@dataclass(frozen=True, slots=True)
class Passage:
    """One passage of a note: the address of the link to it, its place in words, and its text without
    markup."""

    href: str
    where: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """A note among the results, as the page shows it."""

    key: str  #: The key of the passage, which no other card has.
    title: str
    marked_title: tuple[Piece, ...]  #: The title with the words of the search marked.
    path: str  #: The file's path in its store.
    name: str  #: The file's name.
    folder: str  #: The path of the file's folder; '' for the top folder.
    crumb: str  #: The place in one line: store, folders, file name, place in the file.
    day: str  #: The note's date: YYYY-MM-DD.
    age: str  #: The time since then, in words.
    reason: str  #: Why it was found, in a few words.
    more: int  #: Number of other passages of the note that fit.
    is_near: bool  #: Whether it does not fit the search, and is only near.
    state: str  #: What a reader should know about the file, such as *not read yet*; '' for nothing.
    extract: tuple[Piece, ...]  #: The part of the passage that the list shows.
    passage: Passage  #: The note's best passage.
    place: str  #: A path with a line, for copying.
    score: float
    file_type: str
    picture: str = ""  #: The address of a small picture of the place; '' without a picture.
    app: str = ""  #: The address that opens it in another program; '' without such a program.
    app_name: str = ""  #: The name of that program.
    facts: tuple[tuple[str, str], ...] = ()  #: Facts that are shown on request.


@dataclass(frozen=True, slots=True)
class Others:
    """Other passages of a note among the results."""

    key: str  #: The key of the note's card.
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Completion:
    """One value that completes a filter."""

    label: str
    beside: str  #: A number of documents, or the days that a word means.
    text: str  #: The whole text in the box once this value is chosen.


@dataclass(frozen=True, slots=True)
class SearchView:
    """What the component of the search page shows: the box, one line about the stores, and the answer."""

    search: str  #: The search in the address of the page.
    text: str  #: The search that was answered.
    status: str = ""  #: One short line about the stores.
    unread: Way | None = None  #: The link to files that are not read. It is the end of the status.
    error: str = ""  #: An error message. It is shown instead of the status.
    view: str = "cards"  #: ``cards`` or ``table``.
    chips: tuple[Chip, ...] = ()
    cards: tuple[Card, ...] = ()
    said: tuple[str, ...] = ()  #: Sentences above the results.
    offers: tuple[Way, ...] = ()  #: Buttons for other searches, such as a correction.
    quick: tuple[Way, ...] = ()  #: Links to notes and tags whose names begin with the text.
    others: Others | None = None  #: Other passages of the note in the preview, once requested.
    start: tuple[tuple[str, tuple[Way, ...]], ...] = ()  #: Without a search: headings, each with links.
    help: tuple[tuple[str, str], ...] = ()  #: What can be typed, and what it does.
    label: str = "Search your notes"  #: The name of the box.
    completions: tuple[Completion, ...] = ()  #: The values for the filter at the end of the text.
    can_save: bool = False  #: Whether this search can be saved under a name.
    is_saved: bool = False  #: Whether this is the last saved search.
    page: int = 1
    has_more: bool = False  #: Whether there is a next page.
    end: str = ""  #: A sentence below the last page.


def show_box(shown: SearchView, on_asked: Callable[[], None]) -> None:
    """Draw the component. ``on_asked`` is called when `box_state` has changed."""
    components.draw("search", KEY, asdict(shown), on_asked)


def box_state() -> tuple[str, str, str]:
    """Return the text in the box, the search that should be in the address (as a query string), and the key
    of the card whose other passages should be shown. Each is '' if there is none."""
    request = components.from_script(KEY)
    values = [request.get(name) for name in ("text", "search", "here")]
    text, search, here = (value if isinstance(value, str) else "" for value in values)
    return text, search, here


def row() -> str:
    """Return the beginning of a passage's key, by which the browser's address names the chosen row of the
    table; '' without a row."""
    named = components.from_script(KEY).get("row")
    return named if isinstance(named, str) else ""


def is_unsettled() -> bool:
    """Whether a committed search is not yet in the browser's address."""
    return components.from_script(KEY).get("unsettled") is True


def forgets() -> bool:
    """Whether the person requested to forget the last searches and documents."""
    return components.from_script(KEY).get("forget") is True


def act() -> tuple[str, str, str]:
    """Return the requested action for a saved search (``save``, ``open``, ``rename``, ``remove``), the
    search's name, and its new name. All three are '' without a request."""
    request = components.from_script(KEY).get("act")
    if not isinstance(request, dict):
        return "", "", ""
    kind, name, new_name = (request.get(part, "") for part in ("kind", "name", "new_name"))
    texts = kind, name, new_name
    return texts if all(isinstance(text, str) for text in texts) else ("", "", "")


def show_filters(
    chips: Sequence[Chip], search: str, on_asked: Callable[[], None], *, busy: bool = False, turn: int = 0
) -> None:
    """Draw only the filters of the Ask page. ``search`` is the query string with the chosen filters.
    ``on_asked`` is called without arguments when `filtered` changes.

    Unless ``busy``, the box for the question gets the focus. When ``turn``, the number of questions, grows,
    the browser scrolls to the newest.
    """
    data = {"chips": [asdict(chip) for chip in chips], "search": search, "busy": busy, "turn": turn}
    components.draw("filters", _FILTERS, data, on_asked)


def filtered() -> str:
    """Return the chosen filters of the Ask page as a query string; '' before the first choice."""
    search = components.from_script(_FILTERS).get("search")
    return search if isinstance(search, str) else ""
