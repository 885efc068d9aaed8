"""A file that is read by slices is searched as its bytes are in memory, however it is cut."""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePosixPath

import pytest

from rag_core.errors import FileGone, NotText
from rag_core.extract import mailbox
from rag_core.extract.containers import data_of, parts_of
from rag_core.files import opened_in_slices, slices
from tests.support.mailboxes import SEPARATOR, message

NOT_A_MESSAGE = "A letter.\n\nFrom Wednesday on, the yard is closed.\n"
MAILBOX = "".join(
    [
        message("The roof", NOT_A_MESSAGE, 2, "roof@x.org"),
        f"{SEPARATOR}\nnoheader\n\n",
        message("Lunch", f">{SEPARATOR}\nDumplings.", 9, "lunch@x.org"),
        message("Nameless", "An otter.", 0),
    ]
).encode()
EXPORT = (
    b"<en-export><note><title>A</title><created>20240301T101500Z</created></note>\n"
    b"<note x='1'><title>B</title><content><![CDATA[<notes>]]></content></note><note><title>C</title>"
)
FILES = {"a.mbox": MAILBOX, "crlf.mbox": MAILBOX.replace(b"\n", b"\r\n"), "a.enex": EXPORT}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("window", [1, 7, 33, 100, 150, 1000])
def test_parts_are_the_same_wherever_the_windows_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, window: int
) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    path = PurePosixPath(name)
    whole = parts_of(FILES[name], path)
    monkeypatch.setattr(slices, "_WINDOW", window)
    with opened_in_slices(tmp_path, name.encode()) as data:
        assert parts_of(data, path) == whole
        assert slices.hash_of(data) == hashlib.sha256(FILES[name]).hexdigest()
    assert len(whole) == 3


def test_a_part_that_was_changed_since_it_was_found_is_not_given(tmp_path: Path) -> None:
    file = tmp_path / "a.mbox"
    file.write_bytes(MAILBOX)
    path = PurePosixPath(file.name)
    with opened_in_slices(tmp_path, b"a.mbox") as data:
        newest, *_ = parts_of(data, path)
        file.write_bytes(MAILBOX.replace(b"otter", b"badger"))
        read = [data_of(data, path, part) for part in parts_of(data, path)]
        assert sum(b"otter" in each for each in read if each) == 0
        file.write_bytes(b"")
        assert data_of(data, path, newest) is None


def test_an_escaped_line_is_given_as_it_was_sent() -> None:
    [lunch] = [each for each in mailbox.newest_first(MAILBOX) if each.number == 2]
    assert f"\n{SEPARATOR}\nDumplings.".encode() in lunch.raw(MAILBOX)


def test_a_file_that_is_gone_or_outside_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("x", "utf-8")
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path / "out")
    with pytest.raises(FileGone), opened_in_slices(root, b"none"):
        pass
    with pytest.raises(NotText, match="outside"), opened_in_slices(root, b"link"):
        pass
