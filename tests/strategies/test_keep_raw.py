"""A conversation whose exact wording matters is never shown in other words."""

from __future__ import annotations

from ctxeng.compaction import VerbatimDistiller, VerbatimSummariser
from ctxeng.embedding import open_embedder
from ctxeng.store import Store
from ctxeng.strategies import Parts, jobs, settings_for, wire
from ctxeng.tokens import HeuristicCounter


def parts_of(store: Store, total_tokens: int | None) -> Parts:
    """Return everything at once, with tiny thresholds and a budget."""
    return wire(
        settings_for(
            "hybrid",
            {
                "window": {"tokens": 20, "min_messages": 1},
                "rolling": {"threshold_tokens": 10},
                "episodes": {"size": 2},
                "hierarchy": {"chunk_messages": 2},
                "retrieval": {"gate": "always", "around": 0, "groups": 1},
                "budget": {"total_tokens": total_tokens, "reserve_tokens": 0},
            },
        ),
        store=store,
        summariser=VerbatimSummariser(),
        distiller=VerbatimDistiller(),
        embedder=open_embedder("hashing"),
        counter=HeuristicCounter(),
    )


async def said(store: Store) -> None:
    """Append twelve clauses."""
    for i in range(12):
        await store.append("c", "user", f"Clause {i}: the tenant of flat {i} pays {i}00 euros.")


async def test_what_was_written_before_the_mark_is_not_used_while_it_stands(
    either_store: Store,
) -> None:
    """Marked: raw alone, nothing more is compacted. Unmarked: artifacts are used again."""
    parts = parts_of(either_store, None)
    await said(either_store)
    await jobs.compact(parts, "c")
    before = await either_store.all_artifacts("c")
    await either_store.set_keep_raw("c")
    await either_store.append("c", "user", "Clause 12: pets are allowed.")
    assert (await jobs.compact(parts, "c")).skipped == "keep_raw"
    assert await either_store.all_artifacts("c") == before
    built = await parts.builder.build("c", "Who pays?")
    assert [b.message_seqs[0] for b in built.of_kind("tail", "recent")] == list(range(13))
    assert built.of_kind("summary", "episode", "node", "memory") == ()
    assert built.skipped == ()
    await either_store.set_keep_raw("c", False)
    assert (await parts.builder.build("c", "Who pays?")).of_kind("summary", "episode") != ()


async def test_what_does_not_fit_is_said_and_can_be_retrieved(either_store: Store) -> None:
    """Under a budget the oldest clauses are listed as left out, and the one asked for comes back."""
    await either_store.create_conversation("c", keep_raw=True)
    await said(either_store)
    parts = parts_of(either_store, 150)
    await jobs.index(parts, "c")
    built = await parts.builder.build("c", "What does the tenant of flat 2 pay?")
    assert built.tokens <= 150
    raw = {b.message_seqs[0] for b in built.history}
    out = {x.message_seqs[0] for x in built.left_out if x.reason == "keep_raw"}
    assert raw | out == set(range(12))
    assert out
