"""REST and MCP on the app's port, and the JSON of every interface.

``answers`` and ``requests`` contain the models, ``operations`` the table of REST, ``encoding`` the writers of
JSON and CSV, ``app`` the routes, and ``mcp`` the tools.
"""
