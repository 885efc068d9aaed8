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

from rag_core.embedders.address import is_loopback, is_plain
from rag_core.errors import InvalidInput, VectorError
from rag_core.vectors.attempts import Passing, Refused, is_passing, quoted, until_answered
from rag_core.vectors.folder import Running, running
from rag_core.vectors.qdrant_place import PORT, QdrantOptions
from rag_core.vectors.server_url import whole_url

INSTALL_HINT = "Install it: `pip install 'commonplace[qdrant]'`."
KEY_VARIABLE = "COMMONPLACE_QDRANT_API_KEY"

_T = TypeVar("_T")


class QdrantConnection:
    """Qdrant behind one ``call``. Safe to share between threads; reaches nothing before it is used."""

    def __init__(self, options: QdrantOptions) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._client: Any = None
        self._running: Running[Any] | None = None
        if not options.url and options.path is None:
            raise InvalidInput(
                "The vector index 'qdrant' needs a server or a folder.",
                "Set `qdrant_url`, such as http://127.0.0.1:6333.",
            )

    @property
    def models(self) -> ModuleType:
        """The package's values. Raises VectorError when it is not installed."""
        models: ModuleType = _package().models
        return models

    @property
    def is_server(self) -> bool:
        """Whether it is on a server, which has indexes; in this process every vector is compared."""
        return bool(self._options.url)

    @property
    def called(self) -> str:
        """Its name at the beginning of a sentence."""
        if self.is_server:
            return f"Qdrant at {self._options.server}"
        return f"Qdrant in {str(self._options.path)!r}"

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
        from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
        from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

        try:
            return getattr(self._server(), operation)(collection, **arguments)
        except UnexpectedResponse as error:
            raise self._failure(error.status_code or 0, error.content.decode("utf-8", "replace")) from None
        except ResourceExhaustedResponse as error:
            raise Passing("it answered 429", float(error.retry_after_s)) from None
        except QdrantException:  # it named a day to wait for
            raise Passing("it answered 429") from None
        except ResponseHandlingException as error:
            source = error.source
            if isinstance(source, TransportError) and not isinstance(source, UnsupportedProtocol):
                raise Passing(type(source).__name__) from None
            raise self._not_qdrant() from None
        except (ValueError, AssertionError):  # what came is no JSON, or not all of it
            raise self._not_qdrant() from None

    def _server(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = self._connected()
            return self._client

    def _connected(self) -> Any:
        url, key = whole_url(self._options.url, PORT), self._options.api_key
        return _package().QdrantClient(
            url=url,
            headers={"api-key": key} if key else None,
            timeout=math.ceil(self._options.timeout),
            check_compatibility=False,  # it asks the server in the background, and warns on standard error
            trust_env=not is_loopback(url),  # what stays on this machine goes through nobody else's proxy
            verify=not is_plain(url),
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
            return VectorError(
                f"{self.called} sends us elsewhere (status {status}).", "Set `qdrant_url` to where it is."
            )
        reason = quoted(_said(content), self._options.api_key)
        return self._refused(status, reason)

    def _refused(self, status: int, reason: str) -> Refused:
        return Refused(
            f"{self.called} refuses: {reason}.",
            "Check the collection and the address in the configuration.",
            status,
            reason,
        )

    def _not_qdrant(self) -> VectorError:
        return VectorError(
            f"What answers at {self._options.server} is not Qdrant.", "Set `qdrant_url` to where it is."
        )

    # --- in this process ------------------------------------------------------------

    def _do(self, operation: str, collection: str, arguments: dict[str, object]) -> Any:
        found = self._engine()
        with found.turn:
            if operation not in _FOR_WHAT_MAY_BE_MISSING and not self._try(
                lambda: found.engine.collection_exists(collection)
            ):
                raise self._refused(404, f"there is no collection {collection!r}")
            return self._try(lambda: getattr(found.engine, operation)(collection, **arguments))

    def _try(self, act: Callable[[], _T]) -> _T:
        try:
            return act()
        except ValueError as error:
            raise self._refused(400, quoted(str(error))) from None
        except (sqlite3.Error, OSError) as error:
            raise self._damaged(error) from error

    def _engine(self) -> Running[Any]:
        with self._lock:
            if self._running is None:
                path = self._options.path
                assert path is not None  # noqa: S101 - so it is without a server
                self._running = running(path, "Qdrant", self._start, lambda engine: engine.close())
            return self._running

    def _start(self, path: Path) -> Any:
        client = _package().QdrantClient
        try:
            return client(path=str(path), force_disable_check_same_thread=True)  # we take turns
        except RuntimeError as error:
            raise VectorError(
                f"The folder {str(path)!r} of Qdrant is in use by another program.",
                "End that program, or run a server that both can use.",
            ) from error
        except (ValueError, sqlite3.Error, OSError) as error:
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> VectorError:
        return VectorError(
            f"{self.called} cannot be read or written: {quoted(str(error))}.",
            "Check the disk; if the folder is damaged, remove it and send everything again.",
        )


_FOR_WHAT_MAY_BE_MISSING = {"collection_exists", "create_collection", "delete_collection"}


def _said(content: str) -> str:
    """What a server says of a refusal."""
    try:
        return str(json.loads(content)["status"]["error"])
    except (ValueError, LookupError, TypeError):
        return content


def _package() -> Any:
    try:
        import qdrant_client
    except ImportError:
        raise VectorError("The package 'qdrant-client' is not installed.", INSTALL_HINT) from None
    return qdrant_client
