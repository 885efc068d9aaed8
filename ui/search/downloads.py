"""The shown passages as a file: JSON for programs, CSV for spreadsheets, Parquet for data frames."""

from __future__ import annotations

import re
from functools import partial
from typing import Final, Literal

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from rag_core.access import current_session
from rag_core.api import answers
from rag_core.api.encoding import hits_csv, json_bytes
from rag_core.errors import NotFound
from rag_core.types import Answer, Viewer
from rag_core.wording import plural
from ui.frame.deps import library
from ui.search import hit_table

FileFormat = Literal["json", "csv", "parquet"]
_KINDS: Final[dict[FileFormat, tuple[str, str]]] = {
    "json": ("JSON", "application/json"),
    "csv": ("CSV", "text/csv"),
    "parquet": ("Parquet", "application/vnd.apache.parquet"),
}
"""The name and media type of each kind of file."""
_LONGEST_NAME = 40


def show_downloads(answer: Answer, viewer: Viewer) -> None:
    """Draw a download button for each format. The file is created when the button is pressed, from the answer
    on the page."""
    name, count = _file_name(answer), len(answer.hits)
    page = get_script_run_ctx()
    session = page.session_id if page is not None else ""
    which = f"{count:,}" if answer.convincing else f"{count:,} nearest"
    with st.container(horizontal=True, width="content"):
        for kind, (called, mime) in _KINDS.items():
            st.download_button(
                f"{which} as {called}",
                partial(_made, answer, viewer, kind, session),
                f"{name}.{kind}",
                mime,
                key=f"download_{kind}",
                on_click="ignore",
                type="tertiary",
                icon=":material/download:",
                help=f"The {plural(count, 'passage')} shown here",
            )


def _made(answer: Answer, viewer: Viewer, kind: FileFormat, session: str) -> bytes:
    """Return the content of the file. Raises NotFound if another session requests it, or if the viewer may
    not see the stores any more.

    Without this check, Streamlit would create the file for any page that names its id.
    """
    if not session or current_session() != session:
        raise NotFound("These results are from another page.", "Search again.")
    now = viewer if viewer.is_owner else library().sharing.viewer_for(viewer.login)
    if now is None or not all(map(now.may_see, answer.stores)):
        raise NotFound("A store that was searched no longer exists.", "Search again.")
    match kind:
        case "json":
            return json_bytes(answers.Answer.of(answer))
        case "csv":
            return hits_csv(answer, viewer)
        case "parquet":
            return hit_table.parquet(answer.hits)


def _file_name(answer: Answer) -> str:
    """Return a file name with the words of the search. If the first rank is not 1, the name contains the
    rank."""
    words = re.sub(r"[\W_]+", "-", answer.query.raw)[:_LONGEST_NAME].strip("-")
    first = f"-from-{answer.offset + 1}" if answer.offset else ""
    return f"{words or 'passages'}{first}"
