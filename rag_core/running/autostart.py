"""Starting the app when you log in: a unit of systemd, an agent of launchd or a task of Task Scheduler. It is
written for this Python and this data folder, and registered by the system's own command."""

from __future__ import annotations

import getpass
import os
import plistlib
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.sax.saxutils import escape

from rag_core import system
from rag_core.config.keys import HOME, VARIABLE_PREFIX
from rag_core.errors import RagError

State = Literal["running", "installed", "not installed"]

NAME = "commonplace"
_TASK = "Commonplace"
_IS_RUNNING = f"exit [int]((Get-ScheduledTask -TaskName {_TASK}).State -ne 4)"
"""The exit status of this command is 0 if the task is running, which is state 4. schtasks would write the
state in the language of the system."""
_PLACES = (HOME, f"{VARIABLE_PREFIX}MODELS")
"""Variables that the service gets with their present values. Other variables may contain a key, so they
belong in .env."""

_UNIT = """[Unit]
Description=Commonplace, search for your own notes

[Service]
ExecStart={command}
{environment}Restart=on-failure
RestartSec=5

[Install]
WantedBy=default.target
"""

_TASK_XML = """<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo><Description>Commonplace, search for your own notes</Description></RegistrationInfo>
  <Triggers><LogonTrigger><Enabled>true</Enabled><UserId>{user}</UserId></LogonTrigger></Triggers>
  <Principals><Principal id="Author">
    <UserId>{user}</UserId><LogonType>InteractiveToken</LogonType><RunLevel>LeastPrivilege</RunLevel>
  </Principal></Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure><Interval>PT1M</Interval><Count>3</Count></RestartOnFailure>
  </Settings>
  <Actions Context="Author"><Exec>
    <Command>{program}</Command><Arguments>{arguments}</Arguments>
  </Exec></Actions>
</Task>
"""


@dataclass(frozen=True, slots=True)
class Service:
    """How one system starts the app: a file, and the commands that register it with the system."""

    program: str  #: The system's own command.
    file: Path
    content: bytes
    install: tuple[Sequence[str], ...]  #: Arguments of each command. A command that may fail begins with "-".
    remove: tuple[Sequence[str], ...]
    is_known: Sequence[str]  #: A command that succeeds if the system has the service.
    is_running: Sequence[str]  #: A command that succeeds while the app runs.


def service_here(data_dir: Path) -> Service:
    """Return the service of this system, for this Python and the data folder of this environment. Raises
    RagError if the system has no known kind of service."""
    places = {name: os.environ[name] for name in _PLACES if os.environ.get(name)}
    if sys.platform == "win32":
        return _task(places, data_dir)
    environment = {**places, "PATH": os.environ.get("PATH", os.defpath)}
    service = _agent(environment, data_dir) if sys.platform == "darwin" else _unit(environment)
    if not shutil.which(service.program):
        raise RagError(
            f"There is no {service.program} on this computer, so nothing can start the app.",
            "Have your system run `commonplace serve` at boot.",
        )
    return service


def install(service: Service) -> None:
    """Write the file of a service and start the service, now and at each login. Raises RagError if the file
    cannot be written or the system refuses."""
    try:
        service.file.parent.mkdir(parents=True, exist_ok=True)
        service.file.write_bytes(service.content)
    except OSError as error:
        raise RagError(
            f"The file {str(service.file)!r} cannot be written: {error.strerror}.", "Check its folder."
        ) from None
    try:
        for arguments in service.install:
            _run(service.program, arguments)
    except RagError:
        service.file.unlink(missing_ok=True)  # otherwise it would count as installed
        raise


def remove(service: Service) -> bool:
    """Stop a service and remove its file. Return whether there was a service. Raises RagError if the system
    refuses."""
    if not service.file.exists():
        return False
    is_known = _succeeds(service.is_known)
    for arguments in service.remove:
        _run(service.program, arguments if is_known else ("-", *arguments))
    service.file.unlink(missing_ok=True)
    return True


def state(service: Service) -> State:
    """Return whether a service is installed, and whether its app runs."""
    if not service.file.exists():
        return "not installed"
    return "running" if _succeeds(service.is_running) else "installed"


