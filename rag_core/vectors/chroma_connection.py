"""Calls to Chroma, on a server or in this process: the client, retries, and errors in our words.

The package's own client waits for ever, asks the server while it is made, goes through a proxy to this
machine, and turns a failing server into a plain Exception. So its parts are put together here, with an HTTP
client of ours. It never has an embedding function: the default one downloads a model.
"""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from rag_core.errors import VectorError
from rag_core.models.servers.addresses import straight_to, whole_url
from rag_core.vectors.attempts import Passing, is_passing, quoted, until_answered, wait_of
from rag_core.vectors.chroma_place import PORT, ChromaOptions
from rag_core.vectors.folder import Running, running
from rag_core.vectors.programs import CHROMA, Program

if TYPE_CHECKING:
    import httpx

_CONNECT_S = 10.0
_T = TypeVar("_T")


class Engine(NamedTuple):
    """The package's parts, wired: what it is asked through, and all of it, to be ended."""

    api: Any
    system: Any


class _Answer(Exception):
    """An answer of the server that is none."""

    def __init__(self, status: int, said: str, wait_s: float) -> None:
        super().__init__(status)
        self.status = status
        self.said = said
        self.wait_s = wait_s


class ChromaConnection:
    """Chroma behind one ``call``. Safe to share between threads; reaches nothing before it is used."""

    def __init__(self, options: ChromaOptions) -> None:
        self._options = options
        self._program = Program(CHROMA, options.server, options.path)
        self._lock = threading.Lock()
        self._served: Engine | None = None
        self._running: Running[Engine] | None = None

    @property
    def called(self) -> str:
        """Its name at the beginning of a sentence."""
        return self._program.called

    def call(self, act: Callable[[Any], _T], *, attempts: int | None = None) -> _T:
        """What ``act`` gives, which asks the package's ``ServerAPI``, tried up to ``attempts`` times.

        Raises VectorsUnreachable when it is too busy or cannot be reached, Refused when it says no,
        VectorError when this machine is not set up for it.
        """
        limit = min(attempts or self._options.attempts, self._options.attempts)
        return until_answered(lambda: self._try(act), self.called, limit, self._options.backoff)

    def close(self) -> None:
        """Let go of the server or the folder; the next call opens it again."""
        with self._lock:
            served, self._served, self._running = self._served, None, None
        if served is not None:
            served.api._session.close()
            _stop(served)

    def _try(self, act: Callable[[Any], _T]) -> _T:
        engine = self._engine()
        import httpx

        errors = CHROMA.imported("chromadb.errors")
        try:
            return act(engine.api)
        except _Answer as answer:
            raise self._failure(answer) from None
        except httpx.UnsupportedProtocol:
            raise self._program.mistaken() from None
        except httpx.TransportError as error:
            raise Passing(type(error).__name__) from None
        except errors.InternalError as error:  # of the engine in this process; a server's comes as an answer
            raise self._program.damage(error) from error
        except errors.ChromaError as error:
            raise self._program.refusal(error.code(), quoted(str(error))) from None
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            if self._options.url and not _is_of_arguments(error):
                raise self._program.mistaken() from None
            raise self._program.refusal(400, quoted(str(error))) from None

    def _engine(self) -> Engine:
        with self._lock:
            if self._options.url:
                if self._served is None:
                    self._served = self._connected()
                return self._served
            if self._running is None:
                path = self._options.path
                assert path is not None  # noqa: S101 - so it is without a server
                self._running = running(path, "Chroma", _started, _stop)
            return self._running.engine

    # --- on a server ----------------------------------------------------------------

    def _connected(self) -> Engine:
        engine = _parts_of(
            chroma_api_impl="chromadb.api.fastapi.FastAPI",
            chroma_server_host=whole_url(self._options.url, PORT),
            chroma_server_http_port=PORT,
        )
        engine.api._session.close()
        engine.api._session = session = self._session(engine.api._session.headers)
        weakref.finalize(self, session.close)
        return engine

    def _session(self, headers: Any) -> httpx.Client:
        import httpx

        return httpx.Client(
            headers=headers,
            timeout=httpx.Timeout(self._options.timeout, connect=min(self._options.timeout, _CONNECT_S)),
            **straight_to(self._options.url),
            event_hooks={"response": [_raise_unless_well]},
        )

    def _failure(self, answer: _Answer) -> Exception:
        """What an answer that is none means."""
        if is_passing(answer.status):
            return Passing(f"it answered {answer.status}", answer.wait_s)
        if answer.status in (401, 403):
            return VectorError(
                f"{self.called} lets nobody in (status {answer.status}).",
                "Use a server without a key, or let a proxy on this machine add it.",
            )
        if answer.status < 400:
            return self._program.elsewhere(answer.status)
        return self._program.refusal(answer.status, quoted(_said(answer.said)))


def _raise_unless_well(response: httpx.Response) -> None:
    if response.status_code >= 300:
        response.read()
        wait_s = wait_of(response.headers.get("Retry-After", ""))
        raise _Answer(response.status_code, response.text, wait_s)


def _is_of_arguments(error: Exception) -> bool:
    """Whether the package refused what it was given, and did not trip over what a server answered."""
    return isinstance(error, ValueError) and not isinstance(error, json.JSONDecodeError)


def _said(content: str) -> str:
    """What a server says of a refusal."""
    try:
        return str(json.loads(content)["message"])
    except (ValueError, LookupError, TypeError):
        return content


# --- in this process --------------------------------------------------------------------


def _started(path: Path) -> Engine:
    errors = CHROMA.imported("chromadb.errors")
    try:
        return _parts_of(
            chroma_api_impl="chromadb.api.rust.RustBindingsAPI",
            is_persistent=True,
            persist_directory=str(path),
        )
    except errors.ChromaError as error:
        raise VectorError(
            f"The folder {str(path)!r} of Chroma cannot be opened: {quoted(str(error))}.",
            "Check the disk; if the folder is damaged, remove it and send everything again.",
        ) from error


def _parts_of(**settings: Any) -> Engine:
    config = CHROMA.imported("chromadb.config")
    quiet = {"_env_file": None, "anonymized_telemetry": False, "chroma_otel_collection_endpoint": ""}
    system = config.System(config.Settings(**settings, **quiet))
    api = system.instance(CHROMA.imported("chromadb.api").ServerAPI)
    system.start()
    return Engine(api, system)


def _stop(engine: Engine) -> None:
    engine.system.stop()
