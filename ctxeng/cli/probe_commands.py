"""``ctxeng probes``: check, draft, review and plan probe sets."""

from __future__ import annotations

import asyncio
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from ctxeng.cli.app import EXIT_FOUND, app, workspace
from ctxeng.core.errors import InputError
from ctxeng.core.text import numbered, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxeng.core.messages import Session
    from ctxeng.harness.probes.model import Probe
    from ctxeng.harness.scoring.lint import LintFinding
    from ctxeng.harness.stats.planning import Assumed, Need

probes_app = typer.Typer(help="Check, draft, review and plan probe sets.", no_args_is_help=True)
app.add_typer(probes_app, name="probes")

SessionsOption = Annotated[
    list[Path], typer.Option(help="Dataset folder or session file; may be given again.")
]


@probes_app.callback()
def _group() -> None:
    """Check, draft, review and plan probe sets."""


@probes_app.command()
def lint(
    probes: Annotated[Path, typer.Argument(help="Probe file (JSON Lines).")],
    sessions: SessionsOption,
    run: Annotated[
        str | None, typer.Option(help="A run of these probes: guessed values, small buckets.")
    ] = None,
    old_facts: Annotated[
        bool, typer.Option("--old-facts", help="With --run: no fact may be in the recent window.")
    ] = False,
    fix: Annotated[
        bool, typer.Option("--fix", help="Write the evidence where one message states the value.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line a finding.")] = False,
) -> None:
    """Check probes against their sessions; exit code 1 when something is found.

    Each finding names file, line, probe, rule, evidence and remedy.
    """
    from ctxeng.harness.probes.io import check_against, probe_lines, read_probes, write_probes
    from ctxeng.harness.scoring.lint import lint as findings_of
    from ctxeng.harness.scoring.lint import placed
    from ctxeng.harness.sessions.io import load_dataset

    loaded, read = load_dataset(sessions), read_probes(probes)
    check_against(read, loaded)
    if fix:
        read, mended_ids = _mended(read, loaded)
        if mended_ids:
            write_probes(read, probes)
        typer.echo(f"{numbered(len(mended_ids), 'probe')} mended", err=as_json)
    live = [probe for probe in read if probe.status != "excluded"]
    findings = findings_of(live, loaded) + (_from_run(run, read, old_facts) if run else [])
    findings = placed(findings, str(probes), probe_lines(probes))
    _print_findings(findings, as_json=as_json)
    if not as_json:
        typer.echo(f"{_counted(read)}, {_summed(findings)}")
    if any(not finding.is_warning for finding in findings):
        raise typer.Exit(EXIT_FOUND)


@probes_app.command()
def draft(
    session: Annotated[Path, typer.Argument(help="Session file or dataset folder.")],
    out: Annotated[Path, typer.Option(help="Probe file to write; must not exist.")],
    model: Annotated[str, typer.Option(help="`offline`: cues; else a model.")] = "offline",
    limit: Annotated[int | None, typer.Option(min=1, help="Most drafts a session.")] = None,
) -> None:
    """Propose probes of recorded sessions as drafts; none is asked before it is accepted."""
    from ctxeng.harness.experiments.drafting import draft_with_model
    from ctxeng.harness.probes.io import write_probes
    from ctxeng.harness.scoring.drafting import draft_probes
    from ctxeng.harness.sessions.io import load_dataset

    if out.exists():
        raise InputError(f"--out must name a new file, got {out} (exists). Name another.")
    drafts: list[Probe] = []
    for one in load_dataset([session]):
        if model == "offline":
            drafts += draft_probes(one, limit=limit)
        else:
            proposed = asyncio.run(draft_with_model(one, model=model, workspace=workspace()))
            drafts += proposed[:limit]
    write_probes(drafts, out)
    then = shlex.join(["ctxeng", "probes", "review", str(out), "--sessions", str(session)])
    typer.echo(printable(f"{numbered(len(drafts), 'draft')} in {out}; next: {then}"))


@probes_app.command()
def review(
    file: Annotated[Path, typer.Argument(help="Probe file with drafts; written after each key.")],
    sessions: SessionsOption,
) -> None:
    """Show each draft with its evidence in its surroundings; one key accepts, edits or rejects.

    Accepted probes are frozen: a run refuses one that was changed afterwards.
    """
    from ctxeng.cli.reviewing import check_terminal, review_file
    from ctxeng.harness.sessions.io import load_dataset

    check_terminal()
    counts = review_file(file, load_dataset(sessions))
    typer.echo(", ".join(f"{n} {status}" for status, n in sorted(counts.items())))


