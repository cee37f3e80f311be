"""The store's part on the search index; analysing and embedding is not its business."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ctxeng.core.messages import Message
from ctxeng.core.protocols import Vectors
from ctxeng.store import index
from ctxeng.store import messages as message_queries
from ctxeng.store.connected import Connected
from ctxeng.store.index import Hit, IndexEntry


class SearchIndex(Connected):
    """Messages by meaning, by words and by letters."""

    async def unindexed(self, conversation_id: str, *, limit: int = 256) -> list[Message]:
        """Return the oldest messages that are not indexed yet."""
        async with self._connection() as connection:
            return await index.unindexed(connection, conversation_id, limit=limit)

    async def index(
        self,
        conversation_id: str,
        entries: Sequence[IndexEntry],
        *,
        read_at_stamp: int | None = None,
    ) -> None:
        """Write index entries; indexing a message again replaces its entry.

        Args:
            read_at_stamp: the conversation's stamp when its messages were read: an edit or
                redaction since then raises Conflict. None: not checked.
        """
        if not entries:
            return
        async with self._transaction() as connection:
            await message_queries.check_unedited(connection, conversation_id, read_at_stamp)
            await index.write(
                connection, conversation_id, entries, vectors=self.capabilities.vector
            )

    async def search_semantic(
        self,
        conversation_id: str,
        vector: Vectors,
        *,
        as_of: int,
        limit: int,
        exclude: Collection[int] = (),
    ) -> list[Hit]:
        """Return the nearest messages by cosine; empty where the server has no pgvector."""
        if not self.capabilities.vector:
            return []
        async with self._connection() as connection:
            return await index.search_semantic(
                connection, conversation_id, vector, as_of=as_of, limit=limit, exclude=exclude
            )

    async def search_lexical(
        self,
        conversation_id: str,
        terms: Sequence[str],
        *,
        as_of: int,
        limit: int,
        exclude: Collection[int] = (),
    ) -> list[Hit]:
        """Return the best messages by BM25, statistics as of ``as_of``."""
        async with self._connection() as connection:
            return await index.search_lexical(
                connection, conversation_id, terms, as_of=as_of, limit=limit, exclude=exclude
            )

    async def search_trigram(
        self,
        conversation_id: str,
        text: str,
        *,
        as_of: int,
        limit: int,
        exclude: Collection[int] = (),
    ) -> list[Hit]:
        """Return messages by trigram similarity; empty where the server has no pg_trgm."""
        if not self.capabilities.trigram:
            return []
        async with self._connection() as connection:
            return await index.search_trigram(
                connection, conversation_id, text, as_of=as_of, limit=limit, exclude=exclude
            )
