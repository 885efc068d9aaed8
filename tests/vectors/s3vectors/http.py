"""The stand-in's door: HTTP, signatures, botocore's model of each request, faults."""

from __future__ import annotations

import json
import re
import select
import sys
import threading
import urllib.parse
from dataclasses import dataclass
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

import botocore.session
from botocore.model import OperationModel
from botocore.validate import ParamValidator

from tests.vectors.s3vectors import faults, rules
from tests.vectors.s3vectors.indexes import Service
from tests.vectors.s3vectors.rules import ServiceError, invalid

REGION = "eu-central-1"
_SIGNATURE = re.compile(
    r"AWS4-HMAC-SHA256 Credential=[^/]+/(\d{8})/([a-z0-9-]+)/s3vectors/aws4_request, "
    r"SignedHeaders=([a-z0-9;-]+), Signature=[0-9a-f]{64}"
)
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_LONGEST_SILENCE = 60


@cache
def _operations() -> list[OperationModel]:
    model = botocore.session.Session().get_service_model("s3vectors")
    return [model.operation_model(name) for name in model.operation_names]


@dataclass(frozen=True)
class Seen:
    """One request: what was asked, how large it was, how many vectors or keys it held, the answer."""

    operation: str
    status: int
    size: int
    count: int


class Server:
    """The stand-in on a free port of this machine, for the time of a ``with``."""

    def __init__(self) -> None:
        self.service = Service(REGION)
        self.faults: faults.Faults | None = None
        self.seen: list[Seen] = []
        self.bodies: list[tuple[str, dict[str, Any]]] = []
        self.operations = _operations()
        self._http = _HTTP(self)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def count(self, operation: str, status: int = 200) -> int:
        """How many requests for ``operation`` were answered by ``status``."""
        return sum(seen.operation == operation and seen.status == status for seen in self.seen)

    def asked(self, operation: str) -> list[dict[str, Any]]:
        """The bodies of the requests for ``operation``, without vectors."""
        return [body for name, body in self.bodies if name == operation]

    def operation(self, method: str, path: str) -> tuple[OperationModel, dict[str, str]]:
        for model in self.operations:
            template = re.escape(model.http["requestUri"]).replace(r"\{", "{").replace(r"\}", "}")
            match = re.fullmatch(re.sub(r"{(\w+)\+?}", r"(?P<\1>.+)", template), path)
            if match and model.http["method"] == method:
                return model, {key: urllib.parse.unquote(value) for key, value in match.groupdict().items()}
        raise ServiceError(404, "UnknownOperationException", f"No operation {method} {path}")


class _HTTP(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, stand_in: Server) -> None:
        self.stand_in = stand_in
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is none."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _HTTP

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing is printed."""

    def do_POST(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        stand_in = self.server.stand_in
        data = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        fault = stand_in.faults.next() if stand_in.faults else ""
        name, count = self.path, 0
        try:
            model, in_path = stand_in.operation(self.command, urllib.parse.urlsplit(self.path).path)
            name = model.name
            if fault == "429":
                raise faults.too_busy()
            if fault == "503":
                raise faults.over_capacity()
            body = self._body(model, data, in_path)
            count = len(body.get("vectors", body.get("keys", ())))
            status, answer, code = 200, stand_in.service(name, body), ""
        except ServiceError as error:
            status, answer, code = error.status, error.body, error.code
        stand_in.seen.append(Seen(name, status, len(data), count))
        if fault in ("lost", "silent"):
            self._never_answer(fault)
        else:
            self._send(status, answer, code)

    def _body(self, model: OperationModel, data: bytes, in_path: dict[str, str]) -> dict[str, Any]:
        """The request's parameters, checked for everything that does not depend on the state."""
        self._check_signature()
        if len(data) > rules.MAX_BODY:
            raise invalid("Request body exceeds max allowed size")
        body: dict[str, Any] = {**(json.loads(data) if data else {}), **in_path}
        if _HALF.search(data):
            try:
                json.dumps(body, ensure_ascii=False).encode()
            except UnicodeEncodeError:
                raise ServiceError(400, "SerializationException", "UnknownError") from None
        if b'"NaN"' in data or b'Infinity"' in data:  # so they travel; their place is judged with the record
            for item in body.get("vectors", ()):
                item["data"]["float32"] = [float(value) for value in item["data"]["float32"]]
        errors = ParamValidator().validate(_shortened(body), model.input_shape)
        if errors.has_errors():
            raise invalid(errors.generate_report())
        _check_lengths(model, body)
        kept = {key: value for key, value in body.items() if key != "vectors"}
        self.server.stand_in.bodies.append((model.name, kept))
        return body

    def _check_signature(self) -> None:
        match = _SIGNATURE.fullmatch(self.headers.get("Authorization", ""))
        date = self.headers.get("X-Amz-Date", "")
        if match is None:
            raise ServiceError(403, "MissingAuthenticationTokenException", "Missing Authentication Token")
        if not date.startswith(match[1]) or match[2] != REGION or "host" not in match[3].split(";"):
            raise ServiceError(
                403, "InvalidSignatureException", "Credential should be scoped to a valid region"
            )

    def _send(self, status: int, answer: dict[str, Any], code: str) -> None:
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if code:
            self.send_header("x-amzn-ErrorType", code)
        self.end_headers()
        self.wfile.write(data)

    def _never_answer(self, fault: str) -> None:
        if fault == "silent":  # until the client gives up
            select.select([self.connection], [], [], _LONGEST_SILENCE)
        self.close_connection = True


def _shortened(body: dict[str, Any]) -> dict[str, Any]:
    """A request to be validated, of its vectors only those numbers that are none and one more."""
    if "vectors" not in body:
        return body
    vectors = []
    for item in body["vectors"]:
        numbers = item.get("data", {}).get("float32", [])
        odd = [number for number in numbers if type(number) is not float and type(number) is not int]
        vectors.append({**item, "data": {**item.get("data", {}), "float32": [*odd, *numbers[:1]]}})
    return {**body, "vectors": vectors}


def _check_lengths(model: OperationModel, body: dict[str, Any]) -> None:
    """The upper bounds of the model, which botocore leaves to the service."""
    for name, value in body.items():
        most = model.input_shape.members[name].metadata.get("max")
        if most is not None and (len(value) if isinstance(value, str | list) else value) > most:
            raise invalid(f"Member must have at most {most}", name)
