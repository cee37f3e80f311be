"""Effective retention: how much of what a fact restated would give is left, with its interval."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ctxeng.harness.stats.difference import Bounds, difference_interval
from ctxeng.harness.stats.paired import Pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """(arm − none) / (restated − none); None with a reason where it is not defined.

    Args:
        low, high: 95 % interval.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str = ""

    def record(self) -> dict[str, Any]:
        """Return the retention as plain JSON."""
        return asdict(self)


def effective_retention(kept: Pairs, room: Pairs) -> Retention:
    """Return the effective retention of an arm, each side on the probes that both decided.

    Args:
        kept: the control ``none`` before, the arm after. room: ``none`` before, ``restated`` after.

    Source: Donner & Zou (2012), Statistical Methods in Medical Research 21:347-359 (MOVER for a
    ratio), over the paired intervals of numerator and denominator; that the two share probes is
    not used, which makes it wider.
    """
    top, bottom = kept.difference, room.difference
    if top is None or bottom is None:
        return _undefined(room.n, "no probe was decided")
    numerator, denominator = difference_interval(kept), difference_interval(room)
    if numerator is None or denominator is None:
        return _undefined(room.n, "one session gives no interval between sessions")
    if denominator.low <= 0:
        return _undefined(room.n, "restating does not show more than no history at all")
    low, high = _ratio_bounds(top, numerator, bottom, denominator)
    return Retention(value=top / bottom, low=low, high=high, n=room.n)


def _ratio_bounds(top: float, above: Bounds, bottom: float, below: Bounds) -> tuple[float, float]:
    """Return where the bound of top − θ·bottom crosses zero, from both sides."""

    def low_gap(theta: float) -> float:
        other = below.high - bottom if theta >= 0 else bottom - below.low
        return top - theta * bottom - float(np.hypot(top - above.low, theta * other))

    def high_gap(theta: float) -> float:
        other = bottom - below.low if theta >= 0 else below.high - bottom
        return theta * bottom - top - float(np.hypot(above.high - top, theta * other))

    from scipy.optimize import brentq

    middle, far = top / bottom, 4 / below.low  # far: beyond it the gaps have their final sign
    return float(brentq(low_gap, -far, middle)), float(brentq(high_gap, middle, far))


def _undefined(n: int, reason: str) -> Retention:
    return Retention(value=None, low=None, high=None, n=n, reason=reason)
