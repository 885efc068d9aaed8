"""The results of a search on the Search page: notes as cards, filters with counts, and one status line."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import date
from hashlib import sha256
from typing import Final
from urllib.parse import urlencode

import streamlit as st

from rag_core.api.encoding import editor_place
from rag_core.errors import EmptyQuery, RagError
from rag_core.hits import facts
from rag_core.messages import say
from rag_core.search.shown import Block, clean, excerpt_of, shown_text, with_marks
from rag_core.types import Answer, Filters, Hit, Named, Query, Viewer
from rag_core.wording import age, documents_in_words, failed_files, freshness, only_title, where
from ui.frame import components, deps, hits
from ui.frame.access import require_viewer
from ui.frame.deps import library, store_infos
from ui.frame.links import INDEX_PAGE, STORES_PAGE, document_parameters, link, picture, program
from ui.frame.messages import said_of_error, sentence
from ui.frame.search_state import (  # fmt: skip
    SEEN_KEY,
    Choices,
    Params,
    SearchState,
    from_params,
    in_address,
    searched,
    to_params,
    unknown_store,
    usual,
)
from ui.index.folders import open_picker
from ui.index.runs import is_active, newest_job
from ui.search import downloads, filters, hit_table, saved_searches, search_box
from ui.search.completions import completions, is_half, typed
from ui.search.offers import offers
from ui.search.search_box import Card, Chip, Completion, Others, Passage, SearchView, Way

_POLL_S: Final = 2
_TEXT: Final = "search_text"
"""The session key of the text in the box, which may not be in the address yet."""
_TAKEN: Final = "search_taken"
"""The session key that says whether the box requested this run."""
_MOST_NEAR: Final = 6
_MOST_OTHERS: Final = 4
_QUICK: Final = 3
HELP: Final = (
    ('"…"', "exact words"),
    ("-", "without a word"),
    ("tag:", "a tag"),
    ("type:", "a type of file"),
    ("path:", "a folder"),
    ("after:", "since a day"),
    ("before:", "before a day"),
    ("store:", "one store"),
)
_STATES: Final = {
    "changed": "changed since it was read",
    "waiting": "not read yet",
    "unknown": "file out of reach",
    "failed": "could not be read",
    "skipped": "not read",
}


@st.fragment
def show_search() -> None:
    """Draw the search box and the results for its text. While a person types, only this fragment runs, not
    the whole page."""
    viewer = require_viewer()
    text, url = _asked()
    shown, answer = SearchView(urlencode(url, doseq=True), text, help=HELP), None
    try:
        shown, answer = _shown(shown, viewer, url)
    except RagError as problem:
        shown = replace(shown, error=said_of_error(problem))
    if error := saved_searches.error():
        shown = replace(shown, error=said_of_error(error))
    is_saved = saved_searches.is_last(url) and text == url.get("q", [""])[-1]
    search_box.show_box(replace(shown, is_saved=is_saved), take_typed)
    # even without a table, so that the elements below keep their place
    with st.container(key="search_table"):
        if answer and answer.hits and shown.view == "table":
            _show_table(viewer, answer, shown)
    if answer and answer.hits and text == url.get("q", [""])[-1]:
        downloads.show_downloads(answer, viewer)


def _show_table(viewer: Viewer, answer: Answer, shown: SearchView) -> None:
    """Draw the table of results, and below it the chosen result."""
    if (row := hit_table.show_hit_table(answer.hits, search_box.row())) is not None:
        hit_table.show_chosen(
            shown.cards[row], other_passages(viewer, answer, answer.hits[row], shown.search)
        )


def state(viewer: Viewer) -> str:
    """Return a text that changes whenever the results or the status line may change. Raises RagError if a
    store cannot be read."""
    generations = library().stores.generations(viewer)
    stores = [name for name, _ in generations] if viewer.is_owner else []
    known = (generations, [behind(viewer, [name]) for name in stores], deps.meaning_is_loading(viewer))
    return repr(known)


def follow(before: str) -> None:
    """Check every two seconds whether `state` still equals ``before``, its result before the page was drawn.
    If not, draw the results again.

    The whole page is never drawn again. If a fragment's run follows a full run at once, Streamlit sends the
    end of the full run without the fragment's elements, and the browser removes the box while a person types.
    """
    drawn = False

    @st.fragment(run_every=_POLL_S)
    def look() -> None:
        viewer = require_viewer()
        try:
            if drawn and not library().stores.names(viewer):
                st.rerun()  # to the first page
            now = state(viewer) if drawn else before
        except RagError as problem:  # the results show the error
            now = str(problem)
        components.draw("news", "news", sha256(now.encode()).hexdigest())

    look()
    drawn = True


def _shown(shown: SearchView, viewer: Viewer, url: Params) -> tuple[SearchView, Answer | None]:
    """Return ``shown`` completed for its text and the address's parameters, and the answer (None without a
    search). Raises RagError."""
    names = library().stores.names(viewer)
    if gone := unknown_store(names):
        library().stores.info(viewer, gone)  # raises an error with the existing stores
    offered = filters.choices(viewer, names, url.get("store", ()))
    request = from_params(url, offered, usual())
    shown = replace(shown, completions=_completions(viewer, shown.text, offered))
    if shown.text != request.q:
        half = typed(shown.text)
        is_left_out = half is not None and is_half(half, offered, names)
        request = replace(request, q=half.rest if half and is_left_out else shown.text, page=1)
    shown, answer = replace(shown, view=request.view, page=request.page), None
    if request.asks:
        answer = find(viewer, request)
        shown = replace(_answered(shown, viewer, request, answer), can_save=viewer.is_owner)
    else:
        shown = _beginning(shown, viewer, request.store or names, offered.types)
    return replace(shown, chips=_chips(viewer, offered, request, answer)), answer


def _chips(viewer: Viewer, offered: Choices, request: SearchState, answer: Answer | None) -> tuple[Chip, ...]:
    """Return the filters. If there is a search, they have the numbers of its results."""
    more = filters.how_to_search(request)
    if answer is None:
        return (*filters.chips(offered, request, date.today()), *filters.property_chips(request, {}), more)
    facets, properties = dict(answer.facets or {}), dict(answer.properties or {})
    least = set(facets) if answer.counts_more else set[str]()
    least_of = set(properties) if answer.counts_more else set[str]()
    for kind in filters.chosen_kinds(request):  # the other values of this kind: counted without this filter
        if free := _found(viewer, filters.without(request, kind)):
            facets[kind] = (free.facets or {}).get(kind, {})
            least = least | {kind} if free.counts_more else least - {kind}
        else:  # without a search, all values
            all_of = {"type": offered.types, "tag": offered.tags, "folder": offered.folders}
            facets[kind] = dict(all_of.get(kind, {}))
    for name in filters.chosen_properties(request):
        if free := _found(viewer, filters.without_property(request, name)):
            properties[name] = (free.properties or {}).get(name, {})
            least_of = least_of | {name} if free.counts_more else least_of - {name}
    return (
        *filters.chips(offered, request, date.today(), facets, least),
        *filters.property_chips(request, properties, least_of),
        filters.minimum(request, answer.score_counts, usual().min, goes_on=answer.fits_more),
        filters.order(request),
        more,
    )


def _found(viewer: Viewer, request: SearchState) -> Answer | None:
    """Return the answer to a request; None if the request is empty."""
    try:
        return find(viewer, request)
    except EmptyQuery:
        return None


def _completions(viewer: Viewer, text: str, offered: Choices) -> tuple[Completion, ...]:
    """Return the values for the filter at the end of the text."""
    half = typed(text)
    if half is None:
        return ()
    stores = {info.name: info.file_count for info in store_infos(viewer)} if half.key == "store" else {}
    return completions(half, offered, stores, date.today())


def _asked() -> tuple[str, Params]:
    """Return the text in the box, and the parameters in the address."""
    state, url = st.session_state, in_address()
    if state.pop(_TAKEN, False):  # the typed text may have been sent before the address was written
        url = state.get(SEEN_KEY, url)
    elif state.get(SEEN_KEY) != url or _TEXT not in state:  # a link, a reload, Back or Forward
        state[SEEN_KEY], state[_TEXT] = url, url.get("q", [""])[-1]
    return state[_TEXT], url


def take_typed() -> None:
    """Callback: keep the typed text. A committed search is written into the address, as one history entry."""
    viewer = require_viewer()
    text, search, _ = search_box.box_state()
    state, params = st.session_state, searched(search)
    state[_TEXT], state[_TAKEN] = text, search_box.is_unsettled()
    if viewer.is_owner and search_box.forgets():
        library().searching.forget(viewer)
    if params != state.get(SEEN_KEY, {}):
        state[SEEN_KEY] = params
        st.query_params.from_dict(params)
        if viewer.is_owner:
            library().searching.remember(viewer, text)
    if viewer.is_owner:
        saved_searches.take_action(viewer, params)


# --- what was found -------------------------------------------------------------------


def find(viewer: Viewer, request: SearchState) -> Answer:
    """Return the documents for a request. While the model is loading, only words are searched. If nothing
    fits, at most six of the nearest documents are returned. Raises RagError if the search fails."""
    is_loading = request.mode != "lexical" and deps.meaning_is_loading(viewer)
    answer = deps.cached_search(viewer, request, "lexical" if is_loading else request.mode)
    if not answer.convincing and not answer.offset:
        return replace(answer, hits=answer.hits[:_MOST_NEAR], has_more=False)
    return answer


def _answered(shown: SearchView, viewer: Viewer, request: SearchState, answer: Answer) -> SearchView:
    search = urlencode(to_params(request, usual()), doseq=True)
    several, today = len(answer.stores) > 1, date.today()
    cards = tuple(
        card(viewer, hit, search, answer.query, with_store=several, today=today) for hit in answer.hits
    )
    is_by_words = answer.mode == "lexical" != request.mode
    count = said_of(answer) + " by words · the model is loading" * is_by_words
    shown = _with_state(shown, viewer, answer.stores, count)
    return replace(
        shown,
        cards=cards,
        said=_sentences(viewer, answer),
        offers=offers(viewer, request, answer),
        quick=quick(viewer, request, cards),
        others=_others(viewer, answer, search),
        has_more=answer.has_more,
        end="" if answer.has_more or not answer.offset else "That is all.",
    )


def _sentences(viewer: Viewer, answer: Answer) -> tuple[str, ...]:
    """Return the sentences above the results. Corrections are shown elsewhere. For the owner, the status line
    shows the number of new passages."""
    elsewhere = {"corrected", "too_new"} if viewer.is_owner else {"corrected"}
    sentences = [sentence(notice) for notice in answer.notices if notice.code not in elsewhere]
    if answer.pending and not viewer.is_owner:
        sentences.append(sentence(say("pending_guest", count=answer.pending)))
    if viewer.is_owner and any(info.failed for info in store_infos(viewer)):
        sentences += map(sentence, library().searching.failed_files(viewer, answer))
    return tuple(sentences)


def _others(viewer: Viewer, answer: Answer, search: str) -> Others | None:
    """Return the other passages of the note in the preview, if the viewer requested them."""
    _, _, key = search_box.box_state()
    hit = next((hit for hit in answer.hits if hit.key == key and hit.more), None)
    return Others(key, other_passages(viewer, answer, hit, search)) if hit else None


def other_passages(viewer: Viewer, answer: Answer, hit: Hit, search: str) -> tuple[Passage, ...]:
    """Return the other passages of a hit's note that fit the query, ready to show."""
    if not hit.more:
        return ()
    query = answer.query
    others = library().searching.others(viewer, query.raw, hit, mode=answer.mode, filters=query.filters)
    shown = [hit]
    for other in others[:_MOST_OTHERS]:
        shown.append(_without_repeats(other, shown))
    return tuple(_passage(viewer, other, search) for other in shown[1:])


