"""Which module may import which. Read LAYERS from top to bottom: each uses only those above it.

A new module fails here until it has its place.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = ROOT / "rag_core"
MAX_LINES = 500
VAGUE = {"util", "utils", "helper", "helpers", "common", "manager", "managers", "misc", "core", "base"}

VALUES = {"types", "reports", "replies", "errors"}
STEPS = {"words", "inflections", "query", "snippet", "rank", "chunk", "files", "extract", "embedders"}
STATE = {"migrations", "store", "vectors"}
WRITE = {"plan", "runlog", "embedding", "index"}
READ = {"search"}

# What a module or package of rag_core may import of the others.
ALLOWED: dict[str, set[str]] = {
    "types": set(),
    "reports": {"types"},
    "replies": {"types"},
    "errors": set(),
    "addresses": VALUES,
    "background": set(),
    "courtesy": set(),
    "state": VALUES,
    "extensions": VALUES,
    "config": VALUES | {"files", "extract"},
    "logs": set(),
    "tags": set(),
    "numbers": set(),
    "words": {"numbers"},
    "query": VALUES | {"words"},
    "inflections": set(),
    "snippet": VALUES | {"words", "numbers", "inflections"},
    "rank": VALUES | {"words", "numbers", "inflections"},
    "files": VALUES,
    "extract": VALUES | {"extensions"},
    "chunk": VALUES | {"extract"},
    "patience": VALUES | {"background"},
    "servers": VALUES | {"addresses"},
    "embedders": VALUES | {"addresses", "background", "chunk", "extensions", "patience", "servers"},
    "migrations": VALUES,
    "store": VALUES | {"tags", "words", "files", "extract", "migrations", "wording"},
    "vectors": VALUES | {"addresses", "extensions", "extract", "patience", "store"},
    "outbox": VALUES | {"store", "vectors"},
    "people": VALUES | {"config", "state"},
    "stores": VALUES | {"config", "patience", "people", "store", "vectors"},
    "freshness": VALUES | {"files", "store"},
    "diagnosis": VALUES | {"extract", "files", "store", "freshness", "wording"},
    "doctor": VALUES | {"addresses", "embedders", "extensions", "extract", "vectors", "wording"},
    "connections": VALUES
    | {"addresses", "background", "embedders", "extensions", "llm", "servers", "vectors", "wording"},
    "portable": VALUES | {"embedders", "files", "migrations", "store", "wording"},
    "choice": VALUES | {"files", "wording"},
    "plan": VALUES | {"choice", "files", "extract", "store", "wording"},
    "runlog": VALUES | {"store"},
    "embedding": VALUES
    | {"addresses", "courtesy", "embedders", "outbox", "runlog", "store", "vectors", "wording"},
    "index": VALUES
    | STEPS - {"query", "snippet", "rank"}
    | {"courtesy", "embedding", "store", "plan", "runlog"},
    "notices": VALUES | {"words", "extract", "store"},
    "search": VALUES | {"notices", "words", "numbers", "query", "snippet", "rank", "store", "vectors"},
    "reader": VALUES
    | {"config", "courtesy", "freshness", "llm", "notices", "people", "servers", "stores", "tags"}
    | STEPS
    | STATE
    | READ,
    "llm": VALUES | {"addresses", "servers"},
    "answers": VALUES | {"chunk", "llm", "words"},
    "reply_forms": VALUES | {"wording"},
    "access_forms": VALUES,
    "report_forms": VALUES,
    "conversations": VALUES | {"reply_forms", "state"},
    "asking": VALUES | {"addresses", "answers", "conversations", "llm", "query", "reader", "wording"},
    "folders": {"reader"} | VALUES | {"choice", "files", "store", "plan", "index"},
    "runs": {"folders"} | VALUES | {"files", "store", "index", "wording"},
    "services": {"reader", "folders", "runs"}
    | VALUES
    | {"addresses", "connections", "embedders", "llm", "vectors"},
    "hiding": {"folders"} | VALUES | {"files", "store"},
    "attaching": VALUES | {"chunk", "embedders", "extract", "files", "store", "vectors"},
    "placement": {"runs", "folders"}
    | VALUES
    | {"attaching", "chunk", "embedders", "embedding", "index", "outbox", "patience", "store", "vectors"}
    | {"wording"},
    "pieces": {"runs", "folders"} | VALUES | {"diagnosis", "files", "index", "store"},
    "excerpts": VALUES | {"chunk", "reader", "store", "stores"},
    "tokens": VALUES | {"config", "state"},
    "tailscale": VALUES | {"background", "config"},
    "admission": VALUES | {"folders", "people", "reader", "tailscale", "tokens"},
    "overview": VALUES | {"folders", "runs"},
    "library": {
        "admission",
        "asking",
        "excerpts",
        "pieces",
        "overview",
        "patience",
        "reader",
        "folders",
        "runs",
        "placement",
        "services",
    }
    | {"hiding"}
    | VALUES
    | {"choice", "config", "stores", "freshness", "diagnosis", "doctor", "portable"}
    | STEPS
    | STATE
    | WRITE,
    "screen": set(),
    "render": {"screen"} | VALUES | {"config", "plan", "portable"},
    "wording": VALUES,
    "terminal": {"screen"} | VALUES | {"config", "plan", "snippet", "wording"},
    "jobs": VALUES | {"index", "library"},
    "serving": VALUES,
    "api": VALUES | {"asking", "library", "query", "render", "reply_forms"},
    "mcp_server": VALUES
    | {"api", "jobs", "library", "query", "reader", "render", "reply_forms", "screen", "wording"},
    "cli": VALUES
    | {
        "access_forms",
        "config",
        "logs",
        "mcp_server",
        "embedders",
        "files",
        "query",
        "library",
        "portable",
        "render",
        "reply_forms",
        "report_forms",
        "screen",
        "terminal",
        "serving",
        "wording",
    },
    "__init__": {"config", "library"} | VALUES,
    "__main__": {"cli"} | VALUES,
}
ENGINE_ONLY = {
    "people",
    "state",
    "admission",
    "tailscale",
    "excerpts",
    "overview",
    "pieces",
    "tokens",
    "answers",
    "asking",
    "conversations",
    "llm",
    "addresses",
    "servers",
    "background",
    "attaching",
    "courtesy",
    "patience",
    "placement",
    "hiding",
    "embedding",
    "store",
    "search",
    "index",
    "migrations",
    "runlog",
    "vectors",
    "stores",
    "extensions",
    "freshness",
    "diagnosis",
    "doctor",
    "reader",
    "folders",
    "runs",
    "outbox",
    "connections",
    "services",
}  # the app asks the library instead
BUILD_HTML = {"hits", "passages", "store_facts", "ask_html"}  # all that comes from elsewhere is escaped there
ABOUT_THE_FRONT_PAGE = {"front", "security_headers"}  # Streamlit's own page
APP = {"streamlit", "starlette", "ui", "pages", "app"}


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """(dotted name, level) of everything imported, wherever in the file it stands."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module != "rag_core":
            yield node.module or "", node.level
        elif isinstance(node, ast.ImportFrom):
            yield from ((f"rag_core.{alias.name}", node.level) for alias in node.names)


