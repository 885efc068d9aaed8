"""What a person sees in slides and in OpenDocument texts is read. One damaged part costs itself alone."""

from __future__ import annotations

import io
from pathlib import PurePosixPath

import pytest
from PIL import Image
from pptx import Presentation
from pptx.oxml import parse_xml

from rag_core.extract import readers
from rag_core.types import Extracted
from tests.support import documents_made as made


def read(data: bytes, name: str) -> Extracted:
    found = readers.read(data, PurePosixPath(name))
    assert all(found.text[each.start : each.end].strip() for each in found.segments)
    return found


def under(found: Extracted, heading: str) -> str:
    """The text below a heading."""
    return "\n".join(
        found.text[each.start : each.end] for each in found.segments if heading in each.heading_path
    )


def pptx() -> bytes:
    """Two slides: one of everything, and one with a title."""
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE

    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "Reservoirs"
    frame = slide.placeholders[1].text_frame
    run = frame.paragraphs[0].add_run()
    run.text = "the map"
    run.hyperlink.address = "https://example.org/zugspitze"
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, 9, 9).text_frame.text = "Grouped words"
    dot = io.BytesIO()
    Image.new("RGB", (2, 2)).save(dot, "PNG")
    picture = slide.shapes.add_picture(dot, 0, 0)
    picture._element.nvPicPr.cNvPr.set("descr", "Photo of the dam")
    table = slide.shapes.add_table(1, 2, 0, 0, 9, 9).table
    table.cell(0, 0).text = "Kept once"
    table.cell(0, 0).merge(table.cell(0, 1))
    data = CategoryChartData()
    data.categories = ["Spring"]
    data.add_series("Litres", [1])
    chart = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, 9, 9, data).chart
    chart.value_axis.has_title = True
    chart.value_axis.axis_title.text_frame.text = "How much"
    slide.notes_slide.notes_text_frame.text = "Speak slowly"
    second = presentation.slides.add_slide(presentation.slide_layouts[1])
    second.shapes.title.text = "Dams"
    packed = io.BytesIO()
    presentation.save(packed)
    return _with_comment(_with_equation(packed.getvalue()))


def _with_equation(data: bytes) -> bytes:
    math = (
        '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><mc:Choice>'
        '<p:sp><p:txBody><a:p><a:r><a:t>so</a:t></a:r><a14:m xmlns:a14="a14" '
        'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"><m:oMath><m:sSub><m:e><m:r><m:t>F'
        "</m:t></m:r></m:e><m:sub><m:r><m:t>grav</m:t></m:r></m:sub></m:sSub></m:oMath></a14:m></a:p></p:txBody>"
        "</p:sp></mc:Choice></mc:AlternateContent></p:spTree>"
    )
    return made.rewritten(data, "ppt/slides/slide1.xml", ("</p:spTree>", math))


def _with_comment(data: bytes) -> bytes:
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/comments"
    relation = f'<Relationship Id="c" Type="{kind}" Target="../comments/comment1.xml"/></Relationships>'
    data = made.rewritten(data, "ppt/slides/_rels/slide1.xml.rels", ("</Relationships>", relation))
    comment = '<p:cmLst xmlns:p="p"><p:cm><p:text>Ask Berta</p:text></p:cm></p:cmLst>'
    plain = '<Default Extension="xml" ContentType="application/xml"/>'
    assert plain.encode() in made.part_of(data, "[Content_Types].xml")
    return made.added(data, {"ppt/comments/comment1.xml": comment})


PPTX = pptx()
_BESIDE_NOTES = (
    '<p:sp xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
    ' xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><p:nvSpPr><p:cNvPr id="90" name="b"/>'
    '<p:cNvSpPr txBox="1"/><p:nvPr/></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:p><a:r><a:t>Mizzen mast</a:t>'
    "</a:r></a:p></p:txBody></p:sp>"
)


@pytest.mark.parametrize("data", [PPTX, made.strict(PPTX)], ids=["transitional", "strict"])
def test_all_that_a_slide_shows_is_read(data: bytes) -> None:
    found = read(data, "a.pptx")
    shown = (
        "Reservoirs",
        "the map",
        "Grouped words",
        "Kept once",
        "Photo of the dam",
        "Litres\nSpring",
        "How much",
        "so Fgrav",
        "the map: https://example.org/zugspitze",
        "Speak slowly",
        "Ask Berta",
    )
    first = found.text[: found.segments[0].end]
    assert [text for text in shown if first.count(text) < 1] == []
    assert (first.count("Kept once"), found.segments[1].anchor_ref, found.warnings) == (1, "2", ())


