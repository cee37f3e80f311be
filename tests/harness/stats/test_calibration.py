"""Agreement with people: figures by hand, and what labels cannot carry."""

from __future__ import annotations

import numpy as np
import pytest

from ctxeng.harness.stats.calibration import Said, calibrate

RNG_SEED = 7


def pairs(both: int, only_judge: int, only_human: int, neither: int) -> list[tuple[bool, Said]]:
    """Return labelled verdicts with these counts."""
    made: list[tuple[bool, Said]] = [(True, "right")] * both
    made += [(False, "right")] * only_judge
    made += [(True, "wrong")] * only_human
    return made + [(False, "wrong")] * neither


def test_figures_are_those_worked_by_hand() -> None:
    """20, 5, 10, 15 of 50: precision 20/25, recall 20/30, kappa (0.7 - 0.5) / 0.5 = 0.4."""
    found = calibrate("judge", pairs(20, 5, 10, 15), np.random.default_rng(RNG_SEED))
    assert found.precision.value == pytest.approx(0.8)
    assert found.recall.value == pytest.approx(2 / 3)
    assert found.kappa.value == pytest.approx(0.4)
    for figure in (found.precision, found.recall, found.kappa):
        assert figure.low is not None and figure.high is not None and figure.value is not None
        assert figure.low < figure.value < figure.high


def test_undecided_answers_are_counted_and_in_no_figure() -> None:
    """An answer that a judge left open is neither agreement nor disagreement."""
    decided = pairs(20, 5, 10, 15)
    found = calibrate("judge", [*decided, (True, "undecided")], np.random.default_rng(RNG_SEED))
    alone = calibrate("judge", decided, np.random.default_rng(RNG_SEED))
    assert found.undecided == 1
    assert (found.precision, found.recall) == (alone.precision, alone.recall)


@pytest.mark.parametrize(
    ("counts", "undefined", "reason"),
    [
        ((10, 0, 5, 0), ("precision",), "no answer is labelled wrong"),
        ((0, 5, 0, 10), ("recall",), "no answer is labelled right"),
        ((10, 0, 0, 0), ("precision", "kappa"), "no answer is labelled wrong"),
        ((0, 0, 5, 5), ("precision",), "called nothing right"),
        ((0, 0, 0, 0), ("precision", "recall", "kappa"), "no answer is labelled"),
    ],
)
def test_what_the_labels_cannot_carry_is_not_defined(
    counts: tuple[int, int, int, int], undefined: tuple[str, ...], reason: str
) -> None:
    """A missing class leaves a figure undefined, with the reason."""
    found = calibrate("judge", pairs(*counts), np.random.default_rng(RNG_SEED))
    for name in undefined:
        figure = getattr(found, name)
        assert figure.value is None
        assert reason in figure.reason
        assert figure.text().startswith("not defined (")


@pytest.mark.parametrize(
    ("counts", "kappa", "reason"),
    [
        ((1, 0, 0, 1), 1.0, "2 answers, it needs 10"),
        ((5, 0, 0, 4), 1.0, "9 answers, it needs 10"),
        ((20, 0, 0, 20), 1.0, "the two never differ, so resamples do not either"),
        ((10, 5, 0, 0), 0.0, "the judge gave one verdict only"),
        ((10, 0, 5, 0), 0.0, "no answer is labelled wrong"),
        ((0, 0, 12, 0), 0.0, "no answer is labelled wrong"),
    ],
)
def test_an_interval_that_would_tell_nothing_is_not_given(
    counts: tuple[int, int, int, int], kappa: float, reason: str
) -> None:
    """Kappa itself is what its formula gives: 0 where one side never varies."""
    found = calibrate("judge", pairs(*counts), np.random.default_rng(RNG_SEED)).kappa
    assert (found.value, found.low, found.high) == (kappa, None, None)
    assert found.text() == f"{kappa:.2f} (no interval: {reason})"


def test_recall_is_given_wherever_something_is_labelled_right() -> None:
    """One of one, by a judge of one verdict: 1.00 with the exact, wide interval."""
    found = calibrate("judge", pairs(1, 0, 0, 0), np.random.default_rng(RNG_SEED))
    assert found.recall.text() == "1.00 (0.03 to 1.00)"


def test_a_seed_gives_the_same_interval() -> None:
    """The bootstrap draws from the generator that is passed in."""
    one, two = (calibrate("j", pairs(9, 2, 3, 6), np.random.default_rng(3)) for _ in range(2))
    assert one == two
