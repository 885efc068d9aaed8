"""Live checks of what stores may use: models, servers, packages, vector services. No result shows a key."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from rag_core.errors import EmbedderError, InvalidInput, LLMError, RagError
from rag_core.models import ChatMessage, LLMOptions, open_llm
from rag_core.models.addresses import destination
from rag_core.models.chat import Call, stream_answer
from rag_core.models.check import Found, Unanswered, printable
from rag_core.models.deadline import in_background
from rag_core.providers import CHAT_MODELS, Provider
from rag_core.reports import Connection, ConnectionState
from rag_core.wording import GET_A_MODEL, some

_LOG = logging.getLogger(__name__)


LiveCheck = tuple[Connection, Callable[[], Found]]
"""A connection whose state is not known yet, and the function that checks it."""


def run_checks(checks: Sequence[LiveCheck], within_s: float = 5.0) -> list[Connection]:
    """Run the checks at the same time, and return the connections with their results, in order. If a check
    fails or takes longer than ``within_s`` seconds, the result says so."""
    futures = [in_background(f"checking {known.key}", look) for known, look in checks]
    wait(futures, within_s)
    connections = []
    for (known, _), future in zip(checks, futures, strict=True):
        error = future.exception() if future.done() else TimeoutError()
        match error:
            case None:
                result = future.result()
            case TimeoutError():
                sentence = f"It did not answer within {within_s:g} seconds."
                result = Found("unreachable", sentence, "Check the address and the network, then try again.")
            case Unanswered():
                result = error.found
            case RagError():
                result = Found("unreachable", error.message, error.next_step)
            case _:
                _LOG.error("a check of a connection ended with an error", exc_info=error)
                result = Found("unreachable", "It could not be checked.", "The log says why.")
        told = {part.name: getattr(result, part.name) for part in fields(result)}
        connections.append(replace(known, **{**told, "goes": result.goes or known.goes}))
    return connections


def goes(row: Provider, options: Any) -> str:
    """Say in words where a provider sends texts. No server is asked."""
    return row.goes or (sent_to(getattr(options, row.server)) if row.server else destination(""))


def sent_to(url: str) -> str:
    """Say in words where text sent to ``url`` goes; '' means that no server is set."""
    return destination(url) if url else "goes nowhere, as no server is set"


_LONGEST_S = 120.0
_ENOUGH = 16  # tokens; their text does not matter
_ASKED = (ChatMessage("user", "Answer with one word: yes."),)


def check_chat(
    name: str | None, options: LLMOptions, config_file: Path | None, within_s: float = 3.5
) -> Found:
    """Ask the model called ``name`` for one word, and list the models that can be chosen. If ``name`` is
    None, only list them. No note is sent.

    The options are those of an answer, because other options would make a server load the model again.
    """
    listing = in_background("listing models that chat", lambda: listed_models(CHAT_MODELS, options))
    result = _ask_chat(name, options, within_s) if name else None
    models: tuple[str, ...] = ()
    with suppress(TimeoutError):
        models = tuple(listing.result(0.5 if name else within_s))
    if result:
        if result.state == "unreachable" and models and name not in models:
            result = replace(result, state="not set up")  # the server is there, without this model
        return replace(result, models=models)
    file = config_file or "config.yaml"
    sentence = "No model is chosen to answer questions. None was found at Ollama or another server."
    step = f"{GET_A_MODEL} That file is {file}; the variable COMMONPLACE_LLM does the same."
    if models:
        sentence = f"No model is chosen to answer questions. These could: {some(models, 'model')}."
        step = f"Write `llm: {models[0]}` into {file}, or set COMMONPLACE_LLM."
    return Found("not set up", sentence, step, models=models)


def listed_models(table: Mapping[str, Provider], options: Any) -> list[str]:
    """Return the names of the models that can be chosen now, grouped by provider. Providers that do not
    answer are left out."""
    names: list[str] = []
    for row in table.values():
        with suppress(EmbedderError, Unanswered):
            names += row.imported(row.lists)(options) if row.lists else []
    return [*filter(printable, names)]


def _ask_chat(name: str, options: LLMOptions, within_s: float) -> Found:
    brief = replace(options, max_tokens=_ENOUGH, timeout_s=min(_LONGEST_S, options.timeout_s))
    began = time.perf_counter()
    try:
        llm = open_llm(name, brief)
        pieces = stream_answer(llm, _ASKED, brief, threading.Event(), Call())
        in_background("asking the model that answers", lambda: list(pieces)).result(within_s)
    except TimeoutError:
        sentence = f"{name!r} did not answer within {within_s:g} seconds. It may still be loading."
        return Found("unreachable", sentence, "Check again in a moment.")
    except (InvalidInput, LLMError) as error:
        state: ConnectionState = "unreachable" if isinstance(error, LLMError) else "not set up"
        return Found(state, error.message, error.next_step)
    return Found("ready", f"{name!r} answers in {time.perf_counter() - began:.1f} s.")
