"""``ctxeng ledger``: what the call ledger holds, pruned, exported as one file, merged."""

from __future__ import annotations

import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import orjson
import typer

from ctxeng.cli.app import app, workspace
from ctxeng.core.text import numbered, printable

ledger_app = typer.Typer(help="Look after the ledger of model calls.", no_args_is_help=True)
app.add_typer(ledger_app, name="ledger")
LedgerFile = Annotated[
    Path | None, typer.Option("--ledger", help="Ledger file; default: the workspace's.")
]


@ledger_app.callback()
def _group() -> None:
    """Look after the ledger of model calls."""


@ledger_app.command()
def stats(
    ledger: LedgerFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line a row.")] = False,
) -> None:
    """Print answered calls, tokens and money by model and role."""
    from ctxeng.models.upkeep import held

    path = _file(ledger)
    rows = held(path)
    for row in rows:
        if as_json:
            sys.stdout.write(orjson.dumps(asdict(row)).decode() + "\n")
            continue
        unpriced = f", {row.unpriced} of unknown price" if row.unpriced else ""
        damaged = f", {row.unreadable} unreadable" if row.unreadable else ""
        typer.echo(
            f"{printable(row.model):20} {row.role:10} {row.answered:7,} answered "
            f"{row.unanswered:5,} unanswered {row.input_tokens:12,} in {row.output_tokens:10,} out "
            f"{row.cost_usd:10.4f} USD{unpriced}, {_day(row.oldest)} to {_day(row.newest)}"
            f"{damaged}"
        )
    if not as_json:
        calls = sum(row.answered for row in rows)
        typer.echo(f"{calls:,} answered calls, {path.stat().st_size / 1e6:.1f} MB ({path})")


@ledger_app.command()
def prune(
    ledger: LedgerFile = None,
    older_than: Annotated[
        float | None, typer.Option(min=0, help="Remove calls sent more than so many days ago.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Remove only calls to this model.")] = None,
    max_mb: Annotated[
        float | None, typer.Option(min=0, help="Remove the oldest calls until the file is smaller.")
    ] = None,
) -> None:
    """Remove calls; a run that needs one of them pays for it again."""
    from ctxeng.models.upkeep import prune as pruned

    size = None if max_mb is None else int(max_mb * 1e6)
    gone = pruned(_file(ledger), older_than_days=older_than, model=model, max_bytes=size)
    typer.echo(f"{numbered(gone, 'call')} removed")


@ledger_app.command()
def export(
    file: Annotated[Path, typer.Argument(help="New file to write.")],
    ledger: LedgerFile = None,
    run: Annotated[
        str | None, typer.Option(help="Only the calls of this run (an id, or `latest`).")
    ] = None,
) -> None:
    """Write answered calls to one compact file, for `ledger merge` or `--cache replay-only`."""
    from ctxeng.models.upkeep import export as exported

    keys = None if run is None else _keys_of(run)
    count = exported(_file(ledger), file, keys=keys)
    typer.echo(f"{numbered(count, 'call')}, {file.stat().st_size / 1e6:.1f} MB ({file})")


@ledger_app.command()
def merge(
    files: Annotated[list[Path], typer.Argument(help="Ledger files to add.")],
    ledger: LedgerFile = None,
) -> None:
    """Add the answered calls of other ledgers, as exported on another machine.

    After that `run --cache replay-only` needs no network.
    """
    from ctxeng.models.upkeep import merge as merged

    typer.echo(f"{numbered(merged(_file(ledger), files), 'call')} added")


def _file(ledger: Path | None) -> Path:
    return ledger or workspace() / ".ctxeng" / "ledger.sqlite"


def _keys_of(run: str) -> set[str]:
    from ctxeng.harness.results.database import reading, rows
    from ctxeng.harness.results.run_folder import open_run

    with reading(open_run(run, reports=workspace() / "reports")) as connection:
        found = rows(connection, "SELECT DISTINCT key FROM calls WHERE key IS NOT NULL")
    return {row["key"] for row in found}


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()
