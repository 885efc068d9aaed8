"""What the command line shows to people: tables, passages and one moving line of progress.

File names and passages are hostile: control characters never reach the terminal.
"""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence

import click

from rag_core.config import Settings
from rag_core.plan import Plan
from rag_core.reports import SourceInfo
from rag_core.types import (
    Answer,
    Diagnosis,
    Document,
    DocumentLink,
    DocumentView,
    Health,
    Hit,
    Job,
    Repair,
    Source,
    Step,
    StoreInfo,
)
from rag_core.wording import duration, found, lines, outcome, outcomes, plural, ranked, size, skips

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_MAX_ROWS = 40


def plain(text: str) -> str:
    """``text`` without the characters that steer a terminal."""
    return _CONTROL.sub("�", text).encode("utf-8", "replace").decode("utf-8")


def plain_json(text: str) -> str:
    """JSON ``text`` with the characters that steer a terminal written as escapes."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def line(text: str) -> str:
    """``text``, plain, on one line."""
    return plain(text).replace("\n", " ")


def _width() -> int:
    return max(60, min(shutil.get_terminal_size((100, 24)).columns, 120))


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Left-aligned columns; the last one takes what is left."""
    cells = [[line(str(cell)) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    for number, row in enumerate(cells):
        shown = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        click.secho(shown, bold=number == 0)


class Line:
    """One line of progress that moves on standard error, when that is a terminal."""

    def __init__(self) -> None:
        self._on = sys.stderr.isatty()

    def show(self, job: Job) -> None:
        """Draw the newest snapshot."""
        self.say(progress(job))

    def say(self, text: str) -> None:
        """Draw one line."""
        if self._on:
            click.echo(f"\r\x1b[2K{line(text[: _width() - 1])}", nl=False, err=True)

    def clear(self) -> None:
        """Take the line away."""
        if self._on:
            click.echo("\r\x1b[2K", nl=False, err=True)


def progress(job: Job) -> str:
    """How far a run is, in one line."""
    now = job.progress
    what = {
        "scanning": "Looking for files",
        "reading": "Reading files",
        "embedding": "Embedding passages",
        "done": "Done",
    }
    parts = [what[now.phase], f"{now.done:,} of {now.total:,}" if now.total else f"{now.done:,}"]
    if now.rate:
        parts.append(f"{now.rate:,.0f}/s")
    if now.eta is not None:
        parts.append(f"{duration(now.eta)} left")
    return " · ".join([*parts, now.current] if now.current else parts)


# --- results ----------------------------------------------------------------------------


def show_notices(answer: Answer) -> None:
    """What else is to be said of an answer, on standard error."""
    for warning in answer.warnings:
        click.secho(plain(warning), fg="yellow", err=True)


def show_answer(answer: Answer) -> None:
    """The passages found, each with its place, score and reasons."""
    show_notices(answer)
    if not answer.hits:
        click.echo("Nothing more." if answer.offset else "Nothing found.")
        return
    if not answer.convincing:
        click.echo("Nothing fits well; these are the nearest.")
    for hit in answer.hits:
        _show_hit(hit, several=len(answer.stores) > 1)
    more = f" More with --offset {answer.offset + len(answer.hits)}." if answer.has_more else ""
    waiting = f" {plural(answer.pending, 'passage')} to embed." if answer.pending else ""
    click.secho(f"{found(answer)}{more}{waiting}", dim=True)


def _show_hit(hit: Hit, *, several: bool) -> None:
    place = line(f"{hit.document.path}:{lines(hit.start_line, hit.end_line)}")
    store = f"{hit.store}  " if several else ""
    click.echo(
        f"{hit.rank:>3}  {hit.score:.2f}  {store}" + click.style(place, bold=True)
        + click.style("" if hit.relevant else "  (a near miss)", dim=True)
    )  # fmt: skip
    heading = " > ".join(hit.heading_path) or hit.document.title
    click.secho("     " + line(f"{heading} · {', '.join(hit.reasons)}".strip(" ·")), dim=True)
    start, end = hit.snippet
    text = " ".join(plain(hit.content[start:end]).split())
    for row in textwrap.wrap(text, _width() - 5)[:4]:
        click.echo(f"     {row}")
    for copy in hit.copies:
        click.secho(f"     also in {line(copy)}", dim=True)
    click.echo()


def show_documents(documents: Sequence[Document]) -> None:
    """The files of a store."""
    rows = [
        (d.path, d.file_type, str(d.chunks), d.state, d.reason) for d in documents
    ]  # fmt: skip
    _table(("file", "type", "passages", "state", ""), rows)


def show_document(view: DocumentView) -> None:
    """A document: what is known of it, its text in reading order, and its links."""
    document = view.document
    click.secho(line(document.title or document.path), bold=True)
    known = (document.path, document.file_type, document.date[:10], *(f"#{tag}" for tag in document.tags))
    click.secho(line(" · ".join(part for part in known if part)), dim=True)
    if document.state != "fresh":
        click.secho(line(f"{document.state}  {document.reason}".rstrip()), fg="yellow")
    for warning in view.warnings:
        click.secho(line(warning), fg="yellow")
    for chunk in view.chunks:
        where = f"{lines(chunk.start_line, chunk.end_line)}  {' > '.join(chunk.heading_path)}"
        click.secho(f"\n{line(where).rstrip()}", dim=True)
        click.echo(plain(chunk.content[chunk.repeats :].lstrip(" " if chunk.repeats else "")).strip("\r\n"))
    _show_links("Links to", view.links_out)
    _show_links("Linked from", view.links_in)


def _show_links(name: str, found: Sequence[DocumentLink]) -> None:
    if found:
        click.secho(f"\n{name}", bold=True)
    for link in found:
        click.echo(line(f"  {link.path or f'{link.target}  (nothing in this store)'}"))


def show_status(infos: Sequence[StoreInfo], running: Mapping[str, Job], warnings: Sequence[str] = ()) -> None:
    """Every store in a line, then what is running."""
    for warning in warnings:
        click.secho(plain(warning), fg="yellow", err=True)
    if not infos and not warnings:
        click.echo("There is no store yet. Make one: commonplace init FOLDER")
    if not infos:
        return
    counts = [(i.file_count, i.chunk_count, i.pending, i.failed) for i in infos]
    rows = [
        (i.name, *(f"{count:,}" for count in numbers), size(i.size_bytes), i.embedder)
        for i, numbers in zip(infos, counts, strict=True)
    ]
    _table(("store", "files", "passages", "to embed", "failed", "size", "embedder"), rows)
    for name, job in running.items():
        click.echo(f"{name}: {line(progress(job))}")


def show_store(info: StoreInfo) -> None:
    """A store in full."""
    rows = [
        ("name", info.name),
        ("created", info.created_at),
        ("embedder", info.identity or f"{info.embedder} (nothing embedded yet)"),
        ("dimension", str(info.dimension or "")),
        ("metric", info.distance_metric),
        ("vectors", info.backend),
        ("files", f"{info.file_count:,} indexed, {info.failed:,} failed, {info.skipped:,} skipped"),
        ("passages", f"{info.chunk_count:,}, {info.pending:,} to embed"),
        ("size", size(info.size_bytes)),
        ("types", ", ".join(f"{kind} {count:,}" for kind, count in info.types.items())),
    ]
    rows += [("folder", f"{source.root}: {_globs(source)}{_marks(source)}") for source in info.sources]
    for name, value in rows:
        click.echo(f"{name:<10} {line(value)}")


def _globs(source: Source) -> str:
    without = f" without {' '.join(source.exclude)}" if source.exclude else ""
    return " ".join(source.include) + without


def _marks(source: Source) -> str:
    return " (being removed)" if source.removed else " (paused)" if source.paused else ""


def show_sources(found: Sequence[SourceInfo]) -> None:
    """The folders of a store."""
    rows = [
        (
            str(each.source.id), _standing(each), _globs(each.source),
            f"{each.indexed:,}", f"{each.failed:,}", f"{each.skipped:,}",
        )
        for each in found
    ]  # fmt: skip
    _table(("number", "folder", "globs", "files", "failed", "skipped"), rows)


def _standing(found: SourceInfo) -> str:
    missing = " (missing)" if found.missing and not found.source.removed else ""
    return found.source.root + _marks(found.source) + missing


def show_plans(plans: Sequence[Plan]) -> None:
    """What a run would do."""
    for plan in plans:
        click.secho(line(plan.source.root), bold=True)
        rows = plan.rows()
        for became, path, note in rows[:_MAX_ROWS]:
            click.echo(f"  {outcome(became):<9} {line(path)} {line(note)}".rstrip())
        if len(rows) > _MAX_ROWS:
            click.echo(f"  … and {len(rows) - _MAX_ROWS:,} more")
        click.echo("  " + ", ".join(f"{count:,} {outcome(name)}" for name, count in plan.counts().items()))
        if unlikely := plan.unlikely():
            click.echo(f"  {skips(unlikely)}")
        for warning in plan.warnings[:_MAX_ROWS]:
            click.secho(f"  {plain(warning)}", fg="yellow")


def show_job(job: Job) -> None:
    """What a run did, the failures by name."""
    counts = ", ".join(outcomes(job.counts)) or "no files"
    click.echo(
        f"{job.state.capitalize()} in {duration(job.duration_ms / 1000)}: {line(counts)};"
        f" {plural(job.total_chunks_added, 'passage')} added, {plural(job.texts_embedded, 'text')} embedded."
    )
    for result in [r for r in job.results if r.outcome in ("failed", "skipped")][:_MAX_ROWS]:
        click.echo(line(f"  {result.outcome}  {result.source_file}: {result.message}"))
    if job.message:
        click.secho(plain(job.message), fg="yellow", err=True)


def show_jobs(jobs: Sequence[Job]) -> None:
    """The runs of a store, each in a line."""
    rows = [
        (
            str(job.id), job.start_time, job.state, duration(job.duration_ms / 1000),
            ", ".join(outcomes(job.counts)), job.message,
        )
        for job in jobs
    ]  # fmt: skip
    _table(("number", "began", "state", "took", "files", ""), rows)


def show_settings(settings: Settings) -> None:
    """Every setting and where it is from, then the files."""
    _table(("setting", "value", "from"), [(r.key.name, r.said, str(r.origin)) for r in settings.rows()])
    click.echo()
    for name, path in (
        ("settings", settings.config_file),
        ("variables", settings.env_file),
        ("data", settings.data_dir),
    ):
        there = "" if path and path.exists() else "  (not there)"
        click.echo(f"{name:<10} {line(str(path))}{there}")


# --- diagnoses --------------------------------------------------------------------------

_MARKS = {"ok": "ok  ", "note": "note", "no": "NO  "}


def show_steps(steps: Sequence[Step]) -> None:
    """One line a step."""
    for step in steps:
        click.echo(f"{_MARKS[step.state]}  {plain(step.sentence)}")


def show_diagnoses(found: Sequence[Diagnosis]) -> None:
    """Why a file is found or not, store by store."""
    for diagnosis in found:
        verdict = "can be found" if diagnosis.findable else "cannot be found"
        click.echo(f"{plain(diagnosis.path)} {verdict} in store {diagnosis.store!r}")
        show_steps(diagnosis.steps)
        if diagnosis.query:
            click.echo(f"      {plain(ranked(diagnosis))}")
        if diagnosis.advice:
            click.echo(f"Next: {plain(diagnosis.advice)}")


# --- health -----------------------------------------------------------------------------


def show_healths(healths: Sequence[Health], damaged: Sequence[str]) -> None:
    """Each store with what its checks found, then those that cannot even be checked."""
    for health in healths:
        click.secho(f"{health.store}: {_verdict(health)}", bold=True)
        for finding in health.findings:
            click.echo(f"  {finding.severity:<5} {finding.check}: {plain(finding.sentence)}")
            for example in finding.examples:
                click.secho(f"          {line(example)}", dim=True)
        if not health.sound:
            click.echo(f"  Next: commonplace repair --store {health.store}")
    for sentence in damaged:
        click.secho(plain(sentence), fg="yellow", err=True)
    if not healths and not damaged:
        click.echo("There is no store yet.")


def _verdict(health: Health) -> str:
    faults = sum(finding.severity == "fault" for finding in health.findings)
    checks = plural(len(health.checks), "check")
    return f"{plural(faults, 'broken promise')} in {checks}" if faults else f"sound, by {checks}"


def show_repair(repaired: Repair) -> None:
    """What was mended, and what is left for the next run."""
    for sentence in repaired.done:
        click.echo(plain(sentence))
    click.echo(f"Store {repaired.store!r} is sound{'.' if repaired.done else '; nothing was changed.'}")
    if repaired.reread:
        click.echo(
            f"{plural(repaired.reread, 'document')} to be read again."
            f" Next: commonplace index --store {repaired.store}"
        )
