"""What docs/api.md shows is what the running app answers."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from rag_core.api.openapi import API_PREFIX, document
from rag_core.config import Settings
from rag_core.library import Library
from rag_core.types import OWNER
from tests.conftest import index
from tests.docs.doc_pages import ROOT, commands
from tests.support.live import start
from tests.support.rest import Response, Rest
from tests.support.trees import write

PAGE = ROOT / "docs" / "api.md"
CURLS = [command.text for command in commands(PAGE) if command.text.startswith("curl ")]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Rest, str]]:
    """The interface as a reader of the page finds it, and a token."""
    home = tmp_path_factory.mktemp("docs-api")
    write(
        home / "notes",
        {"tea.md": "# Tea\n\nGreen.\n", "work/queue.md": "# Queue\n\nWhich queue did we choose? A retry.\n"},
    )
    library = Library.open(Settings(home / "data", home / "models", (home,)))
    index(library, "notes", home / "notes")
    token = library.sharing.create_token(OWNER, "docs").token
    library.close()
    (home / "server").mkdir()
    with start(home / "server", COMMONPLACE_HOME=str(home)) as running:
        yield Rest(running.port), token


def curl(api: Rest, command: str, token: str) -> Response:
    """What curl would get."""
    words = shlex.split(command.replace("\\\n", ""))[1:]
    headers: dict[str, str] = {}
    body, url = None, ""
    while words:
        match words.pop(0):
            case "-H":
                name, _, value = words.pop(0).partition(":")
                headers[name] = value.strip().replace("$TOKEN", token)
            case "--json":
                body = words.pop(0).encode()
                headers = {"Content-Type": "application/json", "Accept": "application/json"} | headers
            case "-N":
                pass
            case given:
                url = given
    parts = urlsplit(url)
    assert parts.path.startswith(API_PREFIX)
    if parts.hostname != "127.0.0.1":
        headers |= {"Host": parts.netloc, "X-Forwarded-For": "100.64.0.7"}
    path = parts.path.removeprefix(API_PREFIX) + (f"?{parts.query}" if parts.query else "")
    return api.send("POST" if body else "GET", path, body, headers)


@pytest.mark.parametrize("command", CURLS, ids=range(len(CURLS)))
def test_the_requests_of_the_page_are_answered(api: tuple[Rest, str], command: str) -> None:
    answer = curl(api[0], command, api[1])
    if "event-stream" in command:
        assert "event: reply" in answer.body
    else:
        assert answer.status == 200, answer.body
        assert answer.json


def test_the_page_names_every_address_and_every_field_and_no_others() -> None:
    page = PAGE.read_text("utf-8")
    named = set(re.findall(r"`(?:GET|POST) /api/v1(/[^`?]*)", page))
    assert named == set(document()["paths"])
    for operations in document()["paths"].values():
        for operation in operations.values():
            body = (
                operation.get("requestBody", {})
                .get("content", {})
                .get("application/json", {})
                .get("schema", {})
            )
            names = [*body.get("properties", ()), *(each["name"] for each in operation.get("parameters", ()))]
            assert [name for name in names if not re.search(rf"\b{name}\b", page)] == []
