"""Which module may import which. Read LAYERS from top to bottom: each uses only those above it.

A new module fails here until it has its place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = ROOT / "rag_core"
MAX_LINES = 500
VAGUE = {"util", "utils", "helper", "helpers", "common", "manager", "managers", "misc", "core", "base"}

VALUES = {"types", "errors"}
STEPS = {"words", "query", "snippet", "rank", "chunk", "files", "extract", "embedders"}
STATE = {"migrations", "store", "vectors"}
WRITE = {"plan", "runlog", "index"}
READ = {"search"}
FACES = {"cli", "terminal", "render", "jobs", "serving", "wording"}

# What a module or package of rag_core may import of the others.
ALLOWED: dict[str, set[str]] = {
    "types": set(),
    "errors": set(),
    "config": VALUES,
    "words": set(),
    "query": VALUES | {"words"},
    "snippet": VALUES | {"words"},
    "rank": VALUES | {"words", "snippet"},
    "files": VALUES,
    "extract": VALUES,
    "chunk": VALUES | {"extract"},
    "embedders": VALUES,
    "migrations": VALUES,
    "store": VALUES | {"words", "files", "extract", "migrations"},
    "vectors": VALUES | {"store"},
    "plan": VALUES | {"files", "extract", "store"},
    "runlog": VALUES | {"store"},
    "index": VALUES | STEPS - {"query", "snippet", "rank"} | {"store", "vectors", "plan", "runlog"},
    "search": VALUES | {"words", "query", "snippet", "rank", "store", "vectors"},
    "library": VALUES | {"config"} | STEPS | STATE | WRITE | READ,
    "render": VALUES | {"plan"},
    "wording": set(),
    "terminal": VALUES | {"plan", "wording"},
    "jobs": VALUES | {"index", "library"},
    "serving": VALUES,
    "cli": VALUES | {"embedders", "files", "query", "library", "render", "terminal", "serving", "wording"},
    "__init__": {"config", "library"} | VALUES,
}
ENGINE_ONLY = {
    "store",
    "search",
    "index",
    "migrations",
    "runlog",
    "vectors",
}  # the app asks the library instead
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


def test_every_module_has_its_place() -> None:
    assert {home(path) for path in CORE_FILES} == set(ALLOWED)


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
    version = {"__version__"} if me == "cli" else set()
    assert core_imports(path) - {me} - version <= ALLOWED[me]


@pytest.mark.parametrize("path", CORE_FILES, ids=name_of)
def test_engine_knows_nothing_of_the_app(path: Path) -> None:
    assert not {name.split(".")[0] for name, _ in imports(path)} & APP


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


@pytest.mark.parametrize("path", [*CORE_FILES, *APP_FILES], ids=name_of)
def test_import_says_where_from(path: Path) -> None:
    assert not [name for name, level in imports(path) if level], "no relative imports"


@pytest.mark.parametrize("path", [*CORE_FILES, *APP_FILES], ids=name_of)
def test_module_is_one_noun_of_bounded_size(path: Path) -> None:
    assert path.stem not in VAGUE
    assert len(path.read_text("utf-8").splitlines()) <= MAX_LINES
