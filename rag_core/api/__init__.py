"""REST and MCP on the app's port, and the JSON of every interface. ``answers`` and ``requests`` hold the
models, ``operations`` the table of REST, ``encoding`` writes JSON and CSV, ``app`` has the routes, ``mcp``
tools."""
