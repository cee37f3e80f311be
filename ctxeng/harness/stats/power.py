"""What a number of probes can and cannot show."""

from __future__ import annotations

from functools import lru_cache

import numpy as np


@lru_cache(maxsize=4096)
def mcnemar_power(n: int, drop_share: float, other_share: float, *, alpha: float = 0.05) -> float:
    """Return the power of the exact McNemar test on ``n`` paired probes.

    Args:
        drop_share: true difference to be found, 0..1.
        other_share: share of probes that change in the opposite direction, 0..1.

    Source: enumeration of the binomial distribution of discordant pairs.
    """
    from scipy import stats

    discordant = drop_share + 2 * other_share
    if n <= 0 or discordant <= 0:
        return 0.0
    counts = np.arange(n + 1)
    weights = stats.binom.pmf(counts, n, min(1.0, discordant))
    lost_share = (drop_share + other_share) / discordant
    power = 0.0
    for m in counts[weights > 1e-9]:
        lost = np.arange(m + 1)
        tail = stats.binom.cdf(np.minimum(lost, m - lost), m, 0.5)
        rejected = np.minimum(1.0, 2 * tail) <= alpha
        power += float(weights[m] * stats.binom.pmf(lost, m, lost_share)[rejected].sum())
    return power


def detectable_drop(
    n: float, *, other_share: float = 0.02, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """Return the smallest drop of recall that ``n`` independent pairs show with this power, 0..1.

    None where even a drop of everything would not be shown. Resolution 0.005.
    """
    size = int(n)
    if mcnemar_power(size, 1.0 - 2 * other_share, other_share, alpha=alpha) < power:
        return None
    low, high = 0.0, 1.0 - 2 * other_share
    while high - low > 0.005:
        middle = (low + high) / 2
        if mcnemar_power(size, round(middle, 4), other_share, alpha=alpha) >= power:
            high = middle
        else:
            low = middle
    return high
