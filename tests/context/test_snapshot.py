"""What a build loads, and when it is loaded again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from ctxeng.context.snapshot import KEPT, SnapshotReader
from ctxeng.core.errors import StoreError
from ctxeng.store import Store
from ctxeng.tokens import HeuristicCounter
from tests.compaction.fakes import artifact, talk

COUNTER = HeuristicCounter()


@pytest.fixture
async def reader(store: Store) -> SnapshotReader:
    """Return a reader over a store with one conversation of six messages."""
    await store.create_conversation("c")
    await store.append_many("c", [m.with_(tokens=None) for m in talk(6)])
    return SnapshotReader(store, COUNTER)


async def test_a_snapshot_is_kept_while_nothing_changes(reader: SnapshotReader) -> None:
    """The same object comes back, with the blocks made so far."""
    first = await reader.load("c", None)
    assert await reader.load("c", None) is first
    assert await reader.load("c", 5) is first
    block = first.raw("recent", first.messages[0])
    assert first.raw("recent", first.messages[0]) is block
    assert first.raw("tail", first.messages[0]).kind == "tail"


async def append(store: Store) -> None:
    await store.append("c", "user", "한 마디 더")


async def edit(store: Store) -> None:
    await store.edit_message("c", 1, "other words")


async def redact(store: Store) -> None:
    await store.redact_message("c", 1)


async def compact(store: Store) -> None:
    await store.insert_nodes([artifact("episode", 0, 5)])


async def summarise(store: Store) -> None:
    await store.insert_rolling(artifact("rolling", 0, 5), expected_version=0)


async def begin_anew(store: Store) -> None:
    await store.delete_conversation("c")
    await store.create_conversation("c")
    await store.append_many("c", [m.with_(content="anew") for m in talk(6)])


@pytest.mark.parametrize("change", [append, edit, redact, compact, summarise, begin_anew])
async def test_any_change_is_seen_at_once(
    store: Store, reader: SnapshotReader, change: Callable[[Store], Awaitable[None]]
) -> None:
    """A snapshot is never stale: the next load equals that of a reader that knows nothing."""
    before = await reader.load("c", None)
    await change(store)
    after = await reader.load("c", None)
    fresh = await SnapshotReader(store, COUNTER).load("c", None)
    assert after is not before
    assert (after.messages, after.artifacts) == (fresh.messages, fresh.artifacts)
    assert (after.messages, after.artifacts) != (before.messages, before.artifacts)


@pytest.mark.parametrize(
    ("as_of", "expected"), [(None, 5), (99, 5), (5, 5), (3, 3), (0, 0), (-1, -1), (-7, -1)]
)
async def test_a_snapshot_knows_nothing_after_its_seq(
    reader: SnapshotReader, as_of: int | None, expected: int
) -> None:
    """as_of is inclusive, and no further than the conversation goes in either direction."""
    snapshot = await reader.load("c", as_of)
    assert snapshot.as_of == expected
    assert [m.seq for m in snapshot.messages] == list(range(expected + 1))


async def test_artifacts_are_those_of_the_moment(store: Store, reader: SnapshotReader) -> None:
    """An artifact that becomes visible at seq 5 is not there as of 4."""
    await store.insert_nodes([artifact("episode", 0, 3, visible_from_seq=5)])
    assert (await reader.load("c", 4)).artifacts == ()
    assert len((await reader.load("c", 5)).artifacts) == 1


async def test_messages_are_counted_where_nobody_counted_them(
    store: Store, reader: SnapshotReader
) -> None:
    """A stored count is kept; a missing one is filled in."""
    await store.append("c", "user", "数えてある", tokens=99)
    snapshot = await reader.load("c", None)
    assert [m.tokens for m in snapshot.messages] == [*(COUNTER.count(m.text) for m in talk(6)), 99]


async def test_the_snapshot_used_longest_ago_is_dropped_first(
    store: Store, reader: SnapshotReader
) -> None:
    """One more than are kept: of the first two, the one that was used again is still there."""
    await store.append_many("c", talk(6))
    loaded = [await reader.load("c", seq) for seq in range(KEPT)]
    assert await reader.load("c", 0) is loaded[0]
    await reader.load("c", KEPT)
    assert await reader.load("c", 0) is loaded[0]
    assert await reader.load("c", 1) is not loaded[1]


async def test_an_unknown_conversation_is_an_error(store: Store) -> None:
    """There is nothing to build a prompt from."""
    with pytest.raises(StoreError, match="ghost"):
        await SnapshotReader(store, COUNTER).load("ghost", None)
