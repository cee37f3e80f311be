"""The interval for a share: exact where probes are independent, honest where they are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats.proportion import proportion_confint

from ctxeng.harness.stats.counts import SessionCounts
from ctxeng.harness.stats.interval import (
    clopper_pearson,
    design_effect,
    effective_trials,
    share_interval,
)


def counts_of(successes: list[float], trials: list[float]) -> SessionCounts:
    """Return counts from one number of successes and trials a session."""
    return SessionCounts(successes=np.array(successes, float), trials=np.array(trials, float))


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
@pytest.mark.parametrize(
    ("successes", "n"), [(0, 1), (1, 1), (0, 40), (40, 40), (1, 40), (20, 40), (39, 40), (147, 150)]
)
def test_the_exact_bounds_are_those_of_the_reference(
    successes: int, n: int, confidence: float
) -> None:
    """Reference: statsmodels' beta method and scipy's exact interval of a binomial test."""
    low, high = clopper_pearson(successes / n, n, confidence=confidence)
    reference = proportion_confint(successes, n, alpha=1 - confidence, method="beta")
    assert (low, high) == pytest.approx(reference, abs=1e-9)
    exact = scipy_stats.binomtest(successes, n).proportion_ci(confidence, method="exact")
    assert (low, high) == pytest.approx((exact.low, exact.high), abs=1e-9)


def test_no_failure_in_n_follows_the_rule_of_three() -> None:
    """Without a failure in 100 trials the upper bound of the failures is 1 − (α/2)^(1/n)."""
    low, high = clopper_pearson(1.0, 100)
    assert high == 1.0
    assert low == pytest.approx(0.025 ** (1 / 100), abs=1e-12)


def test_an_effective_size_may_be_a_fraction() -> None:
    """Bounds between those of the neighbouring whole sizes."""
    widths = [high - low for low, high in (clopper_pearson(0.5, n) for n in (10, 10.5, 11))]
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize("n", [5, 20, 60])
def test_one_probe_a_session_is_nearly_a_binomial(n: int) -> None:
    """Independent sessions of one probe each lose one trial, as the variance divides by n − 1."""
    interval = share_interval(counts_of([1.0] * (n - 2) + [0.0] * 2, [1.0] * n))
    assert interval is not None
    assert interval.effective_n == pytest.approx(n - 1)
    low, high = proportion_confint(n - 2, n, method="beta")
    assert interval.low < low + 1e-9 < high < interval.high + 1e-9
    assert interval.high - interval.low < 1.15 * (high - low)


def test_the_design_effect_is_that_of_the_linearised_variance() -> None:
    """By hand: sessions 10/10 and 0/10, share .5, residuals ±5.

    Between variance 2/1 · 50/400 = .25, independent .25/20 = .0125, so the factor is 20.
    """
    assert design_effect(counts_of([10, 0], [10, 10])) == pytest.approx(20.0)


def test_a_correlation_is_doubted_where_it_cannot_be_seen() -> None:
    """By hand: four sessions of 10 without a failure show nothing, so .3 is assumed: 1 + 9 · .3."""
    assert design_effect(counts_of([10] * 4, [10] * 4)) == pytest.approx(3.7)


def test_a_single_session_has_no_interval() -> None:
    """Nothing is known about other sessions, however many probes this one has."""
    counts = counts_of([40], [40])
    assert share_interval(counts) is None
    assert effective_trials(counts) == 1.0
    assert design_effect(counts) == 40.0


def test_no_success_in_52_has_an_upper_bound_and_4_of_4_certify_nothing() -> None:
    """By hand: no success in 52 independent trials leaves 1 − .025^(1/52) possible."""
    none_of_52 = share_interval(counts_of([0] * 52, [1] * 52))
    assert none_of_52 is not None
    assert (none_of_52.low, none_of_52.high) == pytest.approx((0.0, 1 - 0.025 ** (1 / 52)))
    all_of_4 = share_interval(counts_of([1] * 4, [1] * 4))
    assert all_of_4 is not None
    assert all_of_4.low < 0.4


def test_without_trials_there_is_no_interval() -> None:
    """None, never a zero-width interval."""
    assert share_interval(SessionCounts.of([])) is None


def test_perfect_recall_never_certifies_itself() -> None:
    """However many sessions succeed, the lower bound stays under 1."""
    interval = share_interval(counts_of([40] * 60, [40] * 60))
    assert interval is not None
    assert interval.low < 1.0 == interval.high


def test_correlated_sessions_are_worth_fewer_trials() -> None:
    """The same share of the same probes says less when whole sessions succeed or fail."""
    mixed = effective_trials(counts_of([5] * 10, [10] * 10))
    split = effective_trials(counts_of([10] * 5 + [0] * 5, [10] * 10))
    assert split < 10 < mixed <= 100


def test_more_confidence_is_a_wider_interval() -> None:
    """The bounds move outwards with the confidence asked for."""
    counts = counts_of([8, 9, 7, 10], [10] * 4)
    by_confidence = [share_interval(counts, confidence=c) for c in (0.8, 0.95, 0.99)]
    lows = [interval.low for interval in by_confidence if interval]
    highs = [interval.high for interval in by_confidence if interval]
    assert lows == sorted(lows, reverse=True)
    assert highs == sorted(highs)
    assert lows[0] < 0.85 < highs[0]


cells = st.lists(
    st.integers(1, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    min_size=2,
    max_size=12,
)


@settings(max_examples=50, deadline=None)
@given(cells)
def test_an_interval_holds_its_share_and_mirrors_its_complement(cells: list[Any]) -> None:
    """Bounds are within 0..1 around the share; failures have the mirrored interval."""
    counts = counts_of([x for x, _ in cells], [n for _, n in cells])
    failures = counts_of([n - x for x, n in cells], [n for _, n in cells])
    interval, mirrored = share_interval(counts), share_interval(failures)
    assert interval is not None
    assert mirrored is not None
    assert counts.share is not None
    assert 0.0 <= interval.low <= counts.share + 1e-9
    assert counts.share - 1e-9 <= interval.high <= 1.0
    assert 1.0 <= interval.effective_n <= counts.n
    if abs(counts.share - 0.5) > 1e-9:
        assert mirrored.low == pytest.approx(1 - interval.high, abs=1e-9)


HARD_CORNERS = [
    # sessions, probes a session, share, intra-session correlation
    (8, 40, 0.98, 0.3),
    (5, 4, 0.98, 0.3),
    (5, 40, 0.05, 0.3),
    (20, 20, 0.98, 0.1),
    (60, 4, 0.98, 0.3),
    (60, 40, 0.05, 0.1),
    (12, 10, 0.5, 0.3),
    (8, 40, 0.9, 0.0),
]


@pytest.mark.parametrize(("sessions", "probes", "share", "correlation"), HARD_CORNERS)
def test_the_interval_covers_the_truth_in_hard_corners(
    sessions: int, probes: int, share: float, correlation: float
) -> None:
    """A nominal 95 % interval holds the true share in at least 92 % of 1,000 simulated runs.

    Sessions draw their own share from a beta distribution whose variance gives the correlation;
    the standard error of a coverage of .95 is .007.
    """
    rng = np.random.default_rng(20240315)
    covered = 0
    for _ in range(1000):
        counts = simulated(rng, np.full(sessions, probes), share, correlation)
        interval = share_interval(counts)
        covered += interval is not None and interval.low <= share <= interval.high
    assert covered / 1000 >= 0.92


def test_unequal_sessions_are_covered_too() -> None:
    """Sessions of 1 to 60 probes, eight of them, weigh unequally and still do not deceive."""
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(1000):
        interval = share_interval(simulated(rng, rng.integers(1, 61, 8), 0.9, 0.2))
        covered += interval is not None and interval.low <= 0.9 <= interval.high
    assert covered / 1000 >= 0.92


def simulated(
    rng: np.random.Generator, trials: Any, share: float, correlation: float
) -> SessionCounts:
    """Return counts of sessions whose probes succeed with a correlated chance."""
    own = np.full(len(trials), share)
    if correlation:
        strength = (1 - correlation) / correlation
        own = rng.beta(share * strength, (1 - share) * strength, len(trials))
    successes = rng.binomial(trials, own)
    return SessionCounts(successes=successes.astype(float), trials=trials.astype(float))
