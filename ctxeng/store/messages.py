"""Queries over conversations and their messages. Each takes a connection; none holds one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC
from typing import Any

from psycopg import AsyncConnection
from psycopg.types.json import Json, Jsonb

from ctxeng.core.errors import Conflict, InputError, StoreError
from ctxeng.core.messages import Message
from ctxeng.store.text import clean_json, clean_text

Connection = AsyncConnection[tuple[Any, ...]]

REDACTED = "[redacted]"

_COLUMNS = "seq, role, speaker, content, blocks, message_id, said_at, meta, tokens, revision"

_CURRENT = f"""
    SELECT {_COLUMNS} FROM conversation_messages
    WHERE conversation_id = %(id)s AND seq >= %(low)s AND seq <= %(high)s ORDER BY seq
"""
# the newest revision that an asker at as_of could see; the first revision is always visible
AS_OF = """
    SELECT m.seq, m.role, m.speaker, coalesce(r.content, m.content) AS content,
           coalesce(r.blocks, m.blocks),
           m.message_id, m.said_at, m.meta,
           CASE WHEN r.revision IS NULL THEN m.tokens ELSE r.tokens END,
           coalesce(r.revision, m.revision)
    FROM conversation_messages m
    LEFT JOIN LATERAL (
        SELECT * FROM message_revisions r
        WHERE r.conversation_id = m.conversation_id AND r.seq = m.seq AND m.since_seq > %(as_of)s
        ORDER BY (r.since_seq <= %(as_of)s) DESC,
                 CASE WHEN r.since_seq <= %(as_of)s THEN -r.revision ELSE r.revision END
        LIMIT 1
    ) r ON m.revision > 0
    WHERE m.conversation_id = %(id)s AND m.seq >= %(low)s AND m.seq <= %(high)s ORDER BY m.seq
"""
_INSERT = f"""
    INSERT INTO conversation_messages (conversation_id, {_COLUMNS}, since_seq)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, 0, %s)
"""


_APPEND_ONE = f"""
    WITH head AS (
        UPDATE conversations SET last_seq = last_seq + 1, stamp = stamp + 1
        WHERE conversation_id = %s RETURNING conversation_id, last_seq
    )
    INSERT INTO conversation_messages (conversation_id, {_COLUMNS}, since_seq)
    SELECT conversation_id, last_seq, %s::text, %s::text, %s::text, %s::json, %s::text,
           %s::timestamptz, %s::json, %s::integer, 0, last_seq FROM head
    RETURNING seq
