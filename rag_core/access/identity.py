"""The two headers in which the gate tells pages, REST and MCP who sends a request.

Threat. A client may send them itself. So the gate deletes every inbound header of this family, and adds
its own. Without them there is no viewer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from rag_core.library import Library
from rag_core.types import OWNER, Viewer

LOGIN_HEADER: Final = "x-commonplace-login"
ROLE_HEADER: Final = "x-commonplace-role"
OWNER_HEADERS: Final = {LOGIN_HEADER: OWNER.login, ROLE_HEADER: "owner"}

_OWN_PREFIX: Final = b"x-commonplace-"
_PROTOCOL: Final = b"sec-websocket-protocol"

RawHeaders = Iterable[tuple[bytes, bytes]]


def with_identity(received: RawHeaders, login: str, *, is_owner: bool) -> list[tuple[bytes, bytes]]:
    """The headers that the app gets: those received, and who sent them.

    A guest's page never resumes an earlier session. Streamlit would resume any session named after the
    websocket's protocol, and its buttons act for whoever the page was drawn for, perhaps an owner.
    """
    kept = [(name, value) for name, value in received if not name.lower().startswith(_OWN_PREFIX)]
    if not is_owner:
        kept = [
            (name, value.partition(b",")[0] if name.lower() == _PROTOCOL else value) for name, value in kept
        ]
    role = b"owner" if is_owner else b"guest"
    return [*kept, (LOGIN_HEADER.encode(), login.encode()), (ROLE_HEADER.encode(), role)]


def viewer_of(headers: Mapping[str, str], library: Callable[[], Library]) -> Viewer | None:
    """The viewer of a request, from the headers that the gate passes on, with what the library grants at
    this moment. None means no access. Raises RagError."""
    login, role = headers.get(LOGIN_HEADER), headers.get(ROLE_HEADER)
    if not login or role not in ("owner", "guest"):
        return None
    if login == OWNER.login:
        return OWNER if role == "owner" else None
    return library().sharing.viewer_for(login)
