"""What a comparison could have shown."""

from __future__ import annotations

import numpy as np
import pytest

from ctxeng.harness.stats.detectable import (
    ASSUMED_ICC,
    ChangeModel,
    Power,
    change_correlation,
    detectable_drop,
    observed_model,
    simulated_changes,
)
from ctxeng.harness.stats.paired import Pairs

INDEPENDENT = ChangeModel(opposite_share=0.02, icc=0.0)


def rng() -> np.random.Generator:
    return np.random.default_rng(8)


@pytest.mark.parametrize(("n", "power"), [(40, 0.20), (100, 0.74), (150, 0.90)])
def test_with_one_probe_a_session_the_power_is_that_of_mcnemar(n: int, power: float) -> None:
    """Figures of the exact McNemar test for a drop of ten points and 2 % opposite changes."""
    found = Power.of([1.0] * n, INDEPENDENT, rng=rng(), draws=3000).at(0.1)
    assert found == pytest.approx(power, abs=0.04)


@pytest.mark.parametrize(
    ("sizes", "model"),
    [([10.0] * 14, ChangeModel()), ([40.0] * 30, INDEPENDENT)],
    ids=["five points and more", "two points"],
)
def test_the_detectable_drop_has_the_power_asked_for(
    sizes: list[float], model: ChangeModel
) -> None:
    """Simulated anew with another generator: 80 % within three points."""
    drop = detectable_drop(Power.of(sizes, model, rng=rng(), draws=4000))
    assert drop is not None
    again = Power.of(sizes, model, rng=np.random.default_rng(99), draws=4000)
    assert again.at(drop) == pytest.approx(0.8, abs=0.03)


def test_five_sessions_can_never_show_anything() -> None:
    """By hand: the smallest p-value of five flipped sessions is 2 · 2⁻⁵ = .0625."""
    assert detectable_drop(Power.of([40.0] * 5, INDEPENDENT, rng=rng())) is None
    assert detectable_drop(Power.of([40.0] * 6, INDEPENDENT, rng=rng())) is not None


@pytest.mark.parametrize("sizes", [[], [40.0], [0.0, 0.0, 40.0]])
def test_fewer_than_two_sessions_show_nothing(sizes: list[float]) -> None:
    """None, not 0."""
    assert detectable_drop(Power.of(sizes, INDEPENDENT, rng=rng())) is None


def test_correlated_changes_and_a_stricter_level_need_a_larger_drop() -> None:
    """The same probes show less."""
    sizes = [10.0] * 20
    plain = detectable_drop(Power.of(sizes, INDEPENDENT, rng=rng())) or 1.0
    clustered = Power.of(sizes, ChangeModel(icc=0.3), rng=rng())
    strict = Power.of(sizes, INDEPENDENT, rng=rng(), alpha=0.01)
    assert plain < (detectable_drop(clustered) or 0.0)
    assert plain < (detectable_drop(strict) or 0.0)


def test_simulated_changes_have_the_shares_and_the_correlation_asked_for() -> None:
    """Over many sessions the means agree, and the moment estimate finds the correlation."""
    sizes = np.full(4000, 20.0)
    up, down = simulated_changes(
        sizes, lost_share=0.2, gained_share=0.1, icc=0.2, draws=1, rng=rng()
    )
    assert up.sum() / 80_000 == pytest.approx(0.1, abs=0.01)
    assert down.sum() / 80_000 == pytest.approx(0.2, abs=0.01)
    pairs = Pairs.by_session(
        np.stack([sizes, sizes, sizes, up[0], down[0], up[0], down[0]], axis=1)
    )
    assert change_correlation(pairs) == pytest.approx(0.2, abs=0.03)


def test_the_model_of_a_comparison_leaves_a_shown_difference_out() -> None:
    """By hand: 2 gains and 8 losses of 98 probes: (10 + 1)/100/2, or where shown (4 + 1)/100/2."""
    pairs = Pairs.by_session([(49, 40, 40, 1, 4, 1, 4), (49, 40, 40, 1, 4, 1, 4)])
    assert observed_model(pairs, shown=False).opposite_share == pytest.approx(0.055)
    assert observed_model(pairs, shown=True).opposite_share == pytest.approx(0.025)
    assert observed_model(pairs, shown=False).icc == ASSUMED_ICC
