"""Numbers and times in words, the same in the terminal and in the browser."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import PurePath
from shlex import quote

from rag_core.reports import Diagnosis, Privacy
from rag_core.types import Answer, Document, DocumentView, Hit, Job, Source, StoreInfo

EXAMPLE_MODEL = "llama3.2:3b"
"""A small model that answers at once, without thinking aloud first: 2 GB."""

EXAMPLE_LINE = f"llm: ollama:{EXAMPLE_MODEL}"
"""The line of config.yaml that has it answer."""

GET_A_MODEL = (
    f"Install Ollama (ollama.com), fetch a model such as `ollama pull {EXAMPLE_MODEL}`, then set"
    f" `{EXAMPLE_LINE}`"
)
"""What to do to get answers, but for where the setting is."""


def plural(count: int, noun: str) -> str:
    """``1 file``, ``2,000 files``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


_OUTCOMES = {
    "reread": "read again",
    "deleted": "forgotten",
    "unlikely": "will probably be skipped",
    "still_skipped": "still skipped",
}
_ORDER = (
    "added", "changed", "reread", "moved", "deleted", "excluded", "unlikely", "unchanged",
    "still_skipped", "skipped", "failed",
)  # fmt: skip


def some(names: Sequence[str], noun: str) -> str:
    """A few of these with how many there are more: ``a, b and c``, ``a, b, c and 2 more guests``."""
    if len(names) > _FEW:
        return f"{', '.join(names[:_FEW])} and {plural(len(names) - _FEW, f'more {noun}')}"
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def outcome(name: str) -> str:
    """What became of a file, for people: a store forgets files, and nothing here deletes one."""
    return _OUTCOMES.get(name, name)


def outcomes(counts: Mapping[str, int], *, bold: bool = False) -> list[str]:
    """How many files have each outcome, always in one order: ``3 added``, or ``**3** added``. None that no
    file has."""
    mark = "**" if bold else ""
    names = sorted(counts, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))
    return [f"{mark}{counts[name]:,}{mark} {outcome(name)}" for name in names if counts[name]]


def read_and_embedded(job: Job, *, bold: bool = False) -> list[str]:
    """How many passages a run added and how many texts it embedded, in one where that is the same number."""
    mark = "**" if bold else ""
    added = f"{mark}{plural(job.total_chunks_added, 'passage')}{mark} added"
    if job.texts_embedded == job.total_chunks_added > 0:
        return [f"{added} and embedded"]
    return [added, f"{mark}{plural(job.texts_embedded, 'text')}{mark} embedded"]


def fewer_vectors(job: Job) -> str:
    """Why a run embedded fewer texts than it added passages; '' where it did not, or says why itself."""
    if not job.texts_embedded < job.total_chunks_added or (job.message and not job.texts_embedded):
        return ""
    if job.state != "done":
        return "The run ended before all of them were embedded."
    return "Equal passages share a vector; those without prose have none."


def unreadable(count: int) -> str:
    """What passages without a vector mean, and who would give them one; '' for none."""
    if not count:
        return ""
    are, them = ("is", "it") if count == 1 else ("are", "them")
    said = f"{plural(count, 'passage')} {are} in a script that this model cannot read: words find {them}."
    return f"{said} A multilingual embedder reads more, such as ollama:bge-m3 or ollama:embeddinggemma."


def left_out(failed: int, skipped: int, excluded: int = 0) -> list[str]:
    """The files that come on top of those that were read: ``2 skipped``. None of a kind that is empty."""
    kinds = ((failed, "failed"), (skipped, "skipped"), (excluded, "excluded"))
    return [f"{count:,} {kind}" for count, kind in kinds if count]


_FEW = 3


def skips(count: int, examples: Sequence[str]) -> str:
    """How many files are chosen although their names promise no text; which, where they are few."""
    names = "its name" if count == 1 else "their names"
    which = f": {', '.join(examples)}" if count == len(examples) <= _FEW else ""
    return f"{plural(count, 'file')} of these will probably be skipped, going by {names}{which}."


