"""Choose the weight of the semantic search on other sessions than those it is reported on.

The procedure: for each session, over the probes of all *other* sessions, the mean evidence recall
at ``TUNED_AT`` is taken at every weight of ``WEIGHTS``; the best weight ranks the session's own
probes. Ties go to the weight nearest the middle of the tied ones. Nothing else is tuned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ctxeng.harness.stats.counts import Floats

WEIGHTS = tuple(round(0.05 * step, 2) for step in range(21))
TUNED_AT = 10


def leave_one_out(recalls: Floats, sessions: Sequence[str]) -> Mapping[str, float]:
    """Return for each session the weight that is best on all the others.

    Args:
        recalls: (n_probes, len(WEIGHTS)) float 0..1, recall at ``TUNED_AT`` of each probe.
        sessions: session of each probe. With a single session it is tuned on itself.
    """
    names = np.array(sessions)
    chosen = {}
    for session in sorted(set(sessions)):
        others = recalls[names != session]
        chosen[session] = best_weight(others if len(others) else recalls)
    return chosen


def best_weight(recalls: Floats) -> float:
    """Return the weight with the best mean recall.

    Example:
        ``best_weight(np.eye(1, 21, k=8))`` → ``0.4``
    """
    means = recalls.mean(axis=0).round(9)
    tied = np.flatnonzero(means == means.max())
    middle = tied.mean()
    return WEIGHTS[int(tied[np.argmin(np.abs(tied - middle))])]
