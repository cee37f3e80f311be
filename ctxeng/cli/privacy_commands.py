"""``ctxeng redact``: pseudonyms for personal data and secrets, or a check that there are none."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from ctxeng.cli.app import EXIT_FOUND, app, workspace
from ctxeng.core.text import numbered, printable

if TYPE_CHECKING:
    from ctxeng.harness.privacy.found import Kind
    from ctxeng.harness.privacy.redactor import Redactor


@app.command()
def redact(
    dataset: Annotated[Path, typer.Argument(help="Dataset folder.")],
    probes: Annotated[
        list[Path] | None, typer.Option(help="Probe file besides the dataset's own; repeatable.")
    ] = None,
    names: Annotated[
        Path | None, typer.Option(help="Names to replace: a person a line, spellings by commas.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Dataset folder to write; default: DATASET-redacted.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 when something is found.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines.")] = False,
) -> None:
    """Replace e-mails, numbers, addresses, secrets and names by consistent pseudonyms."""
    from ctxeng.harness.privacy.dataset import redact_dataset

    redactor = open_redactor(names)
    if check:
        _check(dataset, redactor, probes or [], as_json=as_json)
        return
    target = out or dataset.parent / f"{dataset.resolve().name}-redacted"
    report = redact_dataset(dataset, target, redactor, probe_files=probes or [])
    if as_json:
        sys.stdout.write(orjson.dumps(report.record()).decode() + "\n")
        return
    typer.echo(
        f"{numbered(report.sessions, 'session')}, {report.messages_changed} of "
        f"{numbered(report.messages, 'message')} and "
        f"{report.probes_changed} of {numbered(report.probes, 'probe')} changed, in {target}"
    )
    typer.echo(f"replaced: {counted(report.replaced)}; different: {counted(report.distinct)}")
    for probe_id in report.broken:
        typer.echo(printable(f"{probe_id}: excluded, its value is part of something redacted"))


def _check(dataset: Path, redactor: Redactor, probes: list[Path], *, as_json: bool) -> None:
    from ctxeng.harness.privacy.dataset import leaks

    count = 0
    for leak in leaks(dataset, redactor, probe_files=probes):
        count += 1
        body = {"file": leak.file, "line": leak.line, "kind": leak.kind}
        plain = printable(f"{leak.file}:{leak.line}: {leak.kind}")
        sys.stdout.write((orjson.dumps(body).decode() if as_json else plain) + "\n")
    if not as_json:
        typer.echo(numbered(count, "finding") if count else "nothing found")
    if count:
        raise typer.Exit(EXIT_FOUND)


def open_redactor(names: Path | None) -> Redactor:
    """Return a redactor with the workspace's key and the names of a file."""
    from ctxeng.harness.privacy.names import read_names
    from ctxeng.harness.privacy.pseudonyms import workspace_key
    from ctxeng.harness.privacy.redactor import Redactor

    people = read_names(names) if names else {}
    return Redactor(key=workspace_key(workspace() / ".ctxeng"), people=people)


def counted(counts: Mapping[Kind, int]) -> str:
    """Return counts by kind as words, ``nothing`` where there are none."""
    return ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items())) or "nothing"
