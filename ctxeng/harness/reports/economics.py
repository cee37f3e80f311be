"""The economics of an experiment as tables, for the terminal and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ctxeng.core.errors import InputError
from ctxeng.core.text import numbered, printable
from ctxeng.harness.economics.arms import ArmEconomics, CachedCost
from ctxeng.harness.economics.caching import Split
from ctxeng.harness.economics.claims import signed
from ctxeng.harness.economics.money import CACHINGS, NO_CACHE, Caching
from ctxeng.harness.economics.usage import CacheUse
from ctxeng.harness.experiments.economics import Economics
from ctxeng.harness.reports.terminal import WIDTH

OFFLINE_NOTICE = (
    "Summaries were written by the offline model, a plain extractive baseline: their lengths are "
    "its lengths, not Claude's."
)
LONGEST_NAME = 28  # of an arm, kept whole in the first column
_BAR = re.compile(r"(?<!\\)\|")
MOVING = (Caching(placement="moving"), Caching(placement="moving", ttl="1h"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table to show: a title, a header, rows of text; right-aligned after the first column.

    ``is_prose``: cells are sentences, which a terminal shows below each other. ``note``: a line
    below the table.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    is_prose: bool = False
    note: str = ""


def markdown(found: Economics) -> str:
    """Return the whole report as Markdown."""
    parts = [f"# Economics of a session: {found.name}", *_intro(found)]
    for grid in grids(found):
        parts += [f"## {grid.title}", markdown_table(grid)]
    return "\n\n".join(parts) + "\n"


def write_markdown(found: Economics, path: Path) -> None:
    """Write the report to a file.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(markdown(found), encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"the report must be writable, got {path} ({error.strerror or error}). "
            "Name another file with --out."
        ) from error


def print_economics(
    found: Economics, more: Sequence[Grid] = (), *, console: Console | None = None
) -> None:
    """Print the report, and further tables, on a terminal of 100 columns."""
    out = console or Console(width=WIDTH, highlight=False, soft_wrap=False)
    for line in _intro(found):
        out.print(Text(line))
    print_grids([*grids(found), *more], out)


def print_grids(shown: Sequence[Grid], out: Console) -> None:
    """Print tables below each other."""
    for grid in shown:
        out.print()
        if grid.is_prose:
            _print_prose(grid, out)
        else:
            out.print(_rich_table(grid))


def record(found: Economics) -> dict[str, Any]:
    """Return the whole result as plain JSON."""
    return asdict(found)


def grids(found: Economics) -> list[Grid]:
    """Return every table of the report, in order."""
    return [
        _sizes(found),
        _money(found),
        _caching(found),
        _along(found),
        _compaction(found),
        _claims(found),
    ]


def _intro(found: Economics) -> Iterator[str]:
    if found.is_offline:
        yield OFFLINE_NOTICE
    payers = found.payers
    yield (
        f"{numbered(found.sessions, 'session')}, {numbered(found.messages, 'message')} (a turn "
        "is one message). A request "
        "stands wherever the assistant answered; its prompt is what the builder makes of that "
        f"moment, counted by the {found.counter} counter; its answer is the recorded one."
    )
    yield (
        f"Prices of {found.prices_date} ({found.prices_source}): reader {payers.reader}, "
        f"summariser {payers.summariser}, distiller {payers.distiller}."
    )
    yield (
        "Cache: none; built, breakpoints as the builder sets them; moving, after memory, after the "
        "summaries, and along with the newest message, as far as an arm has them. Kept for 5 "
        "minutes or an hour after the last use, by the recorded times of the messages."
    )
    if found.untimed_share:
        yield f"{found.untimed_share:.0%} of the messages carry no time: a minute apart is assumed."


def _sizes(found: Economics) -> Grid:
    rows = [
        [
            arm.arm,
            f"{arm.requests:,}",
            *(f"{size:,.0f}" for size in arm.request_tokens),
            *(f"{time:,.0f}" for time in arm.ttft_ms),
        ]
        for arm in found.arms
    ]
    return Grid(
        title="Input tokens of a request, and the modelled time to the first token",
        header=["arm", "requests", "median", "95 %", "largest", "ms, median", "ms, 95 %"],
        rows=rows,
    )


def _money(found: Economics) -> Grid:
    cachings = (NO_CACHE, *MOVING)
    rows = [
        [
            arm.arm,
            *(f"{arm.cost(c).usd_per_1000_turns:.2f}" for c in cachings),
            *(shown_saving(arm.cost(c)) for c in cachings),
            _pays(arm.cost(), arm),
            _pays(arm.cost(MOVING[0]), arm),
        ]
        for arm in found.arms
    ]
    header = ["arm", *(f"$ {c.label}" for c in cachings), *(f"saved {c.label}" for c in cachings)]
    header += [f"pays from {c.label}" for c in (NO_CACHE, MOVING[0])]
    return Grid(
        title="USD per 1,000 turns, everything included; saved against the whole history with the "
        "same caching; the turn it pays from (median of the sessions where it does)",
        header=header,
        rows=rows,
    )


