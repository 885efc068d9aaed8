"""The state of Tailscale on this computer, and the owner's next step. Nothing is changed.

Threat: the output of the ``tailscale`` program partly comes from other people, such as names of machines and
logins. So its time is limited, and every value is checked before it is shown. The fields read here are those
of ``ipnstate.Status`` and ``ipn.ServeConfig`` in Tailscale's source.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from rag_core import system
from rag_core.config.keys import LOGIN_NAME
from rag_core.reports import Tailscale, TailscaleState

TIMEOUT_S = 4.0
"""Maximum seconds for each call. On Windows, two seconds and more are usual."""
PLACES = (
    "/usr/bin/tailscale",
    "/usr/local/bin/tailscale",
    "/opt/homebrew/bin/tailscale",
    "/snap/bin/tailscale",
    "/Applications/Tailscale.app/Contents/MacOS/Tailscale",
    "C:\\Program Files\\Tailscale\\tailscale.exe",
)
"""Paths of the program if it is not on the PATH."""

_PORTS = (443, 8443, *range(10000, 10100))
_TAGGED = "tagged-devices"  # the login of machines without a user
_DNS_NAME = re.compile(r"(?=.{4,253}\Z)[a-z0-9][a-z0-9-]{0,62}(?:\.[a-z0-9][a-z0-9-]{0,62})+", re.ASCII)
_HOST_PORT = re.compile(r"([A-Za-z0-9.-]{1,253}):([0-9]{1,5})", re.ASCII)
_TARGET = re.compile(
    r"(?:(?:https?|https\+insecure|tcp)://)?(?:(?:localhost|127\.0\.0\.1|\[::1\]):)?([0-9]{1,5})(?:/.*)?",
    re.ASCII,
)

_STATES: dict[str, tuple[TailscaleState, str, str, str]] = {
    "NeedsLogin": ("logged out", "Tailscale is logged out.", "Log in; on Linux with sudo.", "up"),
    "Stopped": ("stopped", "Tailscale is stopped.", "Start it; on Linux with sudo.", "up"),
    "NeedsMachineAuth": (
        "not approved",
        "An administrator of your tailnet has to approve this computer.",
        "That is done at login.tailscale.com/admin/machines.",
        "",
    ),
    "Starting": ("starting", "Tailscale is starting.", "Check the state again in a moment.", ""),
}
"""BackendState → state, sentence, next step, and the command of the program for it."""


class NoAnswerError(Exception):
    """Tailscale's program gave no answer. The message is the reason, as the end of a sentence."""


@dataclass(frozen=True, slots=True)
class _Forward:
    """A port in the tailnet that this computer forwards."""

    port: int
    target: int | None  #: The local port of the target; None for any other target.
    flag: str  #: The option of ``tailscale serve`` for it, such as ``--https=443``.
    is_funnel: bool  #: Whether it is open to the internet.
    host: str = ""  #: The name in the tailnet; '' for plain TCP.
    address: str = ""  #: The URL; '' for plain TCP.


def look(port: int, hosts: Sequence[str] = ()) -> Tailscale:
    """Return the state of Tailscale for the app on ``port``, which accepts the names in ``hosts`` and in
    .ts.net. This takes at most eight seconds."""
    program = "tailscale" if shutil.which("tailscale") else next(filter(os.path.isfile, PLACES), "")
    if not program:
        return Tailscale(
            "not installed",
            "Tailscale is not installed on this computer.",
            "Install it from tailscale.com/download and log in; your guests need it, too. Then type the"
            " command below in a terminal, and check the state again.",
            f"tailscale serve --bg {port}",
        )
    try:
        status = _ask(program, "status", "--json")
        backend = _text(status.get("BackendState")).replace("NoState", "Starting")
        if backend == "Running":
            looked = _running(program, status, port, hosts)
        elif backend in _STATES:
            state, sentence, step, word = _STATES[backend]
            looked = Tailscale(state, sentence, step, _typed(program, word) if word else "")
        else:
            raise NoAnswerError("its state is unknown")
    except NoAnswerError as error:
        sentence = f"Tailscale is installed, but did not answer: {error}."
        return Tailscale("no answer", sentence, "Start Tailscale or its service, and check the state again.")
    users = _object(status.get("User"))
    logins = sorted({login_of_user for user in users.values() if (login_of_user := _login(user))})
    login = _login(users.get(str(_object(status.get("Self")).get("UserID"))))
    return replace(looked, login=login, logins=tuple(logins))