def _without_repeats(hit: Hit, shown: Sequence[Hit]) -> Hit:
    """Return a passage that hides the text it shares with its neighbours in ``shown``, because passages
    overlap."""
    hidden = [*hit.hidden]
    for other in shown:
        if other.chunk_index == hit.chunk_index - 1:
            hidden.append((0, _overlap(other.content, hit.content)))
        elif other.chunk_index == hit.chunk_index + 1:
            hidden.append((len(hit.content) - _overlap(hit.content, other.content), len(hit.content)))
    return replace(hit, hidden=tuple(hidden))


def _overlap(first: str, second: str) -> int:
    """Return the number of characters at the end of ``first`` that are also the beginning of ``second``."""
    lengths = range(min(len(first), len(second)), 0, -1)
    return next((length for length in lengths if first.endswith(second[:length])), 0)


def said_of(answer: Answer) -> str:
    """Return the number of documents found in a few words, such as *12 notes, 2 near misses*."""
    fit, count = sum(hit.relevant for hit in answer.hits), len(answer.hits)
    types = (answer.facets or {}).get("type") or {hit.document.file_type for hit in answer.hits}
    has_parts = any(hit.document.part for hit in answer.hits)
    if not count:
        return "The list ends before this page" if answer.offset else "Nothing found"
    if not (answer.convincing or answer.offset):
        return f"Nothing fits; {count:,} near miss{'es' * (count != 1)}"
    if answer.offset or answer.has_more:
        all_of = documents_in_words(answer.fitting, types, has_parts=has_parts)
        all_of = all_of.replace(" ", "+ ") if answer.fits_more else all_of
        return f"{answer.offset + 1:,}–{answer.offset + count:,} of {all_of}" if answer.offset else all_of
    near = f", {count - fit:,} near miss{'es' * (count - fit != 1)}" if count > fit else ""
    return documents_in_words(fit, types, has_parts=has_parts) + near