def shown_saving(cost: CachedCost) -> str:
    """Return what an arm saves against the whole history, ``-`` where that is undefined."""
    return "-" if cost.saved_share is None else signed(cost.saved_share)


def _pays(cost: CachedCost, arm: ArmEconomics) -> str:
    if cost.pays_from_turn is None:
        return "never"
    return f"{cost.pays_from_turn:.0f} ({cost.paying_sessions} of {arm.sessions})"


def cache_grid(run_id: str, uses: Sequence[CacheUse]) -> Grid:
    """Return the cache of a finished run: foretold by the rules beside billed by the provider."""
    rows = [
        [
            use.arm,
            f"{use.requests:,}",
            _parts(use.foretold),
            _parts(use.billed) if use.billed.tokens else "no usage",
        ]
        for use in uses
    ]
    return Grid(
        title=f"Reader tokens read / written / uncached in {run_id}, %",
        header=["arm", "prompts", "foretold by the rules", "billed by usage"],
        rows=rows,
    )


def _caching(found: Economics) -> Grid:
    used = [caching for caching in CACHINGS if caching != NO_CACHE]
    rows = [[arm.arm, *(_shares(arm.cost(caching)) for caching in used)] for arm in found.arms]
    return Grid(
        title="Tokens read from the cache / written to it / uncached, % of all sent to the reader",
        header=["arm", *(caching.label for caching in used)],
        rows=rows,
    )


def _shares(cost: CachedCost) -> str:
    return _parts(cost.split)


def _parts(split: Split) -> str:
    if not split.tokens:
        return "-"
    parts = (split.read, split.written, split.uncached)
    return " / ".join(f"{part / split.tokens:.0%}".rstrip("%") for part in parts)


def _along(found: Economics) -> Grid:
    rows = [
        [arm.arm, *("-" if size is None else f"{size:,.0f}" for size in arm.along)]
        for arm in found.arms
    ]
    header = ["arm", *(f"{place * 10}-{place * 10 + 10} %" for place in range(10))]
    return Grid(title="Input tokens per request along the session", header=header, rows=rows)


def _compaction(found: Economics) -> Grid:
    rows = [
        [
            arm.arm,
            kind,
            f"{cost.calls:,}",
            f"{cost.input_tokens:,}",
            f"{cost.output_tokens:,}",
            f"{cost.usd:.4f}",
            f"{cost.usd / cost.calls:.5f}",
        ]
        for arm in found.arms
        for kind, cost in arm.compaction.items()
    ]
    header = ["arm", "what", "calls", "tokens in", "tokens out", "USD", "USD a call"]
    return Grid(title="What compaction writes", header=header, rows=rows)


def _claims(found: Economics) -> Grid:
    return Grid(
        title=f"The article's figures and ours ({found.reference_arm})",
        header=["claim", "article", "here", "remark"],
        rows=[[c.claim, c.article, c.here, c.remark] for c in found.claims],
        is_prose=True,
    )


def markdown_table(grid: Grid) -> str:
    """Return a table as Markdown; bars inside a cell are escaped where they are not yet."""
    words = 4 if grid.is_prose else 1
    marks = ["---" if place < words else "---:" for place in range(len(grid.header))]
    lines = [grid.header, marks, *grid.rows]
    return "\n".join(
        "| " + " | ".join(_BAR.sub(r"\|", cell) for cell in line) + " |" for line in lines
    )


def _rich_table(grid: Grid) -> Table:
    table = Table(
        title=grid.title, title_justify="left", width=WIDTH, box=None, padding=(0, 1, 0, 0)
    )
    for place, (name, width) in enumerate(zip(grid.header, _widths(grid), strict=True)):
        table.add_column(
            Text("\n".join(wrap(name, width)) if name else ""),
            justify="right" if place else "left",
            overflow="fold",
            no_wrap=bool(place),
            min_width=None if place else width,
        )
    for row in grid.rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table


def _widths(grid: Grid) -> list[int]:
    """Return what each column needs so that no number breaks: headings break between words.

    The first column, of names, folds beyond ``LONGEST_NAME``.
    """
    columns = list(zip(*grid.rows, strict=True)) or [()] * len(grid.header)
    cells = [max(map(cell_len, column), default=0) for column in columns]
    cells[0] = min(cells[0], LONGEST_NAME)
    words = [max(map(cell_len, name.split()), default=1) for name in grid.header]
    narrow = list(map(max, cells, words))
    whole = list(map(max, narrow, map(cell_len, grid.header)))
    return whole if sum(whole) + len(whole) <= WIDTH else narrow


def _print_prose(grid: Grid, out: Console) -> None:
    out.print(Text(grid.title, style="italic"))
    for claim, article, here, remark in grid.rows:
        out.print(Text(f"\n{claim}\n  article: {article}\n  here:    {here}\n  {remark}"))
