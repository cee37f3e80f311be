"""The gate: non-inferiority with a margin, and what never passes."""

from __future__ import annotations

import numpy as np
import pytest

from ctxeng.harness.stats.compare import Rule, compare
from ctxeng.harness.stats.gate import GateDecision, decide
from ctxeng.harness.stats.paired import Pairs


def pairs_of(sessions: int, probes: int, *, down: int = 0) -> Pairs:
    return Pairs.by_session([(probes, probes, probes - down, 0, down, 0, down)] * sessions)


def gate(*buckets: Pairs, margin: float = 0.1, errors: float = 0.0) -> GateDecision:
    rule = Rule(margin=margin)
    groups = {("arm", f"b{at}"): pairs for at, pairs in enumerate(buckets)}
    found = compare(groups, rule=rule, rng=np.random.default_rng(1))
    return decide(found, rule=rule, error_shares=[("r1", 0.0), ("r2", errors)])


@pytest.mark.parametrize(
    ("buckets", "status"),
    [
        ((pairs_of(60, 10),), "pass"),
        ((pairs_of(60, 10), pairs_of(20, 10, down=3)), "regression"),
        (
            (pairs_of(60, 10), pairs_of(10, 4)),
            "not enough data",
        ),  # 40 pairs cannot certify 10 points
        ((pairs_of(60, 10), pairs_of(13, 3, down=3)), "pass"),  # 39 pairs never gate
        ((pairs_of(13, 3, down=3),), "not enough data"),
        ((), "not enough data"),
    ],
)
def test_the_worst_bucket_that_gates_decides(buckets: tuple[Pairs, ...], status: str) -> None:
    """A bucket under 40 pairs is listed and decides nothing."""
    found = gate(*buckets)
    assert found.status == status
    assert [group.gates for group in found.groups] == [pairs.n >= 40 for pairs in buckets]


@pytest.mark.parametrize(("share", "status"), [(0.01, "pass"), (0.0101, "incomplete")])
def test_more_than_one_error_in_a_hundred_never_passes(share: float, status: str) -> None:
    """Whatever the recall."""
    found = gate(pairs_of(60, 10), errors=share)
    assert found.status == status
    assert bool(found.reasons) == (status == "incomplete")


def test_no_change_in_few_probes_certifies_nothing() -> None:
    """Zero variance is no proof: 4 of 4, and 52 of 52, fall short of a margin of five points."""
    assert gate(pairs_of(4, 1), margin=0.05).status == "not enough data"
    found = gate(pairs_of(52, 1), margin=0.05)
    assert found.status == "not enough data"
    assert found.reasons == ("arm b0: +0.0 points, at worst -6.8, beyond the margin of 5 points",)
    assert gate(pairs_of(52, 1), margin=0.07).status == "pass"


def test_a_wider_margin_lets_a_loss_through_and_says_so() -> None:
    """The margin is the user's, and stands in the decision."""
    loss = pairs_of(60, 20, down=1)
    assert gate(loss, margin=0.02).status == "regression"
    passed = gate(loss, margin=0.1)
    assert (passed.status, passed.margin) == ("pass", 0.1)
