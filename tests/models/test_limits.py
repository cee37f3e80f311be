"""Limits: the call that would go over is not made."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.core.errors import LimitReached
from ctxeng.models import Limits


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_exactly_as_many_calls_are_made_as_allowed(limit: int) -> None:
    """The next one is refused, and not counted."""
    limits = Limits(max_calls=limit)
    for _ in range(limit):
        limits.reserve()
    with pytest.raises(LimitReached, match=f"got a limit of {limit}. Raise --max-calls"):
        limits.reserve()
    assert limits.calls == limit


def test_without_limits_everything_is_counted_and_nothing_refused() -> None:
    """None means no limit."""
    limits = Limits()
    for _ in range(100):
        limits.reserve(expected_cost_usd=10)
        limits.settle(expected_cost_usd=10, cost_usd=9)
    assert (limits.calls, limits.cost_usd, limits.held_usd) == (100, 900, 0)


# Spent so far, price expected, whether a limit of one dollar allows the call.
@pytest.mark.parametrize(
    ("spent", "expected", "allowed"),
    [(0.0, 1.0, True), (0.0, 1.01, False), (0.5, 0.5, True), (0.75, 0.5, False), (1.0, 0.0, True)],
)
def test_a_call_is_made_only_if_its_expected_price_fits(
    spent: float, expected: float, allowed: bool
) -> None:
    """The limit itself may be reached, not passed."""
    limits = Limits(max_cost_usd=1.0)
    limits.spend(spent)
    if allowed:
        limits.reserve(expected_cost_usd=expected)
    else:
        with pytest.raises(LimitReached, match="max_cost must allow another call"):
            limits.reserve(expected_cost_usd=expected)
    assert limits.calls == int(allowed)


def test_calls_in_flight_count_as_spent_until_they_are_settled() -> None:
    """Eight calls at once cannot each see the same empty account."""
    limits = Limits(max_cost_usd=1.0)
    limits.reserve(expected_cost_usd=0.5)
    limits.reserve(expected_cost_usd=0.5)
    with pytest.raises(LimitReached, match=r"got 0.0000 spent and 1.0000 in flight of 1.0000 USD"):
        limits.reserve(expected_cost_usd=0.5)
    limits.settle(expected_cost_usd=0.5, cost_usd=0.125)
    with pytest.raises(LimitReached):
        limits.reserve(expected_cost_usd=0.5)
    limits.settle(expected_cost_usd=0.5, cost_usd=None)
    limits.reserve(expected_cost_usd=0.5)
    assert (limits.cost_usd, limits.held_usd, limits.calls) == (0.125, 0.5, 3)


def test_a_call_of_unknown_price_counts_as_a_call_and_costs_nothing() -> None:
    """Unknown is not made up; the limit on calls still holds."""
    limits = Limits(max_cost_usd=0.0, max_calls=1)
    limits.reserve()
    limits.settle(expected_cost_usd=0.0, cost_usd=None)
    assert (limits.calls, limits.cost_usd) == (1, 0.0)


@given(st.lists(st.tuples(st.floats(0, 2), st.floats(0, 1)), max_size=30))
@settings(max_examples=50, deadline=None)
def test_what_is_spent_never_passes_the_limit_when_estimates_are_upper_bounds(
    calls: list[tuple[float, float]],
) -> None:
    """Each call costs a share of what was expected; some are still in flight at the end."""
    limits = Limits(max_cost_usd=5.0)
    for i, (expected, share) in enumerate(calls):
        try:
            limits.reserve(expected_cost_usd=expected)
        except LimitReached:
            continue
        if i % 3:
            limits.settle(expected_cost_usd=expected, cost_usd=expected * share)
        assert limits.cost_usd + limits.held_usd <= 5.0 + 1e-9
