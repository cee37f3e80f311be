"""How many probes a wanted effect needs: against the exact test's own power, and from a pilot."""

from __future__ import annotations

from typing import Any

import pytest

from ctxeng.harness.stats.planning import Assumed, assumed_from, need
from ctxeng.harness.stats.power import mcnemar_power

ALONE = Assumed(other_share=0.02, correlation=0.0, probes_per_session=1.0)


@pytest.mark.parametrize("effect", [0.05, 0.1, 0.2])
def test_the_number_is_the_first_that_reaches_the_power(effect: float) -> None:
    """One pair less does not reach 80 % under the exact McNemar test."""
    pairs = need("any", ALONE, effect=effect).independent_pairs
    assert pairs is not None
    assert mcnemar_power(pairs, effect, 0.02) >= 0.8 > mcnemar_power(pairs - 1, effect, 0.02)


def test_probes_of_one_session_are_worth_less() -> None:
    """Eight a session at a correlation of 0.5 need 1 + 7 * 0.5 = 4.5 times as many."""
    alone = need("any", ALONE, effect=0.1)
    tied = need(
        "any", Assumed(other_share=0.02, correlation=0.5, probes_per_session=8.0), effect=0.1
    )
    assert alone.probes is not None and tied.probes is not None and tied.sessions is not None
    assert tied.sessions * 8 == tied.probes
    assert 4.5 * alone.probes <= tied.probes < 4.5 * alone.probes + 8


@pytest.mark.parametrize("effect", [0.005, 0.99])
def test_an_effect_out_of_reach_has_no_number(effect: float) -> None:
    """Too small for 5,000 pairs, or more than can drop beside the noise: None, not a guess."""
    assert need("any", ALONE, effect=effect).probes is None


def cell(arm: str, number: int, right: bool, bucket: str = "interior") -> dict[str, Any]:
    """Return a cell of one of two sessions."""
    return {
        "arm": arm, "session_id": f"s{number % 2}", "probe_id": f"p{number}", "replicate": 0,
        "bucket": bucket, "answerable": True, "outcome": "recalled" if right else "missed",
    }  # fmt: skip


def test_a_pilot_tells_noise_and_probes_a_session() -> None:
    """Ten pairs, one of which goes the other way: (1 + 0.5) / 11; five probes a session."""
    cells = [cell("a", i, i != 0) for i in range(10)] + [cell("b", i, i > 3) for i in range(10)]
    cells += [cell("a", 20, True) | {"outcome": "undecided"}, cell("b", 20, True)]
    cells[10] = cell("b", 0, True)
    (found,) = assumed_from(cells, arm="a", against="b").values()
    assert found.other_share == pytest.approx(1.5 / 11)
    assert found.probes_per_session == 5.0
    assert 0 <= found.correlation <= 1
