"""Adding a folder to a store, or changing one: choosing its files, and a preview of a run."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import streamlit as st

from rag_core.extract import hardly_text
from rag_core.files import EVERYTHING, MANY_FILES, Preview, doubt, preview
from rag_core.index.choice import no_match
from rag_core.index.plan import Plan
from rag_core.types import Source, StoreInfo, Viewer
from rag_core.wording import covered_by, outcome, outcomes, plural, shared_files, size, skips
from ui.frame.deps import library
from ui.frame.hits import label
from ui.frame.messages import errors_wait, show_warning
from ui.index.folders import clear_folder, folder_in_box, path_text
from ui.index.runs import INDEX_PLACE, start_run

ADDING: Final = "index"
"""The chooser for a folder that is being added. A chooser is the boxes for a folder's patterns; it is named
by the beginning of their session keys. A folder of a store has the chooser ``source_STORE_ID``."""

_MOST_ROWS: Final = 300
_MOST_WARNINGS: Final = 20


def offer_dry_run(viewer: Viewer, info: StoreInfo, source: Source, chooser: str = ADDING) -> None:
    """Draw a button that compares the files of ``source`` with the store, and then what a run would change.
    The names of button and table begin with ``chooser``."""
    if st.button("Show what would happen", key=f"{chooser}_dry_run", icon=":material/visibility:"):
        with st.spinner("Comparing files …"):
            plan = library().sources.plan(viewer, info.name, source)
        show_plan(plan, chooser)


def show_plan(plan: Plan, chooser: str) -> None:
    """Draw the files that would change, grouped by outcome: at most 300, because a plan may have a hundred
    thousand. The name of the table begins with ``chooser``."""
    st.markdown(" · ".join(outcomes(plan.expected(), bold=True)) or "Nothing would change.")
    rows = plan.rows()
    if rows:
        st.dataframe(
            [{"What": outcome(what), "File": file, "Note": note} for what, file, note in rows[:_MOST_ROWS]],
            hide_index=True,
            key=f"{chooser}_plan_rows",
            alt="What would happen to each file",
            column_config={"What": st.column_config.TextColumn(width=90)},
        )
    if len(rows) > _MOST_ROWS:
        st.caption(f"And {plural(len(rows) - _MOST_ROWS, 'more file')}.")
    if warnings := plan.warnings:
        rest = [f"And {len(warnings) - _MOST_WARNINGS:,} more."] if len(warnings) > _MOST_WARNINGS else []
        show_warning(*warnings[:_MOST_WARNINGS], *rest)


def preview_folder(viewer: Viewer, info: StoreInfo, choice: FileChoice) -> None:
    """Draw what would happen if the chosen files were added: notices about folders that the store already
    has, and, for such a folder, the button of `offer_dry_run`."""
    source = library().sources.draft(viewer, info.name, choice.root, choice.include, choice.exclude)
    if source.root != os.path.realpath(choice.root):
        st.info(label(covered_by(path_text(choice.root), source)))
        return
    if source.id and not any(known.id == source.id and known.removed for known in info.sources):
        st.caption("This folder is in the store already. These patterns are added to its present ones.")
    if shared := shared_files(source.root, [known.root for known in info.sources if not known.removed]):
        st.info(label(shared))
    if source.id:
        offer_dry_run(viewer, info, source)


def show_start(viewer: Viewer, choice: FileChoice, store: Callable[[], str]) -> None:
    """Draw the button that adds the folder to a store and starts to read it in the background. When it is
    pressed, ``store`` is called: it returns the store's name, and may create the store first."""
    sure = True
    if choice.doubt:
        show_warning(choice.doubt)
        root = hashlib.sha256(os.fsencode(choice.root)).hexdigest()[:16]
        sure = st.checkbox("Yes, index all of it", key=f"index_sure_{root}")

    def add_and_start() -> None:
        """Add the folder and patterns in the boxes and start a run, unless a confirmation is needed that was
        not shown."""
        with errors_wait(INDEX_PLACE):
            root = folder_in_box()
            now = choice_in_boxes(root) if root else None
            if now is None or (now.doubt and now != choice):
                return
            name = store()
            source = library().sources.add(viewer, name, now.root, now.include, now.exclude)
            start_run(viewer, name, [source.id])
            clear_folder()
            fill_chooser(ADDING, (), ())

    st.button(
        "Index now",
        key="index_now",
        type="primary",
        icon=":material/play_arrow:",
        disabled=not sure,
        on_click=add_and_start,
    )


_MOST_SUFFIXES: Final = 8
_FEW: Final = 10
_SUFFIXES: Final = re.compile(r"\*\*/\*(?:\.\{([\w,]+)\}|\.(\w+))")
_LINES: Final = "One pattern per line, starting in this folder."

KINDS: Final[Mapping[str, str]] = {
    "Everything readable": "**/*",
    "Notes": "**/*.{md,mdx,txt,rst}",
    "Code": "**/*.{py,ipynb,js,jsx,ts,tsx,vue,html,css,java,kt,go,rs,c,h,cpp,cs,rb,php,swift,lua,sh,sql}",
    "Data": "**/*.{csv,tsv,json,jsonl,yaml,yml,toml,xml,ini}",
}


@dataclass(frozen=True, slots=True)
class FileChoice:
    """A folder and the patterns that choose its files. ``doubt`` says why the choice may be a mistake; '' if
    it seems right."""

    root: Path
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    doubt: str = ""


def fill_chooser(chooser: str, include: Sequence[str], exclude: Sequence[str]) -> None:
    """Put these patterns into the boxes of a chooser; without ``include``, ``**/*``. Only callbacks may call
    this, before the chooser is drawn."""
    st.session_state[f"{chooser}_include"] = "\n".join(include or ("**/*",))
    st.session_state[f"{chooser}_exclude"] = "\n".join(exclude)


