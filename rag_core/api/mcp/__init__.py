"""MCP: the library for assistants. ``tools`` is the table of tools, which ``reading`` and ``writing``
implement. ``server`` speaks the protocol, and ``http`` serves it. Only these two import the package ``mcp``,
which is slow to import."""
