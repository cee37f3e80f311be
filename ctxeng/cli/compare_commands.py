"""``ctxeng compare``, ``gate``, ``history``, ``sweep``: runs, arms and nights beside each other."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import orjson
import typer

from ctxeng.cli.app import EXIT_CANNOT_RUN, EXIT_FOUND, EXIT_NOT_ENOUGH, app, workspace
from ctxeng.cli.economics_commands import played_economics

if TYPE_CHECKING:
    from ctxeng.harness.results.history import Night
    from ctxeng.harness.results.pairing import Side
    from ctxeng.harness.results.run_folder import RunFolder

GATE_EXITS = {
    "pass": 0,
    "regression": EXIT_FOUND,
    "incomplete": EXIT_CANNOT_RUN,
    "not enough data": EXIT_NOT_ENOUGH,
}
MeasureFlag = Literal["answer", "in_context"]
Reports = Annotated[Path | None, typer.Option(help="Folder of run folders; default: reports/.")]
Margin = Annotated[
    float | None, typer.Option(min=0.001, max=0.999, help="Loss that does not matter, 0..1.")
]
HistoryFolder = Annotated[
    Path | None, typer.Option(help="Folder of the history; default: reports/history/.")
]


@app.command()
def compare(
    before: Annotated[str, typer.Argument(help="Run (folder, id, `latest`), or RUN:ARM.")],
    after: Annotated[str, typer.Argument(help="The same, of the other side.")],
    margin: Margin = None,
    measure: Annotated[
        MeasureFlag | None, typer.Option(help="Default: answers where a reader was asked.")
    ] = None,
    reports: Reports = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line.")] = False,
) -> None:
    """Compare two runs, or two arms, probe by probe: verdicts by position with intervals.

    A and B are runs (a folder, an id, its beginning, `latest`) or RUN:ARM.
    """
    from ctxeng.core.errors import InputError
    from ctxeng.harness.reports import comparing, comparison_table

    folder = reports or workspace() / "reports"
    old, new = _side(before, folder), _side(after, folder)
    rule = comparing.gate_rule(new[0], margin)
    if (old[1] is None) != (new[1] is None):
        raise InputError(f"both sides must name an arm, or none, got {before!r} and {after!r}.")
    if old[1] is not None and new[1] is not None:
        found = comparing.compare_arms(
            _arm(old[0], old[1]), _arm(new[0], new[1]), rule=rule, measure=measure
        )
    else:
        arms = comparing.common_arms(old[0], new[0])
        if not arms:
            raise InputError(
                f"runs must share an arm, got {before!r} and {after!r}. "
                "Compare RUN:ARM with RUN:ARM."
            )
        found = comparing.compare_nights(old[0], new[0], arms=arms, rule=rule, measure=measure)
    if as_json:
        sys.stdout.write(orjson.dumps(found.record()).decode() + "\n")
    else:
        comparison_table.print_compared(found, comparison_table.console())


@app.command()
def gate(
    run: Annotated[str, typer.Argument(help="Run folder, id, its beginning, or `latest`.")],
    against: Annotated[
        str | None, typer.Option(help="Base run; default: the last comparable night.")
    ] = None,
    arm: Annotated[
        list[str] | None,
        typer.Option(help="Arm to gate instead of those the experiment names; repeatable."),
    ] = None,
    margin: Margin = None,
    reports: Reports = None,
    history: HistoryFolder = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line.")] = False,
) -> None:
    """Check that recall is not worse by more than a margin; 1 regression, 3 not enough data.

    What decides stands in the experiment's [gate] section (docs/statistics.md); --arm and --margin
    take its place.
    """
    from ctxeng.harness.reports import comparison_table
    from ctxeng.harness.reports.nightly import against as compared_with
    from ctxeng.harness.results.history import last_comparable, night_of, read_history
    from ctxeng.harness.results.run_folder import open_run

    folder = reports or workspace() / "reports"
    tonight = night_of(open_run(run, reports=folder))
    if against is not None:
        base: Night | None = night_of(open_run(against, reports=folder))
    else:
        nights = read_history(history or folder / "history")
        base = last_comparable(nights.of(tonight.conditions["experiment"]), tonight).night
    compared, decision = compared_with(tonight, base, margin=margin, arms=arm or ())
    if as_json:
        body = {"gate": decision.record(), "compared": compared.record() if compared else None}
        sys.stdout.write(orjson.dumps(body).decode() + "\n")
    else:
        out = comparison_table.console()
        if compared is not None:
            comparison_table.print_compared(compared, out)
        comparison_table.print_gate(decision, out)
        if compared is None:
            out.print(
                "Name a run to compare with (--against RUN), or let `ctxeng nightly` make one."
            )
    raise typer.Exit(GATE_EXITS[decision.status])


@app.command()
def history(
    experiment: Annotated[
        str | None, typer.Argument(help="Name of the experiment; needed where there are several.")
    ] = None,
    arm: Annotated[str | None, typer.Option(help="Default: the reference arm.")] = None,
    measure: Annotated[
        MeasureFlag | None, typer.Option(help="Default: answers where a reader was asked.")
    ] = None,
    reports: Reports = None,
    folder: Annotated[
        Path | None,
        typer.Option("--history", help="Folder of the history; default: reports/history/."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON line for every night.")
    ] = False,
) -> None:
    """Show recall by position over the nights, with intervals, and where conditions changed."""
    from ctxeng.harness.reports import comparison_table
    from ctxeng.harness.reports.trend import open_trend

    where = folder or (reports or workspace() / "reports") / "history"
    found = open_trend(where, experiment=experiment, arm=arm, measure=measure)
    for line in found.damaged:
        typer.echo(f"ctxeng: left out {line}", err=True)
    if as_json:
        for point in found.points:
            sys.stdout.write(orjson.dumps(point.record()).decode() + "\n")
    else:
        comparison_table.print_trend(found, comparison_table.console())


@app.command()
def sweep(
    run: Annotated[
        str, typer.Argument(help="Run folder, id, its beginning, or `latest`.")
    ] = "latest",
    measure: Annotated[
        MeasureFlag | None, typer.Option(help="Default: answers where a reader was asked.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write a page of results to this file instead.")
    ] = None,
    economics: Annotated[
        Path | None,
        typer.Option(
            help="The run's experiment file: its money along the sessions joins the page."
        ),
    ] = None,
    reports: Reports = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line.")] = False,
) -> None:
    """Show which arms no other beats in recall, tokens and money, and which cannot be separated.

    With --markdown it writes a page of results, with --economics also money and cache along the
    sessions.
    """
    from ctxeng.core.errors import InputError
    from ctxeng.harness.reports import comparison_table
    from ctxeng.harness.reports.sweep import sweep_of
    from ctxeng.harness.results.run_folder import open_run

    opened = open_run(run, reports=reports or workspace() / "reports")
    if economics is not None and markdown is None:
        raise InputError("--economics must stand with --markdown. Name a file for the page.")
    if markdown is not None:
        _write_page(opened, markdown, economics)
        return
    found = sweep_of(opened, measure)
    if as_json:
        sys.stdout.write(orjson.dumps(found.record()).decode() + "\n")
    else:
        comparison_table.print_front(found, comparison_table.console())


def _write_page(run: RunFolder, page: Path, experiment: Path | None) -> None:
    from ctxeng.harness.reports.results_page import results_page, write_results_page

    played = None if experiment is None else played_economics(experiment)
    write_results_page(results_page(run, economics=played), page)
    typer.echo(str(page))


def _side(name: str, reports: Path) -> tuple[Night, str | None]:
    """Return the run and the arm that ``RUN`` or ``RUN:ARM`` names."""
    from ctxeng.harness.results.history import night_of
    from ctxeng.harness.results.run_folder import open_run

    run, colon, arm = name.partition(":")
    return night_of(open_run(run, reports=reports)), arm if colon else None


def _arm(night: Night, arm: str) -> Side:
    from ctxeng.harness.results.pairing import Side

    return Side(night=night, arm=arm)
