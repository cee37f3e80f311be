"""The bar of a long command, on stderr: how much is done, how fast, until when, for what money."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from ctxeng.core.text import printable
from ctxeng.harness.replay.runner import Progress as Advance

LABEL_WIDTH = 40
RATE_SECONDS = 600.0  # a unit may take minutes: the rate is that of the last ten


@contextmanager
def progress_bar(*, enabled: bool, with_money: bool = False) -> Iterator[Advance]:
    """Show a bar on stderr; yields ``advance(done, total, label, cost_usd)``.

    Args:
        enabled: False where stderr is no terminal: nothing is shown.
        with_money: whether calls are paid for; ``cost_usd`` is shown then.
    """
    if not enabled:
        yield lambda done, total, label, cost_usd=0.0, /: None
        return
    with bar(Console(stderr=True), with_money=with_money) as shown:
        task = shown.add_task("replaying", total=None, label="", cost_usd=0.0)

        def advance(done: int, total: int, label: str, cost_usd: float | None = 0.0, /) -> None:
            said = printable(label)[:LABEL_WIDTH]
            shown.update(task, completed=done, total=total, label=said, cost_usd=cost_usd)

        yield advance


def bar(
    console: Console, *, with_money: bool, get_time: Callable[[], float] | None = None
) -> Progress:
    """Return a bar with its columns; a task has the fields ``label`` and ``cost_usd``.

    Args:
        get_time: the clock, in seconds; None: the real one.
    """
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        RateColumn(),
        TimeElapsedColumn(),
        TextColumn("ETA"),
        TimeRemainingColumn(),
        *([MoneyColumn()] if with_money else []),
        TextColumn("{task.fields[label]}", markup=False),
        console=console,
        get_time=get_time,
        speed_estimate_period=RATE_SECONDS,
        transient=True,
    )


class RateColumn(ProgressColumn):
    """Units a second, or a minute where there are fewer; nothing before the first two."""

    def render(self, task: Task) -> Text:
        """Return for example ``2.5/s`` or ``12/min``."""
        speed = task.finished_speed or task.speed
        if speed is None:
            return Text("-/s")
        return Text(f"{speed:.1f}/s" if speed >= 1 else f"{speed * 60:.0f}/min")


class MoneyColumn(ProgressColumn):
    """What the calls of finished units cost; ``USD unknown`` once a price is unknown."""

    def render(self, task: Task) -> Text:
        """Return for example ``USD 0.0312``."""
        cost_usd = task.fields["cost_usd"]
        return Text("USD unknown" if cost_usd is None else f"USD {cost_usd:.4f}")
