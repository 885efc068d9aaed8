"""MCP: the library for assistants. ``tools`` is the table of tools, which ``reading`` and ``writing`` do;
``server`` speaks the protocol, ``http`` serves it. Only these two import the package ``mcp``, which is slow.
"""
