"""Small documents of every format that a person keeps, made with the formats' own libraries or by hand."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable, Mapping, Sequence
from email.message import EmailMessage
from typing import Any


def pdf(
    *pages: str,
    title: str = "",
    headline: str = "",
    password: str = "",
    outline: Sequence[tuple[str, int]] = (),
    filled_in: str = "",
    comment: str = "",
) -> bytes:
    """A PDF with a page for each text, its lines below one another; a ``headline`` is in large letters. Each
    page has a form's field that is ``filled_in``, and a ``comment``."""
    from reportlab.lib.pdfencrypt import StandardEncryption
    from reportlab.pdfgen.canvas import Canvas

    made = io.BytesIO()
    encrypt = StandardEncryption(password, canPrint=1) if password else None
    canvas = Canvas(made, encrypt=encrypt)
    canvas.setTitle(title or "untitled")
    for number, page in enumerate(pages, 1):
        for name, at in outline:
            if at == number:
                canvas.bookmarkPage(name)
                canvas.addOutlineEntry(name, name)
        if headline:
            canvas.setFontSize(24)
            canvas.drawString(72, 800, headline)
            canvas.setFontSize(12)
        text = canvas.beginText(72, 770)
        for line in page.split("\n"):
            text.textLine(line)
        canvas.drawText(text)
        if filled_in:
            canvas.acroForm.textfield(value=filled_in, x=72, y=400, width=300)
        if comment:
            canvas.textAnnotation(comment, (300, 300, 320, 320))
        canvas.showPage()
    canvas.save()
    return made.getvalue()


def pdf_in_codes(codes: bytes, meant: Mapping[int, int], font: str = "CMR10") -> bytes:
    """A PDF with a line of character codes, of which some are meant to be other characters."""
    mapped = "".join(f"<{code:02x}><{char:04x}>\n" for code, char in meant.items())
    cmap = f"begincmap 1 begincodespacerange <00><FF> endcodespacerange {len(meant)} beginbfchar {mapped}"
    streams = (f"BT /F1 12 Tf 50 700 Td <{codes.hex()}> Tj ET", f"{cmap} endbfchar endcmap")
    page = "/MediaBox[0 0 600 800]/Contents 5 0 R/Resources<</Font<</F1 4 0 R>>>>"
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        f"<</Type/Page/Parent 2 0 R{page}>>",
        f"<</Type/Font/Subtype/Type1/BaseFont/AAAAAA+{font}/FirstChar 0/LastChar 255"
        f"/Widths[{'600 ' * 256}]/ToUnicode 6 0 R>>",
        *(f"<</Length {len(stream)}>>stream\n{stream}\nendstream" for stream in streams),
    ]
    body = "".join(f"{number} 0 obj\n{each}\nendobj\n" for number, each in enumerate(objects, 1))
    return f"%PDF-1.4\n{body}trailer<</Root 1 0 R>>".encode()


def docx(*blocks: str | Sequence[Sequence[str]], title: str = "", footer: str = "") -> bytes:
    """A Word document: ``# Heading`` lines, paragraphs, and tables as rows of cells."""
    from docx import Document

    document = Document()
    document.core_properties.title = title
    for block in blocks:
        if not isinstance(block, str):
            table = document.add_table(len(block), len(block[0]))
            for row, cells in enumerate(block):
                for column, cell in enumerate(cells):
                    table.cell(row, column).text = cell
        elif block.startswith("#"):
            document.add_heading(block.lstrip("# "), len(block) - len(block.lstrip("#")))
        else:
            document.add_paragraph(block)
    if footer:
        document.sections[0].footer.paragraphs[0].text = footer
    return _saved(document)


def pptx(*slides: tuple[str, str, str]) -> bytes:
    """A presentation: (title, text, notes) of each slide."""
    from pptx import Presentation

    presentation = Presentation()
    for title, text, notes in slides:
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = text
        if notes:
            slide.notes_slide.notes_text_frame.text = notes
    return _saved(presentation)


def pptx_chart(title: str, series: str, categories: Sequence[str], *, smart_art: bool = False) -> bytes:
    """A presentation with a chart; with ``smart_art`` its slide refers to the same words as SmartArt."""
    from pptx import Presentation
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE

    presentation = Presentation()
    data = CategoryChartData()
    data.categories = categories
    data.add_series(series, range(len(categories)))
    shapes = presentation.slides.add_slide(presentation.slide_layouts[6]).shapes
    chart = shapes.add_chart(XL_CHART_TYPE.PIE, 0, 0, 10**6, 10**6, data).chart
    chart.chart_title.text_frame.text = title
    made = _saved(presentation)
    if not smart_art:
        return made
    frame, diagram = "{}chart", "{}diagram"
    space = "http://schemas.openxmlformats.org/drawingml/2006/"
    return rewritten(
        made,
        "ppt/slides/slide1.xml",
        (f'<c:chart xmlns:c="{frame.format(space)}"', f'<d:relIds xmlns:d="{diagram.format(space)}"'),
        (' r:id="', ' r:dm="'),
    )


