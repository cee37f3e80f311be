"""What a run prints: at most 100 columns, no transcript text, no colour needed to read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ctxeng.core.text import numbered
from ctxeng.harness.reports.drift import SHOWN_ROUNDS
from ctxeng.harness.reports.losses import LossRow, stages_of
from ctxeng.harness.reports.noise import noise_lines
from ctxeng.harness.reports.recall import ALL, RecallRow
from ctxeng.harness.reports.summary import Summary
from ctxeng.harness.stats.compare import position

WIDTH = 100
LEGEND = """\
recent, edge: raw in the prompt, wholly or partly. interior, boundary: summarised, in one episode or
across two. absent: nobody said it. rounds: compactions a fact went through; outside: not in the raw
recent part; differs: prompts unlike the whole history."""
Value = Callable[[RecallRow], tuple[float | None, float | None, float | None]]


def print_run(
    summary: Summary, paths: Mapping[str, str], *, console: Console | None = None
) -> None:
    """Print a finished run: what was run, recall by position, activity, files."""
    out = console or Console(width=WIDTH, highlight=False, soft_wrap=False)
    print_summary(summary, out)
    print_paths(paths, out)


def print_paths(paths: Mapping[str, str], out: Console) -> None:
    """Print the files of a run, each on a line of its own."""
    out.print()
    for name, path in paths.items():
        out.print(Text(f"{name:10} {path}"), soft_wrap=True)


def print_summary(summary: Summary, out: Console) -> None:
    """Print the first screen of a report."""
    counts, models = summary.manifest["counts"], summary.manifest["experiment"]["models"]
    for notice in summary.notices:
        out.print(Text(notice, style="bold"))
    out.print(
        Text(
            f"{summary.run_id}: {numbered(counts['sessions'], 'session')}, "
            f"{numbered(counts['messages'], 'message')}, {numbered(counts['probes'], 'probe')}, "
            f"{numbered(counts['cells'], 'cell')}; reader {models['reader']}, "
            f"summariser {models['summariser']}; {counts['calls_made']} of {counts['calls']} "
            "calls made now."
        )
    )
    if summary.asked:
        out.print(_recall_table(summary, "Answer recall, % and 95 % interval", _answers))
        if summary.n_line:
            out.print(Text(summary.n_line))
    out.print(_recall_table(summary, "In-context recall, % and 95 % interval", _presence))
    if summary.is_paraphrased:
        out.print(_recall_table(summary, "Evidence messages raw in the prompt, %", _evidence))
    out.print(Text(LEGEND))
    out.print(_activity_table(summary))
    out.print(_used_table(summary))
    out.print(_loss_table(summary))
    if summary.drift:
        out.print(_drift_table(summary))
    for line in noise_lines(summary.retention, summary.noise):
        out.print(Text(line), soft_wrap=True)


def _answers(row: RecallRow) -> tuple[float | None, float | None, float | None]:
    return row.recall, row.low, row.high


def _presence(row: RecallRow) -> tuple[float | None, float | None, float | None]:
    return row.in_context, row.in_context_low, row.in_context_high


def _evidence(row: RecallRow) -> tuple[float | None, float | None, float | None]:
    return row.evidence, None, None


def _recall_table(summary: Summary, title: str, value: Value) -> Table:
    reference = summary.manifest["reference_arm"]
    count = "n" if value is _answers else "in_context_n"
    table = Table(
        title=f"{title}, by position under {reference}",
        title_justify="left",
        width=WIDTH,
        padding=(0, 1, 0, 0),
        box=None,
    )
    table.add_column("arm", overflow="fold")
    shown = (ALL, *summary.buckets)
    for bucket in shown:
        n = getattr(summary.row(reference, bucket), count, 0)
        table.add_column(f"{position(bucket)}\nn={n}", justify="right", no_wrap=True)
    for arm in (*summary.arms, *summary.controls):
        cells = [shown_share(summary.row(arm, bucket), value) for bucket in shown]
        table.add_row(Text(arm), *cells, end_section=arm == summary.arms[-1])
    return table


def shown_share(row: RecallRow | None, value: Value) -> str:
    """Return ``62 48-75``: the share and its interval in per cent, ``-`` where undefined."""
    share, low, high = value(row) if row is not None else (None, None, None)
    if share is None:
        return "-"
    bounds = f" {low * 100:.0f}-{high * 100:.0f}" if low is not None and high is not None else ""
    return f"{share * 100:.0f}{bounds}"


def _activity_table(summary: Summary) -> Table:
    table = Table(
        title="What each arm did", title_justify="left", width=WIDTH, padding=(0, 1, 0, 0), box=None
    )
    for name in ("arm", "artifacts", "rounds", "outside", "differs", "tokens", "of full"):
        table.add_column(name, justify="left" if name in ("arm", "artifacts") else "right")
    for row in summary.activity:
        written = ", ".join(f"{n} {kind}" for kind, n in row.artifacts.items()) or "none"
        share = row.context_tokens / row.full_tokens if row.full_tokens else None
        table.add_row(
            Text(row.arm + (" (idle)" if row.is_idle else "")),
            written,
            f"{row.rounds:.1f}" if row.rounds is not None else "-",
            percent(row.outside_share),
            percent(row.differs_share),
            f"{row.context_tokens:,.0f}",
            percent(share),
        )
    return table


_STAGE_LABELS = {
    "never_reached": "never\nreached",
    "lost_in_summary": "in a\nsummary",
    "lost_in_rewrite": "in a\nrewrite",
    "lost_in_distillation": "into\nmemory",
    "not_loaded": "not\nloaded",
    "gated": "gated",
    "not_retrieved": "not\nfound",
    "deduplicated": "as a\ncopy",
    "over_budget": "over\nbudget",
    "reader_missed": "by the\nreader",
}
_USED_LABELS = ("in,\nanswered", "in,\nmissed", "out,\nmissed", "out,\nanswered", "not\ndecided")
_PRESENT_LABELS = ("in the\nprompt", "not in\nthe prompt")


def _used_table(summary: Summary) -> Table:
    """Return survived x used, every cell in one column: every arm, and each position of an arm."""
    table = _cells_table("Facts in or out of the prompt, and answered or missed, cells")
    for label in ("n", *(_USED_LABELS if summary.asked else _PRESENT_LABELS)):
        table.add_column(label, justify="right")
    for row in _shown_losses(summary):
        used = (row.in_answered, row.in_missed, row.out_missed, row.out_answered, row.undecided)
        counts = used if summary.asked else (row.present, row.n - row.present)
        table.add_row(_loss_name(row), str(row.n), *map(str, counts))
    return table


def _loss_table(summary: Summary) -> Table:
    """Return the loss stages, every cell in one column; positions that lost nothing left out."""
    table = _cells_table("Where facts were lost, cells")
    shown = [row for row in _shown_losses(summary) if row.bucket == ALL or row.kept < row.n]
    stages = stages_of(shown)
    has_untold = any(row.untold for row in shown)
    for label in ("n", "not\nlost", *(_STAGE_LABELS[stage] for stage in stages)):
        table.add_column(label, justify="right")
    if has_untold:
        table.add_column("not to\nbe told", justify="right")
    for row in shown:
        cells = [str(row.n), str(row.kept), *(_count(row.stages.get(s)) for s in stages)]
        table.add_row(_loss_name(row), *cells, *([_count(row.untold)] if has_untold else []))
    return table


def _cells_table(title: str) -> Table:
    table = Table(title=title, title_justify="left", width=WIDTH, padding=(0, 1, 0, 0), box=None)
    table.add_column("arm", overflow="fold")
    return table


def _shown_losses(summary: Summary) -> list[LossRow]:
    return [row for row in summary.loss_rows if row.bucket == ALL or row.arm in summary.arms]


def _loss_name(row: LossRow) -> Text:
    return Text(row.arm if row.bucket == ALL else f"  {position(row.bucket)}")


def _drift_table(summary: Summary) -> Table:
    """Return how facts fade over rewrites, and what the artifacts say that nobody said."""
    table = Table(
        title="Drift: % of facts kept through that many writings; values that no message has",
        title_justify="left",
        width=WIDTH,
        padding=(0, 1, 0, 0),
        box=None,
    )
    table.add_column("arm", overflow="fold")
    table.add_column("artifact")
    for number in SHOWN_ROUNDS:
        table.add_column(str(number), justify="right")
    for label in ("dropped", "other language", "invented"):
        table.add_column(label, justify="right")
    for row in summary.drift:
        table.add_row(
            Text(row.arm),
            row.kind,
            *(percent(row.kept_after(number)) for number in SHOWN_ROUNDS),
            f"{row.dropped} of {row.at_risk}" if row.curve else "-",
            f"{row.other_language} of {row.artifacts}",
            f"{row.invented} of {row.values}",
        )
    return table


def _count(number: int | None) -> str:
    return str(number) if number else ""


def percent(share: float | None) -> str:
    """Return a share as a whole per cent, ``-`` where undefined."""
    return "-" if share is None else f"{share:.0%}"
