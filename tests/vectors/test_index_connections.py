"""The places for vectors outside a store's file, looked at live: Amazon S3 Vectors, Qdrant, Chroma."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rag_core.models.check import Need
from rag_core.types import OWNER
from rag_core.vectors.qdrant import QdrantOptions, QdrantService
from tests.conftest import index
from tests.support.connected import KEY, Make, connection
from tests.support.standin import Asked, Refusal, StandIn, nobody, serving
from tests.vectors.s3vectors import Server
from tests.vectors.s3vectors.http import REGION
from tests.vectors.s3vectors.rules import ServiceError

# --- Amazon S3 Vectors ------------------------------------------------------------------


@pytest.fixture
def amazon(make: Make, amazon: Server) -> Server:
    """The stand-in, and credentials in the environment that ``make`` leaves there."""
    return amazon


def test_amazon_answers_for_a_region_with_credentials_that_are_not_shown(make: Make, amazon: Server) -> None:
    found = connection(make(s3_region=REGION, s3_endpoint_url=amazon.url), "s3vectors")
    assert (found.state, found.goes) == ("ready", "stays on this machine")
    assert found.sentence == f"It answers at {amazon.url}."
    assert [seen.operation for seen in amazon.seen] == ["ListVectorBuckets"]
    assert "SESAME" not in repr(found).upper()


def test_amazon_is_not_asked_while_nothing_names_it(
    make: Make, amazon: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3VECTORS", amazon.url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    library = make()
    found = connection(library, "s3vectors")
    assert (found.state, found.unasked, amazon.seen) == ("not set up", True, [])
    assert found.goes == "goes to Amazon"
    assert connection(library, "s3vectors", ask_all=True).state == "ready"


def test_amazon_that_cannot_be_reached_or_refuses_says_which(make: Make, amazon: Server) -> None:
    assert connection(make(s3_region=REGION, s3_endpoint_url=nobody()), "s3vectors").state == "unreachable"
    other = connection(make(s3_region="us-east-1", s3_endpoint_url=amazon.url), "s3vectors")
    assert other.state == "refused"
    assert "valid region" in other.sentence


def test_a_store_works_without_the_right_to_list_buckets(
    make: Make, amazon: Server, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / "a.md").write_text("The otter swam.\n", "utf-8")
    library = make(s3_region=REGION, s3_endpoint_url=amazon.url, backend="s3vectors")
    index(library, "zoo", notes)

    def denied(_: Any) -> Any:
        raise ServiceError(403, "AccessDeniedException", "User is not authorized to list buckets")

    monkeypatch.setattr(amazon.service, "ListVectorBuckets", denied, raising=False)
    found = connection(library, "s3vectors")
    assert (found.state, found.used_by) == ("ready", ("zoo",))
    library.stores.delete(OWNER, "zoo")
    alone = connection(library, "s3vectors")
    assert (alone.state, "not authorized" in alone.sentence) == ("refused", True)
    assert "s3vectors:ListVectorBuckets" in str(alone.next_step)


# --- Qdrant and Chroma ------------------------------------------------------------------


@dataclass
class Pages(StandIn):
    """A server with these answers, by path."""

    answers: dict[str, Any] = field(default_factory=dict)

    def answer(self, asked: Asked) -> Any:
        if asked.path not in self.answers:
            raise Refusal(404, "not here")
        return self.answers[asked.path]


QDRANT = {
    "/": {"title": "qdrant - vector search engine", "version": "1.16.0"},
    "/collections": {"result": {}},
}
CHROMA = {"/api/v2/heartbeat": {"nanosecond heartbeat": 1}, "/api/v2/version": b'"1.5.9"'}


@pytest.mark.parametrize(
    ("key", "answers", "said"),
    [("qdrant", QDRANT, "Qdrant 1.16.0 at {} answers."), ("chroma", CHROMA, "Chroma 1.5.9 at {} answers.")],
)
def test_a_server_for_vectors_answers(make: Make, key: str, answers: dict[str, Any], said: str) -> None:
    with serving(Pages(answers=answers)) as there:
        found = connection(make(**{f"{key}_url": there.url}), key)
        assert (found.state, found.sentence) == ("ready", said.format(there.url))
        assert found.goes == "stays on this machine"
        there.answers = {}
        assert "is not" in connection(make(**{f"{key}_url": there.url}), key).sentence
        there.fail("/", Refusal(401, "who are you?"))
        there.fail("/heartbeat", Refusal(401, "who are you?"))
        assert connection(make(**{f"{key}_url": there.url}), key).state == "refused"
    gone = connection(make(**{f"{key}_url": nobody()}), key)
    assert (gone.state, f"`{key}_url`" in str(gone.next_step)) == ("unreachable", True)


def test_the_key_of_qdrant_is_sent_and_not_shown(make: Make) -> None:
    with serving(Pages(answers=QDRANT)) as there:
        found = QdrantService.check(Need(make().settings, QdrantOptions(url=there.url, api_key=KEY)))
        assert [asked.headers.get("authorization") for asked in there.asked] == [None, f"Bearer {KEY}"]
    assert KEY not in repr(found)
