"""REST and MCP on the app's port, and the JSON of every face.

``answers`` and ``requests`` hold the models, ``operations`` the table of REST and ``openapi`` its document.
``encoding`` writes JSON and CSV, ``http`` reads requests, ``app`` has the routes. ``mcp`` serves assistants.
"""
