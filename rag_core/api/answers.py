"""What an answer holds, as JSON Schema: the names that `rag_core.api.forms.render` writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_args

from rag_core.api.schema import Schema
from rag_core.replies import Ending, Support
from rag_core.types import FileState, JobState, LinkType, Mode, Outcome, Phase

TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {"type": "number"}
YES_NO: Schema = {"type": "boolean"}
OR_NULL: Mapping[str, Schema] = {name: {"type": [name, "null"]} for name in ("string", "integer", "number")}
TEXT_BY_NAME: Schema = {"type": "object", "additionalProperties": TEXT}
COUNTS: Schema = {"type": "object", "additionalProperties": COUNT}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _one_of(literal: Any) -> Schema:
    return {"type": "string", "enum": list(get_args(literal))}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _has(*optional: str, **properties: Schema) -> Schema:
    """An object with these properties; later versions may add others."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


TEXTS = _list(TEXT)
SPANS: Schema = _list({"type": "array", "items": COUNT, "minItems": 2, "maxItems": 2})

_FILE: dict[str, Schema] = {
    "file_path": TEXT,
    "file_type": TEXT,
    "title": TEXT,
    "tags": TEXTS,
    "date": TEXT,
    "private": YES_NO,
    "state": {"type": "string", "enum": ["indexed", *get_args(FileState)]},
    "reason": TEXT,
    "chunks": COUNT,
    "size": COUNT,
    "file_hash": TEXT,
    "indexed_at": TEXT,
    "absolute_path": {**OR_NULL["string"], "description": "Null for a guest."},
}
_OF_OWNER: Final = ("size", "file_hash", "indexed_at")
_STORE: dict[str, Schema] = {
    "name": TEXT,
    "file_count": COUNT,
    "chunk_count": COUNT,
    "pending": COUNT,
    "types": COUNTS,
}
_STORE_OF_OWNER: dict[str, Schema] = {
    "bucket_name": OR_NULL["string"],
    "index_name": OR_NULL["string"],
    "dimension": COUNT,
    "distance_metric": TEXT,
    "created_at": TEXT,
    "backend": TEXT,
    "address": TEXT,
    "attached": YES_NO,
    "unsent": COUNT,
    "refused": COUNT,
    "switching": TEXT,
    "to_switch": COUNT,
    "sends_private": YES_NO,
    "embedder": TEXT,
    "identity": TEXT,
    "withheld": COUNT,
    "unreadable": COUNT,
    "failed": COUNT,
    "skipped": COUNT,
    "excluded": COUNT,
    "size_bytes": COUNT,
    "sources": _list(_ref("Source")),
}

_PENDING: Schema = {**COUNT, "description": "Passages that are found by words only until they are embedded."}
_ERROR = _has(message=TEXT, suggestion=TEXT)
_REPLY: dict[str, Schema] = {
    "question": TEXT,
    "answer": {**TEXT, "description": "The whole answer, marked where its sources do not hold it."},
    "references": _list(_ref("Reference")),
    "found": {**YES_NO, "description": "Whether any passage fits the question."},
    "retrieved_chunks": COUNT,
    "message": TEXT,
    "ending": _one_of(Ending),
    "statements": _list(_ref("Statement")),
    "stores": TEXTS,
    "model": TEXT,
    "private": YES_NO,
    "pending": _PENDING,
    "warnings": TEXTS,
    "took_ms": NUMBER,
}

