"""Calls to Amazon S3 Vectors: the client, retries, and errors in our words.

Retries are ours, not botocore's: its default has changed with its version, and does not retry
everything that the service asks to retry. Every operation used here may be repeated.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Mapping
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from rag_core.errors import VectorError, VectorsUnreachable
from rag_core.vectors.s3_place import S3Options

MIN_BOTOCORE = (1, 44, 5)
"""The first botocore that can page through more than 100 hits."""

_PASSING = {
    "TooManyRequestsException", "ServiceUnavailableException", "InternalServerException",
    "RequestTimeoutException", "ThrottlingException", "SlowDown",
}  # fmt: skip
_MAX_BACKOFF = 20.0
_MOST_QUOTED = 300
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class Refused(VectorError):
    """The service understood a call and will not do it. ``code`` is its name for the reason,
    ``paths`` where in the call the reason lies, if it said so."""

    def __init__(self, message: str, suggestion: str, code: str, reason: str, paths: tuple[str, ...]) -> None:
        super().__init__(message, suggestion)
        self.code = code
        self.reason = reason
        self.paths = paths


class S3Client:
    """The service behind one ``call``. Safe to share between threads; reaches nothing before it is used."""

    def __init__(self, options: S3Options) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._client: Any = None
        self._errors: ModuleType

    def call(self, operation: str, *, attempts: int | None = None, **arguments: object) -> dict[str, Any]:
        """The answer to ``operation``, a method of boto3's client, tried up to ``attempts`` times.

        Raises VectorsUnreachable when it is too busy or cannot be reached, Refused when it says no,
        VectorError when this machine is not set up for it.
        """
        client = self._opened()
        limit = attempts or self._options.attempts
        for attempt in range(1, limit + 1):
            try:
                answer: dict[str, Any] = getattr(client, operation)(**arguments)
            except self._errors.ClientError as error:
                code = error.response.get("Error", {}).get("Code", "")
                if code not in _PASSING and error.response["ResponseMetadata"]["HTTPStatusCode"] < 500:
                    raise self._refused(operation, code, error.response) from None
                reason = f"it answered {code}"
            except (self._errors.HTTPClientError, self._errors.ConnectionError) as error:
                reason = type(error).__name__
            except self._errors.BotoCoreError as error:
                raise _not_set_up(error) from None
            else:
                return answer
            if attempt < limit:
                time.sleep(self._pause(attempt))
        raise VectorsUnreachable(
            f"Amazon S3 Vectors cannot be used at {self._host}: {reason}.",
            "Check the network; what was to be sent waits and is sent with the next run.",
        )

    def _pause(self, attempt: int) -> float:
        """Half to all of a time that doubles with each attempt."""
        longest: float = min(self._options.backoff * 2 ** (attempt - 1), _MAX_BACKOFF)
        return longest * random.uniform(0.5, 1.0)

    @property
    def endpoint(self) -> str:
        """The address of the service. Raises VectorError when this machine is not set up for it."""
        address: str = self._opened().meta.endpoint_url
        return address

    @property
    def _host(self) -> str:
        return urlsplit(self.endpoint).hostname or ""

    def _opened(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = self._open()
            return self._client

    def _open(self) -> Any:
        boto3, config, self._errors = _packages()
        local = urlsplit(self._options.endpoint_url).hostname in _LOOPBACK
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
            return session.client(
                "s3vectors", endpoint_url=self._options.endpoint_url or None, config=settings
            )
        except (self._errors.BotoCoreError, ValueError) as error:
            raise _not_set_up(error) from None

    def _refused(self, operation: str, code: str, response: Mapping[str, Any]) -> VectorError:
        name = "".join(part.capitalize() for part in operation.split("_"))
        reason = str(response.get("Error", {}).get("Message") or response.get("message") or code)
        reason = reason.partition("\n")[0][:_MOST_QUOTED].rstrip(".")  # more may repeat the request's headers
        paths = tuple(str(field.get("path", "")) for field in response.get("fieldList", ()))
        if code.startswith("AccessDenied") or code in (
            "UnrecognizedClientException",
            "InvalidSignatureException",
        ):
            advice = (
                f"Allow s3vectors:{name} to the credentials in use, and s3vectors:GetVectors, TagResource and"
                " ListTagsForResource, which it may need too."
            )
        elif code.startswith("Kms"):
            advice = "Check the KMS key: its state, and that indexing.s3vectors.amazonaws.com may use it."
        elif code == "ServiceQuotaExceededException":
            advice = "Ask AWS for a higher quota, or delete what is not needed there."
        else:
            advice = "Check the bucket, the index and the region in the configuration."
        return Refused(f"Amazon S3 Vectors refused {name}: {reason}.", advice, code, reason, paths)


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
            "Install it: `pip install 'boto3>=1.44.5'`.",
        )
    return boto3, config, exceptions


def _not_set_up(error: Exception) -> VectorError:
    return VectorError(
        f"Amazon S3 Vectors cannot be used from here: {str(error).rstrip('.')}.",
        "Set region, profile and endpoint in the configuration, and credentials as the AWS CLI does.",
    )
