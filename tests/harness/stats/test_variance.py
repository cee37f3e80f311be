"""Noise by role, and the floor under which a change is noise."""

from __future__ import annotations

import pytest

from ctxeng.harness.stats.variance import (
    NO_PROBE,
    ONE_REPLICATE,
    MeanVariances,
    noise_floor,
    split_variance,
)


def test_each_role_has_what_the_roles_below_leave_over() -> None:
    """By hand: judge .08; reader .10 − .08/2 = .06; summariser .09 − .06/3 − .08/6 = .0567."""
    found = split_variance(
        MeanVariances(judges=0.08, readers=0.10, summarisers=0.09, replicates=(4, 3, 2), probes=50)
    )
    assert found.judge == pytest.approx(0.08)
    assert found.reader == pytest.approx(0.06)
    assert found.summariser == pytest.approx(0.09 - 0.06 / 3 - 0.08 / 6)
    assert found.reasons == {}


def test_a_role_with_one_replicate_has_no_variance_and_says_why() -> None:
    """None with a reason, never 0."""
    found = split_variance(
        MeanVariances(judges=None, readers=0.1, summarisers=None, replicates=(1, 3, 1), probes=9)
    )
    assert (found.summariser, found.reader, found.judge) == (None, 0.1, None)
    assert found.reasons == {"summariser": ONE_REPLICATE, "judge": ONE_REPLICATE}


def test_a_role_that_adds_less_than_chance_shows_is_zero() -> None:
    """A negative estimate is chance."""
    found = split_variance(
        MeanVariances(judges=0.2, readers=0.05, summarisers=None, replicates=(1, 2, 2), probes=9)
    )
    assert found.reader == 0.0


def test_without_a_complete_probe_nothing_is_split() -> None:
    """Errors in one replicate leave a probe out."""
    found = split_variance(
        MeanVariances(judges=None, readers=None, summarisers=None, replicates=(1, 1, 1), probes=0)
    )
    assert set(found.reasons.values()) == {NO_PROBE}


def test_the_floor_is_the_difference_of_two_replicates() -> None:
    """By hand: recalls .5 and .7 have variance .02, their difference √(2 · .02) = .2."""
    found = noise_floor(disagreement=0.3, recalls=[0.5, 0.7])
    assert (found.discordant_share, found.replicates) == (0.3, 2)
    assert found.difference_sd == pytest.approx(0.2)


@pytest.mark.parametrize("recalls", [[], [0.5]])
def test_one_replicate_has_no_floor(recalls: list[float]) -> None:
    """None with a reason."""
    found = noise_floor(disagreement=None, recalls=recalls)
    assert (found.discordant_share, found.difference_sd) == (None, None)
    assert found.reason == ONE_REPLICATE
