"""Cross-encoders exported to ONNX, run in this process: a query and a passage in, one number out."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from rag_core.errors import EmbedderError
from rag_core.models.onnx_folder import MODEL_ERRORS, cannot_run, folder_of, opened_card
from rag_core.models.rerank import RerankerOptions
from rag_core.models.transformer import Transformer, well_formed


class CrossEncoder:
    """The reranker ``onnx:FOLDER``; see Reranker. Raises ModelMissing when there is no such folder,
    EmbedderError for a model that cannot be run."""

    def __init__(self, options: RerankerOptions) -> None:
        self._name = options.name.removeprefix("onnx:")
        try:
            card, _ = opened_card(folder_of(self._name, options.model_dir))
            self._model = Transformer(card.graph, card.tokenizer)
        except MODEL_ERRORS as error:
            raise cannot_run(self._name, error) from error
        self._model.tokenizer.enable_truncation(card.max_tokens)
        outputs = self._model.outputs
        self._output = "logits" if "logits" in outputs else next(iter(outputs))
        self._pool = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="reranker")

    def scores(self, query: str, passages: Sequence[str], until: float) -> list[float]:
        pairs = [(well_formed(query), well_formed(passage)) for passage in passages]
        try:
            encoded = self._model.tokenizer.encode_batch_fast(pairs)
            return [*self._pool.map(partial(self._score, until), encoded)]
        except ValueError as error:
            raise cannot_run(self._name, error) from None

    def _score(self, until: float, pair: Any) -> float:
        if time.monotonic() > until:
            raise TimeoutError
        logits = self._model.run(self._output, pair.ids, pair.type_ids).reshape(-1)
        if logits.size not in (1, 2):
            said = f"The model {self._name!r} gives {logits.size} numbers for a pair."
            raise EmbedderError(said, "Choose a reranker (a cross-encoder); it gives one.")
        return float(logits[-1] - (logits[0] if logits.size > 1 else 0))
