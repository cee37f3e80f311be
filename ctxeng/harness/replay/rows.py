"""Turn contexts, artifacts, sessions and probes into table rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from ctxeng.core.artifacts import Artifact
from ctxeng.core.context import Block, Context
from ctxeng.core.messages import Message, Session
from ctxeng.harness.probes.model import Probe


def packed(value: Any) -> str:
    """Return compact JSON text."""
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY, default=str).decode()


def relative_id(artifact_id: str, conversation_id: str) -> str:
    """Return an artifact id without its conversation, so that runs can be compared."""
    return artifact_id.removeprefix(f"{conversation_id}/")


def context_row(context: Context, probe: Probe, *, build_seconds: float) -> dict[str, Any]:
    """Return the contexts-table row: every block's provenance, texts by reference.

    A text is written out only where no other table holds it: system text, shortened messages.
    """
    return {
        "probe_id": probe.probe_id,
        "as_of": context.as_of,
        "tokens": context.tokens,
        "budget_tokens": context.budget_tokens,
        "reserve_tokens": context.reserve_tokens,
        "blocks": packed([_block(block, context) for block in context.blocks]),
        "left_out": packed(
            [
                {
                    "kind": out.kind,
                    "reason": out.reason,
                    "tokens": out.tokens,
                    "seqs": out.message_seqs,
                    "artifacts": [
                        relative_id(a, context.conversation_id) for a in out.artifact_ids
                    ],
                    "detail": out.detail,
                }
                for out in context.left_out
            ]
        ),
        "gap_seqs": packed(context.gap_seqs),
        "retrieval": packed(dict(context.retrieval)),
        "skipped": packed(context.skipped),
        "build_seconds": build_seconds,
    }


def artifact_rows(artifacts: Iterable[Artifact]) -> list[dict[str, Any]]:
    """Return the artifacts-table rows, ids relative to the conversation."""
    return [_artifact(artifact) for artifact in artifacts]


def message_rows(session: Session, messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the messages-table rows: what was said, as the store kept it."""
    return [
        {
            "session_id": session.session_id,
            "seq": message.seq,
            "role": message.role,
            "speaker": message.speaker,
            "text": message.text,
            "tokens": message.tokens,
            "timestamp": message.timestamp.isoformat() if message.timestamp else None,
        }
        for message in messages
    ]


def probe_row(probe: Probe) -> dict[str, Any]:
    """Return the probes-table row: the ruler that was used."""
    return {
        "probe_id": probe.probe_id,
        "session_id": probe.session_id,
        "question": probe.question,
        "kind": probe.kind,
        "evidence": packed([[span.from_seq, span.to_seq] for span in probe.evidence]),
        "expect": packed(probe.expect),
        "forbid": packed(probe.forbid),
        "answerable": probe.answerable,
        "ask_at_seq": probe.ask_at_seq,
        "language": probe.language,
        "category": probe.category,
    }


def _block(block: Block, context: Context) -> dict[str, Any]:
    row: dict[str, Any] = {
        "kind": block.kind,
        "tokens": block.tokens,
        "seqs": ranges_of(block.message_seqs),
        "artifacts": [relative_id(a, context.conversation_id) for a in block.artifact_ids],
    }
    if block.shortened:
        row["shortened"] = True
    if block.shortened or block.kind in ("system", "now"):  # no other table holds these words
        row["text"] = block.text
    row |= {name: block.meta[name] for name in ("group", "score") if name in block.meta}
    if block.cache_breakpoint:
        row["cache_breakpoint"] = True
    return row


def ranges_of(seqs: Sequence[int]) -> list[list[int]]:
    """Return seqs as runs ``[first, last]``, in the order given."""
    ranges: list[list[int]] = []
    for seq in seqs:
        if ranges and seq == ranges[-1][1] + 1:
            ranges[-1][1] = seq
        else:
            ranges.append([seq, seq])
    return ranges


def _artifact(artifact: Artifact) -> dict[str, Any]:
    plain = (
        "kind",
        "level",
        "from_seq",
        "to_seq",
        "read_from_seq",
        "read_to_seq",
        "visible_from_seq",
        "superseded_from_seq",
        "version",
        "status",
        "text",
        "tokens",
        "model",
        "prompt_hash",
        "lossless",
    )
    conversation = artifact.conversation_id
    return {
        **{name: getattr(artifact, name) for name in plain},
        "artifact_id": relative_id(artifact.artifact_id, conversation),
        "parents": packed([relative_id(parent, conversation) for parent in artifact.parents]),
        "items": packed(artifact.items),
        "meta": packed(dict(artifact.meta)),
    }
