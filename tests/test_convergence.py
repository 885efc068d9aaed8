"""However the files came to be as they are, the index ends as if it had only just seen them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rag_core.config import Settings
from rag_core.library import Library
from tests.conftest import index
from tests.consistency import check_library
from tests.stored import contents, fresh_contents

PATHS = ("a.md", "b.md", "2026-01-02 c.md", "d/a.md", "d/e/b.md", "d/code.py", "f/a.txt", "f/é.md")
TEXTS = (
    b"The zebra sleeps. [[b]] [[a]] [[d/a]] #tag/sub\n",
    b"---\naliases: [b, other]\ntags: [x/y]\ndate: 2020-01-01\n---\n# Head\n\n[there](./b.md) ![[code]].\n",
    b"# One\n\n## Two\n\n" + b"A paragraph that is long enough to stand alone in a note, goes on.\n\n" * 30,
    b"---\nprivate: true\n---\n[up](../a.md) [[other]] [[2026-01-02 c]]\n",
    b"",
    b"\x00\x01\x02" * 50,
)  # fmt: skip

Step = Callable[[Path], None]
a_path = st.sampled_from(PATHS)


def write(folder: Path, path: str, data: bytes) -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(data)


def move(folder: Path, source: str, target: str) -> None:
    if (folder / source).is_file() and source != target:
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        (folder / source).rename(folder / target)


def copy(folder: Path, source: str, target: str) -> None:
    if (folder / source).is_file() and source != target:
        write(folder, target, (folder / source).read_bytes())


def remove(folder: Path, path: str) -> None:
    (folder / path).unlink(missing_ok=True)


def rename_folder(folder: Path, source: str, target: str) -> None:
    if (folder / source).is_dir() and not (folder / target).exists():
        (folder / source).rename(folder / target)


steps = st.one_of(
    st.tuples(st.just(write), a_path, st.sampled_from(TEXTS)),
    st.tuples(st.just(move), a_path, a_path),
    st.tuples(st.just(copy), a_path, a_path),
    st.tuples(st.just(remove), a_path),
    st.tuples(st.just(rename_folder), st.sampled_from("df"), st.sampled_from("dfg")),
    st.just(("run",)),
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(st.lists(steps, min_size=3, max_size=14))
@example([(write, "a.md", TEXTS[0]), ("run",), (move, "a.md", "d/a.md"), (write, "a.md", TEXTS[1])])
@example([(write, "d/a.md", TEXTS[3]), ("run",), (rename_folder, "d", "g"), (copy, "g/a.md", "d/a.md")])
def test_any_history_of_files_and_runs_ends_as_a_fresh_index(history: list[tuple]) -> None:  # type: ignore[type-arg]
    home = Path(tempfile.mkdtemp(prefix="commonplace-"))
    library = Library.open(Settings(home / "data", home / "models", (home,)))
    try:
        folder = home / "notes"
        write(folder, "kept.md", b"It stays, and links to [[a]], [[b]] and [[other]].\n")
        index(library, "s", folder)
        for step, *arguments in history:
            if step == "run":
                index(library, "s")
                check_library(library, "s")
            else:
                step(folder, *arguments)
        index(library, "s")
        check_library(library, "s")
        assert contents(library, "s") == fresh_contents(library, folder)
    finally:
        library.close()
        shutil.rmtree(home)
