"""What commands print for people: passages, documents, stores, folders, runs and checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from rag_core.api.encoding import plain
from rag_core.cli.screen import line, table, warn, width, wrapped
from rag_core.index.plan import Plan
from rag_core.reports import Diagnosis, Health, Problem, Repair, SourceInfo, Step
from rag_core.search.snippet import excerpt
from rag_core.types import Answer, Document, DocumentLink, DocumentView, Hit, Job, Source, StoreInfo
from rag_core.wording import (
    CHANGED_IN_LISTS,
    NOTHING_FITS,
    dated,
    duration,
    embedder,
    found,
    left_out,
    lines,
    moment,
    nothing,
    on_disk,
    only_title,
    outcome,
    outcomes,
    pending,
    plural,
    ranked,
    read_and_embedded,
    shown_score,
    size,
    taken,
    took,
    unreadable,
    unshown,
    vectors_in,
)

if TYPE_CHECKING:
    from rag_core.config import Settings  # brings pydantic, which commands need only for settings

_MAX_ROWS = 40
_MAX_NAMES = 3
_SNIPPET = 320  # characters of a passage, on a narrow terminal


_PHASES = {
    "scanning": "Looking for files",
    "reading": "Reading files",
    "embedding": "Embedding passages",
    "sending": "Sending vectors",
    "done": "Done",
}
_ENDED = {"cancelled": "Stopped", "interrupted": "Stopped", "failed": "Failed"}


def progress(job: Job) -> str:
    """The progress of a run in one line."""
    now = job.progress
    parts = [
        _ENDED.get(job.state) or _PHASES[now.phase],
        f"{now.done:,} of {now.total:,}" if now.total else f"{now.done:,}",
        f"{now.rate:,.0f}/s" if now.rate else "",
        f"{duration(now.eta)} left" if now.eta is not None else "",
        now.current,
    ]
    return " · ".join(filter(None, parts))


# --- passages and documents -------------------------------------------------------------


def show_notices(answer: Answer) -> None:
    """Print the warnings of an answer to standard error."""
    for warning in answer.warnings:
        warn(warning)


def show_answer(answer: Answer) -> None:
    """The passages found, each with its place, score and reasons."""
    show_notices(answer)
    if not answer.hits:
        click.echo(f"{nothing(answer)}.")
        if answer.pending:
            click.echo(str(pending(answer.pending, answer.stores)))
        return
    if not answer.convincing:
        click.echo(f"{NOTHING_FITS} These are the nearest passages.")
    for hit in answer.hits:
        _show_hit(hit, several=len(answer.stores) > 1)
    more = f"More with --offset {answer.offset + len(answer.hits)}."
    said = [
        found(answer),
        unshown(answer),
        more if answer.has_more or answer.unshown else "",
        f"{plural(answer.pending, 'passage')} to embed." if answer.pending else "",
    ]
    click.secho(" ".join(filter(None, said)), dim=True)


def _show_hit(hit: Hit, *, several: bool) -> None:
    place = click.style(line(f"{hit.document.path}:{lines(hit.start_line, hit.end_line)}"), bold=True)
    store = f"{hit.store}  " if several else ""
    mark = "" if hit.relevant else click.style("  (a near miss)", dim=True)
    click.echo(f"{hit.rank:>3}  {shown_score(hit.score)}  {store}{place}{mark}")
    heading = hit.headings or hit.document.title
    click.secho("     " + line(f"{heading} · {', '.join(hit.reasons)}".strip(" ·")), dim=True)
    text = " ".join(plain(excerpt(hit)).split()) or line(only_title(hit))
    room = width() - 5
    rows = wrapped(text, room)
    shown = rows[: max(4, _SNIPPET // room)]
    if len(shown) < len(rows):
        shown[-1] = f"{wrapped(shown[-1], room - 2)[0]} …"
    for row in shown:
        click.echo(f"     {row}")
    if said := on_disk(hit.document.state):
        click.secho(f"     {said}", fg="yellow")
    for copy in hit.copies:
        click.secho(f"     also in {line(copy)}", dim=True)
    click.echo()


def show_documents(documents: Sequence[Document], states: Sequence[str] = ()) -> None:
    """The files of a store; ``states`` are those that were asked for."""
    if not documents:
        said = " or ".join(_STATES_IN_WORDS.get(state, f"is {state}") for state in states)
        click.echo(f"No file {said}." if said else "There is no file yet.")
        return
    rows = [
        (d.path, d.file_type, str(d.chunks), f"{d.state}, private" if d.private else d.state, d.reason)
        for d in documents
    ]  # fmt: skip
    table(("file", "type", "passages", "state", ""), rows)
    if any(d.state == "changed" for d in documents):
        click.secho(CHANGED_IN_LISTS, dim=True)


_STATES_IN_WORDS = {"failed": "has failed", "unknown": "has an unknown state"}


def show_document(view: DocumentView) -> None:
    """A document: its facts, its text in reading order, and its links."""
    document = view.document
    click.secho(line(document.title or document.path), bold=True)
    tags = (f"#{tag}" for tag in document.tags)
    facts = (document.path, document.file_type, dated(view), "private" if document.private else "", *tags)
    click.secho(line(" · ".join(filter(None, facts))), dim=True)
    for name, value in view.properties:
        click.secho(line(f"{name}: {value}"), dim=True)
    if document.state != "fresh":
        click.secho(line(f"{document.state}  {document.reason}".rstrip()), fg="yellow")
    for warning in view.warnings:
        click.secho(line(warning), fg="yellow")
    for chunk in view.chunks:
        where = f"{lines(chunk.start_line, chunk.end_line)}  {chunk.headings}"
        click.secho(f"\n{line(where).rstrip()}", dim=True)
        read = chunk.content[slice(*chunk.shown)]
        click.echo(plain(read.lstrip(" " if chunk.shown[0] else "")).strip("\r\n"))
    _show_links("Links to", view.links_out)
    _show_links("Linked from", view.links_in)


def _show_links(name: str, found: Sequence[DocumentLink]) -> None:
    if found:
        click.secho(f"\n{name}", bold=True)
    shown = (line(f"  {link.path or f'{link.target}  (nothing in this store)'}") for link in found)
    for each in dict.fromkeys(shown):  # several headings of a note may be linked
        click.echo(each)


# --- stores and folders -----------------------------------------------------------------

_FILES = ("files", "failed", "skipped", "excluded")
_IF_ANY = (*_FILES[1:], "to embed")


def _counted(counts: Sequence[int]) -> dict[str, str]:
    return {name: f"{count:,}" for name, count in zip(_FILES, counts, strict=False)}


def _table_of(rows: Sequence[Mapping[str, str]]) -> None:
    """A table of rows by column name, without columns of zeros."""
    names = [name for name in rows[0] if name not in _IF_ANY or any(row[name] != "0" for row in rows)]
    table(names, [[row[name] for name in names] for row in rows])


def show_status(infos: Sequence[StoreInfo], running: Mapping[str, Job], warnings: Sequence[str] = ()) -> None:
    """Every store in a line, then what is running."""
    for warning in warnings:
        warn(warning)
    if not infos:
        if not warnings:
            click.echo("There is no store yet. Make one: commonplace init FOLDER")
        return
    rows = [
        {
            "store": i.name,
            **_counted((i.file_count, i.failed, i.skipped, i.excluded)),
            "passages": f"{i.chunk_count:,}",
            "to embed": f"{i.pending:,}",
            "size": size(i.size_bytes),
            "embedder": embedder(i.embedder),
        }
        for i in infos
    ]
    _table_of(rows)
    for info in infos:
        kept = [source for source in info.sources if not source.removed]
        if paused := [source.root for source in kept if source.paused]:
            which = "its folder is" if len(kept) == 1 else f"{len(paused)} of {len(kept)} folders are"
            click.echo(f"{info.name}: {which} paused: {line(', '.join(paused[:_MAX_NAMES]))}")
        if info.unreadable:
            click.echo(f"{info.name}: {unreadable(info.unreadable)}")
    for name, job in running.items():
        click.echo(f"{name}: {line(progress(job))}")


def show_store(info: StoreInfo) -> None:
    """All facts of a store."""
    passages = f"{info.chunk_count:,}, {info.pending:,} to embed"
    if info.withheld:
        passages += f", {info.withheld:,} withheld: private, and the embedder is elsewhere"
    rows = [
        ("name", info.name),
        ("created", moment(info.created_at)),
        ("embedder", f"{embedder(info.embedder)} ({info.identity or 'nothing embedded yet'})"),
        ("dimension", str(info.dimension or "")),
        ("metric", info.distance_metric),
        ("vectors", _vectors(info)),
        ("files", ", ".join((f"{info.file_count:,}", *left_out(info.failed, info.skipped, info.excluded)))),
        ("passages", passages),
        *([("by words", unreadable(info.unreadable))] if info.unreadable else []),
        ("size", size(info.size_bytes)),
        ("types", ", ".join(f"{kind} {count:,}" for kind, count in info.types.items())),
    ]
    rows += [("folder", f"{source.root}: {taken(source)}{_marks(source)}") for source in info.sources]
    for name, value in rows:
        click.echo(f"{name:<10} {line(value)}")


def _vectors(info: StoreInfo) -> str:
    parts = [
        vectors_in(info),
        info.address,
        "attached, only read here" if info.attached else "",
        f"{info.unsent:,} to send" if info.unsent else "",
        f"{info.refused:,} refused" if info.refused else "",
        f"switching to {info.switching}, {info.to_switch:,} to embed" if info.switching else "",
    ]
    return ", ".join(filter(None, parts))


def _marks(source: Source) -> str:
    return " (being removed)" if source.removed else " (paused)" if source.paused else ""


def show_sources(store: str, found: Sequence[SourceInfo]) -> None:
    """The folders of a store."""
    if not found:
        add = f"commonplace index '**/*' --root FOLDER --store {store}"
        click.echo(f"There is no folder yet. Add one: {add}")
        return
    has_labels = any(each.source.label for each in found)
    rows = []
    for each in found:
        source = each.source
        missing = " (missing)" if each.missing and not source.removed else ""
        without = f" without {' '.join(source.exclude)}" if source.exclude else ""
        rows.append({
            "number": str(source.id),
            "folder": f"{source.root}{_marks(source)}{missing}",
            **({"called": f"{source.label}/…" if source.label else ""} if has_labels else {}),
            **_counted((each.indexed, each.failed, each.skipped)),
            "patterns": f"{' '.join(source.include)}{without}",
        })  # fmt: skip
    _table_of(rows)


# --- runs -------------------------------------------------------------------------------


def show_plans(plans: Sequence[Plan]) -> None:
    """What a run would do."""
    for plan in plans:
        click.secho(line(plan.source.root), bold=True)
        rows = plan.rows()
        for became, path, note in rows[:_MAX_ROWS]:
            click.echo(f"  {outcome(became):<10} {line(path)} {line(note)}".rstrip())
        if len(rows) > _MAX_ROWS:
            click.echo(f"  … and {len(rows) - _MAX_ROWS:,} more")
        click.echo("  " + (", ".join(outcomes(plan.expected())) or "no files"))
        for warning in plan.warnings[:_MAX_ROWS]:
            click.secho(f"  {plain(warning)}", fg="yellow")


def show_job(job: Job, problems: Sequence[Problem] = ()) -> None:
    """The result of a run: its files by outcome, its passages, and its problems."""
    counts = ", ".join(outcomes(job.counts)) or "no files"
    click.echo(f"{job.state.capitalize()} in {took(job)}: {line(counts)}.")
    if job.total_chunks_added or job.texts_embedded:
        click.echo(f"{', '.join(read_and_embedded(job))}.")
    _show_problems(job, problems)
    if job.message:
        warn(job.message)


def show_files(job: Job) -> None:
    """Each file that a run changed; ``show_job`` lists those that failed or were skipped."""
    files = [file for file in job.results if file.outcome not in {"unchanged", "failed", "skipped"}]
    for file in files[:_MAX_ROWS]:
        moved = line(file.message) if file.outcome == "moved" else ""
        more = plural(file.chunks_added, "passage") if file.chunks_added else moved
        click.echo(f"  {outcome(file.outcome):<10} {line(file.source_file)}  {more}".rstrip())
    if len(files) > _MAX_ROWS:
        click.echo(f"  … and {len(files) - _MAX_ROWS:,} more; --json has all")


def _show_problems(job: Job, problems: Sequence[Problem]) -> None:
    """Failed files one by one, except a folder that the run's message names; skipped files by reason."""
    failed = [
        (file, problem.reason)
        for problem in problems
        if problem.kind == "failed"
        for file in problem.files
        if repr(file) not in job.message
    ]
    for file, reason in failed[:_MAX_ROWS]:
        click.echo(f"  failed  {line(file)}: {line(reason)}")
    if len(failed) > _MAX_ROWS:
        see = f"commonplace list --store {job.store} --state failed"
        click.echo(f"  … and {len(failed) - _MAX_ROWS:,} more; see {see}")
    for problem in problems:
        if problem.kind == "skipped":
            names = ", ".join(problem.files[:_MAX_NAMES])
            more = f" and {problem.count - _MAX_NAMES:,} more" if problem.count > _MAX_NAMES else ""
            click.echo(f"  skipped  {line(names)}{more}: {line(problem.reason)}")


