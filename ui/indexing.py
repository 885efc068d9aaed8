"""What a run would do to a folder, and adding one to the store."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import streamlit as st

from rag_core.index.plan import Plan
from rag_core.types import Source, StoreInfo, Viewer
from rag_core.wording import outcome, outcomes, plural, said_of_covered, shared_files
from ui.deps import library
from ui.file_choice import ADDING, FileChoice, choice_in_boxes
from ui.folders import clear_folder, folder_in_box, shown
from ui.hits import label
from ui.messages import show_warning
from ui.runs import errors_wait, start_run

_PLAN: Final = "index_plan"
_MOST_ROWS: Final = 300
_MOST_WARNINGS: Final = 20


@dataclass(frozen=True, slots=True)
class DryRun:
    """The part of a plan that is shown, how many files come on top, and what it was made of."""

    store: str
    generation: int
    source: Source
    counts: dict[str, int]
    rows: list[dict[str, str]]
    more: int
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, info: StoreInfo, plan: Plan) -> DryRun:
        """Keep the first rows and warnings; a plan may hold a hundred thousand files."""
        rows = [
            {"What": outcome(what), "File": file, "Note": note}
            for what, file, note in islice(plan.rows(), _MOST_ROWS)
        ]
        more = plan.row_count() - len(rows)
        return cls(info.name, info.generation, plan.source, plan.expected(), rows, more, plan.warnings)

    def is_for(self, info: StoreInfo, source: Source) -> bool:
        """Whether neither the store nor the choice has changed since."""
        return (self.store, self.generation, self.source) == (info.name, info.generation, source)


def offer_dry_run(viewer: Viewer, info: StoreInfo, source: Source, chooser: str = ADDING) -> None:
    """A button that compares files with store and changes nothing, and what came of it."""
    if st.button("Show what would happen", key=f"{chooser}_dry_run", icon=":material/visibility:"):
        with st.spinner("Comparing files …"):
            plan = library().sources.plan(viewer, info.name, source)
        st.session_state[_PLAN] = DryRun.of(info, plan)
    dry_run: DryRun | None = st.session_state.get(_PLAN)
    if dry_run is not None and dry_run.is_for(info, source):
        show_dry_run(dry_run, chooser)


def show_dry_run(dry_run: DryRun, chooser: str) -> None:
    """The files that would change, by what would become of them."""
    counted = outcomes(dry_run.counts, bold=True)
    if counted:
        st.markdown(" · ".join(counted))
    if dry_run.rows:
        st.dataframe(
            dry_run.rows,
            hide_index=True,
            key=f"{chooser}_plan_rows",
            alt="What would happen to each file",
            column_order=("What", "File", "Note")
            if any(row["Note"] for row in dry_run.rows)
            else ("What", "File"),
            column_config={"What": st.column_config.TextColumn(width=90)},
        )
    else:
        st.caption("Nothing would change.")
    if dry_run.more:
        st.caption(f"And {plural(dry_run.more, 'more file')}.")
    _show_warnings(dry_run.warnings)


def _show_warnings(warnings: Sequence[str]) -> None:
    if not warnings:
        return
    rest = [f"And {len(warnings) - _MOST_WARNINGS:,} more."] if len(warnings) > _MOST_WARNINGS else []
    show_warning(*warnings[:_MOST_WARNINGS], *rest)


# --- adding -----------------------------------------------------------------------------


def preview_folder(viewer: Viewer, info: StoreInfo, choice: FileChoice) -> None:
    """What adding the chosen files would do."""
    source = library().sources.draft(viewer, info.name, choice.root, choice.include, choice.exclude)
    if source.root != os.path.realpath(choice.root):
        st.info(label(said_of_covered(shown(choice.root), source)))
        return
    if source.id and not any(each.id == source.id and each.removed for each in info.sources):
        st.caption("This folder is in the store already; these patterns are added to those it has.")
    if shared := shared_files(source.root, [each.root for each in info.sources if not each.removed]):
        st.info(label(shared))
    offer_dry_run(viewer, info, source)


def show_start(viewer: Viewer, info: StoreInfo, choice: FileChoice) -> None:
    """The button that adds the folder to the store and starts reading it in the background."""
    sure = True
    if choice.doubt:
        show_warning(choice.doubt)
        root = hashlib.sha256(os.fsencode(choice.root)).hexdigest()[:16]
        sure = st.checkbox("Yes, index all of it", key=f"index_sure_{root}")
    st.button(
        "Index now", key="index_now", type="primary", icon=":material/play_arrow:", disabled=not sure,
        on_click=_add_and_start, args=(viewer, info.name, choice),
    )  # fmt: skip


def _add_and_start(viewer: Viewer, store: str, drawn: FileChoice) -> None:
    """Index what the boxes say by now, unless that has to be asked about first."""
    with errors_wait():
        root = folder_in_box()
        choice = choice_in_boxes(root) if root else None
        if choice is None or (choice.doubt and choice != drawn):
            return
        source = library().sources.add(viewer, store, choice.root, choice.include, choice.exclude)
        start_run(viewer, store, [source.id])
        clear_folder()
