"""``ctxeng worker`` and ``ctxeng status``: the work off the request path, and how it keeps up."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from ctxeng.cli.app import EXIT_FOUND, app, workspace
from ctxeng.cli.running import run_async
from ctxeng.core.errors import InputError
from ctxeng.core.text import numbered, printable

if TYPE_CHECKING:
    from ctxeng.cli.production import Production
    from ctxeng.store.worker import WorkerOptions

MOST_HOURS = 24 * 365 * 10
StrategyOption = Annotated[str, typer.Option(help="Built-in strategy of the product.")]
SettingsOption = Annotated[
    Path | None, typer.Option(help="TOML file whose tables are laid over the strategy's.")
]
ModelOption = Annotated[str, typer.Option(help="Model that summarises and distils.")]
EmbedderOption = Annotated[str, typer.Option(help="Embedder of the index.")]


@app.command()
def worker(
    strategy: StrategyOption = "hybrid",
    settings: SettingsOption = None,
    model: ModelOption = "offline",
    embedder: EmbedderOption = "minilm",
    counter: Annotated[
        str, typer.Option(help="Token counter; provider:MODEL asks the API for each message.")
    ] = "heuristic",
    concurrency: Annotated[int, typer.Option(min=1, help="Conversations at once.")] = 1,
    once: Annotated[bool, typer.Option("--once", help="Stop when nothing waits.")] = False,
    stalled: Annotated[
        float, typer.Option(help="Seconds of silence after which a worker counts as dead.")
    ] = 30.0,
) -> None:
    """Count, embed, compact and distil what was appended; run as many workers as you like.

    What a killed worker held is taken over. An outage of the model, or a key that is refused, is
    waited out for a day. With --once the exit code is 1 where jobs failed or wait to be tried
    again.
    """
    from ctxeng.cli.production import Production
    from ctxeng.store.worker import WorkerOptions

    check_bounds("--stalled", stalled, least=1, most=86_400)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("procrastinate").setLevel(logging.WARNING)
    wanted = Production(
        strategy=strategy, settings=settings, model=model, embedder=embedder, counter=counter
    )
    options = WorkerOptions(
        concurrency=concurrency,
        once=once,
        stalled_seconds=stalled,
        heartbeat_seconds=stalled / 6,
    )
    wanted.check_key()
    waited, left = asyncio.run(_work(workspace(), wanted, options))
    if once:
        typer.echo(f"{numbered(waited, 'job')} waited, {left or 'none'} left")
    if once and left:
        told = numbered(left, "job failed or waits", "jobs failed or wait")
        typer.echo(f"{told} to be tried again; see ctxeng status", err=True)
        raise typer.Exit(EXIT_FOUND)


@app.command()
def reprocess(
    strategy: StrategyOption = "hybrid",
    settings: SettingsOption = None,
    model: ModelOption = "offline",
    embedder: EmbedderOption = "minilm",
    conversation: Annotated[
        list[str] | None, typer.Option(help="Only this conversation; may be given again.")
    ] = None,
    now: Annotated[bool, typer.Option("--now", help="Do it here, not in a worker.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only name them.")] = False,
) -> None:
    """Rebuild what another model or an older prompt wrote; the old stays until the new is whole."""
    from ctxeng.cli.production import Production

    wanted = Production(strategy=strategy, settings=settings, model=model, embedder=embedder)
    if now and not dry_run:
        wanted.check_key()
    failures = run_async(
        _reprocess(workspace(), wanted, only=conversation, now=now, dry_run=dry_run)
    )
    if failures:
        raise typer.Exit(EXIT_FOUND)


@app.command()
def status(
    hours: Annotated[float, typer.Option(help="Span of the skip rate.")] = 24.0,
    max_skip_rate: Annotated[
        float, typer.Option(help="Share of late builds that is still well.")
    ] = 0.05,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line.")] = False,
) -> None:
    """Print the backlog and how often compaction was late; exit code 1 when too often.

    `again`: jobs that wait after a failure; `failed`: given up and not done since.
    """
    check_bounds("--hours", hours, most=MOST_HOURS)
    check_bounds("--max-skip-rate", max_skip_rate, most=1)
    report = run_async(_status(workspace(), hours))
    if as_json:
        sys.stdout.write(orjson.dumps(report).decode() + "\n")
    else:
        _print_status(report)
    share = report["skip_share"]
    if isinstance(share, float) and share > max_skip_rate:
        logging.getLogger("ctxeng.status").warning(
            "compaction_skipped: %.1f %% of the prompts of %g hours were built while compaction "
            "was late, over %.1f %%; start more workers, or set compaction.when_late = window_only",
            share * 100, hours, max_skip_rate * 100,
        )  # fmt: skip
        raise typer.Exit(EXIT_FOUND)


def check_bounds(name: str, value: float, *, least: float = 0, most: float) -> None:
    """Refuse what is not a number within bounds; ``inf`` and ``nan`` are floats to a parser.

    Raises:
        InputError: names the option, the bounds and the value.
    """
    if not least <= value <= most:
        raise InputError(f"{name} must be from {least:g} to {most:g}, got {value:g}.")


async def _work(home: Path, wanted: Production, options: WorkerOptions) -> tuple[int, int]:
    """Return how many jobs waited at first, and wait or failed at the end of one that runs once."""
    from ctxeng.cli.production import opened
    from ctxeng.strategies.jobs import open_worker, work

    async with opened(home, wanted) as (store, parts):
        running = open_worker(store, parts, options, model=wanted.model)
        for name in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError):  # no signal handlers on Windows
                asyncio.get_running_loop().add_signal_handler(name, running.stop)
        waited = sum(job.waiting for job in await store.backlog())
        await work(store, running)
        if not options.once:
            return waited, 0
        return waited, sum(job.waiting + job.failed for job in await store.backlog())


async def _reprocess(
    home: Path, wanted: Production, *, only: list[str] | None, now: bool, dry_run: bool
) -> int:
    """Return how many conversations could not be rebuilt."""
    from ctxeng.cli.production import opened
    from ctxeng.strategies import jobs

    failures = 0
    async with opened(home, wanted) as (store, parts):
        for name in only or ():
            await store.conversation(name)  # one that does not exist must not look done
        found = await jobs.outdated(store, model=wanted.model)
        names = [name for name in found if only is None or name in only]
        if not (now or dry_run):
            await store.defer(names, ["reprocess"])
        for name in names:
            told = "waits for a worker"
            if dry_run:
                told = "would be rebuilt"
            elif now:
                report = await jobs.reprocess(parts, name, model=wanted.model)
                failures += bool(report.failures)
                told = f"{numbered(len(report.written), 'artifact')} rebuilt"
                if report.failures:
                    told = f"not rebuilt: {report.failures[0].reason}"
            typer.echo(printable(f"{name}: {told}"))
    typer.echo(f"{numbered(len(names), 'conversation is', 'conversations are')} out of date")
    return failures


async def _status(home: Path, hours: float) -> dict[str, Any]:
    from ctxeng.store import Store

    async with await Store.open(workspace=home) as store:
        backlog, workers = await store.backlog(), await store.live_workers()
        rates = await store.skip_rates(hours=hours)
    return {
        "workers": workers,
        "backlog": [asdict(job) for job in backlog],
        "builds": rates.builds,
        "skipped": rates.skipped,
        "skip_share": rates.share,
        "skipped_by_compaction": dict(rates.by_compaction),
    }


def _print_status(report: dict[str, Any]) -> None:
    typer.echo(numbered(report["workers"], "worker"))
    typer.echo(f"{'task':12}{'waiting':>9}{'again':>9}{'running':>9}{'failed':>9}  oldest wait")
    if not report["backlog"]:
        typer.echo("nothing waits")
    for job in report["backlog"]:
        wait = job["oldest_wait_seconds"]
        typer.echo(
            f"{job['task']:12}{job['waiting']:9}{job['again']:9}{job['running']:9}"
            f"{job['failed']:9}  "
            f"{'-' if wait is None else f'{wait:.0f} s'}"
        )
    share = report["skip_share"]
    typer.echo(
        f"{numbered(report['builds'], 'prompt')} built, "
        f"{report['skipped']} while compaction was late"
        + (f" ({share * 100:.1f} %)" if isinstance(share, float) else "")
    )