def _succeeds(command: Sequence[str]) -> bool:
    program, *arguments = command
    return _called(program, arguments).returncode == 0


def _unit(environment: Mapping[str, str]) -> Service:
    folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    command = " ".join(_quoted(word) for word in _command())
    lines = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in environment.items())
    unit = f"{NAME}.service"
    return Service(
        "systemctl",
        folder / "systemd" / "user" / unit,
        _UNIT.format(command=command, environment=lines.replace("$$", "$")).encode(),
        (("--user", "daemon-reload"), ("--user", "enable", unit), ("--user", "restart", unit)),
        (("--user", "disable", "--now", unit),),
        ("systemctl", "--user", "cat", unit),
        ("systemctl", "--user", "--quiet", "is-active", unit),
    )


def _agent(environment: Mapping[str, str], data_dir: Path) -> Service:
    label = f"org.{NAME}.app"
    domain = f"gui/{os.getuid()}"
    file = Path.home() / "Library" / "LaunchAgents" / f"{label}.plist"
    content = {
        "Label": label,
        "ProgramArguments": _command(),
        "EnvironmentVariables": dict(environment),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "StandardErrorPath": str(data_dir / "service.log"),
    }
    return Service(
        "launchctl",
        file,
        plistlib.dumps(content),
        (("-", "bootout", f"{domain}/{label}"), ("bootstrap", domain, str(file))),
        (("-", "bootout", f"{domain}/{label}"),),
        ("launchctl", "print", f"{domain}/{label}"),
        ("launchctl", "print", f"{domain}/{label}"),
    )


def _task(places: Mapping[str, str], data_dir: Path) -> Service:
    windowless = Path(sys.executable).with_name("pythonw.exe")
    program = str(windowless) if windowless.exists() else sys.executable
    words = _command()[1:]
    if places:  # a task has no variables of its own
        code = f"import os, sys; os.environ.update({dict(places)!r}); sys.argv[1:] = ['serve']; "
        words = ["-c", f"{code}from rag_core.__main__ import main; main()"]
    user = "\\".join(filter(None, (os.environ.get("USERDOMAIN"), getpass.getuser())))
    values = {"user": user, "program": program, "arguments": subprocess.list2cmdline(words)}
    text = _TASK_XML.format(**{name: escape(value) for name, value in values.items()})
    file = data_dir / f"{NAME}-task.xml"
    return Service(
        "schtasks",
        file,
        text.encode("utf-16"),
        (("/Create", "/F", "/TN", _TASK, "/XML", str(file)), ("/Run", "/TN", _TASK)),
        (("-", "/End", "/TN", _TASK), ("/Delete", "/F", "/TN", _TASK)),
        ("schtasks", "/Query", "/TN", _TASK),
        ("powershell", "-NoProfile", "-NonInteractive", "-Command", _IS_RUNNING),
    )


def _command() -> list[str]:
    return [sys.executable, "-m", "rag_core", "serve"]


def _quoted(word: str) -> str:
    """Quote a word for a unit file, where %, $, quotes and backslashes have a meaning (systemd.syntax).
    Raises RagError for a line break, which a unit file cannot contain."""
    if "\n" in word or "\r" in word:
        raise RagError(f"{word!r} has a line break, which systemd cannot take.", "Rename the folder.")
    for sign, written in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("$", "$$")):
        word = word.replace(sign, written)
    return f'"{word}"'


def _run(program: str, arguments: Sequence[str]) -> None:
    may_fail = arguments[0] == "-"
    arguments = [argument for argument in arguments if argument != "-"]
    done = _called(program, arguments)
    if done.returncode and not may_fail:
        output = " ".join(f"{done.stderr} {done.stdout}".split())[:300] or "it said nothing."
        words = " ".join((program, *arguments))
        raise RagError(f"`{words}` failed: {output}", "Correct what it says, then try again.")


def _called(program: str, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    path = shutil.which(program)
    if not path:
        raise RagError(f"The command {program!r} was not found.", "Add its folder to PATH, then try again.")
    return subprocess.run(
        [path, *arguments], capture_output=True, encoding="locale", errors="replace", check=False,
        creationflags=system.NO_WINDOW,
    )  # fmt: skip
