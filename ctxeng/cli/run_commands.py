"""``ctxeng run`` and ``ctxeng plan``: an experiment from its file to a report, or to a forecast."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import orjson
import typer

from ctxeng.cli.app import app, workspace
from ctxeng.cli.running import run_async
from ctxeng.core.text import numbered, printable

if TYPE_CHECKING:
    from ctxeng.harness.experiments.prepared import RunOptions
    from ctxeng.harness.results.run_folder import RunFolder

CacheFlag = Literal["normal", "replay-only"]
ModeFlag = Literal["live", "batch"]


@app.command()
def run(
    file: Annotated[Path, typer.Argument(help="Experiment file (TOML).")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the run's folder; default: reports/.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON line at the end.")
    ] = False,
    cache: Annotated[
        CacheFlag, typer.Option(help="replay-only: fail on a call the ledger does not hold.")
    ] = "normal",
    fresh: Annotated[bool, typer.Option("--fresh", help="Make every call anew.")] = False,
    mode: Annotated[
        ModeFlag | None,
        typer.Option(help="batch: gather calls into Message Batches; default: the file's."),
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Sessions in flight at once.")] = None,
    max_calls: Annotated[int | None, typer.Option(min=0, help="Stop before more calls.")] = None,
    max_cost: Annotated[float | None, typer.Option(min=0, help="Stop before more USD.")] = None,
    sessions: Annotated[int | None, typer.Option(min=1, help="Only the first sessions.")] = None,
    probes: Annotated[
        int | None, typer.Option(min=1, help="Only the first probes of each.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Make no call; print calls, tokens and money.")
    ] = False,
) -> None:
    """Run an experiment: replay, ask, score, write the tables and the report."""
    from ctxeng.core.errors import CallMissing, InputError
    from ctxeng.harness.experiments.launch import run_prepared
    from ctxeng.harness.experiments.prepared import RunOptions, prepare
    from ctxeng.harness.reports.progress import progress_bar

    if fresh and cache == "replay-only":
        raise InputError("--fresh and --cache replay-only must not stand together. Drop one.")
    home = workspace()
    options = RunOptions(
        out=out or home / "reports",
        mode="fresh" if fresh else cache,
        delivery=mode,
        jobs=jobs,
        max_calls=max_calls,
        max_cost_usd=max_cost,
        sessions=sessions,
        probes=probes,
    )
    if dry_run:
        _foretell(file, options, as_json=as_json)
        return
    prepared = prepare(file, workspace=home, options=options)
    is_shown = not as_json and sys.stderr.isatty()
    with progress_bar(enabled=is_shown, with_money=True) as advance:
        finished = run_async(run_prepared(prepared, options, progress=advance))
    _report(finished, as_json=as_json)
    lacking = finished.manifest()["counts"]["outcomes"].get("error", 0)
    if cache == "replay-only" and lacking:
        raise CallMissing(
            f"ledger must hold every call, {numbered(lacking, 'cell')} of {finished.run_id} "
            f"{'lacks' if lacking == 1 else 'lack'} one. "
            "Merge the ledger that has them, or run without --cache replay-only."
        )


@app.command()
def plan(
    file: Annotated[Path, typer.Argument(help="Experiment file (TOML).")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line.")] = False,
    jobs: Annotated[int | None, typer.Option(min=1, help="Sessions in flight at once.")] = None,
    sessions: Annotated[int | None, typer.Option(min=1, help="Only the first sessions.")] = None,
    probes: Annotated[
        int | None, typer.Option(min=1, help="Only the first probes of each.")
    ] = None,
) -> None:
    """Print the cells, calls, tokens and money of an experiment; nothing is sent or written."""
    from ctxeng.harness.experiments.prepared import RunOptions

    options = RunOptions(out=workspace() / "reports", jobs=jobs, sessions=sessions, probes=probes)
    _foretell(file, options, as_json=as_json)


def catalogue_of(reports: Path) -> str:
    """Write the catalogue of all runs anew, say which it leaves out, and return its path."""
    from ctxeng.harness.results.database import refresh_catalogue

    catalogue = refresh_catalogue(reports)
    for line in catalogue.left_out:
        typer.echo(f"ctxeng: left out of {catalogue.file.name}: {printable(line)}", err=True)
    return str(catalogue.file)


def _report(run: RunFolder, *, as_json: bool) -> None:
    from ctxeng.harness.reports import terminal, write_report
    from ctxeng.harness.reports.summary import summarise

    summary = summarise(run)
    written = {name: str(path) for name, path in write_report(run, summary).items()}
    paths = {**written, "duckdb": catalogue_of(run.path.parent)}
    if as_json:
        named = {"run_id": run.run_id, "path": str(run.path)}
        line = {**named, **run.manifest()["counts"], "paths": paths}
        sys.stdout.write(orjson.dumps(line).decode() + "\n")
    else:
        terminal.print_run(summary, paths)


def _foretell(file: Path, options: RunOptions, *, as_json: bool) -> None:
    from ctxeng.harness.experiments.forecast import forecast
    from ctxeng.harness.experiments.prepared import prepare
    from ctxeng.harness.reports.forecast import print_forecast
    from ctxeng.harness.reports.progress import progress_bar

    prepared = prepare(file, workspace=workspace(), options=options)
    with progress_bar(enabled=not as_json and sys.stderr.isatty()) as advance:
        told = run_async(forecast(prepared, options, progress=advance))
    if as_json:
        sys.stdout.write(orjson.dumps(told.record()).decode() + "\n")
    else:
        print_forecast(told)
