"""Does the recall interval cover? Beta-binomial sessions over the whole grid of MEASUREMENT.

    python benchmarks/coverage.py [--draws 2000]

Prints, for the interval that ships, the plain cluster bootstrap's neighbours: Wilson with an
estimated design effect, and Wilson without one; per method the worst cells and the share of cells
under 93 %.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import product

import numpy as np
from scipy import stats

from ctxeng.harness.stats.counts import SessionCounts
from ctxeng.harness.stats.interval import share_interval

SESSIONS, PROBES = (5, 8, 12, 20, 60), (4, 10, 40)
SHARES, CORRELATIONS = (0.05, 0.2, 0.5, 0.8, 0.95, 0.98), (0.0, 0.1, 0.3)
Method = Callable[[SessionCounts], tuple[float, float]]


def shipped(counts: SessionCounts) -> tuple[float, float]:
    """Return the bounds of the interval that reports print."""
    found = share_interval(counts)
    assert found is not None
    return found.low, found.high


def wilson(counts: SessionCounts) -> tuple[float, float]:
    """Return Wilson bounds that take the probes as independent."""
    bounds = stats.binomtest(round(counts.successes.sum()), round(counts.n)).proportion_ci(
        method="wilson"
    )
    return float(bounds.low), float(bounds.high)


def coverage(method: Method, *, draws: int, seed: int) -> list[tuple[float, str]]:
    """Return the coverage of every cell of the grid, worst first."""
    rng = np.random.default_rng(seed)
    found = []
    for sessions, probes, share, icc in product(SESSIONS, PROBES, SHARES, CORRELATIONS):
        hits = 0
        for _ in range(draws):
            rates = _rates(rng, sessions, share, icc)
            counts = SessionCounts(
                successes=rng.binomial(probes, rates).astype(float),
                trials=np.full(sessions, float(probes)),
            )
            low, high = method(counts)
            hits += low <= share <= high
        label = f"{sessions} sessions x {probes} probes, p {share}, correlation {icc}"
        found.append((hits / draws, label))
    return sorted(found)


def _rates(rng: np.random.Generator, sessions: int, share: float, icc: float) -> np.ndarray:
    if icc == 0:
        return np.full(sessions, share)
    scale = (1 - icc) / icc
    return rng.beta(share * scale, (1 - share) * scale, size=sessions)


def main() -> None:
    """Print a summary for each method."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for name, method in (("shipped", shipped), ("wilson, independent", wilson)):
        cells = coverage(method, draws=options.draws, seed=options.seed)
        low = sum(1 for share, _ in cells if share < 0.93) / len(cells)
        print(f"{name}: {low:.0%} of {len(cells)} cells under 93 %; worst:")
        for share, label in cells[:3]:
            print(f"  {share:.3f}  {label}")


if __name__ == "__main__":
    main()
