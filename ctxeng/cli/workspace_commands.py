"""``ctxeng init``, ``ctxeng import`` and ``ctxeng doctor``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import orjson
import typer

from ctxeng.cli.app import EXIT_CANNOT_RUN, EXIT_FOUND, app, workspace
from ctxeng.core.text import numbered, printable

if TYPE_CHECKING:
    from ctxeng.harness.importers.run import ImportReport


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="Folder of the new workspace.")],
) -> None:
    """Lay out a workspace with the sample sessions, probes and experiments."""
    from ctxeng.cli.workspaces import lay_out

    count = lay_out(folder)
    typer.echo(
        f"{numbered(count, 'file')} in {folder}. Next: cd {folder} && ctxeng run "
        "experiments/quickstart.toml"
    )


@app.command("import")
def import_(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="[FORMAT] PATH...",
            help="A format (README) or auto, the default; then files, archives or folders.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Dataset folder to write.")],
    view: Annotated[
        Literal["raw", "recorded"],
        typer.Option(
            "--as",
            help="raw drops summaries the product injected, recorded keeps them, marked.",
        ),
    ] = "raw",
    encoding: Annotated[str | None, typer.Option(help="Of files that are not UTF-8.")] = None,
    redact: Annotated[
        bool, typer.Option("--redact", help="Store pseudonyms for personal data and secrets.")
    ] = False,
    names: Annotated[
        Path | None, typer.Option(help="With --redact: a file of names, a person a line.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON line at the end.")
    ] = False,
) -> None:
    """Import recorded sessions (and probes, where the source has questions) as a dataset folder.

    A format that is not named is told from the content. What was read, imported, merged and
    skipped, and why, is printed and stored in the dataset's card.
    """
    from ctxeng.cli.privacy_commands import counted, open_redactor
    from ctxeng.harness.importers.run import NothingImported, import_paths
    from ctxeng.harness.privacy.dataset import redact_dataset

    format_name, paths = _format_and_paths(sources)
    redactor = open_redactor(names) if redact or names else None
    try:
        report = import_paths(
            format_name, paths, out, view=view, encoding=encoding, redactor=redactor
        )
    except NothingImported as error:
        if as_json:
            sys.stdout.write(orjson.dumps(error.report.record()).decode() + "\n")
        raise
    if redactor and redactor.remembered:  # what a later message told to be a secret
        redact_dataset(out, out, redactor)
    if as_json:
        told = {"redacted": dict(sorted(redactor.replaced.items()))} if redactor else {}
        sys.stdout.write(orjson.dumps(report.record() | told).decode() + "\n")
    else:
        _print_import(report, out)
        if redactor:
            typer.echo(f"replaced: {counted(redactor.replaced)}")
    if report.failures:
        raise typer.Exit(EXIT_FOUND)


@app.command()
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line.")] = False,
) -> None:
    """Check what a run needs here: database, extensions, embedder, tokenizer, key, disk."""
    from ctxeng.cli.checks import run_checks

    checks = run_checks(workspace())
    if as_json:
        body = [{"name": c.name, "ok": c.ok, "detail": c.detail} for c in checks]
        sys.stdout.write(orjson.dumps(body).decode() + "\n")
    else:
        for check in checks:
            mark = "ok" if check.ok else ("no" if check.required else "--")
            typer.echo(printable(f"{mark:3} {check.name:12} {check.detail}"))
    if any(check.required and not check.ok for check in checks):
        raise typer.Exit(EXIT_CANNOT_RUN)


def _format_and_paths(words: list[str]) -> tuple[str, list[Path]]:
    from ctxeng.core.errors import DatasetError
    from ctxeng.harness.importers.registry import AUTO, importer_named, is_format

    if is_format(words[0]):
        format_name, *words = words
    else:
        format_name = AUTO
        if len(words) > 1 and not Path(words[0]).exists():
            importer_named(words[0])  # raises, and names the formats there are
    if not words:
        raise DatasetError(
            f"a path must follow the format, got {format_name!r} alone. Name a file or a folder."
        )
    return format_name, [Path(word) for word in words]


def _print_import(report: ImportReport, out: Path) -> None:
    skipped = ", ".join(f"{n} {why}" for why, n in sorted(report.skipped.items())) or "0"
    lines = [
        f"{numbered(report.sessions, 'session')}, {numbered(report.messages, 'message')}, "
        f"{numbered(report.probes, 'probe')} in {out}",
        f"read {report.read} = imported {report.imported} + merged {report.merged} "
        f"+ skipped {sum(report.skipped.values())} ({skipped})",
    ]
    lines += [
        f"{finding.file}{f':{finding.line}' if finding.line else ''}: {finding.what}"
        for finding in (*report.failures, *report.findings)
    ]
    for line in lines:
        typer.echo(printable(line))
