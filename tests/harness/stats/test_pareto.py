"""The front of recall against tokens, and what cannot be told apart."""

from __future__ import annotations

import numpy as np

from ctxeng.harness.stats.paired import Pairs
from ctxeng.harness.stats.pareto import Front, Point, pareto


def front(points: list[tuple[str, float, float]], *, alike: bool) -> Front:
    made = [Point(arm=a, recall=r, low=None, high=None, tokens=t) for a, r, t in points]
    change = 0 if alike else 5
    pairs = Pairs.by_session([(10, 0, change, change, 0, change, 0)] * 12)
    return pareto(made, lambda one, other: pairs, rng=np.random.default_rng(1))


def test_the_front_holds_the_arms_that_nothing_beats() -> None:
    """Fewest tokens first; a beaten arm names the best of those that beat it."""
    found = front([("a", 0.5, 100), ("b", 0.7, 300), ("c", 0.4, 200), ("d", 0.7, 400)], alike=False)
    assert [point.arm for point in found.front] == ["a", "b"]
    assert found.beaten_by == {"c": "a", "d": "b"}
    assert found.inseparable == ()


def test_arms_that_the_probes_do_not_separate_are_named() -> None:
    """Neighbours on the front, and each beaten arm with the one that beats it."""
    found = front([("a", 0.5, 100), ("b", 0.7, 300), ("c", 0.4, 200)], alike=True)
    assert set(found.inseparable) == {("a", "b"), ("a", "c")}


def test_money_keeps_an_arm_on_the_front_where_it_is_known() -> None:
    """Less recall for more tokens, yet cheaper: not beaten; with an unknown price it is."""
    points = [
        Point(arm="a", recall=0.5, low=None, high=None, tokens=100, cost_usd=2.0),
        Point(arm="b", recall=0.4, low=None, high=None, tokens=200, cost_usd=1.0),
        Point(arm="c", recall=0.4, low=None, high=None, tokens=200, cost_usd=None),
    ]
    pairs = Pairs.by_session([(10, 0, 1, 1, 0, 1, 0)] * 12)
    found = pareto(points, lambda one, other: pairs, rng=np.random.default_rng(1))
    assert [point.arm for point in found.front] == ["a", "b"]
    assert found.beaten_by == {"c": "a"}


def test_equal_points_both_stay() -> None:
    """Neither beats the other, and nothing is picked silently."""
    found = front([("a", 0.5, 100), ("b", 0.5, 100)], alike=True)
    assert [point.arm for point in found.front] == ["a", "b"]
    assert found.inseparable == (("a", "b"),)
