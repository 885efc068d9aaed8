"""Builds the ONNX graph of a BERT (Devlin et al. 2018) from its weights, with mean pooling and vectors of
length 1, such as all-MiniLM-L6-v2 and multilingual-e5-small. The graph takes one text at a time, so it has no
mask, and everything except attention is two-dimensional: (tokens, hidden).

The int8 kind is a quarter of the size and twice as fast. Weights are quantised once, per output channel.
Activations are quantised at run time, per token, because with one scale for a whole text an outlier token
would blur all others (mean cosine to fp32 0.9935 instead of 0.9976).

Large weights are in a file next to the graph, which onnxruntime maps into memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
import numpy.typing as npt

from rag_core.models import onnx_writer
from rag_core.models.onnx_writer import Attribute, Message, TensorProto
from rag_core.models.packed import BLOCK, PackedWeights

# The configurations of both models: num_attention_heads, layer_norm_eps.
HEADS = 12
EPSILON = 1e-12

# Opset 17 brought LayerNormalization, version 10 of the format integers of 4 bits; onnxruntime 1.20 and later
# read both. CONTRIB is onnxruntime's own.
OPSET = 17
IR_VERSION = 10
CONTRIB = "com.microsoft"

_BESIDE = (
    1 << 16
)  # bytes; larger weights are in the other file, each at a multiple of this, as mapping requires

ModelKind = Literal["int8", "fp32"]
_Array = npt.NDArray[Any]
Weights = Mapping[str, _Array]


def read_weights(path: Path) -> Weights:
    """Map the float32 tensors of a safetensors file into memory.

    The file has 8 bytes of little-endian length, a JSON header with dtype, shape and offsets per tensor, then
    the data (safetensors README, "Format").
    """
    data = np.memmap(path, np.uint8, mode="r")
    start = 8 + int.from_bytes(data[:8].tobytes(), "little")
    header = json.loads(data[8:start].tobytes())
    return {
        name: data[start + entry["data_offsets"][0] : start + entry["data_offsets"][1]]
        .view(np.float32)
        .reshape(entry["shape"])
        for name, entry in header.items()
        if entry.get("dtype") == "F32"
    }


def write_graph(path: Path, weights: Weights, kind: ModelKind, name: str) -> None:
    """Write the model called ``name``, ``input_ids`` int32 (1, tokens) → ``embedding`` float32 (1, hidden).
    Its large weights are written into a file next to it."""
    data_file = path.with_name(f"{path.name}_data")
    with data_file.open("wb") as beside:
        network = _Network(weights, kind, beside)
        x = network.embeddings("input_ids")
        layer = 0
        while f"encoder.layer.{layer}.output.dense.bias" in weights:
            x = network.attention(x, f"encoder.layer.{layer}.attention.")
            x = network.feed_forward(x, f"encoder.layer.{layer}.")
            layer += 1
    mean = network.add("ReduceMean", x, axes=[0], keepdims=1)
    network.add("LpNormalization", mean, outputs=["embedding"], axis=1, p=2)
    inputs = [onnx_writer.make_tensor_value_info("input_ids", TensorProto.INT32, [1, "tokens"])]
    outputs = [onnx_writer.make_tensor_value_info("embedding", TensorProto.FLOAT, [1, network.width])]
    graph = onnx_writer.make_graph(network.nodes, name, inputs, outputs, network.constants)
    opsets = [onnx_writer.make_opsetid("", OPSET), onnx_writer.make_opsetid(CONTRIB, 1)]
    path.write_bytes(onnx_writer.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION))


def quantise(matrix: _Array, axis: int) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Quantise to int8 without an offset. Returns the values and their scales, with ``matrix ≈ values *
    scales``.

    Values that differ only in their index on ``axis`` share a scale: with axis 0, each column has
    one. The scales keep ``axis`` with length 1.
    """
    scales = np.abs(matrix).max(axis, keepdims=True) / np.float32(127)
    values = np.rint(matrix / np.where(scales == 0, np.float32(1), scales))
    return values.astype(np.int8), scales


