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

from rag_core.plan import Plan
from rag_core.types import Answer, Document, Hit, Job, StoreInfo
from rag_core.wording import duration, plural, size

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
        if self._on:
            text = progress(job)[: _width() - 1]
            click.echo(f"\r\x1b[2K{line(text)}", nl=False, err=True)

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


def show_answer(answer: Answer) -> None:
    """The passages found, each with its place, score and reasons."""
    for warning in answer.warnings:
        click.secho(plain(warning), fg="yellow", err=True)
    if not answer.hits:
        click.echo("Nothing found.")
        return
    if not answer.convincing:
        click.echo("Nothing fits well; these are the nearest.")
    for hit in answer.hits:
        _show_hit(hit, several=len(answer.stores) > 1)
    waiting = f" · {plural(answer.pending, 'passage')} to embed" if answer.pending else ""
    click.secho(f"{plural(len(answer.hits), 'passage')} in {answer.query_time_ms:.0f} ms{waiting}", dim=True)


def _show_hit(hit: Hit, *, several: bool) -> None:
    place = line(f"{hit.document.path}:{hit.start_line}-{hit.end_line}")
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
    _table(("file", "type", "chunks", "state", ""), rows)


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
    for source in info.sources:
        without = f" without {' '.join(source.exclude)}" if source.exclude else ""
        rows.append(("folder", f"{source.root}: {' '.join(source.include)}{without}"))
    for name, value in rows:
        click.echo(f"{name:<10} {line(value)}")


def show_plans(plans: Sequence[Plan]) -> None:
    """What a run would do."""
    for plan in plans:
        click.secho(line(plan.source.root), bold=True)
        rows = plan.rows()
        for outcome, path, note in rows[:_MAX_ROWS]:
            click.echo(f"  {outcome:<9} {line(path)} {line(note)}".rstrip())
        if len(rows) > _MAX_ROWS:
            click.echo(f"  … and {len(rows) - _MAX_ROWS:,} more")
        click.echo("  " + ", ".join(f"{count:,} {outcome}" for outcome, count in plan.counts().items()))
        for warning in plan.warnings[:_MAX_ROWS]:
            click.secho(f"  {plain(warning)}", fg="yellow")


def show_job(job: Job) -> None:
    """What a run did, the failures by name."""
    counts = ", ".join(f"{count:,} {outcome}" for outcome, count in job.counts.items() if count) or "no files"
    click.echo(
        f"{job.state.capitalize()} in {duration(job.duration_ms / 1000)}: {counts};"
        f" {plural(job.total_chunks_added, 'passage')} added, {plural(job.texts_embedded, 'text')} embedded."
    )
    for result in [r for r in job.results if r.outcome in ("failed", "skipped")][:_MAX_ROWS]:
        click.echo(line(f"  {result.outcome}  {result.source_file}: {result.message}"))
    if job.message:
        click.secho(plain(job.message), fg="yellow", err=True)
