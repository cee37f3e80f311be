"""A forecast on the terminal: what each arm would ask, of whom, and what it would cost."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ctxeng.core.text import numbered, printable
from ctxeng.harness.experiments.forecast import Forecast, RoleForecast
from ctxeng.harness.reports.economics import LONGEST_NAME
from ctxeng.harness.reports.terminal import WIDTH
from ctxeng.models.prices import price_table


def print_forecast(told: Forecast, *, console: Console | None = None) -> None:
    """Print a forecast: cells, calls, tokens and money by arm and role, and what stays open."""
    out = console or Console(width=WIDTH, highlight=False, soft_wrap=False)
    cells = sum(told.cells.values())
    out.print(
        Text(
            f"{told.name}: {numbered(told.sessions, 'session')}, "
            f"{numbered(told.messages, 'message')}, {numbered(told.probes, 'probe')}, "
            f"{numbered(len(told.cells), 'arm')}, {numbered(cells, 'cell')}. Nothing was sent."
        )
    )
    out.print(Text(f"Models: {', '.join(_models(told))}"))
    out.print(_table(told))
    total = money(told.cost_usd)
    most = told.calls_at_most
    bound = f" (at most {most:,}, by what the answers are)" if most > told.calls() else ""
    out.print(Text(f"\n{numbered(told.calls(), 'call')} to make{bound}, {total}. {price_line()}"))
    for note in told.notes:
        out.print(Text(printable(note)))


def _models(told: Forecast) -> list[str]:
    return list(dict.fromkeys(f"{row.role} {printable(row.model)}" for row in told.roles))


def money(cost_usd: float | None) -> str:
    """Return an amount, with as many decimals as it needs; ``unknown`` for None."""
    if cost_usd is None:
        return "price unknown"
    if cost_usd == 0:
        return "0 USD"
    return f"{cost_usd:,.2f} USD" if cost_usd >= 1 else f"{cost_usd:.4f} USD"


def price_line() -> str:
    """Return where prices come from, and when."""
    table = price_table()
    return f"Prices of {table['date']} ({table['source'].split(',')[0]})."


def _table(told: Forecast) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), width=WIDTH)
    for name in ("arm", "cells", "role", "asked", "in ledger", "repeated", "to make",
                 "tokens in", "out", "USD"):  # fmt: skip
        is_word = name in ("arm", "role")
        table.add_column(name, justify="left" if is_word else "right", no_wrap=not is_word,
                         overflow="fold")  # fmt: skip
    for arm in dict.fromkeys([*told.cells, *(row.arm for row in told.roles)]):
        cells = told.cells.get(arm, 0)
        rows = [row for row in told.roles if row.arm == arm]
        if not rows:
            table.add_row(Text(_name(arm)), f"{cells:,}")
        for place, row in enumerate(rows):
            about = ("", "") if place else (_name(arm), f"{cells:,}")
            table.add_row(Text(about[0]), about[1], *_cells(row))
    return table


def _name(arm: str) -> str:
    """Return an arm's name; the settings of a swept one each on a line, where they are long."""
    name = printable(arm)
    return name if len(name) <= LONGEST_NAME else name.replace(",", ",\n")


def _cells(row: RoleForecast) -> list[str]:
    cost = "?" if row.cost_usd is None else f"{row.cost_usd:,.4f}"
    counts = (row.asked, row.held, row.repeated, row.to_make, row.input_tokens, row.output_tokens)
    return [row.role, *(f"{count:,}" for count in counts), cost]
