"""Which files of a folder, with a live count and samples; for a folder to add, and for one to change."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

import streamlit as st

from rag_core.extract import hardly_text
from rag_core.files import MANY_FILES, Preview, doubt, preview
from rag_core.index.choice import no_match
from rag_core.types import Viewer
from rag_core.wording import plural, size, skips
from ui.deps import library
from ui.hits import label
from ui.messages import show_warning

ADDING: Final = "index"
"""The chooser of the folder that is being added; every other one is called after its folder."""

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
    st.session_state[kind] = _kind_of(st.session_state[_include(chooser)])
    st.pills(
        "Kinds of files",
        list(KINDS),
        key=kind,
        on_change=_fill,
        args=(chooser,),
        label_visibility="collapsed",
    )
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
        _show(_preview(os.fsencode(root), *patterns), root, patterns)
        if idle := _idle(viewer, os.fsencode(root), *patterns):
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
    return _patterns(st.session_state[_include(chooser)]), _patterns(st.session_state[_exclude(chooser)])


def _include(chooser: str) -> str:
    return f"{chooser}_include"


def _exclude(chooser: str) -> str:
    return f"{chooser}_exclude"


def _fill(chooser: str) -> None:
    kind = KINDS.get(st.session_state[f"{chooser}_kind"])
    if kind is not None:
        st.session_state[_include(chooser)] = kind


def _kind_of(include: str) -> str | None:
    return next((kind for kind, pattern in KINDS.items() if pattern == include.strip()), None)


def _patterns(typed: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in typed.splitlines() if line.strip())


# Bytes, because a file name that is no text cannot be part of a cache's key.
@st.cache_data(max_entries=32, ttl=15, show_spinner=False)
def _preview(root: bytes, include: tuple[str, ...], exclude: tuple[str, ...]) -> Preview:
    return preview(Path(os.fsdecode(root)), include, exclude, max_files=MANY_FILES)


@st.cache_data(max_entries=32, ttl=15, show_spinner=False)
def _idle(viewer: Viewer, root: bytes, include: tuple[str, ...], exclude: tuple[str, ...]) -> list[str]:
    return library().sources.idle_excludes(viewer, os.fsdecode(root), include, exclude)


def _is_empty(root: Path) -> bool:
    try:
        with os.scandir(root) as entries:
            return next(entries, None) is None
    except OSError:  # it went away since it was counted
        return False


def _why_none(found: Preview, root: Path, patterns: tuple[Sequence[str], Sequence[str]]) -> str:
    """That no file is chosen, and what would be; of a very large folder only the first."""
    said = "No file in this folder matches these patterns."
    return said if found.truncated else f"{said} {no_match(root, *patterns).suggestion}"


def _show(found: Preview, root: Path, patterns: tuple[Sequence[str], Sequence[str]]) -> None:
    if not found.count:
        if _is_empty(root):
            st.warning("This folder is empty.")
        else:
            show_warning(_why_none(found, root, patterns))
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
