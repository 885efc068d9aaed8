"""The gate's knowledge of Streamlit's websocket messages, which are protobuf.

Threat 1: the websocket of a page accepts messages that only the owner may send. One clears every cache of the
process and so closes the library that others use. Others return the state of a git repository, return
addresses for uploads, or write files next to the app.

Our pages never send these messages, but a guest's own program could.

Threat 2: Streamlit tells each page the path of the main script, which contains the name of the owner's
account.
"""

from __future__ import annotations

from typing import Final

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from rag_core.access import PageMessages

_MESSAGES: Final = frozenset({"rerun_script", "stop_script", "app_heartbeat"})
_OPERATIONS: Final = frozenset({"deferred_file", "dataframe_chunk"})
_MAIN_SCRIPT: Final = "shell.py"


def guest_may_send(data: bytes) -> bool:
    """Whether a guest's message may be passed on to Streamlit: it may run the page, stop it, and fetch data
    that the page shows. Unreadable messages may not pass."""
    message = BackMsg()
    try:
        message.ParseFromString(data)
    except Exception:  # an error of protobuf, whose package has no types; Streamlit does the same
        return False
    kind = message.WhichOneof("type")
    if kind != "backend_operation_request":
        return kind in _MESSAGES
    # The operation is a oneof, whose name Streamlit may change.
    asked = {field.name for field, _ in message.backend_operation_request.ListFields()}
    asked -= {"request_id", "session_id"}
    return len(asked) == 1 and asked <= _OPERATIONS


def without_path(data: bytes) -> tuple[bytes, str]:
    """Return a message with the main script's name instead of its path, and the session that the message
    starts.

    Other messages are returned unchanged, with ''.
    """
    # only few messages contain it, and reading each message would take time
    if _MAIN_SCRIPT.encode() not in data:
        return data, ""
    message = ForwardMsg.FromString(data)
    if message.WhichOneof("type") != "new_session":
        return data, ""
    message.new_session.main_script_path = _MAIN_SCRIPT
    return message.SerializeToString(), message.new_session.initialize.session_id


STREAMLIT: Final = PageMessages(guest_may_send=guest_may_send, to_page=without_path)