def home(path: Path) -> str:
    """The module or package of rag_core that a file belongs to."""
    return path.relative_to(CORE).parts[0].removesuffix(".py")


def core_imports(path: Path) -> set[str]:
    parts = [name.split(".") for name, _ in imports(path)]
    return {names[1] if len(names) > 1 else "__init__" for names in parts if names[0] == "rag_core"}


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


CORE_FILES = python_files("rag_core")
APP_FILES = [*python_files("ui", "pages"), ROOT / "app.py"]
OTHER_FILES = python_files("tests", "benchmarks", "docs")


def test_every_module_has_its_place() -> None:
    assert {home(path) for path in CORE_FILES} == set(ALLOWED)


def test_every_module_stands_on_the_page_about_the_architecture() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    table = "".join(re.findall(r"(?m)^\| `.*", page))
    assert set(ALLOWED) - {"__init__"} <= set(re.findall(r"`(\w+)/?`", table))


def test_imports_point_one_way() -> None:
    """Nothing is reachable from itself."""
    seen: set[str] = set()

    def visit(module: str, above: tuple[str, ...]) -> None:
        assert module not in above, f"{' → '.join((*above, module))} is a circle"
        if module not in seen:
            for used in ALLOWED[module]:
                visit(used, (*above, module))
            seen.add(module)

    for module in ALLOWED:
        visit(module, ())


