"""What a package that reads files may do wrong: it costs the file, and neither the run nor the store."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path, PurePosixPath

import pytest

from rag_core import system
from rag_core.errors import ExtractError
from rag_core.extensions import Extension
from rag_core.extract import Worker, extract
from rag_core.extract import worker as worker_module
from rag_core.library import Library
from rag_core.types import OWNER, Extracted
from tests.conftest import index
from tests.support.installed_packages import Install
from tests.support.stored import store_of

pytestmark = pytest.mark.thorough

FILE = PurePosixPath("letter.foo")
ENTRY = {"extractors": {"letter.foo": "made_up_reader:read"}}
READER = """
import os, sys, time
from rag_core.errors import ExtractError, NotText
from rag_core.types import Extracted, Link, Segment

API_VERSION = 1
TEXT = "One.\\nTwo.\\n"

def document(text=TEXT, **changes):
    told = {"title": "", "title_from": "file name", "segments": ()}
    return Extracted(text=text, file_type="", encoding="utf-8", **{**told, **changes})

def read(data, path):
    secret = "a secret"
    return eval(data)
"""
"""It does what the file says, and so whatever can go wrong."""

WHO = "The package 'reader' 1, which adds 'letter.foo' to commonplace.extractors, "


@pytest.fixture(scope="module")
def one_worker() -> Iterator[Worker]:
    with closing(Worker(limit_s=20)) as worker:
        yield worker


@pytest.fixture
def read(install: Install, one_worker: Worker) -> Callable[[str], Extracted]:
    """Reads a file with this content by the package."""
    install("reader", "1", ENTRY, READER)
    return lambda told: extract(told.encode(), FILE, one_worker)


Read = Callable[[str], Extracted]


# --- what is taken ----------------------------------------------------------------------


def test_what_a_package_says_of_a_file_is_kept(read: Read) -> None:
    found = read(
        "document(title='  A\\nletter ', title_from='heading', aliases=('Post', 'post'), tags=('#mail', '#'),"
        " segments=(Segment(0, 5, ('Top', ''), 'page', '1'), Segment(5, 5), Segment(5, 10)),"
        " links=(Link('wikilink', 'Other', '', '', 3),), private=True, metadata={'n': [1, None]},"
        " date='2026-03-15', warnings=('Odd.',))"
    )
    assert (found.file_type, found.title, found.title_from) == ("letter", "A letter", "heading")
    assert (found.aliases, found.tags, found.date) == (("Post",), ("mail",), "2026-03-15")
    assert [(each.start, each.end, each.heading_path, each.anchor_ref) for each in found.segments] == [
        (0, 5, ("Top",), "1"),
        (5, 10, (), ""),
    ]
    assert (found.private, found.links[0].target, found.warnings) == (True, "Other", ("Odd.",))
    assert found.metadata == {"n": [1, None], "aliases": ["Post"]}


@pytest.mark.posix
def test_characters_that_no_store_takes_are_replaced_one_for_one(read: Read) -> None:
    metadata = "{'k\\0': '\\udc00😀'}"
    found = read(f"document('a\\0b\\ud800c😀', title='t\\udfff', title_from='heading', metadata={metadata})")
    assert (found.text, found.title) == ("a\ufffdb\ufffdc😀", "t\ufffd")
    assert found.metadata == {"k\ufffd": "\ufffd😀"}


# --- what is refused --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "wrong"),
    [
        ("document(segments=(Segment(5, 11),))", "the segment from 5 to 11 does not lie between"),
        ("document(segments=(Segment(5, 10), Segment(0, 5)))", "the segment from 0 to 5 does not lie"),
        ("document(segments=(Segment(0, 6), Segment(5, 10)))", "the segment from 5 to 10 does not"),
        ("document(segments=(Segment(4, 2),))", "the segment from 4 to 2 does not lie"),
        (
            "document(segments=(Segment(0, True),))",
            "document.segments.0.end: Input should be a valid integer",
        ),
        ("document(segments=(Segment(0, 5, 'Top'),))", "document.segments.0.heading_path: Input should be"),
        ("document(b'bytes')", "failed in reading this file (TypeError)"),
        ("document(7)", "document.text: Input should be a valid string"),
        ("document('x' * 101)", "the text has 101 characters, and 100 are allowed"),
        ("document(title='x', title_from='me')", "document.title_from: Input should be 'front matter'"),
        ("document(date='2026-02-30')", "the date is '2026-02-30', not one like '2026-03-15'"),
        ("document(date='20260315')", "the date is '20260315', not one like"),
        ("document(private='no')", "document.private: Input should be a valid boolean"),
        ("document(metadata={'x': float('nan')})", "failed in reading this file (ValueError)"),
        ("document(metadata={'x': 'y' * 70_000})", "metadata takes more than 64,000 characters"),
        ("document(links=(Link('wikilink', 'x', '', '', 11),))", "a link does not lie in the text"),
        ("document(links=(Link('pointer', 'x', '', '', 1),))", "document.links.0.type: Input should be"),
        ("None", "gave a value of type NoneType instead of Extracted"),
    ],
)
def test_a_document_that_a_store_could_not_keep_fails_its_file(
    read: Read, monkeypatch: pytest.MonkeyPatch, told: str, wrong: str
) -> None:
    monkeypatch.setattr(worker_module, "MOST_TEXT", 100)
    with pytest.raises(ExtractError) as caught:
        read(told)
    assert caught.value.message.startswith(WHO)
    assert wrong in caught.value.message


# --- what goes wrong --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "wrong"),
    [
        ("{}[secret]", "failed in reading this file (KeyError)."),
        ("sys.exit(secret)", "failed in reading this file (SystemExit)."),
        ("read(data, path)", "failed in reading this file (RecursionError)."),
        ("os.closerange(0, 3) or {}[secret]", "failed in reading this file (KeyError)."),
        ("os._exit(1)", "crashed on this file"),
        ("os.kill(os.getpid(), 9)", "crashed on this file"),
    ],
)
def test_whatever_a_package_does_costs_one_file_and_does_not_tell_what_is_in_it(
    read: Read, told: str, wrong: str
) -> None:
    with pytest.raises(ExtractError) as caught:
        read(told)
    assert caught.value.message.startswith(WHO + wrong)
    assert "secret" not in str(caught.value)
    assert read("document()").text == "One.\nTwo.\n"


def test_a_package_that_takes_too_long_costs_one_file(read: Read) -> None:
    with closing(Worker(limit_s=5)) as worker:
        with pytest.raises(ExtractError, match="took more than 5 seconds for this file"):
            extract(b"time.sleep(60)", FILE, worker)
        assert extract(b"document()", FILE, worker).text == "One.\nTwo.\n"


@pytest.mark.skipif(not Path("/proc/self/limits").exists(), reason="only Linux holds a process to it")
def test_a_package_that_takes_too_much_memory_costs_one_file(read: Read) -> None:
    with closing(Worker(limit_s=20, memory=600_000_000)) as worker:
        with pytest.raises(ExtractError, match=r"failed in reading this file \(MemoryError\)"):
            extract(b"bytearray(700_000_000)", FILE, worker)
        assert extract(b"document()", FILE, worker).text == "One.\nTwo.\n"


FILLS_MEMORY = b"""[
    [part.__setitem__(place, 1) for place in range(0, len(part), 4096)]
    for part in [__import__('mmap').mmap(-1, 600_000_000)]
] and time.sleep(60)"""
"""Code that fills memory which the limit of Linux does not count, as a stand-in for a system without one."""


@pytest.mark.skipif(sys.platform not in system._MEMORY, reason="its memory cannot be told")
def test_a_package_that_fills_memory_where_the_system_has_no_limit_is_killed(read: Read) -> None:
    with closing(Worker(memory=300_000_000)) as worker:
        with pytest.raises(ExtractError, match=r"took more than 300\.0 MB of memory for this file"):
            extract(FILLS_MEMORY, FILE, worker)
        assert extract(b"document()", FILE, worker).text == "One.\nTwo.\n"


def test_what_a_package_prints_reaches_nobody(read: Read, capfd: pytest.CaptureFixture[str]) -> None:
    assert read("print(secret) or os.write(1, data) * 0 or os.write(2, data) * 0 or document()").text
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "name", ["COMMONPLACE_EMBEDDING_API_KEY", "GEMINI_API_KEY", "OLLAMA_API_KEY", "AWS_SECRET_ACCESS_KEY"]
)
def test_keys_of_ours_are_not_in_the_environment_of_packages(
    read: Read, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "sesame")
    monkeypatch.setenv("OTHER", "open")
    with closing(Worker()) as worker:
        told = extract(b"document(str([*os.environ.values()]))", FILE, worker).text
    assert ("sesame" in told, "open" in told) == (False, True)


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="the system has no alarm")
def test_a_process_that_hangs_ends_although_who_asked_was_killed(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "_ORPHAN_S", 0)
    worker = Worker(limit_s=1)
    process = worker._started()
    assert process.stdin is not None
    about = asdict(Extension("extractors", "letter.foo", "reader", "1", "made_up_reader:read"))
    for frame in (json.dumps([about, "a.foo", "off", None, ""]).encode(), b"time.sleep(60)"):
        process.stdin.write(len(frame).to_bytes(8, "big") + frame)
    process.stdin.flush()
    assert process.wait(20) == -signal.SIGALRM
    worker.close()


# --- runs -------------------------------------------------------------------------------


@pytest.fixture
def reader(install: Install) -> Callable[..., None]:
    """Installs a version of the package that says one thing of every file."""

    def reader(told: str, version: str = "1") -> None:
        install("reader", version, ENTRY, READER.replace("eval(data)", told))

    return reader


Reader = Callable[..., None]


def test_files_are_read_again_when_a_package_comes_changes_or_goes(
    reader: Reader, library: Library, notes: Path, tmp_path: Path, extended: Callable[[Path], None]
) -> None:
    (notes / "a.foo").write_text("plain words", "utf-8")
    (notes / "b.md").write_text("a note", "utf-8")

    def run() -> tuple[dict[str, int], str, str]:
        store = store_of(library, "s")
        with store.write() as db:  # the files had been as they are for a while
            db.execute("UPDATE documents SET scanned_ns = scanned_ns + 10000000000")
        store.close()
        counts = index(library, "s").counts
        document = next(each for each in library.documents.all(OWNER, "s") if each.path == "a.foo")
        [passage] = library.documents.get(OWNER, "s", "a.foo").chunks
        return {name: count for name, count in counts.items() if count}, document.file_type, passage.content

    index(library, "s", notes)
    assert run() == ({"unchanged": 2}, "text", "plain words")
    reader("document('first')")
    assert run() == ({"reread": 1, "unchanged": 1}, "letter", "first")
    assert run() == ({"unchanged": 2}, "letter", "first")
    reader("document('second')", version="2")
    assert run() == ({"reread": 1, "unchanged": 1}, "letter", "second")
    [information] = (tmp_path / "packages").glob("reader*/entry_points.txt")
    information.unlink()
    extended(tmp_path / "packages")
    told = library.upkeep.explain(OWNER, str(notes / "a.foo"))[0].steps
    assert any(
        step.sentence == "Its reader has changed since. The next run reads it again, by Commonplace."
        for step in told
    )
    assert run() == ({"reread": 1, "unchanged": 1}, "text", "plain words")
