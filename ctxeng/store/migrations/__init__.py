"""Versioned schema: numbered SQL files, applied once, in order, under an advisory lock."""

from __future__ import annotations

from importlib.resources import files

import psycopg
from psycopg import errors, sql

from ctxeng.core.errors import StoreError

LOCK = 0x63747865  # any constant of our own: two processes that migrate at once take turns
LATEST = 4


async def migrate(connection: psycopg.AsyncConnection[tuple[object, ...]]) -> None:
    """Bring the database's schema up to date; do nothing when it is.

    Raises:
        StoreError: the database was made by a newer version of ctxeng.
    """
    await connection.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
    try:
        async with connection.transaction():
            await connection.execute(
                "CREATE TABLE IF NOT EXISTS schema_version "
                "(version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
            )
            cursor = await connection.execute(
                "SELECT coalesce(max(version), 0) FROM schema_version"
            )
            row = await cursor.fetchone()
            current = int(str(row[0])) if row else 0
            if current > LATEST:
                raise StoreError(
                    f"schema version must be at most {LATEST}, got {current}. Upgrade ctxeng."
                )
            for version in range(current + 1, LATEST + 1):
                await _apply(connection, version)
    finally:
        await connection.execute("SELECT pg_advisory_unlock(%s)", (LOCK,))


async def _apply(connection: psycopg.AsyncConnection[tuple[object, ...]], version: int) -> None:
    vector = await ensure_extension(connection, "vector")
    for name in sorted(entry.name for entry in files(__name__).iterdir()):
        if not (name.startswith(f"{version:04d}_") and name.endswith(".sql")):
            continue
        if name.endswith("_vector.sql") and not vector:
            continue
        await connection.execute(files(__name__).joinpath(name).read_text("utf-8").encode())
    await connection.execute("INSERT INTO schema_version (version) VALUES (%s)", (version,))


async def ensure_extension(
    connection: psycopg.AsyncConnection[tuple[object, ...]], name: str
) -> bool:
    """Return whether the database has an extension; made where the server and the role allow it."""
    cursor = await connection.execute(
        "SELECT 1 FROM pg_available_extensions WHERE name = %s", (name,)
    )
    if await cursor.fetchone() is None:
        return False
    try:
        async with connection.transaction():
            wanted = sql.SQL("CREATE EXTENSION IF NOT EXISTS {}").format(sql.Identifier(name))
            await connection.execute(wanted)
    except (errors.InsufficientPrivilege, errors.UniqueViolation):  # or made by somebody just now
        pass
    cursor = await connection.execute("SELECT 1 FROM pg_extension WHERE extname = %s", (name,))
    return await cursor.fetchone() is not None
