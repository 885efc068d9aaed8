"""What the command line shows to people: stores, folders, runs, passages and diagnoses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from rag_core.api.encoding import plain
from rag_core.cli.screen import line, table, width, wrapped
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


def progress(job: Job) -> str:
    """How far a run is, in one line."""
    now = job.progress
    what = {
        "scanning": "Looking for files",
        "reading": "Reading files",
        "embedding": "Embedding passages",
        "sending": "Sending vectors",
        "done": "Done",
    }
    said = {"cancelled": "Stopped", "interrupted": "Stopped", "failed": "Failed"}.get(job.state)
    parts = [said or what[now.phase], f"{now.done:,} of {now.total:,}" if now.total else f"{now.done:,}"]
    if now.rate:
        parts.append(f"{now.rate:,.0f}/s")
    if now.eta is not None:
        parts.append(f"{duration(now.eta)} left")
    return " · ".join([*parts, now.current] if now.current else parts)


def stopped(job: Job) -> str:
    """Where a run was stopped by hand."""
    done = job.progress
    return f"Stopped at {done.done:,} of {done.total:,}." if done.total else "Stopped."


# --- results ----------------------------------------------------------------------------


def show_notices(answer: Answer) -> None:
    """What else is to be said of an answer, on standard error."""
    for warning in answer.warnings:
        click.secho(plain(warning), fg="yellow", err=True)


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


def near_miss(*, relevant: bool) -> str:
    """The mark behind a passage that is not good enough."""
    return click.style("" if relevant else "  (a near miss)", dim=True)


def _show_hit(hit: Hit, *, several: bool) -> None:
    place = line(f"{hit.document.path}:{lines(hit.start_line, hit.end_line)}")
    store = f"{hit.store}  " if several else ""
    click.echo(
        f"{hit.rank:>3}  {shown_score(hit.score)}  {store}" + click.style(place, bold=True)
        + near_miss(relevant=hit.relevant)
    )  # fmt: skip
    heading = hit.headings or hit.document.title
    click.secho("     " + line(f"{heading} · {', '.join(hit.reasons)}".strip(" ·")), dim=True)
    text = " ".join(plain(excerpt(hit)).split()) or line(only_title(hit))
    room = width() - 5
    rows = wrapped(text, room)
    shown = rows[: max(4, _SNIPPET // room)]
    for row in [
        *shown[:-1],
        shown[-1] if len(shown) == len(rows) else f"{wrapped(shown[-1], room - 2)[0]} …",
    ]:
        click.echo(f"     {row}")
    if said := on_disk(hit.document.state):
        click.secho(f"     {said}", fg="yellow")
    for copy in hit.copies:
        click.secho(f"     also in {line(copy)}", dim=True)
    click.echo()


def show_documents(documents: Sequence[Document], states: Sequence[str] = ()) -> None:
    """The files of a store, or those of some states."""
    if not documents:
        click.echo(_no_file(states))
        return
    rows = [
        (d.path, d.file_type, str(d.chunks), f"{d.state}, private" if d.private else d.state, d.reason)
        for d in documents
    ]  # fmt: skip
    table(("file", "type", "passages", "state", ""), rows)
    if any(d.state == "changed" for d in documents):
        click.secho(CHANGED_IN_LISTS, dim=True)


_HAS = {"failed": "has failed", "unknown": "has an unknown state"}


def _no_file(states: Sequence[str]) -> str:
    said = [_HAS.get(state, f"is {state}") for state in states]
    return f"No file {' or '.join(said)}." if said else "There is no file yet."


def show_document(view: DocumentView) -> None:
    """A document: what is known of it, its text in reading order, and its links."""
    document = view.document
    click.secho(line(document.title or document.path), bold=True)
    private = "private" if document.private else ""
    tags = (f"#{tag}" for tag in document.tags)
    known = (document.path, document.file_type, dated(view), private, *tags)
    click.secho(line(" · ".join(part for part in known if part)), dim=True)
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
    for each in dict.fromkeys(shown):  # a note may be linked to under several of its headings
        click.echo(each)


_FILES = ("files", "failed", "skipped", "excluded")
_IF_ANY = (*_FILES[1:], "to embed")


def _counted(counts: Sequence[int]) -> dict[str, str]:
    return {name: f"{count:,}" for name, count in zip(_FILES, counts, strict=False)}


def _table_of(rows: Sequence[Mapping[str, str]]) -> None:
    """Rows by the names of their columns, without those that are nothing but zero."""
    names = [name for name in rows[0] if name not in _IF_ANY or any(row[name] != "0" for row in rows)]
    table(names, [[row[name] for name in names] for row in rows])


def show_status(infos: Sequence[StoreInfo], running: Mapping[str, Job], warnings: Sequence[str] = ()) -> None:
    """Every store in a line, then what is running."""
    for warning in warnings:
        click.secho(plain(warning), fg="yellow", err=True)
    if not infos and not warnings:
        click.echo("There is no store yet. Make one: commonplace init FOLDER")
    if not infos:
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
    """A store in full."""
    rows = [
        ("name", info.name),
        ("created", moment(info.created_at)),
        ("embedder", f"{embedder(info.embedder)} ({info.identity or 'nothing embedded yet'})"),
        ("dimension", str(info.dimension or "")),
        ("metric", info.distance_metric),
        ("vectors", _vectors(info)),
        ("files", ", ".join((f"{info.file_count:,}", *left_out(info.failed, info.skipped, info.excluded)))),
        ("passages", f"{info.chunk_count:,}, {info.pending:,} to embed{_withheld(info)}"),
        *([("by words", unreadable(info.unreadable))] if info.unreadable else []),
        ("size", size(info.size_bytes)),
        ("types", ", ".join(f"{kind} {count:,}" for kind, count in info.types.items())),
    ]
    rows += [("folder", f"{source.root}: {taken(source)}{_marks(source)}") for source in info.sources]
    for name, value in rows:
        click.echo(f"{name:<10} {line(value)}")


def _vectors(info: StoreInfo) -> str:
    said = [vectors_in(info)]
    said += ["attached, only read here"] if info.attached else []
    said += [f"{info.unsent:,} to send"] if info.unsent else []
    said += [f"{info.refused:,} refused"] if info.refused else []
    said += [f"switching to {info.switching}, {info.to_switch:,} to embed"] if info.switching else []
    return ", ".join(said)


def _withheld(info: StoreInfo) -> str:
    return f", {info.withheld:,} withheld: private, and the embedder is elsewhere" if info.withheld else ""


def _patterns(source: Source) -> str:
    without = f" without {' '.join(source.exclude)}" if source.exclude else ""
    return " ".join(source.include) + without


def _marks(source: Source) -> str:
    return " (being removed)" if source.removed else " (paused)" if source.paused else ""


def show_sources(store: str, found: Sequence[SourceInfo]) -> None:
    """The folders of a store."""
    if not found:
        add = f"commonplace index '**/*' --root FOLDER --store {store}"
        click.echo(f"There is no folder yet. Add one: {add}")
        return
    led = any(each.source.label for each in found)
    rows = [
        {
            "number": str(each.source.id),
            "folder": _standing(each),
            **({"called": f"{each.source.label}/…" if each.source.label else ""} if led else {}),
            **_counted((each.indexed, each.failed, each.skipped)),
            "patterns": _patterns(each.source),
        }
        for each in found
    ]
    _table_of(rows)


def _standing(found: SourceInfo) -> str:
    missing = " (missing)" if found.missing and not found.source.removed else ""
    return found.source.root + _marks(found.source) + missing


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
    """What a run did: its files by outcome, its passages, and what it could not read."""
    counts = ", ".join(outcomes(job.counts)) or "no files"
    click.echo(f"{job.state.capitalize()} in {took(job)}: {line(counts)}.")
    if job.total_chunks_added or job.texts_embedded:
        click.echo(f"{', '.join(read_and_embedded(job))}.")
    _show_problems(job, problems)
    if job.message:
        click.secho(plain(job.message), fg="yellow", err=True)


def show_files(job: Job) -> None:
    """What became of each file of a run that was not left as it was; ``show_job`` tells of the others."""
    told = {"unchanged", "failed", "skipped"}
    files = [file for file in job.results if file.outcome not in told]
    for file in files[:_MAX_ROWS]:
        more = line(file.message) if file.outcome == "moved" else ""
        more = plural(file.chunks_added, "passage") if file.chunks_added else more
        click.echo(f"  {outcome(file.outcome):<10} {line(file.source_file)}  {more}".rstrip())
    if len(files) > _MAX_ROWS:
        click.echo(f"  … and {len(files) - _MAX_ROWS:,} more; --json has all")


def _show_problems(job: Job, problems: Sequence[Problem]) -> None:
    """The failed files one by one, but for a folder that the run's message names, and the skipped ones by
    reason."""
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
    """The runs of a store, each in a line, then what they had to say."""
    if not jobs:
        click.echo("There was no run yet.")
        return
    rows = [
        (
            str(job.id),
            moment(job.start_time),
            job.state,
            _took(job),
            ", ".join(outcomes(job.counts)),
        )
        for job in jobs
    ]
    table(("number", "began", "state", "took", "files"), rows)
    said: dict[str, list[str]] = {}
    for job in jobs:
        said.setdefault(job.message, []).append(str(job.id))
    for message, numbers in said.items():
        if message:
            click.echo(f"{', '.join(numbers)}: {plain(message)}")


def _took(job: Job) -> str:
    return duration(job.duration_ms / 1000) if job.duration_ms >= 1000 else "< 1 s"


def show_settings(settings: Settings) -> None:
    """Every setting and where it is from, then the files."""
    table(("setting", "from", "value"), [(r.key.name, str(r.origin), r.said) for r in settings.rows()])
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
        only = " only by its name" if diagnosis.by_name_only else ""
        click.echo(f"{plain(diagnosis.path)} {verdict}{only} in store {diagnosis.store!r}")
        show_steps(diagnosis.steps)
        if diagnosis.query and diagnosis.findable:
            click.echo(f"      {plain(ranked(diagnosis))}")
        if diagnosis.advice:
            click.echo(f"Next: {plain(str(diagnosis.advice))}")


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
    if faults:
        return f"{plural(faults, 'fault')} in {checks}"
    return f"sound, {checks} found {'no fault' if health.findings else 'nothing wrong'}"


def show_repair(repaired: Repair) -> None:
    """What was mended, and what is left for the next run."""
    for sentence in repaired.done:
        click.echo(plain(sentence))
    click.echo(f"Store {repaired.store!r} is sound{'.' if repaired.done else '; nothing was changed.'}")
    if repaired.to_embed:
        click.echo(
            f"{plural(repaired.to_embed, 'text')} to be embedded again."
            f" Next: commonplace index --store {repaired.store}"
        )
