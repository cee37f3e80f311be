"""What a number of independent pairs of probes can and cannot show, before there is a run."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ctxeng.harness.stats.counts import Floats


@lru_cache(maxsize=4096)
def mcnemar_power(n: int, drop_share: float, other_share: float, *, alpha: float = 0.05) -> float:
    """Return the power of the exact McNemar test on ``n`` paired probes.

    Args:
        drop_share: true difference to be found, 0..1.
        other_share: share of probes that change in the opposite direction, 0..1.

    Source: enumeration of the binomial distribution of discordant pairs.
    """
    from scipy import special

    discordant = drop_share + 2 * other_share
    if n <= 0 or discordant <= 0:
        return 0.0
    counts = np.arange(n + 1)
    weights = _binomial(counts, n, min(1.0, discordant))
    lost_share = (drop_share + other_share) / discordant
    cuts = _cuts(n, alpha)
    few = np.where(cuts >= 0, special.bdtr(np.maximum(cuts, 0), counts, lost_share), 0.0)
    many = np.where(cuts >= 0, special.bdtrc(counts - cuts - 1, counts, lost_share), 0.0)
    return float((weights * (few + many)).sum())


@lru_cache(maxsize=256)
def _cuts(n: int, alpha: float) -> Floats:
    """Return for 0..n discordant pairs the largest minority that is still significant, else -1."""
    from scipy import special

    cuts = np.full(n + 1, -1.0)
    for m in range(1, n + 1):
        below = special.bdtr(np.arange(m // 2 + 1), m, 0.5) * 2 <= alpha
        cuts[m] = int(below.sum()) - 1
    return cuts


def _binomial(k: NDArray[np.int64], n: int, p: float) -> Floats:
    from scipy import special

    choices = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    mass: Floats = np.exp(choices + special.xlogy(k, p) + special.xlog1py(n - k, -p))
    return mass


def independent_drop(
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
