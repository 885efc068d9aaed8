"""Ollama, on this machine or another, through its own package: embedding, chat, its models, and a live check.

If one text of a request is bad, the server fails the whole request without naming the text. It also cuts long
texts silently unless that is forbidden. `Remote` handles both.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from rag_core import system
from rag_core.errors import EmbedderError
from rag_core.messages import say
from rag_core.models.addresses import host_of, is_local_server
from rag_core.models.chat import Call, ChatMessage, LLMOptions
from rag_core.models.check import Found, Need, Unanswered, written
from rag_core.models.embedder import EmbedderName, EmbedderOptions, dimension_error, parse_name
from rag_core.models.families import family_of
from rag_core.models.ocr import MOST_TOKENS, OcrOptions
from rag_core.models.remote import RemoteEmbedder
from rag_core.models.server import CHECK_S, QUESTION_S, Failure, Server, connection_to, http_failures, probe
from rag_core.providers import EMBEDDERS
from rag_core.reports import OllamaModel, Pulling
from rag_core.wording import duration, plural, size, some

if TYPE_CHECKING:
    from ollama import ChatResponse, Client, ProgressResponse

_CONTEXT = 2048
"""Maximum tokens that a model is asked to read. No passage needs more, and memory use grows with this
number."""

KEEP_ALIVE_S = 1800
"""Seconds that an unused model stays in the server's memory."""

_LEAST_DIMENSION = 32
_SEEING = 8192  # maximum tokens read and written for a picture; the picture itself takes up to 3,000
_CRASHED = ("eof", "do embedding request", "connection reset", "connection refused", "forcibly closed")
_AT_ONCE = 8
_SILENCE_S = 600.0  # seconds; comparing a large model with its digest shows no progress
_REPORT_S = 0.2
PullReport = Callable[[Pulling], None]
"""Called during a download, at most five times a second. If it raises an error, the download ends."""


class Ollama:
    """An Ollama server and one of its models. Raises EmbedderError or LLMError if OLLAMA_HOST is not an
    address."""

    def __init__(
        self, url: str, model: str = "", *, answers: bool = False, timeout: str = "embedding_timeout_s"
    ) -> None:
        where = "" if is_local_server(url) else f" on {host_of(url)}"
        start = "Start it (`ollama serve`), or set `ollama_url` to where it is."
        allow = "Set OLLAMA_API_KEY, or allow this computer there."
        fetch = f"Run `ollama pull {system.quote(model)}`{where}."
        self.server = Server("Ollama", url, start, allow, model, fetch, answers, timeout)
        try:
            import ollama
        except ValueError:
            raise self.server.error(Failure("failed", "OLLAMA_HOST is not an address")) from None
        self._package = ollama

    def client(self, read_s: float, call: Call | None = None) -> Client:
        """Return a client of the server that waits at most ``read_s`` seconds for data. ``call`` can end its
        request. The caller closes the client."""
        hooks = {"request": [call.hook] if call else []}
        url = self.server.url
        return self._package.Client(url, **connection_to(url, read_s), event_hooks=hooks)

    @contextmanager
    def explained(self, sent: Sequence[str] = ()) -> Iterator[None]:
        """Context manager: turn errors of the package into a Failure. It does not quote the texts that were
        ``sent``."""
        try:
            with http_failures("what answers there is not Ollama"):
                yield
        except self._package.ResponseError as error:
            raise self._failure(error.status_code, str(error.error), sent) from None

    def _failure(self, status: int, answer: str, sent: Sequence[str]) -> Failure:
        words = answer.lower()
        if "file does not exist" in words or (status == 404 and self.server.model):
            return Failure("no model")
        if status == 404:
            return Failure("failed", "what answers there is not Ollama")
        if "does not support chat" in words:
            return Failure("no chat")
        failure = Failure.of(status, answer, sent=sent)
        if failure.kind not in ("failed", "refused"):
            return failure
        if "nan or inf" in words or "value: nan" in words:
            return Failure("refused", "the model gives no numbers for the text (NaN)")
        if "context length" in words:
            return Failure("too long", failure.reason)
        return Failure("crashed", failure.reason) if any(sign in words for sign in _CRASHED) else failure


def open_ollama(name: EmbedderName, options: EmbedderOptions) -> RemoteEmbedder:
    """Open the embedder ``ollama:MODEL``, asking the server for the model. Raises ModelMissing if the server
    does not have it, Unreachable if the server does not answer, and InvalidInput for a dimension that the
    model cannot produce."""
    backend = _Embedding(name, options)
    model = name.model
    with backend.server.explained(), backend.explained():
        facts = backend.brisk.show(model).modelinfo or {}
        models = backend.brisk.list().models
    dimension, context = _sizes(facts)
    if not dimension or not context:
        message = f"{backend.server.called} does not fully describe the model {model!r}."
        raise EmbedderError(message, "Update Ollama, or choose another model.")
    digest = next((known.digest for known in models if known.model == _tagged(model)), None) or ""
    family = family_of(name.model)
    shortened = family.shortens and _LEAST_DIMENSION <= (name.dimension or 0) < dimension
    if name.dimension not in (None, dimension) and not shortened:
        raise dimension_error(name.model, name.dimension or 0, dimension)
    context = backend.context = min(context, family.max_tokens or context, options.context or _CONTEXT)
    plain = model.removesuffix(":latest")
    return RemoteEmbedder(
        backend, name, options, family, model=plain, dimension=dimension, context=context, digest=digest
    )


