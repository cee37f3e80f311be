"""Open a database: make it, bring its schema up to date, and see what the server can do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import orjson
import psycopg
from psycopg import sql
from psycopg.types.json import set_json_loads
from psycopg_pool import AsyncConnectionPool

from ctxeng.core.errors import EmbedderMismatch, StoreError
from ctxeng.store import migrations
from ctxeng.store import queue as jobs
from ctxeng.store.messages import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What the server can do; detected when the store is opened."""

    vector: bool
    trigram: bool
    server_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingSpec:
    """Which embedder's vectors the index holds."""

    embedder_id: str
    dimensions: int


async def ensure_database(admin_dsn: str, name: str) -> None:
    """Make a database on a server unless it is there; its name is a plain one."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,62}", name):
        raise StoreError(f"database must be a plain name, got {name!r}.")
    async with await psycopg.AsyncConnection.connect(admin_dsn, autocommit=True) as connection:
        cursor = await connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,))
        if await cursor.fetchone():
            return
        try:
            await connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        except (psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
            return  # another process made it between the two statements


async def configure(connection: Connection, *, disposable: bool) -> None:
    """Set up a new connection of the pool."""
    set_json_loads(orjson.loads, connection)
    if disposable:
        await connection.execute("SET synchronous_commit = off")


@contextmanager
def reachable() -> Iterator[None]:
    """Turn every failure of the database within the block into a StoreError."""
    try:
        yield
    except psycopg.Error as error:
        raise StoreError(
            f"database must be reachable, got: {reason(error)}. Check CTXENG_DATABASE_URL, "
            "or unset it to use the embedded server."
        ) from None


def reason(error: Exception) -> str:
    """Return an error's first line, which holds no row and no password."""
    if isinstance(error, psycopg.ProgrammingError) and error.sqlstate is None:
        return "a connection string that cannot be read"
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


async def prepare(
    pool: AsyncConnectionPool[Connection],
    dsn: str,
    embedding: EmbeddingSpec | None,
    *,
    queue: bool = False,
) -> Capabilities:
    """Bring the schema up to date, look at the embedder, fill the pool; return what is there."""
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        await migrations.migrate(connection)
        if queue:
            await jobs.ensure_schema(connection)
        capabilities = await _capabilities(connection)
        if embedding is not None:
            await _check_embedder(connection, embedding)
    await pool.open(wait=True, timeout=30)
    return capabilities


async def _capabilities(connection: Connection) -> Capabilities:
    cursor = await connection.execute("SELECT to_regclass('message_embeddings') IS NOT NULL")
    row = await cursor.fetchone()
    trigram = await migrations.ensure_extension(connection, "pg_trgm")
    return Capabilities(
        vector=bool(row and row[0]), trigram=trigram, server_version=connection.info.server_version
    )


async def _check_embedder(connection: Connection, wanted: EmbeddingSpec) -> None:
    mine = f"{wanted.embedder_id} ({wanted.dimensions} dimensions)"
    cursor = await connection.execute(
        "INSERT INTO settings (name, value) VALUES ('embedder', %s) "
        "ON CONFLICT (name) DO UPDATE SET value = settings.value RETURNING value",
        (mine,),
    )
    row = await cursor.fetchone()
    if row is not None and row[0] != mine:
        raise EmbedderMismatch(
            f"embedder must be the index's own, {row[0]}, got {mine}. "
            "Use that embedder, or open another database."
        )
