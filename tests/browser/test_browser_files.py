"""Reading documents in the browser: what is marked is in view, links keep the session, nothing is fetched
elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import expect

from rag_core.config import Settings
from rag_core.library import Library
from rag_core.types import OWNER
from tests.browser.chromium import Watched, places, watch
from tests.conftest import index
from tests.support.stored import long_note

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

EVIL = "![x](http://evil.example/x.png) <img src=http://evil.example/y.png>"
BODY = (
    "Here is <b>text</b> <script>document.title = 'evil'</script> ![x](http://evil.example/x.png)"
    " [bad](javascript:document.title='evil') <style>body { display: none }</style> and its end."
)
CODE = "".join(f"def step_{n}(water):\n    return water + {n}  # {'-' * 40}\n\n\n" for n in range(80))
_LOADED = "window.wasLoaded = true"


@pytest.fixture
def app(tmp_path: Path, notes: Path) -> Iterator[Watched]:
    """The app over a long note, a note that links to it and shows a picture, code, and a hostile note."""
    (notes / "long.md").write_text(long_note(60), "utf-8")
    (notes / "map.md").write_text("# Map\n\nTo [[long]] and to [[evil]].\n\n![A shelf](shelf.png)\n", "utf-8")
    (notes / "evil.md").write_text(f'---\ntitle: "{EVIL}"\n---\n\n{BODY}\n', "utf-8")
    (notes / "steps.py").write_text(CODE, "utf-8")
    picture = BytesIO()
    Image.new("RGB", (40, 30), "teal").save(picture, "PNG")
    (notes / "shelf.png").write_bytes(picture.getvalue())
    library = Library.open(Settings(tmp_path / "home" / "data", tmp_path / "models", (tmp_path,)))
    index(library, "notes", notes, "**/*.md", "**/*.py")
    library.close()
    with watch(tmp_path, places(tmp_path)) as watched:
        yield watched


def passage(tmp_path: Path, path: str, words: str) -> str:
    """The address of the passage of a document that holds ``words``."""
    library = Library.open(Settings(tmp_path / "home" / "data", tmp_path / "models", (tmp_path,)))
    found = library.documents.get(OWNER, "notes", path).chunks
    library.close()
    key = next(chunk.key for chunk in found if words in chunk.content)
    return f"/files?store=notes&path={path}&passage={key}"


def test_what_was_found_is_in_view_and_left_alone_then(app: Watched, tmp_path: Path) -> None:
    page = app.page
    for width in (1280, 390):
        app.look("light", width, 600)
        app.open(f"{passage(tmp_path, 'long.md', 'subject40')}&search=q%3Dsubject40")
        expect(page.locator("#marked mark", has_text="subject40").first).to_be_in_viewport()
        app.rest()
        expect(page.locator("#marked")).to_be_in_viewport()
        page.evaluate("document.querySelector('[data-testid=stMain]').scrollTo(0, 0)")
        app.rest()
        expect(page.get_by_role("heading", name="A long note", level=1)).to_be_in_viewport()
        app.open(passage(tmp_path, "steps.py", "step_70"))
        app.rest()
        expect(page.locator("#marked")).to_be_in_viewport()
        line = page.locator("code span", has_text="step_70").first
        expect(line).to_be_in_viewport()
        mark, shown = page.locator("#marked").bounding_box(), line.bounding_box()
        assert mark is not None
        assert shown is not None
        assert mark["y"] - 2 <= shown["y"] <= mark["y"] + mark["height"]
    assert app.elsewhere == []
    assert app.errors == []


def test_links_are_followed_without_loading_the_app_again(app: Watched) -> None:
    page = app.page
    app.open("/files?store=notes&path=map.md")
    picture = page.get_by_role("img", name="A shelf")
    expect(picture).to_be_visible()
    app.rest()
    assert picture.evaluate("img => img.naturalWidth") == 40
    page.evaluate(_LOADED)
    page.locator(".cp-note").get_by_role("link", name="evil").click()
    expect(page.get_by_role("heading", name=re.compile("<img src="), level=1)).to_be_visible()
    expect(page.get_by_text("and its end.")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/files\?store=notes&path=evil\.md$"))
    page.get_by_text("bad").click()
    page.go_back()
    expect(page.get_by_role("heading", name="Map", level=1)).to_be_visible()
    page.locator(".cp-crumbs").get_by_role("link", name="notes").click()
    expect(page.get_by_text("4 files", exact=True)).to_be_visible()
    assert page.evaluate("window.wasLoaded"), "the app was loaded again"
    assert page.title() == "Files · Commonplace"
    assert app.elsewhere == []
    assert app.errors == []


def test_the_list_of_files_opens_a_document_and_is_there_on_the_way_back(app: Watched) -> None:
    page = app.page
    app.open("/files?store=notes")
    expect(page.get_by_text("4 files", exact=True)).to_be_visible()
    box = page.get_by_label("Words in path or title")
    box.fill("map")
    box.press("Enter")
    expect(page.get_by_text("1 of 4 files")).to_be_visible()
    app.settle()
    expect(page.locator("[data-testid=stDataFrame] td", has_text="map.md")).to_be_attached()
    table = page.locator("[data-testid=stDataFrame] canvas").first
    table.click(position={"x": 16, "y": 18 + 35}, force=True)  # its own overlay takes the click
    page.get_by_role("link", name="Open document").click()
    expect(page.get_by_role("heading", name="Map", level=1)).to_be_visible()
    expect(page).to_have_url(re.compile(r"/files\?store=notes&path=map\.md$"))
    page.go_back()
    expect(page).to_have_url(re.compile(r"/files\?store=notes&q=map$"))
    expect(box).to_have_value("map")
    expect(page.get_by_text("1 of 4 files")).to_be_visible()
    assert app.errors == []


def test_the_count_of_a_folder_stays_on_one_line(tmp_path: Path, notes: Path) -> None:
    folder = notes / "minutes-of-the-harbour-board-and-of-its-committees-since-the-fire"
    folder.mkdir()
    for number in range(120):
        (folder / f"{number}.md").write_text(f"# Minutes {number}\n", "utf-8")
    library = Library.open(Settings(tmp_path / "home" / "data", tmp_path / "models", (tmp_path,)))
    index(library, "notes", notes, "**/*.md")
    library.close()
    lines = """element => {
        const text = document.createRange();
        text.selectNodeContents(element);
        return text.getClientRects().length;
    }"""
    with watch(tmp_path, places(tmp_path)) as app:
        for width in (1280, 700, 390):
            app.look("light", width)
            app.open("/files?store=notes")
            counts = app.page.locator(".cp-tree .cp-quiet")
            expect(counts).to_have_text(["120", "120"])
            assert [count.evaluate(lines) for count in counts.all()] == [1, 1], width