class _Embedding(Ollama):
    """A model that embeds; see `remote.EmbeddingServer`. ``context`` is the maximum number of tokens of a
    text."""

    stays_loaded_s = KEEP_ALIVE_S / 2
    context = _CONTEXT

    def __init__(self, name: EmbedderName, options: EmbedderOptions) -> None:
        super().__init__(options.ollama_url, name.model)
        self._dimension = name.dimension
        self._patient = self.client(options.timeout_s)
        self.brisk = self.client(min(QUESTION_S, options.timeout_s))
        for client in (self._patient, self.brisk):
            weakref.finalize(self, client.close)

    def load(self) -> None:
        self.embed("", question=False)

    def embed(self, texts: Sequence[str], *, question: bool) -> Sequence[Sequence[float]]:
        """See `EmbeddingServer.embed`. The options are always the same, because other options would make the
        server load the model again."""
        client = self.brisk if question else self._patient
        with self.explained(texts):
            return client.embed(
                self.server.model,
                texts,
                truncate=False,
                options={"num_ctx": self.context, "num_batch": self.context},  # a text is one batch
                keep_alive=KEEP_ALIVE_S,
                dimensions=self._dimension,
            ).embeddings


class OllamaChat(Ollama):
    """A model of Ollama that answers questions; an `LLM`."""

    def __init__(self, model: str, options: LLMOptions) -> None:
        super().__init__(options.ollama_url, model, answers=True)
        self._options = options

    def chat(self, messages: Sequence[ChatMessage], call: Call) -> Iterator[str]:
        """Return the answer in non-empty pieces, and store in ``call`` how the request ended. Raises Failure.
        The options are always the same, because other options would make the server load the model again."""
        options = self._options
        numbers = {"temperature": options.temperature, "num_predict": options.max_tokens}
        numbers["num_ctx"] = options.context  # otherwise the beginning is cut silently
        client = self.client(options.timeout_s, call)
        with closing(client), self.explained([message.content for message in messages]):
            parts: Iterator[ChatResponse] = client.chat(
                self.server.model,
                [asdict(message) for message in messages],
                stream=True,
                options=numbers,
                keep_alive=KEEP_ALIVE_S,
            )
            for part in parts:
                if part.message.content:
                    yield part.message.content
                if part.done:
                    call.end("too long" if part.done_reason == "length" else "done")


class OllamaOcr(Ollama):
    """A model of Ollama that reads pictures; an `ocr.VisionModel`."""

    def __init__(self, model: str, options: OcrOptions) -> None:
        super().__init__(options.ollama_url, model, timeout="extractor_timeout_s")
        self._timeout_s = options.timeout_s
        self._prompt = options.prompt
        self._sees = False

    def transcribe(self, picture: bytes) -> str:
        """Return the text in a PNG or JPEG, with a description if the settings ask for it. Raises Failure,
        also for a model without vision, which would invent a text."""
        client = self.client(self._timeout_s)
        with closing(client), self.explained():
            if not self._sees:
                can = client.show(self.server.model).capabilities
                if can is not None and "vision" not in can:
                    raise Failure("no vision")
                self._sees = True
            answer = client.chat(
                self.server.model,
                [{"role": "user", "content": self._prompt, "images": [picture]}],
                options={"temperature": 0, "num_predict": MOST_TOKENS, "num_ctx": _SEEING},
                keep_alive=KEEP_ALIVE_S,
            )
            return answer.message.content or ""


def list_models(url: str) -> list[OllamaModel]:
    """Return the models of the server, embedding models first. Raises EmbedderError if the server does not
    answer or fails."""
    ollama = Ollama(url)
    with ollama.server.explained(), closing(ollama.client(CHECK_S)) as client, ollama.explained():
        models = [model for model in client.list().models if model.model]
        loaded = {model.model for model in client.ps().models}
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            shown = list(pool.map(lambda each: client.show(each.model or ""), models))
    listed = []
    for model, about in zip(models, shown, strict=True):
        can = about.capabilities or ()
        embeds, chats = "embedding" in can, "completion" in can
        dimension, context = _sizes(about.modelinfo or {})
        listed.append(OllamaModel(
            name=model.model or "", embeds=embeds, chats=chats, dimension=dimension if embeds else 0,
            context=context, size_bytes=int(model.size or 0), loaded=model.model in loaded,
            digest=model.digest or "",
        ))  # fmt: skip
    return sorted(listed, key=lambda model: (not model.embeds, model.name))


