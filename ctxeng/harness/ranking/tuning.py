"""Choose the weights of the hybrid ranking on other sessions than those it is reported on.

The procedure: for each session, over the probes of all *other* sessions, the mean evidence recall
at ``TUNED_AT`` is taken at every set of weights of ``GRID``; the best set ranks the session's own
probes, of equally good ones the middle one in the order of the grid. Nothing else is tuned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from ctxeng.harness.stats.counts import Floats


class Weights(NamedTuple):
    """Weights of the convex preset, named as its settings."""

    semantic_weight: float
    previous_weight: float = 0.0
    following_weight: float = 0.0
    reference_weight: float = 0.0

    def __str__(self) -> str:
        """Return the weights in the order of the settings."""
        return "/".join(f"{weight:g}" for weight in self)


SEMANTIC = (0.0, 0.25, 0.35, 0.4, 0.45, 0.5, 0.55, 0.65, 1.0)
NEIGHBOURS = ((0.0, 0.0), (0.1, 0.2), (0.2, 0.2), (0.2, 0.3))
REFERENCE = (0.0, 0.1, 0.2)
GRID = tuple(
    Weights(semantic, *neighbours, reference)
    for neighbours, reference, semantic in product(NEIGHBOURS, REFERENCE, SEMANTIC)
)
TUNED_AT = 10


def leave_one_out(recalls: Floats, sessions: Sequence[str]) -> Mapping[str, int]:
    """Return for each session the place in the grid that is best on all the others.

    Args:
        recalls: (n_probes, len(GRID)) float 0..1, recall at ``TUNED_AT`` of each probe.
        sessions: session of each probe. With a single session it is tuned on itself.
    """
    names = np.array(sessions)
    chosen = {}
    for session in sorted(set(sessions)):
        others = recalls[names != session]
        chosen[session] = best_place(others if len(others) else recalls)
    return chosen


def best_place(recalls: Floats) -> int:
    """Return the column with the best mean recall; of equals the middle one.

    Example:
        ``best_place(np.eye(1, 21, k=8))`` → ``8``
    """
    means = recalls.mean(axis=0).round(9)
    tied = np.flatnonzero(means == means.max())
    return int(tied[len(tied) // 2])
