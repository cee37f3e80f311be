"""What is left of a fact restated, and how much of a difference is noise: one row for each arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ctxeng.harness.attribution.position import BUCKETS
from ctxeng.harness.results.aggregates import mean_variances, replicate_agreement
from ctxeng.harness.results.database import reading
from ctxeng.harness.results.history import night_of
from ctxeng.harness.results.pairing import ALL, Side, paired_rows
from ctxeng.harness.results.run_folder import RunFolder
from ctxeng.harness.stats.paired import Pairs
from ctxeng.harness.stats.retention import Retention, effective_retention
from ctxeng.harness.stats.variance import (
    Floor,
    MeanVariances,
    VarianceSplit,
    noise_floor,
    split_variance,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionRow:
    """Effective retention of one arm in one position."""

    arm: str
    bucket: str
    retention: Retention

    def record(self) -> dict[str, Any]:
        """Return the row as plain JSON."""
        return {"arm": self.arm, "bucket": self.bucket, **self.retention.record()}


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseRow:
    """The noise of one arm's answers, by role and altogether."""

    arm: str
    split: VarianceSplit
    floor: Floor

    def record(self) -> dict[str, Any]:
        """Return the row as plain JSON."""
        return {"arm": self.arm, "variance": self.split.record(), "floor": self.floor.record()}


def retention_rows(run: RunFolder, arms: Sequence[str]) -> list[RetentionRow]:
    """Return the effective retention of every arm by position.

    Empty where no reader was asked, or the run lacks the controls ``none`` and ``restated``.
    """
    night = night_of(run)
    controls = night.conditions["controls"]
    if "none" not in controls or "restated" not in controls:
        return []
    base = Side(night=night, arm="none")
    room = paired_rows(base, Side(night=night, arm="restated"), "answer").buckets
    found = []
    for arm in arms:
        kept = paired_rows(base, Side(night=night, arm=arm), "answer").buckets
        found += [
            RetentionRow(
                arm=arm,
                bucket=bucket,
                retention=effective_retention(
                    Pairs.by_session(kept[bucket]), Pairs.by_session(room[bucket])
                ),
            )
            for bucket in (ALL, *BUCKETS)
            if bucket in kept and bucket in room and bucket != "none"
        ]
    return found


def noise_rows(run: RunFolder, arms: Sequence[str]) -> list[NoiseRow]:
    """Return the noise of every arm; each value is None with its reason where undefined."""
    with reading(run) as connection:
        return [_noise(connection, arm) for arm in arms]


def _noise(connection: Any, arm: str) -> NoiseRow:
    seen = mean_variances(connection, arm)
    disagreement, recalls = replicate_agreement(connection, arm)
    variances = MeanVariances(
        judges=seen["judges"],
        readers=seen["readers"],
        summarisers=seen["summarisers"],
        replicates=(seen["s"], seen["r"], seen["j"]),
        probes=seen["probes"],
    )
    return NoiseRow(
        arm=arm,
        split=split_variance(variances),
        floor=noise_floor(disagreement=disagreement, recalls=recalls),
    )


def noise_lines(retention: Sequence[RetentionRow], noise: Sequence[NoiseRow]) -> list[str]:
    """Return a line for each arm's retention, and one for its noise where it has replicates."""
    return [*_retention_lines(retention), *_noise_lines(noise)]


def _retention_lines(rows: Sequence[RetentionRow]) -> list[str]:
    """Return what each arm keeps of a fact restated, over all positions."""
    lines = []
    for row in rows:
        if row.bucket == ALL:
            kept = row.retention
            bounds = (
                f", 95 % {_percent(kept.low)} to {_percent(kept.high)}"
                if kept.value is not None
                else f" ({kept.reason})"
            )
            lines.append(f"Retention of {row.arm} against restated: {_percent(kept.value)}{bounds}")
    return lines


def _noise_lines(rows: Sequence[NoiseRow]) -> list[str]:
    """Return the A/A floor and its sources of every arm with replicates."""
    lines = []
    for row in rows:
        if row.floor.discordant_share is None or row.floor.difference_sd is None:
            continue
        parts = {"summariser": row.split.summariser, "reader": row.split.reader,
                 "judge": row.split.judge}  # fmt: skip
        shown = ", ".join(
            f"{role} {'not repeated' if value is None else f'{value:.3f}'}"
            for role, value in parts.items()
        )
        lines.append(
            f"Noise of {row.arm}: two replicates differ on "
            f"{_percent(row.floor.discordant_share)} of probes, "
            f"recall by ±{100 * row.floor.difference_sd:.1f} points; variance {shown}"
        )
    return lines


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"