def size(count: int) -> str:
    """A number of bytes for people: ``1.2 MB``."""
    value, unit = float(count), "B"
    for larger in ("kB", "MB", "GB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


def since_last_run(begun: str, stores: int) -> str:
    """Which files of so many stores a search may not know, whose last whole run had ``begun`` then."""
    when = moment(begun) if begun else ""
    if stores == 1 or not when:
        when = f"the last run through all folders{when and f' ({when})'}"
    return f"Files newer than {when} may not be read yet."


def dated(view: DocumentView) -> str:
    """The day by which filters take a document: its text or its name says it, or it was changed then."""
    day = view.document.date[:10]
    return f"{'dated' if view.is_dated else 'changed'} {day}" if day else ""


def duration(seconds: float) -> str:
    """Seconds for people: ``45 s``, ``3 min``, ``1 h 5 min``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def took(job: Job) -> str:
    """How long a run took."""
    return duration(job.duration_ms / 1000) if job.duration_ms >= 1000 else "less than a second"


def moment(written: str) -> str:
    """An ISO time by this computer's clock: ``2026-03-15 14:05``. What is no time stays as it stands."""
    try:
        return datetime.fromisoformat(written).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError):  # an imported store may say anything
        return written


def shown_score(value: float) -> str:
    """A score with two places: ``1.00`` is one that leaves nothing uncertain, never one just below it."""
    return f"{value if value >= 1 else min(value, 0.99):.2f}"


def embedder(name: str) -> str:
    """An embedder for people: its name, but for the one that is built in."""
    return "built-in model" if name == "minilm" else name


def the_embedder(name: str) -> str:
    """An embedder in a sentence."""
    return "the built-in model" if name == "minilm" else name


def shared_files(root: str, others: Iterable[str]) -> str:
    """What becomes of files that the folder ``root`` shares with ``others`` of its store; '' for none."""
    here = PurePath(root)
    known = [PurePath(other) for other in others if other != root]
    above = [repr(str(other)) for other in known if here.is_relative_to(other)]
    below = [repr(str(other)) for other in known if other.is_relative_to(here)]
    if not above + below:
        return ""
    place = f"lies in {above[0]}" if above else f"holds {', '.join(below)}"
    once = "No file is read twice: what one of them has read, the other leaves to it."
    return f"{root!r} {place}, which the store has already. {once}"


def said_of_label(folder: Source) -> str:
    """What the files of a folder are called in a store that had another before; '' in the first folder."""
    if not folder.label:
        return ""
    return f"In this store the files of {folder.root!r} are called '{folder.label}/…'."


def said_of_covered(root: str, by: Source) -> str:
    """What becomes of the folder ``root`` whose files another folder of its store takes already."""
    return (
        f"{root!r} lies in {by.root!r}, which the store has already and which takes all of its files."
        " That folder is read; none is added."
    )


def said_of_privacy(found: Privacy) -> str:
    """How many documents of a store are private, and why, in a sentence."""
    if not found.private:
        return f"None of its {plural(found.documents, 'document')} is private."
    why = [f"{found.by_note:,} by the note itself"] if found.by_note else []
    why += [f"{found.by_rule:,} by rule"] if found.by_rule else []
    are = "is" if found.private == 1 else "are"
    return f"{found.private:,} of {plural(found.documents, 'document')} {are} private: {', '.join(why)}."


_MOST_UNSURE = 20


def said_of_unsure(found: Privacy) -> list[str]:
    """The notes of a store that do not say for certain whether they are private, each with the reason."""
    said = [f"{path}: {why}" for path, why in [*found.unsure.items()][:_MOST_UNSURE]]
    rest = len(found.unsure) - len(said)
    return [*said, f"And {plural(rest, 'more such note')}."] if rest else said


def taken(source: Source) -> str:
    """The files that a folder gives, in words where its patterns mean all."""
    every = {*source.include} <= {"**/*"}
    without = f" without {' '.join(source.exclude)}" if source.exclude else ""
    return ("every file" if every else " ".join(source.include)) + without


_MOST_ROOTS = 4


