"""Pictures for slides: recall by position, where facts were lost, recall against tokens.

Every picture has the same look and says how many probes and which interval. A picture draws what a
summary holds: nothing is counted here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxeng.core.text import numbered
from ctxeng.harness.reports import charts
from ctxeng.harness.reports.recall import ALL, RecallRow
from ctxeng.harness.reports.summary import Summary
from ctxeng.harness.stats.compare import position

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PNG_NAME = "recall_by_position.png"
# Source: Okabe & Ito (2008), Color Universal Design.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
CONTROL = "#737373"
STAGE_COLOURS = {
    "answered": "#009E73", "in the prompt": "#009E73", "never_reached": "#8B929C",
    "lost_in_summary": "#D55E00", "lost_in_rewrite": "#E69F00", "lost_in_distillation": "#CC79A7",
    "not_loaded": "#8C6D31", "gated": "#F0E442", "not_retrieved": "#56B4E9",
    "deduplicated": "#44348B", "over_budget": "#3A3F47", "reader_missed": "#0072B2",
    "cannot be told": "#C9CED6", "other": "#E6E9ED",
}  # fmt: skip
MARKERS = "os^Dv<>P"
STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.edgecolor": "0.5",
    "grid.color": "0.92",
    "figure.constrained_layout.h_pad": 0.1,
    "figure.constrained_layout.w_pad": 0.1,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "svg.fonttype": "none",
    "svg.hashsalt": "ctxeng",
    "text.parse_math": False,
}
NO_METADATA: Mapping[str, Mapping[str, None]] = {".png": {"Software": None}, ".svg": {"Date": None}}


def draw(summary: Summary, name: str, path: Path) -> Path:
    """Write one of the ``PICTURES`` as PNG or SVG, told by the file's name; return the file."""
    import matplotlib

    with matplotlib.rc_context(STYLE):
        figure = PICTURES[name](summary)
        figure.savefig(path, dpi=144, metadata=dict(NO_METADATA[path.suffix]))
    return path


