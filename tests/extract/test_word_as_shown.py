"""What a person sees in a Word document is read, and nothing else. One damaged part costs itself alone."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from rag_core.extract import readers
from rag_core.types import Extracted
from tests.support import documents_made as made

_SPACES = " ".join(
    f'xmlns:{short}="{address}"'
    for short, address in {
        "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
        "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
        "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
        "v": "urn:schemas-microsoft-com:vml",
        "w14": "http://schemas.microsoft.com/office/word/2010/wordml",
    }.items()
)

_RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def docx(body: str) -> bytes:
    """A Word document with this XML before its one paragraph of text."""
    return made.rewritten(
        made.docx("The end"), "word/document.xml", ("<w:body>", f"<w:body {_SPACES}>{body}")
    )


def read(data: bytes, name: str = "a.docx") -> Extracted:
    found = readers.read(data, PurePosixPath(name))
    assert all(found.text[each.start : each.end].strip() for each in found.segments)
    return found


def under(found: Extracted, heading: str) -> str:
    """The text below a heading."""
    return "\n".join(
        found.text[each.start : each.end] for each in found.segments if heading in each.heading_path
    )


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def form(inside: str) -> str:
    return f'<w:r><w:fldChar w:fldCharType="begin"><w:ffData>{inside}</w:ffData></w:fldChar></w:r>'


BOX = f"<w:txbxContent><w:p>{run('Boxed')}</w:p></w:txbxContent>"
PARAGRAPHS = {
    "a tracked insertion": (f"a <w:ins>{run('new')}</w:ins> b", "new"),
    "a tracked deletion": (f"{run('kept')}<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>", "kept"),
    "moved text": (f"<w:moveFrom>{run('old')}</w:moveFrom><w:moveTo>{run('here')}</w:moveTo>", "here"),
    "a content control": (f"<w:sdt><w:sdtPr/><w:sdtContent>{run('chosen')}</w:sdtContent></w:sdt>", "chosen"),
    "a smart tag": (f"<w:smartTag>{run('London')}</w:smartTag>", "London"),
    "a field": (
        '<w:r><w:fldChar w:fldCharType="begin"/><w:instrText>PAGEREF x</w:instrText></w:r>' + run("42"),
        "42",
    ),
    "a hyphen that does not break": (f"{run('re')}<w:r><w:noBreakHyphen/></w:r>{run('cover')}", "re-cover"),
    "a soft hyphen": (
        f"{run('Donau')}<w:r><w:softHyphen/></w:r>{run('dampf')}{run('schiff&#173;fahrt')}",
        "Donaudampfschifffahrt",
    ),
    "hidden text": (
        f"{run('seen')}<w:r><w:rPr><w:vanish/></w:rPr><w:t>unseen</w:t></w:r>"
        "<w:r><w:rPr><w:vanish w:val='0'/></w:rPr><w:t> again</w:t></w:r>",
        "seen again",
    ),
    "a Greek symbol": ('<w:r><w:sym w:font="Symbol" w:char="F061"/></w:r>' + run("-helix"), "α-helix"),
    "a check mark": ('<w:r><w:sym w:font="Wingdings" w:char="F0FC"/></w:r>' + run(" done"), "✓ done"),
    "a check box": (
        '<w:sdt><w:sdtPr><w14:checkbox><w14:checked w14:val="1"/></w14:checkbox></w:sdtPr>'
        f"<w:sdtContent>{run('☒')}</w:sdtContent></w:sdt>{run(' Passport')}",
        "☒ Passport",
    ),
    "a check box of an older form": (
        form("<w:checkBox><w:default w:val='0'/><w:checked/></w:checkBox>")
        + run(" a ")
        + form("<w:checkBox><w:default w:val='0'/></w:checkBox>")
        + run(" b"),
        "☒ a ☐ b",
    ),
    "a list of an older form": (
        form(
            "<w:ddList><w:result w:val='1'/><w:listEntry w:val='Train'/>"
            "<w:listEntry w:val='Ferry'/></w:ddList>"
        ),
        "Ferry",
    ),
    "a list of an older form without its entry": (
        form("<w:ddList><w:result w:val='7'/><w:listEntry w:val='Train'/></w:ddList>") + run("by"),
        "by",
    ),
    "a text box": (
        f"<w:r><mc:AlternateContent><mc:Choice>{BOX}</mc:Choice><mc:Fallback>{BOX}</mc:Fallback>"
        "</mc:AlternateContent></w:r>",
        "Boxed",
    ),
    "ruby": (
        f"<w:r><w:ruby><w:rt>{run('とう')}</w:rt><w:rubyBase>{run('東')}</w:rubyBase></w:ruby></w:r>"
        f"<w:r><w:ruby><w:rt>{run('きょう')}</w:rt><w:rubyBase>{run('京')}</w:rubyBase></w:ruby></w:r>{run('駅')}",
        "東京駅",
    ),
}


@pytest.mark.parametrize("kind", PARAGRAPHS)
def test_a_paragraph_is_read_as_it_is_shown(kind: str) -> None:
    inside, text = PARAGRAPHS[kind]
    assert read(docx(f"<w:p>{inside}</w:p>")).text.split("\n\n")[0] == text


def test_the_readings_of_ruby_are_terms_of_their_own() -> None:
    assert under(read(docx(f"<w:p>{PARAGRAPHS['ruby'][0]}</w:p>")), "Readings") == "東京 とうきょう"


def m(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


def script(kind: str, base: str, **scripts: str) -> str:
    return (
        f"<m:{kind}><m:e>{base}</m:e>"
        + "".join(f"<m:{name}>{m(each)}</m:{name}>" for name, each in scripts.items())
        + f"</m:{kind}>"
    )


FRACTION = "<m:f><m:num>{}</m:num><m:den>{}</m:den></m:f>"
EQUATIONS = {
    "an index": (script("sSub", m("F"), sub="grav"), "Fgrav"),
    "a power": (m("E=m") + script("sSup", m("c"), sup="2"), "E=mc2"),
    "a formula": (script("sSub", m("H"), sub="2") + m("O"), "H2O"),
    "both": (script("sSubSup", m("x"), sub="i", sup="n+1"), "xi(n+1)"),
    "a fraction": (m("F=G") + FRACTION.format(m("mMoon"), m("r")), "F=G mMoon/r"),
    "a long fraction": (FRACTION.format(m("a+b"), m("2") + m("c")), "(a+b)/2c"),
    "a root": ("<m:rad><m:deg/><m:e>" + m("x") + "</m:e></m:rad>", "√x"),
    "a third root": ("<m:rad><m:deg>" + m("3") + "</m:deg><m:e>" + m("x+1") + "</m:e></m:rad>", "3√(x+1)"),
    "a sum": (
        '<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>'
        + m("i=1")
        + "</m:sub><m:sup>"
        + m("n")
        + "</m:sup><m:e>"
        + m("i")
        + "</m:e></m:nary>",
        "∑ i=1 n i",
    ),
    "brackets": ("<m:d><m:e>" + m("a") + "</m:e></m:d>", "(a)"),
    "a function": ("<m:func><m:fName>" + m("sin") + "</m:fName><m:e>" + m("x") + "</m:e></m:func>", "sin x"),
    "a limit": ("<m:limLow><m:e>" + m("lim") + "</m:e><m:lim>" + m("x→0") + "</m:lim></m:limLow>", "lim x→0"),
    "a matrix": (
        "<m:m><m:mr><m:e>"
        + m("a")
        + "</m:e><m:e>"
        + m("b")
        + "</m:e></m:mr><m:mr><m:e>"
        + m("c")
        + "</m:e></m:mr></m:m>",
        "a b; c",
    ),
    "an accent": ('<m:acc><m:accPr><m:chr m:val="̂"/></m:accPr><m:e>' + m("x") + "</m:e></m:acc>", "x"),
    "letters in italics": (m("𝑣𝑎"), "va"),
}


ALL = "".join(f"<w:p>{inside}</w:p>" for inside, _ in PARAGRAPHS.values()) + "".join(
    f"<w:p><m:oMath>{inside}</m:oMath></w:p>" for inside, _ in EQUATIONS.values()
)


@pytest.mark.parametrize("kind", EQUATIONS)
def test_an_equation_is_read_as_a_person_types_it(kind: str) -> None:
    inside, text = EQUATIONS[kind]
    body = f"<w:p>{run('so')}<m:oMath>{inside}</m:oMath>{run('holds')}</w:p>"
    assert read(docx(body)).text.split("\n\n")[0] == f"so {text} holds"


def test_tables_in_content_controls_and_in_cells_are_rows() -> None:
    cell = "<w:tc><w:p>" + run("{}") + "</w:p>{}</w:tc>"
    inner = "<w:tbl><w:tr>" + cell.format("deep", "") + "</w:tr></w:tbl>"
    table = "<w:tbl><w:tr>" + cell.format("one", "") + cell.format("two", inner) + "</w:tr></w:tbl>"
    found = read(docx(f"<w:sdt><w:sdtContent>{table}</w:sdtContent></w:sdt>"))
    assert found.text.startswith("one | two deep\n")


def test_a_deleted_row_of_a_table_is_not_read() -> None:
    row = "<w:tr>{}<w:tc><w:p>" + run("{}") + "</w:p></w:tc></w:tr>"
    table = row.format("", "kept") + row.format("<w:trPr><w:del/></w:trPr>", "gone")
    assert read(docx(f"<w:tbl>{table}</w:tbl>")).text == "kept\n\nThe end"


def style(name: str, kind: str, vanish: str = "", base: str = "") -> str:
    based = f'<w:basedOn w:val="{base}"/>' if base else ""
    inside = f'<w:name w:val="{name}"/>{based}<w:rPr>{vanish}</w:rPr>'
    return f'<w:style w:type="{kind}" w:styleId="{name}">{inside}</w:style>'


@pytest.mark.parametrize(
    ("frame", "shown"),
    [
        ('w:dropCap="drop"', "Once\n\nThe end"),
        ('w:dropCap="margin"', "Once\n\nThe end"),
        ('w:dropCap="none"', "O\n\nnce\n\nThe end"),
        ('w:wrap="around"', "O\n\nnce\n\nThe end"),
    ],
)
def test_a_large_first_letter_belongs_to_its_word(frame: str, shown: str) -> None:
    initial = f"<w:p><w:pPr><w:framePr {frame}/></w:pPr>{run('O')}</w:p>"
    assert read(docx(f"{initial}<w:p>{run('nce')}</w:p>")).text == shown


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        ("<w:tbl><w:tr><w:tc><w:p>{}</w:p></w:tc></w:tr></w:tbl>", "O\n\nnce\n\nThe end"),
        ("<w:sdt><w:sdtContent><w:p>{}</w:p></w:sdtContent></w:sdt>", "O\n\nnce\n\nThe end"),
        ('<w:bookmarkEnd w:id="1"/><w:p>{}</w:p>', "Once\n\nThe end"),
    ],
)
def test_a_large_first_letter_stays_before_what_follows_it(block: str, shown: str) -> None:
    initial = f'<w:p><w:pPr><w:framePr w:dropCap="drop"/></w:pPr>{run("O")}</w:p>'
    assert read(docx(initial + block.format(run("nce")))).text == shown


VANISH = "<w:vanish/>"
STYLES = "".join(
    [
        style("Secret", "character", VANISH),
        style("Inner", "character", base="Secret"),
        style("Open", "character", "<w:vanish w:val='0'/>", base="Secret"),
        style("Hint", "paragraph", VANISH),
        style("Circle", "character", base="Circle"),
    ]
)


@pytest.mark.parametrize(
    ("paragraph", "of_run", "own", "is_shown"),
    [
        ("", "Secret", "", False),
        ("", "Inner", "", False),
        ("", "Open", "", True),
        ("", "Circle", "", True),
        ("Hint", "", "", False),
        ("Hint", "", "<w:vanish w:val='false'/>", True),
        ("Hint", "Secret", "", True),
        ("", "Secret", "<w:vanish w:val='0'/>", True),
        ("Nowhere", "Nowhere", "", True),
    ],
)
def test_text_that_a_style_hides_is_not_read(paragraph: str, of_run: str, own: str, is_shown: bool) -> None:
    above = f'<w:pPr><w:pStyle w:val="{paragraph}"/></w:pPr>' if paragraph else ""
    named = f'<w:rStyle w:val="{of_run}"/>' if of_run else ""
    body = f"<w:p>{above}<w:r><w:rPr>{named}{own}</w:rPr><w:t>mizzen</w:t></w:r></w:p>"
    data = made.rewritten(docx(body), "word/styles.xml", ("</w:styles>", f"{STYLES}</w:styles>"))
    assert ("mizzen" in read(data).text) == is_shown


PAGE = "<html><body><h1>Harbour</h1><p>the <b>error</b> budget</p><h2>Mast</h2><p>Mizzen</p></body></html>"
ARCHIVE = (
    "MIME-Version: 1.0\nContent-Type: multipart/related; boundary=b; type=text/html\n\n--b\n"
    "Content-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n"
    "Content-Location: file:///c.html\n\n" + PAGE.replace("=", "=3D") + "\n--b--\n"
)


def with_file(name: str, file: str | bytes) -> bytes:
    """A Word document that shows a file between two paragraphs."""
    data = docx(f'<w:p>{run("Before")}</w:p><w:altChunk xmlns:r="{_RELATED}" r:id="chunk"/>')
    relation = f'<Relationship Id="chunk" Type="{_RELATED}/aFChunk" Target="/word/{name}"/></Relationships>'
    data = made.rewritten(data, "word/_rels/document.xml.rels", ("</Relationships>", relation))
    suffix = name.rpartition(".")[2]
    kind = f'<Default Extension="{suffix}" ContentType="text/html"/></Types>'
    data = made.rewritten(data, "[Content_Types].xml", ("</Types>", kind))
    return made.added(data, {f"word/{name}": file})


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("chunk.html", PAGE),
        ("chunk.mht", ARCHIVE),
        ("chunk.rtf", r"{\rtf1 Harbour\par the {\b error} budget\par Mast\par Mizzen\par}"),
    ],
)
def test_a_file_that_word_shows_in_a_document_is_read_there(name: str, file: str) -> None:
    found = read(with_file(name, file))
    assert found.text.split() == "Before Harbour the error budget Mast Mizzen The end".split()
    assert name.endswith("rtf") or found.segments[2].heading_path == ("Harbour", "Mast")


def test_a_file_in_a_document_that_cannot_be_read_is_named() -> None:
    found = read(with_file("chunk.docx", "no archive"))
    assert found.text == "Before\n\nThe end"
    assert found.warnings == ("The inserted file 'chunk' is missing or cannot be read.",)


def test_links_and_alternative_texts_are_beside_the_text() -> None:
    body = (
        '<w:p><w:r><w:drawing><wp:docPr name="Picture 1" descr="Photo of the reservoir"/></w:drawing></w:r>'
        f'{run("Get it ")}<w:fldSimple w:instr=" HYPERLINK &quot;https://example.org/map.pdf&quot; ">'
        f"{run('here')}</w:fldSimple>{run(' today')}</w:p>"
    )
    found = read(docx(body))
    assert found.text.startswith("Get it here today")
    assert under(found, "Links") == "here: https://example.org/map.pdf"
    assert under(found, "Pictures") == "Photo of the reservoir"


def rich() -> bytes:
    """A document with a header for the first page, a comment and a link."""
    import io

    from docx import Document
    from docx.opc.constants import RELATIONSHIP_TYPE
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls

    document = Document()
    document.add_heading("Minutes", 1)
    paragraph = document.add_paragraph("Hildegunde resigned. ")
    document.add_comment(paragraph.runs, "Really?", author="Berta")
    where = document.part.relate_to(
        "https://example.org/zugspitze", RELATIONSHIP_TYPE.HYPERLINK, is_external=True
    )
    paragraph._p.append(
        parse_xml(f'<w:hyperlink {nsdecls("w", "r")} r:id="{where}"><w:r><w:t>map</w:t></w:r></w:hyperlink>')
    )
    section = document.sections[0]
    section.different_first_page_header_footer = True
    section.first_page_header.paragraphs[0].text = "Reference ZK-8841"
    section.even_page_footer.paragraphs[0].text = "Even footer"
    section.header.paragraphs[0].text = "Continued"
    packed = io.BytesIO()
    document.save(packed)
    return packed.getvalue()


@pytest.mark.parametrize("data", [rich(), made.strict(rich())], ids=["transitional", "strict"])
def test_all_that_a_document_shows_is_read(data: bytes) -> None:
    found = read(data)
    assert found.text.startswith("Minutes\n\nHildegunde resigned. map")
    assert found.title == "Minutes"
    assert under(found, "Comments") == "Berta: Really?"
    assert under(found, "Links") == "map: https://example.org/zugspitze"
    for margin in ("Reference ZK-8841", "Even footer", "Continued"):
        assert margin in found.text
    assert found.warnings == ()


_USUAL = "application/vnd.openxmlformats-officedocument.{}.main+xml"


@pytest.mark.parametrize(
    ("data", "usual", "kind"),
    [
        (rich(), "wordprocessingml.document", "application/vnd.ms-word.document.macroEnabled.main+xml"),
        (rich(), "wordprocessingml.document", _USUAL.format("wordprocessingml.template")),
        (
            made.pptx(("Minutes", "Hildegunde", "")),
            "presentationml.presentation",
            _USUAL.format("presentationml.slideshow"),
        ),
    ],
    ids=["macros", "template", "slide show"],
)
def test_other_kinds_of_open_xml_are_read(data: bytes, usual: str, kind: str) -> None:
    other = made.rewritten(data, "[Content_Types].xml", (_USUAL.format(usual), kind))
    found = read(other, "a.docm" if "word" in usual else "a.pptm")
    assert "Hildegunde" in found.text
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("part", "lost"),
    [
        ("word/comments.xml", "Really?"),
        ("word/header1.xml", "Reference ZK-8841"),
        ("word/styles.xml", ""),
        ("word/numbering.xml", ""),
        ("word/theme/theme1.xml", ""),
        ("docProps/core.xml", ""),
        ("word/settings.xml", ""),
    ],
)
def test_one_damaged_part_costs_itself_by_name(part: str, lost: str) -> None:
    if lost.startswith("Reference"):
        headers = [name for name in made.names_of(rich()) if name.startswith("word/header")]
        part = next(name for name in headers if lost.encode() in made.part_of(rich(), name))
    found = read(made.damaged_part(rich(), part))
    assert "Hildegunde resigned. map" in found.text
    assert not lost or lost not in found.text
    assert part.startswith("word/theme") or found.warnings == (f"{part!r} is damaged.",)
