"""The fixtures of these tests, from the modules that make them."""

from __future__ import annotations

from tests.api.mcp_door import mcp_guest as mcp_guest
from tests.api.mcp_door import mcp_library as mcp_library
from tests.api.mcp_door import mcp_owner as mcp_owner
from tests.api.mcp_door import mcp_talk as mcp_talk
from tests.ask.answering import answering as answering
from tests.support.chat_servers import ollama_chat as ollama_chat
