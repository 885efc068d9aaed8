"""The output of commands for people: passages, documents, stores, folders, runs and checks."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from rag_core import wording
from rag_core.api.encoding import plain
from rag_core.cli.screen import line, table, warn, width, wrapped
from rag_core.hits import facts
from rag_core.search.shown import excerpt_of, shown_text
from rag_core.types import (
    Answer,
    Document,
    DocumentLink,
    DocumentView,
    Freshness,
    Hit,
    Job,
    Similar,
    Source,
    StoreInfo,
)

if TYPE_CHECKING:
    from rag_core.config import Settings
    from rag_core.index.plan import Plan
    from rag_core.reports import Diagnosis, DiagnosisStep, Evaluation, Health, Problem, Repair, SourceInfo

_MAX_ROWS = 40
_MAX_NAMES = 3
_SNIPPET = 320  # characters of a passage, on a narrow terminal


def progress_line(job: Job) -> str:
    """Return the progress of a run in one line."""
    now = job.progress
    if job.state not in ("running", "done"):
        return job.state.capitalize()
    return " · ".join(filter(None, (wording.progress(now), now.current)))


def show_answer(answer: Answer, now: Freshness) -> None:
    """Print the hits, each with its place, score and reasons, and how up to date the stores are (``now``)."""
    warn(*answer.warnings)
    if answer.hits and not answer.convincing:
        click.echo(f"{wording.NOTHING_FITS} These are the nearest passages.")
    for hit in answer.hits:
        _show_hit(hit, several=len(answer.stores) > 1)
    for kind, counts in {**(answer.facets or {}), **(answer.properties or {})}.items():
        click.secho(line(f"{kind}: {wording.facet(counts)}"), dim=True)
    more = f"More with --offset {answer.offset + len(answer.hits)}."
    sentences = [
        wording.found(answer),
        wording.REORDERED if answer.reordered else "",
        wording.unshown(answer),
        more if answer.hits and (answer.has_more or answer.unshown) else "",
        f"{wording.freshness(now).capitalize()}.",
    ]
    click.secho(" ".join(filter(None, sentences)), dim=True)


def _show_hit(hit: Hit, *, several: bool) -> None:
    place = click.style(line(wording.place(hit.document.address, hit)), bold=True)
    store = f"{hit.store}  " if several else ""
    mark = "" if hit.relevant else click.style("  (a near miss)", dim=True)
    click.echo(f"{hit.rank:>3}  {hit.score:.2f}  {store}{place}{mark}")
    heading = hit.headings or hit.document.title
    click.secho("     " + line(f"{heading} · {', '.join(hit.reasons)}".strip(" ·")), dim=True)
    room = width() - 7
    text = "".join(piece for piece, _ in excerpt_of(shown_text(hit), _SNIPPET))
    rows = _code_lines(hit, room) or wrapped(line(text) or line(wording.only_title(hit)), room)
    shown = rows[: max(4, _SNIPPET // room)]
    click.echo("     " + "\n     ".join(shown) + (" …" if len(shown) < len(rows) else ""))
    if warning := wording.on_disk(hit.document):
        click.secho(f"     {warning}", fg="yellow")
    for label, text in facts(hit, "brief").items():
        if text:
            click.secho(f"     {label.lower()}: {line(text)}", dim=True)
    click.echo()


def _code_lines(hit: Hit, room: int) -> list[str]:
    """Return the lines of code or data in a passage, from the beginning of its snippet; nothing for prose."""
    if hit.anchor is not None or hit.document.file_type in (*wording.NOTES, "html"):
        return []
    start = hit.content.rfind("\n", 0, hit.snippet[0]) + 1
    text = textwrap.dedent(plain(hit.content[start:]).expandtabs(4))
    return [row[:room] for row in text.splitlines() if row.strip()]


def show_documents(documents: Sequence[Document], states: Sequence[str] = ()) -> None:
    """Print the files of a store. ``states`` are the states that the user requested, for the sentence if
    there is no such file."""
    empty = f"No {' or '.join(states)} files." if states else "There is no file yet."
    if "excluded" in states:
        empty += " Those that the patterns of a folder leave out are not listed."
    rows = [
        (d.path, d.file_type, str(d.chunks), f"{d.state}, private" if d.private else d.state, d.reason)
        for d in documents
    ]
    table(("file", "type", "passages", "state", ""), rows, empty=empty)
    if any(d.state == "changed" for d in documents):
        click.secho(wording.CHANGED_IN_LISTS, dim=True)


def print_document(view: DocumentView) -> None:
    """Print a document: its facts, its text in reading order, and its links."""
    document = view.document
    click.secho(line(document.title or document.path), bold=True)
    private = "private" if document.private else ""
    tags = (f"#{tag}" for tag in document.tags)
    facts = (document.address, document.file_type, wording.document_day(view), private, *tags)
    click.secho(line(" · ".join(filter(None, facts))), dim=True)
    for name, value in view.properties:
        click.secho(line(f"{name}: {value}"), dim=True)
    state = "" if document.state == "fresh" else f"{document.state}  {document.reason}".rstrip()
    for warning in filter(None, (state, *view.warnings)):
        click.secho(line(warning), fg="yellow")
    for chunk in view.chunks:
        lines = wording.lines(chunk.start_line, chunk.end_line)
        where = f"{lines if chunk.anchor is None else chunk.anchor}  {chunk.headings}".strip()
        click.secho(f"\n{line(where).rstrip()}", dim=True)
        read = chunk.content[slice(*chunk.shown)]
        click.echo(plain(read.lstrip(" " if chunk.shown[0] else "")).strip("\r\n"))
    if view.parts:
        _show_parts(view)
    _show_links("Links to", view.links_out)
    _show_links("Linked from", view.links_in)


def _show_parts(view: DocumentView) -> None:
    click.secho(f"\n{wording.plural(view.document.part_count, 'document')} in this file", bold=True)
    for part in view.parts:
        click.echo(line("  ".join(("", part.date, part.title, part.address))))
    if view.document.part_count > len(view.parts):
        click.secho("  Older ones are found by searching.", dim=True)


def _show_links(title: str, links: Sequence[DocumentLink]) -> None:
    shown = [line(f"  {link.path or f'{link.target}  (nothing in this store)'}") for link in links]
    if shown:
        click.echo("\n".join((click.style(f"\n{title}", bold=True), *dict.fromkeys(shown))))


def show_similar(documents: Sequence[Similar]) -> None:
    """Print documents with their similarity and title."""
    rows = [
        (
            f"{near.similarity:.2f}",
            near.document.address,
            near.document.title,
            "linked" if near.is_linked else "",
        )
        for near in documents
    ]
    empty = "No other document can be compared yet: nothing is embedded, or there is no other."
    table(("near", "file", "title", ""), rows, empty=empty, if_any=("",))


def show_evaluation(evaluated: Evaluation) -> None:
    """Print how well searches found the documents of a golden set, next to the previous figures, and the
    queries whose first relevant document changed its rank or was not found."""
    rows = []
    for name, value in evaluated.figures.items():
        last = evaluated.before.get(name)
        rows.append((name, f"{value:.2f}", "" if last is None else f"{value - last:+.2f}"))
    count = len(evaluated.queries)
    table(("", f"{count:,} {'query' if count == 1 else 'queries'}", "change"), rows, if_any=("change",))
    for query, before, now in evaluated.changes:
        click.echo(f"  {before or 'none'} → {now or 'none'}  {line(query)}")
    for judged in evaluated.queries:
        if judged.rank is None:
            click.secho(f"  not found: {line(judged.query)}", fg="yellow")


_FILES = ("files", "failed", "skipped")
_IF_ANY = (*_FILES[1:], "excluded", "to embed", "called")  # columns that are left out if empty


def show_status(infos: Sequence[StoreInfo], running: Mapping[str, Job], warnings: Sequence[str] = ()) -> None:
    """Print ``warnings``, one line for each store, then the running jobs (store → job)."""
    warn(*warnings)
    if warnings and not infos:
        return
    header = ("store", *_FILES, "excluded", "passages", "to embed", "size", "embedder")
    rows = []
    for i in infos:
        counts = (i.file_count, i.failed, i.skipped, i.excluded, i.chunk_count, i.pending)
        row = (i.name, *(f"{count:,}" for count in counts), wording.size(i.size_bytes))
        rows.append((*row, wording.embedder(i.embedder)))
    table(
        header,
        rows,
        empty="There is no store yet. Create one with `commonplace init FOLDER`.",
        if_any=_IF_ANY,
    )
    for info in infos:
        if paused := [source.root for source in info.sources if source.paused and not source.removed]:
            click.echo(f"{info.name}: paused: {line(', '.join(paused[:_MAX_NAMES]))}")
        if info.unreadable:
            click.echo(f"{info.name}: {wording.unreadable(info.unreadable)}")
    for name, job in running.items():
        click.echo(f"{name}: {line(progress_line(job))}")


def print_store(info: StoreInfo) -> None:
    """Print all facts about a store."""
    left_out = wording.left_out(info.failed, info.skipped, info.excluded)
    withheld = f", {info.withheld:,} private and not sent to the embedder's machine" if info.withheld else ""
    vectors = [
        wording.vectors_in(info),
        "attached: this computer only reads it" if info.attached else "",
        f"{info.unsent:,} not sent yet" if info.unsent else "",
        f"{info.refused:,} refused" if info.refused else "",
        wording.nearest_found(info),
        f"switching to {info.switching}, {info.to_switch:,} to embed" if info.switching else "",
    ]
    rows = [
        ("name", info.name),
        ("created", wording.moment(info.created_at)),
        ("embedder", f"{wording.embedder(info.embedder)} ({info.identity or 'nothing embedded yet'})"),
        ("dimension", str(info.dimension or "")),
        *([("scores", f"calibrated on {info.calibrated:,} passages")] if info.calibrated else []),
        ("metric", info.distance_metric),
        ("vectors", ", ".join(filter(None, vectors))),
        ("files", ", ".join((f"{info.file_count:,}", *left_out))),
        ("passages", f"{info.chunk_count:,}, {info.pending:,} to embed{withheld}"),
        *([("by words", wording.unreadable(info.unreadable))] if info.unreadable else []),
        ("size", wording.size(info.size_bytes)),
        ("types", ", ".join(f"{kind} {count:,}" for kind, count in info.types.items())),
        *(("folder", f"{source.root}: {wording.taken(source)}{_marks(source)}") for source in info.sources),
    ]
    for name, value in rows:
        click.echo(f"{name:<10} {line(value)}")


def _marks(source: Source) -> str:
    return " (being removed)" if source.removed else " (paused)" if source.paused else ""


def print_sources(store: str, folders: Sequence[SourceInfo]) -> None:
    """Print the folders of a store."""
    add = f"There is no folder yet. Add one: commonplace index FOLDER --store {store}"
    rows = []
    for folder in folders:
        source = folder.source
        missing = " (missing)" if folder.missing and not source.removed else ""
        called = f"{source.label}/…" if source.label else ""
        counts = (f"{count:,}" for count in (folder.indexed, folder.failed, folder.skipped))
        without = f" without {' '.join(source.exclude)}" if source.exclude else ""
        row = (str(source.id), f"{source.root}{_marks(source)}{missing}", called, *counts)
        rows.append((*row, f"{' '.join(source.include)}{without}"))
    table(("number", "folder", "called", *_FILES, "patterns"), rows, empty=add, if_any=_IF_ANY)


def _show_first(rows: Sequence[str], where: str = "") -> None:
    """Print the first rows, and the number of further rows. ``where`` is added to say where to find these."""
    for row in rows[:_MAX_ROWS]:
        click.echo(f"  {row.rstrip()}")
    if len(rows) > _MAX_ROWS:
        click.echo(f"  … and {len(rows) - _MAX_ROWS:,} more{where}")


def show_plans(plans: Sequence[Plan]) -> None:
    """Print what a run would do."""
    for plan in plans:
        click.secho(line(plan.source.root), bold=True)
        _show_first(
            [f"{wording.outcome(became):<10} {line(path)} {line(note)}" for became, path, note in plan.rows()]
        )
        click.echo("  " + (", ".join(wording.outcomes(plan.expected())) or "no files"))
        for warning in plan.warnings[:_MAX_ROWS]:
            click.secho(f"  {plain(warning)}", fg="yellow")


def show_job(job: Job, problems: Sequence[Problem] = (), *, with_files: bool = False) -> None:
    """Print the result of a run: its outcomes and problems and, with ``with_files``, the files that it
    changed.

    Failed files are printed one by one, except a folder that the run's message already names. Files that were
    skipped or read in part are grouped by reason.
    """
    if with_files:
        _show_files(job)
    counts = ", ".join(wording.outcomes(job.counts)) or "no files"
    if wording.read_nothing(job):
        warn("Nothing could be read.")
    click.echo(f"{job.state.capitalize()} in {wording.took(job)}: {line(counts)}.")
    if job.total_chunks_added or job.texts_embedded:
        click.echo(f"{', '.join(wording.read_and_embedded(job))}.")
    failed = [
        f"failed  {line(file)}: {line(problem.reason)}"
        for problem in problems
        if problem.kind == "failed"
        for file in problem.files
        if repr(file) not in job.message
    ]
    _show_first(failed, f"; see commonplace list --store {job.store} --state failed")
    for problem in problems:
        if problem.kind in ("in part", "skipped"):
            names = ", ".join(problem.files[:_MAX_NAMES])
            more = f" and {problem.count - _MAX_NAMES:,} more" if problem.count > _MAX_NAMES else ""
            click.echo(f"  {problem.kind:<7}  {line(names)}{more}: {line(problem.reason)}")
    warn(job.message)


def _show_files(job: Job) -> None:
    rows = []
    for file in job.results:
        moved = line(file.message) if file.outcome == "moved" else ""
        more = wording.plural(file.chunks_added, "passage") if file.chunks_added else moved
        if file.outcome not in {"unchanged", "failed", "skipped"}:
            rows.append(f"{wording.outcome(file.outcome):<10} {line(file.source_file)}  {more}")
    _show_first(rows, "; --json has all")


def show_jobs(jobs: Sequence[Job]) -> None:
    """Print one line for each run of a store, then their messages."""
    rows = [
        (
            str(job.id),
            wording.moment(job.start_time),
            job.state,
            wording.duration(job.duration_ms / 1000),
            ", ".join(wording.outcomes(job.counts)),
        )
        for job in jobs
    ]
    table(("number", "began", "state", "took", "files"), rows, empty="There was no run yet.")
    for job in jobs:
        if job.message:
            click.echo(f"{job.id}: {plain(job.message)}")


def show_settings(settings: Settings) -> None:
    """Print every setting with its origin, then the settings files."""
    table(("setting", "from", "value"), [(r.key.name, str(r.origin), r.said) for r in settings.rows()])
    click.echo()
    files = {"settings": settings.config_file, "variables": settings.env_file, "data": settings.data_dir}
    for name, path in files.items():
        there = "" if path and path.exists() else "  (not there)"
        click.echo(f"{name:<10} {line(str(path))}{there}")


_MARKS = {"ok": "ok  ", "note": "note", "no": "NO  "}


def show_steps(steps: Sequence[DiagnosisStep]) -> None:
    """Print one line for each step of a diagnosis or of `doctor`, with a mark for its result."""
    for step in steps:
        click.echo(f"{_MARKS[step.state]}  {plain(step.sentence)}")


def show_diagnoses(diagnoses: Sequence[Diagnosis]) -> None:
    """Print, store by store, why a file is found or not."""
    for diagnosis in diagnoses:
        path = plain(diagnosis.path)
        if diagnosis.findable:
            click.echo(f"{path} can be found in store {diagnosis.store!r}")
        else:
            click.echo(f"{path} cannot be found in store {diagnosis.store!r}")
        show_steps(diagnosis.steps)
        if diagnosis.query and diagnosis.findable:
            click.echo(f"      {plain(wording.ranked(diagnosis))}")
        if diagnosis.advice:
            click.echo(f"Next: {plain(str(diagnosis.advice))}")


def show_healths(healths: Sequence[Health], damaged: Sequence[str]) -> None:
    """Print each store with its findings, then the stores that cannot be opened."""
    for health in healths:
        faults = sum(finding.severity == "fault" for finding in health.findings)
        checks = wording.plural(len(health.checks), "check")
        verdict = f"{health.store}: sound, {checks}"
        if faults:
            verdict = f"{health.store}: {wording.plural(faults, 'fault')} in {checks}"
        click.secho(verdict, bold=True)
        for finding in health.findings:
            click.echo(f"  {finding.severity:<5} {finding.check}: {plain(finding.sentence)}")
            for example in finding.examples:
                click.secho(f"          {line(example)}", dim=True)
        if not health.sound:
            click.echo(f"  Next: commonplace repair --store {health.store}")
    warn(*damaged)
    if not healths and not damaged:
        click.echo("There is no store yet.")


def show_repair(repaired: Repair) -> None:
    """Print the steps of a repair, and the number of texts that the next run embeds again."""
    for sentence in repaired.done:
        click.echo(plain(sentence))
    if repaired.done:
        click.echo(f"Store {repaired.store!r} is sound.")
    else:
        click.echo(f"Store {repaired.store!r} is sound; nothing was changed.")
    if repaired.to_embed:
        again = f"{wording.plural(repaired.to_embed, 'text')} must be embedded again."
        click.echo(f"{again} Next: commonplace index --store {repaired.store}")