def card(viewer: Viewer, hit: Hit, search: str, query: Query, *, with_store: bool, today: date) -> Card:
    """Return the card of a note, created from ``hit``, the note's best passage. Its links keep ``search``,
    the address's parameters, so that the document's page can lead back to the results."""
    doc = hit.document
    name = doc.path.rpartition("/")[2]
    anchor = hit.anchor if hit.anchor and doc.file_type != "picture" else ""
    title, crumb = _named(hit.store if with_store else "", doc.path, doc.title, anchor)
    app, app_name = program(doc, hit.start_line if hit.anchor is None else 0)
    passage = _passage(viewer, hit, search)
    return Card(
        key=hit.key,
        title=title,
        marked_title=with_marks(title, query),
        path=doc.path,
        name=hits.in_one_line(name),
        folder=hits.in_one_line(doc.path.rpartition("/")[0]),
        crumb=crumb,
        day=doc.date[:10],
        age=age(doc.date[:10], today),
        reason=hit.reasons[0].partition(" in its")[0].partition(":")[0],
        more=hit.more,
        is_near=not hit.relevant,
        state=_STATES.get(doc.state, ""),
        extract=excerpt_of(passage.blocks) or ((hits.in_one_line(_without_text(hit)), False),),
        passage=passage,
        place=hits.in_one_line(editor_place(hit)),
        score=round(hit.score, 2),
        file_type=doc.file_type,
        picture=picture(doc, hit.anchor or ""),
        app=app,
        app_name=app_name,
        facts=tuple(_facts(hit).items()),
    )