def rewritten(archive: bytes, name: str, *changes: tuple[str, str]) -> bytes:
    """``archive`` with these replacements in one of its files."""
    with zipfile.ZipFile(io.BytesIO(archive)) as old:
        files = {each: old.read(each) for each in old.namelist()}
    text = files[name].decode()
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    files[name] = text.encode()
    return zipped(files)


def of_word_in_a_browser(docx: bytes) -> bytes:
    """``docx`` with its parts named as Word in a browser names them."""
    with zipfile.ZipFile(io.BytesIO(docx)) as old:
        files = {each: old.read(each) for each in old.namelist()}
    names = {
        "word/document.xml": "word/document2.xml",
        "word/_rels/document.xml.rels": "word/_rels/document2.xml.rels",
    }
    return zipped(
        {
            names.get(name, name): data.replace(b"document.xml", b"document2.xml")
            if name.endswith((".xml", ".rels"))
            else data
            for name, data in files.items()
        }
    )


def xlsx(**sheets: Sequence[Sequence[object]]) -> bytes:
    """A workbook with these rows in each sheet."""
    from xlsxwriter import Workbook

    made = io.BytesIO()
    with Workbook(made, {"in_memory": True}) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
    return made.getvalue()


def workbook(write: Callable[[Any, Any], None], name: str = "Sheet") -> bytes:
    """A workbook with one sheet into which ``write(book, sheet)`` writes."""
    from xlsxwriter import Workbook

    made = io.BytesIO()
    with Workbook(made, {"in_memory": True}) as book:
        write(book, book.add_worksheet(name))
    return made.getvalue()


def strict(archive: bytes) -> bytes:
    """A file in Open XML with the namespaces of its strict form."""
    with zipfile.ZipFile(io.BytesIO(archive)) as old:
        files = {name: old.read(name) for name in old.namelist()}
    for before, after in _STRICT.items():
        for name in files:
            files[name] = files[name].replace(before.encode(), after.encode())
    return zipped(files)


_STRICT = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "http://purl.oclc.org/ooxml/wordprocessingml/main",
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main": "http://purl.oclc.org/ooxml/spreadsheetml/main",
    "http://schemas.openxmlformats.org/presentationml/2006/main": "http://purl.oclc.org/ooxml/presentationml/main",
    "http://schemas.openxmlformats.org/drawingml/2006/": "http://purl.oclc.org/ooxml/drawingml/",
    "http://schemas.openxmlformats.org/officeDocument/2006/": "http://purl.oclc.org/ooxml/officeDocument/",
}


def added(archive: bytes, files: Mapping[str, str | bytes]) -> bytes:
    """``archive`` with these files in addition."""
    with zipfile.ZipFile(io.BytesIO(archive)) as old:
        return zipped({**{name: old.read(name) for name in old.namelist()}, **files})


def part_of(archive: bytes, name: str) -> bytes:
    """One of the files in ``archive``; nothing if it is not there."""
    with zipfile.ZipFile(io.BytesIO(archive)) as parts:
        return parts.read(name) if name in parts.namelist() else b""


def names_of(archive: bytes) -> list[str]:
    """The names of the files in ``archive``."""
    with zipfile.ZipFile(io.BytesIO(archive)) as parts:
        return parts.namelist()


def damaged_part(archive: bytes, name: str, part: bytes = b"<no XML") -> bytes:
    """``archive`` with another content of the file whose name ends with ``name``."""
    with zipfile.ZipFile(io.BytesIO(archive)) as old:
        files = {each: old.read(each) for each in old.namelist()}
    [full] = [each for each in files if each.endswith(name)]
    return zipped({**files, full: part})


def ods(**sheets: Sequence[Sequence[object]]) -> bytes:
    """An OpenDocument workbook with these rows in each sheet."""
    tables = ""
    for name, rows in sheets.items():
        cells = (
            "".join(
                f'<table:table-cell office:value-type="string"><text:p>{each}</text:p></table:table-cell>'
                for each in row
            )
            for row in rows
        )
        lines = "".join(f"<table:table-row>{each}</table:table-row>" for each in cells)
        tables += f'<table:table table:name="{name}">{lines}</table:table>'
    return opendocument(f"<office:spreadsheet>{tables}</office:spreadsheet>", "spreadsheet")


