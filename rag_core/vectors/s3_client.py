"""Calls to Amazon S3 Vectors: the client, retries, and errors in our words.

Retries are ours, not botocore's: its default has changed with its version, and does not retry
everything that the service asks to retry. Every operation used here may be repeated.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

from rag_core.errors import VectorError
from rag_core.models.servers.addresses import host_of, is_loopback
from rag_core.vectors import attempts
from rag_core.vectors.attempts import Passing, until_answered
from rag_core.vectors.s3_place import S3Options

MIN_BOTOCORE = (1, 44, 5)
"""The first botocore that can page through more than 100 hits."""

_PASSING = {
    "TooManyRequestsException", "ServiceUnavailableException", "InternalServerException",
    "RequestTimeoutException", "ThrottlingException", "SlowDown",
}  # fmt: skip
_STRANGER = {"UnrecognizedClientException", "InvalidSignatureException"}
_MOST_QUOTED = 300
_RECORD = re.compile(r"vectors\[(\d+)\]")


class Refused(attempts.Refused):
    """The service understood a call and will not do it. ``code`` is its name for the reason."""

    def __init__(
        self, message: str, suggestion: str, status: int, reason: str, named: Sequence[int], code: str
    ) -> None:
        super().__init__(message, suggestion, status, reason, named)
        self.code = code

    @property
    def about_records(self) -> bool:
        """See attempts.Refused. A key that is disabled is answered with the same status."""
        return self.code in ("ValidationException", "SerializationException")


class S3Client:
    """The service behind one ``call``. Safe to share between threads; reaches nothing before it is used."""

    def __init__(self, options: S3Options) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._client: Any = None
        self._written = threading.local()
        self._errors: ModuleType

    def call(self, operation: str, *, attempts: int | None = None, **arguments: object) -> dict[str, Any]:
        """The answer to ``operation``, a method of boto3's client, tried up to ``attempts`` times.

        Raises VectorsUnreachable when it is too busy or cannot be reached, Refused when it says no,
        VectorError when this machine is not set up for it.
        """
        client = self._opened()

        def act() -> dict[str, Any]:
            try:
                answer: dict[str, Any] = getattr(client, operation)(**arguments)
            except self._errors.ClientError as error:
                raise self._failure(operation, error.response) from None
            except (self._errors.HTTPClientError, self._errors.ConnectionError) as error:
                raise Passing(type(error).__name__) from None
            except self._errors.BotoCoreError as error:
                raise _not_set_up(error) from None
            return answer

        limit = min(attempts or self._options.attempts, self._options.attempts)
        called = f"Amazon S3 Vectors at {host_of(self.endpoint)}"
        return until_answered(act, called, limit, self._options.backoff, "Check the network")

    def put_vectors(self, bucket: str, index: str, written: Iterable[bytes]) -> None:
        """Put records that are JSON already. Raises like ``call``.

        boto3 takes two thirds of all the time that sending takes to write numbers one by one, so it is given
        a record in their place, and the body before it is signed.
        """
        where = json.dumps({"vectorBucketName": bucket, "indexName": index}).encode()
        self._written.body = where[:-1] + b',"vectors":[%s]}' % b",".join(written)
        instead = [{"key": "-", "data": {"float32": [1.0]}}]
        try:
            self.call("put_vectors", vectorBucketName=bucket, indexName=index, vectors=instead)
        finally:
            del self._written.body

    def _fill_in(self, params: dict[str, Any], **_: object) -> None:
        params["body"] = self._written.body

    @property
    def endpoint(self) -> str:
        """The address of the service. Raises VectorError when this machine is not set up for it."""
        address: str = self._opened().meta.endpoint_url
        return address

    def _opened(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = self._open()
            return self._client

    def _open(self) -> Any:
        boto3, config, self._errors = _packages()
        local = is_loopback(self._options.endpoint_url)
        settings = config.Config(
            retries={"mode": "standard", "total_max_attempts": 1},
            connect_timeout=min(self._options.timeout, 10.0),
            read_timeout=self._options.timeout,
            proxies={} if local else None,  # what stays on this machine goes through nobody else's
        )
        try:
            session = boto3.Session(
                profile_name=self._options.profile or None, region_name=self._options.region or None
            )
            client = session.client(
                "s3vectors", endpoint_url=self._options.endpoint_url or None, config=settings
            )
        except (self._errors.BotoCoreError, ValueError) as error:
            raise _not_set_up(error) from None
        client.meta.events.register("before-call.s3vectors.PutVectors", self._fill_in)
        return client

    def _failure(self, operation: str, response: Mapping[str, Any]) -> Exception:
        """What an answer that is none means."""
        said: Mapping[str, Any] = response.get("Error", {})
        code, status = said.get("Code", ""), response["ResponseMetadata"]["HTTPStatusCode"]
        if code in _PASSING or status >= 500:
            return Passing(f"it answered {code}")
        name = "".join(part.capitalize() for part in operation.split("_"))
        reason = str(said.get("Message") or response.get("message") or code)
        reason = reason.partition("\n")[0][:_MOST_QUOTED].rstrip(".")  # more may repeat the request's headers
        paths = (str(field.get("path", "")) for field in response.get("fieldList", ()))
        named = sorted({int(match[1]) for path in paths if (match := _RECORD.match(path))})
        message = f"Amazon S3 Vectors refused {name}: {reason}."
        return Refused(message, _advice(name, code), status, reason, named, code)


def _advice(name: str, code: str) -> str:
    """What to do about a refusal."""
    if code.startswith("AccessDenied") or code in _STRANGER:
        return (
            f"Allow s3vectors:{name} to the credentials in use, and s3vectors:GetVectors, TagResource and"
            " ListTagsForResource, which it may need too."
        )
    if code.startswith("Kms"):
        return "Check the KMS key: its state, and that indexing.s3vectors.amazonaws.com may use it."
    if code == "ServiceQuotaExceededException":
        return "Ask AWS for a higher quota, or delete what is not needed there."
    return "Check the bucket, the index and the region in the configuration."


def _packages() -> tuple[Any, Any, ModuleType]:
    """boto3, botocore's configuration and its errors, imported when first needed."""
    import boto3
    import botocore
    from botocore import config, exceptions

    version = tuple(int(part) for part in botocore.__version__.split(".")[:3])
    if version < MIN_BOTOCORE:
        raise VectorError(
            f"The vector index 's3vectors' needs botocore {'.'.join(map(str, MIN_BOTOCORE))} or newer,"
            f" this is {botocore.__version__}.",
            f"Run `{shlex.quote(sys.executable)} -m pip install 'boto3>=1.44.5'`.",
        )
    return boto3, config, exceptions


def _not_set_up(error: Exception) -> VectorError:
    return VectorError(
        f"Amazon S3 Vectors cannot be used from here: {str(error).rstrip('.')}.",
        "Set region, profile and endpoint in the configuration, and credentials as the AWS CLI does.",
    )
