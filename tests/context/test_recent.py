"""The raw part of the prompt."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.context.recent import FittedRecent, fit_recent
from ctxeng.context.sections import raw_block
from ctxeng.context.shortening import MARK
from ctxeng.core.context import Block
from ctxeng.core.messages import Message
from ctxeng.core.pairs import call_ids, result_ids
from ctxeng.tokens import HeuristicCounter
from tests.compaction.fakes import answer, call, say, talk
from tests.generators import histories

COUNT = HeuristicCounter().count


def blocks_of(messages: Sequence[Message]) -> list[Block]:
    """Return raw blocks; a line of talk costs 7 tokens and 4 for its place."""
    return [raw_block("recent", m, COUNT) for m in messages]


def fitted(messages: Sequence[Message], room: int | None, minimum: int = 0) -> FittedRecent:
    """Return the newest messages that fit."""
    return fit_recent(blocks_of(messages), room_tokens=room, min_messages=minimum, count=COUNT)


def seqs(blocks: Sequence[Block]) -> list[int]:
    """Return the messages shown."""
    return [b.message_seqs[0] for b in blocks]


@pytest.mark.parametrize(
    ("room", "expected"),
    [
        (None, [0, 1, 2, 3]),
        (44, [0, 1, 2, 3]),
        (43, [1, 2, 3]),
        (33, [1, 2, 3]),
        (32, [2, 3]),
        (11, [3]),
        (10, []),
        (0, []),
    ],
)
def test_the_newest_messages_that_fit_are_kept(room: int | None, expected: list[int]) -> None:
    """Four messages of eleven tokens each."""
    result = fitted(talk(4), room)
    assert seqs(result.kept) == expected
    assert seqs(result.dropped) == [s for s in range(4) if s not in expected]
    assert result.tokens == 11 * len(expected)


def test_a_tool_exchange_is_kept_or_dropped_whole() -> None:
    """The result alone would fit, and is dropped with its call."""
    messages = [say(0), call(1, "a"), answer(2, "a"), say(3)]
    costs = [b.tokens for b in blocks_of(messages)]
    assert seqs(fitted(messages, costs[3] + costs[2]).kept) == [3]
    assert seqs(fitted(messages, sum(costs[1:])).kept) == [1, 2, 3]


def test_nothing_older_is_kept_past_something_that_does_not_fit() -> None:
    """The raw part has no holes: a short old message does not jump a long one."""
    messages = [say(0, "a"), say(1, "x" * 400), say(2, "b")]
    assert seqs(fitted(messages, 30).kept) == [2]


def test_the_minimum_is_kept_by_shortening() -> None:
    """Two messages must stay: the long one is cut, with a visible mark, the short one is not."""
    messages = [say(0), say(1, "予算 " * 200), say(2, "はい")]
    result = fitted(messages, 60, minimum=2)
    assert seqs(result.kept) == [1, 2]
    assert [b.shortened for b in result.kept] == [True, False]
    assert MARK in result.kept[0].text
    assert result.kept[0].message is not None
    assert result.kept[0].message.text == result.kept[0].text
    assert result.tokens <= 60
    assert seqs(result.dropped) == [0]


def test_long_messages_are_shortened_evenly() -> None:
    """Neither of two long messages is sacrificed for the other."""
    messages = [say(0, "x" * 4000), say(1, "y" * 4000)]
    result = fitted(messages, 200, minimum=2)
    assert seqs(result.kept) == [0, 1]
    assert all(90 <= b.tokens <= 100 for b in result.kept)


def test_the_minimum_is_lowered_only_where_not_even_marks_fit() -> None:
    """With room for one mark the newest message stays, with room for none nothing does."""
    messages = [say(0, "x" * 400), say(1, "y" * 400)]
    mark = 4 + COUNT(MARK.strip())
    assert seqs(fitted(messages, 2 * mark, minimum=2).kept) == [0, 1]
    assert seqs(fitted(messages, 2 * mark - 1, minimum=2).kept) == [1]
    assert seqs(fitted(messages, mark - 1, minimum=2).kept) == []


def test_a_message_that_cannot_be_shortened_is_not_called_so() -> None:
    """A text shorter than the mark is kept or dropped, never flagged."""
    assert fitted([say(0, "はい"), say(1, "y")], 5, minimum=2).kept[0].shortened is False


def test_a_minimum_that_cuts_through_an_exchange_keeps_it_whole() -> None:
    """Asked for one message, the newest unit is a call with its results: all of it, shortened."""
    long = answer(2, "a").with_(
        blocks=({"type": "tool_result", "tool_use_id": "a", "content": "행 " * 400},)
    )
    result = fitted([say(0), call(1, "a"), long], 60, minimum=1)
    assert seqs(result.kept) == [1, 2]
    assert result.kept[1].shortened
    assert result.tokens <= 60


def test_no_messages_is_no_fault() -> None:
    """Nothing in, nothing out."""
    assert fitted([], 0, minimum=4) == FittedRecent(kept=(), dropped=())


@settings(max_examples=50, deadline=None)
@given(history=histories(max_size=12), room=st.integers(0, 400), minimum=st.integers(0, 6))
def test_the_raw_part_is_a_run_of_whole_units_within_its_room(
    history: list[Message], room: int, minimum: int
) -> None:
    """Newest messages without a hole, no pair split, everything told, tokens within the room."""
    result = fitted(history, room, minimum)
    kept = seqs(result.kept)
    assert result.tokens <= room
    assert kept == list(range(len(history) - len(kept), len(history)))
    assert seqs(result.dropped) + kept == list(range(len(history)))
    for block in result.kept:
        assert block.message is not None
        assert block.shortened == (block.text != history[block.message_seqs[0]].text)
    made = {c: m.seq for m in history for c in call_ids(m)}
    for message in history:
        for c in result_ids(message) & made.keys():
            assert (made[c] in kept) == (message.seq in kept)
