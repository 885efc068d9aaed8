"""The embedders of one process: each opened once, with the vectors of recent queries."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path

from rag_core.embedders import Embedder, open_embedder
from rag_core.types import Vectors

_QUERY_VECTORS = 256


class SharedEmbedders:
    """Embedders by name. Opening one keeps nobody waiting who does not want it; one that could
    not be opened is tried again by the next who asks. Safe to share between threads."""

    def __init__(self, model_dir: Path) -> None:
        self._model_dir = model_dir
        self._lock = threading.Lock()
        self._opening: dict[str, threading.Lock] = {}
        self._open: dict[str, Embedder] = {}
        self._vectors: OrderedDict[tuple[str, str], Vectors] = OrderedDict()

    def get(self, name: str) -> Embedder:
        """The embedder called ``name``. Raises as ``open_embedder`` does."""
        with self._lock:
            opening = self._opening.setdefault(name, threading.Lock())
        with opening:
            if name not in self._open:
                self._open[name] = open_embedder(name, self._model_dir)
            return self._open[name]

    def query_vector(self, embedder: Embedder, text: str) -> Vectors:
        """``embedder.embed_query(text)``, remembered for the latest queries."""
        key = (str(embedder.identity), text)
        with self._lock:
            if key in self._vectors:
                self._vectors.move_to_end(key)
                return self._vectors[key]
        vector = embedder.embed_query(text)
        with self._lock:
            self._vectors[key] = vector
            while len(self._vectors) > _QUERY_VECTORS:
                self._vectors.popitem(last=False)
        return vector
