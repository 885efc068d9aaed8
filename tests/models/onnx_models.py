"""Tiny models in the layout of sentence-transformers, made here: a word's vector depends on the word alone,
so what pooling, prompts and limits do can be computed by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = "[UNK] [CLS] [SEP] query passage : cat dog boat ship tax form the a".split()
TABLE = np.random.default_rng(7).normal(size=(len(WORDS), 8)).astype(np.float32)
"""The vector of each word."""


def rows(words: str) -> npt.NDArray[np.float32]:
    """The vectors of words, with the model's marks around them."""
    known = [WORDS.index(word) if word in WORDS else 0 for word in words.split()]
    return TABLE[[WORDS.index("[CLS]"), *known, WORDS.index("[SEP]")]]


def unit(vector: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return np.asarray(vector / np.linalg.norm(vector))


def write_tokenizer(path: Path) -> None:
    tokenizer = Tokenizer(models.WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    marks = [(mark, WORDS.index(mark)) for mark in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=marks
    )
    tokenizer.enable_truncation(4)  # as shipped files may, to another length than the model's
    tokenizer.save(str(path))


def write_graph(
    path: Path, nodes: Sequence[Any], output: str, shape: Sequence[Any], *inputs: str, shift: float = 0.0
) -> None:
    """A graph over ``input_ids`` (and ``inputs``), whose constant ``table`` holds the words' vectors."""
    given = [
        helper.make_tensor_value_info(name, TensorProto.INT64, [1, "tokens"])
        for name in ("input_ids", "attention_mask", *inputs)
    ]
    found = [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)]
    constants = [numpy_helper.from_array(TABLE + np.float32(shift), "table")]
    graph = helper.make_graph(nodes, "tiny", given, found, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model.SerializeToString())


def embedding_model(folder: Path, pooling: str = "mean_tokens", shift: float = 0.0, **files: Any) -> Path:
    """A folder with a model that embeds; ``files`` (names without ``.json``) are added or replaced. ``shift``
    is added to all numbers of words, which squashes the cosines of texts towards 1."""
    look_up = helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])
    write_graph(folder / "onnx" / "model.onnx", [look_up], "last_hidden_state", [1, "tokens", 8], shift=shift)
    write_tokenizer(folder / "tokenizer.json")
    parts = ("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")
    modules = [{"idx": 0, "type": f"sentence_transformers.models.{kind}", "path": at} for kind, at in parts]
    settings: dict[str, Any] = {
        "modules": modules,
        "1_Pooling/config": {"word_embedding_dimension": 8, f"pooling_mode_{pooling}": True},
        "sentence_bert_config": {"max_seq_length": 6, "do_lower_case": False},
        "tokenizer_config": {"model_max_length": 10**30},
        "config": {"model_type": "bert", "max_position_embeddings": 512},
        **files,
    }
    for name, value in settings.items():
        path = folder / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(value), "utf-8")
    return folder


def reranking_model(folder: Path) -> Path:
    """A folder with a model that scores a pair: the more a passage's words are the query's, the higher."""
    sign = numpy_helper.from_array(np.array(0.5, np.float32), "half")
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["words"]),
        helper.make_node("Cast", ["token_type_ids"], ["behind"], to=TensorProto.FLOAT),
        helper.make_node("Constant", [], ["half"], value=sign),
        helper.make_node("Constant", [], ["last"], value_ints=[2]),
        helper.make_node("Sub", ["half", "behind"], ["signs"]),
        helper.make_node("Unsqueeze", ["signs", "last"], ["weights"]),
        helper.make_node("Mul", ["words", "weights"], ["parts"]),
        helper.make_node("ReduceSum", ["parts", "first"], ["difference"], keepdims=0),
        helper.make_node("Constant", [], ["first"], value_ints=[1]),
        helper.make_node("ReduceSumSquare", ["difference"], ["distance"], axes=[1], keepdims=1),
        helper.make_node("Neg", ["distance"], ["logits"]),
    ]
    nodes = [
        *(node for node in nodes if node.op_type == "Constant"),
        *(node for node in nodes if node.op_type != "Constant"),
    ]
    write_graph(folder / "model.onnx", nodes, "logits", [1, 1], "token_type_ids")
    write_tokenizer(folder / "tokenizer.json")
    (folder / "config.json").write_text(
        json.dumps({"architectures": ["BertForSequenceClassification"], "max_position_embeddings": 64}),
        "utf-8",
    )
    return folder
