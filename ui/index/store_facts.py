"""The facts about a store, as HTML. The rules of `ui.frame.hits` hold."""

from __future__ import annotations

import html

from rag_core.providers import LOCAL
from rag_core.reports import Health
from rag_core.types import StoreInfo
from rag_core.wording import embedder, left_out, moment, nearest_found, plural, size, unreadable, vectors_in
from ui.frame.hits import in_one_line

_METRICS = {
    "cosine": "Cosine",
    "euclidean": "Euclidean distance",
    "dot_product": "Dot product",
}


def counts_line(info: StoreInfo) -> str:
    """Return one line of plain text about a store: its size, and the remaining work; *empty* for a store
    without folders and files."""
    if not info.file_count and not info.sources:
        return "empty"
    parts = [plural(info.file_count, "file"), *left_out(info.failed, info.skipped, info.excluded)]
    parts.append(plural(info.chunk_count, "passage"))
    if info.unreadable:
        parts.append(f"{info.unreadable:,} found by words only")
    if info.pending:
        parts.append(f"{plural(info.pending, 'passage')} not embedded yet")
    parts.append(size(info.size_bytes))
    parts += [f"vectors in {info.backend}"] if info.backend != LOCAL else []
    parts += [f"{plural(info.unsent, 'passage')} not sent to the vector index yet"] if info.unsent else []
    parts += ["attached: this computer only reads it"] if info.attached else []
    parts += ["switching"] if info.switching else []
    return " · ".join(parts)


def sheet(info: StoreInfo) -> str:
    """Return HTML with all facts about a store."""
    facts = {
        "Files": ", ".join([f"{info.file_count:,}", *left_out(info.failed, info.skipped, info.excluded)]),
        "Passages": f"{info.chunk_count:,}"
        + (f", {info.pending:,} to embed" if info.pending and not info.switching else ""),
        "Withheld": f"{info.withheld:,} private texts, because the embedder runs on another machine"
        if info.withheld
        else "",
        "By words only": unreadable(info.unreadable),
        "Size": size(info.size_bytes),
        "Embedder": embedder(info.embedder),
        "Fingerprint": f"{info.identity} (which exact model made the vectors)"
        if info.identity
        else "none yet, as nothing is embedded",
        "Scores": f"calibrated on {info.calibrated:,} passages" if info.calibrated else "",
        "Dimension": f"{info.dimension:,}" if info.dimension else "",
        "Metric": _METRICS.get(info.distance_metric, info.distance_metric),
        "Vectors": ", ".join(filter(None, (vectors_in(info), nearest_found(info)))),
        "Address": f"{info.address} (for attaching it elsewhere)" if info.address else "",
        "To send": f"{info.unsent:,} passages, as soon as the vector index answers" if info.unsent else "",
        "Refused": f"{info.refused:,} passages, by the vector index" if info.refused else "",
        "Private notes": "may go to servers on other machines" if info.sends_private else "",
        "Created": moment(info.created_at),
    }
    rows = "".join(
        f"<dt>{name}</dt><dd>{html.escape(in_one_line(value))}</dd>" for name, value in facts.items() if value
    )
    return f'<div class="cp"><dl>{rows}</dl></div>'


def health_html(health: Health) -> str:
    """Return HTML with the results of a store's checks, faults first."""
    how = f"{plural(len(health.checks), 'check')} on {moment(health.checked_at)}"
    findings = sorted(health.findings, key=lambda finding: finding.severity)  # "fault" sorts before "note"
    faults = [finding for finding in findings if finding.severity == "fault"]
    verdict = f"Sound: {how} found nothing wrong."
    if faults:
        verdict = f"{plural(len(faults), 'fault')} in {how}:"
    elif findings:
        verdict = f"Sound, with a note, by {how}:"
    rows = ""
    for finding in findings:
        examples = html.escape("; ".join(map(in_one_line, finding.examples)))
        more = "; …" if finding.count > len(finding.examples) > 0 else ""
        rows += f'<li>{html.escape(finding.sentence)}<p class="cp-quiet">{examples}{more}</p></li>'
    return f'<div class="cp" role="status"><p>{verdict}</p><ul class="cp-folders">{rows}</ul></div>'
