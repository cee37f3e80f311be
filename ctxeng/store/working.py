"""The store's part on production: its jobs, what it built, and whether all is as it must be."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ctxeng.store import audit, builds, deletion, embedded, queue
from ctxeng.store.connected import Connected
from ctxeng.store.fingerprints import Known


class Production(Connected):
    """Jobs, notes on builds, and the audit."""

    async def defer(self, conversation_ids: Sequence[str], tasks: Sequence[queue.Task]) -> None:
        """Let tasks wait for conversations; the store must have been opened with ``enqueue``."""
        async with self._transaction() as connection:
            for conversation_id in conversation_ids:
                await queue.enqueue(connection, conversation_id, tasks)

    async def revive(self) -> None:
        """Start the embedded server again if it has died; any other is its operator's to start.

        Raises:
            StoreError: it does not come up.
        """
        if self._workspace is not None:
            await asyncio.to_thread(embedded.revive, self._workspace)

    async def backlog(self) -> list[queue.Backlog]:
        """Return what waits, runs and has failed, by task."""
        async with self._connection() as connection:
            return await queue.backlog(connection)

    async def live_workers(self) -> int:
        """Return how many workers have been heard of within half a minute."""
        async with self._connection() as connection:
            return await queue.live_workers(connection)

    def note_build(self, conversation_id: str, *, as_of: int, skipped: Sequence[str]) -> None:
        """Note that production built a prompt, and which compactions were late; does not wait."""
        self._notes.add(conversation_id, as_of, skipped)

    async def skip_rates(self, *, hours: float = 24) -> builds.SkipRates:
        """Return how many prompts of the last hours were built while compaction was late."""
        await self._notes.flush()
        async with self._connection() as connection:
            return await builds.skip_rates(connection, hours=hours)

    async def verify(self) -> list[audit.Finding]:
        """Return what is not as it must be; empty for a sound database."""
        async with self._connection() as connection:
            found = await audit.findings(connection, vectors=self.capabilities.vector)
            known = await deletion.deleted_words(connection)
            return [*found, *await deletion.remains(connection, known)]

    async def deleted_words(self) -> Known:
        """Return what the words of deleted users are recognised by."""
        async with self._connection() as connection:
            return await deletion.deleted_words(connection)

    async def forget_deletions(self) -> int:
        """Remove the fingerprints of deleted words; return how many deletions they were of."""
        async with self._transaction() as connection:
            return await deletion.forget(connection)
