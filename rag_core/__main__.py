"""The program ``commonplace``, also started with ``python -m rag_core``. Ctrl-C stops it at any moment."""

import gc
import os
import sys

_ONE_QUESTION = frozenset({"query", "show", "similar"})


def main() -> None:
    """Run the command line. The import is inside this function, because it takes a moment."""
    gc.set_threshold(10_000, 20, 20)  # imports make no garbage; looking for it takes a tenth of a query
    if _ONE_QUESTION.intersection(sys.argv[1:2]):  # numpy would start a thread a core, and they spin
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from rag_core.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)  # as a shell counts what Ctrl-C ended
    run()


if __name__ == "__main__":
    main()
