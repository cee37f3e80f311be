"""A finished run as a page of results: what was expected, what came out, what it cannot tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import orjson

from ctxeng.core.errors import InputError
from ctxeng.core.text import numbered
from ctxeng.harness.attribution.position import crosses
from ctxeng.harness.experiments.economics import Economics
from ctxeng.harness.probes.model import Span
from ctxeng.harness.reports import page_tables
from ctxeng.harness.reports.comparing import (
    SEED,
    Compared,
    compare_with_reference,
    gate_rule,
)
from ctxeng.harness.reports.economics import Grid, markdown_table
from ctxeng.harness.reports.markdown import plain
from ctxeng.harness.reports.recall import RecallRow, recall_row
from ctxeng.harness.reports.summary import Summary, summarise
from ctxeng.harness.reports.sweep import Sweep, sweep_of
from ctxeng.harness.results.aggregates import (
    covered_facts,
    prepare,
    same_prompts,
    session_counts,
    upkeep,
)
from ctxeng.harness.results.database import reading
from ctxeng.harness.results.history import night_of
from ctxeng.harness.results.run_folder import RunFolder
from ctxeng.harness.stats.compare import Comparison, Rule, compare, with_detectable
from ctxeng.harness.stats.paired import Pairs

POSITIONS = "inside an episode, then across a border"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsPage:
    """Everything a page of results says.

    Args:
        sweep, compared: None where the run has one arm only.
        positions: the same facts inside an episode (before) and across a border (after), over arms
            that differ in the phase of the grid alone; None where there are no such arms.
        rounds: recall rows whose bucket is the number of compaction rounds.
        alike: arms of the run whose prompts are the same word for word.
        upkeep: by arm, see ``results.aggregates.upkeep``.
        economics: the same arms along the sessions, where they were played.
    """

    summary: Summary
    sweep: Sweep | None
    compared: Compared | None
    positions: Comparison | None
    rounds: tuple[RecallRow, ...]
    alike: tuple[tuple[str, ...], ...]
    upkeep: Mapping[str, Mapping[str, float | None]]
    economics: Economics | None = None


def results_page(run: RunFolder, *, economics: Economics | None = None) -> ResultsPage:
    """Return the page of a finished run.

    Args:
        economics: of the same experiment; its money takes the place of the run's own.

    Raises:
        InputError: the economics lack an arm of the run.
    """
    summary, night = summarise(run), night_of(run)
    with reading(run) as connection:
        prepare(connection)
        counted = session_counts(connection, "rounds")
        kept, alike = upkeep(connection), same_prompts(connection)
        shifted = _shifted_arms(summary.manifest)
        facts = covered_facts(connection, shifted) if len(shifted) > 1 else []
    pairs = Pairs.of(_moved(facts))
    several = len(summary.arms) > 1
    rule = gate_rule(night, None)
    return ResultsPage(
        summary=summary,
        sweep=sweep_of(run, None, costs=_costs(summary, economics)) if several else None,
        compared=compare_with_reference(night, rule=rule, measure=None) if several else None,
        positions=_positions(pairs, rule) if pairs.n else None,
        rounds=tuple(_round_rows(counted, summary.arms)),
        alike=tuple(
            group for arms in alike if len(group := tuple(a for a in summary.arms if a in arms)) > 1
        ),
        upkeep=kept,
        economics=economics,
    )


def write_results_page(page: ResultsPage, path: Path) -> None:
    """Write a page of results to a Markdown file.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n\n".join(page_parts(page)) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"the page must be writable, got {path} ({error.strerror or error}). "
            "Name another file with --markdown."
        ) from error


def page_parts(page: ResultsPage) -> list[str]:
    """Return the paragraphs and tables of a page, the notice of the offline model first."""
    experiment = page.summary.manifest["experiment"]
    parts = [f"# {plain(experiment['name'])}: {plain(experiment.get('description', ''))}"]
    parts += [f"> {plain(notice)}" for notice in page.summary.notices]
    parts.append(_what_ran(page.summary))
    if experiment.get("expectation"):
        parts.append(f"**Expected.** {plain(experiment['expectation'])}")
    parts.append(f"**Came out.** {' '.join(findings(page))}")
    for grid in _grids(page):
        parts += [f"## {grid.title}", markdown_table(grid), *([grid.note] if grid.note else [])]
    return parts


