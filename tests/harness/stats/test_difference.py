"""The interval for a difference: never of zero width, never from one session."""

from __future__ import annotations

import numpy as np
import pytest

from ctxeng.harness.stats.detectable import simulated_changes
from ctxeng.harness.stats.difference import difference_interval
from ctxeng.harness.stats.paired import Pairs


def pairs_of(*sessions: tuple[int, int, int]) -> Pairs:
    """Return pairs from (probes, gained, lost) of each session."""
    rows = [(n, n - up, n - down, up, down, up, down) for n, up, down in sessions]
    return Pairs.by_session(rows)


def test_no_change_at_all_certifies_no_zero() -> None:
    """By hand: 60 sessions of one unchanged probe; each side is 1 − .025^(1/60) = .0596 wide."""
    bounds = difference_interval(pairs_of(*[(1, 0, 0)] * 60))
    assert bounds is not None
    assert bounds.high == pytest.approx(1 - 0.025 ** (1 / 60))
    assert bounds.low == pytest.approx(-bounds.high)


def test_one_session_and_no_session_have_no_interval() -> None:
    """Nothing is known between sessions: None, not a narrow interval."""
    assert difference_interval(pairs_of((40, 10, 0))) is None
    assert difference_interval(Pairs.of([])) is None


def test_swapping_the_sides_mirrors_the_interval() -> None:
    """Gains and losses change places."""
    there = difference_interval(pairs_of((10, 3, 1), (8, 0, 2), (12, 5, 0)))
    back = difference_interval(pairs_of((10, 1, 3), (8, 2, 0), (12, 0, 5)))
    assert there is not None
    assert back is not None
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low))


def test_the_bounds_hold_the_difference_and_stay_within_minus_one_and_one() -> None:
    """Also where everything is lost."""
    for sessions in ([(5, 0, 5)] * 4, [(5, 5, 0)] * 4, [(5, 2, 2), (9, 0, 1)]):
        pairs = pairs_of(*sessions)
        bounds = difference_interval(pairs)
        assert bounds is not None
        assert pairs.difference is not None
        assert -1 <= bounds.low <= pairs.difference <= bounds.high <= 1


@pytest.mark.parametrize(
    ("sessions", "probes", "lost", "gained", "icc"),
    [(60, 40, 0.15, 0.15, 0.3), (20, 40, 0.12, 0.02, 0.3), (5, 40, 0.3, 0.0, 0.3), (8, 10, 0.05, 0.0, 0.0)],
)  # fmt: skip
def test_the_interval_covers_the_truth_in_hard_corners(
    sessions: int, probes: int, lost: float, gained: float, icc: float
) -> None:
    """At least 92 % of 400 simulated comparisons; the whole grid is in docs/statistics.md."""
    rng = np.random.default_rng(4)
    sizes = np.full(sessions, float(probes))
    ups, downs = simulated_changes(
        sizes, lost_share=lost, gained_share=gained, icc=icc, draws=400, rng=rng
    )
    covered = 0
    for up, down in zip(ups, downs, strict=True):
        bounds = difference_interval(pairs_of(*zip(sizes, up, down, strict=True)))
        covered += bounds is not None and bounds.low <= gained - lost <= bounds.high
    assert covered / 400 >= 0.92
