"""``ctxeng sessions``: what datasets cover."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import orjson
import typer

from ctxeng.cli.app import app

sessions_app = typer.Typer(help="Look at datasets.", no_args_is_help=True)
app.add_typer(sessions_app, name="sessions")


@sessions_app.callback()
def _group() -> None:
    """Look at datasets."""


@sessions_app.command()
def stats(
    datasets: Annotated[
        list[Path], typer.Argument(metavar="DATASET...", help="Dataset folders or session files.")
    ],
    probes: Annotated[
        list[Path] | None,
        typer.Option(
            help="Probe file, for whichever dataset it asks about; repeatable. "
            "Default: probes.jsonl of each dataset."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Picture to write: .png or .svg.")] = None,
    counter: Annotated[str, typer.Option(help="Which token counter.")] = "heuristic",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line a dataset.")] = False,
) -> None:
    """Sizes, roles, languages, lengths, kinds of probes, and where in a session facts stand."""
    from ctxeng.harness.probes.coverage import coverage_of
    from ctxeng.harness.probes.io import probes_of
    from ctxeng.harness.reports.coverage import draw_coverage, markdown
    from ctxeng.harness.sessions.io import load_dataset
    from ctxeng.tokens import open_counter

    count = open_counter(counter).count
    loaded = [load_dataset([dataset]) for dataset in datasets]
    asked = probes_of(datasets, loaded, probes)
    found = [
        coverage_of(dataset.resolve().name, sessions, own, count)
        for dataset, sessions, own in zip(datasets, loaded, asked, strict=True)
    ]
    if out is not None:
        draw_coverage(found, out)
    if as_json:
        for one in found:
            sys.stdout.write(orjson.dumps(one.record()).decode() + "\n")
        return
    sys.stdout.write(markdown(found))
    if out is not None:
        sys.stdout.write(f"\n{out}\n")
