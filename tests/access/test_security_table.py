"""Door by role by action: every cell of the table in docs/security.md, tried on the running app."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from rag_core.access.decide import NOT_LET_IN
from rag_core.api.mcp.tools import TOOLS
from rag_core.api.operations import OPERATIONS
from rag_core.types import OWNER
from tests.access.speakers import CO_OWNER, GUEST, SEARCHER, Place, Speaker, call, speaking
from tests.conftest import index
from tests.support.assistant import on_stdio
from tests.support.chat_servers import OllamaChat, say
from tests.support.documents_made import pdf
from tests.support.live import ROOT, start
from tests.support.standin import serving
from tests.support.stored import keys
from tests.support.trees import write

pytestmark = pytest.mark.thorough

PAGE: Final = ROOT / "docs" / "security.md"
ROLES: Final = ("owner", "owner by login", "token", "guest", "guest without ask", "stranger", "nobody")
TEXTS: Final = {"open.md": "opens at six", "own.md": "harbour of my own", "secret.md": "word is sesame"}
"""A file of the store that is shared, one of another, and a private one of the first."""
STORES: Final = {"open.md": "shared", "own.md": "mine", "secret.md": "shared"}

Seen = set[str]
Walk = Callable[["House", Speaker], "Seen | str"]


@dataclass(frozen=True)
class House:
    """The app, and the same once more whose assistants may not write."""

    place: Place
    careful: Place
    numbers: Iterator[int]

    @property
    def home(self) -> Path:
        return self.place.library.settings.data_dir.parent

    def scrap(self) -> str:
        """A new store with a note, to be spoilt."""
        name = f"scrap{next(self.numbers)}"
        write(self.place.notes / name, {"a.md": "# A\n\nA scrap.\n"})
        index(self.place.library, name, self.place.notes / name)
        return name


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("table")
    with serving(OllamaChat(script=say("It is so [1]."))) as model:
        told = {"COMMONPLACE_LLM": "ollama:talker", "COMMONPLACE_OLLAMA_URL": model.url}
        with speaking(folder, COMMONPLACE_MCP_ALLOW_WRITES="true", **told) as place:
            (folder / "careful").mkdir()
            with start(folder / "careful", COMMONPLACE_HOME=str(folder / "home"), **told) as careful:
                careful_place = Place(careful, place.library, place.notes, place.token)
                yield House(place, careful_place, itertools.count())
                for server in (careful, place.server):
                    assert server.get("/_stcore/health")[0] == 200
                    assert "Traceback" not in server.log


# --- the table --------------------------------------------------------------------------


def table() -> list[tuple[str, ...]]:
    """Door, action, and a cell for each role."""
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text("utf-8").splitlines() if "|" in line]
    head = next(number for number, row in enumerate(rows) if row[:2] == ["way in", "action"])
    assert tuple(rows[head][2:]) == ROLES
    body = itertools.takewhile(lambda row: len(row) == len(rows[head]), rows[head + 2 :])
    return [(row[0], action, *row[2:]) for row in body for action in re.findall("`([^`]+)`", row[1])]


CELLS: Final = [
    pytest.param(door, action, role, cell, id=f"{door}-{action}-{role}")
    for door, action, *cells in table()
    for role, cell in zip(ROLES, cells, strict=True)
]


@pytest.mark.parametrize(("door", "action", "role", "cell"), CELLS)
def test_a_cell_is_as_it_says(house: House, door: str, action: str, role: str, cell: str) -> None:
    place = house.careful if door == "MCP that only reads" else house.place
    seen = WALKS[door, action](house, place.speakers[role])
    assert (seen if isinstance(seen, str) else of_notes(seen)) == cell


def test_the_table_is_whole() -> None:
    rows = [(door, action) for door, action, *_ in table()]
    assert len(rows) == len({*rows})
    assert {*rows} == WALKS.keys()
    assert {action for door, action in rows if door == "REST"} == {
        *(operation.name for operation in OPERATIONS),
        "openapi.json",
    }
    reading = {tool.name for tool in TOOLS if not tool.writes}
    writing = {tool.name for tool in TOOLS if tool.writes}
    assert {action for door, action in rows if door == "MCP"} == reading
    for door in ("MCP that may write", "MCP that only reads"):
        assert {action for each, action in rows if each == door} == writing
    pages = {path.stem for path in (ROOT / "pages").glob("*.py")}
    assert pages <= {action for door, action in rows if door == "pages"}


def of_notes(seen: Seen) -> str:
    """What a cell says of whom these files are shown."""
    return {frozenset(TEXTS): "yes", frozenset({"open.md"}): "granted", frozenset(): "nothing"}.get(
        frozenset(seen), f"only {sorted(seen)}"
    )


def named(text: str) -> Seen:
    return {path for path in TEXTS if path in text}


# --- pages ------------------------------------------------------------------------------


def visited(who: Speaker, name: str, *queries: str) -> list[str] | str:
    """What a page shows, asked in several ways; the status of a handshake that was refused."""
    if (status := who.handshake()) != 101:
        return str(status)
    said = [who.visit("" if name == "search" else name, query) for query in queries]
    is_there = all(f"{name.title()} · Commonplace" in each for each in said)
    return said if is_there else "not there"


def search_page(house: House, who: Speaker) -> Seen | str:
    said = visited(who, "search", *(f"q={text.replace(' ', '+')}&mode=lexical" for text in TEXTS.values()))
    return said if isinstance(said, str) else named("".join(said))


def files_page(house: House, who: Speaker) -> Seen | str:
    said = visited(who, "files", "store=shared", "store=mine")
    return said if isinstance(said, str) else named("".join(said))


def document_page(house: House, who: Speaker) -> Seen | str:
    said = visited(who, "files", *(f"store={store}&path={path}" for path, store in STORES.items()))
    if isinstance(said, str):
        return said
    return {path for path, shown in zip(STORES, said, strict=True) if TEXTS[path] in shown}


def ask_page(house: House, who: Speaker) -> Seen | str:
    """Who may ask of several stores is offered them to choose from."""
    said = visited(who, "ask", "")
    if isinstance(said, str):
        return said
    return {*TEXTS} if "mine" in said[0] else {"open.md"}


def owners_page(name: str, house: House, who: Speaker) -> str:
    said = visited(who, name, "")
    return said if isinstance(said, str) else "yes"


# --- files, figures, uploads ------------------------------------------------------------


def got(path: str, house: House, who: Speaker, method: str = "GET") -> str:
    """Whether the gate passes a request on, whatever it is answered then."""
    status, _, body = who.send(method, path, b"x" if method == "PUT" else b"")
    return str(status) if NOT_LET_IN.message in body else "yes"


# --- REST -------------------------------------------------------------------------------


def answered(replies: Sequence[tuple[int, dict[str, str], str]]) -> Seen | str:
    """What replies show of the files; the status where all are refused with the same."""
    statuses = {status for status, _, _ in replies}
    if statuses == {403}:
        return "403"
    assert statuses <= {200, 400, 404}, statuses
    return named("\n".join(body for status, _, body in replies if status == 200))


def rest_search(house: House, who: Speaker) -> Seen | str:
    return answered([who.post("/search", {"query": text, "mode": "lexical"}) for text in TEXTS.values()])


def rest_similar(house: House, who: Speaker) -> Seen | str:
    return answered([who.post("/similar", {"store": s, "text": "A harbour."}) for s in ("shared", "mine")])


def rest_ask(house: House, who: Speaker) -> Seen | str:
    return answered([who.post("/ask", {"question": text}) for text in TEXTS.values()])


def rest_documents(house: House, who: Speaker) -> Seen | str:
    return answered([who.get(f"/api/v1/documents?store={store}") for store in ("shared", "mine")])


def rest_document(house: House, who: Speaker) -> Seen | str:
    return answered([who.get(f"/api/v1/documents/{store}/{path}") for path, store in STORES.items()])


def rest_picture(house: House, who: Speaker) -> Seen | str:
    """Of a PDF in the place of each note, in stores of their own."""
    place, stores = house.place, {"shared": "album", "mine": "drawer"}
    if "album" not in place.library.stores.names(OWNER):
        for path, store in STORES.items():
            (place.notes / stores[store]).mkdir(exist_ok=True)
            (place.notes / stores[store] / path).with_suffix(".pdf").write_bytes(pdf(path))
        for store in stores.values():
            index(place.library, store, place.notes / store)
        place.library.privacy.set(OWNER, "album", ["secret.pdf"])
        place.library.sharing.share(OWNER, GUEST, ["shared", "album"], may_ask=True)
        place.library.sharing.share(OWNER, SEARCHER, ["shared", "album"])
    asked = {path: f"{stores[store]}/{path.replace('.md', '.pdf')}" for path, store in STORES.items()}
    replies = {path: who.get(f"/api/v1/pictures/{address}") for path, address in asked.items()}
    if {status for status, _, _ in replies.values()} == {403}:
        return "403"
    assert {status for status, _, _ in replies.values()} <= {200, 404}
    return {path for path, (status, _, _) in replies.items() if status == 200}


def rest_stores(path: str, house: House, who: Speaker) -> Seen | str:
    """Counts: with the private note there are two in the store that is shared."""
    status, _, body = who.get(f"/api/v1/{path}")
    return counted(json.loads(body)["stores"]) if status == 200 else str(status)


def rest_store(house: House, who: Speaker) -> Seen | str:
    replies = [who.get(f"/api/v1/stores/{store}") for store in ("shared", "mine")]
    if isinstance(refused := answered(replies), str):
        return refused
    return counted([json.loads(body) for status, _, body in replies if status == 200])


def counted(stores: Sequence[dict[str, Any]]) -> Seen:
    counts = {store["name"]: store["file_count"] for store in stores}
    shown = {
        "open.md": "shared" in counts,
        "own.md": "mine" in counts,
        "secret.md": counts.get("shared") == 2,
    }
    return {path for path, is_shown in shown.items() if is_shown}


# --- MCP --------------------------------------------------------------------------------


def calls(tool: str, house: House, who: Speaker) -> Seen | str:
    """What a tool that reads shows, asked for every store, document and passage that there is."""
    replies = [call(who, tool, **arguments) for arguments in asked_for(tool, house)]
    if {status for status, _ in replies} != {200}:
        return str(replies[0][0])
    good = [said["data"] for _, said in replies if said["success"]]
    if not good:
        assert any("not ask questions" in said["error"]["message"] for _, said in replies)
        return "refused"
    if tool == "status":
        return counted([store for each in good for store in each.get("stores", [each])])
    return named(json.dumps(good))


def asked_for(tool: str, house: House) -> list[dict[str, Any]]:
    library = house.place.library
    ids = [{"id": keys(library, store, path)[0]} for path, store in STORES.items()]
    given: dict[str, list[dict[str, Any]]] = {
        "search": [{"query": text} for text in TEXTS.values()],
        "search_with_filters": [{"query": text, "filters": {"type": "markdown"}} for text in TEXTS.values()],
        "search_with_budget": [{"query": text, "max_tokens": 500} for text in TEXTS.values()],
        "ask": [{"question": text} for text in TEXTS.values()],
        "open": [*({"file_path": path} for path in STORES), *ids],
        "neighbors": ids,
        "status": [{}],
        "get_index_stats": [{}],
    }
    return [{**each, "store": store} for each in given[tool] for store in ("shared", "mine")]


def writes(tool: str, house: House, who: Speaker) -> str:
    """What becomes of a call that would change a store."""
    is_owner = who.name in ("owner", CO_OWNER, "token")
    store, path = (house.scrap(), "a.md") if is_owner else ("shared", "open.md")
    key = keys(house.place.library, store, path)[0]
    given: dict[str, dict[str, Any]] = {
        "index_file": {"file_path": path},
        "index_directory": {"dir_path": "."},
        "delete_chunks": {"ids": [key]},
        "delete_file": {"source_file": path},
        "clear_index": {"confirm": True},
    }
    status, said = call(who, tool, store=store, **given[tool])
    if status != 200:
        return str(status)
    if said["success"]:
        return "yes"
    assert len(house.place.library.documents.all(OWNER, "shared")) == 2
    return "not there" if "There is no tool called" in said["error"]["message"] else "refused"


# --- this account -----------------------------------------------------------------------


def command_line(house: House, who: Speaker) -> str:
    if who.name != "owner":
        return closed(house)
    told = {**os.environ, "COMMONPLACE_HOME": str(house.home)}
    command = [sys.executable, "-m", "rag_core", "query", TEXTS["secret.md"], "--store", "shared", "--json"]
    found = subprocess.run(command, env=told, cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    return "yes" if "secret.md" in found.stdout else "nothing"


def stdio(house: House, who: Speaker) -> str:
    if who.name != "owner":
        return closed(house)
    found = on_stdio(house.home, house.home / "log").data("search", query=TEXTS["secret.md"], store="shared")
    return "yes" if "secret.md" in json.dumps(found) else "nothing"


def closed(house: House) -> str:
    """There is no way to it but the files, which are this account's alone."""
    settings = house.place.library.settings
    files = [settings.store_dir, *settings.data_dir.rglob("*.db")]
    open_to_others = [path.name for path in files if path.stat().st_mode & 0o077]
    return "no way in" if os.name == "nt" or not open_to_others else f"open: {open_to_others}"