def roots(sources: Iterable[Source]) -> str:
    """Where the paths of a store begin on this computer; '' when nobody is to know."""
    there = sorted((source for source in sources if source.root and not source.removed), key=_labelled)
    said = [
        f"what begins with {source.label}/ is in {_shown(source.root)}"
        if source.label
        else f"paths begin in {_shown(source.root)}"
        for source in there[:_MOST_ROOTS]
    ]
    if rest := len(there) - len(said):
        said.append(f"and so on for {plural(rest, 'more folder')}")
    sentence = "; ".join(said)
    return f"{sentence[0].upper()}{sentence[1:]}." if sentence else ""


def top_folder(sources: Iterable[Source]) -> str:
    """What the folder is called whose paths have no name before them; '' when nobody is to know."""
    names = [PurePath(_shown(source.root)).name for source in sources if not (source.label or source.removed)]
    return ", ".join(dict.fromkeys(filter(None, names)))


def _labelled(source: Source) -> bool:
    return bool(source.label)


def _shown(root: str) -> str:
    """A path that may hold bytes which are no text."""
    return root.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def vectors_in(info: StoreInfo) -> str:
    """Where the vectors of a store are, in words; its address is what programs take."""
    kind, _, rest = info.address.partition("://")
    server, _, name = rest.partition("/")
    at = f"on the server {server}" if server else "in a folder of this computer"
    match kind:
        case "":
            return "in the store's own file"
        case "s3vectors":
            return f"in Amazon S3 Vectors, index {name!r} of the bucket {server!r}"
        case "qdrant":
            collection, _, own = name.partition("#")
            return f"in Qdrant {at}, collection {collection!r}, those marked {own!r}"
        case "chroma":
            return f"in Chroma {at}, collection {name!r}"
        case _:
            return f"in the vector index {kind!r}"


_FIRST = 10  # so many passages a search shows, if nothing else is said


def is_behind(found: Diagnosis) -> bool:
    """Whether a query was asked for which a file is not among the first that a search shows."""
    return bool(found.query) and (found.rank is None or found.rank > _FIRST)


def is_near_miss(found: Diagnosis) -> bool:
    """Whether a file is among the first for a query that was asked, and does not fit it."""
    return found.rank is not None and not found.relevant


def ranked(found: Diagnosis) -> str:
    """Which place a file has for the query that was asked."""
    if found.rank is None:
        return f"For {found.query!r} it is not among the first 1,000 passages."
    place = f"number {found.rank:,}, with a score of {shown_score(found.score or 0)}."
    if not is_behind(found):
        near = (
            " That is a near miss. Words that stand in it, or its name, find it."
            if is_near_miss(found)
            else ""
        )
        return f"For {found.query!r} its best passage is {place}{near}"
    return (
        f"For {found.query!r} it is not among the first {_FIRST}: its best passage is {place} Words that"
        " stand in it, or its name, find it."
    )


def command(name: str, path: str, options: str) -> str:
    """``commonplace NAME PATH OPTIONS`` fit to be pasted: a path that begins like an option comes last."""
    parts = (options, "--", quote(path)) if path.startswith("-") else (quote(path), options)
    return " ".join(("commonplace", name, *parts))


def take_back(path: str, store: str) -> str:
    """The command by which a file that was taken out by hand comes back."""
    return command("exclude", path, f"--undo --store {store}")


def lines(start: int, end: int) -> str:
    """Line numbers as they stand behind a path: ``35``, ``35-40``."""
    return str(start) if start == end else f"{start}-{end}"


def found(answer: Answer) -> str:
    """How many passages an answer holds, how long that took, and how many of them fit."""
    took = f"in {answer.query_time_ms:.0f} ms"
    if not answer.hits:
        return f"{nothing(answer)} {took}"
    first, last = answer.hits[0].rank, answer.hits[-1].rank
    if not answer.offset and not answer.has_more:
        return f"{plural(last, 'passage')} {took}. {_fit(answer)}"
    shown = f"Passage {first:,}" if first == last else f"Passages {first:,} to {last:,}"
    return f"{shown}{_of(answer)} {took}. {_fit(answer)}"


def _of(answer: Answer) -> str:
    """How many passages fit in all, as far as is known, where the list goes on with such."""
    if not (answer.has_more and answer.fitting):
        return ""
    return f" of {'at least ' if answer.fits_more else ''}{answer.fitting:,}"


