"""Verdicts on paired comparisons: did recall change, and could the data have shown it?"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from ctxeng.core.text import numbered
from ctxeng.harness.stats.detectable import Power, detectable_drop, observed_model
from ctxeng.harness.stats.difference import difference_interval
from ctxeng.harness.stats.paired import Pairs, mcnemar, session_permutation

Verdict = Literal[
    "better", "worse", "equivalent within margin", "no difference shown", "not enough data"
]
Group = tuple[str, str]
MIN_PROBES = 40
ALPHA = 0.05


def position(bucket: str) -> str:
    """Return a bucket's name for people: facts that were never stated are ``absent``."""
    return "absent" if bucket == "none" else bucket


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What counts as a difference.

    Args:
        margin: change of recall that does not matter, 0..1.
        min_probes: a group with fewer pairs gets no verdict and never gates.
        alpha: level of the tests after Holm's correction.
    """

    margin: float = 0.05
    min_probes: int = MIN_PROBES
    alpha: float = ALPHA


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One bucket of one arm, in two nights or beside another arm.

    Args:
        arm: whose recall ``after`` is.
        n: pairs decided on both sides. before, after: recall, 0..1.
        low, high: 95 % interval of ``difference``, which is after − before.
        gained, lost: probes that changed.
        mcnemar_p: exact, probes taken as independent. permutation_p: by session.
        adjusted_p: ``permutation_p`` after Holm's correction over ``tests`` tests; it decides.
        mde: smallest drop that these pairs show with 80 % power; None: not even the largest.
        reason: why the verdict is ``not enough data``.
    """

    arm: str
    bucket: str
    n: int
    sessions: int
    before: float | None
    after: float | None
    difference: float | None
    low: float | None
    high: float | None
    gained: float
    lost: float
    mcnemar_p: float | None
    permutation_p: float | None
    adjusted_p: float | None = None
    tests: int = 1
    mde: float | None = None
    verdict: Verdict = "not enough data"
    reason: str = ""

    def record(self) -> dict[str, Any]:
        """Return the comparison as plain JSON."""
        return asdict(self)


def compare(
    groups: Mapping[Group, Pairs],
    *,
    rule: Rule,
    rng: np.random.Generator,
    outside_family: Collection[str] = (),
) -> list[Comparison]:
    """Return a comparison for every group, Holm's correction over those with enough probes.

    Args:
        groups: pairs by (arm, bucket).
        outside_family: buckets that repeat probes of the others; each is a family by itself, over
            all arms.
    """
    measured = {group: _measured(group, pairs, rule, rng) for group, pairs in groups.items()}
    families: dict[str, list[Group]] = {}
    for group, comparison in measured.items():
        if not comparison.reason:
            families.setdefault(group[1] if group[1] in outside_family else "", []).append(group)
    adjusted: dict[Group, tuple[float, int]] = {}
    for family in families.values():
        p_values = holm([_p(measured[group]) for group in family])
        adjusted |= {g: (p, len(family)) for g, p in zip(family, p_values, strict=True)}
    return [
        _judged(comparison, *adjusted.get(group, (_p(comparison), 1)), rule=rule)
        for group, comparison in measured.items()
    ]


def with_detectable(
    found: Sequence[Comparison],
    groups: Mapping[Group, Pairs],
    *,
    rule: Rule,
    rng: np.random.Generator,
) -> list[Comparison]:
    """Return the comparisons with the smallest drop each could have shown beside it.

    The level is that of the first step of Holm's correction: what a change in this bucket alone
    has to reach.
    """
    return [
        replace(c, mde=_detectable(c, groups[c.arm, c.bucket], rule=rule, rng=rng)) for c in found
    ]


def _detectable(
    comparison: Comparison, pairs: Pairs, *, rule: Rule, rng: np.random.Generator
) -> float | None:
    if pairs.sessions < 2:
        return None
    shown = (comparison.adjusted_p or 1.0) <= rule.alpha
    power = Power.of(
        pairs.trials.tolist(),
        observed_model(pairs, shown=shown),
        rng=rng,
        alpha=rule.alpha / comparison.tests,
    )
    return detectable_drop(power)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values after Holm's correction, in the given order.

    Source: Holm (1979), Scandinavian Journal of Statistics 6:65-70. statsmodels has it too, and
    collects garbage for a tenth of a second at every call.
    """
    given = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(given, kind="stable")
    steps = given[order] * np.arange(given.size, 0, -1)
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps)) if given.size else steps
    return [float(p) for p in adjusted]


def _p(comparison: Comparison) -> float:
    """Return the p-value that decides; where nothing differs there is no evidence at all."""
    return 1.0 if comparison.permutation_p is None else comparison.permutation_p


def _measured(group: Group, pairs: Pairs, rule: Rule, rng: np.random.Generator) -> Comparison:
    bounds = difference_interval(pairs)
    return Comparison(
        arm=group[0],
        bucket=group[1],
        n=pairs.n,
        sessions=pairs.sessions,
        before=float(pairs.before.sum()) / pairs.n if pairs.n else None,
        after=float(pairs.after.sum()) / pairs.n if pairs.n else None,
        difference=pairs.difference,
        low=bounds.low if bounds else None,
        high=bounds.high if bounds else None,
        gained=float(pairs.gained.sum()),
        lost=float(pairs.lost.sum()),
        mcnemar_p=mcnemar(pairs),
        permutation_p=session_permutation(pairs, rng=rng),
        reason=_too_little(pairs, rule),
    )


def _too_little(pairs: Pairs, rule: Rule) -> str:
    if pairs.n < rule.min_probes:
        return f"{numbered(pairs.n, 'pair')}, a verdict needs {rule.min_probes}"
    if pairs.sessions < 2:
        return "one session gives no interval between sessions"
    if 2.0 ** (1 - pairs.sessions) > rule.alpha:
        return f"{pairs.sessions} sessions, the test by session needs 6"
    return ""


def _judged(comparison: Comparison, p: float, tests: int, *, rule: Rule) -> Comparison:
    low, high, difference = comparison.low, comparison.high, comparison.difference
    verdict: Verdict = "no difference shown"
    if comparison.reason or low is None or high is None or difference is None:
        verdict = "not enough data"
    elif -rule.margin < low and high < rule.margin:  # inside the margin a change does not matter
        verdict = "equivalent within margin"
    elif p <= rule.alpha:
        verdict = "better" if difference > 0 else "worse"
    return replace(comparison, adjusted_p=p, tests=tests, verdict=verdict)
