"""A night as Markdown for a pull request or a job summary: at most 60 lines, the worst first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ctxeng.core.text import numbered, points, words
from ctxeng.harness.reports.comparing import Compared
from ctxeng.harness.reports.recall import ALL, RecallRow
from ctxeng.harness.reports.summary import Summary
from ctxeng.harness.stats.compare import Comparison, position

if TYPE_CHECKING:
    from ctxeng.harness.reports.nightly import Nightly

MAX_LINES = 60
_ORDER = ("worse", "not enough data", "no difference shown", "equivalent within margin", "better")
_ACTIVE = re.compile(r"([\\`*_{}\[\]()<>#+!|~@&$])")


def write_markdown(night: Nightly, path: Path) -> Path:
    """Write the night as Markdown and return the file."""
    path.write_text("\n".join(markdown_lines(night)) + "\n", encoding="utf-8")
    return path


def markdown_lines(night: Nightly) -> list[str]:
    """Return the report's lines: decision, recall by position, changes, losses, cost, notices."""
    summary = night.summary
    lines = [*_quoted(summary.notices), *_headline(night), ""]
    if night.compared is not None:
        lines += _comparison_table(night.compared)
    else:
        lines += _recall_table(summary)
    lines += ["", *_arms_table(summary), ""]
    lines += _changes(night)
    lines += _losses(summary)
    lines += _calls(summary)
    if len(lines) <= MAX_LINES:
        return lines
    return [*lines[: MAX_LINES - 1], f"… {len(lines) - MAX_LINES + 1} more lines in report.html"]


def _quoted(notices: Sequence[str]) -> list[str]:
    return [f"> {plain(notice)}" for notice in notices] + ([""] if notices else [])


def _headline(night: Nightly) -> list[str]:
    manifest = night.summary.manifest
    counts, models = manifest["counts"], manifest["experiment"]["models"]
    roles = ", ".join(f"{role} {plain(models[role])}" for role in ("reader", "summariser", "judge"))
    lines = [
        f"### {plain(manifest['experiment']['name'])}: {night.gate.status}",
        "",
        f"{plain(night.summary.run_id)}: "
        f"{numbered(counts['sessions'], 'session')}, {numbered(counts['probes'], 'probe')}, "
        f"{numbered(counts['cells'], 'cell')}; {roles}. "
        f"Gate: at most {points(night.gate.margin)} lost.",
    ]
    lines += [f"- {plain(reason)}" for reason in night.gate.reasons[:6]]
    lines += [f"- {plain(note)}" for note in night.gate.notes]
    lines += [f"- {plain(reason)}" for reason in (*night.passed_over, *night.damaged)[:3]]
    return lines


def _comparison_table(compared: Compared) -> list[str]:
    what = "answer" if compared.measure == "answer" else "in-context"
    lines = [
        f"Recall ({what}) by position, % beside {plain(compared.before)}:",
        "",
        "| arm | position | n | before | now | change, 95 % | sees | verdict |",
        "|---|---|--:|--:|--:|--:|--:|---|",
    ]
    lines += [
        f"| {plain(c.arm)} | {position(c.bucket)} | {c.n} | {percent(c.before)} "
        f"| {percent(c.after)} | {shown_change(c)} | {sees(c)} | {shown_verdict(c)} |"
        for c in worst_first(compared.comparisons)[:20]
    ]
    return [*lines, "", plain(compared.borders)] if compared.borders else lines


