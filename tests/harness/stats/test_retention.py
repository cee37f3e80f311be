"""Effective retention and its interval."""

from __future__ import annotations

import pytest

from ctxeng.harness.stats.paired import Pairs
from ctxeng.harness.stats.retention import effective_retention


def beside_none(sessions: int, probes: int, *, up: int) -> Pairs:
    """Return pairs in which ``none`` answers nothing and the other side ``up`` of each session."""
    return Pairs.by_session([(probes, 0, up, up, 0, up, 0)] * sessions)


def test_half_of_what_restating_gives_is_a_retention_of_one_half() -> None:
    """By hand: 4 of 10 against 8 of 10."""
    found = effective_retention(beside_none(20, 10, up=4), beside_none(20, 10, up=8))
    assert found.value == pytest.approx(0.5)
    assert found.low is not None
    assert found.high is not None
    assert 0.3 < found.low < 0.5 < found.high < 0.7


def test_a_perfect_arm_is_not_certified_perfect() -> None:
    """Everything retained in few sessions: the interval stays wide on both sides of 1."""
    found = effective_retention(beside_none(8, 5, up=5), beside_none(8, 5, up=5))
    assert found.value == 1.0
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.9
    assert found.high > 1.0


@pytest.mark.parametrize(
    ("kept", "room", "reason"),
    [
        (Pairs.of([]), Pairs.of([]), "no probe was decided"),
        (beside_none(1, 40, up=9), beside_none(1, 40, up=20), "one session gives no interval"),
        (
            beside_none(20, 10, up=0),
            beside_none(20, 10, up=0),
            "does not show more than no history",
        ),
    ],
)
def test_an_undefined_retention_is_none_with_its_reason(
    kept: Pairs, room: Pairs, reason: str
) -> None:
    """Never a division by nearly nothing."""
    found = effective_retention(kept, room)
    assert (found.value, found.low, found.high) == (None, None, None)
    assert reason in found.reason


def test_an_arm_worse_than_no_history_retains_less_than_nothing() -> None:
    """A harmful context has a negative retention."""
    worse = Pairs.by_session([(10, 3, 1, 0, 2, 0, 2)] * 20)
    found = effective_retention(worse, Pairs.by_session([(10, 3, 9, 6, 0, 6, 0)] * 20))
    assert found.value == pytest.approx(-1 / 3)
    assert found.high is not None
    assert found.high < 0.2
