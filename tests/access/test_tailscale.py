"""How Tailscale stands on this computer, asked of a real program that says what a test has it say."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from rag_core.errors import Forbidden
from rag_core.library import Library
from rag_core.people import tailscale as tailscale_module
from rag_core.reports import Tailscale
from rag_core.types import OWNER
from tests.pages.visiting import GUEST
from tests.support.configured import settings
from tests.support.tailscale_program import NAME, Program, forwarding, running

PORT = 8501


def look(library: Library, port: int | None = None) -> Tailscale:
    return library.sharing.tailscale(OWNER, port)


# --- not there, or not ready ------------------------------------------------------------


@pytest.mark.usefixtures("no_tailscale")
def test_without_tailscale_it_is_said_where_to_get_it(library: Library) -> None:
    found = look(library)
    assert found.state == "not installed"
    assert "tailscale.com/download" in found.next_step
    assert found.command == f"tailscale serve --bg {PORT}"
    assert (found.undo, found.address, found.logins) == ("", "", ())


def test_nobody_but_the_owner_asks(library: Library, tailscale: Program) -> None:
    with pytest.raises(Forbidden):
        library.sharing.tailscale(GUEST)
    assert tailscale.asked == []


@pytest.mark.parametrize(
    ("backend", "state", "command"),
    [
        ("NeedsLogin", "logged out", "tailscale up"),
        ("Stopped", "stopped", "tailscale up"),
        ("NeedsMachineAuth", "not approved", ""),
        ("Starting", "starting", ""),
        ("NoState", "starting", ""),
    ],
)
def test_each_state_has_its_next_step(
    library: Library, tailscale: Program, backend: str, state: str, command: str
) -> None:
    tailscale.says(running(BackendState=backend, CurrentTailnet=None, CertDomains=None))
    found = look(library)
    assert (found.state, found.command) == (state, command)
    assert found.next_step
    assert not found.forwards
    assert tailscale.asked == ["status --json"]


def test_a_computer_without_a_name_needs_magicdns(library: Library, tailscale: Program) -> None:
    tailscale.says(running(CurrentTailnet={"MagicDNSEnabled": False}))
    assert "MagicDNS" in look(library).next_step
    tailscale.says(running(Self={"DNSName": ""}))
    assert "MagicDNS" in look(library).next_step


# --- running ----------------------------------------------------------------------------


def test_the_command_is_for_the_port_that_the_app_listens_on(library: Library, tailscale: Program) -> None:
    found = look(library, 9123)
    assert (found.state, found.name, found.forwards) == ("running", NAME, False)
    assert found.command == "tailscale serve --bg 9123"
    assert found.undo == "tailscale serve --https=443 off"
    assert look(library).command == "tailscale serve --bg 8501", "the configured port"


def test_nothing_is_changed_by_looking(library: Library, tailscale: Program) -> None:
    look(library)
    assert tailscale.asked == ["status --json", "serve status --json"]


@pytest.mark.parametrize("config", [None, {}, {"TCP": {}, "Web": {}}])
def test_where_nothing_is_forwarded_nothing_is_taken_for_it(
    library: Library, tailscale: Program, config: object
) -> None:
    tailscale.says(running(), config)
    found = look(library)
    assert (found.state, found.forwards, found.address) == ("running", False, "")


@pytest.mark.parametrize(
    "target",
    ["http://127.0.0.1:8501", "http://localhost:8501/", "localhost:8501", "8501", "http://[::1]:8501"],
)
def test_what_leads_to_the_app_has_an_address(library: Library, tailscale: Program, target: str) -> None:
    config = forwarding(PORT)
    config["Web"][f"{NAME}:443"]["Handlers"]["/"]["Proxy"] = target
    tailscale.says(running(), config)
    found = look(library)
    assert (found.forwards, found.address, found.command) == (True, f"https://{NAME}/", "")
    assert found.undo == "tailscale serve --https=443 off"
    assert found.warnings == ()


@pytest.mark.parametrize(
    "target", ["http://127.0.0.1:3000", "http://10.0.0.5:8501", "http://localhost.evil.example:8501", ""]
)
def test_a_port_that_leads_elsewhere_is_left_to_what_it_serves(
    library: Library, tailscale: Program, target: str
) -> None:
    config = forwarding(PORT)
    config["Web"][f"{NAME}:443"]["Handlers"]["/"] = {"Proxy": target}
    tailscale.says(running(), config)
    found = look(library)
    assert not found.forwards
    assert found.command == "tailscale serve --bg --https=8443 8501"
    assert found.undo == "tailscale serve --https=8443 off"


def test_funnel_is_warned_of_with_the_command_that_closes_it(library: Library, tailscale: Program) -> None:
    tailscale.says(running(), forwarding(PORT, funnel=True))
    found = look(library)
    assert found.forwards
    assert found.funnel
    [warning] = found.warnings
    assert "whole internet" in warning
    assert warning.endswith("tailscale serve --bg --https=443 8501")
    tailscale.says(running(), forwarding(3000, funnel=True))
    assert look(library).warnings == (), "it is another app's"


@pytest.mark.parametrize(("tls", "flag"), [({}, "tcp"), ({"TerminateTLS": NAME}, "tls-terminated-tcp")])
def test_plain_tcp_is_warned_of_because_it_names_nobody(
    library: Library, tailscale: Program, tls: dict[str, Any], flag: str
) -> None:
    tailscale.says(running(), {"TCP": {"8501": {"TCPForward": "127.0.0.1:8501", **tls}}})
    found = look(library)
    assert not found.forwards
    [warning] = found.warnings
    assert "can pass for you" in warning
    assert warning.endswith(f"tailscale serve --{flag}=8501 off")


def test_a_name_that_the_app_does_not_answer_to_is_warned_of(home: Path, tailscale: Program) -> None:
    desk = {"DNSName": "desk.example.com.", "UserID": 101}
    tailscale.says(running(Self=desk), {})
    found = Library.open(settings(home)).sharing.tailscale(OWNER)
    [warning] = found.warnings
    assert warning.endswith("access_hosts: [desk.example.com]")
    assert found.command == "tailscale serve --bg 8501"
    assert (
        Library.open(settings(home, "access_hosts: [desk.example.com]\n")).sharing.tailscale(OWNER).warnings
        == ()
    )


def test_the_logins_of_the_tailnet_are_those_of_people(library: Library, tailscale: Program) -> None:
    found = look(library)
    assert found.logins == ("ada@example.com", "grace@github")
    assert found.login == "ada@example.com"


# --- what it says is not believed -------------------------------------------------------


@pytest.mark.parametrize(
    "script",
    ["exit 1", "echo 'no JSON'", "echo '[1, 2'", "true", "echo 5", "echo '{}'", "printf '\\377\\376'",
     "head -c 100000 /dev/zero | tr '\\0' '['", """echo '{"BackendState": ["Running"]}'"""],
)  # fmt: skip
def test_what_is_no_answer_is_said_to_be_none(library: Library, tailscale: Program, script: str) -> None:
    tailscale.does(script)
    found = look(library)
    assert found.state == "no answer"
    assert "did not answer" in found.sentence
    assert found.next_step


def test_a_program_that_hangs_is_ended(
    library: Library, tailscale: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tailscale_module, "TIMEOUT_S", 0.5)
    tailscale.does("exec sleep 60")
    began = time.monotonic()
    assert "timed out after 0.5 seconds" in look(library).sentence
    assert time.monotonic() - began < 10


def test_serve_that_does_not_answer_leaves_the_command(library: Library, tailscale: Program) -> None:
    tailscale.does("exit 1", at="serve")
    found = look(library)
    assert found.state == "running"
    assert "returned non-zero exit status 1." in found.sentence
    assert found.command == "tailscale serve --bg 8501"


@pytest.mark.parametrize("name", ["<script>.ts.net", "a b.ts.net", "x" * 2000, "heron", 5, None, "-h.ts.net"])
def test_a_name_that_cannot_be_one_is_not_shown(library: Library, tailscale: Program, name: object) -> None:
    tailscale.says(running(Self={"DNSName": name, "UserID": 101}))
    found = look(library)
    assert found.name == ""
    assert "no name" in found.sentence


def test_logins_that_cannot_be_some_are_left_out(library: Library, tailscale: Program) -> None:
    odd = ["<b>x</b>", "x\ny", "", "a" * 300, 7, None, ["ada"], "two words"]
    users: dict[str, object] = {str(number): {"LoginName": login} for number, login in enumerate(odd)}
    tailscale.says(running(User=users | {"x": None, "101": {"LoginName": "Ada@Example.com"}}))
    assert look(library).logins == ("ada@example.com",)
    tailscale.says(running(User=[1, 2]))
    assert look(library).logins == ()


@pytest.mark.parametrize(
    "config",
    [
        [],
        "x",
        {"Web": []},
        {"Web": {"no port": {}}},
        {"Web": {f"{NAME}:443": None}},
        {"Web": {f"{NAME}:443": {"Handlers": {"/": "http://127.0.0.1:8501"}}}},
        {"Web": {"<b>:443": {"Handlers": {"/": {"Proxy": "http://127.0.0.1:8501"}}}}},
        {"TCP": {"x": {"TCPForward": "127.0.0.1:8501"}, "9": 5}},
        {"TCP": {"9": {"TCPForward": 8501}}},
        {"Foreground": {"a": None}, "AllowFunnel": 5},
        {"TCP": {str(n): {"HTTPS": True} for n in range(20000)}},
        {"TCP": {str(n): {"TCPForward": "127.0.0.1:1"} for n in range(20000)}},
    ],
)
def test_a_configuration_of_another_shape_forwards_nothing(
    library: Library, tailscale: Program, config: object
) -> None:
    tailscale.says(running(), config)
    found = look(library)
    assert (found.state, found.forwards, found.warnings) == ("running", False, ())
    assert found.command.startswith("tailscale serve --bg ")
