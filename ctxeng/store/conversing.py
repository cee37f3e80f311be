"""The store's part on conversations and their messages: appended, read, edited, deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from ctxeng.core.errors import StoreError
from ctxeng.core.messages import JsonBlock, Message, Role
from ctxeng.store import artifacts as artifact_queries
from ctxeng.store import deletion
from ctxeng.store import messages as message_queries
from ctxeng.store.connected import Connected
from ctxeng.store.messages import Connection


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


_HEAD = tuple(one.name for one in fields(Conversation))


def _head(conversation_id: str, row: tuple[Any, ...] | None) -> Conversation:
    if row is None:
        raise StoreError(f"conversation must exist, got {conversation_id!r}.")
    return Conversation(**dict(zip(_HEAD, row, strict=True)))


class Conversations(Connected):
    """Conversations, and what was said in them."""

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
            f"SELECT {', '.join(_HEAD)} FROM conversations WHERE conversation_id = %s",
            conversation_id,
        )
        return _head(conversation_id, row)

    async def news(
        self, conversation_id: str, *, from_seq: int
    ) -> tuple[Conversation, list[Message]]:
        """Return a conversation's head with its messages from a seq on, in one question.

        For a reader that knows what was before; who needs many messages asks for them alone.

        Raises:
            StoreError: there is no such conversation.
        """
        async with self._connection() as connection:
            rows = await message_queries.read_news(
                connection, conversation_id, head=_HEAD, from_seq=from_seq
            )
        heads = [head for head, _ in rows]
        return _head(conversation_id, heads[0] if heads else None), [m for _, m in rows if m]

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
            # first: whoever is allowed to send these words is so before the time that is noted
            await message_queries.check_unedited(connection, conversation_id, None)
            await deletion.note_redaction(connection, conversation_id, seq)
            await message_queries.redact(connection, conversation_id, seq)
            tainted = await self._taint(connection, conversation_id, seq)
            await artifact_queries.blank(connection, tainted)
            await self._enqueue(connection, conversation_id)
        await self.forget_calls()

    async def set_keep_raw(self, conversation_id: str, keep_raw: bool = True) -> None:
        """Mark a conversation whose exact wording matters: it is not compacted any more.

        What was written before stays on record, and prompts do not use it while the mark stands.
        What is being written just now loses the race, as against an edit.
        """
        async with self._transaction() as connection:
            await message_queries.check_unedited(connection, conversation_id, None)
            await connection.execute(
                "UPDATE conversations SET keep_raw = %(marked)s, stamp = stamp + 1, "
                "edited_stamp = CASE WHEN %(marked)s THEN stamp + 1 ELSE edited_stamp END "
                "WHERE conversation_id = %(id)s",
                {"marked": keep_raw, "id": conversation_id},
            )
            await self._enqueue(connection, conversation_id)

    async def stored_at(self, conversation_id: str, seq: int) -> datetime | None:
        """Return when a message reached us, by the database's clock; None: no such message."""
        row = await self._one(
            "SELECT stored_at FROM conversation_messages WHERE conversation_id = %s AND seq = %s",
            conversation_id,
            seq,
        )
        return row[0] if row else None

    async def delete_conversation(self, conversation_id: str) -> None:
        """Remove a conversation, everything made from it, and its jobs."""
        async with self._transaction() as connection:
            await deletion.delete_conversation(connection, conversation_id)
        await self.forget_calls()

    async def discard_conversation(self, conversation_id: str) -> None:
        """Remove a replay's conversation: nobody's words, so nothing of them is put on record.

        For a store that queues no jobs.
        """
        async with self._connection() as connection:
            await connection.execute(
                "DELETE FROM conversations WHERE conversation_id = %s", (conversation_id,)
            )

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

    async def _taint(
        self, connection: Connection, conversation_id: str, seq: int, *, from_seq: int | None = None
    ) -> list[str]:
        everything = await artifact_queries.read(
            connection, conversation_id, as_of=None, kinds=None
        )
        tainted = artifact_queries.derived_from(everything, seq)
        await artifact_queries.mark_stale(connection, tainted, from_seq=from_seq)
        return tainted