def xls(**sheets: Sequence[Sequence[object]]) -> bytes:
    """A workbook of Excel 97 with these rows in each sheet: BIFF8 records in a compound file."""
    parts = {
        name: b"".join(
            record(0x0204, struct.pack("<HHHHB", r, c, 0, len(str(value)), 0) + str(value).encode())
            for r, row in enumerate(rows)
            for c, value in enumerate(row)
        )
        for name, rows in sheets.items()
    }
    return xls_of(b"", **parts)


def record(kind: int, body: bytes) -> bytes:
    """A record of BIFF8."""
    return struct.pack("<HH", kind, len(body)) + body


def xls_of(shared: bytes, **sheets: bytes) -> bytes:
    """A workbook of Excel 97 of these records: those of the workbook, and those of each sheet."""

    def begin(kind: int) -> bytes:
        return record(0x0809, struct.pack("<HHHHII", 0x0600, kind, 0x0DBB, 0x07CC, 0, 6))

    end = record(0x000A, b"")
    parts = [begin(0x10) + records + end for records in sheets.values()]
    stream = begin(5) + shared
    at = len(stream) + sum(12 + len(name) for name in sheets) + len(end)
    for name, part in zip(sheets, parts, strict=True):
        stream += record(0x0085, struct.pack("<IHBB", at, 0, len(name), 0) + name.encode())
        at += len(part)
    return _compound(stream + end + b"".join(parts))


def _compound(stream: bytes) -> bytes:
    """A compound file with a stream that is called Workbook."""
    blocks = max(8, -(-len(stream) // 512))  # from 4,096 bytes on, it is no small stream
    chain = [-3, -2, *range(3, 2 + blocks), -2]  # this table, the directory, the stream
    table = b"".join(struct.pack("<i", each) for each in chain).ljust(512, b"\xff")
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6)
    header += bytes(10) + struct.pack("<iiiiiiii", 1, 1, 0, 4096, -2, 0, -2, 0) + struct.pack("<i", 0)
    directory = _entry("Root Entry", 5, 1, -2, 0) + _entry("Workbook", 2, -1, 2, blocks * 512)
    return (
        header.ljust(512, b"\xff") + table + directory.ljust(512, b"\0") + stream.ljust(blocks * 512, b"\0")
    )


def _entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
    """An entry of a compound file's directory."""
    letters = f"{name}\0".encode("utf-16-le")
    links = struct.pack("<HBBiii", len(letters), kind, 1, -1, -1, child)
    return letters.ljust(64, b"\0") + links + bytes(36) + struct.pack("<iq", start, size)


def encrypted_office() -> bytes:
    """An OLE file (MS-CFB) as Office puts an encrypted document into: its directory names the parts."""
    end, free = 0xFFFFFFFE, 0xFFFFFFFF
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<5H", 0x3E, 3, 0xFFFE, 9, 6)
    head += bytes(6) + struct.pack("<9I", 0, 1, 1, 0, 4096, end, 0, end, 0)
    head += struct.pack("<I", 0) + struct.pack("<I", free) * 108
    table = struct.pack("<2I", 0xFFFFFFFD, end) + struct.pack("<I", free) * 126
    directory = b""
    for name, kind, child in (
        ("Root Entry", 5, 1),
        ("EncryptedPackage", 2, free),
        ("EncryptionInfo", 2, free),
    ):
        spelled = name.encode("utf-16-le")
        entry = spelled.ljust(64, b"\0") + struct.pack("<H2B3I", len(spelled) + 2, kind, 1, free, free, child)
        directory += entry + bytes(36) + struct.pack("<IQ", end, 0)
    return head + table + directory.ljust(512, b"\0")


def odt(body: str) -> bytes:
    """An OpenDocument text with this content of ``office:text``."""
    return opendocument(f"<office:text>{body}</office:text>")


def odp(*pages: str) -> bytes:
    """An OpenDocument presentation with this content of each page."""
    drawn = "".join(f"<draw:page>{page}</draw:page>" for page in pages)
    return opendocument(f"<office:presentation>{drawn}</office:presentation>")


def opendocument(body: str, kind: str = "text", **parts: str) -> bytes:
    """An OpenDocument file with this body, and with further parts, in which ``__`` stands for ``/``."""
    names = {each: each for each in "office text table meta chart style".split()} | {"draw": "drawing"}
    spaces = " ".join(
        f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for short, name in names.items()
    )
    dublin = 'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xlink="http://www.w3.org/1999/xlink"'
    dublin += ' xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"'
    more = {
        f"{name.replace('__', '/')}.xml": f"<office:document {spaces} {dublin}>{part}</office:document>"
        for name, part in parts.items()
    }
    return zipped(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "META-INF/manifest.xml": "<manifest/>",
            "content.xml": f"<office:document-content {spaces} {dublin}><office:body>{body}</office:body>"
            "</office:document-content>",
            **more,
            "meta.xml": f"<office:document-meta {spaces} {dublin}><office:meta><dc:title></dc:title>"
            "<meta:creation-date>2024-02-03T10:00:00</meta:creation-date></office:meta></office:document-meta>",
        }
    )


