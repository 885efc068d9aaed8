"""Who can turn text into vectors here: the built-in model, servers, packages."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from rag_core.errors import EmbedderError, ModelMissing, Unreachable
from rag_core.extensions import install_line
from rag_core.library.connections import ollama
from rag_core.library.connections.asking import ask, check_status, listed, model_ids
from rag_core.library.connections.check import Found, Unanswered, written
from rag_core.messages import say
from rag_core.models.embedders import Open
from rag_core.models.embedders.minilm import MODEL_NAME, Manifest
from rag_core.models.embedders.minilm_install import PACKAGE
from rag_core.models.embedders.openai import KEY_VARIABLE
from rag_core.models.embedders.options import OLLAMA_MODEL
from rag_core.models.servers.addresses import destination, leaves, with_version
from rag_core.reports import OllamaModel
from rag_core.wording import plural

_GET_OLLAMA = "Get it from https://ollama.com/download and start it"
_START_OLLAMA = "Start it there (`ollama serve`), or set `ollama_url` to where it is."


def builtin(model_dir: Path) -> Found:
    """The built-in model, its files compared with what was installed."""
    try:
        manifest = Manifest.read(model_dir)
    except ModelMissing as error:
        return Found("not set up", error.message, error.next_step)
    kind = "8-bit" if manifest.kind == "int8" else "32-bit"
    sentence = (
        f"{MODEL_NAME} ({kind}) from the package {PACKAGE.replace('==', ' ')} is in"
        f" {str(model_dir / MODEL_NAME)!r}, undamaged."
    )
    return Found("ready", sentence, embedders=("minilm",))


# --- Ollama -----------------------------------------------------------------------------


def ollama_server(url: str, needed: Sequence[str], config_file: Path | None, *, wanted: bool) -> Found:
    """Ollama at ``url``, its version and the models that can embed; stores need the ``needed`` ones. Where it
    is not ``wanted``, it is no fault that it is not there."""
    try:
        status, said = ask(url, "/api/version", _START_OLLAMA)
    except Unanswered as error:
        if wanted or error.found.state != "unreachable":
            raise
        elsewhere = written("ollama_url", "http://HOST:11434", config_file)
        return Found(
            "not set up", error.found.sentence, f"{_GET_OLLAMA}; if it is on another computer, {elsewhere}."
        )
    check_status(status, url, "Set OLLAMA_API_KEY, or let this computer in there.")
    number = said.get("version") if isinstance(said, dict) else None
    if status != 200 or not isinstance(number, str):
        return Found("unreachable", f"Something answers at {url}, and it is not Ollama.", _START_OLLAMA)
    try:
        models = ollama.installed(url)
    except EmbedderError as error:
        return Found("unreachable", error.message, error.suggestion)
    here = f"Ollama {number[:40]} at {url}"
    able = [model for model in models if model.embeds]
    names = tuple(model.embedder for model in able)
    missing = [
        name for name in dict.fromkeys(needed) if ollama.full(name) not in {model.name for model in models}
    ]
    if missing:
        sentence = f"{here} lacks {', '.join(map(repr, missing))}, which a store needs."
        return Found("not set up", sentence, say("pull_model", model=missing[0]), embedders=names)
    if not able:
        sentence = f"{here} has {plural(len(models), 'model')}, and none that can embed."
        return Found("not set up", sentence, say("pull_model", model=OLLAMA_MODEL))
    return Found("ready", f"{here} can embed with {listed([_described(m) for m in able])}.", embedders=names)


def _described(model: OllamaModel) -> str:
    loaded = ", loaded" if model.loaded else ""
    return f"{model.called} ({model.dimension:,} numbers, {model.context:,} tokens{loaded})"


# --- OpenAI's protocol ------------------------------------------------------------------


def openai_server(url: str, key: str, setting: str, needed: Sequence[str], config_file: Path | None) -> Found:
    """A server that speaks OpenAI's protocol at ``url``, which the ``setting`` gives, and its models; stores
    ask for the ``needed`` ones. A name that it does not list is only said: some take any."""
    if not url:
        step = written("embedding_base_url", "http://127.0.0.1:1234/v1", config_file)
        return Found("not set up", "No address is set.", f"{step[:1].upper()}{step[1:]}.")
    base = with_version(url)
    status, said = ask(base, "/models", f"Start it, or set `{setting}` to where it is.", key)
    check_status(status, base, f"Set {KEY_VARIABLE}, best in .env.")
    with_key = "with a key" if key else "without a key"
    here = f"The server at {base} (`{setting}`) answers {with_key}"
    models = model_ids(said) if status == 200 else None
    if models is None:
        return Found("ready", f"{here}, and does not list its models.")
    if not models:
        return Found("not set up", f"{here}, and has no model.", "Load a model there that can embed.")
    missing = [name for name in dict.fromkeys(needed) if name not in models]
    lacks = f" It does not list {', '.join(map(repr, missing))}, which a store asks for." if missing else ""
    names = tuple(f"openai:{name}" for name in models)
    return Found("ready", f"{here}; it lists {listed(models)}.{lacks}", embedders=names)


# --- packages ---------------------------------------------------------------------------


def sentence_transformers(needed: Sequence[str], offline: bool) -> Found:
    """The package sentence-transformers, and the folders of the models that stores need."""
    extra = "sentence-transformers"
    return _package(extra, "sentence_transformers", extra, _without_folder(needed, offline))


def mlx(needed: Sequence[str], offline: bool) -> Found:
    """The package mlx-embeddings, which is for Apple's processors, and the folders that stores need."""
    if not is_apple():
        return Found("not set up", f"It runs on Apple's processors only; this is {platform.machine()}.")
    return _package("mlx-embeddings", "mlx_embeddings", "mlx", _without_folder(needed, offline))


def is_apple() -> bool:
    """Whether this computer has one of Apple's processors."""
    return platform.system() == "Darwin" and platform.machine() == "arm64"


def _without_folder(needed: Sequence[str], offline: bool) -> list[str]:
    """The models that are not in a folder of this computer, where nothing may be fetched."""
    return [name for name in dict.fromkeys(needed) if offline and not os.path.isdir(os.path.expanduser(name))]  # noqa: PTH111, PTH112


def _package(package: str, module: str, extra: str, missing: Sequence[str]) -> Found:
    number = package_version(package, module)
    if not number:
        return Found(
            "not set up", f"The package {package!r} is not installed.", f"Run {install_line(extra)}."
        )
    if missing:
        sentence = f"The package {package!r} {number} is installed; a store needs a model that is not there:"
        return Found("not set up", f"{sentence} {missing[0]!r}.", "Put the folder back, or mount its disk.")
    sentence = (
        f"The package {package!r} {number} is installed; it takes models from folders of this computer."
    )
    return Found("ready", sentence, f"Name the folder in the embedder: `{extra}:FOLDER`.")


def foreign(names: Sequence[str], opened: Open) -> Found:
    """Embedders that an installed package brings and stores need, opened."""
    try:
        servers = [opened(name).server for name in dict.fromkeys(names)]
    except Unreachable as error:
        return Found("unreachable", error.message, error.suggestion)
    except EmbedderError as error:
        return Found("not set up", error.message, error.suggestion)
    away = next((server for server in servers if leaves(server)), "")
    return Found("ready", "What an installed package brings can be opened.", goes=destination(away))


def package_version(package: str, module: str) -> str:
    """The version of a package that is installed, '' for one that is not; it is not imported."""
    if find_spec(module) is None:
        return ""
    try:
        return version(package)
    except PackageNotFoundError:
        return "(of unknown version)"
