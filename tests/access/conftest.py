"""The fixtures of these tests, from the modules that make them."""

from __future__ import annotations

from tests.access.speakers import everybodys_place as everybodys_place
from tests.access.speakers import place as place
from tests.access.speakers import talker as talker
from tests.api.mcp_door import mcp_library as mcp_library
from tests.support.tailscale_program import no_tailscale as no_tailscale
from tests.support.tailscale_program import tailscale as tailscale