def show_jobs(jobs: Sequence[Job]) -> None:
    """The runs of a store, each in a line, then their messages."""
    if not jobs:
        click.echo("There was no run yet.")
        return
    rows = []
    messages: dict[str, list[str]] = {}
    for job in jobs:
        took_s = duration(job.duration_ms / 1000) if job.duration_ms >= 1000 else "< 1 s"
        files = ", ".join(outcomes(job.counts))
        rows.append((str(job.id), moment(job.start_time), job.state, took_s, files))
        messages.setdefault(job.message, []).append(str(job.id))
    table(("number", "began", "state", "took", "files"), rows)
    for message, numbers in messages.items():
        if message:
            click.echo(f"{', '.join(numbers)}: {plain(message)}")


# --- settings and checks ----------------------------------------------------------------


def show_settings(settings: Settings) -> None:
    """Every setting with its origin, then the files."""
    table(("setting", "from", "value"), [(r.key.name, str(r.origin), r.said) for r in settings.rows()])
    click.echo()
    for name, path in (
        ("settings", settings.config_file),
        ("variables", settings.env_file),
        ("data", settings.data_dir),
    ):
        there = "" if path and path.exists() else "  (not there)"
        click.echo(f"{name:<10} {line(str(path))}{there}")


_MARKS = {"ok": "ok  ", "note": "note", "no": "NO  "}