@probes_app.command()
def plan(
    effect: Annotated[float, typer.Option(min=0.005, max=1, help="Drop of recall, 0–1.")] = 0.1,
    run: Annotated[str | None, typer.Option(help="Pilot run; else what is assumed below.")] = None,
    arm: Annotated[str | None, typer.Option(help="Arm of the pilot; default: reference.")] = None,
    against: Annotated[str | None, typer.Option(help="Arm it is compared with.")] = None,
    noise: Annotated[
        float, typer.Option(min=0, max=0.5, help="Share of probes that change the other way.")
    ] = 0.02,
    correlation: Annotated[
        float, typer.Option(min=0, max=1, help="Correlation of probes within a session.")
    ] = 0.1,
    per_session: Annotated[int, typer.Option(min=1, help="Probes a session and bucket.")] = 8,
    power: Annotated[float, typer.Option(min=0.5, max=0.99, help="Power, 0–1.")] = 0.8,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line a bucket.")] = False,
) -> None:
    """Say how many probes and sessions each bucket needs to show a drop of recall."""
    from ctxeng.harness.reports.terminal import WIDTH
    from ctxeng.harness.stats.planning import Assumed, need

    assumed = {
        "any": Assumed(
            other_share=noise, correlation=correlation, probes_per_session=float(per_session)
        )
    }
    if run is not None:
        assumed = _piloted(run, arm, against)
    for bucket, one in assumed.items():
        found = need(bucket, one, effect=effect, power=power)
        if as_json:
            sys.stdout.write(orjson.dumps(asdict(found)).decode() + "\n")
        else:
            sys.stdout.write(fill(_plan_line(found, effect, power), WIDTH) + "\n")


def _plan_line(found: Need, effect: float, power: float) -> str:
    from ctxeng.harness.stats.compare import MIN_PROBES, position

    where, pilot = position(found.bucket), found.assumed.pilot_probes
    basis = (
        f"noise {found.assumed.other_share:.1%}, correlation {found.assumed.correlation:.2f}, "
        f"{found.assumed.probes_per_session:.1f} probes a session"
    )
    if pilot is not None and pilot < MIN_PROBES:
        basis += f"; of {numbered(pilot, 'probe')} alone: too few to plan by"
    if found.probes is None or found.sessions is None:
        return f"{where}: no number up to 5000 shows a drop of {effect:.1%} ({basis})"
    return (
        f"{where}: {numbered(found.probes, 'probe')} in "
        f"{numbered(found.sessions, 'session')} show a drop of "
        f"{effect:.1%} with {power:.0%} power ({basis})"
    )


def _piloted(name: str, arm: str | None, against: str | None) -> dict[str, Assumed]:
    from ctxeng.harness.results.database import table_rows
    from ctxeng.harness.results.run_folder import open_run
    from ctxeng.harness.stats.planning import assumed_from

    run = open_run(name, reports=workspace() / "reports")
    cells = table_rows(run, "cells")
    arms = sorted({cell["arm"] for cell in cells if not cell["is_control"]})
    ours = arm or run.manifest()["reference_arm"]
    theirs = against or next((one for one in arms if one != ours), ours)
    for one in (ours, theirs):
        if one not in {cell["arm"] for cell in cells}:
            raise InputError(f"arm must be one of {', '.join(arms)}, got {one!r} ({run.run_id}).")
    chosen = "" if against else " (the first other arm; --against names another)"
    typer.echo(f"pilot {run.run_id}: {ours} against {theirs}{chosen}", err=True)
    return assumed_from(cells, arm=ours, against=theirs)


def _mended(read: Sequence[Probe], sessions: Sequence[Session]) -> tuple[list[Probe], set[str]]:
    from ctxeng.harness.scoring.lint import mended

    messages = {session.session_id: session.messages for session in sessions}
    found = {p.probe_id: m for p in read if (m := mended(p, messages[p.session_id])) is not None}
    return [found.get(p.probe_id, p) for p in read], set(found)


def _from_run(name: str, read: Sequence[Probe], old_facts: bool) -> list[LintFinding]:
    from ctxeng.harness.results.database import table_rows
    from ctxeng.harness.results.run_folder import open_run
    from ctxeng.harness.stats.probe_lint import lint_run

    run = open_run(name, reports=workspace() / "reports")
    known = {probe.probe_id for probe in read}
    cells = [cell for cell in table_rows(run, "cells") if cell["probe_id"] in known]
    return lint_run(cells, reference_arm=run.manifest()["reference_arm"], old_facts=old_facts)


def _counted(probes: Sequence[Probe]) -> str:
    """Return how many probes there are, and how many of them are never asked."""
    drafts = sum(probe.status == "draft" for probe in probes)
    excluded = sum(probe.status == "excluded" for probe in probes)
    unasked = [numbered(drafts, "draft")] if drafts else []
    unasked += [f"{excluded} excluded"] if excluded else []
    told = f" ({', '.join(unasked)}: not asked)" if unasked else ""
    return numbered(len(probes), "probe") + told


def _summed(findings: Sequence[LintFinding]) -> str:
    from ctxeng.harness.scoring.lint import counts_by_rule

    counts = ", ".join(f"{n} {rule}" for rule, n in counts_by_rule(findings).items())
    return numbered(len(findings), "finding") + (f": {counts}" if counts else "")


def _print_findings(findings: Sequence[LintFinding], *, as_json: bool) -> None:
    for finding in findings:
        body = {
            "id": finding.probe_id,
            "rule": finding.rule,
            "detail": finding.detail,
            "remedy": finding.remedy,
            "where": finding.where,
            "warning": finding.is_warning,
        }
        line = orjson.dumps(body).decode() if as_json else printable(finding.line())
        sys.stdout.write(line + "\n")
