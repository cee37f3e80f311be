"""Everything a report says about one run, computed once for terminal, HTML, plot and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from ctxeng.core.text import numbered
from ctxeng.harness.attribution.drift import stored_rounds, stored_wordings
from ctxeng.harness.attribution.position import BUCKETS
from ctxeng.harness.reports.activity import Activity, activities
from ctxeng.harness.reports.answerers import answerer_notices
from ctxeng.harness.reports.drift import DriftRow, drift_rows
from ctxeng.harness.reports.losses import LossRow, loss_rows
from ctxeng.harness.reports.noise import NoiseRow, RetentionRow, noise_rows, retention_rows
from ctxeng.harness.reports.recall import ALL, RecallRow, grouped_rows, recall_rows
from ctxeng.harness.results.aggregates import (
    Grouping,
    answer_counts,
    arm_means,
    artifact_counts,
    guessed_probes,
    prepare,
    session_counts,
    tally,
)
from ctxeng.harness.results.database import reading, rows, table_rows
from ctxeng.harness.results.run_folder import RunFolder
from ctxeng.harness.stats.compare import MIN_PROBES, position
from ctxeng.harness.stats.gate import MAX_ERROR_SHARE

MAX_GUESSED = 13  # probes listed by name; a report shows one fewer and that there are more
OFFLINE_NOTICE = (
    "Made with the offline model, a plain extractive baseline: its recall describes the plumbing, "
    "not Claude."
)
NOT_AN_ANSWER = ("error", "refused", "undecided")


@dataclass(frozen=True, slots=True, kw_only=True)
class Survival:
    """Survived x used, for one arm: probes by presence in context and by answer."""

    arm: str
    in_answered: int
    in_missed: int
    out_missed: int
    out_answered: int
    out_answered_probes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Calls, tokens and money of one role. ``cost_usd`` None: some price is unknown."""

    role: str
    model: str
    calls: int
    made: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One run, ready to be shown."""

    run_id: str
    manifest: Mapping[str, Any]
    arms: tuple[str, ...]
    controls: tuple[str, ...]
    buckets: tuple[str, ...]
    recall: tuple[RecallRow, ...]
    by_kind: tuple[RecallRow, ...]
    by_category: tuple[RecallRow, ...]
    by_language: tuple[RecallRow, ...]
    by_depth: tuple[RecallRow, ...]
    activity: tuple[Activity, ...]
    survival: tuple[Survival, ...]
    loss_rows: tuple[LossRow, ...]
    drift: tuple[DriftRow, ...]
    costs: tuple[Cost, ...]
    notices: tuple[str, ...]
    retention: tuple[RetentionRow, ...] = ()
    noise: tuple[NoiseRow, ...] = ()

    @property
    def asked(self) -> bool:
        """Return whether a reader answered."""
        return any(row.recall is not None for row in self.recall)

    @property
    def is_paraphrased(self) -> bool:
        """Return whether the whole history lacks expected values: presence then means evidence."""
        row = self.row("full", ALL)
        return row is not None and row.in_context is not None and row.in_context < 1.0

    def row(self, arm: str, bucket: str) -> RecallRow | None:
        """Return one row of the recall table, None where there is none."""
        return next((r for r in self.recall if r.arm == arm and r.bucket == bucket), None)

    @property
    def n_line(self) -> str:
        """Return whose n heads the answers table and where others differ, empty where none does."""
        reference = self.manifest["reference_arm"]
        told = []
        for bucket in (ALL, *self.buckets):
            head = self.row(reference, bucket)
            rows = (self.row(arm, bucket) for arm in (*self.arms, *self.controls))
            found = {row.n for row in rows if row is not None} - {head.n if head else 0}
            if found:
                low, high = min(found), max(found)
                told.append(f"{position(bucket)} {low}" + (f"-{high}" if high > low else ""))
        return f"n is {reference}'s; others decided: {', '.join(told)}." if told else ""

    def records(self) -> list[dict[str, Any]]:
        """Return the recall table as plain JSON, each row with its effective retention or None."""
        kept = {(row.arm, row.bucket): row.retention.record() for row in self.retention}
        return [
            {**row.record(), "retention": kept.get((row.arm, row.bucket))} for row in self.recall
        ]


def summarise(run: RunFolder) -> Summary:
    """Return the summary of a finished run."""
    manifest = run.manifest()
    rounds = stored_rounds(table_rows(run, "rounds"))
    wordings = stored_wordings(table_rows(run, "wordings"))
    names = list(manifest["arms"])
    with reading(run) as connection:
        prepare(connection)
        counted = {name: session_counts(connection, name) for name in get_args(Grouping)}
        tallied = tally(connection)
        answers = answer_counts(connection)
        guessed = guessed_probes(connection, limit=MAX_GUESSED)
        activity = activities(
            arm_means(connection),
            artifact_counts(connection),
            {row["arm"]: row["n"] for row in rows(connection, _FAILURES)},
            manifest["arms"],
        )
        costs = _costs(rows(connection, _COSTS))
    recall = recall_rows(counted, names)
    measured = [n for n in names if manifest["arms"][n]["control"] is None]
    for row in counted["depth"]:
        row["grp"] = f"{row['grp']:02d}-{row['grp'] + 20} % of the session"
    return Summary(
        run_id=run.run_id,
        manifest=manifest,
        arms=tuple(measured),
        controls=tuple(n for n in names if manifest["arms"][n]["control"] is not None),
        buckets=tuple(b for b in BUCKETS if any(row.bucket == b for row in recall)),
        recall=tuple(recall),
        by_kind=tuple(grouped_rows(counted["kind"], names)),
        by_category=tuple(grouped_rows(counted["category"], names)),
        by_language=tuple(grouped_rows(counted["language"], names)),
        by_depth=tuple(grouped_rows(counted["depth"], names)),
        activity=tuple(activity),
        survival=tuple(_survival(name, tallied, guessed.get(name, ())) for name in names),
        loss_rows=tuple(loss_rows(tallied, names)),
        drift=tuple(drift_rows(rounds, wordings, names)),
        costs=tuple(costs),
        notices=tuple(_notices(manifest, activity, recall, tallied, answers)),
        retention=tuple(retention_rows(run, measured)),
        noise=tuple(noise_rows(run, measured)),
    )


_FAILURES = "SELECT arm, count(*) AS n FROM failures GROUP BY arm"
_COSTS = """
SELECT role, model, count(*) AS calls,
       count(*) FILTER (WHERE NOT coalesce(from_ledger, false)) AS made,
       coalesce(sum(input_tokens + cached_tokens + cache_write_tokens), 0) AS input_tokens,
       coalesce(sum(output_tokens), 0) AS output_tokens,
       CASE WHEN count(cost_usd) = count(*) THEN sum(cost_usd) END AS cost_usd
