"""Using the Index page in a test: open it, press what is on it, read what it says."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from streamlit.testing.v1 import AppTest

from ui.folders import BOX as FOLDER

ROOT = Path(__file__).resolve().parent.parent


def page(**params: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "ui" / "shell.py"), default_timeout=20)
    app.switch_page("../pages/index.py")
    for name, value in params.items():
        app.query_params[name] = value
    return drawn(app.run())


def drawn(app: AppTest) -> AppTest:
    assert not app.exception, app.exception
    return app


def press(app: AppTest, key: str) -> AppTest:
    return drawn(app.button(key=key).click().run())


def texts(app: AppTest) -> str:
    kinds = (app.markdown, app.text, app.caption, app.error, app.warning, app.info, app.header)
    return "\n".join(str(element.value).replace("\\", "") for kind in kinds for element in kind)


def errors(app: AppTest) -> str:
    return "\n".join(str(error.value).replace("\\", "") for error in app.error)


def until(app: AppTest, wanted: Callable[[AppTest], bool], seconds: float = 20) -> AppTest:
    """Draw the page again and again, as its timer would, until ``wanted``."""
    end = time.monotonic() + seconds
    while not wanted(drawn(app.run())):
        assert time.monotonic() < end, texts(app)
        time.sleep(0.05)
    return app


def has_key(app: AppTest, key: str) -> bool:
    return any(button.key == key for button in app.button)


def with_folder(folder: Path) -> AppTest:
    return drawn(page().text_input(key=FOLDER).set_value(str(folder)).run())


def finished(app: AppTest) -> bool:
    return has_key(app, "index_again") and "** embedded" in texts(app)