def _named(store: str, path: str, title: str, anchor: str = "") -> tuple[str, str]:
    """Return the title of a note and its place: folders, the file name unless it repeats the title, and the
    place in the file."""
    *folders, name = path.split("/")
    title = hits.in_one_line(title) or hits.in_one_line(name)
    tells = _words(title) in (_words(name.rpartition(".")[0]), _words(name))
    trail = [store, *folders, "" if tells else name, anchor]
    return title, hits.in_one_line(" › ".join(filter(None, trail)))


def _words(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text).casefold()


def _passage(viewer: Viewer, hit: Hit, search: str) -> Passage:
    href = link(document_parameters(hit.store, hit.document.address, hit.key, search=search))
    return Passage(href, where(hit), _text(viewer, hit))


def _text(viewer: Viewer, hit: Hit) -> tuple[Block, ...]:
    """Return the text of a passage, without a heading that repeats the title. If nothing is left, return the
    text of the next passage."""
    blocks, title = shown_text(hit), hit.document.title.casefold()
    if not blocks or blocks[0].kind != "heading" or blocks[0].text.casefold() != title:
        return blocks
    if blocks[1:]:
        return blocks[1:]
    behind = library().documents.neighbours(viewer, hit.store, hit.key)[-1]
    return clean(behind.content, hit.document.file_type, ()) if behind.key != hit.key else ()


def _without_text(hit: Hit) -> str:
    """Return a sentence to show for a passage without text, or with only the title."""
    return " ".join(f"#{tag}" for tag in hit.document.tags) if hit.content.strip() else only_title(hit)


def _facts(hit: Hit) -> dict[str, str]:
    """Return the facts about a hit that the card shows besides its text."""
    known = {
        "Found by": ", ".join(hit.reasons),
        "Score": f"{hit.score:.0%}",
        "File": hit.document.absolute_path or hit.document.path,
        **facts(hit),
    }
    return {name: hits.in_one_line(text) for name, text in known.items() if text}


