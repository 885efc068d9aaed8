"""Many read while one writes: nobody sees half a document, and nobody waits for an error."""

from __future__ import annotations

import threading
from pathlib import Path

from rag_core.errors import NotFound
from rag_core.library import Library
from rag_core.types import OWNER
from tests.conftest import index

READERS = 8
FILES = 6
VERSIONS = 6


def text(number: int, version: int) -> str:
    """A note whose every passage names its version, and which grows from version to version."""
    parts = "\n\n".join(
        f"## Part {part}\n\nIt is part {part} of version{version}, long enough to be a passage of its own."
        for part in range(4 + version)
    )
    return f"# Zebra {number}\n\n{parts}\n"


class Reader(threading.Thread):
    """Searches and opens documents until it is told to stop; keeps what it saw that cannot be."""

    def __init__(self, library: Library, stop: threading.Event, number: int) -> None:
        super().__init__(daemon=True)
        self.library, self.stop_at, self.number = library, stop, number
        self.looks = 0
        self.wrong: list[object] = []
        self.start()

    def run(self) -> None:
        try:
            while not self.stop_at.is_set():
                self.look()
                self.looks += 1
        except Exception as error:
            self.wrong.append(error)

    def look(self) -> None:
        answer = self.library.search(OWNER, f"zebra part {self.number}", top_k=5)
        if answer.warnings or len(answer.hits) != 5:
            self.wrong.append(answer)
        path = f"{(self.number + self.looks) % FILES}.md"
        self.expect_whole(
            path, [chunk.content for chunk in self.library.documents.get(OWNER, "s", path).chunks]
        )
        try:
            around = self.library.documents.neighbours(OWNER, "s", answer.hits[0].key, around=20)
        except NotFound:  # written anew between the two looks
            return
        self.expect_whole(answer.hits[0].document.path, [chunk.content for chunk in around])

    def expect_whole(self, path: str, passages: list[str]) -> None:
        whole = "\n\n".join(passages)
        versions = {word.strip(",.") for word in whole.split() if word.startswith("version")}
        if len(versions) != 1 or len(passages) != 4 + int(versions.pop().removeprefix("version")):
            self.wrong.append((path, passages))


def test_eight_readers_beside_a_run_see_whole_documents_and_no_error(library: Library, notes: Path) -> None:
    for number in range(FILES):
        (notes / f"{number}.md").write_text(text(number, 0))
    index(library, "s", notes)
    stop = threading.Event()
    readers = [Reader(library, stop, number) for number in range(READERS)]

    for version in range(1, VERSIONS):
        for number in range(FILES):
            (notes / f"{number}.md").write_text(text(number, version))
        assert index(library, "s").state == "done"
    stop.set()
    for reader in readers:
        reader.join(20)

    assert [wrong for reader in readers for wrong in reader.wrong][:3] == []
    assert sum(reader.looks for reader in readers) > READERS
    assert library.upkeep.verify(OWNER, "s").findings == ()
