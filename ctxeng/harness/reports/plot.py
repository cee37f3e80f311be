"""Recall by position as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ctxeng.harness.reports.recall import RecallRow
from ctxeng.harness.reports.summary import Summary

PNG_NAME = "recall_by_position.png"


def plot_recall(summary: Summary, path: Path) -> Path:
    """Draw recall with intervals for every arm, bucket by bucket, and return the file written."""
    from matplotlib.figure import Figure

    buckets = [b for b in summary.buckets if b != "none"] or list(summary.buckets)
    names = (*summary.arms, *summary.controls)
    figure = Figure(
        figsize=(max(8.0, 1.9 * len(buckets) + 3.5), 4.8), dpi=120, layout="constrained"
    )
    axes = figure.add_subplot()
    step = 0.8 / max(1, len(names))
    for index, arm in enumerate(names):
        _draw_arm(axes, summary, arm, buckets, offset=(index + 0.5) * step - 0.4, index=index)
    axes.set_xticks(range(len(buckets)), [_label(summary, bucket) for bucket in buckets])
    axes.set_xlim(-0.5, len(buckets) - 0.5)
    for border in range(1, len(buckets)):
        axes.axvline(border - 0.5, color="0.85", linewidth=0.8)
    axes.set_ylim(-3, 103)
    axes.set_ylabel(("answer recall" if summary.asked else "in-context recall") + ", %")
    axes.set_title(f"Recall by position of the fact under {summary.manifest['reference_arm']}"
                   + (" (offline model)" if summary.manifest["is_offline"] else ""),
                   fontsize=10)  # fmt: skip
    axes.grid(axis="y", color="0.9")
    axes.set_axisbelow(True)
    figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    figure.savefig(path, metadata={"Software": None})
    return path


def _draw_arm(
    axes: Any, summary: Summary, arm: str, buckets: list[str], *, offset: float, index: int
) -> None:
    found = [(x, summary.row(arm, bucket)) for x, bucket in enumerate(buckets)]
    shown = [(x + offset, _value(row)) for x, row in found if row is not None]
    points = [(x, value) for x, value in shown if value is not None]
    if not points:
        return
    positions = [x for x, _ in points]
    shares = [100 * value[0] for _, value in points]
    below = [100 * max(0.0, value[0] - value[1]) for _, value in points]
    above = [100 * max(0.0, value[2] - value[0]) for _, value in points]
    axes.errorbar(
        positions,
        shares,
        yerr=[below, above],
        fmt="os^Dv<>ph*"[index % 10],
        markersize=5,
        capsize=2,
        linewidth=1,
        color=f"C{index % 10}" if arm in summary.arms else "0.55",
        label=arm.replace("$", r"\$"),
    )


def _value(row: RecallRow) -> tuple[float, float, float] | None:
    share = row.recall if row.recall is not None else row.in_context
    if share is None or row.low is None or row.high is None:
        return None
    return share, row.low, row.high


def _label(summary: Summary, bucket: str) -> str:
    row = summary.row(summary.manifest["reference_arm"], bucket)
    return f"{bucket}\nn = {row.n if row else 0}"
