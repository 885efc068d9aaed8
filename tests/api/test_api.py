"""REST on the app's port, over the real server: what it answers and refuses its owner, and who that is."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jsonschema
import pytest

from rag_core.access.headers import security_headers
from rag_core.api.openapi import document
from rag_core.cli import main
from rag_core.config import Settings
from rag_core.library import Library
from rag_core.types import OWNER
from tests.conftest import index
from tests.support.documents_made import pdf
from tests.support.live import ROOT, Server, start
from tests.support.rest import Response, Rest
from tests.support.trees import write
from ui.frame.front import front_page

NOTES = {
    "harbour.md": "# Harbour\n\nThe harbour opens at six, see [[Tea]].\n",
    "below/tea.md": "---\ntags: [drink]\nprivate: true\n---\n# Tea\n\nThree minutes.\n",
    "a:b & ü?#%.md": "# Odd\n\nIts name is odd.\n",
    "photo.bin": "\x00\x01" * 200,
}
SECRET_WORD = "zanzibar"
PROXY = {"Host": "home.tail.ts.net", "X-Forwarded-For": "100.64.0.7", "Tailscale-User-Login": "me@example"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rest") / "home"


@pytest.fixture(scope="module")
def library(home: Path) -> Iterator[Library]:
    notes = home.parent / "notes"
    write(notes, NOTES)
    opened = Library.open(Settings(home / "data", home / "data" / "models", (home.parent,)))
    index(opened, "notes", notes)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def live(home: Path, library: Library) -> Iterator[Server]:
    folder = home.parent / "server"
    folder.mkdir()
    with start(folder, COMMONPLACE_HOME=str(home)) as running:
        yield running


@pytest.fixture
def api(live: Server) -> Iterator[Rest]:
    """The interface of the shared server; its log is shown with a failing test."""
    yield Rest(live.port)
    print(live.log)


# --- answers ----------------------------------------------------------------------------


def timeless(value: Any) -> Any:
    """Without what is not the same twice."""
    if isinstance(value, dict):
        return {
            name: timeless(each) for name, each in value.items() if name not in ("query_time_ms", "timestamp")
        }
    return [timeless(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("status", "/status"),
        ("store list", "/stores"),
        ("store info notes", "/stores/notes"),
        ("list", "/documents?store=notes"),
        ("show below/tea.md", "/documents/notes/below/tea.md"),
    ],
)
def test_an_answer_is_that_of_the_command_line(
    api: Rest,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    path: str,
) -> None:
    monkeypatch.setenv("COMMONPLACE_HOME", str(home))
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), "--json"])
    assert ended.value.code == 0
    answer = api.get(path)
    assert (answer.status, answer.json) == (200, json.loads(capsys.readouterr().out))


def test_a_search_is_that_of_the_command_line(
    api: Rest, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COMMONPLACE_HOME", str(home))
    with pytest.raises(SystemExit):
        main(
            ["query", "minutes harbour", "--top-k", "2", "--mode", "lexical", "--filter", "type=md", "--json"]
        )
    body = {"query": "minutes harbour", "top_k": 2, "mode": "lexical", "filters": {"type": "md"}}
    answer = api.post("/search", body)
    assert answer.status == 200
    assert timeless(answer.json) == timeless(json.loads(capsys.readouterr().out))
    assert len(answer.json["results"]) == 2


def test_a_documents_name_may_hold_what_an_address_means_otherwise(api: Rest) -> None:
    answer = api.get(f"/documents/notes/{quote('a:b & ü?#%.md')}")
    assert (answer.status, answer.json["title"]) == (200, "Odd")


def test_an_answer_is_kept_by_no_cache_and_read_by_no_other_origin(api: Rest) -> None:
    answer = api.get("/stores")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-type"] == "application/json"
    assert not [name for name in answer.headers if name.startswith("access-control")]
    assert {name: answer.headers.get(name) for name in security_headers(front_page())} == security_headers(
        front_page()
    )


# --- refusals ---------------------------------------------------------------------------

BAD_BODIES: dict[str, tuple[Any, str]] = {
    "not an object": ([1], "The request: [1] cannot be used. Input should be a valid dictionary."),
    "text is a number": ({"query": 7}, "query: 7 cannot be used."),
    "empty": ({"query": " "}, "query: The query is empty."),
    "unknown field": ({"query": "x", "topk": 3}, "topk: There is no such field. Did you mean top_k?"),
    "none": ({"query": "x", "top_k": 0}, "top_k: 0 cannot be used. Input should be "),
    "too many": ({"query": "x", "top_k": 1001}, "top_k: 1001 "),
    "true is no number": ({"query": "x", "top_k": True}, "top_k: true "),
    "too deep": ({"query": "x", "offset": 999, "top_k": 2}, "offset is 999."),
    "mode": ({"query": "x", "mode": "magic"}, 'mode: "magic" cannot be used. Input should be'),
    "no store": ({"query": "x", "stores": ["nine"]}, "stores: There is no store called 'nine'."),
    "no store in the query": ({"query": "x store:nine"}, "query: There is no store called 'nine'."),
    "filter": ({"query": "x", "filters": {"tga": "a"}}, "filters.tga: There is no such field. Did you mean "),
    "day": ({"query": "x", "filters": {"before": "2026-13"}}, "filters: '2026-13' is not a date"),
    "too many filters": ({"query": "x", "filters": {"tag": ["a"] * 101}}, "filters.tag: "),
    "half a character": ({"query": "\ud800"}, "query: "),
}


@pytest.mark.parametrize(("body", "said"), BAD_BODIES.values(), ids=BAD_BODIES)
def test_a_bad_body_is_refused_with_its_field(api: Rest, body: Any, said: str) -> None:
    answer = api.post("/search", body)
    assert answer.status == 400
    assert answer.error.startswith(said)


BAD_QUESTIONS: dict[str, tuple[Any, str]] = {
    "nothing asked": ({}, "question: It is missing."),
    "blank": ({"question": " "}, "question: There is no question."),
    "too many": ({"question": "x", "k": 21}, "k: 21 cannot be used. Input should be "),
    "no store": ({"question": "x", "vaults": ["nine"]}, "vaults: There is no store called 'nine'."),
    "history": ({"question": "x", "history": [{"question": "y", "answer": "z"}]}, "history[0].private: "),
}


@pytest.mark.parametrize(("body", "said"), BAD_QUESTIONS.values(), ids=BAD_QUESTIONS)
def test_a_bad_question_is_refused_with_its_field(api: Rest, body: Any, said: str) -> None:
    answer = api.post("/ask", body)
    assert answer.status == 400
    assert answer.error.startswith(said)


def test_a_query_may_hold_what_steers_a_terminal_or_a_database(api: Rest) -> None:
    answer = api.post("/search", {"query": "harbour\x00\x1b[2J' OR 1=1 --"})
    assert answer.status == 200
    assert "\x1b" not in answer.body


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/nothing", 404, "There is nothing here."),
        ("/stores/nine", 404, "There is no store called 'nine'."),
        ("/documents/notes/nine.md", 404, "Store 'notes' has no file 'nine.md'."),
        ("/documents/notes/%2Fetc%2Fpasswd", 404, "Store 'notes' has no file"),
        ("/documents?store=nine", 400, "store: There is no store called 'nine'."),
        ("/documents?store=notes&store=notes", 400, "store: It is sent twice."),
        ("/documents?store=notes&state=lost", 400, 'state[0]: "lost" cannot be used.'),
        ("/status?all=1", 400, "all: There is no such field."),
    ],
)
def test_a_bad_address_is_refused(api: Rest, path: str, status: int, said: str) -> None:
    answer = api.get(path)
    assert answer.status == status
    assert answer.error.startswith(said)


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/search"), ("POST", "/stores"), ("DELETE", "/stores/notes"), ("PUT", "/ask")],
)
def test_another_method_is_refused_with_those_there_are(api: Rest, method: str, path: str) -> None:
    answer = api.send(method, path, None, {})
    assert answer.status == 405
    assert answer.headers["allow"]
    assert answer.error


@pytest.mark.parametrize(
    "kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
)
def test_a_body_of_another_kind_is_refused(api: Rest, kind: str) -> None:
    answer = api.post("/search", {"query": "x"}, Content_Type=kind)
    assert answer.status == 415
    assert "application/json" in answer.error


def test_json_may_say_its_alphabet(api: Rest) -> None:
    assert api.post("/search", {"query": "x"}, Content_Type="Application/JSON; charset=UTF-8").status == 200


# --- who asks ---------------------------------------------------------------------------


@pytest.fixture
def token(library: Library) -> Iterator[str]:
    yield library.sharing.create_token(OWNER, "script").token
    if library.sharing.tokens(OWNER):
        library.sharing.revoke_token(OWNER, "script")


def bearing(token: str, **headers: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", **headers}


@pytest.mark.parametrize("way", [{}, PROXY], ids=["here", "through a proxy"])
def test_a_token_opens_the_interface(api: Rest, token: str, way: dict[str, str]) -> None:
    answer = api.get("/stores", **bearing(token, **way))
    assert answer.status == 200
    assert answer.json["stores"][0]["size_bytes"] > 0, "who sends it is the owner"


@pytest.mark.parametrize("way", [{}, PROXY], ids=["here", "through a proxy"])
def test_a_revoked_token_opens_nothing(api: Rest, library: Library, token: str, way: dict[str, str]) -> None:
    library.sharing.revoke_token(OWNER, "script")
    answer = api.get("/stores", **bearing(token, **way))
    assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert "commonplace token create" in answer.error


def test_a_token_without_its_first_word_is_told_to_lack_it(api: Rest, token: str) -> None:
    assert "Authorization: Bearer TOKEN" in api.get("/stores", Authorization=token).error
    assert "commonplace token create" in api.get("/stores", Authorization=f"Bearer {token}x").error


@pytest.mark.posix
def test_a_token_is_kept_as_a_hash_in_a_file_of_the_owners_alone(home: Path, token: str) -> None:
    file = home / "data" / "state.db"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with sqlite3.connect(file) as db:
        kept = " ".join(map(str, db.execute("SELECT * FROM tokens").fetchone()))
    db.close()
    assert token not in kept
    assert token.partition("_")[2] not in kept


def test_tokens_that_cannot_be_read_open_nothing(api: Rest, home: Path, token: str) -> None:
    file = home / "data" / "state.db"
    sound = file.read_bytes()
    file.write_bytes(b"no database" * 1000)
    try:
        answer = api.get("/stores", **bearing(token))
        assert answer.status == 500
        assert str(home) not in answer.error
        assert api.get("/stores").status == 200, "nobody else needs them"
    finally:
        file.write_bytes(sound)


# --- what is told to nobody -------------------------------------------------------------


def test_no_query_no_token_and_no_address_is_logged(api: Rest, live: Server, token: str) -> None:
    for body in (
        {"query": SECRET_WORD},
        {"query": f"{SECRET_WORD} after:never"},
        {"query": SECRET_WORD, "stores": [SECRET_WORD]},
        {"question": SECRET_WORD},
        f'{{"query": "{SECRET_WORD}'.encode(),
    ):
        api.post("/search", body)
        api.post("/ask", body)
    api.get(f"/documents/notes/{SECRET_WORD}.md")
    api.get("/stores", Authorization=f"Bearer {SECRET_WORD}")
    api.get("/stores", **bearing(token))
    assert SECRET_WORD not in live.log
    assert token not in live.log
    assert "/api/" not in live.log


# --- the document -----------------------------------------------------------------------


def test_the_document_is_served(api: Rest) -> None:
    answer = api.get("/openapi.json")
    assert answer.json == document()
    assert answer.json["openapi"].startswith("3.1")


def strict(schema: Any) -> Any:
    """A schema that lets no property pass which it does not name."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: strict(each) for name, each in schema.items()}
    return {"additionalProperties": False, **made} if "properties" in made and "type" in made else made


