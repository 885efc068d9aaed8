"""Requests to a server of models: clients, failures and their errors, and a live check. The texts sent are
notes, and a server may repeat them in an error, so its words are quoted with care."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

from rag_core.errors import EmbedderError, LLMError, ModelMissing, Unreachable
from rag_core.models.addresses import is_local_server, straight_to
from rag_core.models.check import Found, Unanswered

if TYPE_CHECKING:
    import httpx

    from rag_core.reports import ConnectionState

FailureKind = Literal[
    "away", "busy", "slow", "failed", "no access", "redirects", "no model", "no chat", "no vision",
    "too long", "crashed", "refused",
]  # fmt: skip

_CONNECT_S = 5.0
QUESTION_S = 15.0  # seconds to wait for the vector of a question
CHECK_S = 3.0
_LONGEST_WAIT_S = 30.0
_QUOTED = 160
_PIECE = 12  # this many equal characters in a row are a repetition, not a coincidence
_WORD = 4  # a shorter text appears in many answers


class Failure(Exception):
    """The error of a request to a server. ``reason`` is the end of a sentence. ``kind`` tells what failed.

    *away*: nothing answers. *busy*: try again, after ``wait_s`` seconds if given. *failed*: an error of the
    server. *slow*: no answer in time. *too long*, *crashed*, *refused*: one of the texts may be the cause.

    *no access*: the key is missing or refused. *redirects*: the server names another address. *no model*, *no
    chat*, *no vision*: the server lacks the model, or the model cannot do this.
    """

    def __init__(self, kind: FailureKind, reason: str = "", wait_s: float = 0.0) -> None:
        super().__init__(reason)
        self.kind, self.reason, self.wait_s = kind, reason, wait_s

    @classmethod
    def of(cls, status: int, answer: str, *secrets: str, sent: Sequence[str] = (), wait_s: float = 0) -> Self:
        """Return the failure for an HTTP status, whatever the server. Its reason quotes ``answer``, the
        server's message, without ``secrets`` and without the ``sent`` texts."""
        if 300 <= status < 400:
            return cls("redirects", f"status {status}")
        if status in (401, 403):
            return cls("no access", f"status {status}")
        reason = quoted(answer, *secrets, sent=sent)
        if status in (429, 503):
            return cls("busy", reason, wait_s)
        return cls("refused" if 400 <= status < 500 else "failed", reason)

    def backoff_s(self, attempt: int, retry_s: float) -> float:
        """Return the seconds to wait after the failed ``attempt``, which counts from 0: ``retry_s``, doubled
        each time, or longer if the server asks for it."""
        return min(_LONGEST_WAIT_S, max(self.wait_s, retry_s * float(2**attempt)))


