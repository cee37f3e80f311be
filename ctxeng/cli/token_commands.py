"""``ctxeng tokens``: how far each token counter is from a reference."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import orjson
import typer

from ctxeng.cli.app import app


@app.command(name="tokens")
def tokens(
    datasets: Annotated[list[Path], typer.Argument(help="Dataset folders or session files.")],
    counters: Annotated[
        str, typer.Option(help="Counters to check, joined by commas.")
    ] = "heuristic,cl100k,o200k",
    reference: Annotated[
        str, typer.Option(help="The counter taken for the truth; provider:MODEL asks the API.")
    ] = "cl100k",
    markdown: Annotated[
        Path | None, typer.Option(help="Write a page of results to this file instead.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line a row.")] = False,
) -> None:
    """Each token counter's error on the messages of datasets, by language.

    Errors have 95 % intervals; provider:MODEL is the API's own count.
    """
    from ctxeng.harness.reports.counting import errors_by_language, print_errors, write_errors
    from ctxeng.harness.sessions.io import load_dataset
    from ctxeng.models.counting import open_any_counter

    truth = open_any_counter(reference)
    checked = [open_any_counter(name.strip()) for name in counters.split(",")]
    rows = errors_by_language(load_dataset(datasets), checked, truth)
    if markdown is not None:
        write_errors(rows, markdown, reference=truth.name)
        typer.echo(str(markdown))
    elif as_json:
        for row in rows:
            sys.stdout.write(orjson.dumps(asdict(row)).decode() + "\n")
    else:
        print_errors(rows, reference=truth.name)