"""


async def append_one(
    connection: Connection, conversation_id: str, message: Message
) -> Message | None:
    """Store one message in one statement and return it as stored; None without a conversation."""
    stored = _cleaned(message, seq=0)
    parameters = _parameters(conversation_id, stored)
    cursor = await connection.execute(_APPEND_ONE, (parameters[0], *parameters[2:-1]))
    row = await cursor.fetchone()
    return replace(stored, seq=int(row[0])) if row is not None else None


async def append(
    connection: Connection, conversation_id: str, messages: Sequence[Message]
) -> list[Message]:
    """Store messages at the end of a conversation, in order, and return them as stored."""
    cursor = await connection.execute(
        "UPDATE conversations SET last_seq = last_seq + %s, stamp = stamp + %s "
        "WHERE conversation_id = %s RETURNING last_seq",
        (len(messages), len(messages), conversation_id),
    )
    row = await cursor.fetchone()
    if row is None:
        await create(connection, conversation_id)
        return await append(connection, conversation_id, messages)
    first = int(row[0]) - len(messages) + 1
    stored = [_cleaned(message, seq=first + i) for i, message in enumerate(messages)]
    async with connection.cursor() as writer:
        await writer.executemany(_INSERT, [_parameters(conversation_id, m) for m in stored])
    return stored


async def create(
    connection: Connection,
    conversation_id: str,
    *,
    user_id: str | None = None,
    project_id: str | None = None,
    keep_raw: bool = False,
    language: str = "und",
    meta: Any = None,
) -> None:
    """Make a conversation; do nothing when it is there."""
    await connection.execute(
        "INSERT INTO conversations "
        "(conversation_id, user_id, project_id, keep_raw, language, meta) "
        "VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
        (
            clean_text(conversation_id),
            user_id,
            project_id,
            keep_raw,
            language,
            Jsonb(clean_json(dict(meta or {}))),
        ),
    )


async def read(
    connection: Connection,
    conversation_id: str,
    *,
    from_seq: int,
    to_seq: int | None,
    as_of: int | None,
) -> list[Message]:
    """Return messages in order, each in the revision that was current at ``as_of``."""
    high = min(x for x in (to_seq, as_of, 2**31 - 1) if x is not None)
    parameters = {"id": conversation_id, "low": from_seq, "high": high, "as_of": as_of}
    cursor = await connection.execute(_CURRENT if as_of is None else AS_OF, parameters)
    return [_message(row) for row in await cursor.fetchall()]


async def read_news(
    connection: Connection, conversation_id: str, *, head: Sequence[str], from_seq: int
) -> list[tuple[tuple[Any, ...], Message | None]]:
    """Return columns of the conversation beside each message from a seq on; None for no message."""
    columns = ", ".join([f"c.{name}" for name in head] + [f"m.{n}" for n in _COLUMNS.split(", ")])
    cursor = await connection.execute(
        f"SELECT {columns} FROM conversations c LEFT JOIN conversation_messages m "
        "ON m.conversation_id = c.conversation_id AND m.seq >= %s "
        "WHERE c.conversation_id = %s ORDER BY m.seq".encode(),
        (from_seq, conversation_id),
    )
    return [
        (row[: len(head)], None if row[len(head)] is None else _message(row[len(head) :]))
        for row in await cursor.fetchall()
    ]


async def uncounted(connection: Connection, conversation_id: str, *, limit: int) -> list[Message]:
    """Return the oldest messages that have no token count."""
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM conversation_messages WHERE conversation_id = %s "
        "AND tokens IS NULL ORDER BY seq LIMIT %s".encode(),
        (conversation_id, limit),
    )
    return [_message(row) for row in await cursor.fetchall()]


async def edit(
    connection: Connection, conversation_id: str, seq: int, *, content: str, tokens: int | None
) -> tuple[Message, int]:
    """Append a revision to a message; the old words stay readable as of earlier seqs.

    Index entries that hold the old words (its own, and that of the message after it) stay for
    searches as of earlier seqs; both messages count as not indexed.

    Returns:
        the new revision, and the seq as of which it is seen (the conversation's last).
    """
    old, last_seq = await _locked(connection, conversation_id, seq)
    await connection.execute(
        "INSERT INTO message_revisions (conversation_id, seq, revision, content, blocks, tokens, "
        "since_seq) SELECT conversation_id, seq, revision, content, blocks, tokens, since_seq "
        "FROM conversation_messages WHERE conversation_id = %s AND seq = %s",
        (conversation_id, seq),
    )
    new = replace(old, content=clean_text(content), tokens=tokens, revision=old.revision + 1)
    await connection.execute(
        "UPDATE conversation_messages SET content = %s, tokens = %s, revision = %s, since_seq = %s "
        "WHERE conversation_id = %s AND seq = %s",
        (new.content, tokens, new.revision, last_seq, conversation_id, seq),
    )
    where = "WHERE conversation_id = %s AND seq BETWEEN %s AND %s AND until_seq IS NULL"
    entries = (conversation_id, seq, seq + 1)
    await connection.execute(
        f"DELETE FROM message_terms {where} AND since_seq >= %s".encode(), (*entries, last_seq)
    )
    await connection.execute(
        f"UPDATE message_terms SET until_seq = %s {where}".encode(), (last_seq, *entries)
    )
    return new, last_seq


async def redact(connection: Connection, conversation_id: str, seq: int) -> None:
    """Destroy a message's words: every revision of them, and every index entry that holds them."""
    await _locked(connection, conversation_id, seq)
    key = (conversation_id, seq)
    await connection.execute(
        "DELETE FROM message_revisions WHERE conversation_id = %s AND seq = %s", key
    )
    await connection.execute(  # the next message is found by this one's words too
        "DELETE FROM message_terms WHERE conversation_id = %s AND seq BETWEEN %s AND %s",
        (*key, seq + 1),
    )
    await connection.execute(
        "UPDATE conversation_messages SET content = %s, blocks = '[]', meta = '{}', "
        "tokens = NULL, redacted = true, revision = 0, since_seq = seq "
        "WHERE conversation_id = %s AND seq = %s",
        (REDACTED, *key),
    )


async def check_unedited(
    connection: Connection, conversation_id: str, read_at_stamp: int | None
) -> None:
    """Lock a conversation for writing something made from its messages.

    Raises:
        StoreError: there is no such conversation.
        Conflict: after ``read_at_stamp`` a message was edited or redacted, all were deleted, or the
            conversation was marked to be kept raw.
    """
    cursor = await connection.execute(
        "SELECT edited_stamp FROM conversations WHERE conversation_id = %s FOR NO KEY UPDATE",
        (conversation_id,),
    )
    row = await cursor.fetchone()
    if row is None and read_at_stamp is None:
        raise StoreError(f"conversation must exist, got {conversation_id!r}.")
    if row is None or (read_at_stamp is not None and row[0] > read_at_stamp):
        raise Conflict(
            f"messages must be as they were read, got a change since ({conversation_id}). "
            "Read the newest state and try again."
        )


async def _locked(connection: Connection, conversation_id: str, seq: int) -> tuple[Message, int]:
    cursor = await connection.execute(
        "UPDATE conversations SET stamp = stamp + 1, edited_stamp = stamp + 1 "
        "WHERE conversation_id = %s RETURNING last_seq",
        (conversation_id,),
    )
    row = await cursor.fetchone()
    found = await read(connection, conversation_id, from_seq=seq, to_seq=seq, as_of=None)
    if row is None or not found:
        raise StoreError(f"message must exist, got seq {seq} of conversation {conversation_id!r}.")
    return found[0], int(row[0])


def _cleaned(message: Message, *, seq: int) -> Message:
    for i, block in enumerate(message.blocks):
        if not isinstance(block, Mapping):
            raise InputError(
                f"message.blocks must be a list of objects, got {type(block).__name__} at index "
                f"{i}. Words belong in content."
            )
    said_at = message.timestamp
    if said_at is not None and said_at.tzinfo is None:
        said_at = said_at.replace(tzinfo=UTC)
    return replace(
        message,
        seq=seq,
        content=clean_text(message.content),
        speaker=clean_text(message.speaker) if message.speaker else None,
        blocks=tuple(clean_json(block) for block in message.blocks),
        message_id=clean_text(message.message_id) if message.message_id else None,
        meta=clean_json(dict(message.meta)),
        timestamp=said_at,
        revision=0,
    )


def _parameters(conversation_id: str, m: Message) -> tuple[Any, ...]:
    return (
        conversation_id,
        m.seq,
        m.role,
        m.speaker,
        m.content,
        Json(list(m.blocks)),
        m.message_id,
        m.timestamp,
        Json(dict(m.meta)),
        m.tokens,
        m.seq,
    )


def _message(row: tuple[Any, ...]) -> Message:
    return Message(
        seq=row[0],
        role=row[1],
        speaker=row[2],
        content=row[3],
        blocks=tuple(row[4]),
        message_id=row[5],
        timestamp=row[6].astimezone(UTC) if row[6] is not None else None,
        meta=row[7],
        tokens=row[8],
        revision=row[9],
    )