def findings(page: ResultsPage) -> list[str]:
    """Return what the tests show, and what they cannot tell, as sentences."""
    said = []
    for arms in page.alike:
        said.append(
            f"{', '.join(map(plain, arms))} had the same prompts, word for word: what sets them "
            "apart does not reach what these models write; nothing here speaks for or against it."
        )
    if page.positions is not None:
        said.append(page_tables.position_sentence(page.positions))
    if page.compared is not None:
        said += page_tables.comparison_sentences(page.compared)
    else:
        said.append("One arm: nothing to compare it with.")
    if page.sweep is not None and page.sweep.front.inseparable:
        pairs = "; ".join(
            f"{plain(one)} from {plain(other)}" for one, other in page.sweep.front.inseparable
        )
        said.append(f"Over all positions these probes cannot separate {pairs}.")
    return said


def _grids(page: ResultsPage) -> list[Grid]:
    summary = page.summary
    grids = [page_tables.recall_grid(summary, asked=False)]
    if summary.asked:
        grids.insert(0, page_tables.recall_grid(summary, asked=True))
    if page.sweep is not None:
        grids.append(page_tables.front_grid(page.sweep, priced=page.economics is not None))
    if page.compared is not None:
        grids.append(page_tables.compared_grid(page.compared))
    if page.positions is not None:
        grids.append(page_tables.positions_grid(page.positions))
    if page.economics is not None:
        grids.append(page_tables.money_grid(page.economics))
    grids.append(page_tables.activity_grid(summary, page.upkeep))
    grids.append(page_tables.rounds_grid(page.rounds))
    if any(row.curve for row in summary.drift):
        grids.append(page_tables.decay_grid(summary.drift))
    grids.append(page_tables.losses_grid(summary))
    return grids


def _what_ran(summary: Summary) -> str:
    manifest = summary.manifest
    counts, models = manifest["counts"], manifest["experiment"]["models"]
    roles = ("reader", "summariser", "distiller", "judge", "embedder", "counter")
    named = ", ".join(f"{role} {plain(models[role])}" for role in roles if models.get(role))
    answerable = summary.row(summary.manifest["reference_arm"], "all")
    return (
        f"{numbered(counts['sessions'], 'session')}, {numbered(counts['messages'], 'message')}, "
        f"{numbered(counts['probes'], 'probe')} ({answerable.in_context_n if answerable else 0} "
        "of facts that were stated), "
        f"{numbered(counts['cells'], 'cell')}; {named}. Intervals are of 95 %, sessions taken as "
        "independent and probes of one session not. Positions are those of the reference arm, "
        f"{plain(manifest['reference_arm'])}."
    )


def _costs(summary: Summary, economics: Economics | None) -> dict[str, float] | None:
    if economics is None:
        return None
    found = {arm.arm: arm.cost().usd_per_1000_turns for arm in economics.arms}
    lacking = [arm for arm in summary.arms if arm not in found]
    if lacking:
        raise InputError(
            f"--economics must name the run's own experiment, got {economics.name!r} without "
            f"{', '.join(lacking)} ({summary.run_id})."
        )
    return found


def _shifted_arms(manifest: Mapping[str, Any]) -> list[str]:
    """Return the arms that are the reference arm but for the phase of its episode grid."""

    def shape(arm: str) -> Any:
        settings = manifest["arms"][arm]["settings"]
        return {**settings, "episodes": {**settings["episodes"], "phase": None}}

    reference = shape(manifest["reference_arm"])
    return [
        name
        for name, arm in manifest["arms"].items()
        if arm["control"] is None and shape(name) == reference
    ]


def _moved(facts: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, float, float]]:
    """Yield session, presence inside an episode and across a border of facts that stood at both.

    Borders are each arm's own. A fact whose spans stand differently is at neither.
    """
    places: dict[tuple[str, str], dict[bool, list[float]]] = {}
    for row in facts:
        spans = [Span(from_seq=a, to_seq=b) for a, b in orjson.loads(row["evidence"])]
        found = {crosses(span, row["starts"]) for span in spans}
        if len(found) == 1:
            fact = places.setdefault((row["session_id"], row["probe_id"]), {})
            fact.setdefault(found.pop(), []).append(row["present"])
    for (session_id, _), fact in places.items():
        if len(fact) == 2:
            yield session_id, fmean(fact[False]), fmean(fact[True])


def _positions(pairs: Pairs, rule: Rule) -> Comparison:
    key = ("every phase", POSITIONS)
    rng = np.random.default_rng(SEED)
    found = compare({key: pairs}, rule=rule, rng=rng)
    return with_detectable(found, {key: pairs}, rule=rule, rng=rng)[0]


def _round_rows(counted: Sequence[Mapping[str, Any]], arms: Sequence[str]) -> list[RecallRow]:
    """Return a row for every arm and group of rounds, fewest rounds first."""
    groups: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for row in counted:
        groups.setdefault((row["arm"], row["grp"]), []).append(row)
    return [
        recall_row(arm, str(rounds), groups[arm, rounds])
        for arm in arms
        for rounds in sorted(number for name, number in groups if name == arm)
    ]