SCHEMAS: Mapping[str, Schema] = {
    "Error": _has(error=_ERROR),
    "Answer": _has(
        query=TEXT,
        store={**OR_NULL["string"], "description": "The one store that was searched, else null."},
        stores=TEXTS,
        mode=_one_of(Mode),
        convincing={**YES_NO, "description": "Whether anything found is good enough."},
        results=_list(_ref("Hit")),
        total_results=COUNT,
        offset=COUNT,
        has_more={**YES_NO, "description": "Whether more follows that is good enough."},
        unshown={**COUNT, "description": "How many near misses follow at least; `offset` gives them."},
        query_time_ms=NUMBER,
        pending=_PENDING,
        warnings=TEXTS,
    ),
    "Hit": _has(
        rank={"type": "integer", "minimum": 1},
        score={"type": "number", "minimum": 0, "maximum": 1},
        file_path=TEXT,
        file_type=TEXT,
        start_line=COUNT,
        end_line=COUNT,
        content=TEXT,
        metadata=_has(
            title=TEXT,
            tags=TEXTS,
            indexed_at={**TEXT, "description": "Empty for a guest."},
            file_hash={**TEXT, "description": "Empty for a guest."},
            chunk_index=COUNT,
            heading_path=TEXTS,
            folder=TEXT,
            anchor_type=TEXT,
            anchor_ref=TEXT,
            date=TEXT,
        ),
        store=TEXT,
        id=TEXT,
        relevant={**YES_NO, "description": "Whether it is good enough, by what `mode` looks at."},
        similarity=OR_NULL["number"],
        bm25=OR_NULL["number"],
        reasons=TEXTS,
        highlights=SPANS,
        copies=TEXTS,
        absolute_path={**OR_NULL["string"], "description": "Null for a guest."},
        state=_FILE["state"],
    ),
    "File": {
        **_has(*_OF_OWNER, **_FILE),
        "description": "Of the file on the disk (size, file_hash, indexed_at) a guest is told nothing.",
    },
    "Files": _has(store=TEXT, files=_list(_ref("File"))),
    "Document": _has(
        *_OF_OWNER,
        store=TEXT,
        **_FILE,
        aliases=TEXTS,
        properties={**TEXT_BY_NAME, "description": "What else the front matter says."},
        warnings=TEXTS,
        passages=_list(
            _has(id=TEXT, start_line=COUNT, end_line=COUNT, heading_path=TEXTS, content=TEXT, repeats=COUNT)
        ),
        links_out=_list(_ref("Link")),
        links_in=_list(_ref("Link")),
    ),
    "Link": _has(
        type=_one_of(LinkType),
        target=TEXT,
        heading=TEXT,
        label=TEXT,
        file_path=OR_NULL["string"],
        title=OR_NULL["string"],
    ),
    "Store": {
        **_has(*_STORE_OF_OWNER, **_STORE, **_STORE_OF_OWNER),
        "description": "A guest gets the name and the counts of a store.",
    },
    "Source": _has(
        id=COUNT, root=TEXT, include=TEXTS, exclude=TEXTS, label=TEXT, paused=YES_NO, removed=YES_NO
    ),
    "Stores": _has(stores=_list(_ref("Store")), warnings=TEXTS),
    "Status": {
        **_has(
            "running",
            "data_dir",
            stores=_list(_ref("Store")),
            warnings=TEXTS,
            running=_list(_ref("Job")),
            data_dir=TEXT,
        ),
        "description": "Runs and the data folder are for the owner alone.",
    },
    "Job": _has(
        id=COUNT,
        store=TEXT,
        state=_one_of(JobState),
        start_time=TEXT,
        end_time=OR_NULL["string"],
        duration_ms=COUNT,
        total_files=COUNT,
        succeeded=COUNT,
        failed=COUNT,
        total_chunks_added=COUNT,
        texts_embedded=COUNT,
        counts=COUNTS,
        message=TEXT,
        progress=_has(
            phase=_one_of(Phase),
            done=COUNT,
            total=COUNT,
            rate=NUMBER,
            eta_seconds=OR_NULL["integer"],
            current=TEXT,
        ),
        results=_list(
            _has(
                source_file=TEXT,
                status={"type": "string", "enum": ["success", "failure"]},
                outcome=_one_of(Outcome),
                chunks_added=COUNT,
                chunks_skipped=COUNT,
                message=TEXT,
                processing_time_ms=COUNT,
            )
        ),
    ),
    "Reply": _has(**_REPLY),
    "Unanswered": {
        **_has(*_REPLY, error=_ERROR, **_REPLY),
        "description": "Where passages fit and no model answers from them, they are here all the same.",
    },
    "Reference": _has(
        number={"type": "integer", "minimum": 1},
        vault=TEXT,
        rel_path=TEXT,
        heading_path=TEXT,
        chunk_index=COUNT,
        id=TEXT,
        title=TEXT,
        file_type=TEXT,
        start_line=COUNT,
        end_line=COUNT,
        anchor_type=TEXT,
        anchor_ref=TEXT,
        content=TEXT,
        private=YES_NO,
        spans=SPANS,
        cited=YES_NO,
        score={"type": "number", "minimum": 0, "maximum": 1},
        relevant={**YES_NO, "description": "Whether it is good enough; otherwise it is a near miss."},
        link=TEXT,
    ),
    "Statement": _has(
        lead=TEXT,
        text=TEXT,
        support=_one_of(Support),
        references=_list(COUNT),
        quotes=_list(_has(start=COUNT, end=COUNT, holds=YES_NO, reference=COUNT)),
        removed=COUNT,
    ),
}
