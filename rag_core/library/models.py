"""The models, servers and services that stores may use: how they stand, fetching a model, trying one."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial

from rag_core.config.options import options_from
from rag_core.errors import InvalidInput, StoreError
from rag_core.library import connections
from rag_core.library.connections import Check
from rag_core.library.service import Service
from rag_core.models import LLMOptions, OcrOptions, full_name
from rag_core.models.addresses import destination
from rag_core.models.chat import server_of
from rag_core.models.check import Found, Need
from rag_core.models.embedder import BUILT_IN, parse_name
from rag_core.models.rerank import RerankerOptions
from rag_core.providers import VECTOR_INDEXES
from rag_core.reports import Connection, ConnectionKind, OllamaModel, Pulling, Trial
from rag_core.types import Viewer

_FOREIGN = "goes where its package sends it"
_SHOWN = 4
_OPENAI = "OpenAI-compatible server"
_PACKAGES = {"sentence-transformers": "sentence-transformers", "mlx": "MLX"}


class Models(Service):
    """The models and servers that stores use."""

    def connections(self, viewer: Viewer, *, ask_all: bool = False) -> list[Connection]:
        """The state of everything that a store can use, checked now; takes at most five seconds. Amazon is
        asked only where a setting or a store names it, or with ``ask_all``."""
        from rag_core.models.folder import check_package
        from rag_core.models.live_checks import check_ocr, check_reranker
        from rag_core.models.minilm import check_built_in
        from rag_core.models.ollama import check_ollama
        from rag_core.models.onnx_folder import check_onnx
        from rag_core.models.openai import check_openai

        settings, options, config = self._settings, self._embedders.options, self._settings.config_file
        used, models = self._used(viewer)
        local = destination("")
        wants_ollama = bool(settings.ollama_url or used["ollama"] or settings.embedder.startswith("ollama"))
        setting = "chat_base_url" if not settings.embedding_base_url else "embedding_base_url"
        package = partial(check_package, offline=options.offline)
        ollama = partial(check_ollama, options.ollama_url, models["ollama"], config, wanted=wants_ollama)
        server = options.openai_url, options.openai_key, setting, models["openai"], config
        onnx = partial(check_onnx, options.model_dir, models["onnx"])
        checks: list[Check] = []

        def add(
            key: str, name: str, kind: ConnectionKind, goes: str, look: Callable[[], Found],
            *, chosen: bool = False,
        ) -> None:  # fmt: skip
            stores = tuple(used[key])
            known = Connection(key, name, kind, "ready", "", goes=goes, used_by=stores, chosen=chosen)
            checks.append((known, look))

        add("minilm", "Built-in model", "embedder", local, partial(check_built_in, options.model_dir))
        add("ollama", "Ollama", "embedder", destination(options.ollama_url), ollama)
        add("openai", _OPENAI, "embedder", _goes(options.openai_url), partial(check_openai, *server))
        add("onnx", "ONNX models", "embedder", local, onnx)
        for provider, name in _PACKAGES.items():
            add(provider, name, "embedder", local, partial(package, provider, models[provider]))
        for kind, opened_with in self._shared.vector_options.items():
            row, need = VECTOR_INDEXES[kind], Need(settings, opened_with, used[kind], ask_all=ask_all)
            sent_to = row.goes or _goes(getattr(opened_with, row.server))
            add(kind, row.label, "vectors", sent_to, partial(row.check, need))
        for provider in models.keys() - BUILT_IN:
            names = [f"{provider}:{model}" for model in models[provider]]
            opened = partial(connections.check_foreign, names, self._embedders.get)
            add(provider, provider, "embedder", _FOREIGN, opened)
        llm, chatting = settings.llm, options_from(settings, LLMOptions)
        goes = _goes(server_of(llm, chatting)) if llm else "goes nowhere, as no model is chosen"
        chat = partial(connections.check_chat, llm, chatting, config)
        order = options_from(settings, RerankerOptions)
        sent = _goes(order.server) if order.server or not order.name else local
        reranking = partial(check_reranker, order, config)
        pictures = partial(check_ocr, settings.ocr, options_from(settings, OcrOptions))
        is_set = settings.ocr not in ("auto", "off")
        add("chat", "Model that answers", "llm", goes, chat, chosen=bool(llm))
        add("reranking", "Reranker", "reranker", sent, reranking, chosen=bool(order.name))
        add("pictures", "Text in pictures", "pictures", local, pictures, chosen=is_set)
        return connections.run_checks(checks)

    def answering(self, viewer: Viewer) -> list[str]:
        """The names of the models that can answer questions now, as the setting ``llm`` takes them: those of
        Ollama, then those of the server that is set. Empty where neither answers."""
        return connections.answering_models(options_from(self._settings, LLMOptions))

    def rerankers(self, viewer: Viewer) -> list[str]:
        """The rerankers that were fetched, as the setting ``reranker`` takes them."""
        from rag_core.models.onnx_folder import installed_models

        found = installed_models(self._embedders.options.model_dir, reranking=True)
        return [f"onnx:{name}" for name in found]

    def list_ollama(self, viewer: Viewer) -> list[OllamaModel]:
        """The models that Ollama has, those that can embed first. Raises EmbedderError when it does not
        answer."""
        from rag_core.models import ollama  # only now: it imports httpx

        return ollama.list_models(self._embedders.options.ollama_url)

    def pull(
        self, viewer: Viewer, model: str, report: Callable[[Pulling], None] = lambda _: None
    ) -> OllamaModel:
        """Have Ollama fetch a model from its library; ``report`` hears how far it is, and what it raises
        ends it. What was fetched is kept, and the next time goes on from there.

        Raises InvalidInput for what can be no name, ModelMissing when there is no such model, another
        EmbedderError when Ollama does not answer or cannot fetch it.
        """
        from rag_core.models import ollama

        return ollama.pull(self._embedders.options.ollama_url, model, report)

    def destination_of(self, viewer: Viewer, embedder: str) -> str:
        """Where text goes that an embedder gets, in words; nobody is asked. Raises InvalidInput for a name
        that is none."""
        provider, options = parse_name(embedder).provider, self._embedders.options
        if provider == "openai":
            return _goes(options.openai_url)
        if provider in BUILT_IN:
            return destination(options.ollama_url if provider == "ollama" else "")
        return _FOREIGN

    def try_embedder(self, viewer: Viewer, embedder: str, sentence: str) -> Trial:
        """Embed a sentence, as the question of a search is embedded, and say what came of it. Raises
        InvalidInput for an empty sentence or a name that is none, EmbedderError as a search does."""
        if not sentence.strip():
            raise InvalidInput("There is no sentence.", "Type one.")
        name, began = full_name(embedder), time.perf_counter()
        opened = self._embedders.renewed(name)
        ready = time.perf_counter()
        vector = opened.embed_query(sentence)
        done = time.perf_counter()
        beginning = tuple(float(number) for number in vector[:_SHOWN])
        return Trial(
            embedder=name, identity=str(opened.identity), dimension=len(vector), beginning=beginning,
            open_ms=(ready - began) * 1000, took_ms=(done - ready) * 1000, text=destination(opened.server),
        )  # fmt: skip

    def _used(self, viewer: Viewer) -> tuple[defaultdict[str, list[str]], defaultdict[str, list[str]]]:
        """The stores that use each provider and each kind of index, and the models of each provider that
        they need; a store that cannot be read uses nothing."""
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


def _goes(url: str) -> str:
    return destination(url) if url else "goes nowhere, as no server is set"