@pytest.mark.parametrize(
    ("schema", "path", "body"),
    [
        ("Answer", "/search", {"query": "the harbour minutes"}),
        ("Status", "/status", None),
        ("Stores", "/stores", None),
        ("Store", "/stores/notes", None),
        ("Files", "/documents?store=notes", None),
        ("Document", "/documents/notes/harbour.md", None),
        ("Error", "/nothing", None),
    ],
)
def test_an_answer_holds_what_the_document_says_and_nothing_else(
    api: Rest, schema: str, path: str, body: Any
) -> None:
    answer: Response = api.get(path) if body is None else api.post(path, body)
    shapes = {"components": {"schemas": strict(document()["components"]["schemas"])}}
    jsonschema.validate(answer.json, {"$ref": f"#/components/schemas/{schema}", **shapes})


@pytest.fixture
def album(library: Library, tmp_path: Path) -> Iterator[None]:
    """A store with a document that has pages."""
    (tmp_path / "tea.pdf").write_bytes(pdf("Green tea"))
    index(library, "album", tmp_path)
    yield
    library.stores.delete(OWNER, "album")


@pytest.mark.usefixtures("album")
def test_generated_requests_find_no_fault_and_no_mismatch(live: Server, tmp_path: Path) -> None:
    """It is not asked that all valid ones are accepted: no schema says which stores and dates there are."""
    command = [
        "run", f"http://127.0.0.1:{live.port}/api/v1/openapi.json", "--seed", "1", "--max-examples", "12",
        "--exclude-checks", "positive_data_acceptance", "--no-color",
    ]  # fmt: skip
    refusals = "negative_data_rejection.expected-statuses = [400, 401, 403, 404, 405, 413, 415]"
    (tmp_path / "schemathesis.toml").write_text(f"[checks]\n{refusals}\n", "utf-8")
    hooks = {"SCHEMATHESIS_HOOKS": "tests.api.generated_requests", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "schemathesis.cli", *command],
        cwd=tmp_path,
        env={**os.environ, **hooks},
        encoding="utf-8",
        capture_output=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Tested: 9" in done.stdout
    assert "Missing test data" not in done.stdout, "every operation was asked for something that is there"
