"""``ctxeng economics`` and ``ctxeng advise``: what compaction costs and saves along a session."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from ctxeng.cli.app import app, workspace
from ctxeng.cli.running import run_async

if TYPE_CHECKING:
    from ctxeng.harness.experiments.economics import Economics


@app.command()
def economics(
    file: Annotated[Path, typer.Argument(help="Experiment file (TOML).")],
    out: Annotated[
        Path | None, typer.Option(help="Write the tables to this Markdown file as well.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line.")] = False,
    jobs: Annotated[int | None, typer.Option(min=1, help="Sessions in flight at once.")] = None,
    sessions: Annotated[int | None, typer.Option(min=1, help="Only the first sessions.")] = None,
    run: Annotated[
        str | None, typer.Option(help="Also show the prompt cache in a finished run (or `latest`).")
    ] = None,
    max_cost: Annotated[float | None, typer.Option(min=0, help="Stop before more USD.")] = None,
) -> None:
    """Replay sessions turn by turn: tokens, caching, money and speed of every arm."""
    from ctxeng.harness.reports import economics as report
    from ctxeng.harness.reports.cache import run_cache
    from ctxeng.harness.results.run_folder import open_run

    reports = workspace() / "reports"
    more = [] if run is None else [run_cache(open_run(run, reports=reports))]
    found = played_economics(
        file, is_quiet=as_json, jobs=jobs, sessions=sessions, max_cost_usd=max_cost
    )
    if out is not None:
        report.write_markdown(found, out)
    if as_json:
        sys.stdout.write(orjson.dumps(report.record(found)).decode() + "\n")
    else:
        report.print_economics(found, more)


def played_economics(
    file: Path,
    *,
    is_quiet: bool = False,
    jobs: int | None = None,
    sessions: int | None = None,
    max_cost_usd: float | None = None,
) -> Economics:
    """Play an experiment's sessions turn by turn and return its economics; shows a bar."""
    from ctxeng.harness.experiments.economics import economics as economics_of
    from ctxeng.harness.experiments.prepared import RunOptions, prepare
    from ctxeng.harness.reports.progress import progress_bar

    home = workspace()
    options = RunOptions(
        out=home / "reports", jobs=jobs, sessions=sessions, max_cost_usd=max_cost_usd
    )
    prepared = prepare(file, workspace=home, options=options)
    with progress_bar(enabled=not is_quiet and sys.stderr.isatty()) as advance:
        return run_async(economics_of(prepared, options, progress=advance))


@app.command()
def advise(
    sessions: Annotated[
        list[Path], typer.Argument(help="Dataset folders or session files (`ctxeng import`).")
    ],
    sample: Annotated[
        int, typer.Option(min=1, help="How many sessions are played, evenly over their lengths.")
    ] = 20,
    reader: Annotated[
        str | None, typer.Option(help="The model that answers, for its prices.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line.")] = False,
) -> None:
    """Say whether compaction would help on sessions: lengths, tokens, money, where it pays.

    The first line answers: no, yes, or for the long ones.
    """
    from dataclasses import replace

    from ctxeng.harness.experiments.advice import advise as advice_on
    from ctxeng.harness.experiments.economics import STAND_INS
    from ctxeng.harness.reports import advice as report
    from ctxeng.harness.reports.progress import progress_bar
    from ctxeng.harness.sessions.io import load_dataset

    loaded = load_dataset(sessions)
    payers = STAND_INS if reader is None else replace(STAND_INS, reader=reader)
    with progress_bar(enabled=not as_json and sys.stderr.isatty()) as advance:
        found = run_async(
            advice_on(loaded, workspace=workspace(), payers=payers, sample=sample, progress=advance)
        )
    if as_json:
        sys.stdout.write(orjson.dumps(report.record(found)).decode() + "\n")
    else:
        report.print_advice(found)