def choose_files(viewer: Viewer, root: Path, chooser: str = ADDING) -> FileChoice | None:
    """Draw the boxes of ``chooser``, and return the choice of files in ``root``; None if no file matches the
    patterns. Raises InvalidInput if the folder cannot be read or a pattern is invalid."""
    state, box, kind = st.session_state, f"{chooser}_include", f"{chooser}_kind"
    state.setdefault(box, KINDS["Everything readable"])
    state.setdefault(f"{chooser}_exclude", "")
    state[kind] = next((kind for kind, pattern in KINDS.items() if pattern == state[box].strip()), None)

    def fill() -> None:
        state[box] = KINDS.get(state[kind], state[box])

    st.pills("Kinds of files", list(KINDS), key=kind, on_change=fill, label_visibility="collapsed")
    _choose_suffixes(root, chooser)
    with st.expander("Include and exclude", chooser != ADDING, type="compact", key=f"{chooser}_patterns"):
        left, right = st.columns(2)
        left.text_area(
            "Include",
            key=box,
            height=96,
            persist_state="session",
            help=f"{_LINES} * stays inside a name, ** crosses folders, {{md,txt}} lists alternatives.",
        )
        right.text_area(
            "Exclude",
            key=f"{chooser}_exclude",
            height=96,
            persist_state="session",
            placeholder="for example drafts/**",
            help=f"{_LINES} Keys, hidden files and what .gitignore names are left out anyway.",
        )
    patterns = patterns_in_boxes(chooser)
    with st.container(gap="xsmall"):
        counted = _preview(os.fsencode(root), *patterns)
        _show_preview(counted, root, patterns)
        if sentence := library().sources.said_of_pictures(viewer, counted.by_suffix):
            st.caption(label(sentence))
        if idle := _idle(viewer, os.fsencode(root), patterns[1]):
            show_warning(*idle)
    return choice_in_boxes(root, chooser)


def _choose_suffixes(root: Path, chooser: str) -> None:
    """Draw the most frequent suffixes in ``root`` with their numbers of files. Chosen suffixes become the
    pattern."""
    state, box, key = st.session_state, f"{chooser}_include", f"{chooser}_suffixes"
    there = _preview(os.fsencode(root), EVERYTHING, patterns_in_boxes(chooser)[1]).by_suffix
    offered = [suffix for suffix in there if suffix[1:].isalnum()][:_MOST_SUFFIXES]
    match = _SUFFIXES.fullmatch(state[box].strip())
    named = (match[1] or match[2]).split(",") if match else []
    state[key] = [suffix for suffix in offered if suffix[1:] in named]

    def fill() -> None:
        kept = [name for name in named if f".{name}" not in offered]
        chosen = ",".join([*(suffix[1:] for suffix in state[key]), *kept])
        state[box] = f"**/*.{{{chosen}}}" if "," in chosen else f"**/*.{chosen}" if chosen else EVERYTHING[0]

    if len(offered) > 1:
        st.pills(
            "Suffixes",
            offered,
            key=key,
            selection_mode="multi",
            on_change=fill,
            format_func=lambda suffix: f"{suffix} {there[suffix]:,}",
            label_visibility="collapsed",
        )


def choice_in_boxes(root: Path, chooser: str = ADDING) -> FileChoice | None:
    """Return the choice of files in ``root`` with the patterns typed in the boxes of ``chooser``; None if no
    file matches. Raises InvalidInput if the folder cannot be read or a pattern is invalid."""
    include, exclude = patterns_in_boxes(chooser)
    counted = _preview(os.fsencode(root), include, exclude)
    if not counted.count:
        return None
    return FileChoice(root, include, exclude, doubt(Path(os.path.realpath(root)), include, counted))


def patterns_in_boxes(chooser: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the include patterns and the exclude patterns in the boxes. In a callback, they are the last
    typed ones."""
    include, exclude = (
        tuple(line.strip() for line in st.session_state[f"{chooser}_{box}"].splitlines() if line.strip())
        for box in ("include", "exclude")
    )
    return include, exclude


# The path is bytes, because a file name that is not text cannot be part of a cache's key.
@st.cache_data(max_entries=32, ttl=15, show_spinner=False)
def _preview(root: bytes, include: tuple[str, ...], exclude: tuple[str, ...]) -> Preview:
    return preview(Path(os.fsdecode(root)), include, exclude, max_files=MANY_FILES)


@st.cache_data(max_entries=32, ttl=15, show_spinner=False)
def _idle(viewer: Viewer, root: bytes, exclude: tuple[str, ...]) -> list[str]:
    return library().sources.idle_excludes(viewer, os.fsdecode(root), exclude)


def _show_preview(counted: Preview, root: Path, patterns: tuple[Sequence[str], Sequence[str]]) -> None:
    if not counted.count:
        why = "" if counted.truncated else f" {no_match(root, *patterns).suggestion}"
        show_warning(f"No file in this folder matches these patterns.{why}")
        return
    least = "At least " if counted.truncated else ""
    st.markdown(f"**{least}{plural(counted.count, 'file')}** · {size(counted.total_bytes)}")
    if unread := {suffix: n for suffix, n in counted.by_suffix.items() if hardly_text(f"a{suffix}")}:
        st.caption(label(skips(unread)))
    rest = counted.count - len(counted.samples)
    names = [*counted.samples, f"… and {rest:,} more"] if rest else counted.samples
    height: int | Literal["content"] = 240 if len(names) > _FEW else "content"
    with st.expander("Which files", type="compact"), st.container(height=height, border=False):
        st.text("\n".join(names))
