"""How Tailscale stands here, in words, with the next step: it is the owner who takes it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from rag_core.library.tailscale import answers, program
from rag_core.library.tailscale.answers import Forward, Status
from rag_core.reports import Tailscale

_PORTS = (443, 8443, *range(10000, 10100))
_NOT_INSTALLED = Tailscale(
    "not installed",
    "Tailscale is not installed on this computer, or not where it is looked for.",
    "Get it at tailscale.com/download and log in to it; those you share with need it, too. Then type this in"
    " a terminal, and look again.",
)
_ODD_NAME = (
    "This computer's name in the tailnet does not end in .ts.net, and the app answers to no other that it was"
    " not told. Write into config.yaml:"
)
_MACHINES = "login.tailscale.com/admin/machines"
_DNS = "login.tailscale.com/admin/dns"


def look(port: int, hosts: Sequence[str] = ()) -> Tailscale:
    """How Tailscale stands on this computer, for the app that listens on ``port`` and answers to ``hosts``
    besides the names that end in .ts.net; takes eight seconds at most. Nothing is changed."""
    found = program.find()
    if found is None:
        return replace(_NOT_INSTALLED, command=f"tailscale serve --bg {port}")
    type_it = partial(program.typed, found)
    try:
        status = answers.status(program.ask(found, "status", "--json"))
    except program.NoAnswerError as error:
        return _silent(str(error))
    if status.backend != "Running":
        return replace(_waiting(status, type_it), logins=status.logins, login=status.login)
    known = Tailscale("running", "", name=status.name, login=status.login, logins=status.logins)
    if status.name and not status.name.endswith(".ts.net") and status.name not in hosts:
        known = replace(known, warnings=(f"{_ODD_NAME} access_hosts: [{status.name}]",))
    if not status.name:
        step = f"Turn MagicDNS on at {_DNS}."
        return replace(known, sentence="Tailscale runs, but gives this computer no name.", next_step=step)
    try:
        forwards = answers.forwards(program.ask(found, "serve", "status", "--json"))
    except program.NoAnswerError as error:
        said = f"Tailscale runs. Whether it forwards to this app is not known: {error}."
        return _unforwarded(replace(known, sentence=said), status, (), port, type_it)
    return _running(known, status, forwards, port, type_it)


_Typed = Callable[..., str]


def _silent(why: str) -> Tailscale:
    sentence = f"Tailscale is installed, but did not answer: {why}."
    if sys.platform == "linux":
        start = "sudo systemctl start tailscaled"
        return Tailscale("no answer", sentence, "Start its service, and look again.", start)
    return Tailscale("no answer", sentence, "Start the Tailscale app, and look again.")


def _waiting(status: Status, type_it: _Typed) -> Tailscale:
    up = type_it("up")
    match status.backend:
        case "NeedsLogin":
            return Tailscale("logged out", "Tailscale is logged out.", f"Log in.{_sudo()}", up)
        case "Stopped":
            return Tailscale("stopped", "Tailscale is stopped.", f"Start it.{_sudo()}", up)
        case "NeedsMachineAuth":
            said = "This computer waits until somebody who runs your tailnet lets it in."
            return Tailscale("not approved", said, f"That is done at {_MACHINES}.")
        case "Starting" | "NoState":
            return Tailscale("starting", "Tailscale is starting.", "Look again in a moment.")
    return _silent("what it says is not what Tailscale says")


def _running(
    known: Tailscale, status: Status, forwards: Sequence[Forward], port: int, type_it: _Typed
) -> Tailscale:
    warnings = [*known.warnings, *_without_names(forwards, port, type_it), *_funnels(forwards, port, type_it)]
    known = replace(known, warnings=tuple(warnings), funnel=any(_is_open(each, port) for each in forwards))
    ours = [each for each in forwards if each.target == port and not each.is_raw and each.host == status.name]
    if not ours:
        sentence = f"Tailscale runs. This computer is {status.name}; nothing there leads to this app yet."
        return _unforwarded(replace(known, sentence=sentence), status, forwards, port, type_it)
    first = ours[0]
    return replace(
        known,
        sentence="Tailscale runs and leads whom you let in to this app.",
        next_step="Share a store with somebody, and send them the address.",
        undo=type_it("serve", _flag(first), "off"),
        address=_address(first),
        forwards=True,
    )


def _unforwarded(
    known: Tailscale, status: Status, forwards: Sequence[Forward], port: int, type_it: _Typed
) -> Tailscale:
    taken = {port, *(each.port for each in forwards)}
    free = next((each for each in _PORTS if each not in taken), _PORTS[0])
    where = [] if free == _PORTS[0] else [f"--https={free}"]
    first = "" if status.has_certificates else f"Turn HTTPS certificates on at {_DNS}. Then: "
    return replace(
        known,
        next_step=f"{first}Type this in a terminal; it lasts until you undo it.{_sudo()}",
        command=type_it("serve", "--bg", *where, str(port)),
        undo=type_it("serve", f"--https={free}", "off"),
    )


def _without_names(forwards: Sequence[Forward], port: int, type_it: _Typed) -> list[str]:
    """Who comes as raw bytes brings no name, and may say that they sit at this computer."""
    return [
        f"Port {each.port} leads to this app as plain TCP, without saying who comes:"
        f" anybody there can pass for you. Undo it now: {type_it('serve', _flag(each), 'off')}"
        for each in forwards
        if each.is_raw and each.target == port
    ]


def _funnels(forwards: Sequence[Forward], port: int, type_it: _Typed) -> list[str]:
    return [
        f"Funnel opens {_address(each)} to the whole internet. This app lets nobody in who comes that way;"
        f" close it all the same: {type_it('serve', '--bg', _flag(each), str(port))}"
        for each in forwards
        if _is_open(each, port) and not each.is_raw
    ]


def _is_open(forward: Forward, port: int) -> bool:
    return forward.is_funnel and forward.target == port


def _flag(forward: Forward) -> str:
    if forward.is_raw:
        return f"--{'tls-terminated-tcp' if forward.is_tls else 'tcp'}={forward.port}"
    return f"--{'https' if forward.is_https else 'http'}={forward.port}"


def _address(forward: Forward) -> str:
    scheme, usual = ("https", 443) if forward.is_https else ("http", 80)
    return f"{scheme}://{forward.host}{'' if forward.port == usual else f':{forward.port}'}/"


def _sudo() -> str:
    return " It may need sudo before it." if sys.platform == "linux" else ""
