"""Verdicts: what is said of a bucket, and when nothing may be said."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from ctxeng.harness.stats.compare import Comparison, Rule, compare, holm, with_detectable
from ctxeng.harness.stats.detectable import simulated_changes
from ctxeng.harness.stats.paired import Pairs

RULE = Rule(margin=0.05)


def pairs_of(sessions: int, probes: int, *, up: int = 0, down: int = 0) -> Pairs:
    """Return pairs with the same gains and losses in every session."""
    return Pairs.by_session([(probes, probes - up, probes - down, up, down, up, down)] * sessions)


def verdict(pairs: Pairs, rule: Rule = RULE) -> Comparison:
    (found,) = compare({("arm", "interior"): pairs}, rule=rule, rng=np.random.default_rng(1))
    return found


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (pairs_of(20, 10, down=2), "worse"),
        (pairs_of(20, 10, up=2), "better"),
        (pairs_of(20, 4), "no difference shown"),  # no change, and too few to call it equal
        (pairs_of(60, 20), "equivalent within margin"),
        (pairs_of(13, 3, down=1), "not enough data"),  # 39 pairs
        (pairs_of(1, 400, down=100), "not enough data"),
        (pairs_of(5, 100, down=30), "not enough data"),  # five sessions cannot reach p .05
        (Pairs.of([]), "not enough data"),
    ],
)
def test_each_verdict_is_given_where_it_is_due(pairs: Pairs, expected: str) -> None:
    """Every session changes alike, so that the session test is decided by hand."""
    found = verdict(pairs)
    assert found.verdict == expected
    assert bool(found.reason) == (expected == "not enough data")


def test_a_change_inside_the_margin_does_not_matter_even_if_shown() -> None:
    """One loss in every session of 40, sixty sessions: −2.5 points, p tiny, margin 5."""
    found = verdict(pairs_of(60, 40, down=1))
    assert found.permutation_p is not None
    assert found.permutation_p < 0.001
    assert found.verdict == "equivalent within margin"


def test_undefined_values_are_none_with_a_reason() -> None:
    """No pairs: no recall, no interval, no p-value."""
    empty = verdict(Pairs.of([]))
    assert (empty.before, empty.after, empty.difference, empty.low) == (None, None, None, None)
    assert empty.mcnemar_p is None
    assert empty.reason == "0 pairs, a verdict needs 40"


@pytest.mark.parametrize(
    ("given", "adjusted"),
    [
        ([], []),
        ([0.03], [0.03]),
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),
        ([0.9, 0.9], [1.0, 1.0]),
    ],
)
def test_holms_correction(given: list[float], adjusted: list[float]) -> None:
    """By hand: the smallest times 3, the next times 2, never below the one before."""
    assert holm(given) == pytest.approx(adjusted)
    if given:
        assert holm(given) == pytest.approx(multipletests(given, method="holm")[1].tolist())


def test_small_buckets_and_those_outside_the_family_do_not_dilute_the_others() -> None:
    """Only buckets with enough probes are corrected for; `all` is judged by itself."""
    groups = {
        ("arm", "all"): pairs_of(20, 10, down=1),
        ("arm", "interior"): pairs_of(20, 10, down=1),
        ("arm", "edge"): pairs_of(2, 1),
    }
    found = compare(groups, rule=RULE, rng=np.random.default_rng(1), outside_family=("all",))
    assert [c.tests for c in found] == [1, 1, 1]
    groups["arm", "recent"] = pairs_of(20, 10)
    found = compare(groups, rule=RULE, rng=np.random.default_rng(1), outside_family=("all",))
    assert {c.bucket: c.tests for c in found} == {"all": 1, "interior": 2, "edge": 1, "recent": 2}


def test_a_bucket_outside_the_family_is_corrected_for_the_number_of_arms() -> None:
    """Two arms with the same p in `all`: each is doubled, as the buckets of two arms are."""
    groups = {
        (arm, bucket): pairs_of(20, 10, down=1)
        for arm in ("one", "two")
        for bucket in ("all", "recent")
    }
    found = compare(groups, rule=RULE, rng=np.random.default_rng(1), outside_family=("all",))
    assert {(c.arm, c.bucket): c.tests for c in found} == dict.fromkeys(groups, 2)
    for comparison in found:
        assert comparison.permutation_p is not None
        assert comparison.adjusted_p == pytest.approx(min(1.0, 2 * comparison.permutation_p))


def test_the_detectable_drop_stands_beside_every_bucket() -> None:
    """More probes see smaller drops; a single session sees none."""
    groups = {("a", "few"): pairs_of(14, 4), ("a", "many"): pairs_of(14, 40),
              ("a", "one"): pairs_of(1, 60)}  # fmt: skip
    rng = np.random.default_rng(1)
    found = with_detectable(compare(groups, rule=RULE, rng=rng), groups, rule=RULE, rng=rng)
    few, many, one = (c.mde for c in found)
    assert few is not None
    assert many is not None
    assert many < few
    assert one is None


def test_equal_arms_alarm_in_at_most_five_of_a_hundred() -> None:
    """Three buckets, correlated changes, 200 comparisons; the grid is in docs/statistics.md."""
    rng = np.random.default_rng(3)
    sizes = np.full(12, 10.0)
    made = [simulated_changes(sizes, lost_share=0.1, gained_share=0.1, icc=0.3, draws=200, rng=rng)
            for _ in range(3)]  # fmt: skip
    alarms = 0
    for draw in range(200):
        groups = {
            ("a", str(at)): Pairs.by_session(
                np.stack(
                    [sizes, sizes, sizes, *[side[draw] for side in (up, down, up, down)]], axis=1
                )
            )
            for at, (up, down) in enumerate(made)
        }
        found = compare(groups, rule=RULE, rng=rng)
        alarms += any(c.verdict in ("better", "worse") for c in found)
    assert alarms / 200 <= 0.085  # two standard errors above 5 %
