"""One night: what it measured, beside the last comparable one, with the gate's decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ctxeng.core.errors import InputError
from ctxeng.harness.reports.beside import Beside
from ctxeng.harness.reports.comparing import (
    Compared,
    common_arms,
    compare_nights,
    gate_of,
    gate_rule,
    gated_arms,
    gated_buckets,
    in_context_falls,
)
from ctxeng.harness.reports.junit import write_junit
from ctxeng.harness.reports.markdown import write_markdown
from ctxeng.harness.reports.summary import Summary
from ctxeng.harness.reports.trend import trend_of
from ctxeng.harness.reports.write import write_report
from ctxeng.harness.results.conditions import changed_arms, error_share
from ctxeng.harness.results.history import (
    Night,
    append_night,
    last_comparable,
    night_of,
    read_history,
)
from ctxeng.harness.results.pairing import Measure
from ctxeng.harness.results.run_folder import RunFolder
from ctxeng.harness.stats.gate import MAX_ERROR_SHARE, GateDecision


@dataclass(frozen=True, slots=True, kw_only=True)
class Nightly:
    """A run beside the last comparable one.

    Args:
        compared: None where no earlier night is comparable.
        passed_over: newer nights that are not comparable, and what differs.
        damaged: files of the history that could not be read.
    """

    summary: Summary
    compared: Compared | None
    gate: GateDecision
    passed_over: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()

    def record(self) -> dict[str, Any]:
        """Return the night as plain JSON."""
        return {
            "run_id": self.summary.run_id,
            "gate": self.gate.record(),
            "compared": self.compared.record() if self.compared else None,
            "passed_over": list(self.passed_over),
            "damaged": list(self.damaged),
            "recall": self.summary.records(),
            "noise": [row.record() for row in self.summary.noise],
        }


def finish_night(
    run: RunFolder, summary: Summary, history: Path, *, margin: float | None = None
) -> tuple[Nightly, dict[str, Path]]:
    """Append a run to the history, compare it, write its files; return it and the files.

    Raises:
        InputError: the history or the run folder cannot be written.
    """
    tonight, found = night_of(run), read_history(history)
    experiment = tonight.conditions["experiment"]
    earlier = last_comparable(found.of(experiment), tonight)
    added = append_night(history, run)
    compared, gate = against(tonight, earlier.night, margin=margin)
    night = Nightly(summary=summary, compared=compared, gate=gate,
                    passed_over=earlier.passed_over, damaged=found.damaged)  # fmt: skip
    nights = [*(n for n in found.of(experiment) if n.run_id != tonight.run_id), tonight]
    files = write_report(run, summary, beside=Beside(previous=compared, trend=trend_of(nights)))
    files["markdown"] = write_markdown(night, run.path / "report.md")
    files["junit"] = write_junit(night, run.path / "junit.xml")
    return night, {**files, "history": added}


def gate_run(
    tonight: Night, base: Night, *, margin: float | None, arms: Sequence[str] = ()
) -> tuple[Compared, GateDecision]:
    """Return a run compared with a base by its own experiment's gate, and the decision.

    Args:
        arms: gated instead of those the experiment names.

    Raises:
        InputError: the two are not comparable, or a gated arm is not in both.
    """
    arms, gate = arms or gated_arms(tonight), tonight.conditions.get("gate", {})
    missing = [arm for arm in arms if arm not in common_arms(base, tonight)]
    if missing:
        raise InputError(
            f"a gated arm must be in both runs, got {', '.join(missing)} "
            f"({base.run_id}, {tonight.run_id}). Name other arms under [gate], or with --arm."
        )
    measure: Measure | None = "in_context" if gate.get("measure") == "in_context" else None
    compared = compare_nights(
        base, tonight, arms=arms, rule=gate_rule(tonight, margin), measure=measure
    )
    changed = changed_arms(base.conditions, tonight.conditions)
    falls = in_context_falls(base, tonight, arms, rule=compared.rule)
    decision = replace(
        gate_of(compared, buckets=gated_buckets(tonight)),
        changed_not_gated=tuple(arm for arm in changed if arm not in arms),
        in_context_falls=tuple(falls) if compared.measure == "answer" else (),
    )
    return compared, decision


def against(
    tonight: Night, base: Night | None, *, margin: float | None, arms: Sequence[str] = ()
) -> tuple[Compared | None, GateDecision]:
    """Return a run beside its base, where there is one, and the gate's decision."""
    if base is None:
        return None, _nothing_to_compare(tonight, margin)
    return gate_run(tonight, base, margin=margin, arms=arms)


def _nothing_to_compare(tonight: Night, margin: float | None) -> GateDecision:
    """Return the decision of a first night: not enough data, or incomplete by itself."""
    share = error_share(tonight.conditions)
    is_broken = share > MAX_ERROR_SHARE
    return GateDecision(
        status="incomplete" if is_broken else "not enough data",
        margin=gate_rule(tonight, margin).margin,
        groups=(),
        reasons=(f"{share:.1%} of the cells are errors",)
        if is_broken
        else ("no comparable earlier night in the history",),
    )
