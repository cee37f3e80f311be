"""Two arms, or two nights, on the same probes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ctxeng.harness.stats.counts import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Paired successes, one entry a probe.

    Args:
        sessions: session of each probe. before, after: (n_probes,) successes, 0..1.
    """

    sessions: tuple[str, ...]
    before: Floats
    after: Floats

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, float, float]]) -> Pairs:
        """Return pairs from (session, before, after) triples."""
        listed = list(pairs)
        return cls(
            sessions=tuple(session for session, _, _ in listed),
            before=np.array([before for _, before, _ in listed], dtype=np.float64),
            after=np.array([after for _, _, after in listed], dtype=np.float64),
        )

    @property
    def n(self) -> int:
        """Return the number of probes."""
        return len(self.sessions)

    @property
    def difference(self) -> float | None:
        """Return the mean of after − before, None without probes."""
        return float((self.after - self.before).mean()) if self.n else None

    @property
    def session_sums(self) -> tuple[Floats, Floats]:
        """Return per session the sum of differences and the number of probes."""
        names = sorted(set(self.sessions))
        index = {name: i for i, name in enumerate(names)}
        where = np.array([index[s] for s in self.sessions], dtype=np.int64)
        sums = np.zeros(len(names), dtype=np.float64)
        np.add.at(sums, where, self.after - self.before)
        return sums, np.bincount(where, minlength=len(names)).astype(np.float64)


def mcnemar(pairs: Pairs) -> float | None:
    """Return the exact two-sided p-value; None where nothing differs or there are no probes.

    Fractions (means over replicates) count as their majority; ties count on neither side.
    Source: McNemar (1947), exact binomial form.
    """
    from scipy import stats

    changed = np.sign(np.round(pairs.after - pairs.before, 9))
    gained, lost = int((changed > 0).sum()), int((changed < 0).sum())
    if gained + lost == 0:
        return None
    return float(stats.binomtest(gained, gained + lost, 0.5).pvalue)


def session_permutation(
    pairs: Pairs, *, rng: np.random.Generator, rounds: int = 10_000
) -> float | None:
    """Return the two-sided p-value of swapping the two sides session by session.

    Exact by enumeration up to 12 sessions, otherwise by ``rounds`` random swaps. None where
    nothing differs.
    """
    sums, _ = pairs.session_sums
    sums = sums[sums != 0]
    if sums.size == 0:
        return None
    observed = abs(float(sums.sum())) - 1e-9
    if sums.size <= 12:
        grid = np.array(np.meshgrid(*[[-1.0, 1.0]] * sums.size)).reshape(sums.size, -1)
        return float((np.abs(sums @ grid) >= observed).mean())
    signs = rng.choice([-1.0, 1.0], size=(rounds, sums.size))
    extreme = int((np.abs(signs @ sums) >= observed).sum())
    return (extreme + 1) / (rounds + 1)
