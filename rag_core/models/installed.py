"""Models installed on this machine: folders with a manifest, which pins every file by its hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any

from filelock import FileLock

from rag_core.errors import EmbedderError, ModelMissing

MANIFEST_FILE = "manifest.json"
_STAGING = ".installing-"


def write_manifest(folder: Path, files: Iterable[str], **facts: str) -> None:
    """Write a manifest with size and SHA-256 of ``files`` (paths in the folder). ``facts`` say where the
    files are from."""
    pinned = {name: ((folder / name).stat().st_size, sha256_of(folder / name)) for name in files}
    text = json.dumps({**facts, "files": pinned}, indent=2)
    (folder / MANIFEST_FILE).write_text(text + "\n", "utf-8")


def read_checked_manifest(folder: Path, called: str, remedy: Any) -> dict[str, Any]:
    """Return the manifest of a folder, after reading all files to check that none has changed. Raises
    FileNotFoundError if one is missing, and ModelMissing if one has changed: ``called`` begins that error,
    ``remedy`` is its advice."""
    raw: dict[str, Any] = {}
    try:
        raw = json.loads((folder / MANIFEST_FILE).read_text("utf-8"))
        damaged = [name for name, (_, sha256) in raw["files"].items() if sha256_of(folder / name) != sha256]
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        damaged = [MANIFEST_FILE]
    if damaged:
        raise ModelMissing(f"{called}'s file {damaged[0]!r} is damaged.", remedy)
    return raw


@contextmanager
def installing(model_dir: Path) -> Iterator[Path]:
    """Context manager: an empty folder next to the installed models, removed at the end. Only one
    installation runs at a time. Raises EmbedderError if files cannot be written."""
    try:
        model_dir.mkdir(parents=True, exist_ok=True)
        with FileLock(model_dir / ".install.lock"):
            for leftover in model_dir.glob(f"{_STAGING}*"):
                rmtree(leftover, ignore_errors=True)
            with TemporaryDirectory(prefix=_STAGING, dir=model_dir) as work:
                yield Path(work)
    except OSError as error:
        message = f"The model could not be installed: {error}."
        raise EmbedderError(message, "Check the folder's permissions and free space.") from error


def publish_folder(staged: Path, target: Path, work: Path) -> None:
    """Replace ``target`` by the finished folder ``staged`` in one step, so that ``target`` is never
    incomplete. A former ``target`` is moved into the folder ``work``."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        target.replace(work / "former")
    staged.replace(target)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
