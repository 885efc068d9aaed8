"""Homes of the app for its pages to be looked at: full, empty, at work, and with all that can be wrong."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from rag_core.ask import Checker
from rag_core.config import Settings
from rag_core.library import Library
from rag_core.types import OWNER
from tests.browser.chromium import Watched, places, watch
from tests.conftest import index
from tests.support.chat_servers import Messages, OllamaChat, user_message
from tests.support.standin import nobody, serving
from tests.support.tailscale_program import Program, install
from tests.support.trees import plant, write

ASKED: Final = "Heron 1 waits"
KEPT: Final = "a" * 32
"""The conversation that is kept in the full home."""
NEW: Final = "Egret"
_MODEL: Final = "ollama:embeddinggemma"


@dataclass
class Patient(OllamaChat):
    """Ollama with models that wait until ``go`` is set, and in the middle of an answer until ``end`` is."""

    go: threading.Event = field(default_factory=threading.Event)
    end: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.script = self.says

    def says(self, messages: Messages) -> Iterator[str]:
        yield f'"{ASKED}" [1]. It "flies" [1]. And'
        if ASKED in user_message(messages):  # the Settings page only asks whether there is an answer
            self.end.wait()
        yield " it sleeps [1]."

    def _embed(self, body: dict[str, Any]) -> bytes:
        if any(word in str(body["input"]) for word in ("warm", NEW)):  # to load the model, or to index
            self.go.wait()
        return super()._embed(body)

    def _pull(self, body: dict[str, Any]) -> Any:
        def steps() -> Iterator[dict[str, Any]]:
            part = {"total": 300_000_000, "completed": 100_000_000}
            yield {"status": "pulling 0", "digest": "sha256:0", **part}
            self.go.wait()

        return steps()


def herons(folder: Path) -> Path:
    """A few notes that speak of each other."""
    texts = {
        f"{number}.md": f"---\ntags: [bird, bird/wader]\n---\n# Heron {number}\n\n"
        f"Heron {number} waits. See [[1]].\n"
        for number in range(6)
    }
    write(folder, texts)
    return folder


def _library(folder: Path, **settings: Any) -> Library:
    return Library.open(Settings(folder / "home" / "data", folder / "models", (folder,), **settings))


def _environment(folder: Path, ollama: str, program: Program | None = None) -> dict[str, str]:
    """An app that knows this Ollama and this Tailscale, and no other of this computer."""
    here = [] if program is None else [str(program.folder / "bin")]
    path = os.pathsep.join([*here, os.environ["PATH"]])
    return places(folder) | {
        "PATH": path,
        "COMMONPLACE_OLLAMA_URL": ollama,
        "COMMONPLACE_EMBEDDER": "hashing",
        "COMMONPLACE_LLM": "ollama:talker",
        "AWS_CONFIG_FILE": str(folder / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(folder / "none"),
        "AWS_EC2_METADATA_DISABLED": "true",
    }


@contextmanager
def full(folder: Path) -> Iterator[dict[str, str]]:
    """Two stores, one of them new; an answer that was kept, guests, another owner, models, Tailscale."""
    library = _library(folder)
    plant(herons(folder / "notes"), "song.mp3", text=bytes(100))
    index(library, "birds", folder / "notes")
    library.files.exclude(OWNER, "birds", "5.md")
    library.jobs.run(OWNER, "birds")
    library.create_store(OWNER, "new", "hashing")
    library.saved.save(OWNER, "Waders", "tag:bird/wader")
    _keep_an_answer(library)
    _keep_visitors(library)
    library.close()
    with serving(Patient()) as ollama:
        ollama.go.set()
        try:
            yield _environment(folder, ollama.url, install(folder / "tailscale"))
        finally:
            ollama.end.set()


def _keep_an_answer(library: Library) -> None:
    """A conversation with each mark that an answer can have."""
    passages = library.ask(OWNER, ASKED, ["birds"])
    checker = Checker(passages.references)
    checker.feed('"Heron 1 waits" [1]. It "flies" [1]. It sleeps. It waits [1].')
    checker.end()
    said = replace(passages, statements=tuple(checker.statements), references=checker.references)
    answered = replace(said, ending="answered", message="", notices=(), model="ollama:talker")
    library.asking.keep_reply(OWNER, KEPT, answered)


def _keep_visitors(library: Library) -> None:
    """A guest who came, another owner, and somebody who was refused."""
    library.sharing.share(OWNER, "linus@example.com", ["birds"], may_ask=True)
    library.sharing.make_owner(OWNER, "ada@example.com")
    library.sharing.record_visit("linus@example.com", "pages", 3)
    library.sharing.record_visit("mallory@example.com", "rest", refused=True)


@contextmanager
def empty(folder: Path) -> Iterator[dict[str, str]]:
    """Nothing yet, on a computer without Ollama."""
    yield _environment(folder, nobody())


@contextmanager
def busy(folder: Path) -> Iterator[dict[str, str]]:
    """A run that waits for its embedder, a model that waits in its answer, Tailscale that says nothing."""
    program = install(folder / "tailscale")
    with serving(Patient()) as ollama:
        ollama.go.set()
        library = _library(folder, ollama_url=ollama.url)
        library.create_store(OWNER, "birds", _MODEL)
        index(library, "birds", herons(folder / "notes"))
        write(folder / "notes", {f"new/{number}.md": f"# {NEW} {number}\n\nIt flies." for number in range(3)})
        library.jobs.request(OWNER, "birds")
        library.close()
        ollama.go.clear()
        program.does("exec sleep 60")
        try:
            yield _environment(folder, ollama.url, program)
        finally:
            ollama.go.set()


@contextmanager
def broken(folder: Path) -> Iterator[dict[str, str]]:
    """A file that is no text, a folder that is gone, a damaged store, an embedder that is away."""
    with serving(Patient()) as ollama:
        ollama.go.set()
        library = _library(folder, ollama_url=ollama.url)
        library.create_store(OWNER, "birds", _MODEL)
        write(herons(folder / "notes"), {"paper.mobi": "BOOKMOBI" + "\0\1\2\3" * 40})
        index(library, "birds", folder / "notes")
        index(library, "birds", herons(folder / "gone"))
        write(folder / "notes", {"13.md": "# Heron 13\n\nIt waits.\n"})
        library.close()
    alone = _library(folder, ollama_url=nobody())
    alone.create_store(OWNER, "modelless")
    index(alone, "birds")
    alone.close()
    (folder / "notes" / "2.md").unlink()
    shutil.rmtree(folder / "gone")
    (alone.settings.store_dir / "torn.db").write_bytes(b"This is no store." * 1000)
    program = install(folder / "tailscale")
    program.does("echo is not running >&2; exit 1")
    yield _environment(folder, nobody(), program)


Home = Callable[[Path], AbstractContextManager[dict[str, str]]]
HOMES: Final[Mapping[str, Home]] = {"full": full, "empty": empty, "busy": busy, "broken": broken}


@contextmanager
def opened(home: str, folder: Path) -> Iterator[Watched]:
    """The app in one of the homes, and a browser at it."""
    with HOMES[home](folder) as environment, watch(folder, environment) as watched:
        yield watched
