"""The models, servers and services that stores may use: their state, downloading models, trying them."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from rag_core.config.options import options_from
from rag_core.errors import InvalidInput, StoreError
from rag_core.library import connections
from rag_core.library.connections import LiveCheck
from rag_core.library.service import Service
from rag_core.models import LLMOptions, OcrOptions, full_name
from rag_core.models.addresses import destination
from rag_core.models.chat import server_of
from rag_core.models.check import Need
from rag_core.models.embedder import parse_name
from rag_core.models.rerank import RerankerOptions
from rag_core.providers import CHAT_MODELS, EMBEDDERS, RERANKERS, VECTOR_INDEXES, added_embedders
from rag_core.reports import Connection, ConnectionKind, OllamaModel, Pulling, Trial
from rag_core.types import Viewer

_SHOWN = 4
_NOWHERE = "goes nowhere, as no model is chosen"


class Models(Service):
    """The models and servers that stores use."""

    def connections(self, viewer: Viewer, *, ask_all: bool = False) -> list[Connection]:
        """Check everything that a store can use, and return the state of each. This takes at most five
        seconds. Amazon is only asked if a setting or a store names it, or with ``ask_all``."""
        used, models = self._used(viewer)
        added = [row for name, row in added_embedders().items() if name in models.keys() - EMBEDDERS.keys()]
        checks: list[LiveCheck] = []
        for row in (*EMBEDDERS.values(), *VECTOR_INDEXES.values(), *added):
            if not row.checks:
                continue
            stores, is_index = tuple(used[row.name]), row.name in VECTOR_INDEXES
            options = self._shared.vector_options[row.name] if is_index else self._embedders.options
            kind: ConnectionKind = "vectors" if is_index else "embedder"
            known = _unchecked(row.name, row.label, kind, connections.goes(row, options), stores)
            need = Need(self._settings, options, row.name, stores, models[row.name], ask_all)
            need = replace(need, opened=self._embedders.get)
            checks.append((known, partial(row.imported(row.checks), need)))
        return connections.run_checks([*checks, *self._checks_of_choices()])

    def _checks_of_choices(self) -> list[LiveCheck]:
        """Return the checks of the answering model, the reranker and the OCR chosen in the settings."""
        from rag_core.models.live_checks import check_ocr, check_reranker

        settings, sent_to, local = self._settings, connections.sent_to, destination("")
        options, order = options_from(settings, LLMOptions), options_from(settings, RerankerOptions)
        chat = partial(connections.check_chat, settings.llm, options, settings.config_file)
        rerank = partial(check_reranker, order, settings.config_file)
        read = partial(check_ocr, settings.ocr, options_from(settings, OcrOptions))
        answers = sent_to(server_of(settings.llm, options)) if settings.llm else _NOWHERE
        orders = sent_to(order.server) if order.server or not order.name else local
        is_set = settings.ocr not in ("auto", "off")
        return [
            (_unchecked("chat", "Model that answers", "llm", answers, chosen=bool(settings.llm)), chat),
            (_unchecked("reranking", "Reranker", "reranker", orders, chosen=bool(order.name)), rerank),
            (_unchecked("pictures", "Text in pictures", "pictures", local, chosen=is_set), read),
        ]

    def answering(self, viewer: Viewer) -> list[str]:
        """Return the names of the models that can answer questions now, in the form of the setting ``llm``.
        Models of Ollama come first, then models of the configured server. The list is empty if neither
        answers."""
        return connections.listed_models(CHAT_MODELS, options_from(self._settings, LLMOptions))

    def rerankers(self, viewer: Viewer) -> list[str]:
        """Return the names of the downloaded rerankers, in the form of the setting ``reranker``."""
        return connections.listed_models(RERANKERS, options_from(self._settings, RerankerOptions))

    def list_ollama(self, viewer: Viewer) -> list[OllamaModel]:
        """Return the models on the Ollama server, embedding models first. Raises EmbedderError if Ollama does
        not answer."""
        from rag_core.models import ollama  # only now: it imports httpx

        return ollama.list_models(self._embedders.options.ollama_url)

    def pull(
        self, viewer: Viewer, model: str, report: Callable[[Pulling], None] = lambda _: None
    ) -> OllamaModel:
        """Let Ollama download a model from its library. ``report`` is called with the progress. If it raises
        an error, the download stops, and the next call continues it.

        Raises InvalidInput for an impossible name, ModelMissing for an unknown model, and another
        EmbedderError if Ollama does not answer or cannot download the model.
        """
        from rag_core.models import ollama

        return ollama.pull(self._embedders.options.ollama_url, model, report)

    def destination_of(self, viewer: Viewer, embedder: str) -> str:
        """Say in words where an embedder sends texts. No server is asked. Raises InvalidInput for an unknown
        name."""
        return connections.goes(parse_name(embedder).row, self._embedders.options)

    def try_embedder(self, viewer: Viewer, embedder: str, sentence: str) -> Trial:
        """Embed a sentence as if it were a search query, and report the result. Raises InvalidInput for an
        empty sentence or an unknown name, and EmbedderError if the model is missing or fails."""
        if not sentence.strip():
            raise InvalidInput("There is no sentence.", "Type one.")
        name, began = full_name(embedder), time.perf_counter()
        opened = self._embedders.renewed(name)
        ready = time.perf_counter()
        vector = opened.embed_query(sentence)
        done = time.perf_counter()
        beginning = tuple(float(number) for number in vector[:_SHOWN])
        return Trial(
            embedder=name,
            identity=str(opened.identity),
            dimension=len(vector),
            beginning=beginning,
            open_ms=(ready - began) * 1000,
            took_ms=(done - ready) * 1000,
            text=destination(opened.server),
        )

    def _used(self, viewer: Viewer) -> tuple[defaultdict[str, list[str]], defaultdict[str, list[str]]]:
        """Return two tables: provider or kind of index → stores that use it, and provider → models that
        stores need. Stores that cannot be read are left out."""
        used: defaultdict[str, list[str]] = defaultdict(list)
        models: defaultdict[str, list[str]] = defaultdict(list)
        for name in self._stores.names(viewer):
            try:
                store = self._stores.open(viewer, name).store
                needed = {parse_name(embedder) for embedder in (store.embedder, store.target_embedder)}
            except (StoreError, InvalidInput):  # damaged, or from a package that is gone: the store says so
                continue
            used[store.backend].append(name)
            for embedder in needed:
                used[embedder.provider].append(name)
                models[embedder.provider].append(embedder.model)
        return used, models


def _unchecked(
    key: str,
    name: str,
    kind: ConnectionKind,
    goes: str,
    stores: tuple[str, ...] = (),
    *,
    chosen: bool = False,
) -> Connection:
    return Connection(key, name, kind, "ready", "", goes=goes, used_by=stores, chosen=chosen)
