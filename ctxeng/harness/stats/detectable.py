"""The smallest change that the session test shows: what a comparison could have seen.

The test that decides is the sign flip of whole sessions (``paired.session_permutation``). Its
power has no formula for few, unequal, correlated sessions, so it is simulated: changes of recall
within a session follow a Dirichlet-multinomial distribution, and the same test is run on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ctxeng.harness.stats.counts import Floats
from ctxeng.harness.stats.paired import Pairs, flip_p_values, sign_flips

ASSUMED_ICC = 0.1
ASSUMED_OPPOSITE = 0.02
FLIPS = 1999
SMALLEST = 0.002  # drops of less are not told apart


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeModel:
    """How probes change between two arms when nothing is lost on the whole.

    Args:
        opposite_share: share of probes that change in each direction by chance, 0..0.5.
        icc: correlation of changes within a session, 0..1.
    """

    opposite_share: float = ASSUMED_OPPOSITE
    icc: float = ASSUMED_ICC


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """The power of the session test on sessions of given sizes.

    Args:
        sizes: (n_sessions,) probes of each session.
        signs: (n_flips, n_sessions) ±1: every flip, or a random set of them.
    """

    sizes: Floats
    signs: Floats
    model: ChangeModel
    alpha: float
    draws: int
    rng: np.random.Generator

    @classmethod
    def of(
        cls,
        sizes: Sequence[float],
        model: ChangeModel,
        *,
        rng: np.random.Generator,
        alpha: float = 0.05,
        draws: int = 1000,
        flips: int = FLIPS,
    ) -> Power:
        """Return the power over sessions, with the flips they are tested by."""
        held = np.array([size for size in sizes if size > 0], dtype=np.float64)
        return cls(
            sizes=held,
            signs=sign_flips(held.size, rng=rng, rounds=flips),
            model=model,
            alpha=alpha,
            draws=draws,
            rng=rng,
        )

    def at(self, drop: float) -> float:
        """Return the share of simulated comparisons in which a true drop is shown, 0..1."""
        sums = simulated_sums(self.sizes, drop, self.model, draws=self.draws, rng=self.rng)
        return float((flip_p_values(sums, self.signs) <= self.alpha).mean())


def detectable_drop(power: Power, *, wanted: float = 0.8) -> float | None:
    """Return the smallest drop of recall that is shown with the wanted power, 0..1.

    None where not even the loss of everything would be shown: too few sessions.
    """
    largest = 1.0 - 2 * power.model.opposite_share
    if power.sizes.size < 2 or power.at(largest) < wanted:
        return None
    low, high = 0.0, largest
    while high - low > min(largest / 64, high / 4) and high > SMALLEST:
        middle = (low + high) / 2
        low, high = (low, middle) if power.at(middle) >= wanted else (middle, high)
    return min(largest, _smoothed(power, max(0.8 * low, 0.001), min(1.25 * high, largest), wanted))


def _smoothed(power: Power, low: float, high: float, wanted: float) -> float:
    """Return where a probit line through simulated powers meets the wanted one."""
    from scipy import special

    drops = np.linspace(low, high, 7)
    shown = np.array([power.at(float(drop)) for drop in drops])
    edge = 0.5 / power.draws
    slope, offset = np.polyfit(np.log(drops), special.ndtri(np.clip(shown, edge, 1 - edge)), 1)
    if slope <= 0:
        return float(high)
    return float(np.clip(np.exp((special.ndtri(wanted) - offset) / slope), low, high))


def simulated_sums(
    sizes: Floats, drop: float, model: ChangeModel, *, draws: int, rng: np.random.Generator
) -> Floats:
    """Return (draws, n_sessions) gains minus losses under a true drop."""
    gained, lost = simulated_changes(
        sizes,
        lost_share=model.opposite_share + drop,
        gained_share=model.opposite_share,
        icc=model.icc,
        draws=draws,
        rng=rng,
    )
    return gained - lost


def simulated_changes(
    sizes: Floats,
    *,
    lost_share: float,
    gained_share: float,
    icc: float,
    draws: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Return (draws, n_sessions) gains and losses, correlated within each session."""
    mean = np.array([lost_share, gained_share, max(0.0, 1 - lost_share - gained_share)])
    shape = (draws, sizes.size, 3)
    if icc > 0:
        weights = rng.standard_gamma(np.maximum(mean * (1 - icc) / icc, 1e-9), shape)
        chances = weights / np.maximum(weights.sum(-1, keepdims=True), 1e-300)
    else:
        chances = np.broadcast_to(mean, shape)
    whole = np.round(sizes).astype(np.int64)
    lost = rng.binomial(whole, np.clip(chances[..., 0], 0, 1))
    rest = np.clip(chances[..., 1] / np.maximum(1 - chances[..., 0], 1e-12), 0, 1)
    gained = rng.binomial(whole - lost, rest)
    return gained.astype(np.float64), lost.astype(np.float64)


def observed_model(pairs: Pairs, *, shown: bool) -> ChangeModel:
    """Return the change model that the data of one comparison suggest.

    Half of all changes happen by chance in each direction; where a difference has been shown, its
    surplus is left out. The correlation is the larger of the estimated and ``ASSUMED_ICC``:
    a handful of changes cannot prove that sessions are alike.
    """
    up, down, n = float(pairs.gained.sum()), float(pairs.lost.sum()), float(pairs.trials.sum())
    chance = 2 * min(up, down) if shown else up + down
    return ChangeModel(
        opposite_share=min(0.45, (chance + 1) / (n + 2) / 2),
        icc=max(ASSUMED_ICC, min(0.3, change_correlation(pairs))),
    )


def change_correlation(pairs: Pairs) -> float:
    """Return the moment estimate of the correlation of changes within sessions; 0 if unknown."""
    n, sessions = float(pairs.trials.sum()), pairs.sessions
    typical = float((pairs.trials**2).sum()) / max(n, 1.0)
    mean = pairs.difference or 0.0
    variance = float((pairs.gained + pairs.lost).sum()) / max(n, 1.0) - mean**2
    if sessions < 2 or typical <= 1 or variance <= 0:
        return 0.0
    residuals = pairs.changes - mean * pairs.trials
    between = sessions / (sessions - 1) * float((residuals**2).sum()) / n
    return (between / variance - 1) / (typical - 1)
