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
    dataset: Annotated[Path, typer.Argument(help="Dataset folder or session file.")],
    counters: Annotated[
        str, typer.Option(help="Counters to check, joined by commas.")
    ] = "heuristic,cl100k,o200k",
    reference: Annotated[str, typer.Option(help="The counter taken for the truth.")] = "cl100k",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line a row.")] = False,
) -> None:
    """Each token counter's error on the messages of a dataset, by language."""
    from ctxeng.harness.reports.counting import print_errors
    from ctxeng.harness.sessions.io import load_dataset
    from ctxeng.tokens import open_counter
    from ctxeng.tokens.counters import errors

    truth = open_counter(reference)
    checked = [open_counter(name.strip()) for name in counters.split(",")]
    texts: dict[str, list[str]] = {}
    for session in load_dataset([dataset]):
        texts.setdefault(session.language, []).extend(m.text for m in session.messages)
    rows = errors(texts, checked, truth)
    if as_json:
        for row in rows:
            sys.stdout.write(orjson.dumps(asdict(row)).decode() + "\n")
    else:
        print_errors(rows, reference=truth.name)
