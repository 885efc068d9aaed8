"""What is written without the package ``onnx`` is, byte for byte, what that package writes."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from rag_core.models import onnx_writer

ARRAYS = [
    np.arange(6, dtype=np.float32).reshape(2, 3),
    np.arange(6, dtype=np.float32).reshape(2, 3).T,  # not in the order of its memory
    np.array(0.5, np.float32),
    np.array([], np.int64),
    *(np.arange(3).astype(kind) for kind in ("uint8", "int8", "int32", "int64", "float16")),
]
ATTRIBUTES: list[dict[str, Any]] = [
    {},
    {"axis": -1, "epsilon": 1e-12},
    {"axes": [0, 2**40, -3], "mode": "linear", "keepdims": 0},
]
ONNX: dict[str, Any] = {
    "from_array": onnx.numpy_helper.from_array,
    **{
        name: getattr(onnx.helper, name)
        for name in ("make_node", "make_tensor_value_info", "make_graph", "make_opsetid", "make_model")
    },
}
OURS: dict[str, Any] = {name: getattr(onnx_writer, name) for name in ONNX}


def written(functions: dict[str, Any], array: Any, attributes: dict[str, Any]) -> bytes:
    """A model of one constant and two nodes, with names and domains that are given, empty and left out."""
    kind = onnx_writer.TensorProto.FLOAT
    nodes = [
        functions["make_node"]("Add", ["x", "table"], ["y"]),
        functions["make_node"]("Odd", ["y"], ["z", "rest"], "name", domain="com.example", **attributes),
        functions["make_node"]("Neg", ["z"], ["out"], "", domain=""),
    ]
    inputs = [functions["make_tensor_value_info"]("x", kind, [1, "tokens", 300])]
    outputs = [functions["make_tensor_value_info"]("out", kind, [])]
    graph = functions["make_graph"](
        nodes, "größer", inputs, outputs, [functions["from_array"](array, "table")]
    )
    opsets = [functions["make_opsetid"]("", 17), functions["make_opsetid"]("com.example", 1)]
    model = functions["make_model"](graph, opset_imports=opsets, ir_version=8)
    return model if isinstance(model, bytes) else bytes(model.SerializeToString())


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
@pytest.mark.parametrize("attributes", ATTRIBUTES, ids=lambda attributes: ",".join(attributes) or "none")
def test_bytes_are_those_of_onnx(array: Any, attributes: dict[str, Any]) -> None:
    assert written(OURS, array, attributes) == written(ONNX, array, attributes)


def test_a_type_that_is_not_known_is_refused() -> None:
    with pytest.raises(KeyError, match="complex64"):
        onnx_writer.from_array(np.zeros(1, np.complex64), "table")


def test_onnxruntime_runs_what_is_written() -> None:
    shift = np.array([10, 20], np.float32)
    ends = [
        onnx_writer.make_tensor_value_info(name, onnx_writer.TensorProto.FLOAT, ["rows", 2]) for name in "xy"
    ]
    nodes = [onnx_writer.make_node("Add", ["x", "shift"], ["y"])]
    constants = [onnx_writer.from_array(shift, "shift")]
    graph = onnx_writer.make_graph(nodes, "sum", ends[:1], ends[1:], constants)
    model = onnx_writer.make_model(graph, [onnx_writer.make_opsetid("", 17)], ir_version=8)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    [found] = session.run(None, {"x": np.ones((3, 2), np.float32)})
    assert found.tolist() == [[11, 21]] * 3


def test_a_constant_in_another_file_is_written_as_onnx_writes_it() -> None:
    theirs = onnx.TensorProto(name="w", data_type=onnx.TensorProto.INT4, dims=(3, 4))
    for key, value in {"location": "m.onnx_data", "offset": 65536, "length": 6}.items():
        theirs.external_data.add(key=key, value=str(value))
    theirs.data_location = onnx.TensorProto.EXTERNAL
    kind = onnx_writer.TensorProto.INT4
    ours = onnx_writer.make_external_tensor(kind, (3, 4), "w", "m.onnx_data", 65536, 6)
    assert b"".join(ours) == theirs.SerializeToString()
    raw = onnx.TensorProto(name="w", data_type=onnx.TensorProto.INT4, dims=(3, 4), raw_data=b"\x12" * 6)
    assert b"".join(onnx_writer.make_tensor(kind, (3, 4), "w", b"\x12" * 6)) == raw.SerializeToString()
