"""Two arms on the same probes: exact McNemar and the session permutation test."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar as reference_mcnemar

from ctxeng.harness.stats.paired import Pairs, mcnemar, session_permutation


def changed(*, gained: int, lost: int, same: int = 5) -> Pairs:
    """Return pairs with so many gains and losses, one session each."""
    sides = [(0.0, 1.0)] * gained + [(1.0, 0.0)] * lost + [(1.0, 1.0)] * same
    return Pairs.of((f"s{i}", before, after) for i, (before, after) in enumerate(sides))


@pytest.mark.parametrize(
    ("gained", "lost"), [(0, 1), (1, 0), (0, 5), (0, 6), (3, 3), (1, 9), (10, 2), (40, 60)]
)
def test_mcnemar_is_the_exact_test_of_the_reference(gained: int, lost: int) -> None:
    """Reference: statsmodels' exact McNemar test on the two-by-two table."""
    table = [[5, lost], [gained, 0]]
    assert mcnemar(changed(gained=gained, lost=lost)) == pytest.approx(
        reference_mcnemar(table, exact=True).pvalue, abs=1e-12
    )


def test_six_losses_without_a_gain_are_the_fewest_that_show() -> None:
    """By hand: 2 · 2⁻⁵ = .0625 and 2 · 2⁻⁶ = .03125."""
    assert mcnemar(changed(gained=0, lost=5)) == pytest.approx(0.0625)
    assert mcnemar(changed(gained=0, lost=6)) == pytest.approx(0.03125)


def test_where_nothing_differs_there_is_no_p_value() -> None:
    """An A/A comparison of deterministic arms shows nothing: None, not 1."""
    same = changed(gained=0, lost=0)
    assert mcnemar(same) is None
    assert session_permutation(same, rng=np.random.default_rng(0)) is None
    assert same.difference == 0.0


def test_without_probes_there_is_nothing_to_say() -> None:
    """No pairs: no difference, no p-value, no sums."""
    empty = Pairs.of([])
    assert (empty.n, empty.difference) == (0, None)
    assert mcnemar(empty) is None
    assert session_permutation(empty, rng=np.random.default_rng(0)) is None
    assert (empty.sessions, empty.changes.size) == (0, 0)


def test_a_mean_over_replicates_counts_as_its_majority() -> None:
    """2/3 against 1/3 is one gain; rounding noise is no change."""
    pairs = Pairs.of([("a", 1 / 3, 2 / 3), ("b", 0.1 + 0.2, 0.3), ("c", 0.0, 1.0)])
    assert mcnemar(pairs) == pytest.approx(0.5)  # two gains: 2 · 2⁻²


def test_differences_are_added_up_by_session() -> None:
    """Sessions come in the order of their names, with their number of probes."""
    pairs = Pairs.of([("b", 1, 0), ("a", 0, 1), ("b", 1, 0), ("b", 0, 1), ("会", 1, 1)])
    np.testing.assert_array_equal(pairs.changes, [1, -1, 0])
    np.testing.assert_array_equal(pairs.trials, [1, 3, 1])
    np.testing.assert_array_equal(pairs.before, [0, 2, 1])
    np.testing.assert_array_equal(pairs.after, [1, 1, 1])
    np.testing.assert_array_equal(pairs.downs, [0, 2, 0])
    assert pairs.difference == pytest.approx(0.0)


def brute_force(sums: list[float]) -> float:
    """Return the share of all sign flips that are as extreme as what was seen."""
    observed = abs(sum(sums))
    totals = [
        abs(sum(sign * x for sign, x in zip(signs, sums, strict=True)))
        for signs in product((-1, 1), repeat=len(sums))
    ]
    return sum(total >= observed - 1e-9 for total in totals) / len(totals)


@pytest.mark.parametrize(
    "sums", [[3], [1, 1], [2, -1, 1], [1, 2, 3, 4, -5], [1] * 8, [0.5, 0.25, -0.5, 1], [2] * 11]
)
def test_few_sessions_are_permuted_exactly(sums: list[float]) -> None:
    """Reference: enumeration of every swap of whole sessions."""
    pairs = Pairs.of((f"s{i:02}", 0.0, x) for i, x in enumerate(sums))
    p = session_permutation(pairs, rng=np.random.default_rng(0))
    assert p == pytest.approx(brute_force(sums))


def test_many_sessions_are_permuted_at_random_near_the_exact_value() -> None:
    """Sixteen sessions, twelve better and four worse: exact 2 · P(X ≥ 12) of a fair binomial."""
    pairs = Pairs.of((f"s{i:02}", 0.0, 1.0 if i < 12 else -1.0) for i in range(16))
    exact = 2 * sum([1820, 560, 120, 16, 1]) / 2**16  # C(16, 12..16)
    p = session_permutation(pairs, rng=np.random.default_rng(1), rounds=20_000)
    assert p == pytest.approx(exact, abs=0.01)


def test_a_random_permutation_is_never_impossible() -> None:
    """Even the most extreme result keeps a p-value above 0, at 1 / (rounds + 1) or more."""
    pairs = Pairs.of((f"s{i:02}", 0.0, 1.0) for i in range(40))
    p = session_permutation(pairs, rng=np.random.default_rng(1), rounds=99)
    assert p == pytest.approx(1 / 100)


def test_the_same_seed_gives_the_same_p_value() -> None:
    """Randomness comes from the generator passed in alone."""
    pairs = Pairs.of((f"s{i:02}", 0.0, float(i % 3 - 1)) for i in range(30))
    twice = [session_permutation(pairs, rng=np.random.default_rng(5)) for _ in range(2)]
    assert twice[0] == twice[1]


def test_correlated_probes_do_not_pass_for_evidence() -> None:
    """Forty losses in one session convince McNemar, and say nothing by session."""
    pairs = Pairs.of([("only", 1.0, 0.0)] * 40)
    assert mcnemar(pairs) == pytest.approx(2.0**-39)
    assert session_permutation(pairs, rng=np.random.default_rng(0)) == 1.0


def test_false_alarms_between_equal_arms_stay_under_five_in_a_hundred() -> None:
    """A/A: in 400 simulated runs of correlated sessions the session test alarms at most 5 %."""
    rng = np.random.default_rng(11)
    alarms = 0
    for _ in range(400):
        own = rng.beta(2, 1, 10)
        sides = rng.random((2, 10, 12)) < own[None, :, None]
        pairs = Pairs.of(
            (f"s{i}", float(sides[0, i, j]), float(sides[1, i, j]))
            for i in range(10)
            for j in range(12)
        )
        p = session_permutation(pairs, rng=rng)
        alarms += p is not None and p <= 0.05
    assert alarms / 400 <= 0.075  # two standard errors above 5 %


triples = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.integers(0, 1), st.integers(0, 1)), max_size=30
)


@settings(max_examples=50, deadline=None)
@given(triples)
def test_swapping_the_arms_changes_the_sign_and_no_p_value(
    triples: list[tuple[str, float, float]],
) -> None:
    """Both tests are two-sided and symmetric."""
    pairs = Pairs.of(triples)
    swapped = Pairs.of((session, after, before) for session, before, after in triples)
    assert mcnemar(pairs) == mcnemar(swapped)
    rng = np.random.default_rng
    assert session_permutation(pairs, rng=rng(0)) == session_permutation(swapped, rng=rng(0))
    if pairs.difference is not None:
        assert pairs.difference == pytest.approx(-(swapped.difference or 0.0))
