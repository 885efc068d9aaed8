"""Pictures read by models on servers: over HTTP, with every refusal that the real ones give."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from rag_core.config import Settings
from rag_core.extract import TIME_LIMIT_S
from rag_core.extract.ocr import NotRead, Waits
from rag_core.installation import install_line
from rag_core.library import Library
from rag_core.models import OcrOptions, ocr, open_ocr
from rag_core.types import OWNER, Job
from tests.conftest import index
from tests.extract.eyes import SEEN, GoogleServer, OllamaEyes, account, refused
from tests.extract.test_ocr import packed, picture
from tests.support.standin import Refusal, nobody, serving

PNG = packed(picture("NOT THESE WORDS"), "PNG")


@pytest.fixture
def google() -> Iterator[GoogleServer]:
    with serving(GoogleServer()) as running:
        yield running


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[OllamaEyes]:
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    with serving(OllamaEyes()) as running:
        yield running


def reading(name: str, **options: Any) -> ocr.RemoteOcr:
    opened = open_ocr(name, OcrOptions(retry_s=0.0, timeout_s=5.0, **options))
    assert opened
    return opened


def gemini(google: GoogleServer, name: str = "gemini", key: str = "a-right-key") -> ocr.RemoteOcr:
    return reading(name, gemini_url=google.url, gemini_key=key)


# --- one picture ------------------------------------------------------------------------


def test_gemini_reads_a_picture(google: GoogleServer) -> None:
    assert gemini(google).read(PNG) == SEEN
    assert google.seen == [(900, 200)]
    assert gemini(google).name == "gemini:gemini-2.5-flash"


def test_ollama_reads_a_picture(ollama: OllamaEyes) -> None:
    assert reading("ollama:eyes", ollama_url=ollama.url).read(PNG) == SEEN


def test_vertex_reads_a_picture_for_a_service_account(google: GoogleServer, tmp_path: Path) -> None:
    pytest.importorskip("google.auth")
    file = account(tmp_path, google.url)
    reader = reading("vertex_ai", vertex_url=google.url, vertex_project="tea-1", vertex_credentials=file)
    assert [reader.read(PNG), reader.read(PNG)] == [SEEN, SEEN]
    assert len(google.bodies("/token")) == 1, "a token is used until it expires"
    google.token = "another"
    with pytest.raises(Waits, match="refuses access"):
        reader.read(PNG)


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ({"vertex_project": ""}, "Set `vertex_project`"),
        ({"vertex_credentials": Path("/nowhere/key.json")}, "refuses access"),
    ],
)
def test_what_vertex_lacks_is_named(missing: dict[str, Any], said: str) -> None:
    pytest.importorskip("google.auth")
    with pytest.raises(Waits, match=said):
        reading("vertex_ai", **{"vertex_project": "tea-1", "vertex_url": nobody(), **missing}).read(PNG)


def test_without_googles_package_its_install_line_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "google.auth", None)
    with pytest.raises(Waits, match=re.escape(install_line("vertex"))):
        reading("vertex_ai", vertex_project="tea-1").read(PNG)


def test_an_empty_answer_is_no_text(google: GoogleServer) -> None:
    google.says = ""
    assert gemini(google).read(PNG) == ""


def test_a_fence_around_everything_is_left_out(google: GoogleServer) -> None:
    google.says = f"```text\n{SEEN}\n```"
    assert gemini(google).read(PNG) == SEEN


def test_a_large_picture_is_sent_as_jpeg_within_the_servers_limit(google: GoogleServer) -> None:
    noise = Image.effect_noise((3000, 3000), 90).convert("RGB")
    from rag_core.extract.ocr import _packed

    assert gemini(google).read(_packed(noise)) == SEEN


# --- refusals ---------------------------------------------------------------------------

WAITS = {
    "a wrong key": (Refusal(200, {}), "a-wrong-key", "gemini", "refuses access"),
    "no key": (Refusal(200, {}), "", "gemini", "COMMONPLACE_GEMINI_API_KEY"),
    "an unknown model": (Refusal(200, {}), "a-right-key", "gemini:other", "does not have the model 'other'"),
    "no rights": (refused(403, "PERMISSION_DENIED", "no"), "a-right-key", "gemini", "refuses access"),
    "a login": (refused(401, "UNAUTHENTICATED", "no"), "a-right-key", "gemini", "refuses access"),
    "its fault": (refused(500, "INTERNAL", "An internal error."), "a-right-key", "gemini", "failed"),
    "hanging up": (Refusal(0, ""), "a-right-key", "gemini", "hung up|crashes"),
    "another page": (Refusal(302, "", Location="/x"), "a-right-key", "gemini", "redirects"),
    "no JSON": (Refusal(200, "<html>"), "a-right-key", "gemini", "holds no text"),
}


@pytest.mark.parametrize("case", WAITS)
def test_where_the_server_is_at_fault_pictures_wait(google: GoogleServer, case: str) -> None:
    fault, key, model, said = WAITS[case]
    if fault.status != 200 or fault.body:
        google.fail(":generateContent", fault)
    reader = gemini(google, model, key)
    with pytest.raises(Waits, match=said) as why:
        reader.read(PNG)
    asked = len(google.asked)
    with pytest.raises(Waits):
        reader.read(PNG)
    assert len(google.asked) == asked, "it is left alone for a while"
    assert not key or key not in str(why.value)


def test_a_server_that_is_not_there_lets_pictures_wait() -> None:
    for reader in (
        reading("gemini", gemini_url=nobody(), gemini_key="k" * 20),
        reading("ollama:eyes", ollama_url=nobody()),
    ):
        with pytest.raises(Waits, match="is not running"):
            reader.read(PNG)


def test_a_busy_server_is_asked_again_when_it_says(
    google: GoogleServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(ocr.time, "sleep", waited.append)
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"}
    busy = refused(429, "RESOURCE_EXHAUSTED", "Quota exceeded.", retry)
    google.fail(":generateContent", busy, refused(503, "UNAVAILABLE", "Overloaded.", Retry_After="3"))
    assert gemini(google).read(PNG) == SEEN
    assert waited == [7.0, 3.0]
    google.fail(":generateContent", *[busy] * 3)
    with pytest.raises(Waits, match="too busy"):
        gemini(google).read(PNG)


@pytest.mark.parametrize("finish", ["SAFETY", "RECITATION", "blocked"])
def test_a_picture_that_the_model_declines_is_not_tried_again(google: GoogleServer, finish: str) -> None:
    google.finish = finish
    reader = gemini(google)
    with pytest.raises(NotRead, match="refuses"):
        reader.read(PNG)
    google.finish = "STOP"
    assert reader.read(PNG) == SEEN, "the next one is"


def test_a_picture_that_is_too_large_is_told(google: GoogleServer) -> None:
    google.most = 10
    with pytest.raises(NotRead, match="finds a picture too large"):
        gemini(google).read(PNG)


@pytest.mark.parametrize(("model", "said"), [("blind", "sees no pictures"), ("gone", "ollama pull gone")])
def test_a_model_that_sees_nothing_makes_nothing_up(ollama: OllamaEyes, model: str, said: str) -> None:
    with pytest.raises(Waits, match=said):
        reading(f"ollama:{model}", ollama_url=ollama.url).read(PNG)


# --- in a store -------------------------------------------------------------------------


@contextmanager
def library_with(folder: Path, **settings: Any) -> Iterator[Library]:
    opened = Library.open(Settings(folder / "data", folder / "models", (), **settings))
    yield opened
    opened.close()


def found(library: Library, text: str = "boarding gate") -> list[str]:
    return [hit.document.path for hit in library.search(OWNER, text, mode="lexical").hits if hit.relevant]


def run(library: Library) -> Job:
    job = library.index(OWNER, "s")
    assert job
    return job


def test_a_picture_is_found_by_what_the_model_read(tmp_path: Path, notes: Path, ollama: OllamaEyes) -> None:
    (notes / "pass.png").write_bytes(PNG)
    with library_with(tmp_path, ocr="ollama:eyes", ollama_url=ollama.url) as library:
        index(library, "s", notes)
        assert found(library) == ["pass.png"]
        (notes / "copy.png").write_bytes(PNG)
        run(library)
        assert len(ollama.bodies("/api/chat")) == 1, "equal pictures are read once"


def test_a_server_that_is_down_costs_nothing_but_time(
    tmp_path: Path, notes: Path, ollama: OllamaEyes
) -> None:
    (notes / "pass.png").write_bytes(PNG)
    ollama.fail("/api/chat", *[Refusal(503, {"error": "server busy"})] * 3)
    with library_with(tmp_path, ocr="ollama:eyes", ollama_url=ollama.url) as library:
        job = index(library, "s", notes)
        assert (job.failed, job.succeeded) == (0, 1)
        assert "not read yet" in job.message
        assert found(library) == []
        [warning] = library.documents.get(OWNER, "s", "pass.png").warnings
        assert "too busy" in warning
        run(library)
        assert found(library) == ["pass.png"]
        assert library.documents.get(OWNER, "s", "pass.png").warnings == ()
        assert run(library).counts.get("unchanged") == 1, "then it is settled"


@pytest.mark.parametrize("files", ["**/*.png", "**/*.md"])
def test_a_run_that_is_stopped_waits_for_no_server(
    tmp_path: Path, notes: Path, ollama: OllamaEyes, files: str
) -> None:
    ollama.goes_on.clear()
    (notes / "pass.png").write_bytes(PNG)
    (notes / "trip.md").write_text("![[pass.png]]", "utf-8")
    with library_with(tmp_path, ocr="ollama:eyes", ollama_url=ollama.url) as library:
        library.create_store(OWNER, "s", "hashing")
        library.add_source(OWNER, "s", notes, [files])
        library.jobs.request(OWNER, "s")
        before = time.monotonic()
        job = library.jobs.run(OWNER, "s", stop=lambda: bool(ollama.bodies("/api/chat")))
        assert time.monotonic() - before < TIME_LIMIT_S
        ollama.goes_on.set()
        assert job
        assert (job.state, job.failed) == ("interrupted", 0)
        assert run(library).state == "done"
        assert found(library) == [files.replace("**/*", "pass" if "png" in files else "trip")]


def test_a_picture_that_is_declined_says_so_and_is_settled(
    tmp_path: Path, notes: Path, ollama: OllamaEyes
) -> None:
    (notes / "pass.png").write_bytes(PNG)
    ollama.fail("/api/chat", Refusal(400, {"error": "unsupported image"}))
    with library_with(tmp_path, ocr="ollama:eyes", ollama_url=ollama.url) as library:
        index(library, "s", notes)
        assert "refuses" in library.documents.get(OWNER, "s", "pass.png").warnings[1]
        assert run(library).counts.get("unchanged") == 1


def test_pictures_leave_the_computer_only_for_stores_that_allow_it(
    tmp_path: Path, notes: Path, google: GoogleServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ocr, "leaves", bool)  # the stand-in is elsewhere
    (notes / "pass.png").write_bytes(PNG)
    (notes / "secret.png").write_bytes(packed(picture("MY SECRET"), "PNG"))
    known = {"ocr": "gemini", "gemini_base_url": google.url, "gemini_api_key": "a-right-key"}
    with library_with(tmp_path / "a", **known) as library:
        index(library, "s", notes)
        assert google.asked == []
    with library_with(tmp_path / "b", ocr_stores=["s"], **known) as library:
        library.create_store(OWNER, "s", "hashing")
        library.privacy.set(OWNER, "s", ["secret.png"])
        index(library, "s", notes)
        assert found(library) == ["pass.png"]
        assert len(google.seen) == 1, "the private one stays here"
