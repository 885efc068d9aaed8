"""Stand-ins for Ollama, Gemini and Vertex AI with models that see pictures, as strict as the real ones."""

from __future__ import annotations

import base64
import binascii
import io
import json
import re
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image

from rag_core.models.ocr import PROMPT
from tests.support.ollama_server import Model, OllamaServer
from tests.support.standin import Asked, Refusal, StandIn

SEEN = "Boarding pass of Ada\nGate B12"
_PARTS = {"text", "inlineData"}
_CONFIG = {"temperature", "maxOutputTokens"}


def picture_in(data: Any, most: int) -> Image.Image:
    """The picture that was sent in base64. Raises Refusal."""
    try:
        raw = base64.b64decode(data, validate=True)
        opened = Image.open(io.BytesIO(raw))
        opened.load()
    except (TypeError, binascii.Error, OSError):
        raise Refusal(400, {"error": "illegal base64 data or image"}) from None
    if len(raw) > most:
        raise Refusal(413, {"error": {"code": 413, "message": "Request payload is too large."}})
    return opened


@dataclass
class OllamaEyes(OllamaServer):
    """Ollama with a model that sees, and one that does not."""

    says: str = SEEN
    prompt: str = PROMPT
    goes_on: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.goes_on.set()
        self.models["eyes:latest"] = Model("mllama", 4096, 131072, capabilities=("completion", "vision"))
        self.models["blind:latest"] = Model("llama", 4096, 131072, capabilities=("completion",))

    def answer(self, asked: Asked) -> Any:
        if (asked.method, asked.path) != ("POST", "/api/chat"):
            return super().answer(asked)
        name = self._named(asked.body)
        [message] = asked.body["messages"]
        assert asked.body["stream"] is False
        assert message["content"] == self.prompt
        for each in message["images"]:
            picture_in(each, 10**8)
        self.goes_on.wait()
        can = "vision" in self.models[name].capabilities
        said = self.says if can else "A fine day at the sea."
        return {"model": name, "message": {"role": "assistant", "content": said}, "done": True}


@dataclass
class GoogleServer(StandIn):
    """Gemini below /v1beta and Vertex AI below /v1. ``most`` is in bytes; ``token`` is what the token server
    gives, here as well, for an assertion that was signed."""

    key: str = "a-right-key"
    token: str = "ya29.a-token"
    models: set[str] = field(default_factory=lambda: {"gemini-2.5-flash"})
    most: int = 15_000_000
    says: str = SEEN
    prompt: str = PROMPT
    finish: str = "STOP"
    seen: list[tuple[int, int]] = field(default_factory=list)

    def answer(self, asked: Asked) -> Any:
        if asked.path == "/token":
            return self._token(asked.body)
        gemini = re.fullmatch(r"/v1beta/models/([^/:]+):generateContent", asked.path)
        vertex = re.fullmatch(
            r"/v1/projects/tea-1/locations/us-central1/publishers/google/models/([^/:]+):generateContent",
            asked.path,
        )
        if not (asked.method == "POST" and (gemini or vertex)):
            raise Refusal(404, "<!DOCTYPE html><title>Error 404</title>")
        if gemini:
            self._check_key(asked.headers)
        elif asked.headers.get("authorization") != f"Bearer {self.token}":
            raise refused(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.")
        if (gemini or vertex)[1] not in self.models:  # type: ignore[index]
            raise refused(404, "NOT_FOUND", "models/x is not found for API version v1beta.")
        return self._transcribed(asked.body)

    def _check_key(self, headers: dict[str, str]) -> None:
        sent = headers.get("x-goog-api-key")
        if sent is None:
            raise refused(403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers.")
        if sent != self.key:
            said = f"API key not valid. Please pass a valid API key. You sent {sent}."
            raise refused(400, "INVALID_ARGUMENT", said, {"reason": "API_KEY_INVALID"})

    def _transcribed(self, body: dict[str, Any]) -> Any:
        if odd := {*body} - {"contents", "generationConfig"} | {*body["generationConfig"]} - _CONFIG:
            said = f'Invalid JSON payload received. Unknown name "{min(odd)}": Cannot find field.'
            raise refused(400, "INVALID_ARGUMENT", said)
        [content] = body["contents"]
        prompt, picture = content["parts"]
        assert prompt["text"] == self.prompt
        if content["role"] != "user" or {*prompt, *picture} != _PARTS:
            raise refused(400, "INVALID_ARGUMENT", "Please use a valid role: user, model.")
        opened = picture_in(picture["inlineData"]["data"], self.most)
        if picture["inlineData"]["mimeType"] != opened.get_format_mimetype():  # type: ignore[attr-defined]
            raise refused(400, "INVALID_ARGUMENT", "Unable to process input image.")
        self.seen.append(opened.size)
        if self.finish == "blocked":
            return {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}
        parts = [{"text": "Let me look.", "thought": True}, {"text": self.says}] if self.says else []
        content = {"parts": parts, "role": "model"}
        return {"candidates": [{"content": content, "finishReason": self.finish}]}

    def _token(self, sent: dict[str, str]) -> Any:
        if sent.get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" or not sent.get(
            "assertion"
        ):
            raise Refusal(400, {"error": "invalid_grant"})
        return {"access_token": self.token, "expires_in": 3600, "token_type": "Bearer"}


def refused(status: int, kind: str, said: str, *details: dict[str, str], **headers: str) -> Refusal:
    """An error as Google wraps it."""
    error = {"code": status, "message": said, "status": kind, "details": list(details)}
    return Refusal(status, {"error": error}, **headers)


def account(folder: Path, url: str) -> Path:
    """The key file of a service account whose tokens come from ``url``."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    pem = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = folder / "account.json"
    about = {
        "type": "service_account", "project_id": "tea-1", "private_key_id": "1", "private_key": pem.decode(),
        "client_email": "reader@tea-1.iam.gserviceaccount.com", "token_uri": f"{url}/token",
    }  # fmt: skip
    file.write_text(json.dumps(about), "utf-8")
    return file
