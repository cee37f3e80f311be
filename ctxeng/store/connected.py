"""What every part of the store stands on: pooled connections, and errors in our own words."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg_pool import AsyncConnectionPool

from ctxeng.core.errors import StoreError
from ctxeng.core.protocols import CallRecord
from ctxeng.store import builds, queue
from ctxeng.store.messages import Connection
from ctxeng.store.opening import Capabilities, reason


class Connected:
    """A database that is open."""

    def __init__(
        self,
        pool: AsyncConnectionPool[Connection],
        *,
        capabilities: Capabilities,
        dsn: str,
        workspace: Path | None,
        enqueue: bool = False,
        calls: CallRecord | None = None,
    ) -> None:
        self._pool = pool
        self._calls = calls
        self._workspace = workspace
        self._enqueues = enqueue
        self._notes = builds.Notes(pool)
        self.dsn = dsn
        self.capabilities = capabilities

    async def _enqueue(self, connection: Connection, conversation_id: str) -> None:
        if self._enqueues:
            await queue.enqueue(connection, conversation_id, queue.ON_WRITE)

    async def _one(self, query: str, *parameters: Any) -> tuple[Any, ...] | None:
        async with self._connection() as connection:
            cursor = await connection.execute(query.encode(), parameters)
            return await cursor.fetchone()

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Connection]:
        try:
            async with self._pool.connection() as connection:
                yield connection
        except (psycopg.Error, UnicodeEncodeError) as error:
            raise StoreError(f"database must accept the request, got: {reason(error)}.") from error

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[Connection]:
        async with self._connection() as connection, connection.transaction():
            yield connection
