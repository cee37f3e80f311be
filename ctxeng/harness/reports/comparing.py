"""Two nights, two runs or two arms beside each other: verdicts by position, and the gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ctxeng.core.errors import InputError
from ctxeng.harness.attribution.position import BUCKETS
from ctxeng.harness.results.conditions import differences, error_share, obstacles
from ctxeng.harness.results.history import Night
from ctxeng.harness.results.pairing import ALL, Measure, Side, asked, paired_rows
from ctxeng.harness.stats.compare import MIN_PROBES, Comparison, Rule, compare, with_detectable
from ctxeng.harness.stats.gate import GateDecision, decide
from ctxeng.harness.stats.paired import Pairs

SEED = 20260101
MARGIN = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Everything that is said about two sides.

    Args:
        before, after: what was compared, for people. changes: conditions that differ,
            of the arms those of the compared ones.
        comparisons: one for each arm and bucket; ``all`` holds every answerable probe.
        unpaired: by arm, probes the measure applies to and that are not decided on both sides.
        borders: whose borders sort the facts of two runs by position, in a sentence.
    """

    before: str
    after: str
    measure: Measure
    rule: Rule
    changes: tuple[str, ...]
    comparisons: tuple[Comparison, ...]
    unpaired: Mapping[str, int]
    error_shares: tuple[tuple[str, float], ...]
    borders: str = ""

    def record(self) -> dict[str, Any]:
        """Return the comparison as plain JSON."""
        return {
            "before": self.before,
            "after": self.after,
            "measure": self.measure,
            "margin_share": self.rule.margin,
            "changes": list(self.changes),
            "unpaired": dict(self.unpaired),
            "borders": self.borders,
            "comparisons": [comparison.record() for comparison in self.comparisons],
        }


def compare_arms(before: Side, after: Side, *, rule: Rule, measure: Measure | None) -> Compared:
    """Return the comparison of two arms, of one run or of two.

    Raises:
        InputError: an arm is not in its run, or the runs are not comparable.
    """
    for side in (before, after):
        _known_arm(side)
    return _compared([(before, after)], rule=rule, measure=measure, with_arm=True)


def compare_nights(
    before: Night, after: Night, *, arms: Sequence[str], rule: Rule, measure: Measure | None
) -> Compared:
    """Return the comparison of the same arms in two nights.

    Raises:
        InputError: no such arm in both, or the nights are not comparable.
    """
    pairs = [(Side(night=before, arm=arm), Side(night=after, arm=arm)) for arm in arms]
    for side in (side for pair in pairs for side in pair):
        _known_arm(side)
    return _compared(pairs, rule=rule, measure=measure)


def compare_with_reference(night: Night, *, rule: Rule, measure: Measure | None) -> Compared:
    """Return every arm of a run, controls left out, beside its reference arm; one family of tests.

    Positions with fewer probes than a verdict needs are left out.

    Raises:
        InputError: the run has no other arm.
    """
    reference = str(night.conditions["reference_arm"])
    others = [arm for arm in common_arms(night, night) if arm != reference]
    if not others:
        raise InputError(f"a run must have another arm beside {reference!r} ({night.run_id}).")
    before = Side(night=night, arm=reference)
    sides = [(before, Side(night=night, arm=arm)) for arm in others]
    return _compared(sides, rule=rule, measure=measure, least=rule.min_probes, with_arm=True)


def common_arms(before: Night, after: Night) -> list[str]:
    """Return the arms of both nights, controls left out, in the later one's order."""
    controls = after.conditions["controls"]
    return [
        arm
        for arm in after.conditions["arms"]
        if arm in before.conditions["arms"] and arm not in controls
    ]


def gate_of(compared: Compared, *, buckets: Sequence[str]) -> GateDecision:
    """Return the gate's decision over some buckets of a comparison."""
    gating = [c for c in compared.comparisons if c.bucket in buckets]
    return decide(gating, rule=compared.rule, error_shares=compared.error_shares)


def gate_rule(night: Night, margin: float | None) -> Rule:
    """Return the rule of a run's own experiment, its margin replaced where another is given."""
    gate = night.conditions.get("gate", {})
    return Rule(
        margin=margin if margin is not None else float(gate.get("margin_share", MARGIN)),
        min_probes=max(MIN_PROBES, int(gate.get("min_probes", MIN_PROBES))),
    )


