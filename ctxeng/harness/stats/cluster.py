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
    from scipy import special

    names = sorted(set(sessions))
    if len(names) < 2:
        return None
    index = {name: i for i, name in enumerate(names)}
    where = np.array([index[session] for session in sessions])
    mean = float(values.mean())
    residuals = np.zeros(len(names))
    np.add.at(residuals, where, values - mean)
    variance = len(names) / (len(names) - 1) * float((residuals**2).sum()) / values.size**2
    reach = float(special.stdtrit(len(names) - 1, 0.5 + confidence / 2)) * variance**0.5
    return MeanInterval(low=mean - reach, high=mean + reach)
