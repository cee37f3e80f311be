"""How many probes and sessions a wanted effect needs, given discordance and clustering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from ctxeng.harness.stats.counts import SessionCounts
from ctxeng.harness.stats.interval import design_effect
from ctxeng.harness.stats.power import mcnemar_power

MOST_PAIRS = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumed:
    """What a plan rests on.

    Args:
        other_share: share of probes that change against the effect (0–1); noise of the reader.
        correlation: of the differences of two probes of one session (0–1).
        probes_per_session: probes of one session in the bucket.
        pilot_probes: how many a pilot had there; None where nothing was measured.
    """

    other_share: float
    correlation: float
    probes_per_session: float
    pilot_probes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What one bucket needs; probes and sessions are None where no number up to 5,000 is enough."""

    bucket: str
    assumed: Assumed
    independent_pairs: int | None
    probes: int | None
    sessions: int | None


def need(bucket: str, assumed: Assumed, *, effect: float, power: float = 0.8) -> Need:
    """Return the probes and sessions by which a drop of ``effect`` (0–1) is shown.

    The exact McNemar test is powered for independent pairs; their number is inflated by the design
    effect ``1 + (m - 1) * correlation`` of m probes a session.
    """
    pairs = _pairs(effect, assumed.other_share, power)
    if pairs is None:
        return Need(bucket=bucket, assumed=assumed, independent_pairs=None, probes=None,
                    sessions=None)  # fmt: skip
    inflated = pairs * (1 + (assumed.probes_per_session - 1) * assumed.correlation)
    sessions = ceil(inflated / assumed.probes_per_session)
    return Need(
        bucket=bucket,
        assumed=assumed,
        independent_pairs=pairs,
        probes=ceil(sessions * assumed.probes_per_session),
        sessions=sessions,
    )


def assumed_from(
    cells: Sequence[Mapping[str, Any]], *, arm: str, against: str
) -> dict[str, Assumed]:
    """Return what a pilot run says of two arms, by bucket of the reference arm.

    Answers decide where both arms were answered and decided; a probe of which either is not, is
    left out.
    """
    ours, theirs = _right(cells, arm), _right(cells, against)
    buckets: dict[str, list[tuple[str, float]]] = {}
    for key in ours.keys() & theirs.keys():
        (session, bucket, right), (_, _, other) = ours[key], theirs[key]
        buckets.setdefault(bucket, []).append((session, float(other) - float(right)))
    return {bucket: _assumed(sorted(found)) for bucket, found in sorted(buckets.items())}


def _right(
    cells: Sequence[Mapping[str, Any]], arm: str
) -> dict[tuple[str, int], tuple[str, str, bool]]:
    return {
        (c["probe_id"], c["replicate"]): (c["session_id"], c["bucket"], c["outcome"] == "recalled")
        for c in cells
        if c["arm"] == arm
        and c["answerable"]
        and c["outcome"] in ("recalled", "missed", "abstained", "stale", "fabricated")
    }


def _assumed(differences: Sequence[tuple[str, float]]) -> Assumed:
    """Return the rarer direction as the noise, and the correlation behind the design effect."""
    losses = sum(d > 0 for _, d in differences)
    gains = sum(d < 0 for _, d in differences)
    n = len(differences)
    changed = SessionCounts.of((session, float(d != 0)) for session, d in differences)
    per_session = n / max(1, changed.sessions)
    inflation = design_effect(changed) - 1
    correlation = min(1.0, inflation / (per_session - 1)) if per_session > 1 else 0.0
    return Assumed(
        other_share=(min(losses, gains) + 0.5) / (n + 1),
        correlation=correlation,
        probes_per_session=per_session,
        pilot_probes=n,
    )


def _pairs(effect: float, other_share: float, power: float) -> int | None:
    """Return the fewest pairs from which on the power is reached, by halving."""
    if effect + 2 * other_share > 1 or mcnemar_power(MOST_PAIRS, effect, other_share) < power:
        return None
    low, high = 1, MOST_PAIRS
    while low < high:
        middle = (low + high) // 2
        if mcnemar_power(middle, effect, other_share) >= power:
            high = middle
        else:
            low = middle + 1
    return low
