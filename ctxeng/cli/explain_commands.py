"""``ctxeng explain``: the way of one fact through the arms of a run, with the texts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import orjson
import typer

from ctxeng.cli.app import app, workspace


@app.command()
def explain(
    run: Annotated[str, typer.Argument(help="Run folder, run id, its beginning, or `latest`.")],
    probe: Annotated[str, typer.Argument(help="Probe id.")],
    arm: Annotated[
        str | None, typer.Option(help="Only this arm; default: one that lost it.")
    ] = None,
    replicate: Annotated[int, typer.Option(min=0, help="Replicate of the cell.")] = 0,
    full: Annotated[bool, typer.Option("--full", help="Whole texts, not excerpts.")] = False,
    reports: Annotated[
        Path | None, typer.Option(help="Folder of run folders; default: reports/.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON line for every arm.")] = False,
) -> None:
    """Show where a fact was lost: statement, summaries, search, cuts, prompt, answer, verdict.

    RUN is a folder, an id, its beginning, or `latest`; PROBE an id of a probe.
    """
    from ctxeng.harness.attribution.select import select_paths
    from ctxeng.harness.reports import explain as shown
    from ctxeng.harness.results.run_folder import open_run

    found = open_run(run, reports=reports or workspace() / "reports")
    paths = select_paths(found, probe_id=probe, arm=arm, replicate=replicate)
    if as_json:
        for path in paths:
            sys.stdout.write(orjson.dumps(path.to_json()).decode() + "\n")
        return
    out = shown.console()
    if arm is None:
        shown.print_overview(paths, out)
        out.print()
    telling = [p for p in paths if p.loss_stage and (p.written or p.search)]
    lost = [p for p in paths if p.loss_stage]
    shown.print_path((telling or lost or paths)[0], out, is_whole=full)
