"""Transformers exported to ONNX, run one text at a time on onnxruntime. There is no padding, so the vector of
a text does not depend on other texts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rag_core.models.token_states import with_states
from rag_core.models.tokenizer import open_tokenizer
from rag_core.text.words import well_formed

Pooling = Literal["mean", "cls", "lasttoken"]

_INPUTS = {"input_ids", "attention_mask", "token_type_ids", "position_ids"}
_POOLED = ("sentence_embedding", "embedding")  # outputs with one vector for the whole text

_WEIGHTS_FOLDER = "session.model_external_initializers_file_folder_path"  # of a graph in memory

_Array = npt.NDArray[Any]


class Transformer:
    """A model in the ONNX format. Several threads may run it at once. Raises ValueError if it cannot be used.

    Args:
        graph: The ONNX file.
        width: The length of the vectors of a built-in embedder, whose graph then also returns the vectors of
            all tokens (see ``states``); 0 for any other model.

    """

    states = ""
    """Name of the output with the vectors of all tokens, shape (tokens, width); '' without such an output."""

    def __init__(self, graph: Path, width: int = 0) -> None:
        # onnxruntime's Linux builds send usage data to their maker unless this is set before the import.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        # onnxruntime's fused kernel is about 7 times slower on CPUs than the two it replaces.
        slow = ["SkipLayerNormFusion", "BiasSkipLayerNormFusion"]
        model: Path | bytes = graph
        if width:
            options.add_session_config_entry(_WEIGHTS_FOLDER, str(graph.parent))
            model, self.states = with_states(graph.read_bytes(), width)
        with as_value_error("it cannot be loaded"):
            self._session = ort.InferenceSession(
                model, options, providers=["CPUExecutionProvider"], disabled_optimizers=slow
            )
        inputs = self._session.get_inputs()
        self._inputs = {tensor.name: np.int32 if "int32" in tensor.type else np.int64 for tensor in inputs}
        if unknown := sorted(self._inputs.keys() - _INPUTS):
            raise ValueError(f"the graph asks for {unknown[0]!r}, which a text does not give")
        self.outputs = {tensor.name: len(tensor.shape) for tensor in self._session.get_outputs()}

    def run(self, output: str, ids: Sequence[int], segments: Sequence[int] = ()) -> _Array:
        """Return ``output`` of the graph for one text, or for a pair of texts with ``segments``: 0 or 1 for
        each token. The first axis has length 1."""
        given = {
            "input_ids": ids,
            "attention_mask": [1] * len(ids),
            "token_type_ids": segments or [0] * len(ids),
            "position_ids": range(len(ids)),
        }
        feeds = {name: np.array([given[name]], kind) for name, kind in self._inputs.items()}
        with as_value_error("it fails on a text"):
            output_rows: _Array = self._session.run([output], feeds)[0]
        return output_rows


class Encoder:
    """Turns one text into one vector, not normalized. Pooling is done here unless the graph does it.

    Args:
        graph: The file with the graph.
        tokenizer: The file with the tokenizer.
        max_tokens: Maximum number of tokens of a text, including special ones.
        pooling: How the vectors of tokens become one vector.
        width: The length of the vectors of a built-in embedder; 0 for any other model.

    """

    def __init__(
        self, graph: Path, tokenizer: Path, max_tokens: int, pooling: Pooling = "mean", width: int = 0
    ) -> None:
        model = Transformer(graph, width)
        with as_value_error("its tokenizer cannot be loaded"):
            self._tokenizer = open_tokenizer(tokenizer)
        ranks = model.outputs
        pooled = next((name for name in _POOLED if name in ranks), None)
        states = next((name for name, rank in ranks.items() if rank == 3), next(iter(ranks)))
        self.pools = pooled is not None
        self._model, self._output = model, pooled or states
        self._max_tokens, self._pooling = max_tokens, pooling

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Return all tokens of each text, including special ones."""
        return self._tokenizer.numbers([well_formed(text) for text in texts])

    def embed(self, text: str) -> npt.NDArray[np.float32]:
        """Return the vector of the beginning of ``text``, shape (dimension,)."""
        [ids], most, closing = self.tokens([text]), self._max_tokens, self._tokenizer.closing
        if len(ids) > most:
            ids = ids[: most - closing] + ids[len(ids) - closing :]
        [rows] = self._model.run(self._output, ids)
        return np.asarray(rows if self.pools else self._one(rows), np.float32)

    def states(self, text: str, most: int) -> npt.NDArray[np.float32]:
        """Return the vectors of the first ``most`` tokens of ``text`` in a built-in model, shape (tokens,
        dimension)."""
        [ids] = self.tokens([text])
        return np.asarray(self._model.run(self._model.states, ids[:most]), np.float32)

    def _one(self, states: _Array) -> _Array:
        """Pool the vectors of the tokens, shape (tokens, dimension), into one."""
        match self._pooling:
            case "mean":
                return np.asarray(states.mean(0))
            case "cls":
                return np.asarray(states[0])
            case "lasttoken":
                return np.asarray(states[-1])


@contextmanager
def as_value_error(what: str) -> Iterator[None]:
    """Context manager: raise every error as a ValueError whose message begins with ``what``."""
    try:
        yield
    except Exception as error:  # onnxruntime's and tokenizers' own have no other base in common
        raise ValueError(f"{what} ({type(error).__name__})") from error
