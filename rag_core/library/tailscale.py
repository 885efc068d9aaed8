"""The state of Tailscale on this computer, and the owner's next step. Nothing is changed.

Threat. The output of the ``tailscale`` program comes in part from other people: names of machines, logins. It
may also be another program of that name. So it gets no shell and no input, its time and output are bounded,
and every value is checked before it is shown. The fields read here are those of ``ipnstate.Status`` and
``ipn.ServeConfig`` in Tailscale's source.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import IO, Any

from rag_core.config.keys import LOGIN_NAME
from rag_core.models.deadline import in_background
from rag_core.reports import Tailscale, TailscaleState

TIMEOUT_S = 4.0
"""Seconds for each call; on Windows two seconds and more are usual."""
MAX_BYTES = 16_000_000
"""Output of a tailnet of some thousand machines."""
PLACES = (
    "/usr/bin/tailscale",
    "/usr/local/bin/tailscale",
    "/opt/homebrew/bin/tailscale",
    "/snap/bin/tailscale",
    "/Applications/Tailscale.app/Contents/MacOS/Tailscale",
    "C:\\Program Files\\Tailscale\\tailscale.exe",
)
"""Places of the program besides the PATH."""

_PORTS = (443, 8443, *range(10000, 10100))
_MAX_LOGINS = 200
_TAGGED = "tagged-devices"  # the login of machines that are nobody's
_DNS = "login.tailscale.com/admin/dns"
_DNS_NAME = re.compile(
    r"(?=.{4,253}\Z)[a-z0-9](?:[a-z0-9-]{0,62})(?:\.[a-z0-9](?:[a-z0-9-]{0,62}))+", re.ASCII
)
_HOST_PORT = re.compile(r"([A-Za-z0-9.-]{1,253}):([0-9]{1,5})", re.ASCII)
_TARGET = re.compile(
    r"(?:(?:https?|https\+insecure|tcp)://)?(?:(?:localhost|127\.0\.0\.1|\[::1\]):)?([0-9]{1,5})(?:/.*)?",
    re.ASCII,
)


_NOT_RUNNING: dict[str, tuple[TailscaleState, str, str]] = {
    "NeedsLogin": ("logged out", "Tailscale is logged out.", "Log in."),
    "Stopped": ("stopped", "Tailscale is stopped.", "Start it."),
    "NeedsMachineAuth": (
        "not approved",
        "An administrator of your tailnet has to approve this computer.",
        "That is done at login.tailscale.com/admin/machines.",
    ),
    "Starting": ("starting", "Tailscale is starting.", "Look again in a moment."),
}
"""BackendState → state, sentence and next step."""


class NoAnswerError(Exception):
    """The program gave no answer; the message is the reason, as the end of a sentence."""


@dataclass(frozen=True, slots=True)
class _Forward:
    """A port in the tailnet that forwards to the ``target`` port here: a whole website, or plain TCP without
    logins (``is_raw``)."""

    host: str
    port: int
    target: int | None
    flag: str
    scheme: str = "https"
    is_raw: bool = False
    is_funnel: bool = False

    @property
    def address(self) -> str:
        usual = 443 if self.scheme == "https" else 80
        return f"{self.scheme}://{self.host}{'' if self.port == usual else f':{self.port}'}/"


# --- the state --------------------------------------------------------------------------


def look(port: int, hosts: Sequence[str] = ()) -> Tailscale:
    """The state of Tailscale for an app on ``port`` that answers to ``hosts`` and to names in .ts.net. Takes
    eight seconds at most."""
    found = "tailscale" if shutil.which("tailscale") else next(filter(os.path.isfile, PLACES), None)
    if found is None:
        return Tailscale(
            "not installed",
            "Tailscale is not installed on this computer, or not where it is looked for.",
            "Get it at tailscale.com/download and log in to it; those you share with need it, too. Then type"
            " this in a terminal, and look again.",
            f"tailscale serve --bg {port}",
        )
    try:
        status = _object(_ask(found, "status", "--json"))
    except NoAnswerError as error:
        return _no_answer(str(error))
    users = _object(status.get("User"))
    logins = sorted({each for user in users.values() if (each := _login(user))})[:_MAX_LOGINS]
    login = _login(users.get(str(_object(status.get("Self")).get("UserID"))))
    is_running = status.get("BackendState") == "Running"
    now = _running(found, status, port, hosts) if is_running else _not_running(found, status)
    return replace(now, login=login, logins=tuple(logins))


def _no_answer(why: str) -> Tailscale:
    what, start = "the Tailscale app", ""
    if sys.platform == "linux":
        what, start = "its service", "sudo systemctl start tailscaled"
    sentence = f"Tailscale is installed, but did not answer: {why}."
    return Tailscale("no answer", sentence, f"Start {what}, and look again.", start)


def _not_running(program: str, status: dict[str, Any]) -> Tailscale:
    backend = _text(status.get("BackendState")).replace("NoState", "Starting")
    if backend not in _NOT_RUNNING:
        return _no_answer("what it says is not what Tailscale says")
    found = Tailscale(*_NOT_RUNNING[backend])
    if backend in ("NeedsLogin", "Stopped"):
        return replace(found, next_step=f"{found.next_step}{_sudo()}", command=_typed(program, "up"))
    return found


def _running(program: str, status: dict[str, Any], port: int, hosts: Sequence[str]) -> Tailscale:
    typed = partial(_typed, program)
    name = _name(status)
    if not name:
        sentence = "Tailscale runs, but gives this computer no name."
        return Tailscale("running", sentence, f"Turn MagicDNS on at {_DNS}.")
    forwards: list[_Forward] = []
    sentence = f"Tailscale runs. This computer is {name}; nothing there forwards to this app yet."
    try:
        forwards = _forwards(_object(_ask(program, "serve", "status", "--json")))
    except NoAnswerError as error:
        sentence = f"Tailscale runs. Whether it forwards to this app is not known: {error}."
    here = [each for each in forwards if each.target == port]
    is_funnel = any(each.is_funnel for each in here)
    warnings = tuple(_warnings(typed, name, hosts, here))
    known = Tailscale("running", sentence, name=name, funnel=is_funnel, warnings=warnings)
    for each in here:
        if not each.is_raw and each.host == name:
            return replace(
                known,
                sentence="Tailscale runs and forwards your guests to this app.",
                next_step="Share a store with somebody, and send them the address.",
                undo=typed("serve", each.flag, "off"),
                address=each.address,
                forwards=True,
            )
    taken = {port, *(each.port for each in forwards)}
    free = next((each for each in _PORTS if each not in taken), _PORTS[0])
    options = [] if free == _PORTS[0] else [f"--https={free}"]
    first = "" if status.get("CertDomains") else f"Turn HTTPS certificates on at {_DNS}. Then: "
    return replace(
        known,
        next_step=f"{first}Type this in a terminal; it lasts until you undo it.{_sudo()}",
        command=typed("serve", "--bg", *options, str(port)),
        undo=typed("serve", f"--https={free}", "off"),
    )


def _warnings(
    typed: Callable[..., str], name: str, hosts: Sequence[str], here: Sequence[_Forward]
) -> Iterator[str]:
    """Warnings about a name that the app refuses, about plain TCP, and about Funnel."""
    if not name.endswith(".ts.net") and name not in hosts:
        yield (
            "This computer's name in the tailnet does not end in .ts.net, so the app does not answer to it."
            f" Write into config.yaml: access_hosts: [{name}]"
        )
    for each in here:
        if each.is_raw:
            yield (
                f"Port {each.port} forwards to this app as plain TCP, without logins: anybody there can"
                f" pass for you. Undo it now: {typed('serve', each.flag, 'off')}"
            )
        elif each.is_funnel:
            yield (
                f"Funnel opens {each.address} to the whole internet. This app refuses all who come that way;"
                f" close it all the same: {typed('serve', '--bg', each.flag, str(each.target))}"
            )


def _typed(program: str, *words: str) -> str:
    """A command for a terminal."""
    quoted = f'"{program}"' if sys.platform == "win32" and " " in program else shlex.quote(program)
    return " ".join((quoted, *words))


def _sudo() -> str:
    return " It may need sudo before it." if sys.platform == "linux" else ""


# --- the program's output ---------------------------------------------------------------


def _ask(program: str, *words: str) -> object:
    """The JSON value that a command of the program prints. Raises NoAnswerError."""
    try:
        process = subprocess.Popen(
            [shutil.which(program) or program, *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={**os.environ, "TAILSCALE_BE_CLI": "1"},  # the app of macOS would open its window
            start_new_session=True, creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )  # fmt: skip
    except OSError as error:
        raise NoAnswerError(f"it cannot be started ({error.strerror})") from None
    try:
        printed = in_background("tailscale", partial(_read, process.stdout)).result(TIMEOUT_S)
        if len(printed) > MAX_BYTES:
            raise NoAnswerError(f"it says more than {MAX_BYTES:,} bytes")
        code = process.wait(TIMEOUT_S)
    except (TimeoutError, subprocess.TimeoutExpired):
        raise NoAnswerError(f"nothing came within {TIMEOUT_S:g} seconds") from None
    finally:
        _kill(process)
    if code:
        raise NoAnswerError(f"it ended with status {code}")
    try:
        return json.loads(printed.decode(errors="replace") or "null")
    except (ValueError, RecursionError):
        raise NoAnswerError("what it says is no JSON") from None


def _read(pipe: IO[bytes] | None) -> bytes:
    if pipe is None:
        return b""
    with pipe:
        return pipe.read(MAX_BYTES + 1)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the program and its children, which hold its output, too."""
    if process.returncode is not None:
        return
    with suppress(OSError, subprocess.TimeoutExpired):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait(1)


