"""The embedders of one process: each opened once, with the vectors of recent queries."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager

from rag_core.models.embedders import Embedder, EmbedderOptions, open_embedder
from rag_core.models.servers.patience import Patience
from rag_core.types import Vectors

_VECTORS = 256


class SharedEmbedders:
    """Embedders by name. Opening one keeps nobody waiting who does not want it; one that could
    not be opened is tried again by the next who asks. Safe to share between threads."""

    def __init__(self, options: EmbedderOptions) -> None:
        self.options = options
        self._lock = threading.Lock()
        self._opening: dict[str, threading.Lock] = {}
        self._open: dict[str, Embedder] = {}
        self._vectors: OrderedDict[tuple[str, str, str], Vectors] = OrderedDict()
        self._patience = Patience()

    def get(self, name: str) -> Embedder:
        """The embedder called ``name``. Raises as ``open_embedder`` does."""
        with self._lock:
            opening = self._opening.setdefault(name, threading.Lock())
        with opening:
            if name not in self._open:
                self._open[name] = open_embedder(name, self.options)
            return self._open[name]

    def known(self, name: str) -> Embedder | None:
        """The embedder called ``name`` if it is open; asks nobody."""
        return self._open.get(name)

    def renewed(self, name: str) -> Embedder:
        """Like ``get``, but a server is asked again which model it has: before a run, not a search."""
        known = self._open.get(name)
        if known is not None and known.server:
            with self._lock:
                self._open.pop(name, None)
                self._vectors.clear()
        embedder = self.get(name)
        self._patience.renew(name)
        return embedder

    def soon(self, name: str) -> AbstractContextManager[None]:
        """What a search does with an embedder: see ``Patience.asking``."""
        return self._patience.asking(name)

    def query_vector(self, embedder: Embedder, text: str) -> Vectors:
        """``embedder.embed_query(text)``, remembered for the latest queries."""
        return self._remembered(
            ("question", str(embedder.identity), text), lambda: embedder.embed_query(text)
        )

    def passage_vector(self, embedder: Embedder, text: str) -> Vectors:
        """The vector of ``text`` as a passage, remembered like those of queries."""
        key = "passage", str(embedder.identity), text
        return self._remembered(key, lambda: embedder.embed_documents([text])[0])

    def _remembered(self, key: tuple[str, str, str], embed: Callable[[], Vectors]) -> Vectors:
        with self._lock:
            if key in self._vectors:
                self._vectors.move_to_end(key)
                return self._vectors[key]
        vector = embed()
        with self._lock:
            self._vectors[key] = vector
            while len(self._vectors) > _VECTORS:
                self._vectors.popitem(last=False)
        return vector
