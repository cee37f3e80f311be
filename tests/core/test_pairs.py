"""Tool pairs: no cut stands between a call and its result."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.core.messages import Message
from ctxeng.core.pairs import atomic_starts, bound, call_ids, result_ids, snap_back, snap_forward
from tests.generators import histories


def plain(seq: int) -> Message:
    """Return a message without tool traffic."""
    return Message(seq=seq, role="user", content="はい")


def calls(seq: int, *ids: str, kind: str = "tool_use") -> Message:
    """Return a message that makes calls."""
    blocks = tuple({"type": kind, "id": i, "name": "f", "input": {}} for i in ids)
    return Message(seq=seq, role="assistant", content="", blocks=blocks)


def results(seq: int, *ids: str, kind: str = "tool_result") -> Message:
    """Return a message that answers calls."""
    blocks = tuple({"type": kind, "tool_use_id": i, "content": "x"} for i in ids)
    return Message(seq=seq, role="tool", content="", blocks=blocks)


# Expected cuts by hand.
CASES: list[tuple[str, list[Message], list[int]]] = [
    ("nothing", [], []),
    ("one message", [plain(0)], [0]),
    ("no tools", [plain(0), plain(1), plain(2)], [0, 1, 2]),
    ("call and result", [plain(0), calls(1, "a"), results(2, "a"), plain(3)], [0, 1, 3]),
    ("talk between", [calls(0, "a"), plain(1), results(2, "a"), plain(3)], [0, 3]),
    ("two calls at once", [calls(0, "a", "b"), results(1, "a"), results(2, "b")], [0]),
    (
        "interleaved",
        [calls(0, "a"), calls(1, "b"), results(2, "a"), results(3, "b"), plain(4)],
        [0, 4],
    ),
    (
        "one after the other",
        [calls(0, "a"), results(1, "a"), calls(2, "b"), results(3, "b")],
        [0, 2],
    ),
    ("call without result", [calls(0, "a"), plain(1), plain(2)], [0, 1, 2]),
    ("result without call", [plain(0), results(1, "z"), plain(2)], [0, 1, 2]),
    ("result before its call", [results(0, "a"), calls(1, "a"), plain(2)], [0, 1, 2]),
    ("answered twice", [calls(0, "a"), results(1, "a"), plain(2), results(3, "a")], [0]),
    (
        "an id used again",
        [calls(0, "a"), results(1, "a"), calls(2, "a"), results(3, "a"), plain(4)],
        [0, 2, 4],
    ),
    (
        "other kinds of tools",
        [calls(0, "a", kind="mcp_tool_use"), results(1, "a", kind="mcp_tool_result"), plain(2)],
        [0, 2],
    ),
    (
        "web search",
        [
            calls(0, "a", kind="server_tool_use"),
            results(1, "a", kind="web_search_tool_result"),
        ],
        [0],
    ),
]


@pytest.mark.parametrize(
    ("messages", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_a_cut_is_allowed_wherever_no_answered_call_is_open(
    messages: list[Message], expected: list[int]
) -> None:
    """Calls and results that have lost their other half bind nothing."""
    assert atomic_starts(messages) == expected


@given(histories(max_size=30))
@settings(max_examples=50, deadline=None)
def test_a_cut_keeps_every_tool_result_with_its_call(history: list[Message]) -> None:
    """At every allowed cut, no call before it is answered after it."""
    starts = atomic_starts(history)
    assert starts[:1] == ([0] if history else [])
    assert starts == sorted(set(starts))
    for cut in starts:
        made = {i for m in history[:cut] for i in call_ids(m)}
        answered = {i for m in history[cut:] for i in result_ids(m)}
        assert not made & answered


@given(histories(max_size=30))
@settings(max_examples=50, deadline=None)
def test_every_place_that_is_not_an_allowed_cut_would_split_a_pair(
    history: list[Message],
) -> None:
    """The rule is not stricter than it must be."""
    starts = set(atomic_starts(history))
    for cut in set(range(len(history))) - starts:
        made = {i for m in history[:cut] for i in call_ids(m)}
        answered = {i for m in history[cut:] for i in result_ids(m)}
        assert made & answered


@pytest.mark.parametrize(
    ("block", "made", "answered"),
    [
        ({"type": "tool_use", "id": "a"}, {"a"}, set()),
        ({"type": "tool_use", "id": ""}, set(), set()),
        ({"type": "tool_use"}, set(), set()),
        ({"type": "tool_use", "id": 7}, {"7"}, set()),
        ({"type": "tool_result", "tool_use_id": "a"}, set(), {"a"}),
        ({"type": "tool_result", "tool_use_id": None}, set(), set()),
        ({"type": "code_execution_tool_result", "tool_use_id": "a"}, set(), {"a"}),
        ({"type": "text", "id": "a", "tool_use_id": "a"}, set(), set()),
        ({"id": "a"}, set(), set()),
    ],
)
def test_ids_are_read_from_tool_blocks_only(
    block: dict[str, Any], made: set[str], answered: set[str]
) -> None:
    """A block without an id neither makes nor answers a call."""
    message = Message(seq=0, role="assistant", content="", blocks=(block,))
    assert (call_ids(message), result_ids(message)) == (made, answered)


@pytest.mark.parametrize(
    ("index", "back", "forward"),
    [(0, 0, 0), (1, 0, 3), (2, 0, 3), (3, 3, 3), (4, 3, 5), (5, 5, 5), (6, 5, 9), (99, 5, 9)],
)
def test_an_index_snaps_to_the_nearest_allowed_cut_on_either_side(
    index: int, back: int, forward: int
) -> None:
    """Back to a cut at or before, forward to one at or after, else to the end (by hand)."""
    starts = [0, 3, 5]
    assert snap_back(starts, index) == back
    assert snap_forward(starts, index, end=9) == forward


def test_snapping_without_any_allowed_cut_takes_all_or_nothing() -> None:
    """An empty list of cuts leaves the very start and the very end."""
    assert snap_back([], 4) == 0
    assert snap_forward([], 4, end=9) == 9


@given(starts=st.lists(st.integers(1, 50), unique=True), index=st.integers(0, 60))
@settings(max_examples=50, deadline=None)
def test_snapping_stays_on_its_side_of_the_index(starts: list[int], index: int) -> None:
    """Back never goes forward, forward never goes back."""
    assert snap_back([0, *starts], index) <= index
    assert snap_forward(starts, index, end=61) >= index


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], []),
        ([plain(0), None, plain(2)], [[0], [1], [2]]),
        ([calls(0, "a"), plain(1), results(2, "a")], [[0, 2], [1]]),
        ([results(2, "a"), plain(1), calls(0, "a")], [[0, 2], [1]]),  # found in any order
        ([calls(0, "a", "b"), results(1, "a"), results(2, "b")], [[0, 1, 2]]),
        ([calls(0, "a"), results(1, "a"), calls(2, "a"), results(3, "a")], [[0, 1], [2, 3]]),
        ([results(0, "a"), calls(1, "a")], [[0], [1]]),  # answered before it was asked: no pair
    ],
)
def test_calls_and_results_are_bound(
    messages: list[Message | None], expected: list[list[int]]
) -> None:
    """By the last call of that id before the result, wherever both stand in the list."""
    assert bound(messages) == expected
