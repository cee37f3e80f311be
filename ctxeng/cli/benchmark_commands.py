"""``ctxeng benchmark``: a public benchmark, from a user's copy, through every built-in arm."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import orjson
import typer

from ctxeng.cli.app import app, workspace
from ctxeng.cli.running import run_async


@app.command()
def benchmark(
    name: Annotated[
        Literal["locomo", "longmemeval", "beam", "memdaily"], typer.Argument(help="Which one.")
    ],
    source: Annotated[Path, typer.Argument(metavar="PATH", help="Your copy: file or folder.")],
    reader: Annotated[str, typer.Option(help="Model that answers; none: asks nobody.")] = "offline",
    summariser: Annotated[str, typer.Option(help="Model that compacts.")] = "offline",
    judge: Annotated[str, typer.Option(help="Model that judges answers.")] = "offline",
    exclude: Annotated[
        list[Path] | None, typer.Option(help="File of {id, reason} lines not to ask; repeatable.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the run's folder.")] = None,
    sessions: Annotated[int | None, typer.Option(min=1, help="Only the first sessions.")] = None,
    probes: Annotated[
        int | None, typer.Option(min=1, help="Only the first probes of each.")
    ] = None,
    max_cost: Annotated[float | None, typer.Option(min=0, help="Stop before more USD.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line.")] = False,
) -> None:
    """Import a benchmark, run all built-in arms, report by its categories and by position.

    The arms and plain BM25 share a budget of a quarter of the median session; in short sessions,
    two messages and a note. A line of an --exclude file is {"id": ..., "reason": ...}; the list
    may be wider than your copy.
    """
    from ctxeng.harness.experiments.benchmark import lay_out_benchmark
    from ctxeng.harness.experiments.bm25 import bm25_rows
    from ctxeng.harness.experiments.launch import run_prepared
    from ctxeng.harness.experiments.prepared import RunOptions, prepare
    from ctxeng.harness.reports import write_report
    from ctxeng.harness.reports.benchmark import benchmark_report, markdown, write_benchmark
    from ctxeng.harness.reports.summary import summarise

    home = workspace()
    laid_out = lay_out_benchmark(
        name,
        source,
        home / ".ctxeng" / "benchmarks" / name,
        models={"reader": reader, "summariser": summariser, "judge": judge},
        exclude=exclude or [],
    )
    options = RunOptions(
        out=out or home / "reports", sessions=sessions, probes=probes, max_cost_usd=max_cost
    )
    prepared = prepare(laid_out.experiment, workspace=home, options=options)
    run = run_async(run_prepared(prepared, options))
    summary = summarise(run)
    write_report(run, summary)
    baseline = bm25_rows(prepared.inputs, budget_tokens=laid_out.room_tokens)
    report = benchmark_report(laid_out, run, baseline)
    path = write_benchmark(report, run.path)
    if as_json:
        line = report.record() | {"path": str(path)}
        sys.stdout.write(orjson.dumps(line).decode() + "\n")
        return
    for notice in summary.notices:
        typer.echo(notice)
    typer.echo(markdown(report))
    typer.echo(path)
