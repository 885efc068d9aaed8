"""Requests to a vector service. They are repeated while the service is busy, and its refusals become our
errors."""

from __future__ import annotations

import importlib
import json
import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar
from urllib.parse import urlsplit

from rag_core.config.options import setting
from rag_core.errors import VectorError, VectorsUnreachable
from rag_core.installation import install_line
from rag_core.models.addresses import destination, server_name, shown
from rag_core.models.check import Found, Need, Unanswered, package_version
from rag_core.models.server import Server
from rag_core.vectors.folder import Running, running

SEARCH_ATTEMPTS = 3
CONNECT_S = 10.0
_LONGEST_WAIT = 20.0
_BUSY = {408, 425, 429}
_ABOUT_RECORDS = {400, 409, 413, 422}
_QUOTED = 160
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(ABC):
    """How to reach a vector service."""

    attempts: int = 7  #: Maximum number of times that a request is sent.
    timeout: float = setting("vectors_timeout_s", 30.0)  #: Maximum seconds for one request.
    backoff: float = 0.25  #: Seconds before the first retry, doubled each time.

    @property
    @abstractmethod
    def server(self) -> str:
        """The address of the server that receives the texts; '' if they stay in this process."""

    @property
    def destination(self) -> str:
        """Where texts are sent, in words."""
        return destination(self.server)

    @property
    def is_there(self) -> bool:
        """Whether there is a service that can be asked for its indexes."""
        return True


class Busy(Exception):
    """A request failed that may succeed later. Its text is the reason in a word or two, such as a status.
    ``wait_s`` is the number of seconds that the service asks to wait."""

    def __init__(self, reason: str, wait_s: float = 0.0) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


class ServiceRefused(VectorError):
    """The service understood a request and refused it. ``reason`` is its explanation, ``status`` the HTTP
    status, and ``name`` the service's own name for the reason. ``about_records`` means that the cause may be
    a record."""

    def __init__(
        self,
        message: str,
        suggestion: str,
        status: int,
        reason: str = "",
        name: str = "",
        *,
        about_records: bool = False,
    ) -> None:
        super().__init__(message, suggestion)
        self.status, self.reason, self.name, self.about_records = status, reason, name, about_records

    @property
    def is_absence(self) -> bool:
        """Whether the reason is that the index does not exist."""
        return self.status == 404


_Options = TypeVar("_Options", bound=Options)


class VectorService(ABC, Generic[_Options]):
    """A client of a vector service. Threads may share it. It connects at the first request."""

    remedy = "Check that it runs and can be reached."

    def __init__(self, options: _Options) -> None:
        self.options = options
        self._lock = threading.Lock()
        self._opened: Any = None

    @property
    @abstractmethod
    def called(self) -> str:
        """The service's name, as it stands at the beginning of a sentence."""

    @abstractmethod
    def _open(self) -> Any:
        """Return the client that ``_once`` uses. Raises VectorError if this machine is not set up for the
        service."""

    @abstractmethod
    def explained(self, error: Exception) -> Exception:
        """Convert an ``error`` of the client to Busy or VectorError. Other errors are returned unchanged."""

    def close(self) -> None:
        """Release local resources. The next request connects again."""

    def opened(self) -> Any:
        """Return the client; it is opened at the first call."""
        with self._lock:
            if self._opened is None:
                self._opened = self._open()
            return self._opened

    def ask(self, act: Callable[[Any], _T], attempts: int = 0) -> _T:
        """Call ``act`` with the client and return its result. While the service is busy, try up to
        ``attempts`` times (0: as in the options).

        Raises VectorsUnreachable if the service stays busy, ServiceRefused if it refuses, and VectorError if
        this machine is not set up for it.
        """
        limit = min(attempts or self.options.attempts, self.options.attempts)
        for attempt in range(1, limit + 1):
            try:
                try:
                    return self._once(self.opened(), act)
                except Exception as error:
                    raise self.explained(error) from None
            except Busy as busy:
                reason, wait_s = str(busy), busy.wait_s
            if attempt < limit:
                longest = self.options.backoff * 2 ** (attempt - 1) * random.uniform(0.5, 1)
                time.sleep(min(max(wait_s, longest), _LONGEST_WAIT))
        advice = f"{self.remedy} Changes that were not sent are sent with the next run."
        raise VectorsUnreachable(f"{self.called} cannot be used: {reason}.", advice)

    def _once(self, client: Any, act: Callable[[Any], _T]) -> _T:
        return act(client)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramOptions(Options):
    """The connection to a vector database: a server, or a library in this process."""

    url: str = ""  #: Address of the server; '' to use the library in this process.
    path: Path = Path()  #: Folder of the library. Only one process at a time can use it.
    port: ClassVar[int]  #: Default port of the server.

    @property
    def server(self) -> str:
        return f"{urlsplit(self.url).scheme}://{self.host}" if self.url else ""

    @property
    def host(self) -> str:
        """``HOST:PORT`` of the server; '' if there is no server."""
        return server_name(self.url, self.port) if self.url else ""

    @property
    def is_there(self) -> bool:
        return bool(self.url) or self.path.is_dir()  # asking creates no folder


_Settings = TypeVar("_Settings", bound=ProgramOptions)