def gated_arms(night: Night) -> list[str]:
    """Return the arms that a run's experiment gates: those it names, or the reference arm."""
    named = list(night.conditions.get("gate", {}).get("arms", ()))
    return named or [str(night.conditions["reference_arm"])]


def gated_buckets(night: Night) -> list[str]:
    """Return the buckets that a run's experiment gates."""
    return list(night.conditions.get("gate", {}).get("buckets", ("recent", "interior", "boundary")))


def _compared(
    sides: Sequence[tuple[Side, Side]],
    *,
    rule: Rule,
    measure: Measure | None,
    least: int = 0,
    with_arm: bool = False,
) -> Compared:
    before, after = sides[0][0].night, sides[0][1].night
    found = obstacles(before.conditions, after.conditions)
    if found:
        raise InputError(
            f"runs must be comparable, got {before.run_id} and {after.run_id}, which differ in "
            f"{', '.join(found)}. Compare runs with the same sessions, probes, scorer and judge."
        )
    used = measure_of(before, after, measure)
    groups: dict[tuple[str, str], Pairs] = {}
    unpaired = {}
    for old, new in sides:
        paired = paired_rows(old, new, used)
        unpaired[new.arm] = paired.unpaired
        for bucket in (ALL, *BUCKETS):
            pairs = Pairs.by_session(paired.buckets.get(bucket, ()))
            if pairs.n > max(0, least - 1):
                groups[new.arm, bucket] = pairs
    rng = np.random.default_rng(SEED)
    compared = compare(groups, rule=rule, rng=rng, outside_family=(ALL, "none"))
    arms = {side.arm for pair in sides for side in pair}
    return Compared(
        before=_label(sides[0][0], with_arm=with_arm),
        after=_label(sides[0][1], with_arm=with_arm),
        measure=used,
        rule=rule,
        changes=tuple(differences(before.conditions, after.conditions, arms=arms)),
        comparisons=tuple(with_detectable(compared, groups, rule=rule, rng=rng)),
        unpaired=unpaired,
        borders=_borders(before, after),
        error_shares=tuple({n.run_id: error_share(n.conditions) for n in (before, after)}.items()),
    )


def in_context_falls(before: Night, after: Night, arms: Sequence[str], *, rule: Rule) -> list[str]:
    """Return a line for each arm whose in-context recall fell by more than the margin.

    Only over all positions, and where there are enough probes for a verdict.
    """
    lines = []
    for arm in arms:
        sides = (Side(night=before, arm=arm), Side(night=after, arm=arm))
        pairs = Pairs.by_session(paired_rows(*sides, "in_context").buckets.get(ALL, ()))
        change = pairs.difference
        if change is not None and change < -rule.margin and pairs.n >= rule.min_probes:
            lines.append(
                f"{arm}: in-context recall fell by {-100 * change:.1f} points (n={pairs.n}), over "
                "the margin; not gated"
            )
    return lines


def _borders(before: Night, after: Night) -> str:
    """Return whose borders sort the facts, empty for one run."""
    if before.run_id == after.run_id:
        return ""
    return (
        f"Positions on both sides are by the borders of {after.run_id}; the report of "
        f"{before.run_id} sorts the facts by its own."
    )


def measure_of(before: Night, after: Night, wanted: Measure | None) -> Measure:
    """Return the measure to compare: answers where a reader gave them on both sides."""
    both_asked = asked(before) and asked(after)
    if wanted == "answer" and not both_asked:
        raise InputError(
            "measure must be in_context where no reader was asked, got answer. Leave it out."
        )
    return wanted or ("answer" if both_asked else "in_context")


def _known_arm(side: Side) -> None:
    arms = list(side.night.conditions["arms"])
    if side.arm not in arms:
        raise InputError(
            f"arm must be one of {', '.join(arms)}, got {side.arm!r} (run {side.night.run_id})."
        )


def _label(side: Side, *, with_arm: bool) -> str:
    return f"{side.night.run_id}:{side.arm}" if with_arm else side.night.run_id
