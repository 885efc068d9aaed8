"""Vectors of length 1, which every embedder gives."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rag_core.types import Vectors


def unit_rows(found: npt.NDArray[np.float64]) -> Vectors | None:
    """The rows of ``found`` made length 1, float32; None where one has no length, or values that are no
    numbers."""
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        return None
    vectors: Vectors = (found / lengths).astype(np.float32)
    return vectors
