"""The gate: is recall not worse by more than a stated margin?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, cast

from ctxeng.core.text import points
from ctxeng.harness.stats.compare import Comparison, Rule, position

Status = Literal["pass", "regression", "not enough data", "incomplete"]
MAX_ERROR_SHARE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated:
    """One bucket of one arm: its status and one line of reason.

    Args:
        gates: False where it has too few probes: it is shown, and decides nothing.
    """

    arm: str
    bucket: str
    gates: bool
    status: Status
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GateDecision:
    """The gate's answer: the worst status of all gated groups, and why.

    Args:
        changed_not_gated: arms whose settings changed and about which the gate says nothing.
        in_context_falls: what in-context recall lost where the gate is on answers, in lines.
    """

    status: Status
    margin: float
    groups: tuple[Gated, ...]
    reasons: tuple[str, ...]
    changed_not_gated: tuple[str, ...] = ()
    in_context_falls: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what a reader of the status must know besides, in lines that decide nothing."""
        if not self.changed_not_gated:
            return self.in_context_falls
        listed = ", ".join(self.changed_not_gated)
        said = f"not gated though changed: {listed} (name them in [gate] arms)"
        return (said, *self.in_context_falls)

    def record(self) -> dict[str, Any]:
        """Return the decision as plain JSON."""
        return {**asdict(self), "notes": list(self.notes)}


def decide(
    compared: Sequence[Comparison],
    *,
    rule: Rule,
    error_shares: Sequence[tuple[str, float]],
) -> GateDecision:
    """Return the gate's decision over the compared buckets.

    ``pass`` needs every group with enough probes to be non-inferior: the lower bound of its 95 %
    interval lies above −margin. ``regression``: some group is worse, after Holm's correction.
    Otherwise the data cannot say. A run with more than 1 % errors never passes.

    Args:
        error_shares: (run, share of cells that are errors, 0..1) of each run compared.
    """
    groups = tuple(_gated(comparison, rule) for comparison in compared)
    broken = [
        f"{share:.1%} of the cells of {run} are errors; a gate needs at most {MAX_ERROR_SHARE:.0%}"
        for run, share in error_shares
        if share > MAX_ERROR_SHARE
    ]
    reasons = tuple(
        f"{g.arm} {position(g.bucket)}: {g.reason}" for g in groups if g.status != "pass"
    )
    return GateDecision(
        status="incomplete" if broken else _worst(groups),
        margin=rule.margin,
        groups=groups,
        reasons=(*broken, *(reasons or (() if groups else ("no bucket to gate",)))),
    )


def _gated(comparison: Comparison, rule: Rule) -> Gated:
    status, reason = _decided(comparison, rule)
    gates = comparison.n >= rule.min_probes and comparison.low is not None
    return Gated(
        arm=comparison.arm,
        bucket=comparison.bucket,
        gates=gates,
        status=status if gates else "not enough data",
        reason=reason if gates else f"not gated: {comparison.reason}",
    )


def _decided(comparison: Comparison, rule: Rule) -> tuple[Status, str]:
    low = -1.0 if comparison.low is None else comparison.low
    change = f"{100 * (comparison.difference or 0.0):+.1f} points"
    if comparison.verdict == "worse":
        return "regression", f"{change}, p {comparison.adjusted_p:.3f}"
    bound = f"{change}, at worst {100 * low:+.1f}"
    if low > -rule.margin:
        return "pass", bound
    return "not enough data", f"{bound}, beyond the margin of {points(rule.margin)}"


def _worst(groups: Sequence[Gated]) -> Status:
    """Return the worst status of the buckets that gate."""
    statuses = {group.status for group in groups if group.gates}
    for status in ("regression", "not enough data", "pass"):
        if status in statuses:
            return cast(Status, status)
    return "not enough data"
