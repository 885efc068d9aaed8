"""ASGI entry: the Streamlit app, REST and MCP on one port, behind the check of access (`AccessGate`).

``commonplace serve`` runs it (`ui.frame.serve`). ``streamlit run app.py`` works too, but then only the owner
can open the app.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import streamlit as st  # noqa: E402
from starlette.middleware import Middleware  # noqa: E402

from rag_core.access import AccessGate, Programs, SecurityHeaders, Visits, viewer_of  # noqa: E402
from rag_core.api.app import picture_workers, rest  # noqa: E402
from rag_core.api.mcp.http import McpDoor  # noqa: E402
from rag_core.errors import RagError  # noqa: E402
from rag_core.library import Library  # noqa: E402
from rag_core.library.asking import stop_answers  # noqa: E402
from rag_core.running import background, watching  # noqa: E402
from rag_core.types import OWNER, Viewer  # noqa: E402
from ui.frame import work  # noqa: E402
from ui.frame.ending import at_the_end  # noqa: E402
from ui.frame.front import front_page, page_routes  # noqa: E402
from ui.frame.streamlit_messages import STREAMLIT  # noqa: E402
from ui.reader.pictures import picture_route  # noqa: E402

NOT_SERVED = (
    "Only you can open the app, on this computer. To let others in, start it with `commonplace serve`."
)
_A_WHILE_S = 2.0  # seconds until the first page is drawn


@asynccontextmanager
async def lifespan(app: st.App) -> AsyncIterator[None]:
    """Announce that the app is up (by the function ``on_ready`` of `ui.frame.serve`, if it is set) and resume
    interrupted runs. When the app ends, interrupt running work."""
    on_ready = app.state.get("on_ready")
    if on_ready is not None:
        on_ready()
    else:
        print(NOT_SERVED, flush=True)
    ending = threading.Event()
    threading.Thread(target=prepare, args=(ending,), daemon=True).start()
    try:
        with at_the_end(end_requests):
            yield
    finally:
        ending.set()
        await assistants.close()
        await visits.write()
        await asyncio.to_thread(work.cancel_all)
        await asyncio.to_thread(stop_runs)


def prepare(ending: threading.Event) -> None:
    """Load stores and models, so that the first search is fast, resume runs, and prepare the Files page.
    Then, until ``ending``, send what remote vector indexes could not accept before."""
    from ui.files.file_table import load_ahead
    from ui.frame.deps import library, meaning_is_loading  # only now: its caches want a running server

    with suppress(RagError):  # a store that cannot be read is the page's to report
        meaning_is_loading(OWNER)
    with suppress(RagError):
        background.resume_all(library(), OWNER)
        threading.Thread(target=keep_up_to_date, args=(library(), ending), daemon=True).start()
    if not ending.wait(_A_WHILE_S):
        with suppress(RagError):
            load_ahead(OWNER)
        gc.collect()
        gc.freeze()  # loaded objects stay: searching them for garbage takes a tenth of a second of a page
    while not ending.wait(background.SEND_EVERY_S):
        with suppress(RagError):
            background.send_backlogs(library(), OWNER)


def keep_up_to_date(own: Library, ending: threading.Event) -> None:
    """Read files that changed before the start (setting ``scan_on_start``), and then files as soon as they
    change (setting ``watch``), until ``ending`` is set."""
    if own.settings.scan_on_start and not own.settings.watch:  # `watch_files` begins with it
        watching.request_changes(own, OWNER, partial(background.go_on, own, OWNER))
    while not ending.is_set():
        following, stop = own, threading.Event()
        watcher = threading.Thread(target=watch_files, args=(own, stop), daemon=True)
        if own.settings.watch:
            watcher.start()
        while following is own and not ending.wait(watching.LOOK_S):
            with suppress(RagError):  # the pages say what is wrong in config.yaml
                following = library()
        stop.set()
        if own.settings.watch:
            watcher.join()
        own = following


def watch_files(own: Library, stop: threading.Event) -> None:
    """Start a run for each change in the folders of a library, until ``stop`` is set."""
    begin = partial(background.go_on, own, OWNER)
    watching.watch(own, OWNER, stop, begin, scan_first=own.settings.scan_on_start)


def end_requests() -> None:
    """Stop the work for requests that wait for an answer or a picture."""
    stop_answers()
    pictures.end()


def stop_runs() -> None:
    """Interrupt the running jobs, and print which of them continue at the next start."""
    for store in background.stop_all():
        with suppress(RagError):
            if library().jobs.requested(OWNER, store):
                with suppress(OSError):  # nothing may read the output any more
                    print(f"Indexing of store {store!r} continues when the app starts again.", flush=True)


def library() -> Library:
    """Return the library of this process, which the pages also use."""
    from ui.frame import deps  # only now, as in `prepare`

    return deps.library()


def viewer_of_request(headers: Mapping[str, str]) -> Viewer | None:
    """Return the viewer of a request to REST or MCP; None without access. Raises RagError if the list of
    people with access cannot be read."""
    return viewer_of(headers, library)


visits = Visits(library)
pictures = picture_workers()
assistants = McpDoor(library, viewer_of_request)

# Streamlit finds the app by reading this assignment. The outermost middleware comes first.
app = st.App(
    ROOT / "ui" / "frame" / "shell.py",
    routes=[picture_route(library, pictures), *page_routes()],
    middleware=[
        Middleware(SecurityHeaders, page=front_page()),
        Middleware(
            AccessGate,
            library=library,
            visits=visits,
            messages=STREAMLIT,
            address=lambda: st.get_option("server.address"),
        ),
        Middleware(Programs, routes=[rest(library, viewer_of_request, pictures), *assistants.routes()]),
    ],
    lifespan=lifespan,
)
