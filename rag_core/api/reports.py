"""The JSON of reports of the command line: folders, plans, checks, connections, people and settings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, model_validator

from rag_core import reports
from rag_core.api.answers import Score, Shown, Tenths, Text, TextOrNull, at
from rag_core.index.plan import Plan

NumberOrNull = Annotated[int | None, BeforeValidator(lambda number: number or None)]


def source_info(found: reports.SourceInfo) -> dict[str, Any]:
    """A folder of a store with its counts of files."""
    whole = asdict(found)
    return {**whole.pop("source"), **whole}


def plan(plans: Iterable[Plan]) -> dict[str, Any]:
    """What a run would do, for ``--dry-run``."""
    return {
        "dry_run": True,
        "sources": [
            {
                "root": each.source.root,
                "counts": each.counts(),
                "files": [{"outcome": o, "file_path": path, "note": note} for o, path, note in each.rows()],
                "warnings": list(each.warnings),
            }
            for each in plans
        ],
    }


class Step(Shown):
    state: str
    sentence: str


class Diagnosis(Shown):
    """Whether and why a file is found in a store."""

    store: str
    file_path: str = at("path")
    findable: bool
    steps: list[Step]
    advice: Text
    query: str
    rank: int | None
    score: Score | None
    relevant: bool | None

    @model_validator(mode="after")
    def _of_no_hit(self) -> Self:
        self.relevant = self.relevant if self.rank is not None else None
        return self


class Health(Shown):
    """A store as its checks found it."""

    store: str
    sound: bool
    checked_at: str
    took_ms: Tenths
    checks: list[str]
    findings: list[reports.Finding]


class Repair(Shown):
    store: str
    done: list[str]
    to_embed: int
    took_ms: Tenths


class Connection(Shown):
    """The state of a model, server or service; ``text`` says where text goes that it gets."""

    key: str
    name: str
    kind: str
    state: str
    sentence: str
    next_step: Text
    text: str = at("goes")
    used_by: list[str]
    embedders: list[str]
    models: list[str]


class OllamaModel(Shown):
    """A model of Ollama; unknown numbers are null."""

    name: str
    embeds: bool
    chats: bool
    dimension: NumberOrNull
    context: NumberOrNull
    size_bytes: int
    loaded: bool
    digest: str


class Trial(Shown):
    """A sentence that was embedded."""

    embedder: str
    identity: str
    dimension: int
    beginning: list[Annotated[float, AfterValidator(lambda number: round(number, 6))]]
    open_ms: Tenths
    took_ms: Tenths
    text: str = at("went")


class Privacy(Shown):
    """The private documents of a store; each rule with how many documents it hides."""

    private_rules: dict[str, int] = at("rules")
    documents: int
    private: int
    private_by_note: int = at("by_note")
    private_by_rule: int = at("by_rule")
    private_unsure: dict[str, str] = at("unsure")


class Person(Shown):
    """Somebody who has access; ``stores`` is null for an owner, who may see all."""

    login: str
    role: Annotated[str, BeforeValidator(lambda is_owner: "owner" if is_owner else "guest")] = at("is_owner")
    stores: list[str] | None
    may_ask: bool
    since: TextOrNull
    configured: bool

    @model_validator(mode="after")
    def _of_an_owner(self) -> Self:
        self.stores = None if self.role == "owner" else self.stores
        return self


class NewToken(Shown):
    """A new token; ``token`` is its secret, shown this once."""

    name: str
    created_at: str
    token: str = at("secret")


class SettingRow(Shown):
    key: str = at("key", "name")
    value: Any
    layer: str = at("origin", "layer")
    name: str = at("origin", "name")
    file: str = at("origin", "file")
    line: int = at("origin", "line")


class Configuration(Shown):
    """Every setting with its origin: ``layer`` is default, config.yaml, .env or environment."""

    data_dir: Text
    config_file: Text
    env_file: Text
    settings: Annotated[list[SettingRow], BeforeValidator(lambda rows: rows())] = at("rows")
    warnings: list[str]
