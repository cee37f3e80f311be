"""Recall against tokens and money: who is beaten, and whom the probes cannot tell apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from ctxeng.harness.stats.compare import ALPHA, holm
from ctxeng.harness.stats.paired import Pairs, session_permutation


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One arm: recall 0..1 with its interval, mean prompt size in tokens, money for its calls.

    ``cost_usd`` None: some price is unknown; money then decides nothing.
    """

    arm: str
    recall: float
    low: float | None
    high: float | None
    tokens: float
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """The front, and what the data cannot tell.

    Args:
        front: arms that no other beats in recall, tokens and money at once, fewest tokens first.
        beaten_by: the front's arm that beats each of the others.
        inseparable: pairs of arms whose recall these probes do not show to differ.
    """

    front: tuple[Point, ...]
    beaten_by: Mapping[str, str]
    inseparable: tuple[tuple[str, str], ...]


def pareto(
    points: Sequence[Point],
    pairs: Callable[[str, str], Pairs],
    *,
    rng: np.random.Generator,
) -> Front:
    """Return the front of recall against tokens and money, and the pairs that cannot be separated.

    Pairs that decide something are tested, with Holm's correction: neighbours on the front, and
    each beaten arm with the one that beats it.

    Args:
        pairs: gives the outcomes of two arms on the same probes.
    """
    beaten = {p.arm: rival.arm for p in points if (rival := _rival(p, points)) is not None}
    front = sorted((p for p in points if p.arm not in beaten), key=lambda p: (p.tokens, p.arm))
    wanted = {frozenset((a.arm, b.arm)) for a, b in pairwise(front)}
    wanted |= {frozenset(pair) for pair in beaten.items()}
    tested = [
        (a.arm, b.arm) for a, b in combinations(points, 2) if frozenset((a.arm, b.arm)) in wanted
    ]
    p_values = [session_permutation(pairs(*pair), rng=rng) for pair in tested]
    adjusted = holm([1.0 if p is None else p for p in p_values])
    return Front(
        front=tuple(front),
        beaten_by=beaten,
        inseparable=tuple(pair for pair, p in zip(tested, adjusted, strict=True) if p > ALPHA),
    )


def _rival(point: Point, points: Sequence[Point]) -> Point | None:
    """Return the arm of the front that beats a point: no less recalled, no more spent."""
    better = [other for other in points if _beats(other, point)]
    return max(better, key=lambda p: (p.recall, -p.tokens), default=None)


def _beats(one: Point, other: Point) -> bool:
    gains = [one.recall - other.recall, other.tokens - one.tokens]
    if one.cost_usd is not None and other.cost_usd is not None:
        gains.append(other.cost_usd - one.cost_usd)
    return min(gains) >= 0 and max(gains) > 0