class Program(VectorService[_Settings]):
    """A vector database that runs on a server, or in this process with a folder."""

    name: ClassVar[str]
    extra: ClassVar[str]  #: Our extra that installs `package`. Its setting ``…_url`` is the server.
    package: ClassVar[str]  #: The client package.
    module: ClassVar[str]  #: The module of `package` that is imported.
    access: ClassVar[str]  #: What to do if a server refuses access.
    wanted: ClassVar[str]  #: The program that must answer at the address.

    @staticmethod
    @abstractmethod
    def version_at(server: Server, options: Any) -> str | None:
        """Return the version that a server reports; '' if it reports none, and None if another program
        answers. Raises Unanswered if the server does not answer or refuses access."""

    @abstractmethod
    def _connect(self) -> Any:
        """Return a client of the server."""

    @abstractmethod
    def _start(self, folder: Path) -> Any:
        """Start the engine in ``folder`` and return it."""

    @staticmethod
    @abstractmethod
    def _stop(engine: Any) -> None:
        """Close the object that ``_connect`` or ``_start`` returned."""

    @classmethod
    def imported(cls, module: str = "") -> Any:
        """Import the package, or a module of it, and return it. Raises VectorError if the package is not
        installed."""
        try:
            return importlib.import_module(module or cls.module)
        except ImportError:
            message = f"The package {cls.package!r} is not installed."
            raise VectorError(message, f"Run {install_line(cls.extra)}.") from None

    @classmethod
    def check(cls, need: Need) -> Found:
        """Check that the server answers. Without a server, check that the folder can be used. Also check that
        the client package is installed."""
        options, install = need.options, f"Run {install_line(cls.extra)}."
        version = package_version(cls.package, cls.module)
        missing = f"The package {cls.package!r} is not installed."
        if options.url and version:
            return Found("ready", cls._answer_of(options))
        if options.url:
            return Found("not set up", f"{cls._answer_of(options)} {missing}", install)
        folder = f"Its folder is {str(options.path)!r}, for one process at a time."
        if version:
            present = f"The package {cls.package!r} {version} is installed."
            return Found("ready", f"{present} {folder}", goes=destination(""))
        return Found("not set up", f"{missing} {folder}", install, goes=destination(""))

    @classmethod
    def _answer_of(cls, options: Any) -> str:
        """Return a sentence that the server answers, with its version. Raises Unanswered."""
        start = f"Start it, or set `{cls.extra}_url` to where it is."
        version = cls.version_at(Server(cls.name, options.url, start, cls.access), options)
        if version is None:
            raise Unanswered(
                Found("unreachable", f"What answers at {options.url} is not {cls.wanted}.", start)
            )
        return f"{f'{cls.name} {version[:40]}'.strip()} at {options.url} answers."

    @property
    def called(self) -> str:
        host = self.options.host
        return f"{self.name} {f'at {host}' if host else f'in {str(self.options.path)!r}'}"

    def require(self, address: str, server: str) -> None:
        """Raise VectorError unless ``server``, from the index's ``address``, is the configured server. So
        notes and keys are never sent to another server."""
        host, setting = self.options.host, f"`{self.extra}_url`"
        if (server_name(f"http://{server}", self.options.port) if server else "") != host:
            raise VectorError(
                f"The index {shown(address)} is not where {setting} points to ({host or 'nowhere'}).",
                f"Set {setting} to its server, or remove it if the index is in a folder of this computer.",
            )

    def _open(self) -> Running[Any]:
        if self.options.url:
            return Running(self._connect(), nullcontext())
        return running(self.options.path, self.name, self._start, self._stop)

    def _once(self, client: Running[Any], act: Callable[[Any], _T]) -> _T:
        with client.lock:
            return act(client.engine)

    def close(self) -> None:
        with self._lock:
            found, self._opened = self._opened, None
        if found is not None and self.options.url:
            self._stop(found.engine)

    def answered(self, status: int, content: str, wait_s: float = 0.0, secret: str = "") -> Exception:
        """Return the exception for an HTTP answer that is not a success: Busy, with ``wait_s``, if the
        request may succeed later; else VectorError. Where it quotes ``content``, ``secret`` is replaced by
        ``…``."""
        if status in _BUSY or status >= 500:
            return Busy(f"status {status}", wait_s)
        if status in (401, 403):
            return VectorError(f"{self.called} refuses access (status {status}).", self.access)
        if status < 400:
            moved = f"{self.called} redirects to another address (status {status})."
            return VectorError(moved, f"Set `{self.extra}_url` to where it is.")
        with suppress(ValueError, LookupError, TypeError):  # no JSON, or another program's
            found = json.loads(content)
            content = str(found["message"] if "message" in found else found["status"]["error"])
        return self.refusal(status, content.replace(secret, "…") if secret else content)

    def refusal(self, status: int, said: str) -> ServiceRefused:
        """Return the error for a request that was understood but refused. It quotes the service's own words,
        ``said``."""
        reason = _quoted(said)
        return ServiceRefused(
            f"{self.called} refuses: {reason}.",
            "Check the collection and the address in the configuration.",
            status,
            reason,
            about_records=status in _ABOUT_RECORDS,
        )

    def mistaken(self) -> VectorError:
        """Return the error for an address where another program answers."""
        advice = f"Set `{self.extra}_url` to where it is."
        return VectorError(f"What answers at {self.options.host} is not {self.name}.", advice)

    def damage(self, error: Exception) -> VectorError:
        """Return the error for a folder that the engine in this process cannot read or write."""
        message = f"{self.called} cannot be read or written: {_quoted(str(error))}."
        advice = "Check the disk. If the folder is damaged, delete it, then run `commonplace verify --heal`."
        return VectorError(message, advice)


def _quoted(said: str) -> str:
    """Shorten the service's words to one line that can end a sentence."""
    line = " ".join(said.split()).rstrip(".")
    return (line if len(line) <= _QUOTED else f"{line[:_QUOTED]}…") or "it says nothing"
