"""Downloads a model from the Hugging Face hub (or the mirror in HF_ENDPOINT) at the owner's command: the ONNX
graph, its tokenizer and its configuration. These files are data, so no code of the model is run. No key is
sent."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree
from typing import Any

# Its client tells the hub who uses it, and asks it for lists, unless this is set before the import.
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"

from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError

from rag_core.errors import EmbedderError, InvalidInput
from rag_core.models.card import GRAPHS, MODULES, SETTINGS, TOKENIZER
from rag_core.models.installed import MANIFEST_FILE, installing, publish_folder, write_manifest
from rag_core.models.onnx_folder import MODEL_ERRORS, cannot_run, opened_card
from rag_core.models.transformer import Encoder

SHAPE = "hf:ORG/NAME, or hf:ORG/NAME@REVISION"
_PART = r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}"
_NAME = re.compile(rf"hf:(?P<repo>{_PART}/{_PART})(?:@(?P<revision>[A-Za-z0-9._/-]{{1,100}}))?")
_POOLING = re.compile(r"[\w-]+/config\.json")  # in the folder that `modules.json` names
_SHA1_FILE = b"blob %d\0"  # git puts this before a file when it computes the file's SHA-1

# Its second base is OSError; the first is the error of the HTTP package below, which changed twice.
_HUB_ERRORS: tuple[type[BaseException], ...] = (*HfHubHTTPError.__bases__, ValueError)

DownloadReport = Callable[[str], None]


def fetch(name: str, model_dir: Path, report: DownloadReport = lambda _line: None) -> str:
    """Download the model ``hf:ORG/NAME`` into ``model_dir`` and return its ORG/NAME.

    Without a revision in ``name``, the newest revision is downloaded. Every file must have the hash that the
    hub lists. ``report`` is called with a sentence about each step.

    Raises:
        InvalidInput: the name is malformed.
        EmbedderError: the hub cannot be reached, or has no such model with an ONNX graph.

    """
    (repo, wanted), api = _parsed(name), HfApi(token=False)
    try:
        report(f"Asking {api.endpoint} for {repo} …")
        told = api.model_info(repo, revision=wanted, files_metadata=True)
    except _HUB_ERRORS as error:
        raise _away(api, repo, error) from None
    files = _needed({sibling.rfilename: sibling for sibling in told.siblings or ()}, repo)
    target, revision = model_dir / repo, str(told.sha)
    with installing(model_dir) as work:
        if _revision(target) == revision:
            report(f"{repo} is installed at revision {revision}.")
            return repo
        staged = work / "model"
        for file, listed in files.items():
            report(f"Fetching {file} ({(listed.size or 0) / 1e6:.1f} MB) …")
            try:
                api.hf_hub_download(repo, file, revision=revision, local_dir=staged)
            except _HUB_ERRORS as error:
                raise _away(api, repo, error) from None
            _verify(staged / file, listed)
        rmtree(staged / ".cache", ignore_errors=True)  # of the hub's client
        write_manifest(staged, files, source=f"hf:{repo}", revision=revision)
        _require_runnable(staged, repo)
        publish_folder(staged, target, work)
    report(f"Installed {repo} at revision {revision}.")
    return repo


def _parsed(name: str) -> tuple[str, str | None]:
    """Split ``hf:ORG/NAME@REVISION`` into ORG/NAME and the revision, or None without a revision. Raises
    InvalidInput."""
    shape = _NAME.fullmatch(name)
    if shape is None:
        step = f"Did you mean hf:{name}?" if _NAME.fullmatch(f"hf:{name}") else f"Write it like {SHAPE}."
        if Path(name.removeprefix("onnx:")).expanduser().is_dir():
            step = "A folder needs no installing: name it as the embedder or reranker, like onnx:FOLDER."
        raise InvalidInput(f"{name[:80]!r} names no model of the hub.", step)
    return shape["repo"], shape["revision"]


def _require_runnable(folder: Path, repo: str) -> None:
    """Raise EmbedderError if the model in ``folder`` cannot be run here."""
    try:
        card, _ = opened_card(folder)
        Encoder(card.graph, card.tokenizer, card.max_tokens)
    except MODEL_ERRORS as error:
        raise cannot_run(repo, error) from error


def _needed(listed: dict[str, Any], repo: str) -> dict[str, Any]:
    """Choose the files to download from the files that the hub lists. Raises EmbedderError if there is no
    graph or tokenizer."""
    graph = next((name for name in GRAPHS if name in listed), "")
    if not graph or TOKENIZER not in listed:
        message = f"{repo!r} has no {TOKENIZER if graph else GRAPHS[0]}."
        raise EmbedderError(message, "Choose a model that was exported to ONNX.")
    beside = {name for name in listed if re.fullmatch(rf"{re.escape(graph)}[._]?data", name)}
    small = {name for name in listed if name in SETTINGS or _POOLING.fullmatch(name)}
    names = (graph, *sorted(beside), TOKENIZER, *sorted(small if MODULES in listed else small & {*SETTINGS}))
    return {name: listed[name] for name in names}


def _verify(path: Path, listed: Any) -> None:
    """Raise EmbedderError unless a file has the hash that the hub lists: SHA-256 for a large file, git's
    SHA-1 for a small one."""
    data = path.read_bytes()
    if listed.lfs is not None:
        same = hashlib.sha256(data).hexdigest() == listed.lfs.sha256
    else:
        git = hashlib.sha1(_SHA1_FILE % len(data) + data, usedforsecurity=False)
        same = git.hexdigest() == listed.blob_id
    if not same:
        message = f"The file {path.name!r} is not the one that the hub lists: its hash differs."
        raise EmbedderError(message, "Try again; if it stays so, do not use this model.")


def _revision(target: Path) -> str:
    """Return the revision of the installed model; '' if the model is not installed or damaged."""
    try:
        opened_card(target)
        return str(json.loads((target / MANIFEST_FILE).read_text("utf-8"))["revision"])
    except (*MODEL_ERRORS, EmbedderError):
        return ""


def _away(api: HfApi, repo: str, error: BaseException) -> EmbedderError:
    status = getattr(getattr(error, "response", None), "status_code", None)
    # the hub answers 401 for every model that is not public, even if it does not exist
    if status in (401, 403, 404):
        message = f"{api.endpoint} has no public model {repo!r}, or not at this revision."
        return EmbedderError(message, "Check the name on the hub's page of the model.")
    message = f"{api.endpoint} did not give the model {repo!r} ({type(error).__name__})."
    return EmbedderError(message, "Check the network, and HF_ENDPOINT if you use a mirror.")
