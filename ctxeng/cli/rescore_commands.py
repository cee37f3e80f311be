"""``ctxeng rescore`` and ``ctxeng rejudge``: stored answers again, without asking a reader."""

from __future__ import annotations

import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import orjson
import typer

from ctxeng.cli.app import app, workspace
from ctxeng.cli.run_commands import catalogue_of
from ctxeng.cli.running import run_async
from ctxeng.core.text import numbered

if TYPE_CHECKING:
    from ctxeng.harness.replay.rescoring import Rescored
    from ctxeng.harness.results.run_folder import RunFolder

RunArgument = Annotated[str, typer.Argument(help="Run folder, run id, its beginning, or `latest`.")]
ReportsOption = Annotated[
    Path | None, typer.Option(help="Folder of run folders; default: reports/.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON line at the end.")]


@app.command()
def rescore(run: RunArgument, reports: ReportsOption = None, as_json: JsonOption = False) -> None:
    """Score a run's stored answers by today's rules, into a new run folder beside it."""
    from ctxeng.harness.experiments.rescore import rescore_run
    from ctxeng.harness.results.run_folder import open_run

    found = open_run(run, reports=reports or workspace() / "reports")
    _finish(found, rescore_run(found), as_json=as_json)


@app.command()
def rejudge(
    run: RunArgument,
    judge: Annotated[
        str | None, typer.Option(help="Model that judges; default: the run's own.")
    ] = None,
    artifact_judge: Annotated[
        str | None,
        typer.Option(help="Model that looks for lost facts in other words in summaries."),
    ] = None,
    cache: Annotated[
        Literal["normal", "replay-only"],
        typer.Option(help="replay-only: fail on a call the ledger does not hold."),
    ] = "normal",
    max_calls: Annotated[int | None, typer.Option(min=0, help="Stop before more calls.")] = None,
    max_cost: Annotated[float | None, typer.Option(min=0, help="Stop before more USD.")] = None,
    reports: ReportsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Judge a run's stored answers anew, into a new run folder beside it.

    With --artifact-judge a model also looks whether a summary states a lost fact in other words.
    """
    from ctxeng.harness.experiments.rescore import JudgeOptions, rejudge_run
    from ctxeng.harness.results.run_folder import open_run

    home = workspace()
    found = open_run(run, reports=reports or home / "reports")
    options = JudgeOptions(
        workspace=home,
        judge=judge,
        artifact_judge=artifact_judge,
        mode=cache,
        max_calls=max_calls,
        max_cost_usd=max_cost,
    )
    _finish(found, rejudge_run(found, options), as_json=as_json)


def _finish(
    old: RunFolder, work: Coroutine[Any, Any, tuple[RunFolder, Rescored]], *, as_json: bool
) -> None:
    from ctxeng.harness.reports import terminal, write_report
    from ctxeng.harness.reports.summary import summarise

    made, found = run_async(work)
    summary = summarise(made)
    written = write_report(made, summary)
    catalogue_of(made.path.parent)
    moved = {f"{before} -> {now}": n for (before, now), n in found.moved.items()}
    if as_json:
        line = {
            "run_id": made.run_id,
            "answers_from": old.run_id,
            "path": str(made.path),
            "cells": len(found.cells),
            "outcomes_moved": moved,
            "loss_stages_moved": found.stages_moved,
        }
        sys.stdout.write(orjson.dumps(line).decode() + "\n")
        return
    terminal.print_run(summary, {name: str(path) for name, path in written.items()})
    changes = ", ".join(f"{n} {name}" for name, n in moved.items()) or "none"
    sys.stdout.write(
        f"Outcomes that differ from {old.run_id}: {changes}; "
        f"loss stages that differ: {found.stages_moved} of {numbered(len(found.cells), 'cell')}.\n"
    )
