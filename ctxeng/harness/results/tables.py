"""The tables of a run: their columns, units and Parquet types. Schema version 2.

History of the schema:
    1  first version
    2  contexts of every summariser replicate, with their own texts; inputs, paraphrases,
       rounds and wordings
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_VERSION = 2

# bucket: position under the reference arm; arm_bucket: under the cell's own arm.
# depth: 0..1, where in the session the statement begins. tokens_from_end: tokens after it.
# *_in_context, value_in_artifact: see the module ``presence``; None is "not defined here".
CELLS: dict[str, str] = {
    "run_id": "string",
    "arm": "string",
    "is_control": "bool",
    "session_id": "string",
    "probe_id": "string",
    "replicate": "int32",
    "summariser_replicate": "int32",
    "reader_replicate": "int32",
    "judge_replicate": "int32",
    "kind": "string",
    "category": "string",
    "language": "string",
    "answerable": "bool",
    "bucket": "string",
    "arm_bucket": "string",
    "distilled": "bool",
    "tail": "bool",
    "retrieved": "bool",
    "evicted": "bool",
    "depth": "float64",
    "tokens_from_end": "int64",
    "rounds": "int32",
    "value_in_context": "bool",
    "evidence_in_context": "float64",
    "value_in_artifact": "bool",
    "outcome": "string",
    "literal_verdict": "string",
    "literal_rule": "string",
    "judge_verdict": "string",
    "judged_by": "string",
    "audited": "bool",
    "loss_stage": "string",
    "answer": "string",
    "verbose": "bool",
    "context_tokens": "int64",
    "full_tokens": "int64",
    "differs_from_full": "bool",
    "error": "string",
}

CONTEXTS: dict[str, str] = {
    "run_id": "string",
    "arm": "string",
    "session_id": "string",
    "probe_id": "string",
    "replicate": "int32",
    "as_of": "int32",
    "tokens": "int64",
    "budget_tokens": "int64",
    "reserve_tokens": "int64",
    "blocks": "string",
    "left_out": "string",
    "gap_seqs": "string",
    "retrieval": "string",
    "skipped": "string",
    "build_seconds": "float64",
}

ARTIFACTS: dict[str, str] = {
    "run_id": "string",
    "arm": "string",
    "session_id": "string",
    "replicate": "int32",
    "artifact_id": "string",
    "kind": "string",
    "level": "int32",
    "from_seq": "int32",
    "to_seq": "int32",
    "read_from_seq": "int32",
    "read_to_seq": "int32",
    "parents": "string",
    "visible_from_seq": "int64",
    "superseded_from_seq": "int64",
    "version": "int32",
    "status": "string",
    "text": "string",
    "items": "string",
    "tokens": "int64",
    "model": "string",
    "prompt_hash": "string",
    "lossless": "bool",
    "meta": "string",
}

# What a summariser or distiller was handed, in the order of asking; texts by reference: ``seqs``
# are messages of the session, ``cut`` holds those that were shortened to fit. ``text`` is what came
# back, before the guards looked at it.
INPUTS: dict[str, str] = {
    "run_id": "string",
    "arm": "string",
    "session_id": "string",
    "replicate": "int32",
    "kind": "string",
    "level": "int32",
    "from_seq": "int32",
    "to_seq": "int32",
    "seqs": "string",
    "cut": "string",
    "text": "string",
    "error": "string",
}

# Each literal fact in each rewrite of the summary that should carry it; round 1 is the first.
ROUNDS: dict[str, str] = {
    "run_id": "string",
    "arm": "string",
    "session_id": "string",
    "replicate": "int32",
    "probe_id": "string",
    "kind": "string",
    "round": "int32",
    "artifact_id": "string",
    "is_present": "bool",
    "was_present": "bool",
}

# Each artifact's language beside its source's; how many values it has, and which of them no
# message contains (a JSON list; a value counts in the first artifact that has it).
WORDINGS: dict[str, str] = {
    "run_id": "string",
    "arm": "string",
    "session_id": "string",
    "replicate": "int32",
    "artifact_id": "string",
    "kind": "string",
    "language": "string",
    "source_language": "string",
    "values": "int32",
    "invented": "string",
}

# What the optional judge of artifacts said: the artifact states the probe's fact in other words.
PARAPHRASES: dict[str, str] = {
    "run_id": "string",
    "arm": "string",
    "session_id": "string",
    "replicate": "int32",
    "probe_id": "string",
    "artifact_id": "string",
    "states_it": "bool",
    "reason": "string",
    "model": "string",
}

# answered_by: the model id that the response names, which is not always the one asked for.
CALLS: dict[str, str] = {
    "run_id": "string",
    "arm": "string",
    "session_id": "string",
    "role": "string",
    "model": "string",
    "answered_by": "string",
    "prompt_id": "string",
    "replicate": "int32",
    "key": "string",
    "input_tokens": "int64",
    "cached_tokens": "int64",
    "cache_write_tokens": "int64",
    "output_tokens": "int64",
    "cost_usd": "float64",
    "latency_seconds": "float64",
    "from_ledger": "bool",
    "error": "string",
}

FAILURES: dict[str, str] = {
    "run_id": "string",
    "arm": "string",
    "session_id": "string",
    "kind": "string",
    "reason": "string",
    "at_seq": "int32",
}

MESSAGES: dict[str, str] = {
    "run_id": "string",
    "session_id": "string",
    "seq": "int32",
    "role": "string",
    "speaker": "string",
    "text": "string",
    "tokens": "int64",
    "timestamp": "string",
}

PROBES: dict[str, str] = {
    "run_id": "string",
    "probe_id": "string",
    "session_id": "string",
    "question": "string",
    "kind": "string",
    "evidence": "string",
    "expect": "string",
    "forbid": "string",
    "answerable": "bool",
    "ask_at_seq": "int32",
    "language": "string",
    "category": "string",
}

TABLES: dict[str, dict[str, str]] = {
    "cells": CELLS,
    "contexts": CONTEXTS,
    "artifacts": ARTIFACTS,
    "inputs": INPUTS,
    "paraphrases": PARAPHRASES,
    "rounds": ROUNDS,
    "wordings": WORDINGS,
    "calls": CALLS,
    "failures": FAILURES,
    "messages": MESSAGES,
    "probes": PROBES,
}

Row = Mapping[str, Any]


def arrow_schema(table: str) -> pa.Schema:
    """Return the Parquet schema of one of our tables, its version in the metadata."""
    import pyarrow as pa

    types = {
        "string": pa.string(),
        "bool": pa.bool_(),
        "int32": pa.int32(),
        "int64": pa.int64(),
        "float64": pa.float64(),
    }
    fields = [pa.field(name, types[kind]) for name, kind in TABLES[table].items()]
    return pa.schema(fields, metadata={"ctxeng.schema_version": str(SCHEMA_VERSION)})


def write_table(path: Path, table: str, rows: Sequence[Row]) -> None:
    """Write rows to a Parquet file; a column a row lacks is null, an unknown column is an error."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = arrow_schema(table)
    unknown = {name for row in rows for name in row} - set(schema.names)
    if unknown:
        raise ValueError(f"columns of {table} must be {schema.names}, got also {sorted(unknown)}.")
    columns = {name: [row.get(name) for row in rows] for name in schema.names}
    pq.write_table(
        pa.Table.from_pydict(columns, schema=schema),
        path,
        compression="zstd",
        write_page_checksum=True,
    )
