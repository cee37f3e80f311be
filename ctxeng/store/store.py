"""The store: one object per database, safe to share between tasks."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson
import psycopg
from psycopg import sql
from psycopg.types.json import set_json_loads
from psycopg_pool import AsyncConnectionPool

from ctxeng.core.artifacts import Artifact, ArtifactKind, MemoryItem
from ctxeng.core.errors import EmbedderMismatch, StoreError
from ctxeng.core.messages import JsonBlock, Message, Role
from ctxeng.core.protocols import Vectors
from ctxeng.store import artifacts as artifact_queries
from ctxeng.store import embedded, index, migrations
from ctxeng.store import messages as message_queries
from ctxeng.store.index import Hit, IndexEntry
from ctxeng.store.messages import Connection

DEFAULT_DATABASE = "ctxeng"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The head of a conversation.

    ``stamp`` grows by one with every appended message and with every other write. So while it has
    grown by as much as ``last_seq``, nothing but appends has happened: readers cache by that.
    """

    conversation_id: str
    user_id: str | None
    project_id: str | None
    keep_raw: bool
    language: str
    last_seq: int
    stamp: int
    created_at: datetime
    meta: Mapping[str, Any] = field(default_factory=dict)


class Store:
    """Conversations in Postgres. Open with :meth:`open`, close with :meth:`close`."""

    def __init__(
        self,
        pool: AsyncConnectionPool[Connection],
        *,
        capabilities: Capabilities,
        workspace: Path | None,
    ) -> None:
        self._pool = pool
        self._workspace = workspace
        self.capabilities = capabilities

    @classmethod
    async def open(
        cls,
        dsn: str | None = None,
        *,
        workspace: Path | str = ".",
        embedding: EmbeddingSpec | None = None,
        database: str | None = None,
        disposable: bool = False,
        max_connections: int = 10,
    ) -> Store:
        """Open a database, bringing its schema up to date.

        Args:
            dsn: a server's connection string; None: ``CTXENG_DATABASE_URL``, else the embedded
                server of ``workspace``.
            embedding: refuse an index that holds another embedder's vectors.
            database: name of a database on the embedded server (made when absent).
            disposable: the data may be lost on a crash (replays): commits do not wait for disk.

        Raises:
            StoreError: the server is unreachable or cannot be started.
            EmbedderMismatch: the index holds vectors of another embedder.
        """
        dsn = dsn or os.environ.get("CTXENG_DATABASE_URL") or None
        home: Path | None = None
        if dsn is None:
            home = Path(workspace)
            layout = await asyncio.to_thread(embedded.attach, home)
            dsn = layout.dsn(database or DEFAULT_DATABASE)
            await _ensure_database(layout.dsn("postgres"), database or DEFAULT_DATABASE)
        options = "-c synchronous_commit=off" if disposable else ""
        pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            dsn,
            min_size=1,
            max_size=max_connections,
            open=False,
            configure=_configure,
            kwargs={"autocommit": True, "options": options, "prepare_threshold": 2},
        )
        try:
            capabilities = await _prepare(pool, dsn, embedding)
        except BaseException:
            await pool.close()
            if home is not None:
                await asyncio.to_thread(embedded.detach, home)
            raise
        return cls(pool, capabilities=capabilities, workspace=home)

    async def close(self) -> None:
        """Close the connections; the embedded server stops with its last user."""
        await self._pool.close()
        if self._workspace is not None:
            await asyncio.to_thread(embedded.detach, self._workspace)
            self._workspace = None

    async def __aenter__(self) -> Store:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # conversations and messages

    async def create_conversation(
        self,
        conversation_id: str,
        *,
        user_id: str | None = None,
        project_id: str | None = None,
        keep_raw: bool = False,
        language: str = "und",
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        """Make a conversation; do nothing when it is there."""
        async with self._transaction() as connection:
            await message_queries.create(
                connection,
                conversation_id,
                user_id=user_id,
                project_id=project_id,
                keep_raw=keep_raw,
                language=language,
                meta=meta,
            )

    async def conversation(self, conversation_id: str) -> Conversation:
        """Return a conversation's head.

        Raises:
            StoreError: there is no such conversation.
        """
        row = await self._one(
            "SELECT conversation_id, user_id, project_id, keep_raw, language, last_seq, stamp, "
            "created_at, meta FROM conversations WHERE conversation_id = %s",
            conversation_id,
        )
        if row is None:
            raise StoreError(f"conversation must exist, got {conversation_id!r}.")
        names = ("conversation_id", "user_id", "project_id", "keep_raw", "language", "last_seq",
                 "stamp", "created_at", "meta")  # fmt: skip
        return Conversation(**dict(zip(names, row, strict=True)))

    async def append(
        self,
        conversation_id: str,
        role: Role,
        content: str,
        *,
        speaker: str | None = None,
        timestamp: datetime | None = None,
        message_id: str | None = None,
        blocks: Sequence[JsonBlock] = (),
        meta: Mapping[str, Any] | None = None,
        tokens: int | None = None,
    ) -> Message:
        """Save one message at the end of a conversation and return it as stored, seq included."""
        message = Message(
            seq=0,
            role=role,
            content=content,
            speaker=speaker,
            timestamp=timestamp,
            message_id=message_id,
            blocks=tuple(blocks),
            meta=meta or {},
            tokens=tokens,
        )
        return (await self.append_many(conversation_id, [message]))[0]

    async def append_many(self, conversation_id: str, messages: Sequence[Message]) -> list[Message]:
        """Save messages in order, in one transaction; their seqs are assigned anew."""
        if not messages:
            return []
        async with self._transaction() as connection:
            return await message_queries.append(connection, conversation_id, messages)

    async def messages(
        self,
        conversation_id: str,
        *,
        from_seq: int = 0,
        to_seq: int | None = None,
        as_of: int | None = None,
    ) -> list[Message]:
        """Return messages in order, in the revision that was current at ``as_of``."""
        async with self._pool.connection() as connection:
            return await message_queries.read(
                connection, conversation_id, from_seq=from_seq, to_seq=to_seq, as_of=as_of
            )

    async def set_tokens(self, conversation_id: str, tokens: Mapping[int, int]) -> None:
        """Store token counts by seq, for messages that were appended without one."""
        async with self._transaction() as connection, connection.cursor() as cursor:
            await cursor.executemany(
                "UPDATE conversation_messages SET tokens = %s "
                "WHERE conversation_id = %s AND seq = %s AND tokens IS NULL",
                [(count, conversation_id, seq) for seq, count in tokens.items()],
            )

    async def edit_message(
        self, conversation_id: str, seq: int, content: str, *, tokens: int | None = None
    ) -> Message:
        """Append a revision; artifacts that read the old words become stale."""
        async with self._transaction() as connection:
            edited = await message_queries.edit(
                connection, conversation_id, seq, content=content, tokens=tokens
            )
            await self._taint(connection, conversation_id, seq)
            return edited

    async def redact_message(self, conversation_id: str, seq: int) -> None:
        """Destroy a message's words, and the words of every artifact that read it."""
        async with self._transaction() as connection:
            await message_queries.redact(connection, conversation_id, seq)
            if self.capabilities.vector:
                await connection.execute(
                    "DELETE FROM message_embeddings WHERE conversation_id = %s AND seq = %s",
                    (conversation_id, seq),
                )
            tainted = await self._taint(connection, conversation_id, seq)
            await artifact_queries.blank(connection, tainted)

    async def delete_conversation(self, conversation_id: str) -> None:
        """Remove a conversation and everything made from it."""
        async with self._transaction() as connection:
            await connection.execute(
                "DELETE FROM conversations WHERE conversation_id = %s", (conversation_id,)
            )

    async def delete_user(self, user_id: str) -> list[str]:
        """Remove all of a user's conversations and memories; return the conversation ids."""
        async with self._transaction() as connection:
            cursor = await connection.execute(
                "DELETE FROM conversations WHERE user_id = %s RETURNING conversation_id", (user_id,)
            )
            return [row[0] for row in await cursor.fetchall()]

    # artifacts

    async def artifacts(
        self, conversation_id: str, *, as_of: int, kinds: Iterable[ArtifactKind] | None = None
    ) -> list[Artifact]:
        """Return what a prompt built at ``as_of`` may use: visible, not superseded, not stale."""
        async with self._pool.connection() as connection:
            return await artifact_queries.read(
                connection, conversation_id, as_of=as_of, kinds=kinds
            )

    async def all_artifacts(
        self, conversation_id: str, *, kinds: Iterable[ArtifactKind] | None = None
    ) -> list[Artifact]:
        """Return every version ever written."""
        async with self._pool.connection() as connection:
            return await artifact_queries.read(connection, conversation_id, as_of=None, kinds=kinds)

    async def latest(self, conversation_id: str, kind: ArtifactKind) -> Artifact | None:
        """Return the newest rolling summary or memory snapshot, visible or not."""
        async with self._pool.connection() as connection:
            return await artifact_queries.latest(connection, conversation_id, kind)

    async def insert_rolling(self, artifact: Artifact, *, expected_version: int) -> None:
        """Insert the next rolling summary; raises Conflict when the race is lost."""
        async with self._transaction() as connection:
            await artifact_queries.insert_version(
                connection, artifact, expected_version=expected_version
            )

    async def insert_memory(self, artifact: Artifact, *, expected_version: int) -> None:
        """Insert the next memory snapshot; raises Conflict when the race is lost."""
        await self.insert_rolling(artifact, expected_version=expected_version)

    async def insert_nodes(self, artifacts: Sequence[Artifact]) -> None:
        """Insert episodes or nodes, all or none; raises Conflict when a range exists."""
        async with self._transaction() as connection:
            await artifact_queries.insert_nodes(connection, artifacts)

    async def mark_stale(self, artifact_ids: Sequence[str]) -> None:
        """Mark artifacts as no longer true to their source."""
        async with self._transaction() as connection:
            await artifact_queries.mark_stale(connection, artifact_ids)

    async def user_memories(
        self, user_id: str, *, before: datetime | None = None
    ) -> list[MemoryItem]:
        """Return a user's active items of scope user, from each conversation's newest snapshot."""
        async with self._pool.connection() as connection:
            cursor = await connection.execute(
                "SELECT m.item_id, m.kind, m.body, m.scope, m.status, m.speaker, "
                "m.confidence_share, m.superseded_by, '{}'::int[] FROM user_memories m "
                "JOIN (SELECT conversation_id, max(version) AS version FROM memory_snapshots "
                "WHERE %(before)s::timestamptz IS NULL OR created_at <= %(before)s "
                "GROUP BY conversation_id) newest USING (conversation_id, version) "
                "WHERE m.user_id = %(user)s AND m.scope = 'user' AND m.status = 'active' "
                "ORDER BY m.created_at, m.place",
                {"user": user_id, "before": before},
            )
            return [artifact_queries.item_of(row) for row in await cursor.fetchall()]

    # the search index

    async def unindexed(self, conversation_id: str, *, limit: int = 256) -> list[Message]:
        """Return the oldest messages that are not indexed yet."""
        async with self._pool.connection() as connection:
            return await index.unindexed(connection, conversation_id, limit=limit)

    async def index(self, conversation_id: str, entries: Sequence[IndexEntry]) -> None:
        """Write index entries; indexing a message again replaces its entry."""
        if not entries:
            return
        async with self._transaction() as connection:
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
        async with self._pool.connection() as connection:
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
        async with self._pool.connection() as connection:
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
        async with self._pool.connection() as connection:
            return await index.search_trigram(
                connection, conversation_id, text, as_of=as_of, limit=limit, exclude=exclude
            )

    # inside

    async def _taint(self, connection: Connection, conversation_id: str, seq: int) -> list[str]:
        everything = await artifact_queries.read(
            connection, conversation_id, as_of=None, kinds=None
        )
        tainted = artifact_queries.derived_from(everything, seq)
        await artifact_queries.mark_stale(connection, tainted)
        return tainted

    async def _one(self, query: str, *parameters: Any) -> tuple[Any, ...] | None:
        async with self._pool.connection() as connection:
            cursor = await connection.execute(query.encode(), parameters)
            return await cursor.fetchone()

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[Connection]:
        async with self._pool.connection() as connection, connection.transaction():
            yield connection


async def _ensure_database(admin_dsn: str, name: str) -> None:
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


async def _configure(connection: Connection) -> None:
    set_json_loads(orjson.loads, connection)


async def _prepare(
    pool: AsyncConnectionPool[Connection], dsn: str, embedding: EmbeddingSpec | None
) -> Capabilities:
    try:
        async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
            await migrations.migrate(connection)
            capabilities = await _capabilities(connection)
            if embedding is not None:
                await _check_embedder(connection, embedding)
    except psycopg.OperationalError as error:
        reason = str(error).strip().splitlines()[-1] if str(error).strip() else "no message"
        raise StoreError(
            f"database must be reachable, got: {reason}. Check CTXENG_DATABASE_URL, "
            "or unset it to use the embedded server."
        ) from None
    await pool.open(wait=True, timeout=30)
    return capabilities


async def _capabilities(connection: Connection) -> Capabilities:
    cursor = await connection.execute("SELECT to_regclass('message_embeddings') IS NOT NULL")
    row = await cursor.fetchone()
    trigram = await migrations.has_extension(connection, "pg_trgm")
    if trigram:
        try:
            await connection.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.UniqueViolation):
            cursor = await connection.execute(
                "SELECT 1 FROM pg_extension WHERE extname = 'pg_trgm'"
            )
            trigram = await cursor.fetchone() is not None
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
