"""Each note of an export of Evernote is a document: with its title, day, tags and attachments."""

from __future__ import annotations

import base64
from pathlib import Path, PurePosixPath

import pytest

from rag_core.errors import ExtractError
from rag_core.extract.containers import data_of, parts_of
from rag_core.library import Library
from rag_core.types import OWNER
from tests.conftest import index
from tests.extract.test_readers import read
from tests.support.consistency import check_library
from tests.support.stored import outcomes

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE en-export SYSTEM "http://xml.evernote.com/pub/evernote-export4.dtd">\n'
PAGE = '<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE en-note SYSTEM "http://evernote.com/enml2.dtd">'


def note(
    title: str, body: str, day: str = "20240301T101500Z", tags: tuple[str, ...] = (), more: str = ""
) -> str:
    labels = "".join(f"<tag>{tag}</tag>" for tag in tags)
    created = f"<created>{day}</created><updated>20250101T000000Z</updated>" if day else ""
    content = f"<content><![CDATA[{PAGE}<en-note>{body}</en-note>]]></content>"
    return f"<note><title>{title}</title>{content}{created}{labels}{more}</note>"


def export(*notes: str) -> bytes:
    return f'{HEAD}<en-export version="10.1">{"".join(notes)}</en-export>'.encode()


def resource(name: str, data: bytes, mime: str) -> str:
    about = f"<resource-attributes><file-name>{name}</file-name></resource-attributes>" if name else ""
    encoded = base64.encodebytes(data).decode()
    return f'<resource><data encoding="base64">\n{encoded}</data><mime>{mime}</mime>{about}</resource>'


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("<div>Gr&uuml;&szlig;e &amp; plums</div>", "Grüße & plums"),
        ("<div>the <b>error</b> budget</div>", "the error budget"),
        ('<div><en-todo checked="true"/>buy</div><div><en-todo/>sow</div>', "[x] buy\n\n[ ] sow"),
        ('<div>before<en-media hash="1" type="image/png"/>after</div>', "before after"),
        ("<table><tr><td>Plums</td><td>3 kg</td></tr></table>", "Plums | 3 kg"),
        ("<div>東京の桜</div>", "東京の桜"),
        ("<div>one<br/>two</div>", "one\ntwo"),
    ],
)  # fmt: skip
def test_a_note_is_read_as_it_is_shown(body: str, shown: str) -> None:
    found = read(export(note("Garden &amp; yard", body, tags=("home/yard", "2024"))), "notes.enex")
    assert (found.title, found.date, found.tags) == ("Garden & yard", "2024-03-01", ("home/yard", "2024"))
    assert shown in found.text
    assert found.text.startswith("Garden & yard\n\n")


def test_the_page_that_a_note_was_clipped_from_is_found() -> None:
    about = "<note-attributes><author>Ada</author><source-url>https://example.org/plums</source-url></note-attributes>"
    found = read(export(note("Plums", "<div>x</div>", more=about)), "notes.enex")
    assert ("https://example.org/plums" in found.text, found.metadata) == (True, {"author": "Ada"})


def test_what_is_encrypted_is_left_out_and_said() -> None:
    found = read(export(note("Codes", "<div>a<en-crypt>c2VjcmV0</en-crypt>b</div>")), "notes.enex")
    assert "c2VjcmV0" not in found.text
    assert found.warnings == ("A part of the note 'Codes' is encrypted in Evernote and is not read.",)


@pytest.mark.parametrize("name", ["list.txt", ""])
def test_an_attachment_is_read_with_its_own_reader(name: str) -> None:
    attached = resource(name, b"The aardvark sleeps.", "text/plain")
    found = read(export(note("Zoo", "<div>x</div>", more=attached)), "notes.enex")
    [segment] = [each for each in found.segments if each.anchor_type == "attachment"]
    assert found.text[segment.start : segment.end] == "The aardvark sleeps."
    assert segment.anchor_ref == (name or "Attachment 1.txt")


def test_a_damaged_attachment_costs_itself_alone() -> None:
    attached = resource("a.pdf", b"%PDF-1.7 broken", "application/pdf")
    found = read(export(note("Zoo", "<div>otters</div>", more=attached)), "notes.enex")
    assert "otters" in found.text
    assert found.warnings == ("The attachment 'a.pdf' cannot be read.",)


@pytest.mark.parametrize("data", [b"", b"<en-export></en-export>", b"PK\x03\x04", b"just text"])
def test_a_file_without_notes_is_damaged(data: bytes) -> None:
    with pytest.raises(ExtractError):
        read(data, "notes.enex")


@pytest.mark.parametrize("prologue", ["", PAGE, "\ufeff" + PAGE + "\n"])
def test_the_content_of_a_note_alone_is_read(prologue: str) -> None:
    data = f"{prologue}<en-note><div>Gr&uuml;&szlig;e, <b>miz</b>zen \x01</div></en-note>".encode()
    found = read(data, "notes.enex")
    assert (found.title, found.text, found.warnings) == ("notes.enex", "Grüße, mizzen", ())


def test_the_parts_of_an_export_are_its_notes_the_newest_first() -> None:
    old, new = note("Old", "a", "20200101T000000Z"), note("New", "b", "20260101T000000Z")
    data = export(old, new, note("No day", "c", ""))
    found = parts_of(data, PurePosixPath("n.enex"))
    assert [part.number for part in found] == [2, 1, 3]
    assert data_of(data, PurePosixPath("n.enex"), found[0]) == new.encode()
    assert [part.name for part in parts_of(export(new, old), PurePosixPath("n.enex"))] == [
        part.name for part in found[:2]
    ]


def test_notes_are_documents_and_of_a_new_export_only_new_ones_are_read(
    library: Library, notes: Path
) -> None:
    first = note("Plums", "<div>We picked damsons.</div>", tags=("orchard",))
    (notes / "all.enex").write_bytes(export(first))
    index(library, "s", notes)
    (notes / "all.enex").write_bytes(
        export(first, note("Bees", "<div>A swarm left.</div>", "20250701T080000Z"))
    )
    job = index(library, "s")
    assert (outcomes(job), job.texts_embedded) == ({"all.enex": "changed"}, 1)
    [hit] = library.search(OWNER, "tag:orchard damsons", mode="lexical").hits
    assert (hit.document.title, hit.document.date, hit.document.path) == ("Plums", "2024-03-01", "all.enex")
    [hit] = library.search(OWNER, "swarm date:2025-07", mode="lexical").hits
    assert hit.document.title == "Bees"
    check_library(library, "s")


def test_an_export_that_lost_its_notes_is_said_to_be_damaged(library: Library, notes: Path) -> None:
    (notes / "all.enex").write_bytes(export(note("Plums", "<div>We picked damsons.</div>")))
    index(library, "s", notes)
    (notes / "all.enex").write_bytes(b"<en-export>")
    assert outcomes(index(library, "s")) == {"all.enex": "failed"}
    assert library.search(OWNER, "damsons", mode="lexical").hits, "the last readable version stays"
    check_library(library, "s")
