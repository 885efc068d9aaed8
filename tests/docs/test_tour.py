"""The tour: the demo shows the sample notes and leaves nothing, and each query finds what the page says."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rag_core.cli.demo import SAMPLES
from rag_core.config import Settings
from rag_core.library import Library
from tests.docs.doc_pages import ROOT
from tests.support.waiting import until

TOUR = (ROOT / "docs" / "tour.md").read_text("utf-8")
QUERIES = re.findall(r"(?m)^\| `(.+?)` \| `(.+?)` \| (.+?) \|", TOUR)


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory, model_dir: Path) -> Library:
    folder = tmp_path_factory.mktemp("samples")
    library = Library.open(Settings(folder / "data", model_dir, (SAMPLES,)))
    job = library.add(SAMPLES, "samples")
    assert job is not None
    assert "with fourteen notes" in TOUR
    assert job.counts["added"] == len([path for path in SAMPLES.rglob("*") if path.is_file()]) == 14
    return library


@pytest.mark.parametrize(("query", "path", "because"), QUERIES, ids=[query for query, *_ in QUERIES])
def test_a_query_of_the_tour_finds_first_what_the_tour_says(
    samples: Library, query: str, path: str, because: str
) -> None:
    first = samples.search(query).hits[0]
    assert first.document.path == path
    assert first.relevant == ("near miss" not in because)


def test_every_kind_of_query_is_in_the_tour() -> None:
    assert len(QUERIES) >= 5


@contextmanager
def demo(folder: Path, model_dir: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """``commonplace demo`` that keeps what it makes in ``folder``, and the address of its app."""
    environment = {
        **os.environ,
        **dict.fromkeys(("TMPDIR", "TEMP"), str(folder)),
        "COMMONPLACE_HOME": str(folder / "own"),
        "COMMONPLACE_MODELS": str(model_dir),
        "BROWSER": "true",
    }
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [sys.executable, "-m", "rag_core", "demo"]
    with subprocess.Popen(
        command, env=environment, cwd=ROOT, encoding="utf-8", start_new_session=True, **pipes
    ) as process:
        try:
            assert process.stdout is not None
            line = next(line for line in process.stdout if line.startswith("Commonplace is at"))
            yield process, line.split()[-1]
        finally:
            process.kill()


def answers(url: str) -> bool:
    """Whether a server answers at ``url``."""
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:  # noqa: S310 - the app's own
            return bool(answer.status == 200)
    except OSError:
        return False


@pytest.mark.posix  # on Windows a program is ended without a word
@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGTERM])
def test_the_demo_serves_the_samples_and_removes_them(
    tmp_path: Path, model_dir: Path, ended_by: signal.Signals
) -> None:
    with demo(tmp_path, model_dir) as (process, url):
        assert answers(url)
        [folder] = tmp_path.glob("commonplace-demo-*")
        assert (folder / "notes" / "kitchen" / "Green tea.md").is_file()
        os.killpg(process.pid, ended_by) if ended_by is signal.SIGINT else process.send_signal(ended_by)
        _, said = process.communicate(timeout=60)
    assert "The sample notes and their index are removed." in said
    assert process.returncode == 0
    assert list(tmp_path.glob("commonplace-demo-*")) == []
    assert not (tmp_path / "own").exists()


def test_the_app_of_a_demo_that_is_killed_ends(tmp_path: Path, model_dir: Path) -> None:
    with demo(tmp_path, model_dir) as (process, url):
        assert answers(url)
        process.kill()
        until(lambda: not answers(url))


def test_the_owners_settings_do_not_reach_the_demo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from rag_core.cli.demo import _own_environment

    monkeypatch.setenv("COMMONPLACE_EMBEDDER", "openai:elsewhere")
    monkeypatch.setenv("COMMONPLACE_ACCESS_OWNERS", "ada@example.com")
    ours = {name for name in _own_environment(tmp_path, tmp_path) if name.startswith("COMMONPLACE_")}
    assert ours == {"COMMONPLACE_HOME", "COMMONPLACE_MODELS"}
