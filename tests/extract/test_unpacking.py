"""Documents that unpack to far more than they may are refused by name, before their reader sees them."""

from __future__ import annotations

import io
import struct
import zipfile
from contextlib import closing
from pathlib import PurePosixPath

import pytest

from rag_core.errors import ExtractError
from rag_core.extract import Worker, extract, unpacking
from rag_core.extract.unpacking import refuse_bomb
from tests.extract.test_readers import read
from tests.support import documents_made as made


def bomb(unpacked: int, stated: int | None = None) -> bytes:
    """An archive with a member of so many zeros; its directory and header state another size."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", bytes(unpacked))
    data = packed.getvalue()
    return data.replace(struct.pack("<L", unpacked), struct.pack("<L", stated)) if stated else data


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.odt", "a.epub", "a.xlsx", "a.ods"])
def test_a_bomb_is_refused_by_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "MOST_UNPACKED", 5_000_000)
    monkeypatch.setattr(unpacking, "MOST_OF_SHEETS", 5_000_000)
    with pytest.raises(ExtractError, match=rf"'{name}' unpacks to more than 5 MB"):
        refuse_bomb(bomb(5_000_001), PurePosixPath(name))
    refuse_bomb(bomb(4_999_999), PurePosixPath(name))


def test_a_directory_that_lies_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "MOST_OF_SHEETS", 5_000_000)
    with pytest.raises(ExtractError, match="unpacks to more than"):
        refuse_bomb(bomb(50_000_000, 1000), PurePosixPath("a.xlsx"))


def test_the_worker_refuses_one_without_unpacking_it_into_memory() -> None:
    with closing(Worker(limit_s=60, memory=400_000_000)) as worker:
        with pytest.raises(ExtractError, match="unpacks to more than 500 MB"):
            extract(bomb(501_000_000), PurePosixPath("a.docx"), worker)
        assert "Green tea" in extract(made.docx("Green tea"), PurePosixPath("a.docx"), worker).text


@pytest.mark.parametrize("cut", [10, 100, 300])
def test_a_damaged_archive_is_its_readers_to_judge(cut: int) -> None:
    refuse_bomb(made.xlsx(Tea=[["Green", 6]])[:cut], PurePosixPath("a.xlsx"))


@pytest.mark.parametrize(
    ("written", "codec", "listed"),
    [
        ("Search – and Find.md", "utf-8", "Search – and Find.md"),
        ("Bücher/Größe.txt", "utf-8", "Bücher/Größe.txt"),
        ("Größe.txt", "cp437", "Größe.txt"),
        ("plain.txt", "ascii", "plain.txt"),
        ("__MACOSX/._Search – and Find.md", "utf-8", ""),
        ("notes/._text.md", "ascii", ""),
        ("notes/.text.md", "ascii", "notes/.text.md"),
    ],
)
def test_members_of_an_archive_are_listed_by_their_names(written: str, codec: str, listed: str) -> None:
    name = written.encode(codec)
    packed = made.zipped({"x" * len(name): "Green tea"})
    assert read(packed.replace(b"x" * len(name), name), "a.zip").text == listed
