"""The JSON of reports of the command line: folders, plans, checks, connections, people and settings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from rag_core import reports
from rag_core.config import Settings
from rag_core.index.plan import Plan

JsonReport = dict[str, Any]


def folder(info: reports.SourceInfo) -> JsonReport:
    """Report a folder of a store, with its number of files in each state."""
    whole = asdict(info)
    return {**whole.pop("source"), **whole}


def plan(plans: Iterable[Plan]) -> JsonReport:
    """Report what a run would do, for ``--dry-run``."""
    return {
        "dry_run": True,
        "sources": [
            {
                "root": planned.source.root,
                "counts": planned.counts(),
                "files": [
                    {"outcome": o, "file_path": path, "note": note} for o, path, note in planned.rows()
                ],
                "warnings": list(planned.warnings),
            }
            for planned in plans
        ],
    }


def steps(diagnosed: Iterable[reports.DiagnosisStep]) -> list[JsonReport]:
    """Report the steps of a diagnosis."""
    return [{"state": step.state, "sentence": step.sentence} for step in diagnosed]


def diagnosis(explained: reports.Diagnosis) -> JsonReport:
    """Report whether and why a file is found in a store. ``relevant`` is null if there is no rank."""
    return {
        "store": explained.store,
        "file_path": explained.path,
        "findable": explained.findable,
        "steps": steps(explained.steps),
        "advice": str(explained.advice),
        "query": explained.query,
        "rank": explained.rank,
        "score": None if explained.score is None else round(explained.score, 4),
        "relevant": None if explained.rank is None else explained.relevant,
    }


def health(result: reports.Health) -> JsonReport:
    """Report the result of a store's checks."""
    return {**asdict(result), "sound": result.sound}


def connection(checked: reports.Connection) -> JsonReport:
    """Report the state of a model, server or service. ``text`` says where text is sent."""
    names = ("key", "name", "kind", "state", "sentence", "used_by", "embedders", "models")
    shown = {name: getattr(checked, name) for name in names}
    return {**shown, "next_step": str(checked.next_step), "text": checked.goes}


def ollama_model(model: reports.OllamaModel) -> JsonReport:
    """Report a model of Ollama. Unknown numbers are null."""
    return {**asdict(model), "dimension": model.dimension or None, "context": model.context or None}


def privacy_report(privacy: reports.Privacy) -> JsonReport:
    """Report the private documents of a store, and each rule with the number of documents that it hides."""
    return {
        "private_rules": privacy.rules,
        "documents": privacy.documents,
        "private": privacy.private,
        "private_by_note": privacy.by_note,
        "private_by_rule": privacy.by_rule,
        "private_unsure": privacy.unsure,
    }


def saved_search(saved: reports.SavedSearch) -> JsonReport:
    """Report a saved search with its filters."""
    return {
        **asdict(saved),
        "filters": {name: value for name, value in asdict(saved.filters).items() if value},
    }


def person(known: reports.Person) -> JsonReport:
    """Report a person with access. ``stores`` is null for an owner, who may see every store."""
    return {
        "login": known.login,
        "role": "owner" if known.is_owner else "guest",
        "stores": None if known.is_owner else known.stores,
        "may_ask": known.may_ask,
        "since": known.since or None,
        "configured": known.configured,
    }


def configuration(settings: Settings) -> JsonReport:
    """Report every setting with its origin. ``layer`` is default, config.yaml, .env or environment."""
    return {
        "data_dir": str(settings.data_dir),
        "config_file": str(settings.config_file),
        "env_file": str(settings.env_file),
        "settings": [{"key": r.key.name, "value": r.value, **asdict(r.origin)} for r in settings.rows()],
        "warnings": settings.warnings,
    }


def evaluation(evaluated: reports.Evaluation) -> JsonReport:
    """Report the results for a golden set, and the changes since the previous evaluation."""
    changes = [{"query": query, "before": before, "now": now} for query, before, now in evaluated.changes]
    queries = [asdict(judged) for judged in evaluated.queries]
    return {"figures": evaluated.figures, "before": evaluated.before, "changes": changes, "queries": queries}