def epub(title: str, **chapters: str) -> bytes:
    """A book with these chapters, by name and body."""
    items = "".join(f'<item id="{name}" href="{name}.xhtml"/>' for name in chapters)
    order = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
    )
    book = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title></dc:title><dc:creator>Ada Lovelace</dc:creator></metadata>"
        f"<manifest>{items}</manifest><spine>{order}</spine></package>"
    )
    pages = {f"OEBPS/{name}.xhtml": f"<html><body>{body}</body></html>" for name, body in chapters.items()}
    return zipped({"META-INF/container.xml": container, "OEBPS/book.opf": book, **pages})


def mail(subject: str, body: str, html: str = "", attached: dict[str, bytes] | None = None) -> bytes:
    """A mail from Ada to Charles of 3 February 2024."""
    message = EmailMessage()
    message["From"], message["To"] = "Ada <ada@example.org>", "Charles <charles@example.org>"
    message["Subject"], message["Date"] = subject, "Sat, 03 Feb 2024 10:00:00 +0000"
    if body:
        message.set_content(body)
    if html and body:
        message.add_alternative(html, subtype="html")
    elif html:
        message.set_content(html, subtype="html")
    for name, data in (attached or {}).items():
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return bytes(message)


def mbox(*messages: bytes) -> bytes:
    """A mailbox."""
    return b"".join(b"From ada@example.org Sat Feb  3 10:00:00 2024\n" + each + b"\n" for each in messages)


def enex(*notes: tuple[str, str]) -> bytes:
    """An export of Evernote with notes: (title, text)."""
    made = "".join(
        f"<note><title>{title}</title><content><![CDATA[<en-note><div>{text}</div></en-note>]]></content>"
        "<created>20240203T100000Z</created><tag>tea</tag></note>"
        for title, text in notes
    )
    return f'<?xml version="1.0"?><en-export>{made}</en-export>'.encode()


def rtf(text: str) -> bytes:
    return rb"{\rtf1\ansi " + text.encode("ascii") + rb"\par}"


def notebook(*cells: tuple[str, str], printed: str = "") -> bytes:
    """A notebook: (kind, source) of each cell; the last one printed something."""
    made = [{"cell_type": kind, "source": source.splitlines(keepends=True)} for kind, source in cells]
    outputs = [
        {"output_type": "stream", "text": [printed]},
        {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo" * 100}},
    ]
    return json.dumps({"cells": [*made[:-1], {**made[-1], "outputs": outputs}], "nbformat": 4}).encode()


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return made.getvalue()


def _saved(document: object) -> bytes:
    made = io.BytesIO()
    document.save(made)  # type: ignore[attr-defined]
    return made.getvalue()


def slow_pdf(pages: int) -> bytes:
    """A PDF of a megabyte with words on each page, which takes minutes to draw: the colour of each point
    is computed by a long program."""
    program = b"{ " + b"exch dup mul 0.5 add " * 50_000 + b"pop dup dup }"
    parts = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count %d/Kids[%s]>>"
        % (pages, b" ".join(b"%d 0 R" % (7 + 2 * n) for n in range(pages))),
        b"<</FunctionType 4/Domain[0 1 0 1]/Range[0 1 0 1 0 1]/Length %d>>stream\n%s\nendstream"
        % (len(program), program),
        b"<</ShadingType 1/ColorSpace/DeviceRGB/Matrix[612 0 0 792 0 0]/Function 3 0 R>>",
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for number in range(1, pages + 1):
        shown = b"BT /F 12 Tf 72 720 Td (Page %d of colours) Tj ET /S sh" % number
        named = b"<</Shading<</S 4 0 R>>/Font<</F 5 0 R>>>>"
        parts.append(b"<</Length %d>>stream\n%s\nendstream" % (len(shown), shown))
        parts.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources%s/Contents %d 0 R>>"
            % (named, len(parts))
        )
    made = io.BytesIO(b"%PDF-1.4\n")
    made.seek(0, io.SEEK_END)
    places = []
    for number, part in enumerate(parts, 1):
        places.append(made.tell())
        made.write(b"%d 0 obj%s endobj\n" % (number, part))
    start = made.tell()
    made.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(parts) + 1))
    made.writelines(b"%010d 00000 n \n" % place for place in places)
    made.write(b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(parts) + 1, start))
    return made.getvalue()
