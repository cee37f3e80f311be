"""Recall by position as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ctxeng.harness.reports.recall import RecallRow
from ctxeng.harness.reports.summary import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PNG_NAME = "recall_by_position.png"
Measure = Literal["answer", "in-context"]
# Source: Okabe & Ito (2008), Color Universal Design.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
MARKERS = "os^Dv<>P"


def plot_recall(summary: Summary, path: Path) -> Path:
    """Draw answer and in-context recall with intervals, by arm and bucket; return the file."""
    from matplotlib.figure import Figure

    buckets = [b for b in summary.buckets if b != "none"] or list(summary.buckets)
    measures: list[Measure] = ["answer", "in-context"] if summary.asked else ["in-context"]
    width = max(8.0, 2.2 * len(buckets) + 2.5)
    figure = Figure(figsize=(width, 1.2 + 3.4 * len(measures)), dpi=120, layout="constrained")
    panels = figure.subplots(len(measures), 1, squeeze=False, sharex=True)[:, 0]
    for axes, measure in zip(panels, measures, strict=True):
        _draw_panel(axes, summary, buckets, measure)
    panels[-1].set_xticks(range(len(buckets)), [_label(summary, bucket) for bucket in buckets])
    note = " (offline model)" if summary.manifest["is_offline"] else ""
    figure.suptitle(
        f"Recall by position of the fact under {summary.manifest['reference_arm']}{note}",
        fontsize=11,
    )
    handles, labels = panels[-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", fontsize=8, frameon=False)
    figure.savefig(path, metadata={"Software": None})
    return path


def _draw_panel(axes: Axes, summary: Summary, buckets: list[str], measure: Measure) -> None:
    names = (*summary.arms, *summary.controls)
    step = 0.84 / max(1, len(names))
    for index, arm in enumerate(names):
        offset = (index + 0.5) * step - 0.42
        shown = [
            (x + offset, value)
            for x, bucket in enumerate(buckets)
            if (value := _value(summary.row(arm, bucket), measure)) is not None
        ]
        if shown:
            _draw_arm(axes, shown, arm, index, is_control=arm in summary.controls)
    for border in range(1, len(buckets)):
        axes.axvline(border - 0.5, color="0.85", linewidth=0.8)
    axes.set_xlim(-0.5, len(buckets) - 0.5)
    axes.set_ylim(-4, 104)
    axes.set_ylabel(f"{measure} recall, %")
    axes.grid(axis="y", color="0.92")
    axes.set_axisbelow(True)


def _draw_arm(
    axes: Axes,
    shown: list[tuple[float, tuple[float, float, float]]],
    arm: str,
    index: int,
    *,
    is_control: bool,
) -> None:
    colour = "0.45" if is_control else COLOURS[index % len(COLOURS)]
    style: dict[str, Any] = {"markerfacecolor": "white"} if is_control else {}
    axes.errorbar(
        [x for x, _ in shown],
        [100 * share for _, (share, _, _) in shown],
        yerr=[
            [100 * max(0.0, share - low) for _, (share, low, _) in shown],
            [100 * max(0.0, high - share) for _, (share, _, high) in shown],
        ],
        fmt=MARKERS[index % len(MARKERS)],
        markersize=5,
        capsize=2,
        linewidth=1,
        color=colour,
        label=arm.replace("$", r"\$"),
        **style,
    )


def _value(row: RecallRow | None, measure: Measure) -> tuple[float, float, float] | None:
    if row is None:
        return None
    share, low, high = (
        (row.recall, row.low, row.high)
        if measure == "answer"
        else (row.in_context, row.in_context_low, row.in_context_high)
    )
    if share is None:
        return None
    return share, share if low is None else low, share if high is None else high


def _label(summary: Summary, bucket: str) -> str:
    row = summary.row(summary.manifest["reference_arm"], bucket)
    return f"{bucket}\nn = {row.n if row else 0}"
