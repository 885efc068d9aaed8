"""A document as HTML: what is known of it, its links, and its text. The rules of `ui.hits` hold."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rag_core.search.snippet import highlight
from rag_core.types import Document, DocumentLink, DocumentView, Neighbour, Query
from rag_core.wording import dated, is_empty, moment, plural, size, where, without_text
from ui.hits import PROSE, anchor, marked, one_line
from ui.links import address

_OPEN = 8  # as many links are shown without being asked for
_MARK = "marked"


@dataclass(frozen=True, slots=True)
class Origin:
    """The search that led to a document: as it stands in the address, and what it looks for."""

    search: str = ""
    query: Query | None = None


def heading(file: Document) -> str:
    """The file that was chosen in a list: its title and path, and its state with the reason."""
    title, path = one_line(file.title) or file_name(file.path), one_line(file.path)
    state = f"<p>{html.escape(one_line(said_of(file)))}</p>"
    name = f'<h2>{html.escape(title)}</h2><p class="cp-quiet">{html.escape(path)}</p>'
    return f'<div class="cp">{name}{state}</div>'


def listed(store: str, files: Sequence[tuple[str, str, str]], total: int) -> str:
    """The first of ``total`` files, each (path, title, state), as links: what a narrow window has instead of
    a table."""
    rows = ""
    for path, title, state in files:
        known = [title if title != path else "", state if state != "fresh" else ""]
        quiet = html.escape(one_line(" · ".join(filter(None, known))))
        rows += f'<li>{anchor(address(store, path), one_line(path))}<p class="cp-quiet">{quiet}</p></li>'
    more = plural(total - len(files), "more file")
    rest = f'<p class="cp-quiet">And {more}: type words to find them.</p>' if total > len(files) else ""
    return f'<div class="cp cp-files"><ul>{rows}</ul>{rest}</div>'


def file_name(path: str) -> str:
    """The last part of a path."""
    return one_line(path.rpartition("/")[2])


def said_of(file: Document) -> str:
    """The state of a file in a sentence, with its reason; nothing for what is as it was read."""
    match file.state:
        case "changed":
            return "Changed: the file is no longer what was read."
        case "missing":
            return "Missing: the file is no longer where it was."
        case "unknown":
            return "Unknown: the file cannot be looked at just now."
        case "failed" | "skipped" | "excluded":
            kept = " Its last good text is below." if file.state == "failed" and file.chunks else ""
            return f"{file.state.capitalize()}: {file.reason}{kept}"
        case _:
            return ""


def facts(view: DocumentView) -> str:
    """What is known of a document, in quiet lines: where it is, what it is, its state, and the way to
    the passage that is marked."""
    file, marked = view.document, next((chunk for chunk in view.chunks if chunk.is_hit), None)
    because = " and ".join(f"by {'its own word' if why == 'note' else 'a rule'}" for why in file.private_by)
    private = f"private {because}" if because else ""
    known = [file.path, f"in {file.store}", file.file_type, dated(view), private]
    if file.indexed_at:
        has_text = file.chunks and not is_empty(file)
        known.append(size(file.size) + (f" in {plural(file.chunks, 'passage')}" if has_text else ""))
        known.append(f"read {moment(file.indexed_at)}")
    said = [" · ".join(each for each in known if each), " ".join(f"#{tag}" for tag in file.tags)]
    said.append(f"Also called {', '.join(view.aliases)}" if view.aliases else "")
    said.append(" · ".join(f"{name}: {value}" for name, value in view.properties))
    quiet = "".join(f'<p class="cp-quiet">{html.escape(one_line(each))}</p>' for each in said if each)
    state = f"<p>{html.escape(one_line(said_of(file)))}</p>" if said_of(file) else ""
    goal = html.escape(where(marked) or "the passage") if marked else ""
    way = f'<p><a href="#{_MARK}">Go to {goal}</a></p>' if goal else ""
    return f'<div class="cp">{quiet}{state}{way}</div>'


def _place(chunk: Neighbour) -> str:
    at = where(chunk) or "this passage"
    return at[:1].upper() + at[1:]


def links(view: DocumentView, origin: Origin) -> str:
    """The documents that this one links to, and those that link to it; folded away where they are many or a
    passage is marked."""
    store, parts = view.document.store, ""
    most = 0 if any(chunk.is_hit for chunk in view.chunks) else _OPEN
    for name, found in (("Links to", view.links_out), ("Linked from", view.links_in)):
        if items := dict.fromkeys(f"<li>{_link(store, link, origin)}</li>" for link in found):
            opened = " open" if len(items) <= most else ""
            there = len({link.path for link in found if link.path is not None})
            nowhere = len({link.target for link in found if link.path is None})
            counted = [plural(there, "document")] if there else []
            counted += [f"{nowhere:,} that {'is' if nowhere == 1 else 'are'} not there"] if nowhere else []
            summary = f"<summary>{name} {' and '.join(counted)}</summary>"
            parts += f"<details{opened}>{summary}<ul>{''.join(items)}</ul></details>"
    return f'<div class="cp cp-links">{parts}</div>' if parts else ""


def _link(store: str, link: DocumentLink, origin: Origin) -> str:
    heading = f" › {link.heading}" if link.heading else ""
    if link.path is None:
        written = html.escape(one_line(link.target + heading))
        return f'{written} <span class="cp-quiet">leads to nothing in this store</span>'
    leads = anchor(
        address(store, link.path, search=origin.search), one_line(link.title or "") or file_name(link.path)
    )
    return f'{leads} <span class="cp-quiet">{html.escape(one_line(link.path + heading))}</span>'


def text(view: DocumentView, start: int, end: int, origin: Origin) -> str:
    """The passages from ``start`` to ``end`` in reading order, without what repeats, with the words of the
    search highlighted. All but one before the marked passage are folded, so that it stands near the top."""
    shown = view.chunks[start:end]
    marked = next((number for number, chunk in enumerate(shown) if chunk.is_hit), 0)
    folded = max(0, marked - 1)
    before = _passages(view.document, shown[:folded], (), origin)
    body = _passages(view.document, shown[folded:], shown[folded - 1].heading_path if folded else (), origin)
    if before:
        before = f"<details><summary>{plural(folded, 'passage')} before</summary>{before}</details>"
    return f'<div class="cp cp-text">{before}{body}</div>'


def _passages(document: Document, shown: Iterable[Neighbour], trail: tuple[str, ...], origin: Origin) -> str:
    parts = []
    for chunk in shown:
        if chunk.heading_path != trail and (trail := chunk.heading_path):
            parts.append(f"<h2>{html.escape(' › '.join(map(one_line, trail)))}</h2>")
        parts.append(_passage(document, chunk, origin))
    return "".join(parts)


def _passage(document: Document, chunk: Neighbour, origin: Origin) -> str:
    prose = document.file_type in PROSE
    start, end = chunk.shown
    read = chunk.content[start:end]
    blank = None if prose else "\r\n"
    window = start + len(read) - len(read.lstrip(blank)), end - len(read) + len(read.rstrip(blank))
    if not read.strip(blank):
        if chunk.content.strip():  # all of it stands in another passage
            return ""
        body = f"{without_text(document)}."
    else:
        query = origin.query
        spans = highlight(chunk.content, query.loose, query.phrases) if query else ()
        body = marked(chunk.content, spans, window)
    kind = ("cp-here" if chunk.is_hit else "cp-beside") + ("" if prose else " cp-mono")
    mark = f' id="{_MARK}"' if chunk.is_hit else ""
    own = address(document.store, document.path, chunk.key, search=origin.search)
    link = anchor(own, _place(chunk), named=f"Mark {_place(chunk)}")
    return f'<div class="cp-passage {kind}"{mark}><span class="cp-lines">{link}</span>{body}</div>'


def turning(view: DocumentView, start: int, end: int, most: int, origin: Origin) -> str:
    """Which passages are shown, and links to those before and behind them; nothing when all are."""
    total = len(view.chunks)
    if end - start == total:
        return ""

    def link(first: int, name: str) -> str:
        document = view.document
        return anchor(address(document.store, document.path, first=first, search=origin.search), name)

    before = link(max(1, start + 1 - most), "Earlier passages") if start else ""
    behind = link(end + 1, "Later passages") if end < total else ""
    shown = f"<span>Passages {start + 1:,} to {end:,} of {total:,}</span>"
    return f'<div class="cp cp-turning">{before}{shown}{behind}</div>'
