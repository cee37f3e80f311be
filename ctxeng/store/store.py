"""The store: one object per database, safe to share between tasks."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from psycopg_pool import AsyncConnectionPool

from ctxeng.core.artifacts import Artifact, ArtifactKind, MemoryItem
from ctxeng.core.errors import StoreError
from ctxeng.core.messages import JsonBlock, Message, Role
from ctxeng.core.protocols import CallRecord, Vectors
from ctxeng.store import artifacts as artifact_queries
from ctxeng.store import audit, builds, deletion, embedded, index, memories, queue
from ctxeng.store import messages as message_queries
from ctxeng.store.index import Hit, IndexEntry
from ctxeng.store.messages import Connection
from ctxeng.store.opening import (
    Capabilities,
    EmbeddingSpec,
    configure,
    ensure_database,
    prepare,
    reachable,
    reason,
)

DEFAULT_DATABASE = "ctxeng"


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

    async def has_conversation(self, conversation_id: str) -> bool:
        """Return whether there is such a conversation."""
        row = await self._one(
            "SELECT 1 FROM conversations WHERE conversation_id = %s", conversation_id
        )
        return row is not None

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
        if len(messages) == 1 and not self._enqueues:
            async with self._connection() as connection:
                one = await message_queries.append_one(connection, conversation_id, messages[0])
            if one is not None:
                return [one]
        async with self._transaction() as connection:
            stored = await message_queries.append(connection, conversation_id, messages)
            await self._enqueue(connection, conversation_id)
            return stored

    async def messages(
        self,
        conversation_id: str,
        *,
        from_seq: int = 0,
        to_seq: int | None = None,
        as_of: int | None = None,
    ) -> list[Message]:
        """Return messages in order, in the revision that was current at ``as_of``."""
        async with self._connection() as connection:
            return await message_queries.read(
                connection, conversation_id, from_seq=from_seq, to_seq=to_seq, as_of=as_of
            )

    async def uncounted(self, conversation_id: str, *, limit: int = 256) -> list[Message]:
        """Return the oldest messages that are stored without a token count."""
        async with self._connection() as connection:
            return await message_queries.uncounted(connection, conversation_id, limit=limit)

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
        """Append a revision, seen from the conversation's last seq on.

        As of that seq, artifacts that read the old words are stale.
        """
        async with self._transaction() as connection:
            edited, last_seq = await message_queries.edit(
                connection, conversation_id, seq, content=content, tokens=tokens
            )
            await self._taint(connection, conversation_id, seq, from_seq=last_seq)
            await self._enqueue(connection, conversation_id)
            return edited

    async def redact_message(self, conversation_id: str, seq: int) -> None:
        """Destroy a message's words, and the words of every artifact that read it."""
        async with self._transaction() as connection:
            await deletion.note_redaction(connection, conversation_id, seq)
            await message_queries.redact(connection, conversation_id, seq)
            tainted = await self._taint(connection, conversation_id, seq)
            await artifact_queries.blank(connection, tainted)
            await self._enqueue(connection, conversation_id)
        await self.forget_calls()

    async def set_keep_raw(self, conversation_id: str, keep_raw: bool = True) -> None:
        """Mark a conversation whose exact wording matters: it is not compacted any more.

        What was written before stays on record, and prompts do not use it while the mark stands.
        """
        async with self._transaction() as connection:
            await message_queries.check_unedited(connection, conversation_id, None)
            await connection.execute(
                "UPDATE conversations SET keep_raw = %s, stamp = stamp + 1 "
                "WHERE conversation_id = %s",
                (keep_raw, conversation_id),
            )
            await self._enqueue(connection, conversation_id)

    async def delete_conversation(self, conversation_id: str) -> None:
        """Remove a conversation, everything made from it, and its jobs."""
        async with self._transaction() as connection:
            await deletion.delete_conversation(connection, conversation_id)
        await self.forget_calls()

    async def conversations_of(self, user_id: str) -> list[str]:
        """Return the ids of a user's conversations, in order."""
        async with self._connection() as connection:
            cursor = await connection.execute(
                "SELECT conversation_id FROM conversations WHERE user_id = %s ORDER BY 1",
                (user_id,),
            )
            return [row[0] for row in await cursor.fetchall()]

    async def delete_user(self, user_id: str) -> list[str]:
        """Remove a user's conversations and all that was made from them; return their ids.

        Hashes stay, by which :meth:`verify` recognises words that are quoted elsewhere.
        """
        async with self._transaction() as connection:
            conversations = await deletion.delete_user(connection, user_id)
        await self.forget_calls()
        return conversations

    async def deleted_conversations(self) -> dict[str, float]:
        """Return the hash of each conversation of which words were deleted, and when (epoch)."""
        async with self._connection() as connection:
            return await deletion.deleted_conversations(connection)

    async def forget_calls(self) -> int:
        """Take the calls that hold deleted words from the ledger; return how many there were."""
        if self._calls is None or not (deleted := await self.deleted_conversations()):
            return 0
        return await asyncio.to_thread(self._calls.forget_deleted, deleted)

    # artifacts

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

    async def stored_at(self, conversation_id: str, seq: int) -> datetime | None:
        """Return when a message reached us, by the database's clock; None: no such message."""
        row = await self._one(
            "SELECT stored_at FROM conversation_messages WHERE conversation_id = %s AND seq = %s",
            conversation_id,
            seq,
        )
        return row[0] if row else None

    # the search index

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

    # jobs, and what production did

    async def defer(self, conversation_ids: Sequence[str], tasks: Sequence[queue.Task]) -> None:
        """Let tasks wait for conversations; the store must have been opened with ``enqueue``."""
        async with self._transaction() as connection:
            for conversation_id in conversation_ids:
                await queue.enqueue(connection, conversation_id, tasks)

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

    async def deleted_words(self) -> frozenset[int]:
        """Return what the words of deleted users are recognised by."""
        async with self._connection() as connection:
            return await deletion.deleted_words(connection)

    async def forget_deletions(self) -> int:
        """Remove the fingerprints of deleted words; return how many deletions they were of."""
        async with self._transaction() as connection:
            return await deletion.forget(connection)

    # inside

    async def _enqueue(self, connection: Connection, conversation_id: str) -> None:
        if self._enqueues:
            await queue.enqueue(connection, conversation_id, queue.ON_WRITE)

    async def _taint(
        self, connection: Connection, conversation_id: str, seq: int, *, from_seq: int | None = None
    ) -> list[str]:
        everything = await artifact_queries.read(
            connection, conversation_id, as_of=None, kinds=None
        )
        tainted = artifact_queries.derived_from(everything, seq)
        await artifact_queries.mark_stale(connection, tainted, from_seq=from_seq)
        return tainted

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
