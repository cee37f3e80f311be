"""Advice on a terminal: the answer first, then lengths and costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text

from ctxeng.core.text import numbered
from ctxeng.harness.experiments.advice import CUTTING, Advice
from ctxeng.harness.reports.economics import OFFLINE_NOTICE, Grid, print_grids, shown_saving
from ctxeng.harness.reports.terminal import WIDTH


def print_advice(advice: Advice, *, console: Console | None = None) -> None:
    """Print an advice."""
    out = console or Console(width=WIDTH, highlight=False, soft_wrap=False)
    out.print(Text(f"Would compaction help? {advice.answer[0].upper()}{advice.answer[1:]}."))
    for reason in advice.reasons:
        out.print(Text(reason))
    print_grids(list(_grids(advice)), out)
    if advice.found is not None:
        out.print()
        payers = advice.found.payers
        out.print(
            Text(
                f"{CUTTING} only drops what is old: it is the floor, not an advice. Prices of "
                f"{advice.found.prices_date}: reader {payers.reader}, summariser "
                f"{payers.summariser}, distiller {payers.distiller}. {OFFLINE_NOTICE}"
            )
        )


def record(advice: Advice) -> dict[str, Any]:
    """Return an advice as plain JSON."""
    return asdict(advice)


def _grids(advice: Advice) -> Iterator[Grid]:
    lengths = {"messages": advice.lengths.messages, "tokens": advice.lengths.tokens}
    yield Grid(
        title=f"How long {numbered(advice.sessions, 'session is', 'sessions are')}",
        header=["", "10 %", "median", "90 %", "longest"],
        rows=[[name, *(f"{n:,}" for n in values)] for name, values in lengths.items()],
    )
    if advice.found is None:
        return
    rows = []
    for arm in advice.found.arms:
        best = min(arm.costs, key=lambda cost: cost.usd_per_1000_turns)
        start = "-" if best.pays_from_turn is None else f"{best.pays_from_turn:.0f}"
        rows.append(
            [
                arm.arm,
                f"{arm.request_tokens[0]:,.0f}",
                f"{arm.request_tokens[1]:,.0f}",
                f"{best.usd_per_1000_turns:.2f}",
                best.caching.label,
                shown_saving(arm.cost()),
                start,
                f"{best.paying_sessions} of {arm.sessions}",
            ]
        )
    yield Grid(
        title="What each strategy costs, with its cheapest caching",
        header=["strategy", "tokens in, median", "95 %", "$/1,000 turns", "caching",
                "saved, uncached", "pays from turn", "in sessions"],
        rows=rows,
    )  # fmt: skip
