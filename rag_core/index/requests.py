"""Requests a run of a store, and cancels it. The process that holds the store's lock carries out the
request."""

from __future__ import annotations

from collections.abc import Sequence

from rag_core.store import Store, jobs


def request(
    store: Store,
    source_ids: Sequence[int] | None,
    *,
    force: bool = False,
    paths: Sequence[bytes] | None = None,
) -> None:
    """Request a run over the sources ``source_ids``, or over the files ``paths`` of them. For ``source_ids``,
    None means all sources that are not paused. With ``force``, unchanged files are read again, too."""
    with store.note() as db:
        jobs.add_request(db, "index", source_ids, force=force, paths=paths)


def requested(store: Store) -> bool:
    """Whether a request is waiting to be carried out."""
    with store.read() as db:
        return bool(jobs.requests_after(db, 0))


def cancel(store: Store) -> None:
    """Ask the runner to stop after the current file or batch. If no process runs, the requests are
    withdrawn."""
    if requested(store) or store.running():
        with store.note() as db:
            jobs.add_request(db, "cancel")