@pytest.mark.parametrize(
    ("part", "lost", "warning"),
    [
        ("slides/slide1.xml", "Reservoirs", "Slide 1 is missing or damaged."),
        ("comments/comment1.xml", "Ask Berta", "'ppt/comments/comment1.xml' is damaged."),
        ("notesSlides/notesSlide1.xml", "Speak slowly", "'ppt/notesSlides/notesSlide1.xml' is damaged."),
        ("theme/theme1.xml", "no such text", ""),
        ("docProps/core.xml", "no such text", "'docProps/core.xml' is damaged."),
    ],
)
def test_one_damaged_part_of_slides_costs_itself_by_name(part: str, lost: str, warning: str) -> None:
    found = read(made.damaged_part(PPTX, part), "a.pptx")
    assert lost not in found.text
    assert "Dams" in found.text
    assert not warning or warning in found.warnings


def test_a_damaged_chart_of_slides_is_named() -> None:
    [chart] = [name for name in made.names_of(PPTX) if name.startswith("ppt/charts/chart")]
    found = read(made.damaged_part(PPTX, chart), "a.pptx")
    assert "How much" not in found.text
    assert "Reservoirs" in found.text
    assert any(chart in warning or "graphic" in warning for warning in found.warnings)


def test_a_picture_without_its_file_is_named() -> None:
    picture = (
        '<p:pic><p:nvPicPr><p:cNvPr id="99" name="Logo"/><p:cNvPicPr/><p:nvPr/></p:nvPicPr><p:spPr/></p:pic>'
    )
    found = read(
        made.rewritten(PPTX, "ppt/slides/slide1.xml", ("</p:spTree>", f"{picture}</p:spTree>")), "a.pptx"
    )
    assert "Reservoirs" in found.text
    assert "The picture 'Logo' is damaged." in found.warnings


def test_what_stands_beside_the_notes_of_a_slide_is_read() -> None:
    presentation = Presentation(io.BytesIO(PPTX))
    page = presentation.slides[0].notes_slide
    page.shapes._spTree.append(parse_xml(_BESIDE_NOTES))
    packed = io.BytesIO()
    presentation.save(packed)
    assert "Speak slowly\nMizzen mast" in read(packed.getvalue(), "a.pptx").text


def test_what_every_opendocument_slide_shows_is_read() -> None:
    frame = "<draw:frame {}><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>"
    master = (
        frame.format('draw:class="footer"', "Reference ZK-8841")
        + frame.format("", "Mizzen works")
        + frame.format('draw:class="title" draw:placeholder="true"', "Click here")
        + frame.format('draw:class="page-number"', "number")
    )
    slides = (
        '<draw:footer-decl draw:name="f1">Harbour board</draw:footer-decl>'
        '<draw:footer-decl draw:name="f2">Nobody</draw:footer-decl>'
        '<draw:page draw:use-footer-name="f1" draw:use-header-name="h1">'
        + frame.format("", "Reservoirs")
        + "</draw:page>"
    )
    styles = f"<style:master-page>{master}</style:master-page>"
    data = made.opendocument(f"<office:presentation>{slides}</office:presentation>", styles=styles)
    found = read(data, "a.odp").text.split("\n\n")
    assert found == ["Reservoirs", "Harbour board", "Reference ZK-8841", "Mizzen works"]


def test_a_table_on_an_opendocument_slide_is_read() -> None:
    cell = "<table:table-cell><text:p>{}</text:p></table:table-cell>"
    row = "<table:table-row>" + cell.format("Class") + cell.format("Mizzen mast") + "</table:table-row>"
    page = f"<draw:frame><table:table>{row}</table:table><draw:image/></draw:frame>"
    assert read(made.odp(page), "a.odp").text == "Class | Mizzen mast"


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ('<text:p>Seen<text:span text:style-name="T1"> unseen</text:span> again</text:p>', "Seen again"),
        ('<text:p text:style-name="T1">unseen</text:p><text:p>Seen</text:p>', "Seen"),
        (
            '<text:section text:display="none"><text:p>unseen</text:p></text:section><text:p>Seen</text:p>',
            "Seen",
        ),
        ('<text:p>Seen<text:hidden-text text:is-hidden="true"> unseen</text:hidden-text></text:p>', "Seen"),
        ('<text:p>Seen<text:span text:style-name="T2"> here</text:span></text:p>', "Seen here"),
    ],
)
def test_hidden_text_of_opendocument_is_not_read(body: str, shown: str) -> None:
    style = '<style:style style:name="{}"><style:text-properties text:display="{}"/></style:style>'
    styles = style.format("T1", "none") + style.format("T2", "true")
    text = f"<office:automatic-styles>{styles}</office:automatic-styles><office:text>{body}</office:text>"
    assert read(made.opendocument(text), "a.odt").text == shown


