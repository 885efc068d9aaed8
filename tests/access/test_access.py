"""The gate: a table of who gets in. test_access_live.py tries the same on the real server."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from rag_core.access import AccessGate, Visits
from rag_core.access.connection import GUARDED
from rag_core.access.decide import Refused, Sender, decide
from rag_core.access.headers import LOGIN_HEADER, OWNER_HEADERS, ROLE_HEADER, security_headers
from rag_core.access.limits import RateLimiter
from rag_core.access.programs import sent_token
from rag_core.library import Library
from rag_core.types import OWNER, Viewer
from tests.access.proxy_headers import BEHIND_A_PROXY, OF_PROXIES, SENT_BY_PROGRAMS
from ui.frame import access, deps
from ui.frame.front import front_page
from ui.frame.streamlit_messages import STREAMLIT

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
        "http://evil.example", "http://localhost:3000", "http://localhost", "http://127.0.0.1:8501",
        "http://0.0.0.0:8501", "http://192.168.1.7:8501", "http://203.0.113.9:8501",
        "http://localhost:8501.evil.example", "http://evil.example/localhost:8501",
        "http://user@localhost:8501", "chrome-extension://localhost:8501", "localhost:8501", "null", "",
    )
]  # fmt: skip
FOREIGN_HOSTS = [
    refused(f"host {host or 'empty'}", ("Host", host))
    for host in (
        "evil.example:8501", "desk.tail1234.ts.net", "localhost.evil.example:8501",
        "127.0.0.1.nip.example:8501", "localhost@evil.example", "evil.example@localhost",
        "localhost:8501,evil.example", "localhost:8501/evil", "localhost:port", "localhost:08501",
        "localhost.", "localhost ", "localhost\n", "0.0.0.0:8501", "[::]:8501", "127.1", "2130706433",
        "192.168.1.7:8501", "",
    )
]  # fmt: skip
PROXIED = [
    refused(f"through a proxy: {name}", HOST, OWN_ORIGIN, (name, value))
    for name, value in (*BEHIND_A_PROXY, *((name, "100.64.0.2") for name in OF_PROXIES))
]
LOGIN = "Tailscale-User-Login"
SERVE = (
    ("Host", "desk.tail1234.ts.net"),
    ("X-Forwarded-For", "100.64.0.2"),
    ("X-Forwarded-Host", "desk.tail1234.ts.net"),
    ("X-Forwarded-Proto", "https"),
    ("Tailscale-Headers-Info", "https://tailscale.com/s/serve-headers"),
)
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
    refused("a machine of the tailnet that is tagged", *SERVE),
    refused("nobody, through Serve, for this computer", HOST, *SERVE[1:]),
]


@pytest.mark.parametrize(("peer", "headers"), LET_IN.values(), ids=LET_IN)
def test_the_owner_gets_in(peer: str, headers: list[tuple[str, str]]) -> None:
    assert decide(peer, headers) == Sender()


@pytest.mark.parametrize("name", SENT_BY_PROGRAMS)
def test_what_browsers_and_programs_send_is_no_sign_of_a_proxy(name: str) -> None:
    assert decide("127.0.0.1", [HOST, (name, "x")]) == Sender()


@pytest.mark.parametrize(("peer", "headers"), REFUSED)
def test_nobody_else_gets_in(peer: str | None, headers: list[tuple[str, str]]) -> None:
    assert isinstance(decide(peer, headers), Refused)


# --- logins -----------------------------------------------------------------------------


def serve(*more: tuple[str, str], without: Sequence[str] = (), login: str = "ada@example.com") -> list[Any]:
    """What Tailscale sends for a login, some of it left out or put in the place of what it sends."""
    given = {name.lower() for name, _ in more}
    kept = [pair for pair in SERVE if pair[0].lower() not in given | {*without}]
    return [*kept, *([(LOGIN, login)] if login else []), *more]


LOGINS = {
    "a page": serve(),
    "a websocket": serve(("Origin", "https://desk.tail1234.ts.net")),
    "with a name and a picture": serve(
        ("Tailscale-User-Name", "=?utf-8?q?Ada?="), ("Tailscale-User-Profile-Pic", "https://x.example/a.png")
    ),
    "a header that Tailscale may send some day": serve(("Tailscale-App-Capabilities", "{}")),
    "on another port": serve(
        ("Host", "desk.tail1234.ts.net:8443"), ("X-Forwarded-Host", "desk.tail1234.ts.net:8443")
    ),
    "over http": serve(without=["x-forwarded-proto"]),
    "without X-Forwarded-Host": serve(without=["x-forwarded-host"]),
    "over IPv6": serve(("X-Forwarded-For", "fd7a:115c:a1e0::2")),
    "in capitals": serve(login="Ada@Example.com"),
    "a link from elsewhere": serve(("Sec-Fetch-Site", "cross-site"), NAVIGATE),
}


@pytest.mark.parametrize("headers", LOGINS.values(), ids=LOGINS)
@pytest.mark.parametrize("peer", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
def test_a_login_through_serve_is_verified(peer: str, headers: list[tuple[str, str]]) -> None:
    assert decide(peer, headers) == Sender(login="ada@example.com")


@pytest.mark.parametrize("host", ["desk", "desk:8080", "Desk.Example.com"])
def test_other_names_of_this_computer_are_configured(host: str) -> None:
    headers = serve(("Host", host), ("X-Forwarded-Host", host))
    assert isinstance(decide("127.0.0.1", headers), Refused)
    assert decide("127.0.0.1", headers, hosts=("desk", "desk.example.com")) == Sender("ada@example.com")


@pytest.mark.parametrize("host", ["desk.tail1234.ts.net:8501", "evil.tail0.ts.net:8501", "desk:8501"])
def test_the_apps_own_port_in_the_host_is_a_rebound_name(host: str) -> None:
    headers = serve(("Host", host), ("X-Forwarded-Host", host))
    assert decide("127.0.0.1", headers, hosts=("desk",), port=443) == Sender("ada@example.com")
    assert isinstance(decide("127.0.0.1", headers, hosts=("desk",), port=8501), Refused)
    assert isinstance(decide("127.0.0.1", serve(), port=80), Refused), "browsers leave 80 out"


def login_refused(name: str, *more: tuple[str, str], peer: str = "127.0.0.1", **how: Any) -> Any:
    return pytest.param(peer, serve(*more, **how), id=name)


NO_LOGINS = [
    login_refused(f"login {login[:30]!r}", (LOGIN, login), login="")
    for login in (
        "", " ", " ada@example.com", "ada@example.com ", "=?utf-8?q?ada=40example.com?=",
        "=?utf-8?b?YWRhQGV4YW1wbGUuY29t?=", "ada@example.com, eve@example.com",
        "ada@example.com,eve@example.com", "ada@example.com;eve@example.com", "Ada <ada@example.com>",
        '"ada"@example.com', "ada@example.com\n", "ada@example.com\x00", "ada\t@example.com",
        "ad\u00e4@example.com", "ad\u0430@example.com", "\uff41da@example.com", "@example.com",
        "a" * 250 + "@b.de", "owner", "Owner",
    )
]  # fmt: skip
NOT_BY_SERVE = [
    login_refused("two logins", (LOGIN, "eve@example.com")),
    login_refused("the login twice", (LOGIN, "ada@example.com")),
    login_refused("in another case", ("tailscale-user-login", "eve@example.com")),
    login_refused("through Funnel", ("Tailscale-Funnel-Request", "?1")),
    login_refused("a denial of Funnel", ("Tailscale-Funnel-Request", "?0")),
    login_refused("an empty Funnel", ("Tailscale-Funnel-Request", "")),
    login_refused("no X-Forwarded-For", without=["x-forwarded-for"]),
    *(
        login_refused(f"X-Forwarded-For {address!r}", ("X-Forwarded-For", address))
        for address in (
            "", "127.0.0.1", "::1", "::ffff:127.0.0.1", "0.0.0.0", "localhost", "desk",  # noqa: S104
            "100.64.0.2, 127.0.0.1", "100.64.0.2:5000", " 100.64.0.2", "100.64.0.2 ", "unknown",
        )
    ),
    login_refused("two X-Forwarded-For", *[("X-Forwarded-For", "100.64.0.2")] * 2),
    login_refused("another X-Forwarded-Host", ("X-Forwarded-Host", "evil.example")),
    login_refused("two X-Forwarded-Host", *[("X-Forwarded-Host", "desk.tail1234.ts.net")] * 2),
    login_refused("another protocol", ("X-Forwarded-Proto", "ftp")),
    login_refused("two protocols", *[("X-Forwarded-Proto", "https")] * 2),
    *(
        login_refused(f"another proxy: {name}", (name, value))
        for name, value in (
            ("Forwarded", "for=100.64.0.2"), ("Via", "1.1 proxy"), ("X-Real-IP", "100.64.0.2"),
            ("CF-Connecting-IP", "100.64.0.2"), ("CF-Ray", "1"), ("X-Forwarded-Port", "443"),
            ("X-Forwarded-Server", "x"), ("X-Forwarded", "for=1"), ("True-Client-IP", "100.64.0.2"),
            ("X-Amzn-Trace-Id", "1"), *((name, "100.64.0.2") for name in OF_PROXIES),
        )
    ),
    *(
        login_refused(f"host {host!r}", ("Host", host), without=["x-forwarded-host"])
        for host in (
            "localhost", "localhost:8501", "127.0.0.1:8501", "[::1]:8501", "100.64.0.1", "evil.example", "",
            "desk", "ts.net", ".ts.net", "desk.ts.net.evil.example", "desk.tail1234.ts.net:", "a b.ts.net",
            "desk.tail1234.ts.net:port", "desk.tail1234.ts.net.", "desk.tail1234.ts.net@evil.example",
            "desk.tail1234.ts.net:08501", "evil.example/.ts.net", "desk.tail1234.ts.net\n",
            "evil.example#.ts.net", "-.ts.net",
        )
    ),
    login_refused("two hosts", ("Host", "desk.tail1234.ts.net"), ("Host", "desk.tail1234.ts.net")),
    login_refused("no host", without=["host"]),
    *(
        login_refused(f"origin {origin!r}", ("Origin", origin))
        for origin in (
            "https://evil.example", "http://localhost:8501", "https://desk.tail1234.ts.net:8443", "null", "",
            "https://other.tail1234.ts.net",
        )
    ),
    login_refused("an image elsewhere", ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors")),
    login_refused("a fetch from another machine of the tailnet", ("Sec-Fetch-Site", "same-site")),
    login_refused("two Sec-Fetch-Site", ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Site", "none")),
    login_refused("a peer in the network", peer="192.168.1.7"),
    login_refused("a peer in the tailnet", peer="100.64.0.2"),
    login_refused("a peer in the network, for this computer", HOST, peer="192.168.1.7"),
]  # fmt: skip


@pytest.mark.parametrize(("peer", "headers"), [*NO_LOGINS, *NOT_BY_SERVE])
def test_nothing_else_is_a_login(peer: str, headers: list[tuple[str, str]]) -> None:
    assert isinstance(decide(peer, headers), Refused)


# --- tokens -----------------------------------------------------------------------------

TAILNET = [
    ("Host", "desk.tail1234.ts.net"),
    ("X-Forwarded-For", "100.64.0.2"),
    ("Tailscale-User-Login", "me@x"),
]


@pytest.mark.parametrize(("peer", "headers"), [*LET_IN.values(), ("100.64.0.2", TAILNET)])
def test_a_token_stands_in_for_the_way_of_a_request(peer: str, headers: list[tuple[str, str]]) -> None:
    assert decide(peer, headers, token="t") == Sender(token="t")


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
    assert isinstance(decide("127.0.0.1", headers, token="t"), Refused)


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
        ("/mcp", ["Bearer abc"], "abc"),
        ("/mcp/", ["Bearer abc"], "abc"),
        ("/mcps", ["Bearer abc"], None),
        ("/apis", ["Bearer abc"], None),
        ("/_stcore/stream", ["Bearer abc"], None),
    ],
)
def test_a_token_is_looked_for_in_one_header_of_what_programs_ask(
    path: str, sent: list[str], token: str | None
) -> None:
    assert sent_token(path, [("Authorization", value) for value in sent]) == token


# --- the middleware ---------------------------------------------------------------------

ADA = "ada@example.com"


@pytest.fixture
def shared(library: Library) -> Library:
    """A library with a store that Ada may search."""
    library.create_store(OWNER, "notes", "hashing")
    library.sharing.share(OWNER, ADA, ["notes"])
    return library


def passed_on(
    library: Library, *headers: tuple[str, str], peer: str = "127.0.0.1", guarded: bool = True
) -> list[Any] | None:
    """The headers that the app is handed; None where the gate refuses."""
    seen: list[Any] = []

    async def app(scope: Any, _receive: Any, _send: Any) -> None:
        seen.append(scope["headers"])

    async def quiet(*_: Any) -> dict[str, str]:
        return {"type": "websocket.connect"}

    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
    state = {GUARDED: True} if guarded else {}
    scope = {
        "type": "websocket",
        "path": "/_stcore/stream",
        "client": (peer, 5),
        "headers": raw,
        "state": state,
    }
    visits = Visits(lambda: library)
    gate = AccessGate(app, lambda: library, visits, STREAMLIT, lambda: "127.0.0.1")
    asyncio.run(gate(scope, quiet, quiet))
    return seen[0] if seen else None


FORGED = [("x-commonplace-login", "owner"), ("X-Commonplace-Role", "owner"), ("x-commonplace-x", "1")]


def test_the_gate_replaces_forged_identity_headers(shared: Library) -> None:
    headers = passed_on(shared, HOST, *FORGED, ("accept", "*/*"))
    ours = [(name.encode(), value.encode()) for name, value in OWNER_HEADERS.items()]
    assert headers == [(b"host", b"localhost:8501"), (b"accept", b"*/*"), *ours]


def test_a_login_counts_only_on_a_guarded_connection(shared: Library) -> None:
    assert passed_on(shared, *serve(), guarded=False) is None
    assert passed_on(shared, HOST, guarded=False), "the owner here"


def test_a_guest_is_introduced_as_one_whatever_they_send(shared: Library) -> None:
    headers = passed_on(shared, *serve(*FORGED)) or []
    own = [pair for pair in headers if pair[0].startswith(b"x-commonplace-")]
    assert own == [(LOGIN_HEADER.encode(), ADA.encode()), (ROLE_HEADER.encode(), b"guest")]


def test_an_owner_by_login_is_introduced_as_an_owner(shared: Library) -> None:
    shared.sharing.make_owner(OWNER, "me@example.com")
    headers = passed_on(shared, *serve(login="me@example.com")) or []
    assert (ROLE_HEADER.encode(), b"owner") in headers


def test_a_login_that_nobody_let_in_goes_no_further(shared: Library) -> None:
    assert passed_on(shared, *serve(login="eve@example.com")) is None
    shared.sharing.unshare(OWNER, ADA)
    assert passed_on(shared, *serve()) is None


# --- in a page --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {ROLE_HEADER: "owner"},
        {LOGIN_HEADER: "owner"},
        {LOGIN_HEADER: ADA},
        {ROLE_HEADER: "guest", LOGIN_HEADER: "owner"},
        {ROLE_HEADER: "guest", LOGIN_HEADER: "eve@example.com"},
        {ROLE_HEADER: "owner", LOGIN_HEADER: "eve@example.com"},
        {ROLE_HEADER: "admin", LOGIN_HEADER: ADA},
    ],
)
def test_without_the_gates_headers_there_is_no_viewer(
    headers: dict[str, str], shared: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deps, "library", lambda: shared)
    monkeypatch.setattr(access, "_headers", lambda: headers)
    assert access.viewer() is None


def test_the_gates_headers_make_the_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "_headers", lambda: OWNER_HEADERS)
    assert access.viewer() == OWNER
    assert access.require_owner() == OWNER


def test_a_login_is_looked_up_every_time(shared: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deps, "library", lambda: shared)
    monkeypatch.setattr(access, "_headers", lambda: {ROLE_HEADER: "guest", LOGIN_HEADER: ADA})
    assert access.viewer() == Viewer(ADA, stores=frozenset({"notes"}))
    shared.sharing.make_owner(OWNER, ADA)
    assert access.viewer() == OWNER
    shared.sharing.unshare(OWNER, ADA)
    assert access.viewer() is None


def test_who_may_come_in_cannot_be_read_so_nobody_does(
    shared: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deps, "library", lambda: shared)
    monkeypatch.setattr(access, "_headers", lambda: {ROLE_HEADER: "owner", LOGIN_HEADER: ADA})
    (shared.settings.data_dir / "state.db").write_bytes(b"no database" * 1000)
    assert access.viewer() is None
    assert passed_on(shared, *serve()) is None


# --- limits -----------------------------------------------------------------------------


def test_what_a_guest_may_do_grows_evenly_up_to_a_minutes_worth() -> None:
    now = [0.0]
    limiter = RateLimiter(lambda: now[0])
    assert [limiter.take(ADA, 60) for _ in range(60)] == [0.0] * 60
    assert limiter.take(ADA, 60) == pytest.approx(1.0)
    assert limiter.take("bob@github", 60) == 0.0, "each has their own"
    now[0] = 2.0
    assert [limiter.take(ADA, 60) > 0 for _ in range(3)] == [False, False, True]
    now[0] = 3600.0
    assert sum(limiter.take(ADA, 60) == 0 for _ in range(100)) == 60


# --- headers ----------------------------------------------------------------------------


def test_the_policy_allows_the_pages_inline_scripts_and_no_others() -> None:
    policy = security_headers(front_page())["content-security-policy"]
    assert policy.count("'sha256-") == front_page().count("<script>") == 2
    script_src = next(part for part in policy.split("; ") if part.startswith("script-src"))
    assert "unsafe" not in script_src
    assert "*" not in policy
