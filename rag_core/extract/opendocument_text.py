"""The visible text of paragraphs in OpenDocument. Notes, comments, frames, pictures and charts in a paragraph
are collected separately."""

from __future__ import annotations

from collections.abc import Iterable, Set
from zipfile import ZipFile

from lxml.etree import _Element

from rag_core.extract import equations
from rag_core.extract.building import one_line
from rag_core.extract.office import BROKEN, local_name, member, xml
from rag_core.extract.opendocument_numbers import OpenNumbers
from rag_core.extract.ruby import Readings

_MOST_SPACES = 100
FRAMES = frozenset({"frame", "custom-shape", "g", "rect", "ellipse", "line", "connector"})
"""Elements that are drawn on a page or slide and may contain text."""


class OpenText:
    """Returns the text of elements. Meanwhile it collects other content for `taken`, under the headings
    Notes, Comments, Links, Pictures and Charts, and text boxes for `boxes`, which are read after their
    paragraph."""

    def __init__(
        self, archive: ZipFile, warnings: list[str], numbers: OpenNumbers, hidden: Set[str] = frozenset()
    ) -> None:
        """Create a reader for one document, whose paragraphs are counted by ``numbers``. ``hidden`` holds the
        names of styles that hide their text."""
        self._numbers = numbers
        self.readings = Readings()
        self._hidden = hidden
        self._archive = archive
        self._warnings = warnings
        self._lines: dict[str, dict[str, None]] = {}
        self._boxes: list[_Element] = []

    def of(self, element: _Element) -> str:
        """Return the text of a paragraph, or of all paragraphs in an element, one line for each."""
        pieces = [element.text or ""]
        for child in element.iterchildren():
            pieces.append(self._piece(child))
            pieces.append(child.tail or "")
            if child.tail:
                self.readings.end(child.tail)
        return "".join(pieces)

    def numbered(self, element: _Element) -> str:
        """Return the text of a paragraph or heading after its automatic number."""
        number, text = self._numbers.of(element), self.of(element)
        return f"{number}{text}" if text.strip() else text

    def hides(self, element: _Element) -> bool:
        """Whether an element is hidden by its style, a condition or the properties of its section."""
        is_off = _attribute(element, "display") == "none" or _attribute(element, "is-hidden") == "true"
        return is_off or _attribute(element, "style-name") in self._hidden

    def taken(self, heading: str) -> list[str]:
        """Return the lines collected under a heading, and forget them."""
        return list(self._lines.pop(heading, {}))

    def boxes(self) -> list[_Element]:
        """Return the text boxes and framed tables collected since the last call, and forget them."""
        boxes, self._boxes = self._boxes, []
        return boxes

    def read_apart(self, element: _Element) -> None:
        """Collect the content of an element that is not part of the text around it, such as a comment or a
        frame."""
        name = local_name(element)
        if name == "annotation":
            author = element.findtext("{*}creator") or ""
            said = " ".join(self.of(paragraph) for paragraph in element.iter("{*}p"))
            self._keep("Comments", f"{author}: {said}" if author and said else said)
            return
        self._boxes.extend(element.iterchildren("{*}text-box", "{*}table"))
        if name != "frame":
            self._boxes.append(element)
        for part in element.iter("{*}title", "{*}desc"):
            self._keep("Pictures", part.text or "")
        for chart in element.iterchildren("{*}object"):
            self._keep("Charts", self._object(chart, is_chart=True))

    def _piece(self, child: _Element) -> str:
        """Return the text of one part of a paragraph."""
        name = local_name(child)
        if self.hides(child):
            return ""
        match name:
            case "s":
                return " " * min(_MOST_SPACES, _count(child))
            case "tab" | "line-break":
                return "\t" if name == "tab" else "\n"
            case "note":
                body = child.find("{*}note-body")
                self._keep("Notes", self.of(body) if body is not None else self.of(child))
                return ""
            case "ruby":
                return self._ruby(child)
            case "tracked-changes" | "annotation-end" | "title" | "desc":
                return ""
        if name == "annotation" or name in FRAMES:
            return self._frame(child)
        self.readings.end()
        text = self.numbered(child) if name in ("p", "h") else self.of(child)
        if name == "a":
            self._keep_link(text, _attribute(child, "href"))
        return f"{text}\n" if name == "p" else text

    def _frame(self, frame: _Element) -> str:
        """Return the equation in a frame, and collect everything else."""
        equation = "".join(self._object(each, is_chart=False) for each in frame.iterchildren("{*}object"))
        if not equation:
            self.read_apart(frame)
        return f" {equation} " if equation else ""

    def _object(self, element: _Element, *, is_chart: bool) -> str:
        """Return the text of an equation, or of a chart: its titles and the names of its series."""
        name = _attribute(element, "href").removeprefix("./")
        inside = element.find("{*}math")
        try:
            content = inside if inside is not None else xml(member(self._archive, f"{name}/content.xml"))
        except BROKEN:
            if is_chart:
                self._warnings.append(f"The object {name!r} is missing or damaged.")
            return ""
        if not is_chart:
            return equations.linear(content) if local_name(content) == "math" else ""
        lines = [
            one_line("".join(paragraph.itertext()))
            for paragraph in content.iter("{*}p")
            if _attribute(next(paragraph.iterancestors("{*}table-cell"), paragraph), "value-type") != "float"
        ]
        return "\n".join(dict.fromkeys(lines))

    def _ruby(self, ruby: _Element) -> str:
        """Return the base of a ruby, and collect its reading."""
        base = "".join(self.of(each) for each in ruby.iterchildren("{*}ruby-base"))
        self.readings.add(base, "".join(self.of(each) for each in ruby.iterchildren("{*}ruby-text")))
        return base

    def _keep(self, heading: str, text: str) -> None:
        if text.strip():
            self._lines.setdefault(heading, {})[text.strip()] = None

    def _keep_link(self, text: str, address: str) -> None:
        text = one_line(text)
        is_place = address.startswith("#")
        if address and not is_place and address.removeprefix("mailto:").rstrip("/") not in text:
            self._keep("Links", f"{text}: {address}" if text else address)


def hiding_styles(parts: Iterable[_Element | None]) -> set[str]:
    """Return the names of the styles in ``parts`` of a document that hide their text."""
    styles = [style for part in parts if part is not None for style in part.iter("{*}style")]
    hiding: set[str] = set()
    for style in styles:
        shown = [_attribute(each, "display") for each in style.iterchildren("{*}text-properties")]
        if "none" in shown:
            hiding.add(_attribute(style, "name"))
    return hiding


def _attribute(element: _Element, name: str) -> str:
    """Return an attribute in any namespace, or '' if there is none."""
    return next((value for key, value in element.items() if key.rpartition("}")[2] == name), "")


def _count(spaces: _Element) -> int:
    text = _attribute(spaces, "c")
    return int(text) if text.isdecimal() and len(text) < 6 else 1
