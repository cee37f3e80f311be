"""What a number of probes can show. Figures of the exact McNemar test."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from ctxeng.harness.stats.power import independent_drop, mcnemar_power


@pytest.mark.parametrize(("n", "power"), [(40, 0.20), (100, 0.74), (150, 0.90)])
def test_the_power_of_the_usual_sizes(n: int, power: float) -> None:
    """A drop of ten points with two in a hundred opposite changes; figures of the design."""
    assert mcnemar_power(n, 0.10, 0.02) == pytest.approx(power, abs=0.015)


@pytest.mark.parametrize(("n", "drop", "other"), [(40, 0.1, 0.02), (60, 0.2, 0.1), (25, 0.4, 0.0)])
def test_the_power_is_the_share_of_simulated_runs_that_show_the_drop(
    n: int, drop: float, other: float
) -> None:
    """Reference: 4,000 simulated experiments, each tested with scipy's exact binomial test."""
    rng = np.random.default_rng(3)
    draws = rng.multinomial(n, [drop + other, other, 1 - drop - 2 * other], size=4000)
    tables, times = np.unique(draws[:, :2], axis=0, return_counts=True)
    shown = sum(
        count
        for (lost, gained), count in zip(tables.tolist(), times.tolist(), strict=True)
        if lost + gained and scipy_stats.binomtest(lost, lost + gained, 0.5).pvalue <= 0.05
    )
    assert mcnemar_power(n, drop, other) == pytest.approx(shown / 4000, abs=0.025)


def test_without_opposite_changes_power_is_a_binomial_tail() -> None:
    """By hand: six losses are needed, so the power is P(X ≥ 6) of Binomial(20, .3)."""
    tail = float(scipy_stats.binom.sf(5, 20, 0.3))
    assert mcnemar_power(20, 0.3, 0.0) == pytest.approx(tail)


@pytest.mark.parametrize(
    ("n", "drop", "other", "power"),
    [
        (0, 0.1, 0.02, 0.0),
        (-1, 0.1, 0.02, 0.0),
        (100, 0.0, 0.0, 0.0),
        (5, 1.0, 0.0, 0.0),  # five losses: p = .0625
        (6, 1.0, 0.0, 1.0),
        (1, 0.9, 0.1, 0.0),  # more discordance than there is: as much as there can be
    ],
)
def test_the_edges_of_power(n: int, drop: float, other: float, power: float) -> None:
    """No probes, no change, and too few probes show nothing at all."""
    assert mcnemar_power(n, drop, other) == pytest.approx(power)


def test_equal_arms_alarm_at_most_at_the_level() -> None:
    """Without a true drop the exact test finds one in at most 5 % of runs."""
    assert 0 < mcnemar_power(200, 0.0, 0.1) <= 0.05


@pytest.mark.parametrize("n", [10, 40, 100, 400])
def test_the_independent_drop_has_the_power_asked_for(n: int) -> None:
    """At the drop the power is reached; a point lower it is not."""
    drop = independent_drop(n)
    assert drop is not None
    assert mcnemar_power(n, round(drop, 4), 0.02) >= 0.8
    assert mcnemar_power(n, round(drop - 0.01, 4), 0.02) < 0.8


@pytest.mark.parametrize("n", [0, 1, 5, 0.9])
def test_too_few_probes_detect_nothing(n: float) -> None:
    """Under six discordant pairs nothing is ever significant: None, not 1."""
    assert independent_drop(n) is None


def test_half_of_all_probes_changing_back_leaves_nothing_to_find() -> None:
    """Where opposite changes fill the probes, there is no room for a drop."""
    assert independent_drop(100, other_share=0.5) is None


def test_more_power_or_a_stricter_level_needs_a_larger_drop() -> None:
    """The detectable drop grows with what is asked of it."""
    plain = independent_drop(100) or 0.0
    assert (independent_drop(100, power=0.95) or 0.0) > plain
    assert (independent_drop(100, alpha=0.01) or 0.0) > plain
    assert (independent_drop(100, other_share=0.1) or 0.0) > plain


@settings(max_examples=30, deadline=None)
@given(st.integers(6, 150), st.floats(0.02, 0.6), st.floats(0.0, 0.15))
def test_power_is_a_probability_and_grows_with_the_drop(n: int, drop: float, other: float) -> None:
    """A larger drop is never harder to see."""
    smaller = mcnemar_power(n, drop, other)
    larger = mcnemar_power(n, min(1 - 2 * other, drop + 0.1), other)
    assert 0.0 <= smaller <= larger + 1e-6
    assert larger <= 1.0 + 1e-9
