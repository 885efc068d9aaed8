"""How the house is built: rooms in one order, modules without circles, one noun a file."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORE = ROOT / "rag_core"
MAX_LINES = 500
VAGUE = {"util", "utils", "helper", "helpers", "common", "manager", "managers", "misc", "core", "base"}

LAYERS = (
    {"messages", "anchors", "lazy", "system"},
    {"hits"},
    {"views"},
    {"types", "errors"},
    {"reports", "replies"},
    {"wording"},
    {"text", "files", "extensions", "installation"},
    {"providers"},
    {"extract"},
    {"config", "store"},
    {"models", "people"},
    {"vectors"},
    {"index", "search"},
    {"ask"},
    {"library"},
    {"running"},
    {"access", "api"},
    {"cli"},
)
"""The rooms of rag_core, from the ground up: each uses only those below it, and not its neighbours."""

FOR_THE_APP = {
    *("__version__", "hits", "types", "errors", "messages", "reports", "replies", "wording", "text", "files"),
    "config",
    *("providers", "library", "running", "access", "api", "search.query", "search.shown", "search.snippet"),
    *("index.plan", "index.choice", "index.portable", "extract", "models", "ask.markdown"),
}
"""Rooms and modules of rag_core that pages may import; the library is asked for everything else."""

STREETS = ("frame", "reader", "index", "search", "files", "stores", "settings", "ask")
"""The folders of ui, from the ground up: each uses only those before it."""

# all that comes from elsewhere is escaped there
BUILD_HTML = {"hits", "blocks", "passages", "rendered", "code_view", "folder_tree", "store_facts", "ask_html"}
ABOUT_THE_FRONT_PAGE = {"front"}  # Streamlit's own page
APP = {"streamlit", "starlette", "ui", "pages", "app"}


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def imports(path: Path) -> list[tuple[str, int]]:
    """(dotted name, level) of everything imported, wherever in the file it stands."""
    found: list[tuple[str, int]] = []
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found += [(alias.name, 0) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [(f"{node.module or ''}.{alias.name}", node.level) for alias in node.names]
    return found


def packages(path: Path) -> set[str]:
    """The top packages that a file imports."""
    return {name.split(".")[0] for name, _ in imports(path)}


def core_imports(path: Path) -> set[str]:
    """The dotted names below rag_core that a file imports."""
    return {name for name, _ in imports(path) if name.startswith("rag_core.")}


def room(path: Path) -> str:
    return path.relative_to(CORE).parts[0].removesuffix(".py")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def wrong(paths: Iterable[Path], is_right: Callable[[Path], bool]) -> list[str]:
    return [name_of(path) for path in paths if not is_right(path)]


CORE_FILES = python_files("rag_core")
APP_FILES = [*python_files("ui", "pages"), ROOT / "app.py"]
OTHER_FILES = python_files("tests", "benchmarks", "docs")
ROOM_FILES = [path for path in CORE_FILES if path not in (CORE / "__init__.py", CORE / "__main__.py")]


def test_a_room_uses_only_rooms_below_it() -> None:
    below = {
        me: {me, "__version__"}.union(*LAYERS[:level]) for level, layer in enumerate(LAYERS) for me in layer
    }
    assert {room(path) for path in ROOM_FILES} <= set(below), "every room has a layer"
    assert not wrong(
        ROOM_FILES, lambda path: {name.split(".")[1] for name in core_imports(path)} <= below[room(path)]
    )


def test_no_module_imports_itself_through_others() -> None:
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in CORE_FILES}
    seen: set[str] = set()

    def visit(module: str, above: tuple[str, ...]) -> None:
        assert module not in above, f"{' → '.join((*above, module))} is a circle"
        if module not in seen:
            for name in core_imports(modules[module]):
                used = name if name in modules else name.rpartition(".")[0]
                if used in modules and used != module:
                    visit(used, (*above, module))
            seen.add(module)

    for module in modules:
        visit(module, ())


def test_every_room_stands_on_the_page_about_the_architecture() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    said = set(re.findall(r"`(\w+)/?`", "".join(re.findall(r"(?m)^\| `.*", page))))
    assert set().union(*LAYERS) <= said


def test_every_file_on_that_page_is_there() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    named = set(re.findall(r"`((?:\w+/)*\w+\.py)`", page))
    assert named
    assert not [each for each in named if not any((ROOT / top / each).is_file() for top in ("", "rag_core"))]


def test_the_engine_knows_nothing_of_the_app() -> None:
    assert not wrong(
        CORE_FILES,
        lambda path: not packages(path) & APP - ({"starlette"} if room(path) in ("api", "access") else set()),
    )


def test_the_app_goes_through_the_library() -> None:
    def is_open(name: str) -> bool:
        parts = name.split(".")[1:]
        return parts[0] in FOR_THE_APP or ".".join(parts[:2]) in FOR_THE_APP

    assert not wrong(APP_FILES, lambda path: all(map(is_open, core_imports(path))))


def test_what_pages_share_knows_no_page() -> None:
    assert not wrong(python_files("ui"), lambda path: not packages(path) & {"pages", "app"})


def test_a_street_uses_only_those_before_it() -> None:
    assert {path.parent.name for path in (ROOT / "ui").glob("*/*.py")} == set(STREETS)

    def looks_ahead(path: Path) -> bool:
        here = STREETS.index(path.parent.name)
        used = {name.split(".")[1] for name, _ in imports(path) if name.startswith("ui.")}
        return bool(used - set(STREETS[: here + 1]))

    assert not wrong((ROOT / "ui").glob("*/*.py"), lambda path: not looks_ahead(path))


def test_ui_is_never_imported_bare() -> None:
    """sys.path holds both ui/ and its parent; a bare import makes a second copy of the module."""
    bare = {*STREETS, *(file.stem for file in (ROOT / "ui").rglob("*.py"))} - {"__init__"}
    assert not wrong(APP_FILES, lambda path: not packages(path) & bare)


def test_html_is_built_where_it_is_escaped_and_nowhere_else() -> None:
    def has_tags(path: Path) -> bool:
        constants = (node.value for node in ast.walk(tree(path)) if isinstance(node, ast.Constant))
        return any(isinstance(text, str) and re.search(r"</?[a-z][a-z0-9]*[ >]", text) for text in constants)

    may = BUILD_HTML | ABOUT_THE_FRONT_PAGE
    assert not wrong(APP_FILES, lambda path: path.stem in may or not has_tags(path))


def test_an_import_says_where_from() -> None:
    assert not wrong([*CORE_FILES, *APP_FILES], lambda path: not any(level for _, level in imports(path)))


def test_a_module_is_one_noun_of_bounded_size() -> None:
    every = [*CORE_FILES, *APP_FILES, *OTHER_FILES]
    assert not wrong(every, lambda path: path.stem not in VAGUE)
    assert not wrong(every, lambda path: len(path.read_text("utf-8").splitlines()) <= MAX_LINES)


def test_sql_binds_by_plain_marks_or_by_name() -> None:
    """Python 3.12 warns of ``?1`` with a sequence, and 3.14 refuses it."""
    assert not wrong(CORE_FILES, lambda path: not re.search(r"\?[0-9]", path.read_text("utf-8")))
