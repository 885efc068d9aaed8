"""Step 3 of the Index page: which files of the folder, with a live count and samples."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

import streamlit as st

from rag_core.files import Preview, preview
from rag_core.wording import plural, size

INCLUDE: Final = "index_include"
EXCLUDE: Final = "index_exclude"
KIND: Final = "index_kind"
_SUFFIXES_SHOWN: Final = 8
_MOST_NAMES: Final = 50_000

KINDS: Final[Mapping[str, str]] = {
    "Everything readable": "**/*",
    "Notes": "**/*.{md,mdx,txt,rst}",
    "Code": "**/*.{py,ipynb,js,jsx,ts,tsx,vue,html,css,java,kt,go,rs,c,h,cpp,cs,rb,php,swift,lua,sh,sql}",
    "Data": "**/*.{csv,tsv,json,jsonl,yaml,yml,toml,xml,ini}",
}


@dataclass(frozen=True, slots=True)
class FileChoice:
    """A folder and the patterns that choose its files."""

    root: Path
    include: tuple[str, ...]
    exclude: tuple[str, ...]


def choose_files(root: Path) -> FileChoice | None:
    """Let the owner choose files of ``root``; None when nothing is chosen.

    Raises InvalidInput when the folder cannot be read or a pattern is invalid.
    """
    st.session_state.setdefault(INCLUDE, KINDS["Everything readable"])
    st.session_state[KIND] = _kind_of(st.session_state[INCLUDE])
    st.pills("Kinds of files", list(KINDS), key=KIND, on_change=_fill, label_visibility="collapsed")
    include, exclude = st.columns(2)
    included = include.text_area(
        "Include", key=INCLUDE, height=96, persist_state="session",
        help="One pattern a line. * stays inside a name, ** crosses folders, {md,txt} lists alternatives.",
    )  # fmt: skip
    excluded = exclude.text_area(
        "Exclude", key=EXCLUDE, height=96, persist_state="session", placeholder="drafts/**",
        help="One pattern a line. Keys, hidden files and what .gitignore names are left out anyway.",
    )  # fmt: skip
    choice = FileChoice(root, _patterns(included), _patterns(excluded))
    found = _preview(os.fsencode(root), choice.include, choice.exclude)
    with st.container(gap="xsmall"):
        _show(found)
    return choice if found.count else None


def _fill() -> None:
    st.session_state[INCLUDE] = KINDS.get(st.session_state[KIND], st.session_state[INCLUDE])


def _kind_of(include: str) -> str | None:
    return next((kind for kind, pattern in KINDS.items() if pattern == include.strip()), None)


def _patterns(typed: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in typed.splitlines() if line.strip())


# Bytes, because a file name that is no text cannot be part of a cache's key.
@st.cache_data(max_entries=32, ttl=15, show_spinner=False)
def _preview(root: bytes, include: tuple[str, ...], exclude: tuple[str, ...]) -> Preview:
    return preview(Path(os.fsdecode(root)), include, exclude, max_files=_MOST_NAMES)


def _show(found: Preview) -> None:
    if not found.count:
        st.warning("No file in this folder matches these patterns.")
        return
    least = "At least " if found.truncated else ""
    st.markdown(f"**{least}{plural(found.count, 'file')}** · {size(found.total_bytes)}")
    if found.truncated:
        st.caption(f"This folder holds more than {_MOST_NAMES:,} names; the count stopped there.")
    kinds = [
        f"{suffix or 'no suffix'} {count:,}"
        for suffix, count in islice(found.by_suffix.items(), _SUFFIXES_SHOWN)
    ]
    more = len(found.by_suffix) - len(kinds)
    st.text("  ".join([*kinds, f"and {more:,} more"] if more else kinds))
    rest = found.count - len(found.samples)
    st.text("\n".join([*found.samples, f"… and {rest:,} more"] if rest else found.samples))
