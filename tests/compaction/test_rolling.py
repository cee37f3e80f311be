"""The rolling summary: when it is rewritten, from what, and under which number."""

from __future__ import annotations

import pytest

from ctxeng.compaction import VerbatimSummariser, rolling
from ctxeng.compaction.models import transcript
from ctxeng.core.artifacts import Artifact
from ctxeng.core.errors import Conflict
from ctxeng.core.messages import Message
from ctxeng.store import Store
from tests.compaction.fakes import (
    COUNTER,
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


def due(
    threshold: int, *written: Artifact, size: int = 10, old_until: int | None = None
) -> tuple[int | None, int, int] | None:
    """Return the previous version's number and the range to fold in (end exclusive)."""
    tools = tools_with(settings_with(rolling={"enabled": True, "threshold_tokens": threshold}))
    found = rolling.due(state_of(talk(size), *written, old_until=old_until), tools)
    if found is None:
        return None
    previous, start, end = found
    return (previous.version if previous else None), start, end


@pytest.mark.parametrize(("threshold", "is_due"), [(1, True), (69, True), (70, True), (71, False)])
def test_it_is_due_when_the_waiting_messages_reach_the_threshold(
    threshold: int, is_due: bool
) -> None:
    """Ten messages of seven tokens wait: 70 tokens."""
    assert (due(threshold) is not None) == is_due


def test_only_old_messages_after_the_last_version_wait() -> None:
    """Covered messages and the recent window count for nothing."""
    first = artifact("rolling", 0, 3)
    assert due(42, first) == (1, 4, 10)
    assert due(43, first) is None
    assert due(28, first, old_until=8) == (1, 4, 8)
    assert due(29, first, old_until=8) is None
    assert due(1, artifact("rolling", 0, 9)) is None


def test_work_goes_on_from_the_last_version_that_is_not_stale() -> None:
    """What a stale version covered waits again."""
    versions = [artifact("rolling", 0, 3), artifact("rolling", 0, 7, version=2, status="stale")]
    assert due(42, *versions) == (1, 4, 10)


def test_nothing_is_due_without_messages() -> None:
    """An empty conversation reaches no threshold, not even the lowest."""
    assert due(1, size=0) is None


async def test_a_version_covers_everything_and_rewrites_the_one_before(store: Store) -> None:
    """Core range from 0, the read range what is new; the old text is handed to the summariser."""
    await store.create_conversation("c")
    summariser = ScriptedSummariser("Goal:\n- first", "Goal:\n- 두 번째")
    table = settings_with(rolling={"enabled": True, "threshold_tokens": 20, "target_tokens": 33})
    tools = tools_with(table, summariser)
    first = await rolling.step(store, state_of(talk(4)), tools)
    assert first is not None
    assert first.artifact_id == "c/rolling/0/0-3/v1"
    assert (first.from_seq, first.to_seq, first.parents) == (0, 3, ())
    second = await rolling.step(store, state_of(talk(8), first), tools)
    assert second is not None
    assert (second.artifact_id, second.version) == ("c/rolling/0/0-7/v2", 2)
    assert (second.from_seq, second.to_seq) == (0, 7)
    assert (second.read_from_seq, second.read_to_seq) == (4, 7)
    assert second.parents == (first.artifact_id,)
    assert [task.previous for task in summariser.tasks] == [None, "Goal:\n- first"]
    assert [m.seq for m in summariser.tasks[1].messages] == [4, 5, 6, 7]
    assert summariser.tasks[1].target_tokens == 33
    assert [a.text for a in await store.artifacts("c", as_of=7)] == ["Goal:\n- 두 번째"]


async def test_the_version_after_a_stale_one_has_a_number_of_its_own(store: Store) -> None:
    """Version 2 went stale: version 3 is written from version 1 and is not refused."""
    await store.create_conversation("c")
    tools = tools_with(settings_with(rolling={"enabled": True, "threshold_tokens": 20}))
    first = await rolling.step(store, state_of(talk(4)), tools)
    assert first is not None
    second = await rolling.step(store, state_of(talk(8), first), tools)
    assert second is not None
    await store.mark_stale([second.artifact_id])
    written = await store.all_artifacts("c")
    third = await rolling.step(store, state_of(talk(8), *written), tools)
    assert third is not None
    assert (third.version, third.parents) == (3, (first.artifact_id,))
    assert [a.version for a in await store.artifacts("c", as_of=7)] == [3]


async def test_the_loser_of_a_race_is_told(store: Store) -> None:
    """The second writer of version 1 gets a conflict."""
    await store.create_conversation("c")
    tools = tools_with(settings_with(rolling={"enabled": True, "threshold_tokens": 20}))
    assert await rolling.step(store, state_of(talk(4)), tools) is not None
    with pytest.raises(Conflict):
        await rolling.step(store, state_of(talk(4)), tools)


EXCHANGE = [*talk(3), call(3, "a", "b"), say(4), answer(5, "a"), answer(6, "b"), *talk(10)[7:]]


async def covered(
    store: Store, messages: list[Message], window_tokens: int, *, lossless: bool = False
) -> int:
    """Return how many messages the first version covers."""
    await store.create_conversation("c")
    tools = tools_with(
        settings_with(rolling={"enabled": True, "threshold_tokens": 20}),
        VerbatimSummariser() if lossless else ScriptedSummariser(),
        window_tokens=window_tokens,
    )
    written = await rolling.step(store, state_of(messages), tools)
    assert written is not None
    return written.to_seq + 1


def cost(messages: list[Message]) -> int:
    """Return the tokens of messages as the summariser is shown them."""
    return sum(COUNTER.count(transcript([m], core_from=0)) for m in messages)


@pytest.mark.parametrize(
    ("fitting", "expected"),
    [
        (10, 10),
        (9, 9),
        (7, 7),
        (6, 3),  # the room ends within the exchange of messages 3 to 6: cut before it
        (3, 3),
        (1, 1),
    ],
)
async def test_a_long_span_is_cut_to_what_the_summariser_takes(
    store: Store, fitting: int, expected: int
) -> None:
    """Half the summariser's window is for new messages, and a tool exchange is never split."""
    room = cost(EXCHANGE[:fitting])
    assert await covered(store, EXCHANGE, 2 * room + 1) == expected


async def test_the_lossless_control_takes_any_span(store: Store) -> None:
    """No window limits a summariser that asks no model."""
    assert await covered(store, EXCHANGE, 72, lossless=True) == 10


async def test_a_first_exchange_beyond_the_room_is_taken_alone(store: Store) -> None:
    """One atomic run stays however long it is, and nothing after it is dragged along."""
    messages = [call(0, "a"), answer(1, "a"), *talk(10)[2:]]
    assert await covered(store, messages, cost(messages[:2]) + 20) == 2


async def test_many_short_messages_never_overflow_the_summariser(store: Store) -> None:
    """The tags around each message count as well: a flood of one-word messages is cut too."""
    messages = [say(seq, "はい") for seq in range(200)]
    assert 0 < await covered(store, messages, 2000) < 200