FORMULA = (
    '<math xmlns="http://www.w3.org/1998/Math/MathML"><semantics><mrow><msub><mi>F</mi><mi>grav</mi></msub><mo>='
    "</mo><mfrac><mi>m</mi><msup><mi>r</mi><mn>2</mn></msup></mfrac></mrow><annotation>F_grav</annotation>"
    "</semantics></math>"
)
ODT = (
    "<text:h>Minutes</text:h><text:p>Hildegunde<text:note><text:note-citation>1</text:note-citation>"
    "<text:note-body><text:p>Since 1999</text:p></text:note-body></text:note>"
    "<office:annotation><dc:creator>Berta</dc:creator><dc:date>2024-01-01</dc:date><text:p>Really?</text:p>"
    '</office:annotation><text:s text:c="1"/>resigned over the '
    '<text:a xlink:href="https://example.org/zugspitze">map</text:a>.</text:p>'
    "<text:p>The law <draw:frame><draw:object>" + FORMULA + "</draw:object></draw:frame> holds</text:p>"
    "<text:p>See<draw:frame><draw:text-box><text:p>Boxed words</text:p></draw:text-box></draw:frame> here"
    "</text:p>"
    "<text:p><draw:frame><draw:image/><svg:desc>Photo of the dam</svg:desc></draw:frame></text:p>"
    '<text:p><draw:frame><draw:object xlink:href="./Object 2"/></draw:frame></text:p>'
    "<text:p><text:ruby><text:ruby-base>東</text:ruby-base><text:ruby-text>とう</text:ruby-text></text:ruby>"
    "<text:ruby><text:ruby-base>京</text:ruby-base><text:ruby-text>きょう</text:ruby-text></text:ruby>駅</text:p>"
    "<table:table><table:table-row><table:table-cell><text:p>one</text:p><text:p>more</text:p></table:table-cell>"
    "<table:table-cell><text:p>two</text:p></table:table-cell></table:table-row></table:table>"
)
CHART = (
    "<office:body><office:chart><chart:title><text:p>Water level</text:p></chart:title>"
    '<table:table-cell office:value-type="float"><text:p>42</text:p></table:table-cell></office:chart>'
    "</office:body>"
)
MARGINS = (
    "<style:master-page><style:header><text:p>Continued</text:p></style:header><style:header-first><text:p>"
    "Reference ZK-8841</text:p></style:header-first></style:master-page>"
)


def test_all_that_an_opendocument_text_shows_is_read() -> None:
    body = f"<office:text>{ODT}</office:text>"
    found = read(made.opendocument(body, **{"Object 2__content": CHART, "styles": MARGINS}), "a.odt")
    paragraphs = [
        "Minutes",
        "Hildegunde resigned over the map.",
        "The law Fgrav=m/r2 holds",
        "See here",
        "Boxed words",
        "東京駅\none more | two",
    ]
    assert found.text.replace("  ", " ").startswith("\n\n".join(paragraphs))
    beside = {
        "Notes": "Since 1999",
        "Comments": "Berta: Really?",
        "Pictures": "Photo of the dam",
        "Charts": "Water level",
        "Links": "map: https://example.org/zugspitze",
        "Readings": "東京 とうきょう",
    }
    assert {heading: under(found, heading) for heading in beside} == beside
    assert "Continued\n\nReference ZK-8841" in found.text
    assert found.warnings == ()


@pytest.mark.parametrize("part", ["meta.xml", "styles.xml"])
def test_one_damaged_part_of_opendocument_costs_itself_by_name(part: str) -> None:
    data = made.opendocument(
        f"<office:text>{ODT}</office:text>", **{"Object 2__content": CHART, "styles": MARGINS}
    )
    found = read(made.damaged_part(data, part), "a.odt")
    assert "Hildegunde resigned" in found.text.replace("  ", " ")
    assert found.warnings == (f"{part!r} is damaged.",)


def test_a_missing_chart_of_opendocument_is_named() -> None:
    found = read(made.opendocument(f"<office:text>{ODT}</office:text>"), "a.odt")
    assert found.warnings == ("The object 'Object 2' is missing or damaged.",)


def test_the_notes_and_comments_of_an_opendocument_slide_are_read_with_it() -> None:
    frame = "<draw:frame><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>"
    notes = f"<presentation:notes>{frame.format('Speak slowly')}</presentation:notes>"
    comment = "<office:annotation><dc:creator>Berta</dc:creator><text:p>Really?</text:p></office:annotation>"
    group = f"<draw:g>{frame.format('Grouped words')}</draw:g>"
    spaces = 'xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0"'
    found = read(made.odp("", f"<draw:g {spaces}>{group}{comment}{notes}</draw:g>"), "a.odp")
    [segment] = found.segments
    assert segment.anchor_ref == "2"
    assert found.text.split("\n\n") == ["Grouped words", "Speak slowly", "Berta: Really?"]
