"""Private rules: path patterns that hide documents from guests, in addition to the marks in notes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from rag_core.errors import InvalidInput
from rag_core.files import validate_globs
from rag_core.library.service import Service
from rag_core.reports import Privacy
from rag_core.store import calibration, documents, embeddings, furniture, jobs, outbox, privacy
from rag_core.types import Viewer


class PrivateRules(Service):
    """Reads and changes the rules that hide documents of a store from guests."""

    def report(self, viewer: Viewer, store: str) -> Privacy:
        """Return the rules of a store, and the number of private documents."""
        with self._stores.open(viewer, store).store.read() as db:
            return _privacy(db, store)

    def set(self, viewer: Viewer, store: str, globs: Sequence[str]) -> Privacy:
        """Replace the patterns of the documents that are hidden from guests. Documents that say themselves
        that they are private stay hidden, too.

        Searches obey the rules at once. A pattern is compared with the path below the indexed folder and with
        the path as it is shown. The next job updates copies on other machines and the statistics behind
        guests' scores. Raises InvalidInput if a pattern is malformed.
        """
        rules = validate_globs(globs)
        return self._follow(viewer, store, lambda _: rules)

    def change(
        self, viewer: Viewer, store: str, *, hide: Sequence[str] = (), show: Sequence[str] = ()
    ) -> Privacy:
        """Add the rules ``hide`` and remove the rules ``show``. Raises InvalidInput if a pattern is malformed
        or a rule to remove does not exist."""
        added, gone = validate_globs(hide), validate_globs(show)

        def change(known: tuple[str, ...]) -> tuple[str, ...]:
            if odd := next((rule for rule in gone if rule not in known), None):
                listed = (
                    f"The store has these rules: {', '.join(map(repr, known))}."
                    if known
                    else "It has no rules."
                )
                raise InvalidInput(f"Store {store!r} has no rule {odd!r}.", listed)
            return tuple(dict.fromkeys((*(rule for rule in known if rule not in gone), *added)))

        return self._follow(viewer, store, change)

    def _follow(
        self, viewer: Viewer, store: str, change: Callable[[tuple[str, ...]], tuple[str, ...]]
    ) -> Privacy:
        opened = self._own(viewer, store)
        with opened.decide() as db:
            before = privacy.rules(db)
            changed = privacy.put_rules(db, change(before))
            if before != privacy.rules(db) and documents.forget_pictures(db):
                jobs.add_request(db, "index")
            queued = embeddings.pending_count(db) + embeddings.withheld_count(db)
            has_copies = outbox.address(db) or outbox.target(db) or queued
            counts_change = changed and (calibration.forget_public(db) or furniture.is_outdated(db))
            due = changed > 0 and bool(has_copies or counts_change)
            if due:
                jobs.add_request(db, "index", [])
        with opened.read() as db:
            return _privacy(db, store, due=due)

    def hidden_by(self, viewer: Viewer, store: str, glob: str) -> int:
        """Return the number of documents of a store that a rule would hide, without setting the rule. Raises
        InvalidInput if the rule is malformed."""
        [rule] = validate_globs([glob])
        with self._stores.open(viewer, store).store.read() as db:
            return privacy.matches(db, [rule])[rule]


def _privacy(db: sqlite3.Connection, store: str, *, due: bool = False) -> Privacy:
    counts = privacy.private_counts(db)
    kinds = (privacy.BY_NOTE | privacy.BY_RULE, privacy.BY_NOTE, privacy.BY_RULE)
    private, by_note, by_rule = (sum(n for marks, n in counts.items() if marks & kind) for kind in kinds)
    rules = privacy.matches(db, privacy.rules(db))
    return Privacy(
        store=store,
        rules=rules,
        documents=sum(counts.values()),
        private=private,
        by_note=by_note,
        by_rule=by_rule,
        due=due,
        unsure=privacy.unsure(db),
    )
