"""The fixtures of these tests, from the modules that make them."""

from __future__ import annotations

from tests.api.mcp_door import mcp_library as mcp_library
from tests.api.mcp_door import mcp_owner as mcp_owner
from tests.api.mcp_door import mcp_talk as mcp_talk
from tests.store.damaged_store import expected as expected
from tests.store.damaged_store import sound as sound
