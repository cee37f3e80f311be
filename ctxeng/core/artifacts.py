"""Artifacts: what compaction wrote, immutable, with the ranges it was made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

ArtifactKind = Literal["rolling", "episode", "node", "memory"]
ArtifactStatus = Literal["active", "superseded", "stale"]
MemoryKind = Literal[
    "preference",
    "rejection",
    "project",
    "constraint",
    "business_rule",
    "style",
    "repeated_decision",
    "stable_fact",
    "intent",
    "anchor",
]
MemoryScope = Literal["conversation", "project", "user"]
MemoryStatus = Literal["active", "superseded", "retracted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryItem:
    """One remembered fact.

    Args:
        item_id: stable over snapshots while the fact is the same.
        source_seqs: messages the fact was read from (best known range).
        confidence_share: 0..1.
    """

    item_id: str
    kind: MemoryKind
    text: str
    scope: MemoryScope = "conversation"
    status: MemoryStatus = "active"
    speaker: str | None = None
    confidence_share: float = 1.0
    source_seqs: tuple[int, ...] = ()
    superseded_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A rolling summary version, an episode, a summary node, or a memory snapshot.

    Args:
        level: 0 for episodes, 1 and up for nodes built from them; 0 for rolling and memory.
        from_seq, to_seq: core range, inclusive. Core ranges of one kind and level tile the
            compacted history without gaps; a rolling version or memory snapshot covers 0..to_seq.
        read_from_seq, read_to_seq: what the summariser was shown (core plus overlap), inclusive.
        parents: ids of the artifacts this one was made from (the previous rolling version; the
            children of a node; the previous snapshot and the folded episodes of a memory).
        visible_from_seq: first seq as of which a prompt may use it, inclusive.
        version: 1, 2, … within (conversation, kind) for rolling and memory; generation of the
            same range for episodes and nodes (reprocessing makes generation 2).
        superseded_from_seq: first seq as of which a newer version replaces it; None while current.
        lossless: written by a summariser that returns its input (the verbatim control).
        items: memory only: the whole snapshot, superseded items included.
    """

    artifact_id: str
    conversation_id: str
    kind: ArtifactKind
    level: int = 0
    from_seq: int
    to_seq: int
    read_from_seq: int
    read_to_seq: int
    parents: tuple[str, ...] = ()
    visible_from_seq: int
    superseded_from_seq: int | None = None
    version: int = 1
    status: ArtifactStatus = "active"
    text: str
    items: tuple[MemoryItem, ...] = ()
    tokens: int
    model: str
    prompt_hash: str
    lossless: bool = False
    created_at: datetime | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)

    def covers(self, seq: int) -> bool:
        """Return whether ``seq`` lies in the core range."""
        return self.from_seq <= seq <= self.to_seq
