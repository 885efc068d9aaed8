"""Serving an assistant that speaks MCP."""

from __future__ import annotations

import click

from rag_core.cli.options import library_of_owner, setting_option


@click.command()
@setting_option(
    "--allow-writes", setting="mcp_allow_writes", is_flag=True,
    help="Let the assistant index files and take them out of the index, too.",
)  # fmt: skip
def mcp(allow_writes: bool) -> None:
    """Serve an assistant over MCP, on standard input and output.

    An assistant that is configured to starts this itself; it ends with its input. While the app runs, its
    address with /mcp behind it serves assistants, too.
    """
    from rag_core.api.mcp.stdio import serve_stdio

    serve_stdio(library_of_owner(), allow_writes=allow_writes)
