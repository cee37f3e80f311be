"""The recent window: newest messages by budget, a minimum always, tool pairs whole."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.core.messages import Message
from ctxeng.core.pairs import atomic_starts
from ctxeng.core.windows import window_start
from tests.generators import histories


def sized(*tokens: int | None) -> list[Message]:
    """Return messages of these sizes."""
    return [Message(seq=i, role="user", content="x", tokens=n) for i, n in enumerate(tokens)]


# Starts by hand: walk back from the end while the sum stays within the budget.
@pytest.mark.parametrize(
    ("tokens", "budget", "minimum", "expected"),
    [
        ((), 100, 4, 0),
        ((), None, 4, 0),
        ((10, 10, 10), None, 0, 0),
        ((10, 10, 10), 30, 0, 0),
        ((10, 10, 10), 29, 0, 1),
        ((10, 10, 10), 20, 0, 1),
        ((10, 10, 10), 9, 0, 3),
        ((10, 10, 10), 0, 0, 3),
        ((10, 10, 10), 0, 1, 2),
        ((10, 10, 10), 0, 2, 1),
        ((10, 10, 10), 0, 99, 0),
        ((1, 1, 1000), 500, 0, 3),
        ((1, 1, 1000), 500, 1, 2),
        ((1, 1, 1000), 1001, 1, 1),
        ((1, 1000, 1), 10, 1, 2),
        ((0, 0, 0), 0, 0, 0),
        ((None, None), 0, 0, 0),
        ((5, 5, 5, 5), 10, 3, 1),
    ],
)
def test_the_window_takes_the_newest_messages_within_its_budget(
    tokens: tuple[int | None, ...], budget: int | None, minimum: int, expected: int
) -> None:
    """The minimum number stays whatever it costs; no budget means everything."""
    start = window_start(sized(*tokens), budget_tokens=budget, min_messages=minimum)
    assert start == expected


def test_the_window_reaches_back_to_a_call_whose_result_it_shows() -> None:
    """A start between a call and its result moves back to the call."""
    call = {"type": "tool_use", "id": "a", "name": "read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "予算"}
    messages = [
        Message(seq=0, role="user", content="x", tokens=10),
        Message(seq=1, role="assistant", content="", blocks=(call,), tokens=500),
        Message(seq=2, role="tool", content="", blocks=(result,), tokens=10),
        Message(seq=3, role="assistant", content="done", tokens=10),
    ]
    assert window_start(messages, budget_tokens=20, min_messages=0) == 1
    assert window_start(messages, budget_tokens=10, min_messages=0) == 3
    assert window_start(messages, budget_tokens=9, min_messages=0) == 4


@given(
    history=histories(max_size=25),
    sizes=st.lists(st.integers(0, 60), min_size=25, max_size=25),
    budget=st.one_of(st.none(), st.integers(0, 400)),
    minimum=st.integers(0, 8),
)
@settings(max_examples=50, deadline=None)
def test_a_window_holds_its_minimum_starts_at_a_cut_and_grows_with_its_budget(
    history: list[Message], sizes: list[int], budget: int | None, minimum: int
) -> None:
    """What the rule promises, for any history."""
    messages = [m.with_(tokens=n) for m, n in zip(history, sizes, strict=False)]
    start = window_start(messages, budget_tokens=budget, min_messages=minimum)
    assert len(messages) - start >= min(minimum, len(messages))
    assert start in {*atomic_starts(messages), len(messages)}
    if budget is not None:
        wider = window_start(messages, budget_tokens=budget + 50, min_messages=minimum)
        assert wider <= start


@given(sizes=st.lists(st.integers(0, 60), max_size=20), budget=st.integers(0, 300))
@settings(max_examples=50, deadline=None)
def test_without_tools_or_minimum_a_window_is_the_longest_one_that_fits(
    sizes: list[int], budget: int
) -> None:
    """Compared with the sum of every suffix."""
    start = window_start(sized(*sizes), budget_tokens=budget, min_messages=0)
    assert sum(sizes[start:]) <= budget
    assert start == 0 or sum(sizes[start - 1 :]) > budget
