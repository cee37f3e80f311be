"""A new generation replaces what an older prompt or another model wrote, whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ctxeng.compaction import Compactor, is_made_otherwise
from ctxeng.compaction.compactor import CompactionReport
from ctxeng.compaction.prompts import prompt_hash
from ctxeng.core.artifacts import Artifact, MemoryItem
from ctxeng.core.protocols import Summary, SummaryTask
from ctxeng.store import Store
from tests.compaction.fakes import (
    COUNTER,
    ScriptedDistiller,
    ScriptedSummariser,
    say,
    settings_with,
)

EVERYTHING = settings_with(
    rolling={"enabled": True, "threshold_tokens": 20},
    episodes={"enabled": True, "size": 2, "overlap": 1},
    hierarchy={"enabled": True, "chunk_messages": 2, "fan_in": 2, "levels": 3},
    memory={"enabled": True, "every_episodes": 2},
)


class Named(ScriptedSummariser):
    """Writes the name of its edition and the range."""

    def __init__(self, edition: str, *answers: str | Exception) -> None:
        super().__init__(*answers)
        self.edition = edition

    async def summarise(self, task: SummaryTask) -> Summary:
        """Return the edition, the range, and whether an older state was given."""
        await super().summarise(task)
        text = f"{self.edition} {task.kind} {task.core_from_seq}-{task.core_to_seq}"
        return Summary(text=text, model=self.edition, prompt_hash="h", call_key="k")


def compactor(store: Store, summariser: Named) -> Compactor:
    """Return a compactor whose distiller notes what it was given."""
    turns = [[MemoryItem(item_id=f"{summariser.edition}{i}", kind="anchor", text=f"{summariser.edition} {i}")]
             for i in range(9)]  # fmt: skip
    return Compactor(
        store, EVERYTHING, summariser=summariser, distiller=ScriptedDistiller(*turns), counter=COUNTER
    )  # fmt: skip


async def compacted(store: Store, size: int = 9) -> list[Artifact]:
    """Append and compact message by message with the old edition; return what a prompt may use."""
    old = compactor(store, Named("old"))
    for seq in range(size):
        await store.append_many("c", [say(seq)])
        await old.run_due("c")
    return await store.artifacts("c", as_of=size - 1)


async def renewed(store: Store, summariser: Named, *kinds: str) -> CompactionReport:
    """Rebuild what the old edition wrote, of all kinds or the given ones."""
    return await compactor(store, summariser).reprocess(
        "c", lambda a: a.model == "old" and a.kind in (kinds or (a.kind,))
    )


def placed(artifacts: Sequence[Artifact]) -> list[tuple[str, int, int, int]]:
    """Return kind, level and range of artifacts, in order."""
    return [(a.kind, a.level, a.from_seq, a.to_seq) for a in artifacts]


async def test_a_new_generation_stands_in_the_same_ranges(store: Store) -> None:
    """Every artifact is of the new edition, covers what the old one did, and the database is sound."""
    before = await compacted(store)
    report = await renewed(store, Named("new"))
    assert report.failures == ()
    after = await store.artifacts("c", as_of=8)
    assert placed(after) == placed(before)
    assert {a.kind for a in after} == {"rolling", "episode", "node", "memory"}
    assert all(a.text.startswith("new") for a in after if a.kind != "memory")
    (memory,) = [a for a in after if a.kind == "memory"]
    assert [i.text for i in memory.items] == ["new 0", "new 1"]
    assert await store.verify() == []


async def test_rolling_state_is_folded_from_the_raw_messages(store: Store) -> None:
    """The first new version is given no older state: what the old edition dropped may come back."""
    await compacted(store)
    new = Named("new")
    await renewed(store, new, "rolling")
    (task,) = new.tasks
    assert task.previous is None
    assert [m.seq for m in task.messages] == list(range(task.core_to_seq + 1))


async def test_what_was_made_from_a_rebuilt_artifact_is_rebuilt(store: Store) -> None:
    """New leaves bring new ancestors, new episodes new memory; other kinds are let be."""
    await compacted(store)
    report = await renewed(store, Named("new"), "episode")
    assert {a.kind for a in report.written} == {"episode", "memory"}
    children = {a.artifact_id for a in report.written if a.kind == "episode"}
    folded = {p for a in report.written if a.kind == "memory" for p in a.parents}
    assert children >= {p for p in folded if "/episode/" in p}
    parent = next(a for a in await store.artifacts("c", as_of=8, kinds=["node"]) if a.level == 1)
    report = await compactor(store, Named("new")).reprocess(
        "c", lambda a: a.kind == "node" and a.level == 0 and a.from_seq == 0
    )
    assert placed(report.written) == [("node", 0, 0, 1), ("node", 1, 0, 3), ("node", 2, 0, 7)]
    assert report.written[1].parents[0] == report.written[0].artifact_id
    assert report.written[1].parents[1] == parent.parents[1]


async def test_a_generation_that_is_not_whole_replaces_nothing(store: Store) -> None:
    """The last of many summaries is refused: every prompt stays as it was."""
    before = await compacted(store)
    broken = Named("new", *["x"] * 10, RuntimeError("must not get here"))
    calls = 0

    async def summarise(task: SummaryTask) -> Summary:
        nonlocal calls
        calls += 1
        return Summary(text="" if task.kind == "rolling" else "new", model="new", prompt_hash="h")

    broken.summarise = summarise  # type: ignore[method-assign]
    report = await renewed(store, broken)
    assert [f.reason for f in report.failures] == ["empty"]
    assert calls > 5
    assert await store.artifacts("c", as_of=8) == before


async def test_a_past_prompt_still_uses_what_it_used(store: Store) -> None:
    """As of an earlier seq the old generation stands."""
    await compacted(store, 9)
    past = await store.artifacts("c", as_of=6)
    await store.append_many("c", [say(9)])
    await renewed(store, Named("new"))
    assert [a.artifact_id for a in await store.artifacts("c", as_of=6)] == [
        a.artifact_id for a in past
    ]


async def test_compaction_goes_on_from_the_new_generation(store: Store) -> None:
    """The next fold reads the new state, and the tiling goes on without a seam too many."""
    await compacted(store, 9)
    await renewed(store, Named("new"))
    later = compactor(store, Named("later"))
    for seq in range(9, 16):
        await store.append_many("c", [say(seq)])
        assert (await later.run_due("c")).failures == ()
    episodes = await store.artifacts("c", as_of=15, kinds=["episode"])
    assert placed(episodes) == [("episode", 0, i, i + 1) for i in range(0, 16, 2)]
    assert await store.verify() == []


async def test_words_that_change_meanwhile_are_read_again(store: Store) -> None:
    """An edit while the new generation is written loses the race; the second try reads it."""
    await compacted(store)
    new = Named("new")
    first = new.summarise

    async def edited(task: SummaryTask) -> Summary:
        new.summarise = first  # type: ignore[method-assign]
        await store.edit_message("c", 0, "another statement")
        return await first(task)

    new.summarise = edited  # type: ignore[method-assign]
    assert (await renewed(store, new)).failures == ()
    next_edition = Named("next")
    await compactor(store, next_edition).run_due("c")
    read = {m.content for task in next_edition.tasks for m in task.messages}
    assert "another statement" in read
    assert not [a for a in await store.artifacts("c", as_of=8) if a.text.startswith("old")]
    assert await store.verify() == []


async def test_an_exact_wording_is_not_reprocessed(store: Store) -> None:
    """A conversation marked keep_raw is let be."""
    await compacted(store)
    await store.set_keep_raw("c")
    assert (await renewed(store, Named("new"))).skipped == "keep_raw"
    assert await store.makers() == []


async def test_nothing_outdated_asks_nobody(store: Store) -> None:
    """A second reprocessing writes nothing."""
    await compacted(store)
    await renewed(store, Named("new"))
    again = Named("new")
    assert (await renewed(store, again)).written == ()
    assert again.tasks == []


@pytest.mark.parametrize(
    ("model", "hash_", "expected"),
    [
        ("claude-haiku-4-5", "now", False),
        ("claude-haiku-4-5-20251001", "now", False),
        ("claude-haiku-4-50", "now", True),
        ("claude-sonnet-4-5", "now", True),
        ("claude-haiku-4-5", "before", True),
        ("none", "before", False),
        ("verbatim", "verbatim", False),
    ],
)
def test_made_otherwise_means_another_model_or_an_older_prompt(
    model: str, hash_: str, expected: bool
) -> None:
    """A dated id of the wanted model is that model; what no model wrote is never out of date."""
    hash_ = prompt_hash("episode") if hash_ == "now" else hash_
    assert is_made_otherwise("episode", model, hash_, wanted="claude-haiku-4-5") is expected
