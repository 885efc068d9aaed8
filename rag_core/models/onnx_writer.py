"""Writes ONNX graphs without the package ``onnx``, with functions of the same names. It writes the fields of
onnx.proto that a graph for inference needs, in protobuf's wire format, byte for byte as that package does.

A message is a list of chunks. `make_model` joins them once, because the weights of a model are large.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

Message = list[bytes]
Attribute = int | float | str | Sequence[int]


class TensorProto(IntEnum):
    """The types of a tensor's elements (onnx.proto, TensorProto.DataType)."""

    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    INT32 = 6
    INT64 = 7
    FLOAT16 = 10
    INT4 = 22


_TYPE_OF_ARRAY = {
    "float32": TensorProto.FLOAT,
    "uint8": TensorProto.UINT8,
    "int8": TensorProto.INT8,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "float16": TensorProto.FLOAT16,
}

# Wire types of protobuf. A field begins with its number and the type of what follows.
_VARINT, _CHUNK, _FLOAT32 = 0, 2, 5

_EXTERNAL = 1  # TensorProto.DataLocation

# AttributeProto.AttributeType
_A_FLOAT, _AN_INTEGER, _A_STRING, _INTEGERS = 1, 2, 3, 7


def from_array(array: npt.NDArray[Any] | np.generic, name: str) -> Message:
    """Return a constant (TensorProto). Raises KeyError for an element type that cannot be written."""
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return make_tensor(type_of(array), array.shape, name, little.tobytes())


def type_of(array: npt.NDArray[Any] | np.generic) -> TensorProto:
    """Return the type of an array's elements. Raises KeyError for a type that cannot be written."""
    return _TYPE_OF_ARRAY[array.dtype.name]


def make_tensor(kind: TensorProto, shape: Sequence[int], name: str, data: bytes) -> Message:
    """Return a constant (TensorProto) with these little-endian bytes."""
    return [*_described(kind, shape, name), *_message(9, [data])]


def make_external_tensor(
    kind: TensorProto, shape: Sequence[int], name: str, file: str, offset: int, length: int
) -> Message:
    """Return a constant whose ``length`` bytes are at ``offset`` in a file next to the graph."""
    place: Message = []
    for key, value in (("location", file), ("offset", str(offset)), ("length", str(length))):
        place += _message(13, [*_text(1, key), *_text(2, value)])
    return [*_described(kind, shape, name), *place, *_integer(14, _EXTERNAL)]


def _described(kind: TensorProto, shape: Sequence[int], name: str) -> Message:
    lengths: Message = []
    for length in shape:
        lengths += _integer(1, length)
    return [*lengths, *_integer(2, kind), *_text(8, name)]


def make_node(
    operator: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    name: str = "",
    domain: str | None = None,
    **attributes: Attribute,
) -> Message:
    """Return an operator with its inputs, outputs and attributes (NodeProto)."""
    node: Message = []
    for value in inputs:
        node += _text(1, value)
    for value in outputs:
        node += _text(2, value)
    node += _text(3, name) if name else []
    node += _text(4, operator)
    for key in sorted(attributes):
        node += _message(5, _attribute(key, attributes[key]))
    return node + ([] if domain is None else _text(7, domain))


def make_tensor_value_info(name: str, kind: int, shape: Sequence[int | str]) -> Message:
    """Return an input or output (ValueInfoProto). A name in ``shape`` stands for a length that varies."""
    lengths: Message = []
    for length in shape:
        lengths += _message(1, _integer(1, length) if isinstance(length, int) else _text(2, length))
    tensor = [*_integer(1, kind), *_message(2, lengths)]
    return [*_text(1, name), *_message(2, _message(1, tensor))]


def make_graph(
    nodes: Sequence[Message],
    name: str,
    inputs: Sequence[Message],
    outputs: Sequence[Message],
    constants: Sequence[Message] = (),
) -> Message:
    """Return a graph (GraphProto). The nodes must be in the order in which they run."""
    graph: Message = []
    for node in nodes:
        graph += _message(1, node)
    graph += _text(2, name)
    for number, messages in ((5, constants), (11, inputs), (12, outputs)):
        for message in messages:
            graph += _message(number, message)
    return graph


def make_opsetid(domain: str, version: int) -> Message:
    """Return the version of a domain's operators that a model uses (OperatorSetIdProto)."""
    return [*_text(1, domain), *_integer(2, version)]


def make_model(graph: Message, opset_imports: Sequence[Message], ir_version: int) -> bytes:
    """Return the bytes of a model's file (ModelProto)."""
    model = [*_integer(1, ir_version), *_message(7, graph)]
    for opset in opset_imports:
        model += _message(8, opset)
    return b"".join(model)


def more_outputs(outputs: Sequence[Message]) -> bytes:
    """Return bytes that add outputs to a graph when they are appended to a model's file. Protobuf joins the
    lists of a message that occurs twice in a file."""
    graph: Message = []
    for output in outputs:
        graph += _message(12, output)
    return b"".join(_message(7, graph))


def _attribute(name: str, value: Attribute) -> Message:
    match value:
        case float():
            content, kind = [_key(2, _FLOAT32), struct.pack("<f", value)], _A_FLOAT
        case int():
            content, kind = _integer(3, value), _AN_INTEGER
        case str():
            content, kind = _text(4, value), _A_STRING
        case _:
            content, kind = [chunk for number in value for chunk in _integer(8, number)], _INTEGERS
    return [*_text(1, name), *content, *_integer(20, kind)]


def _integer(number: int, value: int) -> Message:
    return [_key(number, _VARINT), _varint(value)]


def _text(number: int, text: str) -> Message:
    return _message(number, [text.encode()])


def _message(number: int, chunks: Message) -> Message:
    return [_key(number, _CHUNK), _varint(sum(map(len, chunks))), *chunks]


def _key(number: int, wire_type: int) -> bytes:
    return _varint(number << 3 | wire_type)


def _varint(value: int) -> bytes:
    """Encode seven bits in each byte, lowest first. The highest bit says that more bytes follow. Negative
    numbers are 64 bits long."""
    value &= (1 << 64) - 1
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
