"""A document as HTML: its facts, its links, and its text. The rules of `ui.frame.hits` hold."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePosixPath

from rag_core.search.shown import clean
from rag_core.search.snippet import highlight
from rag_core.text.markup_languages import LIGHT_MARKUP
from rag_core.text.shown import shown
from rag_core.types import Document, DocumentLink, DocumentView, Neighbour, Query, Similar
from rag_core.wording import document_day, is_empty, moment, plural, size, unread, without_text
from ui.frame.blocks import blocks_html
from ui.frame.hits import PROSE, anchor, in_one_line, marked_html
from ui.frame.links import document_parameters, picture
from ui.reader.rendered import MARK, NoteHeading

# by the width of a column; after short lines a break is intended
_BROKEN_LINE = re.compile(r"(?<=[^\n]{30})\n(?=\S)")
_UNDERLINE = re.compile(r"([^\w\s])\1{2,}")
_OPEN = 8  # number of links shown without unfolding


@dataclass(frozen=True, slots=True)
class SearchOrigin:
    """The search that led to a document, as a query string of the address and as a parsed query. Both are
    empty if no search led there."""

    search: str = ""
    query: Query | None = None


def heading(file: Document) -> str:
    """Return HTML for a file chosen in a list: its title and path, its state, and the reason for the
    state."""
    title, path = in_one_line(file.title) or file_name(file.path), in_one_line(file.path)
    state = f"<p>{html.escape(in_one_line(state_sentence(file)))}</p>"
    name = f'<h2>{html.escape(title)}</h2><p class="cp-quiet">{html.escape(path)}</p>'
    return f'<div class="cp">{name}{state}</div>'


def listed_files(store: str, files: Sequence[tuple[str, str, str, str]], total: int) -> str:
    """Return the first of ``total`` files, each (path, date, title, state), as HTML links. Narrow windows
    show this list instead of a table."""
    rows = ""
    for path, date, title, state in files:
        known = [date, path.rpartition("/")[0], title, state if state != "fresh" else ""]
        quiet = html.escape(in_one_line(" · ".join(filter(None, known))))
        link = anchor(document_parameters(store, path), file_name(path))
        rows += f'<li>{link}<p class="cp-quiet">{quiet}</p></li>'
    more = plural(total - len(files), "more file")
    rest = f'<p class="cp-quiet">And {more}: type words to find them.</p>' if total > len(files) else ""
    return f'<div class="cp cp-files"><ul>{rows}</ul>{rest}</div>'


def file_name(path: str) -> str:
    """Return the name of the file at the end of a path, without control characters. It is not escaped."""
    return in_one_line(path.rpartition("/")[2])


def own_title(file: Document) -> str:
    """Return the title of a document; '' if the title is only the file name."""
    name = PurePosixPath(file.path)
    return "" if _spaced(file.title) in (_spaced(name.name), _spaced(name.stem)) else file.title


def _spaced(name: str) -> str:
    return name.replace("-", " ").replace("_", " ").casefold()


def state_sentence(file: Document) -> str:
    """Return a sentence of plain text about the state of a file, with its reason; '' for a file that has not
    changed since it was read."""
    match file.state:
        case "changed":
            return "Changed: the file was changed after it was read."
        case "missing":
            return "Missing: the file is no longer where it was."
        case "unknown":
            return "Unknown: the file cannot be reached now."
        case "waiting":
            return f"Waiting: {unread(file)}"
        case "failed" | "skipped" | "excluded":
            kept = " The last readable version is below." if file.state == "failed" and file.chunks else ""
            return f"{file.state.capitalize()}: {file.reason}{kept}"
        case _:
            return ""


def breadcrumb(file: Document) -> str:
    """Return the path of a document as HTML: a link for each folder, then the file name."""
    folder, _, name = file.path.rpartition("/")
    parts = [anchor({"store": file.store}, file.store)]
    for depth, part in enumerate(folder.split("/") if folder else (), 1):
        below = "/".join(folder.split("/")[:depth])
        parts.append(anchor({"store": file.store, "folder": below}, in_one_line(part)))
    last = html.escape(in_one_line(name))
    if file.part:
        last = anchor(document_parameters(file.store, file.path), in_one_line(name))
    trail = ' <span aria-hidden="true">›</span> '.join([*parts, last])
    return f'<nav class="cp cp-crumbs" aria-label="Folder">{trail}</nav>'


def facts_line(view: DocumentView) -> str:
    """Return HTML for a line with a document's date, privacy and tags, and a sentence about its state. It is
    shown above the text."""
    file = view.document
    reasons = {"note": "by its front matter", "rule": "by a rule"}
    because = " and ".join(reasons[why] for why in file.private_by)
    known = [
        document_day(view),
        f"private {because}" if because else "",
        " ".join(f"#{tag}" for tag in file.tags),
    ]
    said = html.escape(in_one_line(" · ".join(each for each in known if each)))
    quiet = f'<p class="cp-quiet">{said}</p>' if said else ""
    state = f"<p>{html.escape(in_one_line(state_sentence(file)))}</p>" if state_sentence(file) else ""
    return f'<div class="cp">{quiet}{state}</div>'


def beside(view: DocumentView, headings: Sequence[NoteHeading], origin: SearchOrigin) -> str:
    """Return HTML for the column next to the text: the contents, the other documents in the same file, and
    the links from the document and to it."""
    parts = [_contents(headings), _neighbours(view, origin), _held(view)]
    parts += [_links(name, view.document.store, found, origin) for name, found in _both(view)]
    return f'<nav class="cp cp-beside-text" aria-label="In this document">{"".join(parts)}</nav>'


def _neighbours(view: DocumentView, origin: SearchOrigin) -> str:
    """Return links from a part of a file to the whole file, and to the parts before and after it."""
    file = view.document
    if not file.part:
        return ""
    leads = [(document_parameters(file.store, file.path), f"All of {file_name(file.path)}")]
    for name, other in (("Newer", view.newer), ("Older", view.older)):
        if other:
            parameters = document_parameters(file.store, other.address, search=origin.search)
            leads.append((parameters, f"{name}: {in_one_line(other.title)}"))
    items = "".join(f"<li>{anchor(parameters, name)}</li>" for parameters, name in leads)
    return f"<h2>In this file</h2><ul>{items}</ul>"


def _held(view: DocumentView) -> str:
    """Return the documents in a file as links; if there are many, only the newest."""
    if not view.parts:
        return ""
    items = ""
    for part in view.parts:
        link = anchor(document_parameters(view.document.store, part.address), in_one_line(part.title))
        items += f'<li>{link} <span class="cp-quiet">{html.escape(part.date[:10])}</span></li>'
    more = view.document.part_count - len(view.parts)
    older = f"{plural(more, 'older document')}, which a search finds"
    rest = f'<p class="cp-quiet">And {older}.</p>' if more > 0 else ""
    return f"<h2>{plural(view.document.part_count, 'document')} in this file</h2><ul>{items}</ul>{rest}"


def similar(found: Sequence[Similar], origin: SearchOrigin) -> str:
    """Return HTML with links to documents that are similar in meaning, each to its most similar passage."""
    items = ""
    for each in found:
        leads = document_parameters(
            each.document.store, each.document.address, each.key, search=origin.search
        )
        name = in_one_line(each.document.title) or file_name(each.document.path)
        items += f"<li>{anchor(leads, name)}</li>"
    return f'<nav class="cp cp-beside-text" aria-label="Similar"><h2>Similar</h2><ul>{items}</ul></nav>'


def _both(view: DocumentView) -> tuple[tuple[str, tuple[DocumentLink, ...]], ...]:
    return ("Links to", view.links_out), ("Linked from", view.links_in)


def _contents(headings: Sequence[NoteHeading]) -> str:
    if len(headings) < 2:
        return ""
    top = min(each.level for each in headings)
    items = "".join(
        f'<li class="cp-level-{min(4, each.level - top + 1)}">'
        f'<a href="#{each.id}">{html.escape(each.text)}</a></li>'
        for each in headings
    )
    return f"<h2>Contents</h2><ul>{items}</ul>"


def details(view: DocumentView) -> str:
    """Return HTML for the other facts about a document, in a folded element."""
    file = view.document
    rows = {"Type": file.file_type, "Also called": ", ".join(view.aliases)} | dict(view.properties)
    if file.indexed_at:
        has_text = file.chunks and not is_empty(file)
        rows["Size"] = size(file.size) + (f", {plural(file.chunks, 'passage')}" if has_text else "")
        rows["Read"] = moment(file.indexed_at)
    listed = "".join(
        f"<dt>{html.escape(in_one_line(name))}</dt><dd>{html.escape(in_one_line(value))}</dd>"
        for name, value in rows.items()
        if value
    )
    folded = f"<details><summary>Details</summary><dl>{listed}</dl></details>"
    return f'<div class="cp cp-beside-text">{folded}</div>'


def _links(name: str, store: str, found: Sequence[DocumentLink], origin: SearchOrigin) -> str:
    """Return the documents that links lead to, each once, and the number of targets that do not exist."""
    there = {link.path: link for link in found if link.path is not None}
    nowhere = sorted({in_one_line(link.target) for link in found if link.path is None})
    items = [f"<li>{_link(store, link, origin)}</li>" for link in there.values()]
    if nowhere:
        names = html.escape("\n".join(nowhere))
        items.append(f'<li class="cp-quiet" title="{names}">{len(nowhere):,} not in this store</li>')
    if not items:
        return ""
    shown, rest = "".join(items[:_OPEN]), "".join(items[_OPEN:])
    summary = f"<summary>{len(items) - _OPEN:,} more</summary>"
    more = f"<details>{summary}<ul>{rest}</ul></details>" if rest else ""
    return f"<h2>{name}</h2><ul>{shown}</ul>{more}"


def _link(store: str, link: DocumentLink, origin: SearchOrigin) -> str:
    path = link.path or ""
    leads = document_parameters(store, path, search=origin.search, heading=link.heading)
    return anchor(leads, in_one_line(link.title or "") or file_name(path))


def text(view: DocumentView, start: int, end: int, origin: SearchOrigin) -> str:
    """Return HTML for the passages from index ``start`` to ``end`` (excluded) in reading order, with the
    words of the search highlighted. Text that neighbouring passages share is shown once.

    Pages, slides and other places get headings. Sheets become tables.
    """
    parts = []
    trail: tuple[str, ...] = ()
    is_sheet, is_slides = (view.document.file_type == kind for kind in ("sheet", "slides"))
    places = groupby(
        view.chunks[start:end], lambda chunk: (chunk.heading_path, "" if is_sheet else chunk.anchor)
    )
    for (path, named), part in places:
        if path != trail and (trail := path) and not is_slides:
            parts.append(f"<h2>{html.escape(' › '.join(map(in_one_line, trail)))}</h2>")
        if is_sheet:
            rows = "".join(_rows(chunk, origin) for chunk in part)
            parts.append(f'<div class="cp-table"><table>{rows}</table></div>')
        else:
            parts.append(_part(view.document, named or "", list(part), origin))
    return f'<div class="cp cp-text">{"".join(parts)}</div>'


def _part(document: Document, named: str, chunks: Sequence[Neighbour], origin: SearchOrigin) -> str:
    """Return one page, slide, row or other part. It may have more passages than those in ``chunks``."""
    label, trail = "", chunks[0].heading_path
    inside = named.removeprefix(f"{trail[0]} › ") if trail else named
    if inside and inside != " › ".join(trail):  # otherwise the heading above says it
        own = document_parameters(document.store, document.address, chunks[0].key, search=origin.search)
        label = f'<p class="cp-where">{anchor(own, inside[:1].upper() + inside[1:])}</p>'
    if document.file_type == "slides":
        return _slide(label, chunks, origin)
    if document.file_type == "picture" or (document.file_type == "pdf" and named.startswith("page ")):
        return label + _page(document, named, chunks, origin)
    return label + "".join(_passage(document, chunk, origin) for chunk in chunks)


def _page(document: Document, named: str, chunks: Sequence[Neighbour], origin: SearchOrigin) -> str:
    """Return the found passage, the page as a picture, and the rest of the page's text in a folded
    element."""
    here = "".join(_passage(document, chunk, origin) for chunk in chunks if chunk.is_hit)
    rest = "".join(_passage(document, chunk, origin) for chunk in chunks if not chunk.is_hit)
    source = html.escape(picture(document, named))
    alt = html.escape(named or file_name(document.path))
    shown = f'<img class="cp-page" src="{source}" alt="{alt}" loading="lazy">'
    return here + shown + (f"<details><summary>Text</summary>{rest}</details>" if rest else "")


def _slide(label: str, chunks: Sequence[Neighbour], origin: SearchOrigin) -> str:
    """Return a slide in a frame: its number, title, lines and tables."""
    title = in_one_line(" › ".join(chunks[0].heading_path))
    said = f"<h2>{html.escape(title)}</h2>" if title else ""
    for chunk in chunks:
        lines = [line for line in chunk.content[slice(*chunk.shown)].splitlines() if line.strip()]
        said += _with_tables(
            lines[1:] if title and lines and in_one_line(lines[0]) == title else lines, origin
        )
    here = next(filter(None, map(_here, chunks)), "")
    return f'<section class="cp-slide"><div{here}>{label}{said}</div></section>'


def _with_tables(lines: Iterable[str], origin: SearchOrigin) -> str:
    """Return lines as paragraphs. Lines with cells become tables."""
    said = ""
    for is_table, some in groupby(lines, lambda line: " | " in line):
        rows = [[_searched(cell, origin) for cell in line.split(" | ")] for line in some]
        said += _table(rows) if is_table else "".join(f"<p>{cell}</p>" for [cell] in rows)
    return said


def _table(rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells. The cells must already be escaped."""
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="cp-table"><table>{body}</table></div>'


