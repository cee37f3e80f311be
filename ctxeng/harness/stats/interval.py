"""An interval for a share of probes that is right for few, unequal, correlated sessions.

The plain cluster bootstrap and Wilson with an estimated design effect both break where nearly
every probe succeeds: in sessions without a single failure no correlation can be seen. Here the
design effect is the larger of the estimated one and one that a correlation of ``DOUBTED_ICC``,
times the share of sessions in which only one outcome was seen, would give. The effective number of
trials then enters the exact Clopper-Pearson interval.

Source: Korn & Graubard (1998), Survey Methodology 24:193-201, for the exact interval on an
effective size; the floor is ours, from the simulation in ``benchmarks/validate_stats.py`` (coverage
at least 93 % in every cell of 5-60 sessions, 4-40 probes, p 0.05-0.98, correlation 0-0.3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ctxeng.harness.stats.counts import SessionCounts

DOUBTED_ICC = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Bounds of a share, 0..1, and the effective number of independent trials behind them."""

    low: float
    high: float
    effective_n: float


def share_interval(counts: SessionCounts, *, confidence: float = 0.95) -> Interval | None:
    """Return the interval for the pooled share, None with fewer than two sessions.

    A single session says nothing about other sessions, however many probes it has.

    Example:
        ``share_interval(SessionCounts.of([("a", 1), ("b", 1)]))`` → low about 0.01, high 1.0
    """
    if counts.share is None or counts.sessions < 2:
        return None
    effective = effective_trials(counts, confidence=confidence)
    low, high = clopper_pearson(counts.share, effective, confidence=confidence)
    return Interval(low=low, high=high, effective_n=effective)


def effective_trials(counts: SessionCounts, *, confidence: float = 0.95) -> float:
    """Return how many independent trials the counts are worth, at least 1 and at most ``n``."""
    from scipy import special

    if counts.sessions < 2 or counts.n < 2:
        return 1.0
    upper = 0.5 + confidence / 2
    size = counts.n / design_effect(counts)
    ratio = special.stdtrit(counts.n - 1, upper) / special.stdtrit(counts.sessions - 1, upper)
    return float(max(1.0, min(counts.n, size * ratio**2)))


def design_effect(counts: SessionCounts) -> float:
    """Return by what factor the sessions' correlation inflates the variance, at least 1.

    A single session is worth one trial: the factor is its number of trials.
    """
    n, sessions, share = counts.n, counts.sessions, counts.share or 0.0
    if sessions < 2:
        return max(1.0, n)
    residuals = counts.successes - share * counts.trials
    between = sessions / (sessions - 1) * float((residuals**2).sum()) / n**2
    independent = share * (1 - share) / n
    estimated = between / independent if independent > 0 else 1.0
    minority = counts.trials - counts.successes if share > 0.5 else counts.successes
    seen = int(np.count_nonzero(minority > 0))
    doubt = DOUBTED_ICC * (1 - seen / sessions)
    typical = float((counts.trials**2).sum()) / n
    return max(1.0, estimated, 1 + (typical - 1) * doubt)


def clopper_pearson(share: float, n: float, *, confidence: float = 0.95) -> tuple[float, float]:
    """Return the exact bounds for ``share * n`` successes of ``n`` trials; both may be fractions.

    Source: Clopper & Pearson (1934), Biometrika 26:404-413, by the beta quantiles.
    """
    from scipy import special

    tail, x = (1 - confidence) / 2, share * n
    low = float(special.betaincinv(x, n - x + 1, tail)) if x > 0 else 0.0
    high = float(special.betaincinv(x + 1, n - x, 1 - tail)) if x < n else 1.0
    return low, high
