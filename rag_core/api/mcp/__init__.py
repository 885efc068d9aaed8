"""MCP: a thin face of the library for assistants, with the names, limits and JSON of the other faces.

``tools`` is the table of tools, ``reading`` and ``writing`` implement them, ``calls`` validates and answers a
call. ``server`` speaks the protocol, also over standard input, and ``http`` serves it on the app's port. Only
these two import the package ``mcp``, which takes most of a second.
"""