def test_reading_and_writing_do_not_know_each_other() -> None:
    assert not ALLOWED["search"] & WRITE
    assert not any(ALLOWED[module] & READ for module in WRITE)


@pytest.mark.parametrize("path", CORE_FILES, ids=name_of)
def test_module_imports_only_what_it_may(path: Path) -> None:
    me = home(path)
    version = {"__version__"} if me in ("api", "cli", "mcp_server", "portable") else set()
    assert core_imports(path) - {me} - version <= ALLOWED[me]


@pytest.mark.parametrize("path", CORE_FILES, ids=name_of)
def test_engine_knows_nothing_of_the_app(path: Path) -> None:
    speaks_http = {"starlette"} if home(path) in ("api", "mcp_server") else set()
    assert not {name.split(".")[0] for name, _ in imports(path)} & APP - speaks_http


@pytest.mark.parametrize("path", APP_FILES, ids=name_of)
def test_app_goes_through_the_library(path: Path) -> None:
    assert not core_imports(path) & ENGINE_ONLY


@pytest.mark.parametrize("path", python_files("ui"), ids=name_of)
def test_what_pages_share_knows_no_page(path: Path) -> None:
    assert not {name.split(".")[0] for name, _ in imports(path)} & {"pages", "app"}


@pytest.mark.parametrize("path", APP_FILES, ids=name_of)
def test_ui_is_never_imported_bare(path: Path) -> None:
    """sys.path holds both ui/ and its parent; a bare import makes a second copy of the module."""
    bare = {file.stem for file in (ROOT / "ui").glob("*.py")} - {"__init__"}
    assert not {name.split(".")[0] for name, _ in imports(path)} & bare


@pytest.mark.parametrize("path", APP_FILES, ids=name_of)
def test_html_is_built_where_it_is_escaped_and_nowhere_else(path: Path) -> None:
    if path.stem in BUILD_HTML | ABOUT_THE_FRONT_PAGE:
        return
    constants = (
        node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Constant)
    )
    texts = [node.value for node in constants if isinstance(node.value, str)]
    assert not [text for text in texts if re.search(r"</?[a-z][a-z0-9]*[ >]", text)]


@pytest.mark.parametrize("path", [*CORE_FILES, *APP_FILES], ids=name_of)
def test_import_says_where_from(path: Path) -> None:
    assert not [name for name, level in imports(path) if level], "no relative imports"


@pytest.mark.parametrize("path", [*CORE_FILES, *APP_FILES, *OTHER_FILES], ids=name_of)
def test_module_is_one_noun_of_bounded_size(path: Path) -> None:
    assert path.stem not in VAGUE
    assert len(path.read_text("utf-8").splitlines()) <= MAX_LINES


@pytest.mark.parametrize("path", CORE_FILES, ids=name_of)
def test_sql_binds_by_plain_marks_or_by_name(path: Path) -> None:
    """Python 3.12 warns of ``?1`` with a sequence, and 3.14 refuses it."""
    assert re.findall(r"\?[0-9]", path.read_text("utf-8")) == []
