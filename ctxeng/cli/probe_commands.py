"""``ctxeng probes``: probes that would measure something else than recall of one fact."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import orjson
import typer

from ctxeng.cli.app import EXIT_FOUND, app
from ctxeng.core.text import printable

probes_app = typer.Typer(help="Check probe sets.", no_args_is_help=True)
app.add_typer(probes_app, name="probes")


@probes_app.callback()
def _group() -> None:
    """Check probe sets."""


@probes_app.command()
def lint(
    probes: Annotated[Path, typer.Argument(help="Probe file (JSON Lines).")],
    sessions: Annotated[
        list[Path], typer.Option(help="Dataset folder or session file; may be given again.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line a finding.")] = False,
) -> None:
    """Check probes against their sessions; exit code 1 when something is found."""
    from ctxeng.harness.probes.io import check_against, read_probes
    from ctxeng.harness.scoring.lint import counts_by_rule
    from ctxeng.harness.scoring.lint import lint as findings_of
    from ctxeng.harness.sessions.io import load_dataset

    loaded, read = load_dataset(sessions), read_probes(probes)
    check_against(read, loaded)
    findings = findings_of(read, loaded)
    for finding in findings:
        body = {"id": finding.probe_id, "rule": finding.rule, "detail": finding.detail}
        line = orjson.dumps(body).decode() if as_json else printable(finding.line())
        sys.stdout.write(line + "\n")
    if not as_json:
        counts = ", ".join(f"{n} {rule}" for rule, n in counts_by_rule(findings).items())
        typer.echo(f"{len(read)} probes, {len(findings)} findings{f': {counts}' if counts else ''}")
    if findings:
        raise typer.Exit(EXIT_FOUND)