@dataclass(frozen=True, slots=True)
class Server:
    """A server as error messages name it."""

    name: str
    url: str
    start: str  #: What to do if the server does not answer.
    allow: str = ""  #: What to do if the server refuses access.
    model: str = ""  #: The model that errors name; '' if no model is requested.
    fetch: str = ""  #: What to do if the server lacks the ``model``.
    answers: bool = False  #: Whether the model answers questions.
    #: The setting with the time limit. If the server ``answers``, ``llm_timeout_s`` is used instead.
    timeout: str = "embedding_timeout_s"

    @property
    def called(self) -> str:
        """The server's name and address, such as ``Ollama at http://127.0.0.1:11434``, to begin a
        sentence."""
        return f"{self.name} at {self.url}"

    def error(self, failure: Failure) -> EmbedderError | LLMError:
        """Return the error that the owner sees for a failure after the last attempt."""
        called, model, reason = self.called, self.model, failure.reason
        away = f"{called} is not running." if is_local_server(self.url) else f"{called} does not answer."
        timeout = "llm_timeout_s" if self.answers else self.timeout
        hint = "Ask again, or look at its log." if self.answers else "The text can still be found by words."
        broken = (
            f"{called} broke off its answer." if self.answers else f"The model {model!r} crashes on the text."
        )
        moved = f"{called} redirects to another address ({reason})."
        message, suggestion = {
            "away": (away, self.start),
            "busy": (f"{called} is too busy: {reason}.", "Try again later."),
            "slow": (f"{called} did not answer in time.", f"Try again, or set `{timeout}` higher."),
            "failed": (f"{called} failed: {reason}.", "Look at the server's log."),
            "no access": (f"{called} refuses access ({reason}).", self.allow),
            "redirects": (moved, "If you trust that address, put it into the settings."),
            "no model": (f"{called} does not have the model {model!r}.", self.fetch),
            "no chat": (f"The model {model!r} of {called} cannot chat.", "Choose another as `llm`."),
            "no vision": (f"The model {model!r} of {called} sees no pictures.", "Choose another as `ocr`."),
            "too long": (f"The text is too long for the model {model!r}.", hint),
            "crashed": (broken, hint),
            "refused": (f"{called} refuses: {reason}.", "Look at the server's log."),
        }[failure.kind]
        kind: type[EmbedderError | LLMError] = EmbedderError
        if self.answers:
            kind = LLMError
        elif failure.kind == "no model":
            kind = ModelMissing
        elif failure.kind in ("away", "busy", "no access", "redirects"):
            kind = Unreachable
        return kind(message, suggestion)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Context manager: turn a Failure raised in the block into the error from `error`."""
        try:
            yield
        except Failure as failure:
            raise self.error(failure) from None


def http_client(
    url: str, key: str = "", read_s: float = CHECK_S, hook: Callable[[httpx.Request], None] | None = None
) -> httpx.Client:
    """Return a client for ``url`` that sends no credentials except ``key``. ``hook`` is called with every
    request."""
    import httpx

    headers = {"Authorization": f"Bearer {key}"} if key else {}
    hooks = {"request": [hook] if hook else []}
    return httpx.Client(headers=headers, **connection_to(url, read_s), event_hooks=hooks)


def connection_to(url: str, read_s: float) -> dict[str, Any]:
    """Return arguments for an httpx client: the timeouts, and the arguments of `straight_to`."""
    import httpx

    return {"timeout": httpx.Timeout(read_s, connect=min(_CONNECT_S, read_s)), **straight_to(url)}


@contextmanager
def http_failures(answer: str) -> Iterator[None]:
    """Context manager: turn errors of httpx and JSON into a Failure. ``answer`` is its reason if the answer
    cannot be read."""
    import httpx

    try:
        yield
    except (httpx.ConnectError, httpx.ConnectTimeout, ConnectionError):
        raise Failure("away") from None
    except httpx.TimeoutException:
        raise Failure("slow") from None
    except httpx.HTTPError:  # the connection was there, and broke
        raise Failure("crashed", "it hung up") from None
    except (ValueError, LookupError, TypeError, AttributeError):
        raise Failure("failed", answer) from None


def retry_after_s(headers: Mapping[str, str]) -> float:
    """Return the seconds that a response asks to wait; 0 if it names none, or names a date."""
    after = headers.get("retry-after", "")
    return float(after) if after.isascii() and after.isdecimal() else 0.0


def quoted(answer: str, *secrets: str, sent: Sequence[str] = ()) -> str:
    """Shorten a server's message to one line without ``secrets``, as the end of a sentence. If it repeats a
    part of the ``sent`` texts, say only that."""
    for secret in filter(None, secrets):
        answer = answer.replace(secret, "…")
    line = " ".join(answer.split())
    short = line if len(line) <= _QUOTED else f"{line[:_QUOTED]}…"
    for text in (" ".join(text.split()) for text in sent):
        size = min(_PIECE, len(text))
        if size >= _WORD and any(
            short[start : start + size] in text for start in range(len(short) - size + 1)
        ):
            return "it repeats what it was sent"
    return repr(short) if short else "it says nothing"


def probe(server: Server, path: str, key: str = "") -> tuple[int, Any]:
    """Return the status of the response for ``path``, and its JSON; None if it is not JSON. Raises Unanswered
    if the server does not answer, refuses access, redirects or fails."""
    try:
        with http_failures("its answer cannot be read"), http_client(server.url, key) as client:
            answer = client.get(f"{server.url}{path}")
        status = answer.status_code
        failure = Failure.of(status, "")
        if status >= 300 and failure.kind != "refused":
            raise Failure(failure.kind, f"status {status}")
    except Failure as failure:
        error = server.error(failure)
        state: ConnectionState = "refused" if failure.kind in ("no access", "redirects") else "unreachable"
        raise Unanswered(Found(state, error.message, error.suggestion)) from None
    try:
        return status, answer.json()
    except ValueError:
        return status, None
