"""The program ``commonplace``, also as ``python -m rag_core``: it can be stopped from its first moment on."""

import sys


def main() -> None:
    """Run the command line, which takes a moment to import."""
    try:
        from rag_core.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)  # as a shell counts what Ctrl-C ended
    run()


if __name__ == "__main__":
    main()
