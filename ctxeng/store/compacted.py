"""The store's part on what was made from messages: artifacts and memories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from ctxeng.core.artifacts import Artifact, ArtifactKind, MemoryItem
from ctxeng.core.protocols import Vectors
from ctxeng.store import artifacts as artifact_queries
from ctxeng.store import memories
from ctxeng.store.connected import Connected
from ctxeng.store.messages import check_unedited


class Artifacts(Connected):
    """Summaries, episodes, nodes and memories, in every version."""

    async def artifacts(
        self, conversation_id: str, *, as_of: int, kinds: Iterable[ArtifactKind] | None = None
    ) -> list[Artifact]:
        """Return what a prompt built at ``as_of`` may use: visible, not superseded, not stale."""
        async with self._connection() as connection:
            return await artifact_queries.read(
                connection, conversation_id, as_of=as_of, kinds=kinds
            )

    async def all_artifacts(
        self, conversation_id: str, *, kinds: Iterable[ArtifactKind] | None = None
    ) -> list[Artifact]:
        """Return every version ever written."""
        async with self._connection() as connection:
            return await artifact_queries.read(connection, conversation_id, as_of=None, kinds=kinds)

    async def latest(self, conversation_id: str, kind: ArtifactKind) -> Artifact | None:
        """Return the newest rolling summary or memory snapshot, visible or not."""
        async with self._connection() as connection:
            return await artifact_queries.latest(connection, conversation_id, kind)

    async def insert_rolling(
        self, artifact: Artifact, *, expected_version: int, read_at_stamp: int | None = None
    ) -> None:
        """Insert the next rolling summary; raises Conflict when the race is lost.

        Args:
            expected_version: the newest version known to the writer, stale ones included.
            read_at_stamp: the conversation's stamp when its messages were read: an edit or
                redaction since then loses the race too. None: not checked.
        """
        async with self._transaction() as connection:
            await artifact_queries.insert_version(
                connection,
                artifact,
                expected_version=expected_version,
                read_at_stamp=read_at_stamp,
            )

    async def insert_memory(
        self, artifact: Artifact, *, expected_version: int, read_at_stamp: int | None = None
    ) -> None:
        """Insert the next memory snapshot; as :meth:`insert_rolling`."""
        await self.insert_rolling(
            artifact, expected_version=expected_version, read_at_stamp=read_at_stamp
        )

    async def insert_nodes(
        self, artifacts: Sequence[Artifact], *, read_at_stamp: int | None = None
    ) -> None:
        """Insert episodes or nodes, all or none; raises Conflict when a range exists.

        ``read_at_stamp``: as for :meth:`insert_rolling`.
        """
        async with self._transaction() as connection:
            await artifact_queries.insert_nodes(connection, artifacts, read_at_stamp=read_at_stamp)

    async def insert_generation(
        self, artifacts: Sequence[Artifact], *, read_at_stamp: int | None = None
    ) -> None:
        """Insert what replaces older generations, children first, all or none.

        The old ones stay visible up to the moment the new ones are; raises Conflict when something
        was written meanwhile that the new ones do not know. ``read_at_stamp``: as above.
        """
        async with self._transaction() as connection:
            await artifact_queries.insert_generation(
                connection, artifacts, read_at_stamp=read_at_stamp
            )

    async def check_unedited(self, conversation_id: str, *, read_at_stamp: int) -> None:
        """Raise Conflict where an artifact made of what was read then would lose the race."""
        async with self._transaction() as connection:
            await check_unedited(connection, conversation_id, read_at_stamp)

    async def makers(self) -> list[artifact_queries.Maker]:
        """Return by whom the current artifacts of every conversation were made."""
        async with self._connection() as connection:
            return await artifact_queries.makers(connection)

    async def mark_stale(self, artifact_ids: Sequence[str]) -> None:
        """Mark artifacts as no longer true to their source, as of any seq."""
        async with self._transaction() as connection:
            await artifact_queries.mark_stale(connection, artifact_ids)

    async def user_memories(
        self, user_id: str, *, before: datetime | None = None
    ) -> list[MemoryItem]:
        """Return a user's active items of scope user, from each conversation's newest snapshot."""
        async with self._connection() as connection:
            cursor = await connection.execute(
                "SELECT m.item_id, m.kind, m.body, m.scope, m.status, m.speaker, "
                "m.confidence_share, m.superseded_by, '{}'::int[] FROM user_memories m "
                "JOIN (SELECT conversation_id, max(version) AS version FROM memory_snapshots "
                "WHERE status <> 'stale' "
                "AND (%(before)s::timestamptz IS NULL OR created_at <= %(before)s) "
                "GROUP BY conversation_id) newest USING (conversation_id, version) "
                "WHERE m.user_id = %(user)s AND m.scope = 'user' AND m.status = 'active' "
                "ORDER BY m.created_at, m.place",
                {"user": user_id, "before": before},
            )
            return [artifact_queries.item_of(row) for row in await cursor.fetchall()]

    async def unembedded_memories(self, conversation_id: str) -> list[tuple[int, str, str]]:
        """Return version, item id and text of shared items that have no vector yet."""
        async with self._connection() as connection:
            return await memories.unembedded(connection, conversation_id)

    async def embed_memories(
        self, conversation_id: str, rows: Sequence[tuple[int, str, Vectors]]
    ) -> None:
        """Store vectors of memory items: version, item id, ``(dimensions,)`` float32."""
        async with self._transaction() as connection:
            await memories.embed(connection, conversation_id, rows)

    async def shared_memories(
        self,
        *,
        user_id: str | None,
        project_id: str | None,
        beside: str,
        vector: Vectors | None,
        before: datetime | None,
        limit: int,
    ) -> list[memories.SharedMemory]:
        """Return what other conversations remember; see :func:`ctxeng.store.memories.shared`."""
        async with self._connection() as connection:
            return await memories.shared(
                connection,
                user_id=user_id,
                project_id=project_id,
                beside=beside,
                vector=vector,
                before=before,
                limit=limit,
            )
