"""Delete for good: words, what was made of them, and a record by which an audit knows them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from typing import Any

from ctxeng.store import queue
from ctxeng.store.audit import Finding
from ctxeng.store.fingerprints import RUN, Known, fingerprints, letters, quotes, strings
from ctxeng.store.messages import Connection

RULE = "deleted words are gone"

_MESSAGES = """
    SELECT conversation_id, format('message %%s', seq), content, blocks
    FROM conversation_messages {where}
    UNION ALL SELECT conversation_id, format('message %%s, revision %%s', seq, revision), content,
           blocks
    FROM message_revisions {where}
"""
_TEXTS = f"""{_MESSAGES}
    UNION ALL SELECT conversation_id, artifact_id, body, '[]' FROM conversation_summaries {{where}}
    UNION ALL SELECT conversation_id, artifact_id, body, '[]' FROM summary_nodes {{where}}
    UNION ALL SELECT conversation_id, format('memory item %%s', item_id), body, '[]'
    FROM user_memories {{where}}
"""


async def delete_user(connection: Connection, user_id: str) -> list[str]:
    """Remove a user's conversations and everything made from them; return the conversation ids."""
    cursor = await connection.execute(
        "SELECT conversation_id FROM conversations WHERE user_id = %s ORDER BY 1 FOR UPDATE",
        (user_id,),
    )
    return await _delete(connection, [row[0] for row in await cursor.fetchall()], user_id)


async def delete_conversation(connection: Connection, conversation_id: str) -> None:
    """Remove a conversation, everything made from it, and its jobs."""
    cursor = await connection.execute(
        "SELECT conversation_id FROM conversations WHERE conversation_id = %s FOR UPDATE",
        (conversation_id,),
    )
    await _delete(connection, [row[0] for row in await cursor.fetchall()], conversation_id)


async def note_redaction(connection: Connection, conversation_id: str, seq: int) -> None:
    """Note by what the words of a message can be recognised that is about to be redacted."""
    where = "WHERE conversation_id = %(id)s AND seq = %(seq)s"
    cursor = await connection.execute(
        _MESSAGES.format(where=where).encode(), {"id": conversation_id, "seq": seq}
    )
    await _note(connection, conversation_id, [conversation_id], await cursor.fetchall())


async def deleted_words(connection: Connection) -> Known:
    """Return what everything is known by that was deleted and not forgotten."""
    cursor = await connection.execute("SELECT DISTINCT unnest(fingerprints) FROM deletions")
    return Known.of(row[0] for row in await cursor.fetchall())


async def deleted_conversations(connection: Connection) -> dict[str, float]:
    """Return the hash of every conversation of which words were deleted, and when, last.

    The hash is :func:`hashed`, the time seconds since the epoch by the clock of this machine, which
    notes when calls are sent; the server's may differ.
    """
    cursor = await connection.execute(
        "SELECT name, extract(epoch FROM clock_timestamp() - max(deleted_at))::float "
        "FROM deletions, unnest(conversations) AS name GROUP BY name"
    )
    return {name: time.time() - seconds for name, seconds in await cursor.fetchall()}


async def forget(connection: Connection) -> int:
    """Remove the fingerprints of past deletions; return of how many."""
    cursor = await connection.execute("DELETE FROM deletions")
    return cursor.rowcount


async def remains(connection: Connection, known: Known) -> list[Finding]:
    """Return the places in the database that quote deleted words."""
    if not known.hashes:
        return []
    cursor = await connection.execute(_TEXTS.format(where="").encode(), {})
    return [
        Finding(rule=RULE, conversation_id=name, detail=place)
        for name, place, text, blocks in await cursor.fetchall()
        if any(quotes(said, known) for said in (text, *strings(blocks)))
    ]


async def _delete(connection: Connection, ids: list[str], subject: str) -> list[str]:
    if not ids:
        return []
    where = "WHERE conversation_id = ANY(%(ids)s)"
    cursor = await connection.execute(_TEXTS.format(where=where).encode(), {"ids": ids})
    await _note(connection, subject, ids, await cursor.fetchall())
    await connection.execute("DELETE FROM conversations WHERE conversation_id = ANY(%s)", (ids,))
    if await queue.has_schema(connection):
        await queue.drop(connection, ids)
    return ids


async def _note(
    connection: Connection, subject: str, ids: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> None:
    """Put on record (as hashes) by what deleted words are recognised, and whose calls must go."""
    known = fingerprints(text for row in rows for text in _said(row[2], row[3]))
    await connection.execute(
        "INSERT INTO deletions (subject, fingerprints, conversations, deleted_at) "
        "VALUES (%s, %s, %s, clock_timestamp())",
        (hashed(subject), sorted(known), [hashed(name) for name in ids]),
    )


def hashed(name: str) -> str:
    """Return what a deleted user or conversation is known by."""
    return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()


def _said(content: str, blocks: Any) -> Iterator[str]:
    """Yield the words of a message, then those of its tool traffic that are nobody else's.

    A short string of a block is a name, a flag or a path that many calls have.
    """
    yield content
    yield from (text for text in strings(blocks) if len(letters(text)) >= RUN)
