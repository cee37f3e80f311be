"""Comparisons, gate and trend on a terminal: at most 100 columns, no colour needed."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ctxeng.core.text import numbered, points
from ctxeng.harness.reports.comparing import Compared
from ctxeng.harness.reports.nightly import Nightly
from ctxeng.harness.reports.sweep import Sweep
from ctxeng.harness.reports.terminal import WIDTH
from ctxeng.harness.reports.trend import Trend
from ctxeng.harness.stats.compare import Comparison, position
from ctxeng.harness.stats.gate import GateDecision


def console() -> Console:
    """Return a console of the house's width."""
    return Console(width=WIDTH, highlight=False, soft_wrap=False)


def print_compared(compared: Compared, out: Console) -> None:
    """Print what changed and a verdict for every arm and position."""
    measure = "Answer" if compared.measure == "answer" else "In-context"
    out.print(Text(f"before  {compared.before}\nafter   {compared.after}"), soft_wrap=True)
    for line in compared.changes:
        out.print(Text(f"changed {line}"), soft_wrap=True)
    for arm, count in compared.unpaired.items():
        if count:
            out.print(
                Text(f"{numbered(count, 'probe')} of {arm} not decided on both sides: left out")
            )
    table = Table(
        title=f"{measure} recall, %, by position; change in points with its 95 % interval; p by "
        "session after Holm",
        title_justify="left",
        width=WIDTH,
        padding=(0, 1, 0, 0),
        box=None,
    )
    table.add_column("arm", overflow="fold", max_width=22)
    for name in ("position", "n", "before", "after", "change", "p", "sees", "verdict"):
        is_text = name in ("position", "verdict")
        table.add_column(name, justify="left" if is_text else "right", no_wrap=name != "verdict")
    for c in compared.comparisons:
        table.add_row(*comparison_cells(c))
    out.print(table)
    out.print(
        Text(
            "sees: the smallest drop these pairs show with 80 % power. Equivalent: within "
            f"{points(compared.rule.margin)}.\nEnough data: {compared.rule.min_probes} "
            "pairs and more, of six sessions."
        )
    )
    if compared.borders:
        out.print(Text(compared.borders))


def comparison_cells(c: Comparison) -> list[Text]:
    """Return the table cells of one comparison."""
    change = "-" if c.difference is None else f"{100 * c.difference:+.0f}"
    if c.low is not None and c.high is not None:
        change += f" {100 * c.low:+.0f}..{100 * c.high:+.0f}"
    values = (
        c.arm,
        position(c.bucket),
        str(c.n),
        _percent(c.before),
        _percent(c.after),
        change,
        "-" if c.adjusted_p is None else f"{c.adjusted_p:.3f}",
        "-" if c.mde is None else _percent(c.mde),
        c.verdict,
    )
    return [Text(value) for value in values]


def print_gate(gate: GateDecision, out: Console) -> None:
    """Print the gate's decision, each bucket that gates, and the reasons."""
    out.print(Text(f"gate: {gate.status} (margin {points(gate.margin)})", style="bold"))
    for group in gate.groups:
        out.print(Text(f"  {group.arm} {position(group.bucket)}: {group.status}, {group.reason}"))
    if not gate.groups or gate.status == "incomplete":
        for reason in gate.reasons:
            out.print(Text(f"  {reason}"), soft_wrap=True)
    for note in gate.notes:
        out.print(Text(f"  {note}"), soft_wrap=True)


def print_nightly(night: Nightly, out: Console) -> None:
    """Print the comparison with the last comparable night, and the gate's decision."""
    for line in night.damaged:
        out.print(Text(f"history: left out {line}"), soft_wrap=True)
    for line in night.passed_over:
        out.print(Text(f"history: {line}"), soft_wrap=True)
    out.print()
    if night.compared is not None:
        print_compared(night.compared, out)
    print_gate(night.gate, out)


def print_front(found: Sweep, out: Console) -> None:
    """Print every arm, the front first, and what these probes cannot separate."""
    front = {point.arm for point in found.front.front}
    rest = sorted((p for p in found.points if p.arm not in front), key=lambda p: -p.recall)
    table = Table(width=WIDTH, padding=(0, 1, 0, 0), box=None)
    table.add_column("arm", overflow="fold")
    for name in ("recall, 95 %", "tokens", "USD"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("")
    for point in (*found.front.front, *rest):
        beaten = found.front.beaten_by.get(point.arm)
        bounds = "" if point.low is None or point.high is None else (
            f" {_percent(point.low)}-{_percent(point.high)}"
        )  # fmt: skip
        table.add_row(
            Text(point.arm),
            f"{_percent(point.recall)}{bounds}",
            f"{point.tokens:,.0f}",
            "unknown" if point.cost_usd is None else f"{point.cost_usd:.4f}",
            Text("front" if beaten is None else f"no better than {beaten}"),
        )
    measure = found.measure.replace("_", "-")
    out.print(
        Text(f"{found.run_id}: {measure} recall against prompt tokens and money for all calls")
    )
    out.print(table)
    for one, other in found.front.inseparable:
        out.print(Text(f"cannot separate {one} from {other} with these probes"), soft_wrap=True)


def print_trend(found: Trend, out: Console) -> None:
    """Print recall by night and position, and what changed between nights."""
    points, measure = found.points, found.measure.replace("_", "-")
    out.print(Text(f"{found.experiment}, {found.arm}: {measure} recall, % and 95 % interval"))
    buckets = list(dict.fromkeys(bucket for point in points for bucket in point.recall))
    table = Table(width=WIDTH, padding=(0, 1, 0, 0), box=None)
    table.add_column("night", overflow="fold")
    for bucket in buckets:
        table.add_column(position(bucket), justify="right", no_wrap=True)
    for point in points:
        cells = [Text(point.shown(bucket)) for bucket in buckets]
        table.add_row(Text(point.started_at[:16].replace("T", " ")), *cells)
    out.print(table)
    for point in points:
        for change in point.changes:
            out.print(Text(f"change point {point.started_at[:16]}: {change}"), soft_wrap=True)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f}"
