"""Delete a user whole, and find what still quotes somebody who was deleted."""

from __future__ import annotations

import hashlib
from collections.abc import Collection

from ctxeng.store import queue
from ctxeng.store.audit import Finding
from ctxeng.store.fingerprints import fingerprints, quotes
from ctxeng.store.messages import Connection

RULE = "deleted words are gone"

_TEXTS = """
    SELECT conversation_id, format('message %%s', seq), content || ' ' || blocks::text
    FROM conversation_messages {where}
    UNION ALL SELECT conversation_id, format('message %%s, revision %%s', seq, revision), content
    FROM message_revisions {where}
    UNION ALL SELECT conversation_id, artifact_id, body FROM conversation_summaries {where}
    UNION ALL SELECT conversation_id, artifact_id, body FROM summary_nodes {where}
    UNION ALL SELECT conversation_id, format('memory item %%s', item_id), body
    FROM user_memories {where}
"""
_WHOLE = _TEXTS.replace("content || ' ' || blocks::text", "content")


async def delete_user(connection: Connection, user_id: str) -> list[str]:
    """Remove a user's conversations and everything made from them; return the conversation ids.

    What the words can be recognised by stays on record (hashes), so that an audit can tell where
    they are quoted still.
    """
    cursor = await connection.execute(
        "SELECT conversation_id FROM conversations WHERE user_id = %s ORDER BY 1 FOR UPDATE",
        (user_id,),
    )
    ids = [row[0] for row in await cursor.fetchall()]
    if not ids:
        return []
    where = "WHERE conversation_id = ANY(%(ids)s)"
    cursor = await connection.execute(_WHOLE.format(where=where).encode(), {"ids": ids})
    known = fingerprints(row[2] for row in await cursor.fetchall())
    await connection.execute("DELETE FROM conversations WHERE conversation_id = ANY(%s)", (ids,))
    if await queue.has_schema(connection):
        await queue.drop(connection, ids)
    await connection.execute(
        "INSERT INTO deletions (subject, fingerprints) VALUES (%s, %s)",
        (hashlib.sha256(user_id.encode("utf-8", "replace")).hexdigest(), sorted(known)),
    )
    return ids


async def deleted_words(connection: Connection) -> frozenset[int]:
    """Return the fingerprints of everything that was deleted and not forgotten."""
    cursor = await connection.execute("SELECT DISTINCT unnest(fingerprints) FROM deletions")
    return frozenset(row[0] for row in await cursor.fetchall())


async def forget(connection: Connection) -> int:
    """Remove the fingerprints of past deletions; return of how many."""
    cursor = await connection.execute("DELETE FROM deletions")
    return cursor.rowcount


async def remains(connection: Connection, known: Collection[int]) -> list[Finding]:
    """Return the places in the database that quote deleted words."""
    if not known:
        return []
    cursor = await connection.execute(_TEXTS.format(where="").encode(), {})
    return [
        Finding(rule=RULE, conversation_id=name, detail=place)
        for name, place, text in await cursor.fetchall()
        if quotes(text, known)
    ]