def show_steps(steps: Sequence[Step]) -> None:
    """One line a step."""
    for step in steps:
        click.echo(f"{_MARKS[step.state]}  {plain(step.sentence)}")


def show_diagnoses(found: Sequence[Diagnosis]) -> None:
    """Why a file is found or not, store by store."""
    for diagnosis in found:
        verdict = "can be found" if diagnosis.findable else "cannot be found"
        only = " only by its name" if diagnosis.by_name_only else ""
        click.echo(f"{plain(diagnosis.path)} {verdict}{only} in store {diagnosis.store!r}")
        show_steps(diagnosis.steps)
        if diagnosis.query and diagnosis.findable:
            click.echo(f"      {plain(ranked(diagnosis))}")
        if diagnosis.advice:
            click.echo(f"Next: {plain(str(diagnosis.advice))}")


def show_healths(healths: Sequence[Health], damaged: Sequence[str]) -> None:
    """Each store with its findings, then stores that cannot be opened."""
    for health in healths:
        faults = sum(finding.severity == "fault" for finding in health.findings)
        checks = plural(len(health.checks), "check")
        sound = f"sound, {checks} found {'no fault' if health.findings else 'nothing wrong'}"
        verdict = f"{plural(faults, 'fault')} in {checks}" if faults else sound
        click.secho(f"{health.store}: {verdict}", bold=True)
        for finding in health.findings:
            click.echo(f"  {finding.severity:<5} {finding.check}: {plain(finding.sentence)}")
            for example in finding.examples:
                click.secho(f"          {line(example)}", dim=True)
        if not health.sound:
            click.echo(f"  Next: commonplace repair --store {health.store}")
    for sentence in damaged:
        warn(sentence)
    if not healths and not damaged:
        click.echo("There is no store yet.")


def show_repair(repaired: Repair) -> None:
    """The steps of a repair, and what the next run embeds again."""
    for sentence in repaired.done:
        click.echo(plain(sentence))
    click.echo(f"Store {repaired.store!r} is sound{'.' if repaired.done else '; nothing was changed.'}")
    if repaired.to_embed:
        click.echo(
            f"{plural(repaired.to_embed, 'text')} to be embedded again."
            f" Next: commonplace index --store {repaired.store}"
        )
