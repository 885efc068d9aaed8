"""The stand-in as a process of its own."""

from __future__ import annotations

import json
import sys
from collections import Counter

from tests.vectors.s3vectors import Faults, Server


def main() -> None:
    """Serve until the input ends; the first line of output is the address, the last one counts the answers.

    Arguments: the share of requests that fail, and the seed of their choice.
    """
    with Server() as server:
        if len(sys.argv) > 1:
            server.faults = Faults(float(sys.argv[1]), int(sys.argv[2]))
        print(server.url, flush=True)
        sys.stdin.read()
        counts = Counter(f"{seen.operation} {seen.status}" for seen in server.seen)
        print(json.dumps(counts), flush=True)


if __name__ == "__main__":
    main()