def nothing(answer: Answer) -> str:
    """That an answer has no passages; where there are some for all that, a notice says why."""
    return "Nothing shown" if answer.has_more else "Nothing more" if answer.offset else "Nothing found"


def waiting(count: int) -> str:
    """How many passages are not found by meaning yet; '' for none."""
    waits = "passage still waits" if count == 1 else "passages still wait"
    return f"{count:,} {waits} for the meaning index; words are searchable." if count else ""


def go_on(stores: Sequence[str]) -> str:
    """How to have the passages of a store embedded that wait."""
    return f"`commonplace index --store {stores[0] if len(stores) == 1 else 'STORE'}` goes on."


def nothing_fits(answer: Answer) -> str:
    """That no passage is good enough, and by what alone that was judged: another mode may judge otherwise."""
    by = _judged_by(answer)
    return f"Nothing fits well {by}." if by.endswith("alone") else "Nothing here fits this well."


def unshown(answer: Answer) -> str:
    """How many near misses behind those shown nobody is led to; '' for none."""
    if not answer.unshown:
        return ""
    misses, are = ("near miss", "is") if answer.unshown == 1 else ("near misses", "are")
    return f"At least {answer.unshown:,} more {misses} {are} not shown."


ONLY_TITLE = "There is only the title"


def is_empty(document: Document) -> bool:
    """Whether there is nothing at all in a file that was read; a guest is not told."""
    return bool(document.indexed_at) and not document.size


def without_text(document: Document) -> str:
    """What there is to say of a document without text."""
    return "The file is empty" if is_empty(document) else ONLY_TITLE


def only_title(hit: Hit) -> str:
    """What there is of a document without text."""
    names = f"also called {', '.join(hit.aliases)}" if hit.aliases else ""
    tags = " ".join(f"#{tag}" for tag in hit.document.tags)
    return " · ".join(part for part in (without_text(hit.document), names, tags) if part)


_ANOTHER_STAT = "its size or time is another"

CHANGED_IN_LISTS = (
    f"changed: {_ANOTHER_STAT} than when the file was read. The next run compares the content, as the page of"
    " the file does."
)
"""What the state means where many files are listed, which nobody reads for that."""


def on_disk(state: str) -> str:
    """What has become of the file of a passage since it was read; '' when it is as it was, or for a guest."""
    match state:
        case "changed":
            return f"The file may have changed since it was indexed: {_ANOTHER_STAT}."
        case "missing":
            return "The file is gone from where it was. The next run follows it, or forgets it."
        case "unknown":
            return "Whether the file has changed since it was indexed cannot be told just now."
        case "failed":
            return "The file could not be read the last time; this is its last good text."
        case _:
            return ""


def _judged_by(answer: Answer) -> str:
    """By what passages were compared with the query; '' where there were only filters."""
    if not answer.query.text:
        return ""
    if answer.mode == "lexical" or all(hit.similarity is None for hit in answer.hits):
        return "by words alone"
    if answer.mode == "vector":
        return "by meaning alone"
    return "by words and meaning together"


def _fit(answer: Answer) -> str:
    by, said = _judged_by(answer), _fits(answer)
    if not by.endswith("alone"):
        return said
    return f"{by.capitalize()}, {said[0].lower()}{said[1:]}{_without_vectors(answer)}"


def _without_vectors(answer: Answer) -> str:
    """Why words alone judged passages that were also looked for by meaning; a notice says why a store
    was not."""
    if answer.mode != "hybrid" or any(hit.store in answer.by_words for hit in answer.hits):
        return ""
    if len(answer.hits) == 1:
        return " The model has not read it, so its meaning was not compared."
    return " The model has read none of them, so their meaning was not compared."


def _fits(answer: Answer) -> str:
    fit = sum(hit.relevant for hit in answer.hits)
    near = len(answer.hits) - fit
    fits, misses = "fits" if fit == 1 else "fit", "is a near miss" if near == 1 else "are near misses"
    if fit and near:
        return f"{fit:,} {fits}, {near:,} {misses}."
    return f"{'It' if fit + near == 1 else 'All'} {fits if fit else misses}."