def _here(chunk: Neighbour) -> str:
    return f' class="cp-here" id="{MARK}"' if chunk.is_hit else ""


def _rows(chunk: Neighbour, origin: SearchOrigin) -> str:
    """Return the rows of a sheet in a passage. Only the first row shows its number."""
    number = (chunk.anchor or "").rpartition("!")[2]
    rows = ""
    for row in chunk.content[slice(*chunk.shown)].strip("\r\n").splitlines():
        cells = "".join(f"<td>{_searched(cell, origin)}</td>" for cell in row.split("\t"))
        rows += f'<tr><td class="cp-row">{html.escape(number)}</td>{cells}</tr>'
        number = ""
    return f"<tbody{_here(chunk)}>{rows}</tbody>"


def _searched(
    content: str, origin: SearchOrigin, window: tuple[int, int] | None = None, file_type: str = ""
) -> str:
    """Return ``content`` as HTML, cut to ``window``, with the words of the search highlighted."""
    query = origin.query
    if query is None:
        return marked_html(content, (), window)
    return marked_html(content, highlight(content, query.terms.loose, query.phrases, file_type), window)


def _passage(document: Document, chunk: Neighbour, origin: SearchOrigin) -> str:
    prose = document.file_type in PROSE
    start, end = chunk.shown
    start += _length_of_heading(chunk) if prose else 0
    read = chunk.content[start:end]
    blank = None if prose else "\r\n"
    window = start + len(read) - len(read.lstrip(blank)), end - len(read) + len(read.rstrip(blank))
    if read.strip(blank):
        content = _BROKEN_LINE.sub(" ", chunk.content) if document.file_type == "pdf" else chunk.content
        body = _searched(content, origin, window, document.file_type)
    elif chunk.content.strip():  # its whole text is in another passage
        return ""
    else:
        body = f"{without_text(document)}."
    if document.file_type in LIGHT_MARKUP and read.strip():
        return f"<div{_here(chunk)}>{_clean(read, chunk, document.file_type, origin)}</div>"
    if document.file_type == "word" and " | " in read:
        return f"<div{_here(chunk)}>{_with_tables(filter(str.strip, read.splitlines()), origin)}</div>"
    kind = " ".join(["cp-words", *([] if prose else ["cp-mono"]), *(["cp-goes-on"] if chunk.repeats else [])])
    return f'<div{_here(chunk)}><p class="{kind}">{body}</p></div>'


