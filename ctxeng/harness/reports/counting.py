"""Errors of token counters on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ctxeng.core.text import printable
from ctxeng.harness.reports.terminal import WIDTH
from ctxeng.tokens.counters import CounterError


def print_errors(
    rows: Sequence[CounterError], *, reference: str, console: Console | None = None
) -> None:
    """Print a row for each counter and language: how much it is over (+) or under the reference."""
    out = console or Console(width=WIDTH, highlight=False, soft_wrap=False)
    out.print(
        Text(
            f"Error of the total against {printable(reference)}, itself an estimate of what "
            "another model counts: no current Claude tokenizer is public."
        )
    )
    table = Table(box=None, padding=(0, 1, 0, 0))
    for name in ("counter", "language"):
        table.add_column(name)
    for name in ("messages", "reference tokens", "error"):
        table.add_column(name, justify="right")
    for row in rows:
        error = "no tokens" if row.error_share is None else f"{100 * row.error_share:+.1f} %"
        table.add_row(
            row.counter, Text(printable(row.language)), str(row.texts), f"{row.reference_tokens:,}",
            error,
        )  # fmt: skip
    out.print(table)
