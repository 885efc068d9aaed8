"""How near a passage is to a question, token by token: late interaction (Khattab and Zaharia 2020, "ColBERT:
Efficient and Effective Passage Search via Contextualized Late Interaction over BERT").

A built-in model computes a vector for each token before it takes their mean. The graph is loaded with these
vectors as an additional output, so neither the model's file nor any stored vector changes.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from rag_core.models import onnx_writer
from rag_core.models.onnx_writer import TensorProto

_LAST = re.compile(rb"LayerNormalization_(\d+)")  # the name in `bert_graph` of the value whose mean is taken
_Array = npt.NDArray[np.float32]


def with_states(graph: bytes, width: int) -> tuple[bytes, str]:
    """Add the vectors of all tokens, shape (tokens, ``width``), to the outputs of a built-in model's graph.

    Returns:
        The graph, and the name of the new output.

    """
    number = max(int(match[1]) for match in _LAST.finditer(graph))
    name = f"LayerNormalization_{number}"
    output = onnx_writer.make_tensor_value_info(name, TensorProto.FLOAT, ["tokens", width])
    return graph + onnx_writer.more_outputs([output]), name


def nearness(question: _Array, passage: _Array) -> float:
    """Return the mean, over the tokens of a question, of the cosine to the nearest token of a passage; 0 if
    one has no tokens. Arguments are vectors of tokens, shape (tokens, dimension), without the special tokens
    at both ends."""
    if not len(question) or not len(passage):
        return 0.0
    return float((_scaled(question) @ _scaled(passage).T).max(1).mean())


def _scaled(vectors: _Array) -> _Array:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)
