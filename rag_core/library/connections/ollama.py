"""The models of an Ollama server: which it has, and having it fetch one."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any

import httpx

from rag_core.errors import EmbedderError, ModelMissing, Unreachable
from rag_core.library.connections.asking import CONNECT_S, READ_S
from rag_core.models.background import in_background
from rag_core.models.embedders.ollama import sizes
from rag_core.models.embedders.options import parse_name
from rag_core.models.servers.addresses import straight_to
from rag_core.models.servers.failure import quoted
from rag_core.models.servers.ollama import package
from rag_core.reports import OllamaModel, Pulling
from rag_core.wording import duration, size

_AT_ONCE = 8
_SILENCE_S = 600.0  # a large model is compared with its digest without a word
_LOOK_S = 0.2
_WINDOW_S = 5.0
_STEPS = {
    "pulling manifest": "Asking which parts it has",
    "verifying sha256 digest": "Checking what was fetched",
    "writing manifest": "Finishing",
    "success": "Done",
}

Report = Callable[[Pulling], None]
"""Called several times a second during a download; what it raises ends that."""


def full(model: str) -> str:
    """The name of a model as the server lists it: with its tag."""
    return model if ":" in model.rpartition("/")[2] else f"{model}:latest"


# --- which it has -----------------------------------------------------------------------


def installed(url: str) -> list[OllamaModel]:
    """The models of the server, those that can embed first. Raises EmbedderError."""
    with _client(url, READ_S) as client:
        with _explained(url):
            listed = [model for model in client.list().models if model.model]
            loaded = {model.model for model in client.ps().models}
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            models = list(pool.map(lambda each: _described(client, url, each, loaded), listed))
    return sorted(models, key=lambda model: (not model.embeds, model.name))


def _described(client: Any, url: str, listed: Any, loaded: set[str]) -> OllamaModel:
    with _explained(url, listed.model):
        shown = client.show(listed.model)
    facts: Mapping[str, Any] = shown.modelinfo or {}
    embeds = (
        any(name.endswith(".pooling_type") for name in facts)  # a server too old to tell
        if shown.capabilities is None
        else "embedding" in shown.capabilities
    )
    chats = not embeds if shown.capabilities is None else "completion" in shown.capabilities
    dimension, context = sizes(facts)
    return OllamaModel(
        name=listed.model,
        embeds=embeds,
        chats=chats,
        dimension=dimension if embeds else 0,
        context=context,
        size_bytes=int(listed.size or 0),
        loaded=listed.model in loaded,
        digest=listed.digest or "",
    )


# --- having it fetch one ----------------------------------------------------------------


def pull(url: str, model: str, report: Report) -> OllamaModel:
    """Have the server fetch a model, and say what it is.

    Ended by what ``report`` raises, it keeps what was fetched, and the next time goes on from there. Raises
    InvalidInput for what can be no name, ModelMissing when there is no such model, another EmbedderError
    when the server cannot fetch it.
    """
    name = parse_name(f"ollama:{model.strip().removeprefix('ollama:')}").model
    parts: queue.SimpleQueue[Any] = queue.SimpleQueue()
    stop = threading.Event()
    ended = in_background("fetching a model", lambda: _fetch(url, name, parts, stop))
    counted = _Counted()
    try:
        report(counted.now())
        while counted.take(parts):
            report(counted.now())
    finally:
        stop.set()
    with _explained(url, name):
        ended.result()
    if not counted.succeeded:
        raise EmbedderError(f"Ollama at {url} stopped fetching {name!r} half way.", "Try again.")
    with _client(url, READ_S) as client:
        with _explained(url, name):
            found = next((each for each in client.list().models if each.model == full(name)), None)
        if found is None:
            raise EmbedderError(f"Ollama at {url} fetched {name!r} and does not list it.", "Look at its log.")
        return _described(client, url, found, set())


def _fetch(url: str, model: str, parts: queue.SimpleQueue[Any], stop: threading.Event) -> None:
    """Put what the server says into ``parts``, and None behind it. It hears of ``stop`` when it says the next
    thing, several times a second as a rule; nobody waits for that."""
    try:
        with _client(url, _SILENCE_S) as client, closing(client.pull(model, stream=True)) as said:
            for part in said:
                if stop.is_set():
                    return
                parts.put(part)
    finally:
        parts.put(None)


class _Counted:
    """The bytes of a download, which comes in layers, and its pace in the last seconds."""

    def __init__(self) -> None:
        self.succeeded = False
        self._status = "pulling manifest"
        self._layers: dict[str, tuple[int, int]] = {}
        self._there = 0  # bytes that an earlier try had fetched
        self._samples: deque[tuple[float, int]] = deque()

    def take(self, parts: queue.SimpleQueue[Any]) -> bool:
        """Count all that has come, or wait a moment for more; False when no more comes."""
        try:
            part = parts.get(timeout=_LOOK_S)
            while part is not None:
                self._count(part)
                part = parts.get_nowait()
        except queue.Empty:
            return True
        return False

    def _count(self, part: Any) -> None:
        self._status = part.status or ""
        self.succeeded = self._status == "success"
        if part.digest and part.total:
            if part.digest not in self._layers:
                self._there += part.completed or 0
            self._layers[part.digest] = (part.completed or 0, part.total)

    def now(self) -> Pulling:
        """How far it is at this moment."""
        done = sum(done for done, _ in self._layers.values())
        total = sum(total for _, total in self._layers.values())
        moment = time.monotonic()
        self._samples.append((moment, done - self._there))
        while moment - self._samples[0][0] > _WINDOW_S:
            self._samples.popleft()
        first, before = self._samples[0]
        rate = max(done - self._there - before, 0) / (moment - first) if moment > first else 0.0
        if self._status in _STEPS or not total:
            return Pulling(_STEPS.get(self._status, "Fetching"), done, total)
        words = [f"{size(done)} of {size(total)}"]
        if not rate:
            return Pulling(words[0], done, total)
        eta = (total - done) / rate
        words += [f"{size(round(rate))}/s", f"{duration(eta)} left"]
        return Pulling(" · ".join(words), done, total, rate, eta)


# --- the package ------------------------------------------------------------------------


@contextmanager
def _client(url: str, read_s: float) -> Iterator[Any]:
    client = package(EmbedderError).Client(
        url,
        timeout=httpx.Timeout(read_s, connect=CONNECT_S),
        **straight_to(url),
    )
    try:
        yield client
    finally:
        client.close()


@contextmanager
def _explained(url: str, model: str = "") -> Iterator[None]:
    """Let what the package raises become an error for people."""
    here = f"Ollama at {url}"
    try:
        yield
    except package(EmbedderError).ResponseError as error:
        raise _refusal(here, model, error.status_code, str(error.error)) from None
    except (httpx.HTTPError, ConnectionError) as error:
        raise Unreachable(
            f"{here} does not answer: {type(error).__name__}.",
            "Start it there, or set `ollama_url` to where it is.",
        ) from None
    except (ValueError, TypeError, AttributeError):  # how the package takes other JSON, or none
        raise EmbedderError(f"What answers at {url} is not Ollama.", "Check `ollama_url`.") from None


def _refusal(here: str, model: str, status: int, said: str) -> EmbedderError:
    if status in (401, 403):
        return Unreachable(f"{here} refuses access (status {status}).", "Set OLLAMA_API_KEY.")
    if model and ("file does not exist" in said or status == 404):
        return ModelMissing(f"{here} finds no model called {model!r}.", "Look it up at ollama.com/library.")
    what = f"could not fetch {model!r}" if model else "refuses to list its models"
    return EmbedderError(f"{here} {what}: {quoted(said)}.", "Look at the server's log.")
