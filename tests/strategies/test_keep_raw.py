"""A conversation whose exact wording matters is never shown in other words."""

from __future__ import annotations

import pytest

from ctxeng.compaction import VerbatimDistiller, VerbatimSummariser
from ctxeng.core.artifacts import Artifact
from ctxeng.core.protocols import Summariser, Summary, SummaryTask
from ctxeng.embedding import open_embedder
from ctxeng.store import Store
from ctxeng.strategies import Parts, jobs, settings_for, wire
from ctxeng.tokens import HeuristicCounter
from tests.compaction.fakes import ScriptedSummariser


def parts_of(
    store: Store,
    total_tokens: int | None,
    summariser: Summariser | None = None,
    *,
    gate: str = "always",
) -> Parts:
    """Return everything at once, with tiny thresholds and a budget."""
    return wire(
        settings_for(
            "hybrid",
            {
                "window": {"tokens": 20, "min_messages": 1},
                "rolling": {"threshold_tokens": 10},
                "episodes": {"size": 2},
                "hierarchy": {"chunk_messages": 2},
                "retrieval": {"gate": gate, "around": 0, "groups": 1},
                "budget": {"total_tokens": total_tokens, "reserve_tokens": 0},
            },
        ),
        store=store,
        summariser=summariser or VerbatimSummariser(),
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
    assert 2 in out
    assert [b.message_seqs for b in built.of_kind("retrieved")] == [(2,)]


async def test_late_compaction_leaves_found_messages_their_share(either_store: Store) -> None:
    """The raw tail takes the room of notes, not that of the message that is asked for."""
    await said(either_store)
    parts = parts_of(either_store, 150)
    await jobs.index(parts, "c")
    built = await parts.builder.build("c", "What does the tenant of flat 2 pay?")
    assert built.skipped
    assert built.tokens <= 150
    assert [b.message_seqs for b in built.of_kind("retrieved")] == [(2,)]
    unsearched = parts_of(either_store, 150, gate="never")
    nothing = await unsearched.builder.build("c", "What does the tenant of flat 2 pay?")
    assert nothing.of_kind("retrieved") == ()
    assert len(nothing.of_kind("tail")) > len(built.of_kind("tail"))


class Marking(ScriptedSummariser):
    """Marks the conversation while the k-th call is on its way."""

    def __init__(self, store: Store, k: int, text: str = "a short note") -> None:
        super().__init__(text)
        self.store = store
        self.k = k
        self.stored: list[Artifact] = []

    async def summarise(self, task: SummaryTask) -> Summary:
        """Return the scripted answer; before the k-th one, mark."""
        if len(self.tasks) + 1 == self.k:
            await self.store.set_keep_raw("c")
            self.stored = await self.store.all_artifacts("c")
        return await super().summarise(task)


@pytest.mark.parametrize(
    "text", ["a short note", "家賃についての短い覚え書き"], ids=["plain", "drifts"]
)
@pytest.mark.parametrize("k", [1, 2, 9])
async def test_after_the_mark_nothing_is_sent_or_stored(
    either_store: Store, k: int, text: str
) -> None:
    """Marked during a call of any kind, even one that would be repeated: it was the last one."""
    await said(either_store)
    marking = Marking(either_store, k, text)
    report = await jobs.compact(parts_of(either_store, None, marking), "c")
    assert (report.skipped, report.failures) == ("keep_raw", ())
    assert len(marking.tasks) == k
    assert await either_store.all_artifacts("c") == marking.stored
    assert {a.artifact_id for a in report.written} == {a.artifact_id for a in marking.stored}


async def test_after_the_mark_no_new_generation_goes_on(either_store: Store) -> None:
    """Reprocessing reads no state between its calls; the mark ends it at once all the same."""
    await said(either_store)
    await jobs.compact(parts_of(either_store, None), "c")
    marking = Marking(either_store, 3)
    compactor = parts_of(either_store, None, marking).compactor
    report = await compactor.reprocess("c", lambda _: True)
    assert (report.skipped, report.written) == ("keep_raw", ())
    assert len(marking.tasks) == 3
    assert await either_store.all_artifacts("c") == marking.stored


async def test_after_a_redaction_no_new_generation_sends_the_words(either_store: Store) -> None:
    """Redacted while a new generation is written: no later call reads what was said before."""
    await said(either_store)
    await jobs.compact(parts_of(either_store, None), "c")

    class Redacting(Marking):
        async def summarise(self, task: SummaryTask) -> Summary:
            if len(self.tasks) == 1:
                await self.store.redact_message("c", 9)
            return await ScriptedSummariser.summarise(self, task)

    redacting = Redacting(either_store, 0)
    report = await parts_of(either_store, None, redacting).compactor.reprocess("c", lambda _: True)
    assert report.failures == ()
    later = [m.text for task in redacting.tasks[2:] for m in task.messages]
    assert later
    assert not any("flat 9 " in text for text in later)
