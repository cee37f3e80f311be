"""The store: one object per database, safe to share between tasks."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from psycopg_pool import AsyncConnectionPool

from ctxeng.core.protocols import CallRecord
from ctxeng.store import embedded
from ctxeng.store.compacted import Artifacts
from ctxeng.store.conversing import Conversations
from ctxeng.store.messages import Connection
from ctxeng.store.opening import EmbeddingSpec, configure, ensure_database, prepare, reachable
from ctxeng.store.searched import SearchIndex
from ctxeng.store.working import Production

DEFAULT_DATABASE = "ctxeng"


class Store(Conversations, Artifacts, SearchIndex, Production):
    """Conversations in Postgres. Open with :meth:`open`, close with :meth:`close`."""

    @classmethod
    async def open(
        cls,
        dsn: str | None = None,
        *,
        workspace: Path | str = ".",
        embedding: EmbeddingSpec | None = None,
        database: str | None = None,
        disposable: bool = False,
        enqueue: bool = False,
        calls: CallRecord | None = None,
        max_connections: int = 10,
    ) -> Store:
        """Open a database, bringing its schema up to date.

        Args:
            dsn: a server's connection string; None: ``CTXENG_DATABASE_URL``, else the embedded
                server of ``workspace``.
            embedding: refuse an index that holds another embedder's vectors.
            database: name of a database on the embedded server (made when absent).
            disposable: the data may be lost on a crash (replays): commits do not wait for disk.
            enqueue: save with every write the jobs that ``ctxeng worker`` does for it.
            calls: the ledger, from which a deletion takes the calls that hold the words. Without
                it a worker does that (:meth:`forget_calls`).

        Raises:
            StoreError: the server is unreachable or cannot be started.
            EmbedderMismatch: the index holds vectors of another embedder.
        """
        dsn = dsn or os.environ.get("CTXENG_DATABASE_URL") or None
        async with AsyncExitStack() as undo:
            home: Path | None = None
            if dsn is None:
                home = Path(workspace)
                layout = await asyncio.to_thread(embedded.attach, home)
                undo.push_async_callback(asyncio.to_thread, embedded.detach, home)
                dsn = layout.dsn(database or DEFAULT_DATABASE)
                with reachable():
                    await ensure_database(layout.dsn("postgres"), database or DEFAULT_DATABASE)
            pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
                dsn,
                min_size=1,
                max_size=max_connections,
                open=False,
                configure=partial(configure, disposable=disposable),
                kwargs={"autocommit": True, "prepare_threshold": 2},
            )
            undo.push_async_callback(pool.close)
            with reachable():
                capabilities = await prepare(pool, dsn, embedding, queue=enqueue)
            undo.pop_all()
            return cls(pool, capabilities=capabilities, dsn=dsn, workspace=home, enqueue=enqueue,
                       calls=calls)  # fmt: skip

    async def close(self) -> None:
        """Close the connections; the embedded server stops with its last user."""
        await self._notes.flush()
        await self._pool.close()
        if self._workspace is not None:
            await asyncio.to_thread(embedded.detach, self._workspace)
            self._workspace = None

    async def __aenter__(self) -> Store:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
