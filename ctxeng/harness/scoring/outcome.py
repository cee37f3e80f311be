"""One outcome for one cell, from the literal verdict and, where it was asked, the judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ctxeng.harness.probes.model import Probe
from ctxeng.harness.scoring.judge import JudgeVerdict
from ctxeng.harness.scoring.literal import LiteralVerdict

Outcome = Literal[
    "recalled", "missed", "abstained", "stale", "fabricated", "refused", "undecided", "error",
    "skipped",
]  # fmt: skip
DECIDED: tuple[Outcome, ...] = ("recalled", "missed", "abstained", "stale", "fabricated")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """An outcome, and who decided it (None: nobody could)."""

    outcome: Outcome
    judged_by: Literal["literal", "judge"] | None


def outcome_of(probe: Probe, literal: LiteralVerdict, judge: JudgeVerdict | None) -> Decision:
    """Return the outcome. The judge decides only what the literal rules left open.

    For an answerable probe an abstention is ``abstained``; for an absent fact it is ``recalled``,
    and any assertion is ``fabricated``.
    """
    if literal.verdict != "ambiguous":
        return Decision(outcome=_literal(probe, literal), judged_by="literal")
    if judge is None or judge.verdict == "undecided":
        return Decision(outcome="undecided", judged_by=None)
    return Decision(outcome=_judged(probe, literal, judge), judged_by="judge")


def is_right(outcome: Outcome) -> bool | None:
    """Return whether an outcome counts as recalled; None where nothing was decided."""
    return outcome == "recalled" if outcome in DECIDED else None


def _literal(probe: Probe, literal: LiteralVerdict) -> Outcome:
    if literal.verdict == "pass":
        return "recalled"
    if not probe.answerable:
        return "missed" if literal.rule == "empty_answer" else "fabricated"
    if literal.abstained:
        return "abstained"
    return "stale" if literal.stale else "missed"


def _judged(probe: Probe, literal: LiteralVerdict, judge: JudgeVerdict) -> Outcome:
    if judge.verdict == "abstained":
        return "recalled" if not probe.answerable else "abstained"
    if judge.verdict == "correct":
        return "recalled"
    if not probe.answerable:
        return "fabricated"
    return "stale" if literal.stale else "missed"
