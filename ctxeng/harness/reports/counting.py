"""How far token counters are from a reference, by language: on the terminal and as a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ctxeng.core.errors import InputError
from ctxeng.core.messages import Session
from ctxeng.core.protocols import TokenCounter
from ctxeng.core.text import printable
from ctxeng.harness.reports.economics import Grid, markdown_table
from ctxeng.harness.reports.markdown import plain
from ctxeng.harness.reports.terminal import WIDTH
from ctxeng.harness.stats.cluster import t_reach
from ctxeng.tokens.counters import CounterError, errors


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageError:
    """One counter on the sessions of one language.

    Args:
        error_share: of the total; 0.1 means ten per cent over. None where there is no token.
        low, high: its 95 % interval, sessions as units; None for a single session.
    """

    counter: str
    language: str
    sessions: int
    texts: int
    reference_tokens: int
    error_share: float | None
    low: float | None
    high: float | None


def errors_by_language(
    sessions: Iterable[Session], counters: Sequence[TokenCounter], reference: TokenCounter
) -> list[LanguageError]:
    """Return a row for every language, in order of appearance, and counter."""
    found: dict[tuple[str, str], list[CounterError]] = {}
    for session in sessions:
        texts = [message.text for message in session.messages]
        for row in errors({session.language: texts}, counters, reference):
            found.setdefault((row.language, row.counter), []).append(row)
    languages = dict.fromkeys(language for language, _ in found)
    return [_added(found[language, counter.name]) for language in languages for counter in counters]


def _added(rows: Sequence[CounterError]) -> LanguageError:
    truth = np.array([row.reference_tokens for row in rows], dtype=np.float64)
    over = np.array([(row.error_share or 0.0) * row.reference_tokens for row in rows])
    share = float(over.sum() / truth.sum()) if truth.sum() else None
    reach = t_reach(over, truth, confidence=0.95) if share is not None and len(rows) > 1 else None
    return LanguageError(
        counter=rows[0].counter,
        language=rows[0].language,
        sessions=len(rows),
        texts=sum(row.texts for row in rows),
        reference_tokens=int(truth.sum()),
        error_share=share,
        low=None if share is None or reach is None else share - reach,
        high=None if share is None or reach is None else share + reach,
    )


def print_errors(
    rows: Sequence[LanguageError], *, reference: str, console: Console | None = None
) -> None:
    """Print a row for each counter and language: how much it is over (+) or under the reference."""
    out = console or Console(width=WIDTH, highlight=False, soft_wrap=False)
    out.print(Text(printable(_about(reference))))
    grid = _grid(rows)
    table = Table(box=None, padding=(0, 1, 0, 0))
    for place, name in enumerate(grid.header):
        table.add_column(name, justify="right" if place > 1 else "left")
    for line in grid.rows:
        table.add_row(*(Text(printable(cell)) for cell in line))
    out.print(table)


def write_errors(rows: Sequence[LanguageError], path: Path, *, reference: str) -> None:
    """Write the rows as a page of Markdown.

    Raises:
        InputError: the file cannot be written.
    """
    grid = _grid(rows)
    escaped = [[plain(counter), plain(language), *rest] for counter, language, *rest in grid.rows]
    parts = ["# estimators: token counters by language", plain(_about(reference))]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "\n\n".join([*parts, markdown_table(replace(grid, rows=escaped))]) + "\n"
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"the page must be writable, got {path} ({error.strerror or error}). "
            "Name another file with --markdown."
        ) from error


def _about(reference: str) -> str:
    return (
        f"Error of the total against {reference}, itself an estimate of what another model counts: "
        "no current Claude tokenizer is public. Intervals of 95 %, sessions as units."
    )


def _grid(rows: Sequence[LanguageError]) -> Grid:
    header = ["counter", "language", "sessions", "messages", "reference tokens", "error", "95 %"]
    shown = [
        [
            row.counter,
            row.language,
            str(row.sessions),
            f"{row.texts:,}",
            f"{row.reference_tokens:,}",
            "no tokens" if row.error_share is None else f"{_points(row.error_share)} %",
            "–" if row.low is None or row.high is None
            else f"{_points(row.low)} to {_points(row.high)}",
        ]
        for row in rows
    ]  # fmt: skip
    return Grid(title="", header=header, rows=shown)


def _points(share: float) -> str:
    return f"{100 * share:+.1f}"
