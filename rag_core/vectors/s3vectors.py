"""The vector index in Amazon S3 Vectors: one bucket for each store, one index for each embedder. The service
counts bytes by its own rule, and refuses empty lists, nulls, nested values and halves of characters."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rag_core.config.options import setting
from rag_core.errors import InvalidInput, VectorError, VectorsUnreachable
from rag_core.messages import say
from rag_core.models.addresses import destination, host_of, is_local_server
from rag_core.models.check import Found, Need
from rag_core.models.server import CHECK_S
from rag_core.types import Filters, Vectors
from rag_core.vectors import Metadata, VectorRecord, payload
from rag_core.vectors.payload import DOC, TEXT, UNFILTERED, Value
from rag_core.vectors.remote import Remote, Shape, Undo, short_mark, unless
from rag_core.vectors.service import CONNECT_S, SEARCH_ATTEMPTS, Busy, Options, ServiceRefused, VectorService

MAX_FOUND = 10_000  # maximum hits of one search
NON_FILTERABLE = (TEXT, DOC)
"""The keys that contain the chunk. They are declared when an index is created, and cannot change
afterwards."""
MAX_FILTERABLE = 2_048
MAX_METADATA = 40_960
MAX_CONSTRAINTS = 100

_PAGE = 1000
_PAGE_OF_NAMES = 500
_MAX_NAME = 63
_OWNER_TAG = "commonplace:owner"
_BUSY = {
    "TooManyRequestsException", "ServiceUnavailableException", "InternalServerException",
    "RequestTimeoutException", "ThrottlingException", "SlowDown",
}  # fmt: skip
_BAD_CREDENTIALS = {"UnrecognizedClientException", "InvalidSignatureException"}
_ABOUT_RECORDS = {"ValidationException", "SerializationException"}
_NOT_FOUND, _CONFLICT = 404, 409
_CONFIGURE = "Set up region and credentials as for the AWS CLI, or set `s3_region` and `s3_profile`."
_BUCKET = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Options(Options):
    """Options for Amazon S3 Vectors. If a value is empty, this machine's AWS configuration applies, which
    also has the credentials."""

    region: str = setting("s3_region", "")
    profile: str = setting("s3_profile", "")  #: The AWS profile with the credentials.
    endpoint_url: str = setting("s3_endpoint_url", "")
    bucket_prefix: str = setting("s3_bucket_prefix", "commonplace")
    kms_key: str = setting("s3_kms_key", "")  #: The ARN of the key for what is created.
    tags: tuple[tuple[str, str], ...] = setting("s3_tags", ())  #: Tags for what is created.

    @property
    def server(self) -> str:
        return self.endpoint_url or f"https://s3vectors.{self.region or 'aws'}.api.aws"

    @property
    def destination(self) -> str:
        return destination(self.endpoint_url) if self.endpoint_url else "goes to Amazon S3 Vectors"


class S3Service(VectorService[S3Options]):
    """Amazon S3 Vectors. All operations used here can safely be repeated."""

    remedy = "Check the network."

    @property
    def endpoint(self) -> str:
        """The address of the service."""
        return str(self.opened().meta.endpoint_url)

    @property
    def called(self) -> str:
        return f"Amazon S3 Vectors at {host_of(self.endpoint)}"

    def call(self, operation: str, attempts: int = 0, /, **arguments: Any) -> dict[str, Any]:
        """Call ``operation``, a method of boto3's client, and return its answer. Raises VectorsUnreachable if
        the service stays busy, ServiceRefused if it refuses, and VectorError if AWS is not set up here."""
        return self.ask(lambda client: getattr(client, operation)(**arguments), attempts)

    def _open(self) -> Any:
        import boto3
        from botocore import config

        options = self.options
        settings = config.Config(
            retries={"mode": "standard", "total_max_attempts": 1},  # `ask` retries, and waits longer
            connect_timeout=min(options.timeout, CONNECT_S),
            read_timeout=options.timeout,
            parameter_validation=False,
            proxies={} if is_local_server(options.endpoint_url) else None,
        )
        session = boto3.Session(profile_name=options.profile or None, region_name=options.region or None)
        return session.client("s3vectors", endpoint_url=options.endpoint_url or None, config=settings)

    def explained(self, error: Exception) -> Exception:
        from botocore import exceptions

        match error:
            case exceptions.ClientError():
                return _refusal(error.operation_name, error.response)
            case exceptions.HTTPClientError() | exceptions.ConnectionError():
                return Busy(type(error).__name__)
            case exceptions.BotoCoreError() | ValueError():
                message = f"Amazon S3 Vectors cannot be used from here: {str(error).rstrip('.')}."
                return VectorError(
                    message, "Set region, profile, endpoint, and credentials as for the AWS CLI."
                )
        return error


def _refusal(operation: str, response: Mapping[str, Any]) -> Exception:
    """Return the exception for an error answer: Busy if a later attempt may succeed, else ServiceRefused."""
    said: Mapping[str, Any] = response.get("Error", {})
    code, status = said.get("Code", ""), response["ResponseMetadata"]["HTTPStatusCode"]
    if code in _BUSY or status >= 500:
        return Busy(f"{code}")
    advice = "Check the bucket, the index and the region in the configuration, and your quota."
    if code.startswith("AccessDenied") or code in _BAD_CREDENTIALS:
        advice = (
            f"Allow the credentials in use s3vectors:{operation}, and also s3vectors:GetVectors, TagResource"
            " and ListTagsForResource, which that operation may need."
        )
    reason = str(said.get("Message") or response.get("message") or code)
    reason = reason.partition("\n")[0][:300].rstrip(".")  # the rest may repeat the request's headers
    message, is_record = f"Amazon S3 Vectors refused {operation}: {reason}.", code in _ABOUT_RECORDS
    return ServiceRefused(message, advice, status, reason, code, about_records=is_record)


class S3Vectors(Remote[S3Service]):
    """The index of one store, in a bucket of its own."""

    service_type = S3Service
    options_type = S3Options
    form = "s3vectors://BUCKET/INDEX"
    pattern = re.compile(
        rf"s3vectors://(?P<bucket>{_BUCKET.pattern})(/(?P<index>[a-z0-9][a-z0-9.-]{{1,61}}[a-z0-9]))?"
    )
    metrics = {"cosine": "cosine", "euclidean": "euclidean", "dot_product": "cosine"}  # noqa: RUF012
    max_dimension = 4096
    max_batch = 500
    max_bytes = 20 * 2**20 - 4096  # with room for everything besides the records
    other_place = "To make a separate index for this store, set `s3_bucket_prefix` to another word."

    @staticmethod
    def address_of(store: str, variant: str, options: S3Options) -> str:
        """Return the address of the index for the store ``store``. Names that differ in more than case get
        different buckets. ``variant`` is '', or a word for the index of a new embedder. Raises InvalidInput
        for a bad ``s3_bucket_prefix``."""
        prefix, name = options.bucket_prefix, store.lower()
        plain = name.replace("_", "-")
        bucket = f"{prefix}-{plain}"
        if plain != name or len(bucket) > _MAX_NAME or bucket.endswith("-"):
            room = max(_MAX_NAME - len(prefix) - len(short_mark(name)) - 2, 0)
            bucket = "-".join(filter(None, (prefix, plain[:room].strip("-"), short_mark(name))))
        if not _BUCKET.fullmatch(bucket):
            raise InvalidInput(
                f"{bucket!r} cannot be the name of a vector bucket.",
                f"Use 3 to {_MAX_NAME} lowercase letters, digits and hyphens, with no hyphen at either end.",
            )
        return f"s3vectors://{bucket}/main{variant and f'-{variant}'}"

    @classmethod
    def visible(cls, options: S3Options) -> Iterator[str]:
        """Yield the addresses of all indexes that the credentials can see. If the indexes of a bucket may not
        be listed, the usual name is assumed. Raises VectorError if the buckets cannot be listed."""
        service = S3Service(options)
        for bucket in _listed(service, "list_vector_buckets", "vectorBuckets", maxResults=_PAGE_OF_NAMES):
            name = bucket["vectorBucketName"]
            try:
                for index in _listed(service, "list_indexes", "indexes", vectorBucketName=name):
                    yield f"s3vectors://{name}/{index['indexName']}"
            except ServiceRefused:
                yield f"s3vectors://{name}/main"

    def _locate(self, names: Mapping[str, str]) -> None:
        self._bucket = {"vectorBucketName": names["bucket"]}
        self._here = {**self._bucket, "indexName": names["index"] or "main"}

    def _describe(self) -> dict[str, Any]:
        return dict(self.service.call("get_index", **self._here)["index"])

    def _shape(self, found: Mapping[str, Any]) -> Shape:
        keys = found.get("metadataConfiguration", {}).get("nonFilterableMetadataKeys", [])
        if {*keys} != {*NON_FILTERABLE}:
            message = (
                f"The index {self.address!r} was not made for notes: its non-filterable keys are {keys!r}."
            )
            raise VectorError(message, f"It cannot be changed. {self.other_place}")
        return found["dimension"], found["distanceMetric"]

    def _owner_of(self, found: Mapping[str, Any]) -> str:
        arn = found.get("indexArn") or found["vectorBucketArn"]
        return str(self.service.call("list_tags_for_resource", resourceArn=arn)["tags"].get(_OWNER_TAG, ""))

    def _give_to(self, found: Mapping[str, Any], owner: str) -> None:
        self.service.call("tag_resource", resourceArn=found["indexArn"], tags={_OWNER_TAG: owner})

    def _create(self, owner: str, undo: Undo) -> None:
        options, call = self.service.options, self.service.call
        made: dict[str, object] = {"tags": {**dict(options.tags), _OWNER_TAG: owner}}
        if options.kms_key:
            made["encryptionConfiguration"] = {"sseType": "aws:kms", "kmsKeyArn": options.kms_key}
        shape = {
            "dataType": "float32",
            "dimension": self.dimension,
            "distanceMetric": self.metric,
            "metadataConfiguration": {"nonFilterableMetadataKeys": [*NON_FILTERABLE]},
        }
        if unless((_CONFLICT,), partial(call, "create_vector_bucket", **self._bucket, **made)):
            undo.append(self._delete_bucket)
        if unless((_CONFLICT,), partial(call, "create_index", **self._here, **shape, **made)):
            undo.append(self._delete_index)

    def _delete_index(self) -> None:
        unless((_NOT_FOUND,), partial(self.service.call, "delete_index", **self._here))

    def _delete_bucket(self) -> None:
        """Delete the bucket, unless it contains another index."""
        delete = partial(self.service.call, "delete_vector_bucket", **self._bucket)
        unless((_NOT_FOUND, _CONFLICT), delete)

    def drop(self, owner: str) -> None:
        """Delete the index if it belongs to ``owner``. When the last index in the bucket is dropped, the
        bucket is deleted."""
        found = self._found()
        if found:
            theirs = self._owner_of(found)
        else:
            try:
                bucket = self.service.call("get_vector_bucket", **self._bucket)["vectorBucket"]
                theirs = self._owner_of(bucket)
            except ServiceRefused:  # there is no bucket, or it cannot be seen
                return
        if theirs == owner:
            if found:
                self._delete_index()
            self._delete_bucket()

    def _encode(self, record: VectorRecord) -> tuple[dict[str, Any], int] | str:
        metadata = {**fitted(record.metadata), TEXT: record.text, DOC: payload.document(record)}
        if (taken := metadata_bytes(metadata)) > MAX_METADATA:
            return f"It takes {taken:,} bytes, {MAX_METADATA:,} are allowed."
        item = {
            "key": record.key,
            "data": {"float32": payload.short_numbers(record.vector)},
            "metadata": metadata,
        }
        return item, len(json.dumps(item)) + len(", ")

    def _put(self, items: dict[str, dict[str, Any]]) -> None:
        self.service.call("put_vectors", vectors=[*items.values()], **self._here)

    def _delete(self, keys: list[str]) -> None:
        self.service.call("delete_vectors", keys=keys, **self._here)

    def _nearest(self, query: Vectors, k: int, filters: Filters) -> Iterator[tuple[str, float]]:
        arguments = {"topK": min(k, MAX_FOUND), "queryVector": {"float32": payload.short_numbers(query)}}
        if condition := compiled(filters):
            arguments["filter"] = condition
        found: dict[str, float] = {}
        for hit in self._vectors("query_vectors", SEARCH_ATTEMPTS, returnDistance=True, **arguments):
            distance = hit["distance"]
            found.setdefault(hit["key"], 1 - (distance if self.metric == "cosine" else distance**2 / 2))
            if len(found) == k:
                break
        return iter(found.items())

    def keys(self) -> Iterator[str]:
        return (item["key"] for item in self._vectors("list_vectors", maxResults=_PAGE))

    def records(self) -> Iterator[VectorRecord]:
        for item in self._vectors("list_vectors", maxResults=_PAGE, returnData=True, returnMetadata=True):
            kept = dict(item.get("metadata", {}))
            text, doc = kept.pop(TEXT, ""), kept.pop(DOC, "{}")
            yield payload.rebuilt(item["key"], item["data"]["float32"], text, doc, kept)

    def _vectors(self, operation: str, attempts: int = 0, **arguments: Any) -> Iterator[dict[str, Any]]:
        return _listed(self.service, operation, "vectors", attempts, **self._here, **arguments)


def _listed(
    service: S3Service, operation: str, key: str, attempts: int = 0, **arguments: Any
) -> Iterator[dict[str, Any]]:
    """Yield the items under ``key`` from all pages of a list."""
    while True:
        page = service.call(operation, attempts, **arguments)
        yield from page[key]
        if not (token := page.get("nextToken")):
            return
        arguments["nextToken"] = token


def check_s3vectors(need: Need) -> Found:
    """Check the service by asking once for its buckets, if a store or setting uses the service. If stores use
    it, credentials that may not list buckets count as working."""
    from botocore.session import Session

    options: S3Options = need.options
    named = options.region or options.profile or options.endpoint_url or need.settings.backend == "s3vectors"
    if not (named or need.stores or need.ask_all):
        has_region = bool(Session().get_config_variable("region"))
        sentence = "No store or setting uses it, so it was not asked."
        step = say("ask_amazon") if has_region else _CONFIGURE
        return Found("not set up", sentence, step, unasked=has_region)
    client = S3Service(replace(options, timeout=CHECK_S))
    try:
        client.call("list_vector_buckets", 1, maxResults=1)
    except VectorsUnreachable as error:
        return Found("unreachable", error.message, "Check the network and the region.")
    except ServiceRefused as error:
        if not error.name.startswith("AccessDenied"):
            return Found("refused", error.message, "Check the credentials, the profile and the region.")
        if not need.stores:
            advice = "Allow the credentials s3vectors:ListVectorBuckets; stores work without it, too."
            return Found("refused", error.message, advice)
    except VectorError as error:
        return Found("not set up", error.message, _CONFIGURE)
    return Found("ready", f"It answers at {client.endpoint}.", goes=destination(client.endpoint))


def metadata_bytes(metadata: Mapping[str, Value]) -> int:
    """Return the size of ``metadata`` in bytes, as the service counts it."""
    return 4 + sum(8 + len(key.encode()) + _value_size(value) for key, value in metadata.items())


def _value_size(value: Value) -> int:
    if isinstance(value, list):
        return sum(4 + _value_size(element) for element in value)
    if isinstance(value, str):
        return len(value.encode())
    return 0 if isinstance(value, bool) else 4


def fitted(metadata: Metadata) -> dict[str, Value]:
    """Return the metadata that fits the service's limit. The largest fields are left out first. Their names
    are listed under UNFILTERED, so that filters on them let the record pass."""
    kept = {key: value for key, value in payload.values(metadata).items() if value != []}
    while metadata_bytes(kept) > MAX_FILTERABLE:
        largest = max((key for key in kept if key != UNFILTERED), key=lambda key: _value_size(kept[key]))
        del kept[largest]
        known = kept.get(UNFILTERED, [])
        kept[UNFILTERED] = [*known, largest] if isinstance(known, list) else [largest]
    return kept


def compiled(filters: Filters) -> dict[str, Any] | None:
    """Convert ``filters`` to the service's filter. Every matching record passes it. Return None if nothing is
    filtered."""
    return payload.filter_objects(filters, MAX_CONSTRAINTS, "$eq")