def answering_ollama(options: LLMOptions) -> list[str]:
    """Return the names of the models that can chat. Raises EmbedderError if the server does not answer or
    fails."""
    return [f"ollama:{model.called}" for model in list_models(options.ollama_url) if model.chats]


def _sizes(facts: Mapping[str, Any]) -> tuple[int, int]:
    """Return the dimension and the context length that a model reports; 0 for each that it does not
    report."""
    kind = facts.get("general.architecture", "")
    return int(facts.get(f"{kind}.embedding_length") or 0), int(facts.get(f"{kind}.context_length") or 0)


def pull(url: str, model: str, report: PullReport) -> OllamaModel:
    """Let the server download a model, and return its description. Raises InvalidInput for a malformed name,
    ModelMissing if there is no such model, and EmbedderError for other failures."""
    name = parse_name(f"ollama:{model.strip().removeprefix('ollama:')}").model
    ollama = Ollama(url, name)
    server = replace(ollama.server, fetch="Look it up at ollama.com/library.")
    with server.explained(), closing(ollama.client(_SILENCE_S)) as client, ollama.explained():
        for progress in _progress(client.pull(name, stream=True)):
            report(progress)
        return next(known for known in list_models(url) if known.name == _tagged(name))


def _progress(parts: Iterator[ProgressResponse]) -> Iterator[Pulling]:
    """Return the progress of a download, at most five times a second. Raises Failure if it stops half way."""
    layers: dict[str, tuple[int, int]] = {}
    status, before, began, reported = "", 0, time.monotonic(), 0.0
    for part in parts:
        is_step, status = part.status != status, part.status or ""
        if part.digest and part.total:
            if part.digest not in layers:
                before += part.completed or 0  # an earlier try downloaded these bytes
            layers[part.digest] = part.completed or 0, part.total
        now = time.monotonic()
        if not is_step and now - reported < _REPORT_S:
            continue
        reported = now
        done, total = (sum(layer[column] for layer in layers.values()) for column in (0, 1))
        sentence = f"{size(done)} of {size(total)}" if part.total else status.capitalize()
        if part.total and (rate := (done - before) / max(now - began, 1e-6)) > 0:
            sentence += f" · {size(round(rate))}/s · {duration((total - done) / rate)} left"
        yield Pulling(sentence, done, total)
    if status != "success":
        raise Failure("failed", "the download stopped half way")


def _tagged(model: str) -> str:
    """Return the name of a model with its tag, as the server lists it."""
    return model if ":" in model.rpartition("/")[2] else f"{model}:latest"


def check_ollama(need: Need) -> Found:
    """Live check: the server's version, and its models that can embed. A missing server is a fault only if a
    setting or a store names it."""
    settings, url = need.settings, need.options.ollama_url
    server = Ollama(url).server
    try:
        status, answer = probe(server, "/api/version")
    except Unanswered as error:
        is_wanted = settings.ollama_url or need.stores or settings.embedder.startswith("ollama")
        if is_wanted or error.found.state != "unreachable":
            raise
        elsewhere = written("ollama_url", "http://HOST:11434", settings.config_file)
        step = "Get it from https://ollama.com/download and start it."
        return Found(
            "not set up",
            error.found.sentence,
            f"{step} If it is on another computer, set its address. {elsewhere}",
        )
    number = answer.get("version") if isinstance(answer, dict) else None
    if status != 200 or not isinstance(number, str):
        return Found("unreachable", f"What answers at {url} is not Ollama.", server.start)
    return _can_embed(f"Ollama {number[:40]} at {url}", list_models(url), need.models)


def _can_embed(here: str, models: Sequence[OllamaModel], needed: Sequence[str]) -> Found:
    """Return the result of the check: the models that can embed. It is a fault if the server lacks models
    that stores need, or if no model can embed."""
    able = [model for model in models if model.embeds]
    names = tuple(model.embedder for model in able)
    there = {model.name for model in models}
    if missing := [name for name in dict.fromkeys(needed) if _tagged(name) not in there]:
        sentence = f"{here} lacks {', '.join(map(repr, missing))}, which a store needs."
        return Found("not set up", sentence, say("pull_model", model=missing[0]), embedders=names)
    if not able:
        sentence = f"{here} has {plural(len(models), 'model')}, and none that can embed."
        return Found("not set up", sentence, say("pull_model", model=EMBEDDERS["ollama"].after.usual or ""))
    described = [
        f"{known.called} ({known.dimension:,} numbers, {known.context:,} tokens{', loaded' * known.loaded})"
        for known in able
    ]
    return Found("ready", f"{here} can embed with {some(described, 'model')}.", embedders=names)
