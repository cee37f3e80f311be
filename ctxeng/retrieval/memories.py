"""What other conversations remember of the user, found by the question."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from ctxeng.core.protocols import Embedder, Vectors
from ctxeng.store import Conversation, Store
from ctxeng.store.memories import SharedMemory

LIMIT = 12


class SharedMemories:
    """Searches memory of scope user and project by embedding; newest first without vectors."""

    def __init__(self, store: Store, embedder: Embedder | None) -> None:
        self._store = store
        self._embedder = embedder if store.capabilities.vector else None

    async def index_due(self, conversation_id: str) -> int:
        """Embed what a conversation newly shares; return how many items."""
        if self._embedder is None:
            return 0
        due = await self._store.unembedded_memories(conversation_id)
        if due:
            rows = await asyncio.to_thread(self._rows, [text for _, _, text in due])
            await self._store.embed_memories(
                conversation_id,
                [(v, i, row) for (v, i, _), row in zip(due, rows, strict=True) if np.any(row)],
            )
        return len(due)

    async def relevant(
        self, head: Conversation, question: str, *, as_of: int | None
    ) -> list[SharedMemory]:
        """Return the items nearest to a question, nearest first.

        Args:
            as_of: seq of the asking conversation: what was remembered elsewhere by the moment that
                message was stored; None: by now.
        """
        if head.user_id is None and head.project_id is None:
            return []
        before: datetime | None = None
        if as_of is not None:
            before = await self._store.stored_at(head.conversation_id, as_of)
            if before is None:
                return []
        vector: Vectors | None = None
        if self._embedder is not None:
            if not question.strip():
                return []
            embedder = self._embedder
            vector = (await asyncio.to_thread(embedder.embed, [question], kind="query"))[0]
            if not np.any(vector):
                return []
        return await self._store.shared_memories(
            user_id=head.user_id,
            project_id=head.project_id,
            beside=head.conversation_id,
            vector=vector,
            before=before,
            limit=LIMIT,
        )

    def _rows(self, texts: Sequence[str]) -> Vectors:
        assert self._embedder is not None
        return self._embedder.embed(texts, kind="passage")
