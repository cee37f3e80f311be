"""What compaction knows of a conversation."""

from __future__ import annotations

import pytest

from ctxeng.compaction.state import NEVER_VISIBLE, State, StateReader, run_from, settled_until
from ctxeng.core.errors import StoreError
from ctxeng.core.messages import Message
from ctxeng.store import Store
from tests.compaction.fakes import (
    COUNTER,
    answer,
    artifact,
    call,
    say,
    settings_with,
    state_of,
    talk,
)

EVERYTHING_OLD = settings_with()


def reader_of(store: Store) -> StateReader:
    """Return a reader that knows nothing yet."""
    return StateReader(store, EVERYTHING_OLD, COUNTER)


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], 0),
        (talk(4), 4),
        ([*talk(3), call(3, "a")], 3),
        ([*talk(3), call(3, "a"), answer(4, "a")], 5),
        ([*talk(3), call(3, "a", "b"), answer(4, "a")], 3),
        ([*talk(3), call(3, "a"), call(4, "b")], 3),
        ([*talk(3), call(3, "a"), call(4, "b"), answer(5, "b")], 3),
        ([*talk(3), call(3, "a"), answer(4, "a"), call(5, "b")], 5),
        ([*talk(3), call(3, "a"), say(4, role="user")], 5),  # interrupted: no result will come
        ([*talk(3), call(3, "a"), say(4, role="user"), call(5, "b")], 5),
        ([call(0, "a")], 0),
        ([answer(0, "a")], 1),  # a result without a call binds nothing
        ([say(0), answer(1, "a"), call(2, "b")], 2),
        # the call that waits lies within a longer pair, which stays whole
        ([say(0), call(1, "a", "b"), answer(2, "a"), call(3, "c"), answer(4, "b")], 1),
    ],
)
def test_what_waits_for_a_tool_result_is_not_settled(
    messages: list[Message], expected: int
) -> None:
    """The border lies before the first call of the newest turn that has no result yet."""
    assert settled_until(messages) == expected


@pytest.mark.parametrize(
    ("ranges", "start", "limit", "expected"),
    [
        ([], 0, 3, []),
        ([(0, 3), (4, 6), (7, 9)], 0, 2, [0, 4]),
        ([(4, 6), (0, 3)], 0, 9, [0, 4]),
        ([(0, 3), (7, 9)], 0, 9, [0]),
        ([(0, 3), (4, 6)], 4, 9, [4]),
        ([(0, 3)], 1, 9, []),
        ([(0, 3)], 0, 0, []),
    ],
)
def test_a_run_stops_at_the_first_gap(
    ranges: list[tuple[int, int]], start: int, limit: int, expected: list[int]
) -> None:
    """Artifacts follow each other from the start, at most as many as the limit."""
    run = run_from([artifact("episode", *r) for r in ranges], start, limit=limit)
    assert [a.from_seq for a in run] == expected


def test_stale_artifacts_count_for_versions_only() -> None:
    """A stale episode leaves a hole, and its successor is the next generation."""
    state = state_of(
        talk(18),
        artifact("episode", 0, 5),
        artifact("episode", 6, 11, status="stale"),
        artifact("episode", 12, 17),
    )
    assert [a.from_seq for a in state.of_kind("episode")] == [0, 12]
    assert state.uncovered("episode") == (6, 12)
    assert state.next_version("episode", from_seq=6) == 2
    assert state.next_version("episode", from_seq=18) == 1


def test_only_the_newest_generation_of_a_range_is_current() -> None:
    """Of two generations that are not stale the later one stands for the range."""
    old, new = artifact("node", 0, 5), artifact("node", 0, 5, version=2)
    assert state_of(talk(6), new, old).of_kind("node") == [new]


def test_the_newest_version_skips_stale_ones_but_numbers_go_on() -> None:
    """After a stale version 2, work goes on from version 1 and writes version 3."""
    first = artifact("rolling", 0, 5)
    state = state_of(talk(12), first, artifact("rolling", 0, 9, version=2, status="stale"))
    assert state.newest("rolling") == first
    assert state.next_version("rolling") == 3
    assert state.newest("memory") is None


