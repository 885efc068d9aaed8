"""Runs the app in this process, reachable from this computer only, from any working directory."""

from __future__ import annotations

import errno
import importlib
import ipaddress
import os
import signal
import socket
import sys
import threading
import tomllib
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import streamlit as st
from streamlit import config

from rag_core.access import connection, is_loopback, log
from rag_core.config import load, logs
from rag_core.config.keys import PORT_FILE
from rag_core.errors import InvalidInput, RagError

APP_ROOT: Final = Path(__file__).resolve().parents[2]
STREAMLIT_LOGGERS: Final = (
    "streamlit.components.v2.bidi_component.serialization",
    "streamlit.error_util",
    "streamlit.runtime.app_session",
    "streamlit.runtime.backend_operation_handler",
    "streamlit.runtime.fragment",
    "streamlit.runtime.media_file_manager",
    "streamlit.runtime.runtime",
    "streamlit.runtime.scriptrunner.script_runner",
    "streamlit.runtime.state.query_params",
    "streamlit.runtime.state.session_state",
    "streamlit.runtime.state.session_state_proxy",
    "streamlit.runtime.websocket_session_manager",
    "streamlit.web.server.starlette.starlette_routes",
    "streamlit.web.server.starlette.starlette_websocket",
)
"""Loggers that record data sent by a client."""

_OPEN_FILES: Final = 8192
_NAMED_THEMES: Final = frozenset({"light", "dark", "sidebar"})


def serve(host: str, port: int, open_browser: bool) -> None:
    """Run the app until Ctrl-C or SIGTERM.

    Args:
        host: A loopback address or ``localhost``.
        port: 1 to 65535, or 0 for any free port; the printed address has the real port.
        open_browser: Whether to open the owner's browser once the app answers.

    Raises:
        InvalidInput: the host is not loopback, or the port is out of range.
        RagError: the port is taken or reserved, or the system refuses it.

    """
    address = _address(host, port)
    settings = load()
    logs.configure(settings.log_level)
    _refuse_busy(address, port)
    if str(APP_ROOT) not in sys.path:
        sys.path.insert(0, str(APP_ROOT))
    app: st.App = importlib.import_module("app").app

    place = settings.data_dir / PORT_FILE

    def announce() -> None:
        number = str(st.get_option("server.port"))
        url = f"http://{f'[{address}]' if ':' in address else address}:{number}"
        with suppress(OSError):  # a home folder that cannot be written
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(number, "utf-8")
        print(f"Commonplace is at {url}", flush=True)
        if open_browser:
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()

    app.state["on_ready"] = announce
    log.limit(STREAMLIT_LOGGERS)
    _allow_connections()
    connection.guard_connections(settings.body_timeout_s)
    os.environ["FORWARDED_ALLOW_IPS"] = ""  # uvicorn keeps the true peer, which the gate needs
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    options, level = project_config(settings.theme), settings.log_level
    options |= {
        "server.allowedHosts": [*options["server.allowedHosts"], *settings.access_hosts],
        "server.address": address,
        "server.port": port,
        "logger.hideWelcomeMessage": True,
        "logger.level": "info" if level == "debug" else level,  # its debug level logs what a browser sends
    }
    try:
        app.run(config=options)
    except KeyboardInterrupt:
        print()
    finally:
        with suppress(OSError):
            place.unlink()


def project_config(theme: str = "system") -> dict[str, Any]:
    """Return the options of .streamlit/config.toml by dotted name. With ``theme`` light or dark, only that
    theme's colours are included.

    Streamlit itself would look for the file next to the launcher and in the working directory.
    """
    options = tomllib.loads((APP_ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    if theme != "system":
        themes = options["theme"]
        options["theme"] = {name: value for name, value in themes.items() if name not in _NAMED_THEMES}
        options["theme"] |= {"base": theme, **themes[theme]}
    return dict(_dotted(options))


def follow_theme() -> None:
    """Apply the setting ``theme``, and run the page again if the theme has changed. Streamlit sends the
    colours to the browser at the beginning of each run."""
    with suppress(RagError):  # the page shows the error
        theme = load().theme
        # These sections stand for *system*. Streamlit also reads them from its file in the working directory.
        if ("system" if st.get_option("theme.light.primaryColor") else st.get_option("theme.base")) != theme:
            wanted = project_config(theme)
            for name in project_config() | project_config("light"):
                if name.startswith("theme."):
                    config.set_option(name, wanted.get(name))
            st.rerun()


def _dotted(options: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in options.items():
        if isinstance(value, dict) and (not prefix or name in _NAMED_THEMES):
            yield from _dotted(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _address(host: str, port: int) -> str:
    address = "127.0.0.1" if host == "localhost" else host.strip("[]")
    if not is_loopback(address):
        raise InvalidInput(
            f"Commonplace does not listen on {host!r}, because others could reach it there.",
            "Use 127.0.0.1. To share the app with other computers, run `commonplace share`.",
        )
    if not 0 <= port <= 65535:
        raise InvalidInput(f"Port {port!r} does not exist.", "Choose one from 1 to 65535, such as 8501.")
    return address


def _refuse_busy(address: str, port: int) -> None:
    family = socket.AF_INET6 if ipaddress.ip_address(address).version == 6 else socket.AF_INET
    with socket.socket(family) as probe:
        if sys.platform != "win32":  # on Windows this would also take a port that is in use
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            problem, step = {
                errno.EADDRINUSE: (
                    f"Port {port} is already in use.",
                    f"If that is Commonplace, open http://127.0.0.1:{port}; otherwise choose another --port"
                    " (`make run PORT=9000`).",
                ),
                errno.EACCES: (
                    f"Port {port} is reserved for the system.",
                    "Choose a port above 1023, such as 8501.",
                ),
            }.get(
                error.errno or 0, (f"Port {port} cannot be used: {error.strerror}.", "Choose another --port.")
            )
            raise RagError(problem, step) from error


def _allow_connections() -> None:
    """Raise the limit of open files. An open page needs four, so a few guests would use up the usual limits
    of 256 or 1024."""
    if sys.platform == "win32":  # has no such limit
        return
    import resource

    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if most == resource.RLIM_INFINITY else min(_OPEN_FILES, most)
    if now not in (resource.RLIM_INFINITY, wanted):
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(now, wanted), most))
