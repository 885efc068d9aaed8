"""The app as a service: what is written for each system, and which commands of the system are called."""

from __future__ import annotations

import configparser
import plistlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from rag_core.running import autostart
from tests.cli.test_opening import free_port
from tests.conftest import Run

Calls = Callable[[], list[str]]
PROGRAMS = {"linux": "systemctl", "darwin": "launchctl", "win32": "schtasks"}
READY, RUNNING = 3, 4
"""States of a task, as Task Scheduler counts them (TASK_STATE)."""
TASK = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"


@pytest.fixture
def own_home(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder for what is written outside of the data folder."""
    folder = tmp_path / "ada"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("COMMONPLACE_CHAT_API_KEY", "a-secret")
    return folder


@pytest.fixture
def calls(own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Stand-ins for the commands of all systems, alone on the PATH. Returns how they were called, in order.
    One whose arguments hold the content of the file ``fails`` ends with 1."""
    folder, log, fails = tmp_path / "bin", tmp_path / "calls", tmp_path / "fails"
    folder.mkdir()
    (tmp_path / "state").write_text(f"{RUNNING}\n", "utf-8")
    fails.write_text("no such argument", "utf-8")
    shell = shutil.which("sh")
    for program in (*PROGRAMS.values(), "powershell"):
        script = folder / program
        script.write_text(
            f"#!{shell}\nprintf '%s\\n' \"{program} $*\" >> '{log}'\nread -r word < '{fails}' || true\n"
            'case "$*" in *"$word"*) echo "It is broken." >&2; exit 1;; esac\n'
            f"read -r state < '{tmp_path / 'state'}'\n"
            'case "$*" in *"(Get-ScheduledTask -TaskName Commonplace).State -ne "*) task=${*##* -ne }\n'
            'test "$state" = "${task%)}";; esac\n',
            "utf-8",
        )
        script.chmod(0o755)
        shutil.copy(script, folder / f"{program}.EXE")  # the name that is looked for on Windows
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("PATHEXT", ".EXE")
    return lambda: log.read_text("utf-8").splitlines() if log.exists() else []


@pytest.fixture(params=list(PROGRAMS))
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("sys.platform", request.param)
    return str(request.param)


def test_it_is_installed_asked_for_and_removed(run: Run, calls: Calls, system: str) -> None:
    program = PROGRAMS[system]
    installed = run("service", "install", "--json")
    assert installed.status == 0, installed.err
    file = Path(installed.json["file"])
    assert file.exists()
    assert installed.json["state"] == "running"
    assert len(calls()) >= 2
    assert run("service", "status").out == f"Running. {file}\n"
    before = len(calls())
    assert run("service", "remove", "--json").json == {"removed": True}
    assert {call.split()[0] for call in calls()} - {"powershell"} == {program}
    assert len(calls()) > before
    assert not file.exists()
    assert run("service", "status").out == f"Not installed. {file}\n"


@pytest.mark.usefixtures("calls")
def test_a_task_that_waits_for_the_next_login_does_not_run(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    assert run("service", "install", "--json").json["state"] == "running"
    (tmp_path / "state").write_text(f"{READY}\n", "utf-8")
    assert run("service", "status", "--json").json["state"] == "installed"
    (tmp_path / "state").write_text(f"{RUNNING}\n", "utf-8")
    assert run("service", "status", "--json").json["state"] == "running"
    (tmp_path / "state").write_text(f"{READY}\n", "utf-8")
    (tmp_path / "fails").write_text("/Delete\n", "utf-8")
    assert "It is broken." in run("service", "remove").err, "it would start at the next login"


def test_removing_nothing_calls_nothing(run: Run, calls: Calls, system: str) -> None:
    assert run("service", "remove").out == "There is no service.\n"
    assert calls() == []


@pytest.mark.parametrize(
    ("system", "word"), [("linux", "--user"), ("darwin", "gui/"), ("win32", "/TN")], indirect=["system"]
)
def test_where_no_session_is_nothing_stays_behind(
    run: Run, calls: Calls, tmp_path: Path, system: str, word: str
) -> None:
    (tmp_path / "fails").write_text(f"{word}\n", "utf-8")
    assert "It is broken." in run("service", "install").err
    assert run("service", "status").out.startswith("Not installed.")
    (tmp_path / "fails").write_text("no such argument", "utf-8")
    file = Path(run("service", "install", "--json").json["file"])
    (tmp_path / "fails").write_text(f"{word}\n", "utf-8")
    assert run("service", "remove", "--json").json == {"removed": True}
    assert not file.exists()


def test_a_command_that_fails_is_named_with_what_it_said(
    run: Run, calls: Calls, system: str, tmp_path: Path
) -> None:
    word = {"linux": "daemon-reload", "darwin": "bootstrap", "win32": "/Create"}[system]
    (tmp_path / "fails").write_text(f"{word}\n", "utf-8")
    result = run("service", "install")
    assert result.status == 1
    assert word in result.err
    assert "It is broken." in result.err


@pytest.mark.usefixtures("own_home")
@pytest.mark.parametrize("name", ["linux", "darwin"])
def test_where_the_system_has_no_such_command_nothing_is_written(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own_home: Path, name: str
) -> None:
    monkeypatch.setattr("sys.platform", name)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    result = run("service", "install")
    assert result.status == 1
    assert f"There is no {PROGRAMS[name]} on this computer" in result.err
    assert list(own_home.iterdir()) == []


def test_a_unit_starts_this_python_with_these_places_and_no_secret(
    run: Run, calls: Calls, own_home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    odd = tmp_path / 'a "b" 100% $HOME \\x'
    monkeypatch.setenv("COMMONPLACE_HOME", str(odd))
    assert run("service", "install").status == 0
    text = (own_home / ".config" / "systemd" / "user" / "commonplace.service").read_text("utf-8")
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(text)
    assert unit["Service"]["ExecStart"] == f'"{sys.executable}" "-m" "rag_core" "serve"'
    written = str(odd).replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    assert f'Environment="COMMONPLACE_HOME={written}"\n' in text
    assert "a-secret" not in text
    assert calls()[0].startswith("systemctl --user")


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not here")
def test_systemd_takes_the_unit(own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / 'a "b" 100% $HOME'))
    unit = tmp_path / "commonplace.service"
    unit.write_bytes(autostart._unit({"COMMONPLACE_HOME": str(tmp_path / 'a "b" 100% $HOME')}).content)
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, encoding="utf-8")
    assert "commonplace.service:" not in done.stderr


def test_an_agent_starts_this_python_with_these_places_and_no_secret(
    run: Run, calls: Calls, own_home: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    assert run("service", "install").status == 0
    [file] = (own_home / "Library" / "LaunchAgents").iterdir()
    agent = plistlib.loads(file.read_bytes())
    assert agent["ProgramArguments"] == [sys.executable, "-m", "rag_core", "serve"]
    assert agent["EnvironmentVariables"]["COMMONPLACE_HOME"] == str(home)
    assert agent["RunAtLoad"] is True
    assert file.stem == agent["Label"]
    assert b"a-secret" not in file.read_bytes()


@pytest.mark.usefixtures("calls")
def test_a_task_starts_this_python_with_these_places_and_no_secret(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    data = Path(run("service", "install", "--json").json["file"]).read_bytes()
    assert data.startswith(b"\xff\xfe"), "schtasks reads UTF-16"
    action = ElementTree.fromstring(data.decode("utf-16").partition("?>")[2]).find(  # noqa: S314 - our own
        f"{TASK}Actions/{TASK}Exec"
    )
    assert action is not None
    assert action.findtext(f"{TASK}Command") == sys.executable
    arguments = action.findtext(f"{TASK}Arguments") or ""
    assert str(home) in arguments
    assert "a-secret" not in arguments
    code = arguments.removeprefix('-c "').removesuffix('"').replace('\\"', '"')
    assert "'serve'" in code
    compile(code, "task", "exec")


def test_an_app_that_runs_already_is_not_started_again(
    run: Run, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    port = free_port()
    monkeypatch.setattr("rag_core.cli.autostart.where_it_runs", lambda _: port)
    result = run("service", "install")
    assert result.status == 1
    assert f"The app runs already, on port {port}." in result.err
    assert calls() == []