def _running(program: str, status: dict[str, Any], port: int, hosts: Sequence[str]) -> Tailscale:
    name = _text(_object(status.get("Self")).get("DNSName")).rstrip(".").lower()
    is_on = _object(status.get("CurrentTailnet")).get("MagicDNSEnabled", True) is not False
    if not (is_on and _DNS_NAME.fullmatch(name)):
        return Tailscale(
            "running",
            "Tailscale runs, but gives this computer no name.",
            "Turn MagicDNS on at login.tailscale.com/admin/dns.",
        )
    forwards: list[_Forward] = []
    sentence = f"Tailscale runs. This computer is {name}; nothing forwards to this app yet."
    try:
        forwards = _forwards(_ask(program, "serve", "status", "--json"))
    except NoAnswerError as error:
        sentence = f"Tailscale runs. Whether it forwards to this app is not known: {error}."
    here = [other for other in forwards if other.target == port]
    warnings = _unsafe(program, here)
    if not name.endswith(".ts.net") and name not in hosts:
        warnings.append(f"The app does not answer to {name}. Write into config.yaml: access_hosts: [{name}]")
    has_funnel = any(other.is_funnel for other in here)
    known = Tailscale("running", sentence, name=name, funnel=has_funnel, warnings=tuple(warnings))
    if site := next((other for other in here if other.host == name), None):
        return replace(
            known,
            sentence="Tailscale runs and forwards your guests to this app.",
            next_step="Share a store with somebody, and send them the address.",
            undo=_typed(program, "serve", site.flag, "off"),
            address=site.address,
            forwards=True,
        )
    return _with_command(known, program, port, {forward.port for forward in forwards})


def _with_command(known: Tailscale, program: str, port: int, ports: Set[int]) -> Tailscale:
    """Return ``known`` with a command that forwards to this app, and one that undoes that. ``ports`` are in
    use."""
    taken = {port, *ports}
    free = next((port_number for port_number in _PORTS if port_number not in taken), _PORTS[0])
    options = [] if free == _PORTS[0] else [f"--https={free}"]
    return replace(
        known,
        next_step="Type this in a terminal, on Linux with sudo; it lasts until you undo it.",
        command=_typed(program, "serve", "--bg", *options, str(port)),
        undo=_typed(program, "serve", f"--https={free}", "off"),
    )


def _unsafe(program: str, forwards: Sequence[_Forward]) -> list[str]:
    """Return a warning for each forward to this app that has no logins or is open to the internet."""
    warnings = []
    for forward in forwards:
        if not forward.address:
            warnings.append(
                f"Port {forward.port} forwards to this app as plain TCP, without logins: whoever reaches it"
                f" can pass for you. Undo it now: {_typed(program, 'serve', forward.flag, 'off')}"
            )
        elif forward.is_funnel:
            close = _typed(program, "serve", "--bg", forward.flag, str(forward.target))
            warnings.append(
                f"Funnel opens {forward.address} to the whole internet. This app refuses all who come that"
                f" way; close it all the same: {close}"
            )
    return warnings


def _typed(program: str, *words: str) -> str:
    """Write a command for a terminal."""
    return " ".join((f'"{program}"' if " " in program else program, *words))


def _ask(program: str, *words: str) -> dict[str, Any]:
    """Run a command of the program and return the JSON object that it prints, or {} for any other JSON.
    Raises NoAnswerError."""
    try:
        done = subprocess.run(
            [shutil.which(program) or program, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "TAILSCALE_BE_CLI": "1"},  # the app of macOS would open its window
            timeout=TIMEOUT_S,
            check=True,
            creationflags=system.NO_WINDOW,
        )
        return _object(json.loads(done.stdout.decode(errors="replace") or "null"))
    except (OSError, subprocess.SubprocessError, ValueError, RecursionError) as error:
        raise NoAnswerError(str(error).rstrip(".")) from None


def _login(user: object) -> str:
    login = _text(_object(user).get("LoginName")).lower()
    return login if LOGIN_NAME.fullmatch(login) and login != _TAGGED else ""


def _forwards(known: dict[str, Any]) -> list[_Forward]:
    """Return all forwards, sorted by port: forwards in the background, and those of commands that are
    running."""
    forwards: list[_Forward] = []
    for config in map(_object, (known, *_object(known.get("Foreground")).values())):
        forwards += _web_forwards(config)
        forwards += _tcp_forwards(config)
    return sorted(forwards, key=lambda forward: (forward.port, forward.host))


def _web_forwards(config: dict[str, Any]) -> Iterator[_Forward]:
    ports, funnel = _object(config.get("TCP")), _object(config.get("AllowFunnel"))
    for place, server in _object(config.get("Web")).items():
        if match := _HOST_PORT.fullmatch(place):
            host, port = match[1].lower(), int(match[2])
            is_http = _object(ports.get(match[2])).get("HTTP") is True
            scheme, usual = ("http", 80) if is_http else ("https", 443)
            address = f"{scheme}://{host}{'' if port == usual else f':{port}'}/"
            top = _object(_object(_object(server).get("Handlers")).get("/"))
            target, is_funnel = _target(top.get("Proxy")), funnel.get(place) is True
            yield _Forward(port, target, f"--{scheme}={port}", is_funnel, host, address)


def _tcp_forwards(config: dict[str, Any]) -> Iterator[_Forward]:
    funnel = _object(config.get("AllowFunnel"))
    for number, value in _object(config.get("TCP")).items():
        forward = _text(_object(value).get("TCPForward"))
        if forward and number.isdecimal():
            flag = "tls-terminated-tcp" if _object(value).get("TerminateTLS") else "tcp"
            is_funnel = any(place.endswith(f":{number}") for place in funnel)
            yield _Forward(int(number), _target(forward), f"--{flag}={number}", is_funnel)


def _target(value: object) -> int | None:
    """Return the port of a target on this computer; None for any other target."""
    match = _TARGET.fullmatch(_text(value))
    return int(match[1]) if match else None


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
