"""What checks, connections and trials found → the JSON of the command line."""

from __future__ import annotations

from typing import Any

from rag_core.reports import Connection, Diagnosis, Health, OllamaModel, Privacy, Repair, Step, Trial


def step(found: Step) -> dict[str, Any]:
    """One step of a diagnosis."""
    return {"state": found.state, "sentence": found.sentence}


def diagnosis(found: Diagnosis) -> dict[str, Any]:
    """Why a file is found in a store or not."""
    return {
        "store": found.store,
        "file_path": found.path,
        "findable": found.findable,
        "steps": [step(s) for s in found.steps],
        "advice": found.advice,
        "query": found.query,
        "rank": found.rank,
        "score": None if found.score is None else round(found.score, 4),
        "relevant": None if found.rank is None else found.relevant,
    }


def health(found: Health) -> dict[str, Any]:
    """A store as its checks found it."""
    return {
        "store": found.store,
        "sound": found.sound,
        "checked_at": found.checked_at,
        "took_ms": round(found.took_ms, 1),
        "checks": list(found.checks),
        "findings": [
            {
                "check": finding.check,
                "severity": finding.severity,
                "sentence": finding.sentence,
                "count": finding.count,
                "examples": list(finding.examples),
            }
            for finding in found.findings
        ],
    }


def repair(found: Repair) -> dict[str, Any]:
    """What was mended in a store."""
    return {
        "store": found.store,
        "done": list(found.done),
        "to_embed": found.to_embed,
        "took_ms": round(found.took_ms, 1),
    }


def connection(found: Connection) -> dict[str, Any]:
    """How something stands that stores can use; ``text`` says where text goes that it gets."""
    return {
        "key": found.key,
        "name": found.name,
        "kind": found.kind,
        "state": found.state,
        "sentence": found.sentence,
        "next_step": found.next_step,
        "text": found.goes,
        "used_by": list(found.used_by),
        "embedders": list(found.embedders),
        "models": list(found.models),
    }


def ollama_model(found: OllamaModel) -> dict[str, Any]:
    """A model that Ollama has; what it does not say is null."""
    return {
        "name": found.name,
        "embeds": found.embeds,
        "chats": found.chats,
        "dimension": found.dimension or None,
        "context": found.context or None,
        "size_bytes": found.size_bytes,
        "loaded": found.loaded,
        "digest": found.digest,
    }


def trial(found: Trial) -> dict[str, Any]:
    """A sentence that was embedded."""
    return {
        "embedder": found.embedder,
        "identity": found.identity,
        "dimension": found.dimension,
        "beginning": [round(number, 6) for number in found.beginning],
        "open_ms": round(found.open_ms, 1),
        "took_ms": round(found.took_ms, 1),
        "text": found.went,
    }


def privacy(found: Privacy) -> dict[str, Any]:
    """What of a store only its owner meets; of each rule how many documents it hides."""
    return {
        "private_rules": found.rules,
        "documents": found.documents,
        "private": found.private,
        "private_by_note": found.by_note,
        "private_by_rule": found.by_rule,
        "private_unsure": found.unsure,
    }
