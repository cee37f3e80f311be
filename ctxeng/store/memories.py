"""What is remembered of a user or a project beyond one conversation, and its vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ctxeng.core.artifacts import MemoryItem
from ctxeng.core.protocols import Vectors
from ctxeng.store import artifacts
from ctxeng.store.index import literal
from ctxeng.store.messages import Connection

# active items of the newest snapshot of every conversation, of scope user and project
_SHARED = """
    FROM user_memories m JOIN (
        SELECT conversation_id, max(version) AS version FROM memory_snapshots
        WHERE status <> 'stale'
        AND (%(before)s::timestamptz IS NULL OR created_at <= %(before)s)
        GROUP BY conversation_id) newest USING (conversation_id, version)
    JOIN memory_snapshots s USING (conversation_id, version)
"""
_ITEM = (
    "m.item_id, m.kind, m.body, m.scope, m.status, m.speaker, m.confidence_share, "
    "m.superseded_by, '{}'::int[]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedMemory:
    """An item of another conversation; ``score`` is its cosine to the question, None: not asked."""

    item: MemoryItem
    artifact_id: str
    score: float | None


async def unembedded(connection: Connection, conversation_id: str) -> list[tuple[int, str, str]]:
    """Return version, item id and text of the newest snapshot's shared items without a vector."""
    cursor = await connection.execute(
        f"SELECT m.version, m.item_id, m.body {_SHARED} "
        "LEFT JOIN memory_embeddings e USING (conversation_id, version, item_id) "
        "WHERE m.conversation_id = %(id)s AND m.scope <> 'conversation' AND m.status = 'active' "
        "AND e.item_id IS NULL ORDER BY m.place".encode(),
        {"id": conversation_id, "before": None},
    )
    return [(row[0], row[1], row[2]) for row in await cursor.fetchall()]


async def embed(
    connection: Connection, conversation_id: str, rows: Sequence[tuple[int, str, Vectors]]
) -> None:
    """Store vectors of items; one whose snapshot is gone is let be."""
    async with connection.cursor() as writer:
        await writer.executemany(
            "INSERT INTO memory_embeddings SELECT conversation_id, version, item_id, %s::vector "
            "FROM user_memories WHERE (conversation_id, version, item_id) = (%s, %s, %s) "
            "ON CONFLICT DO NOTHING",
            [(literal(v), conversation_id, version, item) for version, item, v in rows],
        )


async def shared(
    connection: Connection,
    *,
    user_id: str | None,
    project_id: str | None,
    beside: str,
    vector: Vectors | None,
    before: datetime | None,
    limit: int,
) -> list[SharedMemory]:
    """Return what other conversations remember of the user and the project.

    Args:
        beside: the conversation that asks; its own memory is not searched.
        vector: nearest first by cosine, items without a vector left out; None: newest first.
        before: only what was remembered by then.
    """
    asked = vector is not None
    near = "1 - (e.embedding <=> %(vector)s::vector)" if asked else "NULL::float"
    join = "JOIN memory_embeddings e USING (conversation_id, version, item_id)" if asked else ""
    order = "score DESC" if asked else "m.created_at DESC"
    arguments: dict[str, Any] = {
        "user": user_id,
        "project": project_id,
        "beside": beside,
        "vector": literal(vector) if vector is not None else None,
        "before": before,
        "limit": limit,
    }
    cursor = await connection.execute(
        f"SELECT {_ITEM}, s.artifact_id, {near} AS score {_SHARED} {join} "
        "WHERE m.status = 'active' AND m.conversation_id <> %(beside)s "
        "AND ((m.scope = 'user' AND m.user_id = %(user)s) "
        "OR (m.scope = 'project' AND m.project_id = %(project)s)) "
        f"ORDER BY {order}, m.conversation_id, m.place LIMIT %(limit)s".encode(),
        arguments,
    )
    return [
        SharedMemory(item=artifacts.item_of(row[:9]), artifact_id=row[9], score=row[10])
        for row in await cursor.fetchall()
    ]
