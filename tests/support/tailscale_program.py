"""A program called ``tailscale`` on the PATH: it says what a test has it say, and keeps what it is asked.

The samples have the fields of ``ipnstate.Status`` and ``ipn.ServeConfig`` in Tailscale's source.
"""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rag_core.people import tailscale as tailscale_module

NAME = "heron.tail1234.ts.net"
EVERYBODY = ("ada@example.com", "grace@github", "tagged-devices")


def running(**changes: Any) -> dict[str, Any]:
    """``tailscale status --json`` of a computer of Ada's, which runs."""
    users = {
        str(number): {"ID": number, "LoginName": login, "DisplayName": login.title(), "ProfilePicURL": ""}
        for number, login in enumerate(EVERYBODY, 101)
    }
    self = {
        "ID": "nXYZ11CNTRL", "PublicKey": "nodekey:1f", "HostName": "heron", "DNSName": f"{NAME}.",
        "OS": "linux", "UserID": 101, "TailscaleIPs": ["100.64.0.1", "fd7a:115c:a1e0::1"], "Online": True,
    }  # fmt: skip
    tailnet = {"Name": "ada@example.com", "MagicDNSSuffix": "tail1234.ts.net", "MagicDNSEnabled": True}
    said = {
        "Version": "1.90.6-t8d0", "TUN": True, "BackendState": "Running", "HaveNodeKey": True, "AuthURL": "",
        "TailscaleIPs": ["100.64.0.1"], "Self": self, "Health": [], "MagicDNSSuffix": "tail1234.ts.net",
        "CurrentTailnet": tailnet, "CertDomains": [NAME], "User": users, "ClientVersion": None,
        "Peer": {"nodekey:2f": {"HostName": "owl", "DNSName": "owl.tail1234.ts.net.", "UserID": 102}},
    }  # fmt: skip
    return said | changes


def forwarding(port: int, *, funnel: bool = False) -> dict[str, Any]:
    """``tailscale serve status --json`` where the name leads to ``port``."""
    place = f"{NAME}:443"
    config: dict[str, Any] = {
        "TCP": {"443": {"HTTPS": True}},
        "Web": {place: {"Handlers": {"/": {"Proxy": f"http://127.0.0.1:{port}"}}}},
    }
    return config | ({"AllowFunnel": {place: True}} if funnel else {})


@dataclass(frozen=True)
class Program:
    """The program in ``folder``, and what it says next."""

    folder: Path

    def says(self, status: object, serve: object = None) -> None:
        """Print these values as JSON."""
        for name, value in (("status", status), ("serve", serve)):
            answer = self.folder / f"{name}.json"
            answer.write_text(json.dumps(value), "utf-8")
            self.does(f"cat {shlex.quote(str(answer))}", at=name)

    def does(self, script: str, *, at: str = "status") -> None:
        """Run these lines of a shell when it is asked for its status, or that of ``serve``."""
        (self.folder / at).write_text(f"{script}\n", "utf-8")

    @property
    def asked(self) -> list[str]:
        """What it was called with, each time."""
        written = self.folder / "asked"
        return written.read_text("utf-8").splitlines() if written.exists() else []


def install(folder: Path) -> Program:
    """Make the program; ``folder / "bin"`` is for the PATH."""
    (folder / "bin").mkdir(parents=True)
    made, here = folder / "bin" / "tailscale", shlex.quote(str(folder))
    made.write_text(f'#!/bin/sh\necho "$*" >> {here}/asked\n. {here}/"$1"\n', "utf-8")
    made.chmod(0o755)
    found = Program(folder)
    found.says(running(), {})
    return found


@pytest.fixture
def no_tailscale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tailscale is not installed, whatever this computer has."""
    monkeypatch.setattr(tailscale_module, "PLACES", ())
    kept = [each for each in os.environ["PATH"].split(os.pathsep) if not (Path(each) / "tailscale").exists()]
    monkeypatch.setenv("PATH", os.pathsep.join(kept))


@pytest.fixture
def tailscale(tmp_path: Path, no_tailscale: None, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Tailscale runs here, and forwards nothing."""
    made = install(tmp_path / "tailscale")
    monkeypatch.setenv("PATH", os.pathsep.join([str(made.folder / "bin"), os.environ["PATH"]]))
    return made
