"""Reads the file in which multilingual-e5-small is published: magic "E5S1", sizes, the pieces of the
vocabulary with their scores, a table of characters, then tensors. Matrices are Q4_0 as in llama.cpp: blocks
of 32 weights of four bits with one scale. All numbers are little-endian.

After installation, the beginning of the file, up to the tensors, is a separate file: the tokenizer.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

BLOCK = 32
"""Number of weights that share a scale."""

_HEAD = struct.Struct("<4sI 7i f i 5i Q")
_MAGIC, _VERSION = b"E5S1", 1
_Q4 = np.dtype([("scale", "<f2"), ("nibbles", "u1", 16)])  # byte i: weight i (low), weight i + 16 (high)

# Names of tensors here and in BERT.
_TABLES = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
}
_PARTS = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_ENDS = {"w": "weight", "b": "bias"}

_Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The pieces into which words are cut."""

    pieces: list[str]  #: The pieces; the index is the piece's number.
    scores: npt.NDArray[np.float32]  #: Log probability of each piece.
    begin: int  #: The piece before a text.
    end: int  #: The piece after a text.
    unknown: int  #: The piece for characters that no other piece covers.
    marks: tuple[int, ...]  #: Pieces that no text contains.
    replaced: dict[int, str]  #: Code point → the text that the model reads instead.
    size: int  #: Bytes of the vocabulary in the file.


def read_vocabulary(path: Path) -> Vocabulary:
    """Read the vocabulary at the beginning of the file. Raises ValueError for another kind of file."""
    data = path.read_bytes() if path.stat().st_size < 1 << 24 else np.memmap(path, np.uint8, "r").data
    try:
        magic, version, *sizes, length = _HEAD.unpack_from(data)
        if (magic, version) != (_MAGIC, _VERSION):
            raise ValueError(f"{path.name!r} has an unknown format")
        return _vocabulary(data, sizes[-5:], length)
    except struct.error as error:
        raise ValueError(f"{path.name!r} is incomplete") from error


def _vocabulary(data: Any, sizes: Sequence[int], length: int) -> Vocabulary:
    """Read the vocabulary after the head: the end of each piece, the scores, and the pieces in ``length``
    bytes."""
    count, begin, end, pad, unknown = sizes
    ends = np.frombuffer(data, "<u4", count + 1, _HEAD.size).tolist()
    scores = np.frombuffer(data, "<f4", count, _HEAD.size + 4 * (count + 1)).copy()
    start = _HEAD.size + 4 * (2 * count + 1)
    pieces = [bytes(data[start + first : start + last]).decode() for first, last in pairwise(ends)]
    marks = (begin, pad, end, unknown, count - 1)
    return Vocabulary(pieces, scores, begin, end, unknown, marks, *_replaced(data, start + length))


def _replaced(data: Any, start: int) -> tuple[dict[int, str], int]:
    """Return the table of characters, and the offset of its end."""
    entries, size = struct.unpack_from("<iI", data, start)
    start += 8
    until, replaced = start + size, {}
    for _ in range(entries):
        point, count = struct.unpack_from("<IB", data, start)
        replaced[point] = "".join(map(chr, struct.unpack_from(f"<{count}I", data, start + 5)))
        start += 5 + 4 * count
    if start != until:
        raise ValueError("the table of characters is damaged")
    return replaced, until


class PackedWeights(Mapping[str, _Array]):
    """The tensors of the file as float32, by BERT's names. Each is computed when it is read."""

    def __init__(self, path: Path) -> None:
        self._data = np.memmap(path, np.uint8, "r")
        self._bytes = self._data.data
        self._width, self._layers, self._heads, self._wide = _HEAD.unpack_from(self._bytes)[2:6]
        listed = self._listed(read_vocabulary(path).size)
        self._entries = {
            _bert_name(name): (is_packed, start, size) for name, is_packed, start, size in listed
        }

    def __getitem__(self, name: str) -> _Array:
        packed, raw = self._raw(name)
        flat = np.asarray(_signed(raw) * raw["scale"].astype(np.float32)[:, None] if packed else raw)
        if not (packed or name in _TABLES.values()) or "LayerNorm" in name:
            return flat.reshape(-1)
        is_last = name.endswith("output.dense.weight") and "attention" not in name
        return flat.reshape(-1, self._wide if is_last else self._width)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def blocks(self, name: str) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float16]]:
        """Return the matrix ``name`` as it is stored: integers of four bits, from -8 to 7, shape (rows,
        columns), and a scale for each `BLOCK` of a row."""
        _, raw = self._raw(name)
        rows = len(raw) * BLOCK // self._width
        return _signed(raw).reshape(rows, -1), raw["scale"].astype(np.float16).reshape(rows, -1)

    def _raw(self, name: str) -> tuple[bool, _Array]:
        is_packed, start, size = self._entries[name]
        return is_packed, self._data[start : start + size].view(_Q4 if is_packed else "<f4")

    def _listed(self, start: int) -> Iterator[tuple[str, bool, int, int]]:
        """Return for each tensor: its name, whether it is in blocks, its offset and its size in bytes."""
        (count,) = struct.unpack_from("<i", self._bytes, start)
        start += 4
        for _ in range(count):
            (length,) = struct.unpack_from("<H", self._bytes, start)
            name = bytes(self._bytes[start + 2 : start + 2 + length]).decode()
            kind, _, place, size = struct.unpack_from("<BIQQ", self._bytes, start + 2 + length)
            yield name, kind == 1, place, size
            start += 2 + length + 21


def _signed(blocks: _Array) -> npt.NDArray[np.int8]:
    """Return the weights of blocks as integers from -8 to 7, shape (blocks, 32)."""
    halves = [blocks["nibbles"] & 15, blocks["nibbles"] >> 4]
    return np.concatenate(halves, axis=1).astype(np.int8) - np.int8(8)


def _bert_name(name: str) -> str:
    if name in _TABLES:
        return _TABLES[name]
    layer, part, end = name.split(".")
    return f"encoder.layer.{layer[1:]}.{_PARTS[part]}.{_ENDS[end]}"
