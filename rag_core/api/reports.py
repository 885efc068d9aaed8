"""The JSON of reports of the command line: folders, plans, checks, connections, people and settings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from rag_core import reports
from rag_core.config import Settings
from rag_core.index.plan import Plan

JsonReport = dict[str, Any]


def folder(found: reports.SourceInfo) -> JsonReport:
    """Report a folder of a store, with its number of files in each state."""
    whole = asdict(found)
    return {**whole.pop("source"), **whole}


def plan(plans: Iterable[Plan]) -> JsonReport:
    """Report what a run would do, for ``--dry-run``."""
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


def steps(found: Iterable[reports.DiagnosisStep]) -> list[JsonReport]:
    """Report the steps of a diagnosis."""
    return [{"state": each.state, "sentence": each.sentence} for each in found]


def diagnosis(found: reports.Diagnosis) -> JsonReport:
    """Report whether and why a file is found in a store. Without a rank, ``relevant`` is null."""
    return {
        "store": found.store,
        "file_path": found.path,
        "findable": found.findable,
        "steps": steps(found.steps),
        "advice": str(found.advice),
        "query": found.query,
        "rank": found.rank,
        "score": None if found.score is None else round(found.score, 4),
        "relevant": None if found.rank is None else found.relevant,
    }


def health(found: reports.Health) -> JsonReport:
    """Report the result of a store's checks."""
    return {**asdict(found), "sound": found.sound}


def connection(found: reports.Connection) -> JsonReport:
    """Report the state of a model, server or service. ``text`` says where the text goes that it gets."""
    names = ("key", "name", "kind", "state", "sentence", "used_by", "embedders", "models")
    shown = {name: getattr(found, name) for name in names}
    return {**shown, "next_step": str(found.next_step), "text": found.goes}


def ollama_model(found: reports.OllamaModel) -> JsonReport:
    """Report a model of Ollama. Unknown numbers are null."""
    return {**asdict(found), "dimension": found.dimension or None, "context": found.context or None}


def privacy_report(found: reports.Privacy) -> JsonReport:
    """Report the private documents of a store, and each rule with the number of documents that it hides."""
    return {
        "private_rules": found.rules,
        "documents": found.documents,
        "private": found.private,
        "private_by_note": found.by_note,
        "private_by_rule": found.by_rule,
        "private_unsure": found.unsure,
    }


def saved_search(found: reports.SavedSearch) -> JsonReport:
    """Report a saved search with its filters."""
    return {**asdict(found), "filters": {name: each for name, each in asdict(found.filters).items() if each}}


def person(found: reports.Person) -> JsonReport:
    """Report a person with access. ``stores`` is null for an owner, who may see all."""
    return {
        "login": found.login,
        "role": "owner" if found.is_owner else "guest",
        "stores": None if found.is_owner else found.stores,
        "may_ask": found.may_ask,
        "since": found.since or None,
        "configured": found.configured,
    }


def configuration(found: Settings) -> JsonReport:
    """Report every setting with its origin: ``layer`` is default, config.yaml, .env or environment."""
    return {
        "data_dir": str(found.data_dir),
        "config_file": str(found.config_file),
        "env_file": str(found.env_file),
        "settings": [{"key": r.key.name, "value": r.value, **asdict(r.origin)} for r in found.rows()],
        "warnings": found.warnings,
    }


def evaluation(found: reports.Evaluation) -> JsonReport:
    """Report how a golden set is answered now, and what changed since the last run."""
    changes = [{"query": query, "before": before, "now": now} for query, before, now in found.changes]
    queries = [asdict(each) for each in found.queries]
    return {"figures": found.figures, "before": found.before, "changes": changes, "queries": queries}