class _Network:
    """Builds the blocks of BERT as nodes and constants. Methods that add an operator return the name of its
    result. ``prefix`` is the beginning of the names of a block's weights."""

    def __init__(self, weights: Weights, kind: ModelKind, beside: BinaryIO) -> None:
        self._weights = weights
        self._kind = kind
        self._beside = beside
        self.nodes: list[Message] = []
        self.constants: list[Message] = []
        self.width = len(weights["embeddings.LayerNorm.bias"])

    def constant(self, value: _Array | np.generic) -> str:
        array = np.ascontiguousarray(value)
        return self._tensor(onnx_writer.type_of(array), value.shape, array.tobytes())

    def _tensor(self, kind: TensorProto, shape: tuple[int, ...], data: bytes) -> str:
        name = f"constant_{len(self.constants)}"
        if len(data) < _BESIDE:
            self.constants.append(onnx_writer.make_tensor(kind, shape, name, data))
            return name
        self._beside.write(b"\0" * (-self._beside.tell() % _BESIDE))
        place = Path(self._beside.name).name, self._beside.tell(), len(data)
        self.constants.append(onnx_writer.make_external_tensor(kind, shape, name, *place))
        self._beside.write(data)
        return name

    def integers(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def add(
        self, operator: str, *inputs: str, outputs: list[str] | None = None, **attributes: Attribute
    ) -> str:
        """Append a node and return its first output. ``operator`` may include its domain: DOMAIN/NAME."""
        name = f"{operator}_{len(self.nodes)}"
        outputs = outputs or [name]
        domain, _, operator = operator.rpartition("/")
        self.nodes.append(onnx_writer.make_node(operator, inputs, outputs, name, domain=domain, **attributes))
        return outputs[0]

    def embeddings(self, ids: str) -> str:
        """Add word, position and segment embeddings (always the first segment), normalised."""
        places, segments = (
            self._weights[f"embeddings.{name}_embeddings.weight"] for name in ("position", "token_type")
        )
        flat = self.add("Reshape", ids, self.integers(-1))
        count = self.add("Shape", flat)
        positions = self.constant(places + segments[0])
        used = self.add("Slice", positions, self.integers(0), count, self.integers(0))
        return self._norm(self.add("Add", self._words(flat), used), "embeddings.")

    def _words(self, flat: str) -> str:
        """Look up the row of each word. A packed table keeps its four bits."""
        name = "embeddings.word_embeddings.weight"
        if isinstance(self._weights, PackedWeights):
            weights, steps = self._weights.blocks(name)
            given = self._four_bits(weights), flat, self.constant(steps)
            operator = f"{CONTRIB}/GatherBlockQuantized"
            half = self.add(operator, *given, gather_axis=0, quantize_axis=1, block_size=BLOCK)
            return self.add("Cast", half, to=TensorProto.FLOAT)
        if self._kind == "fp32":
            return self.add("Gather", self.constant(self._weights[name]), flat)
        values, scales = quantise(self._weights[name], axis=1)
        rows = self.add("Cast", self.add("Gather", self.constant(values), flat), to=TensorProto.FLOAT)
        return self.add("Mul", rows, self.add("Gather", self.constant(scales), flat))

    def _four_bits(self, values: npt.NDArray[np.int8]) -> str:
        """Add integers from -8 to 7. In ONNX, the low four bits hold the even positions."""
        packed = (values[:, 0::2] & 15) | (values[:, 1::2] << 4)
        return self._tensor(TensorProto.INT4, values.shape, packed.tobytes())

    def attention(self, x: str, prefix: str) -> str:
        """Self-attention over all tokens of the text, added to ``x`` and normalised."""
        parts = [self._dense(f"{prefix}self.{name}.") for name in ("query", "key", "value")]
        matrix, bias = (np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True))
        joined = self.add("Unsqueeze", self._linear(x, matrix, bias), self.integers(0))
        names = [f"{prefix}{name}" for name in ("query", "key", "value")]
        self.add("Split", joined, self.integers(*[self.width] * 3), outputs=names, axis=2)
        mixed = self.add(f"{CONTRIB}/MultiHeadAttention", *names, num_heads=HEADS)
        return self._output(x, self.add("Squeeze", mixed, self.integers(0)), prefix)

    def feed_forward(self, x: str, prefix: str) -> str:
        """Two dense layers with GELU between, added to ``x`` and normalised."""
        wide = self._linear(x, *self._dense(f"{prefix}intermediate.dense."))
        return self._output(x, self.add(f"{CONTRIB}/Gelu", wide), prefix)

    def _output(self, x: str, y: str, prefix: str) -> str:
        """Add a dense layer over ``y``, plus ``x``, normalised."""
        dense = self._linear(y, *self._dense(f"{prefix}output.dense."))
        return self._norm(self.add("Add", x, dense), f"{prefix}output.")

    def _dense(self, prefix: str) -> tuple[_Array, _Array]:
        """Return (matrix, bias) of a dense layer, the matrix as (inputs, outputs)."""
        return self._weights[f"{prefix}weight"].T, self._weights[f"{prefix}bias"]

    def _norm(self, x: str, prefix: str) -> str:
        scale = self.constant(self._weights[f"{prefix}LayerNorm.weight"])
        bias = self.constant(self._weights[f"{prefix}LayerNorm.bias"])
        return self.add("LayerNormalization", x, scale, bias, axis=-1, epsilon=EPSILON)

    def _linear(self, x: str, matrix: _Array, bias: _Array) -> str:
        if self._kind == "fp32":
            return self.add("Add", self.add("MatMul", x, self.constant(matrix)), self.constant(bias))
        # In integers: activations are uint8 around 128 with one scale per token.
        values, scales = quantise(matrix, axis=0)
        highest = self.add("ReduceMax", x, axes=[1], keepdims=0)
        lowest = self.add("ReduceMin", x, axes=[1], keepdims=0)
        largest = self.add("Max", highest, self.add("Neg", lowest), self.constant(np.float32(1e-12)))
        steps = self.add("Mul", largest, self.constant(np.float32(1 / 127)))
        centre = self.add("Expand", self.constant(np.array([128], np.uint8)), self.add("Shape", steps))
        product = self.add(
            f"{CONTRIB}/MatMulIntegerToFloat",
            self.add("QuantizeLinear", x, steps, centre, axis=0),
            self.constant(values),
            self.constant(np.float32(1)),
            self.constant(scales[0]),
            self.constant(np.uint8(128)),
            self.constant(np.zeros(matrix.shape[1], np.int8)),
        )
        scaled = self.add("Mul", product, self.add("Unsqueeze", steps, self.integers(1)))
        return self.add("Add", scaled, self.constant(bias))