def recall_figure(summary: Summary) -> Figure:
    """Return answer and in-context recall with intervals, by arm and bucket."""
    buckets = [b for b in summary.buckets if b != "none"] or list(summary.buckets)
    measures = [charts.answer_share] if summary.asked else []
    measures.append(charts.presence_share)
    figure = _figure(max(8.0, 2.2 * len(buckets) + 2.5), 1.2 + 3.4 * len(measures))
    panels = figure.subplots(len(measures), 1, squeeze=False, sharex=True)[:, 0]
    for axes, share_of in zip(panels, measures, strict=True):
        _draw_panel(axes, summary, buckets, share_of)
        axes.set_ylabel(f"{_name(share_of)}, %")
    panels[-1].set_xticks(range(len(buckets)), [_label(summary, bucket) for bucket in buckets])
    reference = summary.manifest["reference_arm"]
    _finish(figure, summary, f"Recall by position of the fact under {reference}")
    handles, labels = panels[-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper")
    return figure


def losses_figure(summary: Summary) -> Figure:
    """Return a bar for every arm: cells answered, and lost by stage."""
    rows = [row for row in summary.loss_rows if row.bucket == ALL and row.n]
    figure = _figure(10.0, 1.9 + 0.36 * len(rows))
    axes = figure.subplots()
    for name in charts.stack_names(summary):
        for y, row in enumerate(rows):
            parts = {p.name: p for p in charts.stack(row, is_asked=summary.asked)}
            if part := parts.get(name):
                axes.barh(y, part.width, left=part.x, color=STAGE_COLOURS[name], height=0.72)
        axes.barh(0, 0, color=STAGE_COLOURS[name], label=name.replace("_", " "))
    axes.set_yticks(range(len(rows)), [f"{row.arm}  n = {row.n}" for row in rows])
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.set_xlabel("% of the arm's cells with a presence verdict")
    _finish(figure, summary, "Where facts were lost", note="counts, no interval")
    figure.legend(loc="outside right upper")
    return figure


def tokens_figure(summary: Summary) -> Figure:
    """Return recall with its interval against mean prompt tokens, a point for every arm."""
    figure = _figure(9.0, 5.2)
    axes = figure.subplots()
    share_of = charts.main_share(summary)
    sizes = {row.arm: row.context_tokens for row in summary.activity}
    for index, arm in enumerate((*summary.arms, *(a for a in summary.controls if a == "full"))):
        row = summary.row(arm, ALL)
        if row is not None and (share := share_of(row)) is not None:
            label = f"{arm}  n = {row.n}"
            _draw_arm(axes, [(sizes[arm], share)], label, index, arm in summary.controls)
    axes.set_xlim(left=0)
    axes.set_ylim(-4, 104)
    axes.set_xlabel("mean prompt tokens")
    axes.set_ylabel(f"{_name(share_of)}, %")
    axes.grid()
    _finish(figure, summary, "Recall against prompt tokens")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper")
    return figure


PICTURES: Mapping[str, Callable[[Summary], Figure]] = {
    "recall_by_position": recall_figure,
    "where_lost": losses_figure,
    "recall_by_tokens": tokens_figure,
}
Measure = Callable[[RecallRow | None], charts.Share | None]


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _finish(
    figure: Figure, summary: Summary, title: str, *, note: str = "bars: 95 % interval"
) -> None:
    model = "; offline model" if summary.manifest["is_offline"] else ""
    sessions = numbered(summary.manifest["counts"]["sessions"], "session")
    figure.suptitle(f"{title}\n{sessions}; {note}{model}", fontsize=11)


def _name(measure: Measure) -> str:
    return "answer recall" if measure is charts.answer_share else "in-context recall"


def _draw_panel(axes: Axes, summary: Summary, buckets: list[str], share_of: Measure) -> None:
    names = (*summary.arms, *summary.controls)
    step = 0.84 / max(1, len(names))
    for index, arm in enumerate(names):
        offset = (index + 0.5) * step - 0.42
        shown = [
            (x + offset, share)
            for x, bucket in enumerate(buckets)
            if (share := share_of(summary.row(arm, bucket))) is not None
        ]
        if shown:
            _draw_arm(axes, shown, arm, index, arm in summary.controls)
    for border in range(1, len(buckets)):
        axes.axvline(border - 0.5, color="0.85", linewidth=0.8)
    axes.set_xlim(-0.5, len(buckets) - 0.5)
    axes.set_ylim(-4, 104)
    axes.grid(axis="y")


def _draw_arm(
    axes: Axes,
    shown: list[tuple[float, charts.Share]],
    label: str,
    index: int,
    is_control: bool,
) -> None:
    style: dict[str, Any] = {"markerfacecolor": "white"} if is_control else {}
    axes.errorbar(
        [x for x, _ in shown],
        [100 * share for _, (share, _, _) in shown],
        yerr=[
            [_reach(share, low) for _, (share, low, _) in shown],
            [_reach(share, high) for _, (share, _, high) in shown],
        ],
        fmt=MARKERS[(index + index // len(COLOURS)) % len(MARKERS)],
        markersize=5,
        capsize=2,
        linewidth=1,
        color=CONTROL if is_control else COLOURS[index % len(COLOURS)],
        label=label,
        **style,
    )


def _reach(share: float, bound: float | None) -> float:
    """Return how far an interval reaches, in points; without an interval, nothing is drawn."""
    return 0.0 if bound is None else 100 * abs(bound - share)


def _label(summary: Summary, bucket: str) -> str:
    row = summary.row(summary.manifest["reference_arm"], bucket)
    n, whole = (row.n, row.in_context_n) if row else (0, 0)
    return f"{position(bucket)}\nn = {whole or n}" + (f", {n} decided" if n < whole else "")
