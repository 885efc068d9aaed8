"""The model that answers questions: whether the one that is chosen answers, and which could be chosen."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

from rag_core.errors import EmbedderError, InvalidInput, LLMError
from rag_core.library.connections import ollama
from rag_core.library.connections.asking import ask, listed, model_ids, printable
from rag_core.library.connections.check import Found, Unanswered, written
from rag_core.models.background import in_background
from rag_core.models.chat import LLM, Call, LLMOptions, Message, open_llm
from rag_core.models.chat.talk import talk
from rag_core.models.servers.addresses import with_version
from rag_core.wording import GET_A_MODEL

PATIENCE_S = 3.5
"""How long is waited for a word of the model. It may have to be loaded, which goes on meanwhile."""

_LONGEST_S = 120.0
_ENOUGH = 16  # tokens; what they say does not matter
_ASKED = (Message("user", "Answer with one word: yes."),)


def chat_model(
    name: str | None, options: LLMOptions, config_file: Path | None, patience_s: float = PATIENCE_S
) -> Found:
    """The model called ``name`` (None: none is chosen), asked for a word, and those that could be chosen.

    No note goes anywhere. Its server is asked with the same options as for an answer: others would have it
    load the model again.
    """
    able = in_background("listing models that chat", lambda: _able(options))
    if name is None:
        return _unchosen(_within(able, patience_s), config_file)
    found = _answering(name, options, patience_s)
    models = _within(able, 0.5)
    if found.state == "unreachable" and models and name not in models:
        found = replace(found, state="not set up")  # somebody is there, without this model
    return replace(found, models=models)


def _unchosen(models: tuple[str, ...], config_file: Path | None) -> Found:
    get_one = f"{GET_A_MODEL} in {config_file or 'config.yaml'}"
    step = written("llm", models[0], config_file) if models else get_one
    there = f"These could: {listed(models)}." if models else "None was found at Ollama or another server."
    return Found(
        "not set up",
        f"No model is chosen to answer questions. {there}",
        f"{step[:1].upper()}{step[1:]}, or set COMMONPLACE_LLM.",
        models=models,
    )


# --- asking it --------------------------------------------------------------------------


def _answering(name: str, options: LLMOptions, patience_s: float) -> Found:
    brief = replace(options, max_tokens=_ENOUGH, timeout_s=min(_LONGEST_S, options.timeout_s))
    try:
        llm = open_llm(name, brief)
        took = in_background("asking the model that answers", lambda: _seconds_of(llm, brief))
        seconds = took.result(patience_s)
    except TimeoutError:
        return Found(
            "unreachable",
            f"{name!r} did not answer within {patience_s:g} seconds. It may be being loaded.",
            "Check again in a moment.",
        )
    except InvalidInput as error:
        return Found("not set up", error.message, error.suggestion)
    except LLMError as error:
        return Found("unreachable", error.message, error.next_step)
    return Found("ready", f"{name!r} answers in {seconds:.1f} s.")


def _seconds_of(llm: LLM, options: LLMOptions) -> float:
    """How long a word of the model takes. Raises LLMError."""
    began, call = time.perf_counter(), Call()
    for _ in talk(llm, _ASKED, options, threading.Event(), call):
        pass
    if call.cut_off:
        raise LLMError(f"{llm.called} did not answer within {options.timeout_s:g} s.", "Look at its log.")
    return time.perf_counter() - began


# --- what could be chosen ---------------------------------------------------------------


def _able(options: LLMOptions) -> tuple[str, ...]:
    """The names of the models that chat: Ollama's, then those of the other server."""
    return (*_of_ollama(options.ollama_url), *_of_server(options))


def _of_ollama(url: str) -> list[str]:
    try:
        return [f"ollama:{each.called}" for each in ollama.installed(url) if each.chats]
    except EmbedderError:
        return []


def _of_server(options: LLMOptions) -> list[str]:
    """All that it lists: the protocol does not say what a model is for."""
    if not options.openai_url:
        return []
    try:
        status, said = ask(with_version(options.openai_url), "/models", "", options.openai_key)
    except Unanswered:
        return []
    return [f"openai:{each}" for each in (model_ids(said) or [] if status == 200 else [])]


def _within(able: Future[tuple[str, ...]], seconds: float) -> tuple[str, ...]:
    try:
        return tuple(filter(printable, able.result(seconds)))
    except TimeoutError:
        return ()