def _name(status: dict[str, Any]) -> str:
    """The name of this computer in the tailnet; '' for none, or one that cannot be a name."""
    name = _text(_object(status.get("Self")).get("DNSName")).rstrip(".").lower()
    is_on = _object(status.get("CurrentTailnet")).get("MagicDNSEnabled", True) is not False
    return name if is_on and _DNS_NAME.fullmatch(name) else ""


def _login(user: object) -> str:
    login = _text(_object(user).get("LoginName")).lower()
    return login if LOGIN_NAME.fullmatch(login) and login != _TAGGED else ""


def _forwards(known: dict[str, Any]) -> list[_Forward]:
    """All forwards by port: those in the background, and those of commands that still run."""
    running = (_object(each) for each in _object(known.get("Foreground")).values())
    found = [each for config in (known, *running) for each in (*_web(config), *_raw(config))]
    return sorted(found, key=lambda each: (each.port, each.host))


def _web(config: dict[str, Any]) -> Iterator[_Forward]:
    for place, server in _object(config.get("Web")).items():
        address = _HOST_PORT.fullmatch(place)
        top = _object(_object(_object(server).get("Handlers")).get("/"))
        if not (address and top):
            continue
        host, port = address[1].lower(), int(address[2])
        is_http = _object(_object(config.get("TCP")).get(address[2])).get("HTTP") is True
        scheme = "http" if is_http else "https"
        is_funnel = _object(config.get("AllowFunnel")).get(place) is True
        target = _target(top.get("Proxy"))
        yield _Forward(host, port, target, f"--{scheme}={port}", scheme, is_funnel=is_funnel)


def _raw(config: dict[str, Any]) -> Iterator[_Forward]:
    for port, value in _object(config.get("TCP")).items():
        target = _text(_object(value).get("TCPForward"))
        if target and re.fullmatch("[0-9]{1,5}", port, re.ASCII):
            flag = "tls-terminated-tcp" if _text(_object(value).get("TerminateTLS")) else "tcp"
            is_funnel = any(each.endswith(f":{port}") for each in _object(config.get("AllowFunnel")))
            yield _Forward(
                "", int(port), _target(target), f"--{flag}={int(port)}", is_raw=True, is_funnel=is_funnel
            )


def _target(value: object) -> int | None:
    """The local port of a target; None for any other place."""
    found = _TARGET.fullmatch(_text(value))
    return int(found[1]) if found else None


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) and len(value) <= 1000 else ""
