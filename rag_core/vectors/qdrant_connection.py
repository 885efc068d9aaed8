"""Calls to Qdrant, on a server or in this process: the client, retries, and errors in our words."""

from __future__ import annotations

import json
import math
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from rag_core.errors import VectorError
from rag_core.models.servers.addresses import straight_to, whole_url
from rag_core.vectors.attempts import Passing, is_passing, quoted, until_answered
from rag_core.vectors.folder import Running, running
from rag_core.vectors.programs import QDRANT, Program
from rag_core.vectors.qdrant_place import PORT, QdrantOptions

KEY_VARIABLE = "COMMONPLACE_QDRANT_API_KEY"

_T = TypeVar("_T")


class QdrantConnection:
    """Qdrant behind one ``call``. Safe to share between threads; reaches nothing before it is used."""

    def __init__(self, options: QdrantOptions) -> None:
        self._options = options
        self._program = Program(QDRANT, options.server, options.path)
        self._lock = threading.Lock()
        self._client: Any = None
        self._running: Running[Any] | None = None

    @property
    def models(self) -> ModuleType:
        """The package's values. Raises VectorError when it is not installed."""
        models: ModuleType = QDRANT.imported().models
        return models

    @property
    def is_server(self) -> bool:
        """Whether it is on a server, which has indexes; in this process every vector is compared."""
        return bool(self._options.url)

    @property
    def called(self) -> str:
        """Its name at the beginning of a sentence."""
        return self._program.called

    def call(
        self, operation: str, collection: str, *, attempts: int | None = None, **arguments: object
    ) -> Any:
        """What ``operation``, a method of the package's client, gives for ``collection``, tried up to
        ``attempts`` times.

        Raises VectorsUnreachable when it is too busy or cannot be reached, Refused when it says no,
        VectorError when this machine is not set up for it.
        """
        act = self._ask if self.is_server else self._do
        limit = min(attempts or self._options.attempts, self._options.attempts)
        return until_answered(
            lambda: act(operation, collection, arguments), self.called, limit, self._options.backoff
        )

    def close(self) -> None:
        """Let go of the server or the folder; the next call opens it again."""
        with self._lock:
            client, self._client, self._running = self._client, None, None
        if client is not None:
            client.close()

    # --- on a server ----------------------------------------------------------------

    def _ask(self, operation: str, collection: str, arguments: dict[str, object]) -> Any:
        from httpx import TransportError, UnsupportedProtocol

        busy = QDRANT.imported("qdrant_client.common.client_exceptions")
        http = QDRANT.imported("qdrant_client.http.exceptions")
        try:
            return getattr(self._server(), operation)(collection, **arguments)
        except http.UnexpectedResponse as error:
            raise self._failure(error.status_code or 0, error.content.decode("utf-8", "replace")) from None
        except busy.ResourceExhaustedResponse as error:
            raise Passing("it answered 429", float(error.retry_after_s)) from None
        except busy.QdrantException:  # it named a day to wait for
            raise Passing("it answered 429") from None
        except http.ResponseHandlingException as error:
            source = error.source
            if isinstance(source, TransportError) and not isinstance(source, UnsupportedProtocol):
                raise Passing(type(source).__name__) from None
            raise self._program.mistaken() from None
        except (ValueError, AssertionError):  # what came is no JSON, or not all of it
            raise self._program.mistaken() from None

    def _server(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = self._connected()
            return self._client

    def _connected(self) -> Any:
        url, key = whole_url(self._options.url, PORT), self._options.api_key
        return QDRANT.imported().QdrantClient(
            url=url,
            headers={"api-key": key} if key else None,
            timeout=math.ceil(self._options.timeout),
            check_compatibility=False,  # it asks the server in the background, and warns on standard error
            **straight_to(url),
        )

    def _failure(self, status: int, content: str) -> Exception:
        """What an answer that is none means."""
        if is_passing(status):
            return Passing(f"it answered {status}")
        if status in (401, 403):
            return VectorError(
                f"{self.called} refuses the key (status {status}).", f"Set {KEY_VARIABLE}, best in .env."
            )
        if status < 400:
            return self._program.elsewhere(status)
        return self._program.refusal(status, quoted(_said(content), self._options.api_key))

    # --- in this process ------------------------------------------------------------

    def _do(self, operation: str, collection: str, arguments: dict[str, object]) -> Any:
        found = self._engine()
        with found.turn:
            if operation not in _FOR_WHAT_MAY_BE_MISSING and not self._try(
                lambda: found.engine.collection_exists(collection)
            ):
                raise self._program.refusal(404, f"there is no collection {collection!r}")
            return self._try(lambda: getattr(found.engine, operation)(collection, **arguments))

    def _try(self, act: Callable[[], _T]) -> _T:
        try:
            return act()
        except ValueError as error:
            raise self._program.refusal(400, quoted(str(error))) from None
        except (sqlite3.Error, OSError) as error:
            raise self._program.damage(error) from error

    def _engine(self) -> Running[Any]:
        with self._lock:
            if self._running is None:
                path = self._options.path
                assert path is not None  # noqa: S101 - so it is without a server
                self._running = running(path, "Qdrant", self._start, lambda engine: engine.close())
            return self._running

    def _start(self, path: Path) -> Any:
        client = QDRANT.imported().QdrantClient
        try:
            return client(path=str(path), force_disable_check_same_thread=True)  # we take turns
        except RuntimeError as error:
            raise VectorError(
                f"The folder {str(path)!r} of Qdrant is in use by another program.",
                "End that program, or run a server that both can use.",
            ) from error
        except (ValueError, sqlite3.Error, OSError) as error:
            raise self._program.damage(error) from error


_FOR_WHAT_MAY_BE_MISSING = {"collection_exists", "create_collection", "delete_collection"}


def _said(content: str) -> str:
    """What a server says of a refusal."""
    try:
        return str(json.loads(content)["status"]["error"])
    except (ValueError, LookupError, TypeError):
        return content
