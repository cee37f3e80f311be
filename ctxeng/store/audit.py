"""What must hold of a database whatever happened to it: for each rule, a query for breaches."""

from __future__ import annotations

from dataclasses import dataclass

from ctxeng.store import queue
from ctxeng.store.messages import REDACTED, Connection

SHOWN = 20  # breaches of one kind

_ARTIFACTS = """
    artifacts AS (
        SELECT artifact_id, conversation_id, 'rolling' AS kind, 0 AS level, version, from_seq,
               summarized_until_seq AS to_seq, read_from_seq, read_to_seq, parents,
               visible_from_seq, superseded_from_seq, status FROM conversation_summaries
        UNION ALL
        SELECT artifact_id, conversation_id, kind, level, version, from_seq, to_seq, read_from_seq,
               read_to_seq, parents, visible_from_seq, superseded_from_seq, status
        FROM summary_nodes
        UNION ALL
        SELECT artifact_id, conversation_id, 'memory', 0, version, from_seq, to_seq, read_from_seq,
               read_to_seq, parents, visible_from_seq, superseded_from_seq, status
        FROM memory_snapshots
    )
"""

_CHECKS = {
    "messages run from 0 without a gap": """
        SELECT c.conversation_id, format('last_seq %s, %s messages up to seq %s',
                                         c.last_seq, count(m.seq), max(m.seq))
        FROM conversations c LEFT JOIN conversation_messages m USING (conversation_id)
        GROUP BY c.conversation_id
        HAVING count(m.seq) <> c.last_seq + 1 OR coalesce(max(m.seq), -1) <> c.last_seq
    """,
    "every revision is kept": """
        SELECT m.conversation_id, format('seq %s: revision %s, %s older ones',
                                         m.seq, m.revision, count(r.revision))
        FROM conversation_messages m LEFT JOIN message_revisions r USING (conversation_id, seq)
        GROUP BY m.conversation_id, m.seq HAVING count(r.revision) <> m.revision
    """,
    "redacted words are gone": f"""
        SELECT conversation_id, format('seq %s', seq) FROM conversation_messages
        WHERE redacted AND content <> '{REDACTED}'
    """,
    "stamps grow": """
        SELECT conversation_id, format('edited at %s, now %s', edited_stamp, stamp)
        FROM conversations WHERE edited_stamp > stamp
    """,
    "ranges lie within their conversation": f"""
        WITH {_ARTIFACTS}
        SELECT a.conversation_id, a.artifact_id FROM artifacts a
        JOIN conversations c USING (conversation_id)
        WHERE NOT (0 <= a.read_from_seq AND a.from_seq <= a.to_seq AND a.to_seq <= c.last_seq
                   AND a.read_to_seq <= a.to_seq AND a.visible_from_seq >= a.to_seq)
           OR (a.kind IN ('rolling', 'memory') AND a.from_seq <> 0)
    """,
    "core ranges are contiguous": """
        WITH current AS (
            SELECT DISTINCT ON (conversation_id, kind, level, from_seq) * FROM summary_nodes
            WHERE status <> 'stale'
            ORDER BY conversation_id, kind, level, from_seq, version DESC
        ), placed AS (
            SELECT *, lag(to_seq, 1, -1) OVER (
                PARTITION BY conversation_id, kind, level ORDER BY from_seq) AS before FROM current
        )
        SELECT conversation_id, format('%s follows seq %s', artifact_id, before) FROM placed p
        WHERE from_seq <= before OR (from_seq > before + 1 AND NOT EXISTS (
            SELECT 1 FROM summary_nodes s
            WHERE (s.conversation_id, s.kind, s.level) = (p.conversation_id, p.kind, p.level)
            AND s.status = 'stale' AND s.to_seq > p.before AND s.from_seq < p.from_seq))
    """,
    "versions run from 1 without a gap": f"""
        WITH {_ARTIFACTS}
        SELECT conversation_id, format('%s: %s versions up to %s', kind, count(*), max(version))
        FROM artifacts WHERE kind IN ('rolling', 'memory')
        GROUP BY conversation_id, kind HAVING count(*) <> max(version)
    """,
    "cursors never go back": f"""
        WITH {_ARTIFACTS}, placed AS (
            SELECT *, lag(to_seq) OVER (
                PARTITION BY conversation_id, kind ORDER BY version) AS before
            FROM artifacts WHERE kind IN ('rolling', 'memory') AND status <> 'stale'
            -- a step of a rebuilt generation that no prompt ever used may cover less
            AND (superseded_from_seq IS NULL OR superseded_from_seq > visible_from_seq)
        )
        SELECT conversation_id, format('%s after seq %s', artifact_id, before)
        FROM placed WHERE to_seq < before
    """,
    "the newest version alone is current": f"""
        WITH {_ARTIFACTS}, placed AS (
            SELECT *, max(version) OVER (PARTITION BY conversation_id, kind) AS newest
            FROM artifacts WHERE kind IN ('rolling', 'memory')
        )
        SELECT conversation_id, artifact_id FROM placed
        WHERE (superseded_from_seq IS NULL) <> (version = newest)
    """,
    "what an artifact was made from is there": f"""
        WITH {_ARTIFACTS}
        SELECT a.conversation_id, format('%s lacks %s', a.artifact_id, parent)
        FROM artifacts a, jsonb_array_elements_text(a.parents) AS parent
        WHERE NOT EXISTS (SELECT 1 FROM artifacts p WHERE p.artifact_id = parent)
    """,
    "nothing current is made from something stale": f"""
        WITH {_ARTIFACTS}
        SELECT a.conversation_id, format('%s was made from %s', a.artifact_id, p.artifact_id)
        FROM artifacts a, jsonb_array_elements_text(a.parents) AS parent
        JOIN artifacts p ON p.artifact_id = parent
        WHERE a.status <> 'stale' AND p.status = 'stale'
    """,
    "memories name messages that exist": """
        SELECT s.conversation_id, format('item %s: seq %s', s.item_id, s.seq)
        FROM memory_sources s JOIN conversations c USING (conversation_id)
        WHERE s.seq NOT BETWEEN 0 AND c.last_seq
    """,
    "memories belong to the conversation's user": """
        SELECT m.conversation_id, format('item %s', m.item_id)
        FROM user_memories m JOIN conversations c USING (conversation_id)
        WHERE m.user_id IS DISTINCT FROM c.user_id
    """,
    "superseded memories name what replaced them": """
        SELECT m.conversation_id, format('item %s', m.item_id) FROM user_memories m
        WHERE m.superseded_by IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM user_memories o WHERE (o.conversation_id, o.version, o.item_id) =
            (m.conversation_id, m.version, m.superseded_by))
    """,
    "a message has one current index entry at most": """
        SELECT conversation_id, format('seq %s: %s entries', seq, count(*)) FROM message_terms
        WHERE until_seq IS NULL GROUP BY conversation_id, seq HAVING count(*) > 1
    """,
}
_WITH_VECTORS = {
    "vectors have one length": """
        SELECT '', format('%s lengths', count(DISTINCT vector_dims(embedding)))
        FROM message_embeddings HAVING count(DISTINCT vector_dims(embedding)) > 1
    """,
}
_WITH_QUEUE = {
    "jobs are about conversations that exist": """
        SELECT args->>'conversation_id', task_name FROM procrastinate_jobs j
        WHERE status = 'todo' AND NOT EXISTS (
            SELECT 1 FROM conversations c WHERE c.conversation_id = j.args->>'conversation_id')
    """,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One breach of what must hold."""

    rule: str
    conversation_id: str
    detail: str


def rules(*, vectors: bool, jobs: bool) -> dict[str, str]:
    """Return the queries by what they say must hold."""
    return _CHECKS | (_WITH_VECTORS if vectors else {}) | (_WITH_QUEUE if jobs else {})


async def findings(connection: Connection, *, vectors: bool) -> list[Finding]:
    """Return every breach, at most 20 for each rule; empty for a sound database."""
    found = []
    asked = rules(vectors=vectors, jobs=await queue.has_schema(connection))
    for rule, query in asked.items():
        cursor = await connection.execute(f"{query} LIMIT {SHOWN}".encode())
        found += [
            Finding(rule=rule, conversation_id=row[0], detail=str(row[1]))
            for row in await cursor.fetchall()
        ]
    return found
