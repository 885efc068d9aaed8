"""MCP: a thin face of the library for assistants, with the names, limits and JSON of the other faces.

``tools`` is the table of tools, ``reading`` and ``writing`` implement them, ``calls`` validates and answers a
call. ``server`` speaks the protocol over ``stdio`` or ``http``. Only these three import the package ``mcp``,
which takes most of a second.
"""