@pytest.mark.parametrize(("lag", "expected"), [(0, 9), (1, 10), (3, 12), (None, NEVER_VISIBLE)])
def test_visibility_is_the_last_seq_plus_the_lag(lag: int | None, expected: int) -> None:
    """Of ten messages the last seq is 9; without a lag value nothing ever becomes visible."""
    table = settings_with(compaction={"lag_messages": lag})
    assert state_of(talk(10)).visible_from(table) == expected


def test_speakers_are_named_once_and_tools_are_not_speakers() -> None:
    """Names come in order of first appearance, the role where no name is known."""
    messages = [say(0, speaker="佐伯"), call(1, "a"), answer(2, "a"), say(3, speaker="佐伯")]
    assert state_of(messages).speakers == ("佐伯", "assistant")


async def filled(store: Store, size: int = 6) -> None:
    """Store a conversation of so many messages."""
    await store.create_conversation("c", language="ja")
    await store.append_many("c", [m.with_(tokens=None) for m in talk(size)])


async def test_messages_are_counted_where_nobody_counted_them(store: Store) -> None:
    """A stored count is kept; a missing one is filled in by the counter."""
    await filled(store, 1)
    await store.append("c", "user", "数えてある", tokens=99)
    state = await reader_of(store).load("c")
    assert [m.tokens for m in state.messages] == [COUNTER.count(talk(1)[0].text), 99]


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ({"tokens": 0, "min_messages": 0}, 6),
        ({"tokens": 0, "min_messages": 2}, 4),
        ({"tokens": 21, "min_messages": 0}, 3),
        ({"tokens": None, "min_messages": 0}, 0),
    ],
)
async def test_the_window_decides_what_is_old(
    store: Store, window: dict[str, int | None], expected: int
) -> None:
    """Six messages of seven tokens each; 21 tokens hold three of them."""
    await filled(store)
    state = await StateReader(store, settings_with(window=window), COUNTER).load("c")
    assert state.old_until == expected


async def test_a_call_without_its_result_is_not_old_even_without_a_window(store: Store) -> None:
    """The newest message is a call: it waits for its result, and what is before it does not."""
    await filled(store, 4)
    await store.append_many("c", [call(4, "a")])
    reader = reader_of(store)
    assert (await reader.load("c")).old_until == 4
    await store.append_many("c", [answer(5, "a")])
    assert (await reader.load("c")).old_until == 6


async def test_an_unknown_conversation_is_an_error(store: Store) -> None:
    """Nothing is compacted that is not there."""
    with pytest.raises(StoreError, match="ghost"):
        await reader_of(store).load("ghost")


async def test_an_empty_conversation_has_nothing_old(store: Store) -> None:
    """A conversation without messages loads as such."""
    await store.create_conversation("c")
    state = await reader_of(store).load("c")
    assert (state.messages, state.old_until, state.written) == ((), 0, ())


async def appended(store: Store) -> None:
    await store.append("c", "user", "한 마디 더")


async def edited(store: Store) -> None:
    await store.edit_message("c", 1, "other words")


async def edited_and_appended(store: Store) -> None:
    await appended(store)
    await edited(store)


async def redacted(store: Store) -> None:
    await store.redact_message("c", 1)


async def compacted(store: Store) -> None:
    await store.insert_nodes([artifact("episode", 0, 5)])


async def begun_anew(store: Store) -> None:
    await store.delete_conversation("c")
    await filled(store, 8)


@pytest.mark.parametrize(
    "change", [appended, edited, edited_and_appended, redacted, compacted, begun_anew]
)
async def test_a_reader_that_knows_the_conversation_reads_as_a_new_one_does(
    store: Store, change: object
) -> None:
    """Whatever has happened since the last look, by whatever process, is seen."""
    await filled(store)
    reader = reader_of(store)
    await reader.load("c")
    await change(store)  # type: ignore[operator]
    known, fresh = await reader.load("c"), await reader_of(store).load("c")
    assert known == fresh
    assert isinstance(known, State)


async def test_a_reader_may_turn_from_one_conversation_to_another(store: Store) -> None:
    """Messages of one conversation never appear in another one's state."""
    await filled(store)
    await store.create_conversation("other")
    reader = reader_of(store)
    await reader.load("c")
    assert (await reader.load("other")).messages == ()
    assert len((await reader.load("c")).messages) == 6
