"""Adding a folder to a store, or changing one: which of its files, and what a run would do to them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

import streamlit as st

from rag_core.extract import hardly_text
from rag_core.files import MANY_FILES, Preview, doubt, preview
from rag_core.index.choice import no_match
from rag_core.index.plan import Plan
from rag_core.types import Source, StoreInfo, Viewer
from rag_core.wording import outcome, outcomes, plural, said_of_covered, shared_files, size, skips
from ui.deps import library
from ui.folders import clear_folder, folder_in_box, shown
from ui.hits import label
from ui.messages import errors_wait, show_warning
from ui.runs import PLACE, start_run

ADDING: Final = "index"
"""The chooser of the folder that is being added; every other one is called after its folder."""

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
        more = len(plan.rows()) - len(rows)
        return cls(info.name, info.generation, plan.source, plan.expected(), rows, more, plan.warnings)

    def is_for(self, info: StoreInfo, source: Source) -> bool:
        """Whether neither the store nor the choice has changed since."""
        return (self.store, self.generation, self.source) == (info.name, info.generation, source)


def offer_dry_run(viewer: Viewer, info: StoreInfo, source: Source, chooser: str = ADDING) -> None:
    """A button that compares files with the store and changes nothing, and its result."""
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
    if warnings := dry_run.warnings:
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
    with errors_wait(PLACE):
        root = folder_in_box()
        choice = choice_in_boxes(root) if root else None
        if choice is None or (choice.doubt and choice != drawn):
            return
        source = library().sources.add(viewer, store, choice.root, choice.include, choice.exclude)
        start_run(viewer, store, [source.id])
        clear_folder()


# --- which files of a folder -----------------------------------------------------------


_SUFFIXES_SHOWN: Final = 8
_LINES: Final = "One pattern a line, from this folder on."

KINDS: Final[Mapping[str, str]] = {
    "Everything readable": "**/*",
    "Notes": "**/*.{md,mdx,txt,rst}",
    "Code": "**/*.{py,ipynb,js,jsx,ts,tsx,vue,html,css,java,kt,go,rs,c,h,cpp,cs,rb,php,swift,lua,sh,sql}",
    "Data": "**/*.{csv,tsv,json,jsonl,yaml,yml,toml,xml,ini}",
}


@dataclass(frozen=True, slots=True)
class FileChoice:
    """A folder and the patterns that choose its files. ``doubt`` says why it may be a slip, if it may."""

    root: Path
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    doubt: str = ""


def fill_chooser(chooser: str, include: Sequence[str], exclude: Sequence[str]) -> None:
    """Let a chooser begin with these patterns. For callbacks only: it must not be drawn yet."""
    st.session_state[_include(chooser)] = "\n".join(include or ("**/*",))
    st.session_state[_exclude(chooser)] = "\n".join(exclude)


def choose_files(viewer: Viewer, root: Path, chooser: str = ADDING) -> FileChoice | None:
    """Let the owner choose files of ``root``; None when nothing is chosen.

    Raises InvalidInput when the folder cannot be read or a pattern is invalid.
    """
    st.session_state.setdefault(_include(chooser), KINDS["Everything readable"])
    kind = f"{chooser}_kind"
    include = st.session_state[_include(chooser)].strip()
    st.session_state[kind] = next((kind for kind, pattern in KINDS.items() if pattern == include), None)
    st.pills(
        "Kinds of files", list(KINDS), key=kind, on_change=_fill, args=(chooser,),
        label_visibility="collapsed",
    )  # fmt: skip
    left, right = st.columns(2)
    left.text_area(
        "Include", key=_include(chooser), height=96, persist_state="session",
        help=f"{_LINES} * stays inside a name, ** crosses folders, {{md,txt}} lists alternatives.",
    )  # fmt: skip
    right.text_area(
        "Exclude", key=_exclude(chooser), height=96, persist_state="session",
        placeholder="for example drafts/**",
        help=f"{_LINES} Keys, hidden files and what .gitignore names are left out anyway.",
    )  # fmt: skip
    patterns = patterns_in_boxes(chooser)
    with st.container(gap="xsmall"):
        _show_preview(_preview(os.fsencode(root), *patterns), root, patterns)
        if idle := _idle(viewer, os.fsencode(root), patterns[1]):
            show_warning(*idle)
    return choice_in_boxes(root, chooser)


def choice_in_boxes(root: Path, chooser: str = ADDING) -> FileChoice | None:
    """The files of ``root`` that the boxes choose now, None for none. Raises as ``choose_files``."""
    include, exclude = patterns_in_boxes(chooser)
    found = _preview(os.fsencode(root), include, exclude)
    if not found.count:
        return None
    return FileChoice(root, include, exclude, doubt(Path(os.path.realpath(root)), include, found))


def patterns_in_boxes(chooser: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the boxes include and exclude now. In a callback that is what was typed last: its arguments are of
    the page as it was drawn before."""
    include, exclude = (
        tuple(line.strip() for line in st.session_state[box].splitlines() if line.strip())
        for box in (_include(chooser), _exclude(chooser))
    )
    return include, exclude


def _include(chooser: str) -> str:
    return f"{chooser}_include"


def _exclude(chooser: str) -> str:
    return f"{chooser}_exclude"


def _fill(chooser: str) -> None:
    kind = KINDS.get(st.session_state[f"{chooser}_kind"])
    if kind is not None:
        st.session_state[_include(chooser)] = kind


# Bytes, because a file name that is no text cannot be part of a cache's key.
@st.cache_data(max_entries=32, ttl=15, show_spinner=False)
def _preview(root: bytes, include: tuple[str, ...], exclude: tuple[str, ...]) -> Preview:
    return preview(Path(os.fsdecode(root)), include, exclude, max_files=MANY_FILES)


@st.cache_data(max_entries=32, ttl=15, show_spinner=False)
def _idle(viewer: Viewer, root: bytes, exclude: tuple[str, ...]) -> list[str]:
    return library().sources.idle_excludes(viewer, os.fsdecode(root), exclude)


def _is_empty(root: Path) -> bool:
    with suppress(OSError), os.scandir(root) as entries:  # it may be gone since it was counted
        return next(entries, None) is None
    return False


def _show_preview(found: Preview, root: Path, patterns: tuple[Sequence[str], Sequence[str]]) -> None:
    if not found.count:
        if _is_empty(root):
            st.warning("This folder is empty.")
        else:
            why = "" if found.truncated else f" {no_match(root, *patterns).suggestion}"
            show_warning(f"No file in this folder matches these patterns.{why}")
        return
    least = "At least " if found.truncated else ""
    st.markdown(f"**{least}{plural(found.count, 'file')}** · {size(found.total_bytes)}")
    if unlikely := [suffix for suffix in found.by_suffix if hardly_text(f"a{suffix}")]:
        examples = [name for suffix in unlikely for name in found.examples[suffix]]
        st.caption(label(skips(sum(map(found.by_suffix.__getitem__, unlikely)), examples)))
    if found.truncated:
        st.caption(f"This folder holds more than {MANY_FILES:,} names; the count stopped there.")
    kinds = [
        f"{suffix or 'no suffix'} {count:,}"
        for suffix, count in islice(found.by_suffix.items(), _SUFFIXES_SHOWN)
    ]
    more = len(found.by_suffix) - len(kinds)
    st.text("  ".join([*kinds, f"and {more:,} more"] if more else kinds))
    rest = found.count - len(found.samples)
    st.text("\n".join([*found.samples, f"… and {rest:,} more"] if rest else found.samples))
