"""How far a scorer or a judge agrees with people: precision, recall and Cohen's kappa.

A figure that the labels cannot carry is not defined, and says why: precision needs answers that a
person called wrong, recall answers called right, kappa a side that varies. An interval of kappa
needs both sides to vary, ``FEWEST`` answers, and resamples that differ: without width it tells
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ctxeng.core.text import numbered
from ctxeng.harness.stats.interval import clopper_pearson

Said = Literal["right", "wrong", "undecided"]
RESAMPLES = 2000
FEWEST = 10  # answers: with fewer, the resamples are the few answers over and over


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure with its 95 % interval, value 0–1 (kappa -1..1).

    ``value`` None: it is not defined; ``low`` and ``high`` None: it has no interval. ``reason``
    says why.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""

    def text(self) -> str:
        """Return the figure as a table shows it."""
        if self.value is None:
            return f"not defined ({self.reason})"
        if self.low is None:
            return f"{self.value:.2f} (no interval: {self.reason})"
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """A judge against human labels.

    Args:
        both_right, only_judge, only_human, both_wrong: counts of decided answers.
        undecided: answers the judge left open, in no figure.
        precision: share of answers called right that a person calls right (0–1).
        recall: share of answers a person calls right that are called right (0–1).
        kappa: Cohen's kappa, -1..1.
    """

    judge: str
    both_right: int
    only_judge: int
    only_human: int
    both_wrong: int
    undecided: int
    precision: Figure
    recall: Figure
    kappa: Figure


def calibrate(
    judge: str, pairs: Sequence[tuple[bool, Said]], rng: np.random.Generator
) -> Calibration:
    """Return how a judge's verdicts agree with human labels.

    Args:
        pairs: for each answer whether a person calls it right, and what the judge said.
    """
    decided = np.array([(h, s == "right") for h, s in pairs if s != "undecided"], dtype=bool)
    human, said = decided.reshape(-1, 2).T
    right, only_judge = int((human & said).sum()), int((~human & said).sum())
    only_human, wrong = int((human & ~said).sum()), int((~human & ~said).sum())
    no_wrong = "" if only_judge + wrong else "no answer is labelled wrong"
    no_right = "" if right + only_human else "no answer is labelled right"
    constant = "" if 0 < said.sum() < len(said) else "the judge gave one verdict only"
    return Calibration(
        judge=judge,
        both_right=right,
        only_judge=only_judge,
        only_human=only_human,
        both_wrong=wrong,
        undecided=len(pairs) - len(decided),
        precision=_share(right, right + only_judge, no_wrong or _nothing(said.sum(), "right")),
        recall=_share(right, right + only_human, no_right),
        kappa=_kappa(human, said, no_wrong or no_right or constant, rng),
    )


def _nothing(count: int, word: str) -> str:
    return "" if count else f"the judge called nothing {word}"


def _share(hits: int, n: int, reason: str) -> Figure:
    if reason:
        return Figure(value=None, reason=reason)
    low, high = clopper_pearson(hits / n, n)
    return Figure(value=hits / n, low=low, high=high)


def _kappa(
    human: NDArray[np.bool_], said: NDArray[np.bool_], reason: str, rng: np.random.Generator
) -> Figure:
    """Return kappa with a percentile bootstrap over answers; resamples without it are left out.

    Args:
        reason: why one side does not vary, empty where both do.
    """
    value = _agreement(human, said)
    if value is None or reason:
        return Figure(value=value, reason=reason)
    if len(human) < FEWEST:
        return Figure(value=value, reason=f"{numbered(len(human), 'answer')}, it needs {FEWEST}")
    drawn = rng.integers(0, len(human), (RESAMPLES, len(human)))
    values = [k for row in drawn if (k := _agreement(human[row], said[row])) is not None]
    low, high = np.quantile(values, (0.025, 0.975))
    if low == high:
        return Figure(value=value, reason="the two never differ, so resamples do not either")
    return Figure(value=value, low=float(low), high=float(high))


def _agreement(human: NDArray[np.bool_], said: NDArray[np.bool_]) -> float | None:
    """Return kappa; None without answers, and where chance alone would agree always.

    Source: Cohen (1960), Educational and Psychological Measurement 20:37-46.
    """
    if not len(human):
        return None
    observed = float((human == said).mean())
    p, q = float(human.mean()), float(said.mean())
    expected = p * q + (1 - p) * (1 - q)
    return None if expected == 1 else (observed - expected) / (1 - expected)
