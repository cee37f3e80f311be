"""The search index: vectors and analysed terms are handed in, scores come out.

Searches look at one conversation as it stood at ``as_of``: document frequencies and lengths count
the messages up to that seq, in the words they had then, and nothing later.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from psycopg import AsyncCursor

from ctxeng.core.errors import StoreError
from ctxeng.core.messages import Message
from ctxeng.core.protocols import Vectors
from ctxeng.store import messages as message_queries
from ctxeng.store.messages import Connection
from ctxeng.store.text import clean_text

BM25_K1 = 1.2  # Source: Robertson & Zaragoza (2009), The Probabilistic Relevance Framework
BM25_B = 0.75
MAX_TERM_CHARACTERS = 200  # a database index takes some 2,700 bytes; words are shorter

_SEEN = "t.since_seq <= %(as_of)s AND (t.until_seq IS NULL OR t.until_seq > %(as_of)s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """What is indexed for one message.

    Args:
        terms: analysed terms, repeats included.
        vectors: ``(n_chunks, dimensions)`` float32 unit rows; empty when there is nothing to embed.
            A row of zeros has no direction and is not stored.
    """

    seq: int
    terms: Sequence[str]
    vectors: Vectors | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One found message. ``score`` is the method's own: cosine, BM25 or trigram similarity."""

    seq: int
    score: float


async def unindexed(connection: Connection, conversation_id: str, *, limit: int) -> list[Message]:
    """Return the oldest messages that are not indexed yet."""
    cursor = await connection.execute(
        "SELECT min(m.seq), max(m.seq) FROM (SELECT seq FROM conversation_messages m "
        "WHERE conversation_id = %s AND NOT EXISTS (SELECT 1 FROM message_terms t "
        "WHERE t.conversation_id = m.conversation_id AND t.seq = m.seq AND t.until_seq IS NULL) "
        "ORDER BY seq LIMIT %s) m",
        (conversation_id, limit),
    )
    row = await cursor.fetchone()
    if row is None or row[0] is None:
        return []
    found = await message_queries.read(
        connection, conversation_id, from_seq=row[0], to_seq=row[1], as_of=None
    )
    cursor = await connection.execute(
        "SELECT seq FROM message_terms WHERE conversation_id = %s AND seq BETWEEN %s AND %s "
        "AND until_seq IS NULL",
        (conversation_id, row[0], row[1]),
    )
    done = {r[0] for r in await cursor.fetchall()}
    return [message for message in found if message.seq not in done]


async def write(
    connection: Connection,
    conversation_id: str,
    entries: Sequence[IndexEntry],
    *,
    vectors: bool,
) -> None:
    """Index messages; indexing one again replaces its entry.

    Raises:
        StoreError: there is no such message.
    """
    seqs = [entry.seq for entry in entries]
    await connection.execute(
        "DELETE FROM message_terms WHERE conversation_id = %s AND seq = ANY(%s) "
        "AND until_seq IS NULL",
        (conversation_id, seqs),
    )
    since = await _since(connection, conversation_id, seqs)
    async with connection.cursor() as cursor:
        async with cursor.copy(
            "COPY message_terms (conversation_id, seq, since_seq, length) FROM STDIN"
        ) as copy:
            for entry in entries:
                row = (conversation_id, entry.seq, since[entry.seq], len(entry.terms))
                await copy.write_row(row)
        async with cursor.copy(
            "COPY message_postings (conversation_id, term, seq, since_seq, frequency) FROM STDIN"
        ) as copy:
            for entry in entries:
                for term, frequency in Counter(map(_storable, entry.terms)).items():
                    posting = (conversation_id, term, entry.seq, since[entry.seq], frequency)
                    await copy.write_row(posting)
        if vectors:
            await _write_vectors(cursor, conversation_id, entries, since)


async def search_semantic(
    connection: Connection,
    conversation_id: str,
    vector: Vectors,
    *,
    as_of: int,
    limit: int,
    exclude: Collection[int],
) -> list[Hit]:
    """Return the nearest messages by cosine (best chunk of each), an exact scan."""
    if not _has_direction(vector):
        return []
    cursor = await connection.execute(
        "SELECT seq, max(1 - (embedding <=> %(vector)s::vector)) AS score "
        "FROM message_embeddings JOIN message_terms t USING (conversation_id, seq, since_seq) "
        "WHERE conversation_id = %(id)s AND seq <= %(as_of)s AND NOT seq = ANY(%(exclude)s) "
        f"AND {_SEEN} GROUP BY seq ORDER BY score DESC, seq LIMIT %(limit)s".encode(),
        {
            "vector": literal(vector),
            "id": conversation_id,
            "as_of": as_of,
            "exclude": list(exclude),
            "limit": limit,
        },
    )
    return [Hit(seq=row[0], score=float(row[1])) for row in await cursor.fetchall()]


