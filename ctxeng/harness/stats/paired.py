"""Two arms, or two nights, on the same probes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np

from ctxeng.harness.stats.counts import Floats

EXACT_SESSIONS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Paired successes of the same probes, added up by session.

    Args:
        trials: (n_sessions,) probes decided on both sides, > 0.
        before, after: (n_sessions,) sums of successes, each probe 0..1 (a mean over replicates).
        gained, lost: (n_sessions,) sums of what single probes gained, and lost.
        ups, downs: (n_sessions,) number of probes that gained, and lost.
    """

    trials: Floats
    before: Floats
    after: Floats
    gained: Floats
    lost: Floats
    ups: Floats
    downs: Floats

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, float, float]]) -> Pairs:
        """Return pairs from (session, before, after) triples, one a probe."""
        totals: dict[str, list[float]] = {}
        for session, before, after in pairs:
            change = round(after - before, 9)
            entry = totals.setdefault(session, [0.0] * 7)
            up, down = max(0.0, change), max(0.0, -change)
            values = (1.0, before, after, up, down, float(up > 0), float(down > 0))
            for position, value in enumerate(values):
                entry[position] += value
        return cls.by_session(totals[name] for name in sorted(totals))

    @classmethod
    def by_session(cls, rows: Iterable[Sequence[float]]) -> Pairs:
        """Return pairs from one row a session, its values in the order of the fields."""
        table = np.array(list(rows), dtype=np.float64).reshape(-1, 7)
        names = (field.name for field in fields(cls))
        return cls(**dict(zip(names, table.T, strict=True)))

    @property
    def sessions(self) -> int:
        """Return the number of sessions."""
        return int(self.trials.size)

    @property
    def n(self) -> int:
        """Return the number of probes."""
        return round(float(self.trials.sum()))

    @property
    def difference(self) -> float | None:
        """Return the mean of after − before, None without probes."""
        return float(self.changes.sum() / self.trials.sum()) if self.n else None

    @property
    def changes(self) -> Floats:
        """Return (n_sessions,) sums of after − before."""
        return self.gained - self.lost


def mcnemar(pairs: Pairs) -> float | None:
    """Return the exact two-sided p-value; None where nothing differs or there are no probes.

    Fractions (means over replicates) count as their majority; ties count on neither side.
    Source: McNemar (1947), exact binomial form.
    """
    from scipy import special

    gained, lost = round(float(pairs.ups.sum())), round(float(pairs.downs.sum()))
    if gained + lost == 0:
        return None
    return float(min(1.0, 2 * special.bdtr(min(gained, lost), gained + lost, 0.5)))


def session_permutation(
    pairs: Pairs, *, rng: np.random.Generator, rounds: int = 10_000
) -> float | None:
    """Return the two-sided p-value of swapping the two sides session by session.

    Exact by enumeration up to 12 sessions, otherwise by ``rounds`` random swaps. None where
    nothing differs.
    """
    sums = pairs.changes[np.abs(pairs.changes) > 1e-9]
    if sums.size == 0:
        return None
    signs = sign_flips(sums.size, rng=rng, rounds=rounds)
    return float(flip_p_values(sums[None, :], signs)[0])


def sign_flips(sessions: int, *, rng: np.random.Generator, rounds: int) -> Floats:
    """Return (n_flips, n_sessions) ±1: every flip of a few sessions, otherwise random ones."""
    if sessions <= EXACT_SESSIONS:
        return _every_flip(sessions)
    return rng.choice([-1.0, 1.0], size=(rounds, sessions))


@lru_cache(maxsize=EXACT_SESSIONS + 1)
def _every_flip(sessions: int) -> Floats:
    bits = (np.arange(2**sessions)[:, None] >> np.arange(sessions)) & 1
    return (bits * 2 - 1).astype(np.float64)


def flip_p_values(sums: Floats, signs: Floats) -> Floats:
    """Return (draws,) two-sided p-values of the changes by session, (draws, n_sessions)."""
    observed = np.abs(sums.sum(axis=1)) - 1e-9
    flipped = sums @ signs.T
    np.abs(flipped, out=flipped)
    extreme = np.count_nonzero(flipped >= observed[:, None], axis=1).astype(np.float64)
    is_exact = signs.shape[0] == 2 ** signs.shape[1]
    found: Floats = extreme / signs.shape[0] if is_exact else (extreme + 1) / (signs.shape[0] + 1)
    return found
