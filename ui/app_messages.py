"""What Streamlit tells a page when a run of it begins: which session it is, and the main script's name.

Threat. Streamlit would send the path of the main script, and with it the name of the owner's account.
"""

from __future__ import annotations

from typing import Final

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

_MAIN_SCRIPT: Final = "shell.py"


def without_path(data: bytes) -> tuple[bytes, str]:
    """A message with the main script's name in the place of its path, and the session that it begins.

    Any other message is returned as it is, with ''.
    """
    if _MAIN_SCRIPT.encode() not in data:  # few messages do, and to read each would cost time
        return data, ""
    message = ForwardMsg.FromString(data)
    if message.WhichOneof("type") != "new_session":
        return data, ""
    message.new_session.main_script_path = _MAIN_SCRIPT
    return message.SerializeToString(), message.new_session.initialize.session_id
