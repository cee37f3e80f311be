"""An interval for the difference of two arms on the same probes, sessions being the unit.

Gains and losses are two shares with intervals of their own (module ``interval``); the bounds of
their difference are recovered from those. Where every session changes alike, a t interval on the
sums by session is wider; the wider bound counts. Without a single change the bounds are those of
the rule of three, discounted for sessions: no change seen is never no change.

Source: Zou & Donner (2008), Statistics in Medicine 27:1693-1702 (MOVER); Newcombe (1998),
Statistics in Medicine 17:2635-2650, for paired proportions. The simulation is
``benchmarks/validate_stats.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ctxeng.harness.stats.cluster import t_reach
from ctxeng.harness.stats.counts import SessionCounts
from ctxeng.harness.stats.interval import share_interval
from ctxeng.harness.stats.paired import Pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Bounds of a difference, -1..1."""

    low: float
    high: float


def difference_interval(pairs: Pairs, *, confidence: float = 0.95) -> Bounds | None:
    """Return the interval for the mean of after − before; None with fewer than two sessions.

    Example:
        20 sessions of 5 probes without any change → about -0.07..0.07, not 0..0.
    """
    gained = SessionCounts(successes=pairs.gained, trials=pairs.trials)
    lost = SessionCounts(successes=pairs.lost, trials=pairs.trials)
    up = share_interval(gained, confidence=confidence)
    down = share_interval(lost, confidence=confidence)
    if up is None or down is None or gained.share is None or lost.share is None:
        return None
    middle = gained.share - lost.share
    below = np.hypot(gained.share - up.low, down.high - lost.share)
    above = np.hypot(up.high - gained.share, lost.share - down.low)
    spread = t_reach(pairs.changes, pairs.trials, confidence=confidence)
    return Bounds(
        low=float(max(-1.0, middle - max(below, spread))),
        high=float(min(1.0, middle + max(above, spread))),
    )
