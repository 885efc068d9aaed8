"""The gate: a table of who gets in. test_access_live.py tries the same on the real server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rag_core.types import OWNER
from ui import access
from ui.access import LOGIN_HEADER, OWNER_HEADERS, ROLE_HEADER, AccessGate, Refused, decide, sent_token
from ui.front import front_page
from ui.security_headers import content_security_policy, inline_script_hashes

HOST = ("Host", "localhost:8501")
OWN_ORIGIN = ("Origin", "http://localhost:8501")
NAVIGATE = ("Sec-Fetch-Mode", "navigate")

# --- the table --------------------------------------------------------------------------

LET_IN = {
    "a browser's page": ("127.0.0.1", [HOST]),
    "a browser's websocket": ("127.0.0.1", [HOST, OWN_ORIGIN]),
    "by number": ("127.0.0.1", [("Host", "127.0.0.1:8501"), ("Origin", "http://127.0.0.1:8501")]),
    "over IPv6": ("::1", [("Host", "[::1]:8501"), ("Origin", "http://[::1]:8501")]),
    "IPv4 on a dual-stack socket": ("::ffff:127.0.0.1", [HOST]),
    "on the default port": ("127.0.0.1", [("Host", "localhost"), ("Origin", "http://localhost")]),
    "with its own certificate": ("127.0.0.1", [HOST, ("Origin", "https://localhost:8501")]),
    "in capitals": ("127.0.0.1", [("HOST", "LocalHost:8501"), ("ORIGIN", "http://localhost:8501")]),
    "a fetch of the page's own": ("127.0.0.1", [HOST, ("Sec-Fetch-Site", "same-origin")]),
    "a typed address": ("127.0.0.1", [HOST, ("Sec-Fetch-Site", "none"), NAVIGATE]),
    "a link from another site": ("127.0.0.1", [HOST, ("Sec-Fetch-Site", "cross-site"), NAVIGATE]),
}


def refused(name: str, *headers: tuple[str, str], peer: str | None = "127.0.0.1") -> Any:
    return pytest.param(peer, list(headers), id=name)


FOREIGN_ORIGINS = [
    refused(f"origin {origin or 'empty'}", HOST, ("Origin", origin))
    for origin in (
        "http://evil.example",
        "http://localhost:3000",
        "http://localhost",
        "http://127.0.0.1:8501",
        "http://0.0.0.0:8501",
        "http://192.168.1.7:8501",
        "http://203.0.113.9:8501",
        "http://localhost:8501.evil.example",
        "http://evil.example/localhost:8501",
        "http://user@localhost:8501",
        "chrome-extension://localhost:8501",
        "localhost:8501",
        "null",
        "",
    )
]
FOREIGN_HOSTS = [
    refused(f"host {host or 'empty'}", ("Host", host))
    for host in (
        "evil.example:8501",
        "desk.tail1234.ts.net",
        "localhost.evil.example:8501",
        "127.0.0.1.nip.example:8501",
        "localhost@evil.example",
        "evil.example@localhost",
        "localhost:8501,evil.example",
        "localhost:8501/evil",
        "localhost:port",
        "localhost.",
        "localhost ",
        "localhost\n",
        "0.0.0.0:8501",
        "[::]:8501",
        "127.1",
        "2130706433",
        "192.168.1.7:8501",
        "",
    )
]
PROXIED = [
    refused(f"through a proxy: {name}", HOST, OWN_ORIGIN, (name, value))
    for name, value in (
        ("X-Forwarded-For", "100.64.0.2"),
        ("X-Forwarded-For", "127.0.0.1"),
        ("X-Forwarded-Host", "localhost:8501"),
        ("X-Forwarded-Proto", "https"),
        ("X-Forwarded", "for=127.0.0.1"),
        ("Forwarded", "for=127.0.0.1"),
        ("Via", "1.1 proxy"),
        ("X-Real-IP", "127.0.0.1"),
        ("Tailscale-User-Login", "owner@example.com"),
        ("Tailscale-Funnel-Request", "?1"),
        ("CF-Connecting-IP", "127.0.0.1"),
    )
]
REFUSED = [
    *FOREIGN_ORIGINS,
    *FOREIGN_HOSTS,
    *PROXIED,
    refused("rebinding", ("Host", "evil.example:8501"), ("Origin", "http://evil.example:8501")),
    refused("no host"),
    refused("two hosts", HOST, ("host", "evil.example")),
    refused("two equal hosts", HOST, HOST),
    refused("two origins", HOST, OWN_ORIGIN, ("Origin", "http://evil.example")),
    refused(
        "an image on another site", HOST, ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors")
    ),
    refused("a script on another port", HOST, ("Sec-Fetch-Site", "same-site")),
    refused("a peer in the network", HOST, OWN_ORIGIN, peer="192.168.1.7"),
    refused("a peer in the tailnet", HOST, OWN_ORIGIN, peer="100.64.0.2"),
    refused("an IPv4 peer on a dual-stack socket", HOST, peer="::ffff:192.168.1.7"),
    refused("a peer without address", HOST, peer=None),
    refused("a peer with a name", HOST, peer="localhost"),
    refused(
        "a tailnet user who is signed in",
        ("Host", "desk.tail1234.ts.net"),
        ("Tailscale-User-Login", "guest@example.com"),
        ("X-Forwarded-For", "100.64.0.2"),
    ),
]


@pytest.mark.parametrize(("peer", "headers"), LET_IN.values(), ids=LET_IN)
def test_the_owner_gets_in(peer: str, headers: list[tuple[str, str]]) -> None:
    assert decide(peer, headers) == OWNER


@pytest.mark.parametrize(("peer", "headers"), REFUSED)
def test_nobody_else_gets_in(peer: str | None, headers: list[tuple[str, str]]) -> None:
    assert isinstance(decide(peer, headers), Refused)


TAILNET = [
    ("Host", "desk.tail1234.ts.net"),
    ("X-Forwarded-For", "100.64.0.2"),
    ("Tailscale-User-Login", "me@x"),
]


@pytest.mark.parametrize(("peer", "headers"), [*LET_IN.values(), ("100.64.0.2", TAILNET)])
def test_a_token_stands_in_for_the_way_of_a_request(peer: str, headers: list[tuple[str, str]]) -> None:
    assert decide(peer, headers, has_token=True) == OWNER


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [HOST, HOST],
        [HOST, OWN_ORIGIN, OWN_ORIGIN],
        [*TAILNET, ("Origin", "http://evil.example")],
        [*TAILNET, ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "cors")],
    ],
    ids=["no host", "two hosts", "two origins", "another origin", "another site"],
)
def test_a_token_does_not_stand_in_for_the_site_that_asks(headers: list[tuple[str, str]]) -> None:
    assert isinstance(decide("127.0.0.1", headers, has_token=True), Refused)


@pytest.mark.parametrize(
    ("path", "sent", "token"),
    [
        ("/api/v1/stores", ["Bearer abc"], "abc"),
        ("/api/v1/stores", ["bearer  abc "], "abc"),
        ("/api/v1/stores", [], None),
        ("/api/v1/stores", ["Bearer"], ""),
        ("/api/v1/stores", ["Basic abc"], ""),
        ("/api/v1/stores", ["Bearer abc", "Bearer abc"], ""),
        ("/", ["Bearer abc"], None),
        ("/apis", ["Bearer abc"], None),
        ("/_stcore/stream", ["Bearer abc"], None),
    ],
)
def test_a_token_is_looked_for_in_one_header_of_one_interface(
    path: str, sent: list[str], token: str | None
) -> None:
    assert sent_token(path, [("Authorization", value) for value in sent]) == token


# --- the middleware ---------------------------------------------------------------------


def test_the_gate_replaces_forged_identity_headers() -> None:
    seen: dict[str, Any] = {}

    async def app(scope: Any, _receive: Any, _send: Any) -> None:
        seen.update(scope)

    forged = [(b"x-commonplace-login", b"eve"), (b"X-Commonplace-Role", b"admin"), (b"x-commonplace-x", b"1")]
    scope = {
        "type": "websocket",
        "client": ("127.0.0.1", 5),
        "headers": [(b"host", b"localhost"), *forged, (b"accept", b"*/*")],
    }
    asyncio.run(AccessGate(app)(scope, None, None))  # type: ignore[arg-type]
    ours = [(name.encode(), value.encode()) for name, value in OWNER_HEADERS.items()]
    assert seen["headers"] == [(b"host", b"localhost"), (b"accept", b"*/*"), *ours]


@pytest.mark.parametrize(
    "headers",
    [{}, {ROLE_HEADER: "owner"}, {LOGIN_HEADER: "owner"}, {ROLE_HEADER: "guest", LOGIN_HEADER: "owner"}],
)
def test_without_the_gates_headers_there_is_no_viewer(
    headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "_headers", lambda: headers)
    assert access.viewer() is None


def test_the_gates_headers_make_the_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "_headers", lambda: OWNER_HEADERS)
    assert access.viewer() == OWNER
    assert access.require_owner() == OWNER


def test_the_policy_allows_the_pages_inline_scripts_and_no_others() -> None:
    hashes = inline_script_hashes(front_page())
    assert len(hashes) == front_page().count("<script>") == 2
    assert all(digest in content_security_policy() for digest in hashes)
    script_src = next(part for part in content_security_policy().split("; ") if part.startswith("script-src"))
    assert "unsafe" not in script_src
    assert "*" not in content_security_policy()