async def search_lexical(
    connection: Connection,
    conversation_id: str,
    terms: Sequence[str],
    *,
    as_of: int,
    limit: int,
    exclude: Collection[int],
) -> list[Hit]:
    """Return the best messages by BM25 over OR-ed terms, statistics as of ``as_of``."""
    wanted = sorted(set(map(_storable, terms)))
    if not wanted:
        return []
    cursor = await connection.execute(
        "SELECT p.term, p.seq, p.frequency, t.length FROM message_postings p "
        "JOIN message_terms t USING (conversation_id, seq, since_seq) "
        "WHERE p.conversation_id = %(id)s AND p.term = ANY(%(wanted)s) AND p.seq <= %(as_of)s "
        f"AND {_SEEN}".encode(),
        {"id": conversation_id, "wanted": wanted, "as_of": as_of},
    )
    postings = await cursor.fetchall()
    cursor = await connection.execute(
        "SELECT count(*), coalesce(avg(length), 0) FROM message_terms t "
        f"WHERE conversation_id = %(id)s AND seq <= %(as_of)s AND {_SEEN}".encode(),
        {"id": conversation_id, "as_of": as_of},
    )
    row = await cursor.fetchone()
    count, mean_length = (int(row[0]), float(row[1])) if row else (0, 0.0)
    scores = bm25(postings, count=count, mean_length=mean_length)
    left_out = set(exclude)
    ranked = sorted(((s, q) for q, s in scores.items() if q not in left_out), key=_best_first)
    return [Hit(seq=seq, score=score) for score, seq in ranked[:limit]]


def bm25(
    postings: Iterable[tuple[str, int, int, int]], *, count: int, mean_length: float
) -> dict[int, float]:
    """Return the BM25 score of every message that holds a term.

    Args:
        postings: rows of term, seq, frequency, length.
        count: messages in the collection. mean_length: their mean length in terms.

    Source: Robertson & Zaragoza (2009), with the non-negative idf of Lucene.
    """
    by_term: dict[str, list[tuple[int, int, int]]] = {}
    for term, seq, frequency, length in postings:
        by_term.setdefault(term, []).append((seq, frequency, length))
    scores: dict[int, float] = {}
    for _, rows in sorted(by_term.items()):  # sums must not depend on the order of the rows
        idf = math.log(1 + (count - len(rows) + 0.5) / (len(rows) + 0.5))
        for seq, frequency, length in rows:
            norm = BM25_K1 * (1 - BM25_B + BM25_B * length / (mean_length or 1.0))
            scores[seq] = scores.get(seq, 0.0) + idf * frequency * (BM25_K1 + 1) / (
                frequency + norm
            )
    return scores


async def search_trigram(
    connection: Connection,
    conversation_id: str,
    text: str,
    *,
    as_of: int,
    limit: int,
    exclude: Collection[int],
) -> list[Hit]:
    """Return the messages that hold the text's words most nearly (pg_trgm word similarity)."""
    cursor = await connection.execute(
        "SELECT seq, word_similarity(%(text)s, content) AS score "
        f"FROM ({message_queries.AS_OF}) m WHERE NOT seq = ANY(%(exclude)s) "
        "ORDER BY score DESC, seq LIMIT %(limit)s".encode(),
        {
            "text": clean_text(text),
            "id": conversation_id,
            "low": 0,
            "high": as_of,
            "as_of": as_of,
            "exclude": list(exclude),
            "limit": limit,
        },
    )
    return [Hit(seq=row[0], score=float(row[1])) for row in await cursor.fetchall() if row[1] > 0]


async def _since(
    connection: Connection, conversation_id: str, seqs: Sequence[int]
) -> dict[int, int]:
    """Return as of which seq each message, read together with the one before it, is as it is."""
    cursor = await connection.execute(
        "SELECT m.seq, greatest(m.since_seq, before.since_seq) FROM conversation_messages m "
        "LEFT JOIN conversation_messages before "
        "ON before.conversation_id = m.conversation_id AND before.seq = m.seq - 1 "
        "WHERE m.conversation_id = %s AND m.seq = ANY(%s)",
        (conversation_id, list(seqs)),
    )
    found = {row[0]: row[1] for row in await cursor.fetchall()}
    if unknown := sorted(set(seqs) - set(found)):
        raise StoreError(
            f"message must exist, got seq {unknown[0]} of conversation {conversation_id!r}."
        )
    return found


async def _write_vectors(
    cursor: AsyncCursor[tuple[Any, ...]],
    conversation_id: str,
    entries: Sequence[IndexEntry],
    since: Mapping[int, int],
) -> None:
    async with cursor.copy(
        "COPY message_embeddings (conversation_id, seq, since_seq, chunk, embedding) FROM STDIN"
    ) as copy:
        for entry in entries:
            for chunk, vector in enumerate(entry.vectors if entry.vectors is not None else ()):
                if _has_direction(vector):
                    place = (conversation_id, entry.seq, since[entry.seq], chunk)
                    await copy.write_row((*place, literal(vector)))


def _has_direction(vector: Vectors) -> bool:
    """Return whether a cosine with this vector is defined."""
    return bool(np.any(vector) and np.all(np.isfinite(vector)))


def _storable(term: str) -> str:
    return clean_text(term)[:MAX_TERM_CHARACTERS]


def literal(vector: Vectors) -> str:
    """Return a vector as pgvector reads it."""
    return "[" + ",".join(f"{value:.7g}" for value in np.asarray(vector).ravel().tolist()) + "]"


def _best_first(pair: tuple[float, int]) -> tuple[float, int]:
    return (-pair[0], pair[1])