def worst_first(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return comparisons by verdict, then by how much was lost, ``all`` before its parts."""
    return sorted(
        comparisons,
        key=lambda c: (_ORDER.index(c.verdict), c.difference or 0.0, c.after or 0.0, c.bucket),
    )


def _recall_table(summary: Summary) -> list[str]:
    reference = summary.manifest["reference_arm"]
    what = "answer" if summary.asked else "in-context"
    rows = [row for b in (ALL, *summary.buckets) if (row := summary.row(reference, b))]
    lines = [
        f"Recall ({what}) by position under {plain(reference)}, %:",
        "",
        "| position | n | recall, 95 % | sees |",
        "|---|--:|--:|--:|",
    ]
    shares = {row.bucket: _share(row, asked=summary.asked)[0] for row in rows}
    return lines + [
        f"| {position(row.bucket)} | {row.n} | {interval(*_share(row, asked=summary.asked))} "
        f"| {'–' if row.mde is None else f'−{percent(row.mde)}'} |"
        for row in sorted(rows, key=lambda row: (shares[row.bucket] is None, shares[row.bucket]))
    ]


def _arms_table(summary: Summary) -> list[str]:
    """Return recall and prompt size of every arm, the worst first."""
    rows = [row for arm in summary.arms if (row := summary.row(arm, ALL)) is not None]
    tokens = {row.arm: row.context_tokens for row in summary.activity}
    idle = {row.arm for row in summary.activity if row.is_idle}
    lines = ["| arm | recall, 95 % | in context, 95 % | prompt tokens |", "|---|--:|--:|--:|"]
    return lines + [
        f"| {plain(row.arm)}{' (idle)' if row.arm in idle else ''} "
        f"| {interval(row.recall, row.low, row.high)} "
        f"| {interval(row.in_context, row.in_context_low, row.in_context_high)} "
        f"| {tokens.get(row.arm, 0):,.0f} |"
        for row in sorted(rows, key=lambda row: (row.recall or 0.0, row.in_context or 0.0))[:12]
    ]


def _changes(night: Nightly) -> list[str]:
    changes = night.compared.changes if night.compared else ()
    if not changes:
        return []
    more = f" and {len(changes) - 8} more" if len(changes) > 8 else ""
    return [f"Changed: {'; '.join(map(plain, changes[:8]))}{more}.", ""]


def _losses(summary: Summary) -> list[str]:
    reference = summary.manifest["reference_arm"]
    rows = [r for r in summary.loss_rows if r.arm == reference and r.bucket == ALL and r.stages]
    if not rows:
        return []
    listed = ", ".join(f"{count} {words(stage)}" for stage, count in rows[0].stages.items())
    return [f"Lost under {plain(reference)}: {plain(listed)}.", ""]


def _calls(summary: Summary) -> list[str]:
    calls = sum(cost.calls for cost in summary.costs)
    made = sum(cost.made for cost in summary.costs)
    tokens = sum(cost.input_tokens + cost.output_tokens for cost in summary.costs)
    known = [cost.cost_usd for cost in summary.costs if cost.cost_usd is not None]
    money = f"{sum(known):.4f} USD" if len(known) == len(summary.costs) else "price unknown in part"
    outcomes = summary.manifest["counts"]["outcomes"]
    listed = ", ".join(f"{count} {name}" for name, count in outcomes.items())
    return [
        f"{numbered(calls, 'call')} ({made} made now), {numbered(tokens, 'token')}, {money}. "
        f"Outcomes: {listed}."
    ]


def _share(row: RecallRow, *, asked: bool) -> tuple[float | None, float | None, float | None]:
    if asked:
        return row.recall, row.low, row.high
    return row.in_context, row.in_context_low, row.in_context_high


def interval(share: float | None, low: float | None, high: float | None) -> str:
    """Return ``62 48–75``: a share and its interval in per cent, ``–`` where undefined."""
    if share is None:
        return "–"
    return percent(share) + (f" {percent(low)}–{percent(high)}" if low is not None else "")


def shown_change(c: Comparison) -> str:
    """Return a change in points with its interval, ``–`` where undefined."""
    if c.difference is None:
        return "–"
    if c.low is None or c.high is None:
        return f"{100 * c.difference:+.0f}"
    return f"{100 * c.difference:+.0f} {100 * c.low:+.0f}…{100 * c.high:+.0f}"


def sees(c: Comparison) -> str:
    """Return the smallest drop that a comparison could show."""
    return "nothing" if c.mde is None else f"−{percent(c.mde)}"


def shown_verdict(c: Comparison) -> str:
    """Return a verdict with the reason where there is none."""
    return f"{c.verdict} ({c.reason})" if c.reason else c.verdict


def percent(share: float | None) -> str:
    """Return a share as a whole per cent without the sign, ``–`` where undefined."""
    return "–" if share is None else f"{share * 100:.0f}"


def plain(text: object) -> str:
    """Return text that is only text in Markdown, on one line."""
    line = "".join(c if c.isprintable() else "\ufffd" for c in str(text))
    return _ACTIVE.sub(r"\\\1", line)
