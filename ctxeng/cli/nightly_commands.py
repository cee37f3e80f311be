"""``ctxeng nightly``: run, append to the history, compare with the last comparable night, gate."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import orjson
import typer

from ctxeng.cli.app import app, workspace
from ctxeng.cli.compare_commands import GATE_EXITS, HistoryFolder, Margin
from ctxeng.cli.run_commands import CacheFlag, catalogue_of
from ctxeng.cli.running import run_async


@app.command()
def nightly(
    file: Annotated[Path, typer.Argument(help="Experiment file (TOML).")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the run's folder; default: reports/.")
    ] = None,
    history: HistoryFolder = None,
    margin: Margin = None,
    cache: Annotated[
        CacheFlag, typer.Option(help="replay-only: fail on a call the ledger does not hold.")
    ] = "normal",
    jobs: Annotated[int | None, typer.Option(min=1, help="Sessions in flight at once.")] = None,
    max_calls: Annotated[int | None, typer.Option(min=0, help="Stop before more calls.")] = None,
    max_cost: Annotated[float | None, typer.Option(min=0, help="Stop before more USD.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON line at the end.")
    ] = False,
) -> None:
    """Run an experiment, put it beside the last comparable night, and gate on the difference.

    Exit codes: 0 pass, 1 regression, 2 cannot run or incomplete, 3 not enough data.
    """
    from ctxeng.harness.experiments.launch import run_prepared
    from ctxeng.harness.experiments.prepared import RunOptions, prepare
    from ctxeng.harness.reports import comparison_table, terminal
    from ctxeng.harness.reports.nightly import finish_night
    from ctxeng.harness.reports.progress import progress_bar
    from ctxeng.harness.reports.summary import summarise

    home = workspace()
    folder = out or home / "reports"
    options = RunOptions(
        out=folder, mode=cache, jobs=jobs, max_calls=max_calls, max_cost_usd=max_cost
    )
    prepared = prepare(file, workspace=home, options=options)
    is_shown = not as_json and sys.stderr.isatty()
    with progress_bar(enabled=is_shown, with_money=True) as advance:
        run = run_async(run_prepared(prepared, options, progress=advance))
    night, files = finish_night(run, summarise(run), history or folder / "history", margin=margin)
    paths = {name: str(path) for name, path in files.items()}
    paths["duckdb"] = catalogue_of(folder)
    if as_json:
        line = {**night.record(), **run.manifest()["counts"], "paths": paths}
        sys.stdout.write(orjson.dumps(line).decode() + "\n")
    else:
        console = comparison_table.console()
        terminal.print_summary(night.summary, console)
        comparison_table.print_nightly(night, console)
        terminal.print_paths(paths, console)
    raise typer.Exit(GATE_EXITS[night.gate.status])
