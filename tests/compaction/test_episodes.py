"""Episodes: which range is next, what the summariser reads, what is stored."""

from __future__ import annotations

from typing import Any

import pytest

from ctxeng.compaction import episodes
from ctxeng.core.artifacts import Artifact
from ctxeng.core.errors import Conflict
from ctxeng.embedding import open_embedder
from ctxeng.store import Store
from tests.compaction.fakes import (
    ScriptedSummariser,
    answer,
    artifact,
    call,
    say,
    settings_with,
    state_of,
    talk,
    tools_with,
)


def due(size: int, *written: Artifact, **table: Any) -> tuple[int, int] | None:
    """Return the next range (end exclusive) of a talk of so many messages, all of them old."""
    tools = tools_with(settings_with(episodes={"enabled": True, **table}))
    return episodes.due(state_of(talk(size), *written), tools)


def test_the_next_episode_begins_where_the_last_ended() -> None:
    """The cursor is the tiling itself."""
    assert due(5) is None
    assert due(6) == (0, 6)
    assert due(11, artifact("episode", 0, 5)) is None
    assert due(12, artifact("episode", 0, 5)) == (6, 12)


def test_phase_shifts_every_seam() -> None:
    """With phase 2 of 6 the first episode has four messages, the next six again."""
    assert due(12, phase=2) == (0, 4)
    assert due(12, artifact("episode", 0, 3), phase=2) == (4, 10)


@pytest.mark.parametrize(
    ("hole", "next_from", "expected"),
    [
        ((6, 11), 12, (6, 12)),  # as long as an episode
        ((6, 8), 9, (6, 9)),  # shorter: the border of the next episode ends it
        ((6, 17), 18, (6, 12)),  # longer: an ordinary episode first
    ],
)
def test_a_hole_left_by_a_stale_episode_is_filled_up_to_the_next_one(
    hole: tuple[int, int], next_from: int, expected: tuple[int, int]
) -> None:
    """Core ranges stay disjoint, whatever was cut there before."""
    written = [
        artifact("episode", 0, 5),
        artifact("episode", *hole, status="stale"),
        artifact("episode", next_from, next_from + 5),
    ]
    assert due(24, *written) == expected


def test_a_hole_is_filled_though_a_searched_cut_would_wait_for_more() -> None:
    """An exchange cut waits for twelve old messages; a hole of three has its end already."""
    written = [artifact("episode", 0, 5), artifact("episode", 9, 14)]
    assert due(15, *written, cut="exchange") == (6, 9)


def test_semantic_cuts_use_the_embedder() -> None:
    """Two topics meet at seq 4: the cut lies there, not at the size of 6."""
    messages = [say(s, "赤い 会議室 予算 invoice budget") for s in range(4)]
    messages += [say(s, "kestrel deploy rack 17 blue") for s in range(4, 12)]
    tools = tools_with(settings_with(episodes={"enabled": True, "cut": "semantic"}))
    assert episodes.due(state_of(messages), tools, open_embedder("hashing")) == (0, 4)
    assert episodes.due(state_of(messages), tools, None) == (0, 6)


@pytest.mark.parametrize(
    ("start", "overlap", "expected"),
    [(6, 0, 6), (6, 1, 5), (6, 3, 2), (6, 4, 2), (6, 5, 1), (6, 99, 0), (0, 3, 0)],
)
def test_overlap_reads_back_without_splitting_a_tool_pair(
    start: int, overlap: int, expected: int
) -> None:
    """Messages 2 and 3 are a call and its result: reading 3 means reading 2."""
    state = state_of([*talk(2), call(2, "a"), answer(3, "a"), *talk(9)[4:]])
    assert episodes.overlap_start(state, start, overlap) == expected


async def test_a_written_episode_carries_its_ranges_and_its_makers(store: Store) -> None:
    """Core, overlap, visibility, model and prompt are in the artifact as it is stored."""
    await store.create_conversation("c")
    summariser = ScriptedSummariser("the budget is ¥3,000")
    table = settings_with(
        episodes={"enabled": True, "overlap": 2, "target_tokens": 77},
        compaction={"lag_messages": 3},
    )
    state = state_of(talk(14), artifact("episode", 0, 5), language="ja")
    written = await episodes.step(store, state, tools_with(table, summariser, replicate=4))
    assert written is not None
    assert written.artifact_id == "c/episode/0/6-11/v1"
    assert (written.from_seq, written.to_seq) == (6, 11)
    assert (written.read_from_seq, written.read_to_seq) == (4, 11)
    assert written.visible_from_seq == 13 + 3
    assert (written.model, written.prompt_hash, written.lossless) == ("scripted", "h", False)
    (task,) = summariser.tasks
    assert [m.seq for m in task.messages] == [4, 5, 6, 7, 8, 9, 10, 11]
    assert (task.kind, task.core_from_seq, task.core_to_seq) == ("episode", 6, 11)
    assert (task.target_tokens, task.language, task.replicate) == (77, "ja", 4)
    assert await store.all_artifacts("c") == [written]


async def test_nothing_due_writes_nothing(store: Store) -> None:
    """No summariser is asked when no episode is complete."""
    summariser = ScriptedSummariser()
    tools = tools_with(settings_with(episodes={"enabled": True}), summariser)
    assert await episodes.step(store, state_of(talk(5)), tools) is None
    assert summariser.tasks == []


async def test_the_loser_of_a_race_is_told(store: Store) -> None:
    """Two compactors with the same state: the second one's insert is a conflict."""
    await store.create_conversation("c")
    tools = tools_with(settings_with(episodes={"enabled": True}))
    assert await episodes.step(store, state_of(talk(6)), tools) is not None
    with pytest.raises(Conflict):
        await episodes.step(store, state_of(talk(6)), tools)