# --- nothing asked, nothing there -----------------------------------------------------


def _beginning(shown: SearchView, viewer: Viewer, names: Sequence[str], types: Collection[str]) -> SearchView:
    count = sum(info.file_count for info in store_infos(viewer) if info.name in names)
    if not count:
        reads = (Way("Choose or read a folder", href=link({}, INDEX_PAGE)),) if viewer.is_owner else ()
        return replace(shown, said=("There is no document to search yet.",), offers=reads)
    known = library().searching.suggest(viewer, "")
    start = {
        "Saved": saved_searches.ways(viewer),
        "Searched": [Way(text, params={"q": [text]}) for text in known.searches],
        "Opened": [_way_to(document, with_store=len(names) > 1) for document in known.opened],
        "Changed": [_way_to(document, with_store=len(names) > 1) for document in known.changed],
    }
    ways = tuple((name, tuple(some)) for name, some in start.items() if some)
    return replace(_with_state(shown, viewer, names, documents_in_words(count, types)), start=ways)


def quick(viewer: Viewer, request: SearchState, cards: Sequence[Card]) -> tuple[Way, ...]:
    """Return links to notes and tags whose names begin with the typed text. Notes that are among the results
    (``cards``) are left out, and with filters all notes."""
    suggest = library().searching.suggest
    there = {card.path for card in cards}
    named = () if request.filters != Filters() else suggest(viewer, request.q, request.store).documents
    notes = [note for note in named if note.path not in there]
    ways = [_way_to(note, with_store=False) for note in notes[:_QUICK]]
    *rest, last = request.q.split() or [""]
    begun = last.removeprefix("tag:")
    for tag, count in suggest(viewer, begun, request.store, _QUICK).tags if begun else ():
        if tag != request.tag:
            ways.append(Way(f"#{tag}", f"{count:,}", params={"tag": [tag], "q": [" ".join(rest)]}))
    return tuple(ways)


def _way_to(note: Named, *, with_store: bool) -> Way:
    title, crumb = _named(note.store if with_store else "", note.path, note.title)
    return Way(title, crumb, link(document_parameters(note.store, note.path)), hint=note.path)


def _with_state(shown: SearchView, viewer: Viewer, stores: Sequence[str], sentence: str) -> SearchView:
    """Return ``shown`` with the status ``sentence``. The owner also sees how up to date the stores are."""
    if not viewer.is_owner:
        return replace(shown, status=sentence)
    has = [info.name for info in store_infos(viewer) if info.failed and info.name in stores]
    listed = link({"store": has[0]}, INDEX_PAGE) if len(has) == 1 else link({}, STORES_PAGE)
    status, unread = behind(viewer, stores)
    return replace(
        shown, status=f"{sentence} · {status}", unread=Way(unread, href=listed) if unread else None
    )


def behind(viewer: Viewer, stores: Sequence[str]) -> tuple[str, str]:
    """Return two texts: how up to date stores are with the files in their folders, and the number of files
    that could not be read ('' for none)."""
    now = library().jobs.freshness(viewer, stores)
    is_behind = now.reading or now.waiting or now.looking
    is_paused = is_behind and any(_is_paused(viewer, name) for name in stores)
    return freshness(replace(now, failed=0)) + " · paused" * bool(is_paused), failed_files(now.failed)


def _is_paused(viewer: Viewer, store: str) -> bool:
    job = newest_job(viewer, store)
    return job is not None and job.state == "cancelled" and not is_active(viewer, store)


def offer_folder(name: str, key: str, store: str = "") -> None:
    """Draw the button that opens the folder picker of the Index page, where indexing starts."""
    if st.button(name, key=key, type="primary", icon=":material/folder_open:", on_click=open_picker):
        st.switch_page(INDEX_PAGE, query_params={"store": store} if store else None)


def nothing_indexed(viewer: Viewer) -> None:
    """Draw that the stores have no document yet, and, for the owner, a link to the Index page."""
    st.html(hits.paragraphs("There is no document to search yet."))
    if viewer.is_owner:
        with st.container(key="first_step"):  # the container makes it look like a button
            st.page_link(INDEX_PAGE, label="**Choose or read a folder**", icon=":material/folder_open:")
