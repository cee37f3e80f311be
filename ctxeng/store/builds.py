"""Notes on the prompts production built: how often compaction was late."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg_pool import AsyncConnectionPool

from ctxeng.store.messages import Connection

_log = logging.getLogger("ctxeng.builds")

_INSERT = """
    INSERT INTO context_builds (conversation_id, as_of, skipped)
    SELECT conversation_id, %s, %s::text[] FROM conversations WHERE conversation_id = %s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipRates:
    """Prompts built within a span of time, and those built while compaction was late.

    ``by_compaction``: skipped builds for each compaction that was late.
    """

    builds: int
    skipped: int
    by_compaction: Mapping[str, int]

    @property
    def share(self) -> float | None:
        """Return skipped builds by all builds, 0..1; None without builds."""
        return self.skipped / self.builds if self.builds else None


class Notes:
    """Writes notes behind the caller's back: a prompt does not wait for its own bookkeeping."""

    def __init__(self, pool: AsyncConnectionPool[Connection]) -> None:
        self._pool = pool
        self._waiting: list[tuple[int, list[str], str]] = []
        self._writer: asyncio.Task[None] | None = None

    def add(self, conversation_id: str, as_of: int, skipped: Sequence[str]) -> None:
        """Take a note; it is written soon."""
        self._waiting.append((as_of, list(skipped), conversation_id))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.get_running_loop().create_task(self._write())

    async def flush(self) -> None:
        """Wait until every note is written."""
        if self._writer is not None:
            await self._writer

    async def _write(self) -> None:
        while self._waiting:
            rows, self._waiting = self._waiting, []
            try:
                async with self._pool.connection() as connection, connection.cursor() as cursor:
                    await cursor.executemany(_INSERT, rows)
            except psycopg.Error as error:
                _log.warning("%d notes on builds are lost: %s", len(rows), error)


async def skip_rates(connection: Connection, *, hours: float) -> SkipRates:
    """Return the rates of the last hours."""
    since: dict[str, Any] = {"hours": hours}
    span = "built_at >= now() - make_interval(secs => %(hours)s * 3600)"
    cursor = await connection.execute(
        "SELECT count(*), count(*) FILTER (WHERE cardinality(skipped) > 0) "
        f"FROM context_builds WHERE {span}".encode(),
        since,
    )
    row = await cursor.fetchone()
    cursor = await connection.execute(
        "SELECT name, count(*) FROM context_builds, unnest(skipped) AS name "
        f"WHERE {span} GROUP BY name ORDER BY name".encode(),
        since,
    )
    return SkipRates(
        builds=row[0] if row else 0,
        skipped=row[1] if row else 0,
        by_compaction={name: count for name, count in await cursor.fetchall()},
    )
