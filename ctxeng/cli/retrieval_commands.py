"""``ctxeng retrieval``: how well each search finds the evidence of probes."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import orjson
import typer

from ctxeng.cli.app import app, workspace
from ctxeng.cli.running import run_async

retrieval_app = typer.Typer(help="Measure retrieval.", no_args_is_help=True)
app.add_typer(retrieval_app, name="retrieval")


@retrieval_app.callback()
def _group() -> None:
    """Measure retrieval."""


@retrieval_app.command(name="eval")
def evaluate(
    dataset: Annotated[Path, typer.Argument(help="Dataset folder or session file.")],
    probes: Annotated[
        Path | None, typer.Option(help="Probe file; default: probes.jsonl of the dataset.")
    ] = None,
    k: Annotated[str, typer.Option("--k", help="How many messages count.")] = "5,10,20",
    embedder: Annotated[str, typer.Option(help="Which embedder ranks by meaning.")] = "minilm",
    language: Annotated[
        str | None, typer.Option(help="Only probes in this language (`ja`).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line a row.")] = False,
) -> None:
    """Evidence recall at k and reciprocal rank of every search, by category of probe."""
    from ctxeng.harness.probes.io import check_against, read_probes
    from ctxeng.harness.ranking.evaluate import evaluate_in, ks_of
    from ctxeng.harness.reports import ranking as report
    from ctxeng.harness.reports.progress import progress_bar
    from ctxeng.harness.sessions.io import load_dataset

    ks = ks_of(k)
    sessions = load_dataset([dataset])
    read = read_probes(probes or dataset / "probes.jsonl")
    check_against(read, sessions)
    asked = [probe for probe in read if language in (None, probe.language)]
    with progress_bar(enabled=not as_json and sys.stderr.isatty()) as advance:
        found = run_async(
            evaluate_in(
                workspace(), sessions, asked, embedder_name=embedder, ks=ks, progress=advance
            )
        )
    if as_json:
        for row in found.rows:
            sys.stdout.write(orjson.dumps(asdict(row)).decode() + "\n")
    else:
        report.print_evaluation(found)
