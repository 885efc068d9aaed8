"""Google's models that read pictures: Gemini with a key, Vertex AI with an account of Google Cloud."""

from __future__ import annotations

import base64
import re
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_core.errors import InvalidInput
from rag_core.installation import install_line
from rag_core.models.ocr import OcrOptions
from rag_core.models.server import Failure, Server, http_client, http_failures, retry_after_s

if TYPE_CHECKING:
    import httpx

_MOST_TOKENS = 8192  # including the tokens of a model's thoughts
_PNG = b"\x89PNG"
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_CONNECTION = "Check that this computer can reach it. The next run tries the pictures again."
_ENDED_WELL = ("STOP", "MAX_TOKENS")
_DELAY = re.compile(r"(\d+(?:\.\d+)?)s")


class GoogleModel:
    """An `ocr.VisionModel` of Google, at ``path`` of a server. ``access`` returns the headers with the key,
    which no error quotes."""

    def __init__(
        self, server: Server, path: str, access: Callable[[], dict[str, str]], options: OcrOptions
    ) -> None:
        self.server = server
        self._prompt = options.prompt
        self._path = path
        self._access = access
        self._client = http_client(server.url, read_s=options.timeout_s)
        weakref.finalize(self, self._client.close)

    def transcribe(self, picture: bytes) -> str:
        """Return the text in a PNG or JPEG, with a description if the settings ask for it. Raises Failure if
        the server fails or refuses, and InvalidInput if a setting or package is missing."""
        kind = "image/png" if picture.startswith(_PNG) else "image/jpeg"
        data = {"mimeType": kind, "data": base64.b64encode(picture).decode()}
        body = {
            "contents": [{"role": "user", "parts": [{"text": self._prompt}, {"inlineData": data}]}],
            "generationConfig": {"temperature": 0, "maxOutputTokens": _MOST_TOKENS},
        }
        access = self._access()
        with http_failures("its answer holds no text"):
            answer = self._client.post(f"{self.server.url}{self._path}", json=body, headers=access)
            if answer.status_code != 200:
                raise _failure(answer, [header.removeprefix("Bearer ") for header in access.values()])
            return _text(answer.json())


def _text(answer: dict[str, Any]) -> str:
    """Return the text in the JSON of an answer. Raises Failure if the model declines."""
    if reason := answer.get("promptFeedback", {}).get("blockReason"):
        raise Failure("refused", f"it blocks the picture ({str(reason)[:40]})")
    [candidate, *_] = answer["candidates"]
    reason = candidate.get("finishReason", "STOP")
    if reason not in _ENDED_WELL:
        raise Failure("refused", f"the model declines ({str(reason)[:40]})")
    parts = candidate.get("content", {}).get("parts", [])
    return "".join(str(part.get("text", "")) for part in parts if not part.get("thought"))


def _failure(answer: httpx.Response, secrets: list[str]) -> Failure:
    """Turn an error response into a Failure. Gemini answers a wrong key with status 400."""
    status = answer.status_code
    try:
        error = answer.json()["error"]
        message, details = str(error["message"]), list(error.get("details", []))
    except (ValueError, LookupError, TypeError):
        message, details = answer.text, []
    if status == 404:
        return Failure("no model")
    if any(isinstance(detail, dict) and detail.get("reason") == "API_KEY_INVALID" for detail in details):
        return Failure("no access", "the key is not valid")
    failure = Failure.of(status, message, *secrets, wait_s=_wait_s(answer, details))
    return Failure("too long", failure.reason) if status == 413 else failure


def _wait_s(answer: httpx.Response, details: list[Any]) -> float:
    """Return the seconds that the server asks to wait, in a header or in the error's details; 0 if it names
    none."""
    delays = (str(detail.get("retryDelay", "")) for detail in details if isinstance(detail, dict))
    told = [float(match[1]) for match in map(_DELAY.fullmatch, delays) if match]
    return max(retry_after_s(answer.headers), *told, 0.0)


def gemini(model: str, options: OcrOptions) -> GoogleModel:
    """Return a model of Gemini."""
    allow = "Check COMMONPLACE_GEMINI_API_KEY."
    server = _server("Gemini", options.gemini_url, allow, model, "gemini")

    def access() -> dict[str, str]:
        if not options.gemini_key:
            raise InvalidInput("Gemini needs a key.", "Set COMMONPLACE_GEMINI_API_KEY, best in .env.")
        return {"x-goog-api-key": options.gemini_key}

    return GoogleModel(server, f"/v1beta/models/{model}:generateContent", access, options)


def vertex(model: str, options: OcrOptions) -> GoogleModel:
    """Return a model of Vertex AI."""
    where = options.vertex_location
    host = "aiplatform.googleapis.com" if where == "global" else f"{where}-aiplatform.googleapis.com"
    allow = "Check `vertex_credentials_file` and the account's role (Vertex AI User)."
    server = _server("Vertex AI", options.vertex_url or f"https://{host}", allow, model, "vertex_ai")
    below = f"/v1/projects/{options.vertex_project}/locations/{where}"
    path = f"{below}/publishers/google/models/{model}:generateContent"
    return GoogleModel(server, path, _bearer(options), options)


def _server(name: str, url: str, allow: str, model: str, provider: str) -> Server:
    fetch = f"Choose another as `ocr`: {provider}:MODEL."
    return Server(name, url, _CONNECTION, allow, model, fetch, timeout="extractor_timeout_s")


def _bearer(options: OcrOptions) -> Callable[[], dict[str, str]]:
    """Return a function that returns the header with a valid token of the account."""
    credentials: Any = None

    def access() -> dict[str, str]:
        nonlocal credentials
        if not options.vertex_project:
            raise InvalidInput("Vertex AI needs a project of Google Cloud.", "Set `vertex_project`.")
        try:
            from google.auth import exceptions
            from google.auth.transport.requests import Request
        except ImportError:
            raise InvalidInput("Vertex AI needs google-auth.", f"Run {install_line('vertex')}.") from None
        try:
            credentials = credentials or _credentials(options.vertex_credentials)
            if not credentials.valid:
                credentials.refresh(Request())
        except exceptions.TransportError:
            raise Failure("away") from None
        except (exceptions.GoogleAuthError, OSError, ValueError) as error:
            raise Failure("no access", f"no token: {type(error).__name__}") from None
        return {"Authorization": f"Bearer {credentials.token}"}

    return access


def _credentials(file: Path | None) -> Any:
    """Return the account of a key file. Without a file, return the account that Google's own tools use."""
    import google.auth
    from google.oauth2 import service_account

    if file is None:
        return google.auth.default(scopes=[_SCOPE])[0]
    opened: Any = service_account.Credentials.from_service_account_file
    return opened(str(file), scopes=[_SCOPE])
