"""The services that vector indexes are tried with: each started when it is first needed, once a session.

Where the environment names a service, that one is used instead of one of ours:

COMMONPLACE_TEST_S3VECTORS  a bucket prefix of your own, and if need be _REGION, _PROFILE and _ENDPOINT
COMMONPLACE_TEST_QDRANT     the address of a Qdrant server, and if need be _KEY
COMMONPLACE_TEST_CHROMA     the address of a Chroma server

What is made there has ``contract-`` in its name and is deleted again.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from rag_core.vectors.chroma import ChromaOptions
from rag_core.vectors.qdrant import QdrantOptions
from rag_core.vectors.s3vectors import S3Options
from tests.support.standin import free_port, serving
from tests.vectors.s3vectors import Server
from tests.vectors.s3vectors.http import REGION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from _pytest.mark import ParameterSet

S3_SWITCH = "COMMONPLACE_TEST_S3VECTORS"
QDRANT_SWITCH = "COMMONPLACE_TEST_QDRANT"
CHROMA_SWITCH = "COMMONPLACE_TEST_CHROMA"


def some_thorough(names: Iterable[str]) -> list[ParameterSet]:
    """The names of places for vectors as parameters: `make test` holds the contracts to S3 Vectors and the
    store's own file, `make test-rest` to Qdrant and Chroma."""
    others = [name for name in names if name.startswith(("qdrant", "chroma"))]
    return [pytest.param(name, marks=pytest.mark.thorough if name in others else ()) for name in names]


class Services:
    """``folder`` is for what engines in this process and servers of ours write."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self._stack = stack

    @cached_property
    def s3(self) -> S3Options:
        if prefix := os.environ.get(S3_SWITCH):
            return S3Options(
                bucket_prefix=prefix,
                region=os.environ.get(f"{S3_SWITCH}_REGION", ""),
                profile=os.environ.get(f"{S3_SWITCH}_PROFILE", ""),
                endpoint_url=os.environ.get(f"{S3_SWITCH}_ENDPOINT", ""),
            )
        server = self._stack.enter_context(Server())
        return S3Options(region=REGION, endpoint_url=server.url, backoff=0.01)

    @cached_property
    def qdrant(self) -> QdrantOptions:
        if url := os.environ.get(QDRANT_SWITCH):
            return QdrantOptions(url=url, api_key=os.environ.get(f"{QDRANT_SWITCH}_KEY", ""))
        from tests.vectors.qdrant_server import QdrantServer  # its package takes half a second

        server = self._stack.enter_context(serving(QdrantServer()))
        return QdrantOptions(url=server.url, backoff=0.01)

    @cached_property
    def chroma(self) -> ChromaOptions:
        if url := os.environ.get(CHROMA_SWITCH):
            return ChromaOptions(url=url)
        return ChromaOptions(url=self._stack.enter_context(chroma_server(self.folder)), backoff=0.01)


@contextmanager
def chroma_server(folder: Path) -> Iterator[str]:
    """Chroma's own server, on a free port of the loopback; what it says is printed when it fails."""
    port = str(free_port())
    url = f"http://127.0.0.1:{port}"
    command = [str(Path(sys.executable).with_name("chroma")), "run", "--path", str(folder / "served")]
    log = folder / "chroma.log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", port], stdout=output, stderr=output, cwd=folder
        )
    try:
        _wait_for(f"{url}/api/v2/heartbeat", server, log)
        yield url
    finally:
        server.terminate()
        server.wait(20)


def _wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end and server.poll() is None:
        try:
            httpx.get(url, timeout=2, trust_env=False)
        except httpx.TransportError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError(f"Chroma's server did not start:\n{log.read_text('utf-8', 'replace')}")