FROM calls GROUP BY role, model ORDER BY role, model
"""


def _costs(found: Sequence[Mapping[str, Any]]) -> list[Cost]:
    return [
        Cost(
            role=row["role"],
            model=row["model"],
            calls=int(row["calls"]),
            made=int(row["made"]),
            input_tokens=int(row["input_tokens"]),
            output_tokens=int(row["output_tokens"]),
            cost_usd=row["cost_usd"],
        )
        for row in found
    ]


def _survival(arm: str, tallied: Sequence[Mapping[str, Any]], guessed: tuple[str, ...]) -> Survival:
    counts: Counter[tuple[bool, bool]] = Counter()
    for row in tallied:
        is_decided = row["outcome"] not in (*NOT_AN_ANSWER, "skipped")
        if row["arm"] == arm and row["value_in_context"] is not None and is_decided:
            counts[row["value_in_context"], row["outcome"] == "recalled"] += row["n"]
    return Survival(
        arm=arm,
        in_answered=counts[True, True],
        in_missed=counts[True, False],
        out_missed=counts[False, False],
        out_answered=counts[False, True],
        out_answered_probes=guessed,
    )


def _notices(
    manifest: Mapping[str, Any],
    activity: Sequence[Activity],
    recall: Sequence[RecallRow],
    tallied: Sequence[Mapping[str, Any]],
    answers: Sequence[Mapping[str, Any]],
) -> list[str]:
    notices = [OFFLINE_NOTICE] if manifest["is_offline"] else []
    idle = [row.arm for row in activity if row.is_idle]
    if idle:
        notices.append(f"Idle arms, which measure nothing: {', '.join(idle)}.")
    notices += _error_notices(tallied)
    if excluded := manifest.get("excluded"):
        told = "; ".join(f"{n} {reason}" for reason, n in excluded.items())
        notices.append(f"Probes excluded, and not asked: {told}.")
    notices += _control_notices(manifest, recall)
    if manifest["counts"]["sessions"] == 1:
        notices.append("One session: no interval between sessions can be given.")
    notices += answerer_notices(answers)
    thin = _thin_buckets(manifest, recall)
    if thin:
        notices.append(f"Too few probes for a claim (under {MIN_PROBES}): {', '.join(thin)}.")
    return notices


def _error_notices(tallied: Sequence[Mapping[str, Any]]) -> list[str]:
    counts: Counter[str] = Counter()
    for row in tallied:
        counts[row["outcome"]] += row["n"]
    cells, notices = counts.total(), []
    if counts["error"] > MAX_ERROR_SHARE * cells:
        notices.append(f"Incomplete: {counts['error']} of {numbered(cells, 'cell')} are errors.")
    left = {name: counts[name] for name in NOT_AN_ANSWER if counts[name]}
    if left:
        listed = ", ".join(f"{n} {name}" for name, n in left.items())
        notices.append(f"Not counted as misses: {listed} of {numbered(cells, 'cell')}.")
    return notices


def _control_notices(manifest: Mapping[str, Any], recall: Sequence[RecallRow]) -> list[str]:
    """Return what is wrong with the controls, or what to read where values are paraphrases."""
    overall = {row.arm: row for row in recall if row.bucket == ALL}
    wanted = {"full": 1.0, "verbatim": 1.0, "none": 0.0}
    wrong = [
        f"{arm} {row.in_context:.1%}"
        for arm, row in overall.items()
        if arm in wanted and row.in_context not in (None, wanted[arm])
    ]
    if not wrong:
        return []
    full, none = overall.get("full"), overall.get("none")
    holds_evidence = full is not None and full.evidence == 1.0
    if holds_evidence and (none is None or none.in_context == 0.0):
        return [
            f"Expected values are paraphrases in part ({', '.join(wrong)} in context): read the "
            "table of evidence messages, which the whole history holds completely."
        ]
    return [
        f"Controls off their mark in context: {', '.join(wrong)} (full and verbatim must be "
        "100 %, none 0 %): a fault in the plumbing, or in a probe."
    ]


def _thin_buckets(manifest: Mapping[str, Any], recall: Sequence[RecallRow]) -> list[str]:
    return [
        f"{position(row.bucket)} n={row.n}"
        + (f" sees drops of {row.mde:.0%} and more" if row.mde else " sees no drop at all")
        for row in recall
        if row.arm == manifest["reference_arm"] and row.bucket in BUCKETS and row.n < MIN_PROBES
    ]
