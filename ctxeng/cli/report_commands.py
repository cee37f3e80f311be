"""``ctxeng report``: a finished run again, as a table, as files, or as JSON rows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import orjson
import typer

from ctxeng.cli.app import app, workspace

FormatFlag = Literal["html", "png", "svg"]


@app.command()
def report(
    run: Annotated[
        str, typer.Argument(help="Run folder, run id, its beginning, or `latest`.")
    ] = "latest",
    reports: Annotated[
        Path | None, typer.Option(help="Folder of run folders; default: reports/.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON line for every arm and bucket.")
    ] = False,
    form: Annotated[
        FormatFlag | None,
        typer.Option("--format", help="Write only the page, or every picture, and name the files."),
    ] = None,
) -> None:
    """Print a finished run's recall by position, and write its HTML page and plot anew."""
    from ctxeng.harness.reports import terminal, write_as, write_report
    from ctxeng.harness.reports.summary import summarise
    from ctxeng.harness.results.run_folder import open_run

    found = open_run(run, reports=reports or workspace() / "reports")
    summary = summarise(found)
    if as_json:
        for row in summary.records():
            sys.stdout.write(orjson.dumps(row).decode() + "\n")
        return
    if form is not None:
        for path in write_as(found, summary, form):
            typer.echo(str(path))
        return
    written = write_report(found, summary)
    terminal.print_run(summary, {name: str(path) for name, path in written.items()})
