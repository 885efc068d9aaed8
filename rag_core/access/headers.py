"""Response headers that keep a note from running, fetching, framing or leaking anything.

Threat. Notes are untrusted text, and queries are in the address bar. Should a note ever reach
the page as markup, the content policy still lets it run no script, load nothing from another
host, and sit in no foreign frame; no referrer carries a query to a linked site.
"""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_MEDIA: Final = "/media/"  # where exports are fetched, which hold text of notes
_NO_STORE: Final = (b"cache-control", b"no-store")
_INLINE_SCRIPT: Final = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def inline_script_hashes(page: str) -> tuple[str, ...]:
    """The CSP source expressions that allow exactly the inline scripts of an HTML page."""
    scripts = _INLINE_SCRIPT.findall(page.replace("\r\n", "\n"))
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    return tuple(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


def security_headers(page: str) -> dict[str, str]:
    """Every header that the middleware sets, by lower-case name, for an app whose HTML is ``page``.

    The policy allows the page's inline scripts by their hashes, so it follows upgrades of Streamlit.
    Streamlit writes its styles at run time.
    """
    policy = (
        "default-src 'self'",
        " ".join(("script-src 'self'", *inline_script_hashes(page))),
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "media-src 'self' blob:",
        "connect-src 'self'",
        "worker-src 'self' blob:",
        "frame-src 'none'",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
    return {
        "content-security-policy": "; ".join(policy),
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
    }


class SecurityHeaders:
    """ASGI middleware: sets `security_headers` on every HTTP response, refusals included, and forbids
    browsers to store an export."""

    def __init__(self, app: ASGIApp, page: str) -> None:
        self.app = app
        self.headers = [(name.encode(), value.encode()) for name, value in security_headers(page).items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on; replace headers of the same name on the way back."""
        is_export = scope["type"] == "http" and scope["path"].startswith(_MEDIA)
        secured = [*self.headers, _NO_STORE] if is_export else self.headers

        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = {name for name, _ in secured}
                theirs = [pair for pair in message.get("headers", ()) if pair[0].lower() not in ours]
                message = {**message, "headers": [*theirs, *secured]}
            await send(message)

        await self.app(scope, receive, send_secured if scope["type"] == "http" else send)
