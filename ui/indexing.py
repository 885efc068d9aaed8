"""Steps 4 and 5 of the Index page, and the store's folders: what a run would do, and starting one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import streamlit as st

from rag_core.errors import RagError
from rag_core.files import display
from rag_core.plan import Plan
from rag_core.types import Source, StoreInfo, Viewer
from rag_core.wording import plural
from ui.deps import library
from ui.file_choice import FileChoice
from ui.folders import clear_folder
from ui.messages import show_warning
from ui.runs import remember_error, start_run

_PLAN: Final = "index_plan"
_MOST_ROWS: Final = 300
_MOST_WARNINGS: Final = 20


@dataclass(frozen=True, slots=True)
class DryRun:
    """The part of a plan that is shown, and what it was made of."""

    store: str
    generation: int
    source: Source
    counts: dict[str, int]
    rows: list[dict[str, str]]
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, info: StoreInfo, plan: Plan) -> DryRun:
        """Keep the first rows and warnings; a plan may hold a hundred thousand files."""
        rows = [
            {"What": what, "File": file, "Note": note} for what, file, note in islice(plan.rows(), _MOST_ROWS)
        ]
        return cls(info.name, info.generation, plan.source, plan.counts(), rows, plan.warnings)

    def is_for(self, info: StoreInfo, source: Source) -> bool:
        """Whether neither the store nor the choice has changed since."""
        return (self.store, self.generation, self.source) == (info.name, info.generation, source)


def show_dry_run(viewer: Viewer, info: StoreInfo, choice: FileChoice) -> None:
    """A button that compares files with store and changes nothing, and what came of it."""
    source = library().draft_source(viewer, info.name, choice.root, choice.include, choice.exclude)
    if source.id:
        st.caption("This folder is in the store already; these patterns are added to those it has.")
    if st.button("Show what would happen", key="index_dry_run", icon=":material/visibility:"):
        with st.spinner("Comparing files …"):
            plan = library().plan(viewer, info.name, source)
        st.session_state[_PLAN] = DryRun.of(info, plan)
    dry_run: DryRun | None = st.session_state.get(_PLAN)
    if dry_run is not None and dry_run.is_for(info, source):
        _show(dry_run)


def _show(dry_run: DryRun) -> None:
    st.markdown(" · ".join(f"**{count:,}** {outcome}" for outcome, count in dry_run.counts.items()))
    if dry_run.rows:
        st.dataframe(
            dry_run.rows,
            hide_index=True,
            key="index_plan_rows",
            alt="What would happen to each file",
            column_order=("What", "File", "Note")
            if any(row["Note"] for row in dry_run.rows)
            else ("What", "File"),
            column_config={"What": st.column_config.TextColumn(width=90)},
        )
    else:
        st.caption("Nothing would change.")
    rest = sum(n for outcome, n in dry_run.counts.items() if outcome != "unchanged") - len(dry_run.rows)
    if rest > 0:
        st.caption(f"And {plural(rest, 'more file')}." if rest == 1 else f"And {rest:,} more files.")
    _show_warnings(dry_run.warnings)


def _show_warnings(warnings: Sequence[str]) -> None:
    if not warnings:
        return
    show_warning(
        f"{len(warnings):,} would be passed over:" if len(warnings) > 1 else "One would be passed over:"
    )
    st.text("\n".join(warnings[:_MOST_WARNINGS]))
    if len(warnings) > _MOST_WARNINGS:
        st.caption(f"And {len(warnings) - _MOST_WARNINGS:,} more.")


# --- starting ---------------------------------------------------------------------------


def show_start(viewer: Viewer, info: StoreInfo, choice: FileChoice) -> None:
    """The button that adds the folder to the store and starts reading it in the background."""
    st.button(
        "Index now", key="index_now", type="primary", icon=":material/play_arrow:",
        on_click=_add_and_start, args=(viewer, info.name, choice),
    )  # fmt: skip


def _add_and_start(viewer: Viewer, store: str, choice: FileChoice) -> None:
    try:
        library().add_source(viewer, store, choice.root, choice.include, choice.exclude)
    except RagError as error:
        remember_error(error)
    else:
        start_run(viewer, store)
        clear_folder()


# --- the store's folders ----------------------------------------------------------------


def show_sources(viewer: Viewer, info: StoreInfo, *, active: bool) -> None:
    """The folders of the store with their patterns, and the buttons that read them again."""
    if not info.sources:
        return
    st.subheader("Folders in this store", anchor=False)
    for source in info.sources:
        with st.container(border=True, gap="xsmall"):
            st.text(display(os.fsencode(source.root)))
            st.text(_patterns(source))
    with st.container(horizontal=True):
        st.button(
            "Index again", key="index_again", icon=":material/sync:", disabled=active,
            on_click=start_run, args=(viewer, info.name), help="Reads only what has changed.",
        )  # fmt: skip
        st.button(
            "Read everything again", key="index_force", disabled=active,
            on_click=start_run, args=(viewer, info.name), kwargs={"force": True},
            help="Reads every file anew. Passages that did not change are not embedded again.",
        )  # fmt: skip


def _patterns(source: Source) -> str:
    without = f"  without {'  '.join(source.exclude)}" if source.exclude else ""
    paused = "  (paused)" if source.paused else ""
    return "  ".join(source.include or ("**/*",)) + without + paused
