"""Every page in each state that it can have: full, empty, loading, with an error, unfolded, with a dialog.

One table for the test that looks for faults and for docs/make_pictures.py, which makes pictures of them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from playwright.sync_api import Page

from tests.browser.chromium import Watched
from tests.browser.page_homes import KEPT

Act = Callable[[Page], None]
Look = tuple[Literal["light", "dark"], int]
LOOKS: Final[Sequence[Look]] = (("light", 1280), ("dark", 390))
"""On a desk, and on a phone."""
EVERY_LOOK: Final[Sequence[Look]] = (*LOOKS, ("dark", 1280), ("light", 390))


def unfold(name: str) -> Act:
    """Open what is folded under this name, unless it is open."""

    def act(page: Page) -> None:
        fold = page.locator("summary", has_text=name).first
        fold.wait_for()
        if fold.locator("xpath=..").get_attribute("open") is None:
            fold.click()

    return act


def press(name: str) -> Act:
    """Press the first button of this name."""
    return lambda page: page.get_by_role("button", name=name, exact=True).first.click()


def press_first(name: str) -> Act:
    """Press the first button whose name begins so."""
    return lambda page: page.get_by_role("button", name=name).first.click()


def type_slowly(box: str, text: str) -> Act:
    """Type into the box of this name, key by key, without Enter."""
    return lambda page: page.get_by_label(box, exact=True).first.press_sequentially(text, delay=50)


def type_in(box: str, text: str) -> Act:
    """Write into the box of this name, and press Enter."""

    def act(page: Page) -> None:
        page.get_by_label(box, exact=True).first.fill(text)
        page.keyboard.press("Enter")

    return act


def menu(number: int) -> Act:
    """Open a menu of a document's page."""
    return lambda page: page.locator("[data-testid=stPopoverButton]").nth(number).click()


def tick_row(page: Page) -> None:
    """Choose the first row of the table."""
    table = page.locator("[data-testid=stDataFrame] canvas").last
    table.scroll_into_view_if_needed()
    table.click(position={"x": 16, "y": 53}, force=True)  # its own overlay takes the click


@dataclass(frozen=True, slots=True)
class State:
    """A page at ``path`` once all of ``acts`` was done; ``complete`` stands there when it is complete.

    One that does not come to ``rest`` is looked at as soon as it is complete, and where there is no table in
    a narrow window a ``wide`` one is left out.
    """

    name: str
    path: str
    complete: str
    acts: Sequence[Act] = ()
    rest: bool = True
    wide: bool = False

    def show(self, app: Watched) -> None:
        """Bring the app into this state."""
        app.page.goto(f"http://{app.server.host}{self.path}")
        for act in self.acts:
            app.rest()
            act(app.page)
        app.page.mouse.move(0, 0)  # what it rests on may have a hint, which goes by itself
        app.page.get_by_text(self.complete).first.wait_for(state="attached")
        if self.rest:
            app.rest()


def _page(name: str, path: str, complete: str, *acts: Act, **more: bool) -> State:
    return State(name, path, complete, acts, **more)


