"""Which module may import which. Read LAYERS from top to bottom: each uses only those above it.

A new module fails here until it has its place.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = ROOT / "rag_core"
MAX_LINES = 500
VAGUE = {"util", "utils", "helper", "helpers", "common", "manager", "managers", "misc", "core", "base"}

VALUES = {"types", "reports", "replies", "errors"}
STEPS = {
    "language.words",
    "language.inflections",
    "searching.query",
    "searching.snippet",
    "searching.rank",
    "chunk",
    "files",
    "extract",
    "embedders",
}
STATE = {"store", "vectors"}
WRITE = {"indexing.plan", "indexing.runlog", "indexing.embedding", "indexing.index"}
READ = {"searching.search"}
ROOMS = ("access", "indexing", "language", "rendering", "searching")  # packages that hold modules and no code

# What a module or package of rag_core may import of the others.
ALLOWED: dict[str, set[str]] = {
    **{room: set() for room in ROOMS},
    "types": set(),
    "reports": {"types"},
    "replies": {"types"},
    "errors": set(),
    "servers.addresses": VALUES,
    "background": set(),
    "indexing.courtesy": set(),
    "state": VALUES,
    "extensions": VALUES,
    "config": VALUES | {"files", "extract"},
    "logs": set(),
    "language.tags": set(),
    "language.numbers": set(),
    "language.prose": {"language.numbers"},
    "language.words": {"language.numbers", "language.prose"},
    "searching.query": VALUES | {"language.words"},
    "language.inflections": set(),
    "searching.snippet": VALUES | {"language.words", "language.numbers", "language.inflections"},
    "searching.rank": VALUES | {"language.words", "language.numbers", "language.inflections"},
    "files": VALUES,
    "extract": VALUES | {"extensions"},
    "chunk": VALUES | {"extract", "language.prose"},
    "servers.patience": VALUES | {"background"},
    "servers": VALUES | {"servers.addresses"},
    "embedders": VALUES
    | {"servers.addresses", "background", "chunk", "extensions", "servers.patience", "servers"},
    "store": VALUES | {"language.tags", "language.words", "files", "extract", "wording"},
    "vectors": VALUES | {"servers.addresses", "extensions", "extract", "servers.patience", "store"},
    "indexing.outbox": VALUES | {"store", "vectors"},
    "access.people": VALUES | {"config", "state"},
    "library.stores": VALUES | {"config", "servers.patience", "access.people", "store", "vectors"},
    "freshness": VALUES | {"files", "store"},
    "diagnosis": VALUES | {"extract", "files", "store", "freshness", "wording"},
    "doctor": VALUES | {"servers.addresses", "embedders", "extensions", "extract", "vectors", "wording"},
    "connections": VALUES
    | {"servers.addresses", "background", "embedders", "extensions", "llm", "servers", "vectors", "wording"},
    "portable": VALUES | {"embedders", "files", "store", "wording"},
    "indexing.choice": VALUES | {"files", "wording"},
    "indexing.plan": VALUES | {"indexing.choice", "files", "extract", "store", "wording"},
    "indexing.runlog": VALUES | {"store"},
    "indexing.embedding": VALUES
    | {
        "servers.addresses",
        "indexing.courtesy",
        "embedders",
        "indexing.outbox",
        "indexing.runlog",
        "store",
        "vectors",
        "wording",
    },
    "indexing.index": VALUES
    | STEPS - {"searching.query", "searching.snippet", "searching.rank"}
    | {"indexing.courtesy", "indexing.embedding", "store", "indexing.plan", "indexing.runlog"},
    "searching.notices": VALUES | {"language.words", "extract", "store"},
    "searching.search": VALUES
    | {
        "searching.notices",
        "language.words",
        "language.numbers",
        "searching.query",
        "searching.snippet",
        "searching.rank",
        "store",
        "vectors",
    },
    "library.reader": VALUES
    | {
        "config",
        "indexing.courtesy",
        "freshness",
        "llm",
        "searching.notices",
        "access.people",
        "servers",
        "library.stores",
        "language.tags",
    }
    | STEPS
    | STATE
    | READ,
    "llm": VALUES | {"servers.addresses", "servers"},
    "answers": VALUES | {"chunk", "llm", "language.words"},
    "rendering.reply_forms": VALUES | {"wording"},
    "rendering.access_forms": VALUES,
    "rendering.report_forms": VALUES,
    "conversations": VALUES | {"rendering.reply_forms", "state"},
    "library.asking": VALUES
    | {
        "servers.addresses",
        "answers",
        "conversations",
        "llm",
        "searching.query",
        "library.reader",
        "wording",
    },
    "library.folders": {"library.reader"}
    | VALUES
    | {"indexing.choice", "files", "store", "indexing.plan", "indexing.index"},
    "library.runs": {"library.folders"} | VALUES | {"files", "store", "indexing.index", "wording"},
    "library.services": {"library.reader", "library.folders", "library.runs"}
    | VALUES
    | {"servers.addresses", "connections", "embedders", "llm", "vectors"},
    "library.hiding": {"library.folders"} | VALUES | {"files", "store"},
    "library.attaching": VALUES | {"chunk", "embedders", "extract", "files", "store", "vectors"},
    "library.placement": {"library.runs", "library.folders"}
    | VALUES
    | {
        "library.attaching",
        "chunk",
        "embedders",
        "indexing.embedding",
        "indexing.index",
        "indexing.outbox",
        "servers.patience",
        "store",
        "vectors",
    }
    | {"wording"},
    "library.pieces": {"library.runs", "library.folders"}
    | VALUES
    | {"diagnosis", "files", "indexing.index", "store"},
    "library.excerpts": VALUES | {"chunk", "library.reader", "store", "library.stores"},
    "access.tokens": VALUES | {"config", "state"},
    "tailscale": VALUES | {"background", "config"},
    "library.admission": VALUES
    | {"library.folders", "access.people", "library.reader", "tailscale", "access.tokens"},
    "library.overview": VALUES | {"library.folders", "library.runs"},
    "library": {"library.library"},
    "library.library": {
        "library.admission",
        "library.asking",
        "library.excerpts",
        "library.pieces",
        "library.overview",
        "servers.patience",
        "library.reader",
        "library.folders",
        "library.runs",
        "library.placement",
        "library.services",
    }
    | {"library.hiding"}
    | VALUES
    | {"indexing.choice", "config", "library.stores", "freshness", "diagnosis", "doctor", "portable"}
    | STEPS
    | STATE
    | WRITE,
    "rendering.screen": set(),
    "rendering.render": {"rendering.screen"} | VALUES | {"config", "indexing.plan", "portable"},
    "wording": VALUES,
    "cli.terminal": {"rendering.screen"}
    | VALUES
    | {"config", "indexing.plan", "searching.snippet", "wording"},
    "jobs": VALUES | {"indexing.index", "library"},
    "serving": VALUES,
    "api": VALUES
    | {"library.asking", "library", "searching.query", "rendering.render", "rendering.reply_forms"},
    "mcp_server": VALUES
    | {
        "api",
        "jobs",
        "library",
        "searching.query",
        "library.reader",
        "rendering.render",
        "rendering.reply_forms",
        "rendering.screen",
        "wording",
    },
    "cli": VALUES
    | {
        "rendering.access_forms",
        "config",
        "logs",
        "mcp_server",
        "embedders",
        "files",
        "searching.query",
        "library",
        "portable",
        "rendering.render",
        "rendering.reply_forms",
        "rendering.report_forms",
        "rendering.screen",
        "cli.terminal",
        "serving",
        "wording",
    },
    "__init__": {"config", "library"} | VALUES,
    "__main__": {"cli"} | VALUES,
}
ENGINE_ONLY = {
    "access.people",
    "state",
    "library.admission",
    "tailscale",
    "library.excerpts",
    "library.overview",
    "library.pieces",
    "access.tokens",
    "answers",
    "library.asking",
    "conversations",
    "llm",
    "servers.addresses",
    "servers",
    "background",
    "library.attaching",
    "indexing.courtesy",
    "servers.patience",
    "library.placement",
    "library.hiding",
    "indexing.embedding",
    "store",
    "searching.search",
    "indexing.index",
    "indexing.runlog",
    "vectors",
    "library.stores",
    "extensions",
    "freshness",
    "diagnosis",
    "doctor",
    "library.reader",
    "library.folders",
    "library.runs",
    "indexing.outbox",
    "connections",
    "library.services",
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
        elif isinstance(node, ast.ImportFrom):
            yield from ((f"{node.module or ''}.{alias.name}", node.level) for alias in node.names)


def placed(names: Sequence[str]) -> str:
    """The longest beginning of a dotted name below rag_core that has a place, else its first part."""
    dotted = (".".join(names[:count]) for count in (2, 1))
    return next((name for name in dotted if name in ALLOWED), names[0])


def home(path: Path) -> str:
    """The module or package of rag_core that a file belongs to."""
    parts = path.relative_to(CORE).with_suffix("").parts
    return placed(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def core_imports(path: Path) -> set[str]:
    parts = [name.split(".") for name, _ in imports(path)]
    return {placed(names[1:]) for names in parts if names[0] == "rag_core" and len(names) > 1}


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
    said = {name.replace("/", ".") for name in re.findall(r"`([\w/]+?)/?`", table)}
    assert set(ALLOWED) - {"__init__"} <= said


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
    assert not ALLOWED["searching.search"] & WRITE
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