# --- every walk -------------------------------------------------------------------------

_STATIC = (
    "/",
    "/files",
    "/index",
    "/note-picture",
    "/favicon.png",
    "/_stcore/health",
    "/_stcore/host-config",
)
_FIGURES = ("/_stcore/metrics", "/_stcore/script-health-check")
_UPLOADS = ("PUT", "DELETE")
WALKS: Final[dict[tuple[str, str], Walk]] = {
    ("pages", "search"): search_page,
    ("pages", "ask"): ask_page,
    ("pages", "files"): files_page,
    ("pages", "document"): document_page,
    **{("pages", name): partial(owners_page, name) for name in ("index", "stores", "settings")},
    **{("front end", path): partial(got, path) for path in _STATIC},
    **{("figures", path): partial(got, path) for path in _FIGURES},
    **{("uploads", how): partial(got, "/_stcore/upload_file/a/b", method=how) for how in _UPLOADS},
    ("REST", "search"): rest_search,
    ("REST", "similar"): rest_similar,
    ("REST", "ask"): rest_ask,
    ("REST", "status"): partial(rest_stores, "status"),
    ("REST", "stores"): partial(rest_stores, "stores"),
    ("REST", "store"): rest_store,
    ("REST", "documents"): rest_documents,
    ("REST", "document"): rest_document,
    ("REST", "picture"): rest_picture,
    ("REST", "openapi.json"): partial(got, "/api/v1/openapi.json"),
    **{("MCP", tool.name): partial(calls, tool.name) for tool in TOOLS if not tool.writes},
    **{
        (door, tool.name): partial(writes, tool.name)
        for door in ("MCP that may write", "MCP that only reads")
        for tool in TOOLS
        if tool.writes
    },
    ("this account", "commonplace"): command_line,
    ("this account", "commonplace mcp"): stdio,
}
