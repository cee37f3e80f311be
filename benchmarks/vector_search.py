"""From which size on is an HNSW index faster than the exact scan of one conversation?

    python benchmarks/vector_search.py [--sizes 1000,10000,50000] [--beside 2] [--k 200]

Made-up unit vectors of 384 dimensions around a few hundred topics (text embeddings lie like that)
are stored as the messages of one conversation, among others of the same size. The exact scan is
the query that production runs (``Store.search_semantic``). HNSW (pgvector's, its own parameters,
iterative scan on, ``ef_search`` = k) is asked for the same conversation's nearest messages. Prints
one line of JSON for each size: median milliseconds of both, the share of the exact first 10 and
first k that HNSW found, and the seconds the index took to build. Embedded PostgreSQL.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np

from ctxeng.core.messages import Message
from ctxeng.core.protocols import Vectors
from ctxeng.store import EmbeddingSpec, IndexEntry, Store
from ctxeng.store.index import literal

DIMENSIONS = 384
TOPICS = 300
SPREAD = 0.6  # of the noise beside a topic's direction
QUESTIONS = 20
BATCH = 2000

BUILD = (
    "CREATE INDEX vector_search_benchmark ON message_embeddings "
    f"USING hnsw ((embedding::vector({DIMENSIONS})) vector_cosine_ops)"
)
SEARCH = (
    "SELECT seq FROM message_embeddings WHERE conversation_id = %s "
    f"ORDER BY embedding::vector({DIMENSIONS}) <=> %s::vector({DIMENSIONS}) LIMIT %s"
)


def unit(rows: Vectors) -> Vectors:
    """Return the rows at length one."""
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def made_up(size: int, topics: Vectors, random: np.random.Generator) -> Vectors:
    """Return unit vectors, each around one of the topics."""
    noise = unit(random.standard_normal((size, DIMENSIONS)))
    return unit(topics[random.integers(0, len(topics), size)] + SPREAD * noise)


async def fill(store: Store, name: str, vectors: Vectors) -> None:
    """Store and index one message a vector."""
    await store.create_conversation(name)
    for start in range(0, len(vectors), BATCH):
        rows = vectors[start : start + BATCH]
        messages = [Message(seq=start + i, role="user", content="word") for i in range(len(rows))]
        await store.append_many(name, messages)
        await store.index(
            name,
            [
                IndexEntry(seq=start + i, terms=["word"], vectors=row[None])
                for i, row in enumerate(rows)
            ],
        )


async def exact(
    store: Store, name: str, questions: Vectors, *, size: int, k: int
) -> tuple[list[list[int]], float]:
    """Return the seqs that production finds for each question, and the median milliseconds."""
    found, took = [], []
    for question in questions:
        start = time.perf_counter()
        hits = await store.search_semantic(name, question, as_of=size, limit=k)
        took.append(time.perf_counter() - start)
        found.append([hit.seq for hit in hits])
    return found, 1000 * median(took)


async def by_index(
    store: Store, name: str, questions: Vectors, *, k: int
) -> tuple[list[list[int]], float, float]:
    """Return what HNSW finds for each question, the median milliseconds, the seconds to build."""
    async with store._pool.connection() as connection:
        start = time.perf_counter()
        await connection.execute(BUILD)
        built = time.perf_counter() - start
    found, took = [], []
    async with store._pool.connection() as connection:
        await connection.execute(f"SET hnsw.ef_search = {k}".encode())
        await connection.execute("SET hnsw.iterative_scan = relaxed_order")
        await connection.execute("SET enable_sort = off")  # or small tables are scanned
        for question in questions:
            start = time.perf_counter()
            cursor = await connection.execute(SEARCH, (name, literal(question), k))
            rows = await cursor.fetchall()
            took.append(time.perf_counter() - start)
            found.append([row[0] for row in rows])
    async with store._pool.connection() as connection:
        await connection.execute("RESET ALL")
        await connection.execute("DROP INDEX vector_search_benchmark")
    return found, 1000 * median(took), built


def shared(right: Sequence[Sequence[int]], found: Sequence[Sequence[int]], k: int) -> float:
    """Return the mean share of the first k right seqs that were found among the first k."""
    shares = [len(set(a[:k]) & set(b[:k])) / len(a[:k]) for a, b in zip(right, found, strict=True)]
    return float(np.mean(shares))


async def measured(store: Store, size: int, *, beside: int, k: int) -> dict[str, object]:
    """Return one line of the benchmark; the conversations are deleted again."""
    random = np.random.default_rng(size)
    topics = unit(random.standard_normal((TOPICS, DIMENSIONS)))
    names = [f"talk-{number}" for number in range(beside + 1)]
    for name in names:
        await fill(store, name, made_up(size, topics, random))
    async with store._pool.connection() as connection:
        await connection.execute("ANALYZE")
    questions = made_up(QUESTIONS, topics, random)
    right, exact_ms = await exact(store, names[0], questions, size=size, k=k)
    found, hnsw_ms, built = await by_index(store, names[0], questions, k=k)
    for name in names:
        await store.delete_conversation(name)
    return {
        "messages": size,
        "beside": beside * size,
        "exact_ms": round(exact_ms, 1),
        "hnsw_ms": round(hnsw_ms, 1),
        "first_10_found": round(shared(right, found, 10), 3),
        f"first_{k}_found": round(shared(right, found, k), 3),
        "build_seconds": round(built, 1),
    }


async def main() -> None:
    """Print one line for each size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="1000,10000,50000")
    parser.add_argument("--beside", type=int, default=2, help="other conversations of that size")
    parser.add_argument("--k", type=int, default=200, help="messages wanted, as in production")
    options = parser.parse_args()
    spec = EmbeddingSpec(embedder_id="made-up", dimensions=DIMENSIONS)
    with tempfile.TemporaryDirectory() as home:
        async with await Store.open(
            workspace=Path(home), database="vector_search", disposable=True, embedding=spec
        ) as store:
            for size in map(int, options.sizes.split(",")):
                print(json.dumps(await measured(store, size, beside=options.beside, k=options.k)))


if __name__ == "__main__":
    asyncio.run(main())
