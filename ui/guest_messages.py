"""What the page of a guest may say to Streamlit over its websocket: run, stop, and fetch what it shows.

Threat. The same websocket takes messages that are the owner's: one clears every cache of the process
and so closes the library that others use, one tells the state of a git repository, one gives addresses
to upload to, one writes files beside the app. No page of ours sends those, but a guest's own program could.
"""

from __future__ import annotations

from typing import Final

from streamlit.proto.BackMsg_pb2 import BackMsg

_MESSAGES: Final = frozenset({"rerun_script", "stop_script", "app_heartbeat"})
_OPERATIONS: Final = frozenset({"deferred_file", "dataframe_chunk"})


def is_for_guests(data: bytes) -> bool:
    """Whether a message may go on to Streamlit. What cannot be read may not."""
    message = BackMsg()
    try:
        message.ParseFromString(data)
    except Exception:  # protobuf's own; its package has no types, and Streamlit does as much
        return False
    kind = message.WhichOneof("type")
    if kind == "backend_operation_request":
        return _operation(message) in _OPERATIONS
    return kind in _MESSAGES


def _operation(message: BackMsg) -> str | None:
    """What is asked for; its field is a oneof, whose name Streamlit may change."""
    asked = {field.name for field, _ in message.backend_operation_request.ListFields()}
    asked -= {"request_id", "session_id"}
    return asked.pop() if len(asked) == 1 else None
