"""REST and MCP on the app's port, and the JSON of every face.

``answers`` holds the models of all that is answered, ``requests`` of all that may be asked; ``operations`` is
the table of REST, ``openapi`` the document made of it, ``http`` what is asked of HTTP, ``encoding`` JSON and
CSV, ``app`` puts them together. ``mcp`` is the door for assistants.
"""
