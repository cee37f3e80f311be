"""Successes and trials by session: what every statistic here is computed from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCounts:
    """Successes and trials, one entry a session; sessions without trials are left out.

    Args:
        successes, trials: (n_sessions,) float, ``0 <= successes <= trials``, ``trials > 0``.
            Replicates of one probe count as one trial with their mean, so successes may be
            fractions.
    """

    successes: Floats
    trials: Floats

    @classmethod
    def of(cls, outcomes: Iterable[tuple[str, float]]) -> SessionCounts:
        """Return the counts of (session, success 0..1) pairs, one pair a probe."""
        totals: dict[str, list[float]] = {}
        for session, success in outcomes:
            entry = totals.setdefault(session, [0.0, 0.0])
            entry[0] += success
            entry[1] += 1.0
        pairs = np.array([totals[name] for name in sorted(totals)], dtype=np.float64).reshape(-1, 2)
        return cls(successes=pairs[:, 0], trials=pairs[:, 1])

    @property
    def sessions(self) -> int:
        """Return the number of sessions with trials."""
        return int(self.trials.size)

    @property
    def n(self) -> float:
        """Return the number of trials."""
        return float(self.trials.sum())

    @property
    def share(self) -> float | None:
        """Return the pooled share of successes, 0..1; None without trials."""
        return float(self.successes.sum() / self.n) if self.n else None