def _length_of_heading(chunk: Neighbour) -> int:
    """Return the length of the first line of a passage if it is the heading, which the page shows above the
    passage, and other text follows; otherwise 0."""
    start, end = chunk.shown
    line, _, rest = chunk.content[start:end].partition("\n")
    return len(line) if _is_heading(line, chunk) and rest.strip() else 0


def _is_heading(line: str, chunk: Neighbour) -> bool:
    return bool(chunk.heading_path) and in_one_line(line) == in_one_line(chunk.heading_path[-1])


def _clean(read: str, chunk: Neighbour, file_type: str, origin: SearchOrigin) -> str:
    """Return text with marks, such as Org or a wiki, as it is shown, without the headings above it."""
    above = {in_one_line(heading) for heading in chunk.heading_path}
    rest = read
    while rest.strip():
        line, _, below = rest.lstrip().partition("\n")
        looks = in_one_line(shown(line, file_type).text)
        if looks and looks not in above and not _UNDERLINE.fullmatch(looks):
            break
        rest = below
    read = rest if rest.strip() else read
    if not shown(read, file_type).text.strip():  # such as the properties of an Org heading
        return ""
    query = origin.query
    spans = highlight(read, query.terms.loose, query.phrases, file_type) if query else ()
    return blocks_html(clean(read, file_type, tuple(spans)))


def turning(view: DocumentView, start: int, end: int, most: int, origin: SearchOrigin) -> str:
    """Return HTML for the line above and below the shown passages (indexes ``start`` to ``end``, ``end``
    excluded): their numbers, and links to earlier and later ones. '' if all passages are shown.

    At most ``most`` passages are shown at once. The links keep the search of ``origin``.
    """
    total = len(view.chunks)
    if end - start == total:
        return ""

    def link(first: int, name: str) -> str:
        document = view.document
        return anchor(
            document_parameters(document.store, document.address, first=first, search=origin.search), name
        )

    before = link(max(1, start + 1 - most), "Earlier passages") if start else ""
    behind = link(end + 1, "Later passages") if end < total else ""
    shown = f"<span>Passages {start + 1:,} to {end:,} of {total:,}</span>"
    return f'<div class="cp cp-turning">{before}{shown}{behind}</div>'
