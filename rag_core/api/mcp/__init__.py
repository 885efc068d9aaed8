"""MCP: a thin face of the library for assistants, with the names, limits and JSON of the other faces.

``tools`` is the table of all there is, ``reading`` and ``writing`` ask the library, ``calls`` checks a call
and makes an answer of whatever comes of it, ``server`` says it as the protocol has it, ``stdio`` and ``http``
are the two ways in. Only the last three know the package ``mcp``, which takes most of a second to import.
"""
