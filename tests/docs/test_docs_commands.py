"""Every command that the pages show is run as it stands there, by a shell in a throw-away home.

Only the models are replaced: `commonplace` is this checkout's, with hashing embedders.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.docs.doc_pages import GUIDES, ROOT, USING, Command, commands, fences
from tests.support.command import needs_bash
from tests.support.trees import write

pytestmark = pytest.mark.thorough

TIMEOUT_S = 360

# What cannot run here, by how it begins: why not, and the test that covers it.
NOT_RUN: Mapping[str, tuple[str, str]] = {
    "make run": ("serves until it is stopped", "test_packaging.py::test_make_run_starts_the_app"),
    "make test": ("would run this test again", "test_packaging.py::test_make_test_runs_pytest"),
    "make bench": ("measures for minutes", "test_benchmarks.py::test_a_judged_set_is_measured_by_name"),
    "pipx install": (
        "fetches every dependency",
        "test_packaging.py::test_the_installed_program_indexes_and_finds",
    ),
    "uv tool install": (
        "fetches every dependency",
        "test_packaging.py::test_the_installed_program_indexes_and_finds",
    ),
    "python -m pip install": (
        "fetches every dependency",
        "test_packaging.py::test_the_installed_program_indexes_and_finds",
    ),
    "commonplace": (
        "serves until it is stopped",
        "test_start_app.py::test_it_fetches_the_model_and_serves_with_the_browser",
    ),
    "docker compose": (
        "needs Docker",
        "test_container.py::test_no_service_can_be_reached_from_another_computer",
    ),
    "NOTES=/home/ada/notes docker compose": (
        "needs Docker",
        "test_container.py::test_no_service_can_be_reached_from_another_computer",
    ),
    "ssh": (
        "needs another computer",
        "test_gate_live.py::test_started_otherwise_it_listens_on_no_other_address",
    ),
    "commonplace demo": (
        "serves until it is stopped",
        "test_tour.py::test_the_demo_serves_the_samples_and_removes_them",
    ),
    "commonplace service": (
        "changes what this computer starts",
        "test_autostart.py::test_it_is_installed_asked_for_and_removed",
    ),
    "commonplace open": (
        "starts the app and a browser",
        "test_opening.py::test_an_app_that_does_not_run_is_started_and_stays",
    ),
    "curl": ("needs the app", "test_docs_api.py::test_the_requests_of_the_page_are_answered"),
    "commonplace store attach": (
        "needs Amazon S3 Vectors",
        "test_cli_placement.py::test_attach_and_take_over",
    ),
    "commonplace store take-over": (
        "needs Amazon S3 Vectors",
        "test_cli_placement.py::test_attach_and_take_over",
    ),
    "tailscale serve": (
        "changes what this computer opens to others",
        "test_tailscale.py::test_the_command_is_for_the_port_that_the_app_listens_on",
    ),
}

COMMONPLACE = f"""#!{sys.executable}
import sys
sys.path.insert(0, {str(ROOT)!r})
from rag_core.models import registry
opened = registry.open_embedder
def open_hashing(name, model_dir):
    other = "hashing" if name == "minilm" else "hashing:128"  # another model has other vectors
    return opened(name if name.startswith("hashing") else other, model_dir)
registry.open_embedder = open_hashing
from rag_core.cli import main
main()
"""

FILES = {
    "notes/projects/queue.md": "---\ntags: [aws]\n---\n# The queue\n\nWe decided on SQS, with a retry.\n",
    "notes/tea.md": "# Tea\n\nThree minutes, see [[The queue]].\n",
    "work/tool.py": "def retry(queue):\n    return queue\n",
    "work/archive/old.md": "# Old\n\nNobody needs this any more.\n",
    "golden.yaml": "queries:\n  - query: three minutes\n    relevant: [tea.md]\n",
}


def not_run(command: Command) -> str | None:
    """The entry of NOT_RUN that a command is, if any."""
    text = command.text.partition(" #")[0].rstrip()
    if text == "commonplace":
        return text
    others = (start for start in NOT_RUN if start != "commonplace")
    return next((start for start in others if f"{text} ".startswith(f"{start} ")), None)


@dataclass(frozen=True)
class Shell:
    """A home with notes, and the `commonplace` of this checkout on the PATH, with the model in place."""

    home: Path
    models: Path

    def run(self, page: Path) -> str:
        """Run the commands of a page in one session; what went wrong, with its line, or nothing."""
        at = self.home.parent / "at"
        script = "".join(
            f"echo {command.line} > '{at}'\n{command.text}\n"
            for command in commands(page)
            if not not_run(command)
        )
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", script],
            cwd=self.home, env=self._environment(), encoding="utf-8",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_S,
        )  # fmt: skip
        if done.returncode == 0:
            return ""
        return f"{page.name}:{at.read_text('utf-8').strip()} ended with {done.returncode}\n{done.stdout}"

    def _environment(self) -> dict[str, str]:
        path = os.pathsep.join([str(self.home.parent / "bin"), os.environ["PATH"]])
        places = {"HOME": str(self.home), "COMMONPLACE_MODELS": str(self.models)}
        return {**places, "PATH": path, "LANG": "C.UTF-8"}


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory, model_dir: Path) -> Shell:
    folder = tmp_path_factory.mktemp("docs")
    write(folder / "home", FILES)
    program = folder / "bin" / "commonplace"
    program.parent.mkdir()
    program.write_text(COMMONPLACE, "utf-8")
    program.chmod(0o755)
    return Shell(folder / "home", model_dir)


@pytest.fixture(scope="module")
def after_using(shell: Shell) -> tuple[Shell, str]:
    """The home as docs/using.md leaves it, and what went wrong there. The other pages go on from it."""
    return shell, shell.run(USING)


@pytest.mark.posix
@needs_bash
@pytest.mark.parametrize("page", [page for page in GUIDES if commands(page)], ids=lambda page: page.name)
def test_every_command_of_a_page_ends_well(after_using: tuple[Shell, str], page: Path) -> None:
    shell, trouble = after_using
    assert not (trouble if page == USING else shell.run(page))


@pytest.mark.parametrize("start", NOT_RUN)
def test_what_is_not_run_is_shown_somewhere_and_covered_by_a_test(start: str) -> None:
    assert [page.name for page in GUIDES if any(not_run(command) == start for command in commands(page))]
    file, _, name = NOT_RUN[start][1].partition("::")
    assert f"def {name}(" in next((ROOT / "tests").rglob(file)).read_text("utf-8")


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_commands_stand_in_blocks_that_are_run(page: Path) -> None:
    programs = ("commonplace", "make", "pip", "pipx", "python", "curl", "git", "$")
    hidden = [
        f"{page.name}:{number}"
        for block in fences(page)
        for number, line in block.lines
        if block.language != "sh" and line.strip().split(" ")[0] in programs
    ]
    assert hidden == []
