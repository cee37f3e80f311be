"""The mean of a number measured on probes, with an interval that takes the session as unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ctxeng.harness.stats.counts import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanInterval:
    """Bounds of a mean, in the unit of its numbers."""

    low: float
    high: float


def mean_interval(
    values: Floats, sessions: Sequence[str], *, confidence: float = 0.95
) -> MeanInterval | None:
    """Return the interval for the mean over probes, None with fewer than two sessions.

    The variance is that of the sessions' summed residuals (linearised ratio mean), with Student's
    t on sessions − 1 degrees of freedom. Made for differences, which are not held to 0..1; it is
    approximate, and narrow where few sessions have probes of their own.

    Source: Cochran (1977), Sampling Techniques, section 9A.3 (ratio estimator of a cluster sample).
    """
    names, where = np.unique(np.asarray(sessions), return_inverse=True)
    if names.size < 2:
        return None
    mean = float(values.mean())
    sizes = np.bincount(where).astype(np.float64)
    totals = np.bincount(where, values).astype(np.float64)
    reach = t_reach(totals, sizes, confidence=confidence)
    return MeanInterval(low=mean - reach, high=mean + reach)


def t_reach(totals: Floats, sizes: Floats, *, confidence: float = 0.95) -> float:
    """Return half the width of the interval for sum(totals) / sum(sizes), two sessions or more.

    Args:
        totals: by session, the sum of the number measured. sizes: by session, how many it sums.
    """
    from scipy import special

    sessions, n = len(sizes), float(sizes.sum())
    residuals = totals - totals.sum() / n * sizes
    error = np.sqrt(sessions / (sessions - 1) * float((residuals**2).sum())) / n
    return float(special.stdtrit(sessions - 1, 0.5 + confidence / 2) * error)
