"""The evaluation runs production's searches and leaves nothing behind."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ctxeng.core.errors import InputError
from ctxeng.core.messages import Message, Session
from ctxeng.core.protocols import Embedder
from ctxeng.harness.probes.model import Probe, Span
from ctxeng.harness.ranking.evaluate import evaluate
from ctxeng.store import Store

TEXTS = (
    "The rack is blue.",
    "Noted.",
    "Lunch at noon.",
    "予算は三千円です。",
    "회의실은 삼 층이에요.",
)


def session(name: str) -> Session:
    """Return a session of three languages."""
    return Session(
        session_id=name,
        messages=tuple(Message(seq=i, role="user", content=t) for i, t in enumerate(TEXTS)),
    )


def probe(name: str, question: str, seq: int, **more: object) -> Probe:
    """Return a probe with one evidence message."""
    made = Probe(
        probe_id=f"{name}-{seq}", session_id=name, question=question, kind="other",
        evidence=(Span(from_seq=seq, to_seq=seq),), expect=(("x",),),
    )  # fmt: skip
    return replace(made, **more)


async def test_every_method_is_measured_on_every_probe(store: Store, embedder: Embedder) -> None:
    """The hashing embedder and the words find each message; the plain library no Japanese."""
    probes = [
        probe("a", "Which colour is the rack?", 0),
        probe("a", "予算はいくら？", 3),
        probe("b", "회의실은 어디예요?", 4),
        replace(probe("a", "?", 1), evidence=()),
        probe("a", "?", 1, status="draft"),
    ]
    found = await evaluate(
        [session("a"), session("b"), session("c")],
        probes,
        store=store,
        embedder=embedder,
        ks=[2, 5],
    )
    methods = {row.method for row in found.rows}
    assert methods == {
        "hybrid", "semantic", "lexical", "convex", "article", "rrf", "bm25_library"
    }  # fmt: skip
    assert (found.probes, found.unasked, found.sessions, found.messages) == (3, 2, 2, 10)
    recall = {row.method: row.recall for row in found.rows if (row.category, row.k) == ("all", 2)}
    assert recall["hybrid"] == recall["lexical"] == 1.0
    assert recall["bm25_library"] == pytest.approx(2 / 3)
    assert {row.other for row in found.against} == methods - {"hybrid"}


async def test_nothing_later_than_the_question_is_ranked(store: Store, embedder: Embedder) -> None:
    """A probe asked before its evidence was said cannot find it, by any method."""
    early = probe("a", "予算はいくら？", 3, ask_at_seq=2)
    found = await evaluate([session("a")], [early], store=store, embedder=embedder, ks=[5])
    assert {row.recall for row in found.rows} == {0.0}


async def test_the_store_is_left_as_it_was(store: Store, embedder: Embedder) -> None:
    """The session is stored for the measurement and deleted after it."""
    one = probe("a", "Which colour is the rack?", 0)
    await evaluate([session("a")], [one], store=store, embedder=embedder, ks=[5])
    async with store._pool.connection() as connection:
        cursor = await connection.execute("SELECT count(*) FROM conversations")
        assert await cursor.fetchone() == (0,)


async def test_without_evidence_there_is_nothing_to_measure(
    store: Store, embedder: Embedder
) -> None:
    """One clear line."""
    with pytest.raises(InputError, match="evidence"):
        await evaluate([session("a")], [], store=store, embedder=embedder, ks=[5])