_FULL: Final = (
    _page("search", "/", "Changed"),
    _page("search saved", "/", "Changed", press("Rename Waders")),
    _page("search save", "/?q=heron", "Save search", press("Save")),
    _page("search syntax", "/", "exact words", press("What can be typed")),
    _page("search cards", "/?q=heron&k=4", "Page 1"),
    _page("search unfolded", "/?q=heron&k=4", "Similarity", press_first("More of Heron")),
    _page("search values", "/", "markdown", type_slowly("Search your notes", "type:")),
    _page("search sorted", "/?q=heron&sort=newest&min=0.1", "Oldest first", press("Newest first")),
    _page("search filters", "/?q=heron&min=0.05&type=markdown", "Last 7 days", press("Date")),
    _page("search table", "/?q=heron&view=table", "Parquet"),
    _page("search table, a row", "/?q=heron&view=table", "Similarity", tick_row),
    _page("search nothing", "/?q=%22no+such+words%22", "Without the quotes"),
    _page("search near", "/?q=zebra+crossing", "near miss"),
    _page("search unknown store", "/?q=heron&store=gone", "There is no store called 'gone'"),
    _page("search new store", "/?store=new", "no document to search yet"),
    _page("ask", "/ask", "Earlier questions"),
    _page("ask filters", "/ask?store=birds", "20 passages", press("Passages")),
    _page("ask answered", f"/ask?c={KEPT}", "no source"),
    _page("ask writing", "/ask", "The model is writing", type_in("Ask your notes", "Heron 1 waits")),
    _page("ask earlier", "/ask", "Delete 1 conversation", unfold("Earlier questions"), press("Delete all")),
    _page("ask unknown store", "/ask?store=gone", "There is no store called 'gone'"),
    _page("files", "/files?store=birds", "5 up to date"),
    _page("files row", "/files?store=birds", "Read again", tick_row, wide=True),
    _page("files nothing", "/files?store=birds&q=zebra", "0 of"),
    _page("files new store", "/files?store=new", "no document to search yet"),
    _page("files unknown store", "/files?store=gone", "There is no store called 'gone'"),
    _page(
        "files why", "/files?store=birds", "cannot be found", unfold("Why is a file"),
        type_in("Name or path of the file", "song.mp3"),
    ),
    _page("document", "/files?store=birds&path=1.md", "Linked from"),
    _page("document menu", "/files?store=birds&path=1.md", "VS Code", menu(0)),
    _page("document excluded", "/files?store=birds&path=5.md", "Include again", menu(1)),
    _page("document unknown", "/files?store=birds&path=gone.md", "gone.md"),
    _page("index", "/index?store=birds", "Kept up to date"),
    _page("index skipped", "/index?store=birds", "Try again", unfold("skipped, by reason")),
    _page("index edit", "/index?store=birds", "Save and index", press("Edit")),
    _page("index remove", "/index?store=birds", "Remove the folder", press("Remove"), unfold("Which files")),
    _page("index picker", "/index?store=new", "Use this folder", press("Browse")),
    _page("index no folder", "/index?store=new", "There is no folder", type_in("Folder", "/no/such")),
    _page("index new store", "/index?store=new", "Folder"),
    _page("stores", "/stores", "5 files"),
    _page("stores new", "/stores", "Look for other models", unfold("New store"), unfold("More")),
    _page("stores import", "/stores", "No file is named", unfold("Import a store"), press("Import")),
    _page("stores attach", "/stores", "Address", unfold("Attach a store")),
    _page("store", "/stores?store=birds", "Fingerprint", unfold("Details")),
    _page("store switch", "/stores?store=birds", "Cut the documents again", unfold("Model and vectors")),
    _page("store verified", "/stores?store=birds", "found nothing wrong", unfold("Health"), press("Verify")),
    _page(
        "store not deleted", "/stores?store=birds", "not the store's name", unfold("Delete"),
        type_in("Type birds to delete it", "crows"),
    ),
    _page("settings rules", "/settings", "Folder, note or pattern", unfold("birds")),
    _page("store unknown", "/stores?store=gone", "There is no store called 'gone'"),
    _page("settings", "/settings", "Share with other people"),
    _page(
        "settings unfolded", "/settings?share=1", "Copy it now", unfold("Advanced"),
        unfold("Name another owner"), unfold("Tokens for scripts"), type_in("Name of a new token", "backup"),
    ),
    _page("settings people", "/settings?share=1", "Keep", press("Remove")),
)  # fmt: skip
_EMPTY: Final = (
    _page("search", "/", "Which folder do you want to search"),
    _page("ask", "/ask", "Which folder do you want to search"),
    _page("files", "/files", "Which folder do you want to search"),
    _page("index", "/index", "Folder"),
    _page("stores", "/stores", "There is no store yet"),
    _page("settings", "/settings", "Share with other people"),
)
_BUSY: Final = (
    _page("search", "/?q=heron", "is loading"),
    _page("ask", "/ask", "Looking for passages", type_in("Ask your notes", "heron waits")),
    _page("files", "/files?store=birds", "is being indexed"),
    _page("document", "/files?store=birds&path=1.md", "1.md"),
    _page("index", "/index?store=birds", "Embedding passages"),
    _page("stores", "/stores", "not embedded yet"),
    _page("store", "/stores?store=birds", "is being indexed"),
    _page("settings", "/settings?share=1", "Asking Tailscale", rest=False),
    _page("settings download", "/settings", "Cancel", unfold("Advanced"), type_in("Model", "bge-m3")),
)
_BROKEN: Final = (
    _page("search", "/?q=heron", "Heron"),
    _page("search damaged", "/?q=heron&store=torn", "cannot be opened"),
    _page("ask", "/ask", "as the file is gone", type_in("Ask your notes", "heron waits")),
    _page("files", "/files?store=birds", "missing"),
    _page("files damaged", "/files?store=torn", "cannot be opened"),
    _page("document skipped", "/files?store=birds&path=paper.mobi", "paper.mobi"),
    _page("document missing", "/files?store=birds&path=2.md", "Look for it", menu(1)),
    _page("index", "/index?store=birds", "Not on the disk", unfold("skipped, by reason")),
    _page("index damaged", "/index?store=torn", "cannot be opened"),
    _page("index without model", "/index?store=modelless", "Install the model"),
    _page("stores", "/stores", "Damaged"),
    _page("store damaged", "/stores?store=torn", "cannot be opened"),
    _page("settings", "/settings", "Unreachable", unfold("Advanced")),
)
STATES: Final[Mapping[str, Sequence[State]]] = {
    "full": _FULL,
    "empty": _EMPTY,
    "busy": _BUSY,
    "broken": _BROKEN,
}
"""What there is to see in each of the homes."""


def names() -> Iterator[tuple[str, State]]:
    """Every state with its home, home by home."""
    return ((home, state) for home, states in STATES.items() for state in states)
