"""The program ``commonplace``, also as ``python -m rag_core``: it can be stopped from its first moment on."""

from __future__ import annotations

import sys
from typing import NoReturn

from rag_core.errors import RagError


def main() -> None:
    """Run the command line, which takes a moment to import."""
    try:
        from rag_core.cli import main as run
    except KeyboardInterrupt:
        _stop(RagError("Stopped.", "Nothing was changed."))
    run()


def _stop(error: RagError) -> NoReturn:
    """End as the command line does, without anything of it."""
    if "--json" in sys.argv:
        import json

        print(json.dumps(error.as_dict()))
    else:
        print(f"Error: {error.message}\n{error.suggestion}", file=sys.stderr)
    sys.exit(130)  # as a shell counts what Ctrl-C ended


if __name__ == "__main__":
    main()
