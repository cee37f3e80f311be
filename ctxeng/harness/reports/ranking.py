"""A retrieval evaluation on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ctxeng.core.text import numbered, printable
from ctxeng.harness.ranking.evaluate import Evaluation
from ctxeng.harness.ranking.recall import OVERALL, Against
from ctxeng.harness.ranking.tuning import TUNED_AT
from ctxeng.harness.reports.terminal import WIDTH


def print_evaluation(found: Evaluation, *, console: Console | None = None) -> None:
    """Print recall by method and category, and where ``hybrid`` is worse than another method."""
    out = console or Console(width=WIDTH, highlight=False, soft_wrap=False)
    weights = sorted(set(found.weights.values()))
    out.print(
        Text(
            f"{numbered(found.probes, 'probe')} ({found.unasked} without evidence were not asked), "
            f"{numbered(found.sessions, 'session')}, {numbered(found.messages, 'message')}, "
            "embedder "
            f"{printable(found.embedder_id)}.\n"
            "recall: mean share of a probe's evidence messages among the first k, %. "
            "mrr: mean 1 / rank of the first of them.\n"
            f"hybrid: weights (semantic/previous/following/reference) tuned at k = {TUNED_AT} on "
            f"the other sessions ({', '.join(map(str, weights))})."
        )
    )
    out.print(_table(found))
    for row in found.against:
        if row.category == OVERALL or row.is_worse:
            out.print(Text(_line(row)))


def _table(found: Evaluation) -> Table:
    ks = list(dict.fromkeys(row.k for row in found.rows))
    table = Table(box=None, padding=(0, 1, 0, 0))
    for name in ("method", "category"):
        table.add_column(name)
    for name in ("n", *(f"recall@{k}" for k in ks), f"mrr@{ks[-1]}"):
        table.add_column(name, justify="right")
    cells = {(row.method, row.category, row.k): row for row in found.rows}
    for method, category in dict.fromkeys((row.method, row.category) for row in found.rows):
        rows = [cells[method, category, k] for k in ks]
        shares = [f"{100 * row.recall:.1f}" for row in rows]
        table.add_row(method, Text(printable(category)), str(rows[0].n), *shares,
                      f"{rows[-1].mrr:.3f}")  # fmt: skip
    return table


def _line(row: Against) -> str:
    bounds = (
        "interval unknown: one session"
        if row.interval is None
        else f"{100 * row.interval.low:+.1f} to {100 * row.interval.high:+.1f}"
    )
    worse = ": worse" if row.is_worse else ""
    return (
        f"{row.method} - {row.other}, {printable(row.category)}, k = {row.k}: "
        f"{100 * row.difference:+.1f} points ({bounds}){worse}"
    )
