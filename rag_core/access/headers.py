"""Headers that the gate adds: the sender's identity for the app, and security headers for browsers.

Threat 1: a client may send the identity headers itself. So the gate deletes every inbound header of this
family and adds its own. Without them there is no viewer.

Threat 2: notes are untrusted text, and queries are in the address bar. If a note reached the page as markup,
the content policy would still prevent scripts, content from other hosts, and foreign frames. No referrer
carries a query to a linked site.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag_core.library import Library
from rag_core.types import OWNER, Viewer

LOGIN_HEADER: Final = "x-commonplace-login"
ROLE_HEADER: Final = "x-commonplace-role"
OWNER_HEADERS: Final = {LOGIN_HEADER: OWNER.login, ROLE_HEADER: "owner"}


def with_identity(
    received: Iterable[tuple[bytes, bytes]], login: str, *, is_owner: bool
) -> list[tuple[bytes, bytes]]:
    """Replace the received identity headers by the verified sender's.

    For a guest, also remove Streamlit's session from the websocket's protocols. By resuming a session, the
    guest would act as the person who opened it, perhaps an owner.
    """
    kept = [(name, value) for name, value in received if not name.lower().startswith(b"x-commonplace-")]
    if not is_owner:
        protocol = b"sec-websocket-protocol"
        kept = [(name, v.partition(b",")[0] if name.lower() == protocol else v) for name, v in kept]
    role = b"owner" if is_owner else b"guest"
    return [*kept, (LOGIN_HEADER.encode(), login.encode()), (ROLE_HEADER.encode(), role)]


def viewer_of(headers: Mapping[str, str], library: Callable[[], Library]) -> Viewer | None:
    """Return the viewer that the headers of `access.gate` name, with the rights that the library grants now,
    or None for no access. Raises RagError if the library cannot be read."""
    login, role = headers.get(LOGIN_HEADER), headers.get(ROLE_HEADER)
    if not login or role not in ("owner", "guest"):
        return None
    if login == OWNER.login:
        return OWNER if role == "owner" else None
    return library().sharing.viewer_for(login)


def security_headers(page: str) -> dict[str, str]:
    """Return the security headers for an app whose HTML is ``page``: lower-case name → value. Inline scripts
    are allowed by their hashes. Inline styles are allowed in general, because Streamlit writes styles at run
    time."""
    scripts = re.findall(r"<script>(.*?)</script>", page.replace("\r\n", "\n"), re.DOTALL)
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    hashes = (f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    policy = (
        "default-src 'self'; script-src 'self' {}; style-src 'self' 'unsafe-inline';"
        " img-src 'self' data: blob:; font-src 'self' data:; media-src 'self' blob:; connect-src 'self';"
        " worker-src 'self' blob:; frame-src 'none'; object-src 'none';"
        " base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
    )
    return {
        "content-security-policy": policy.format(" ".join(hashes)),
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
    }


class SecurityHeaders:
    """ASGI middleware that sets `security_headers` on every HTTP response, including refusals, and forbids
    browsers to store exports."""

    def __init__(self, app: ASGIApp, page: str) -> None:
        self.app = app
        self.headers = [(name.encode(), value.encode()) for name, value in security_headers(page).items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_export = scope["type"] == "http" and scope["path"].startswith("/media/")  # it holds text of notes
        secured = [*self.headers, (b"cache-control", b"no-store")] if is_export else self.headers

        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = {name for name, _ in secured}
                theirs = [pair for pair in message.get("headers", ()) if pair[0].lower() not in ours]
                message = {**message, "headers": [*theirs, *secured]}
            await send(message)

        await self.app(scope, receive, send_secured if scope["type"] == "http" else send)
