"""Everything a report says about one run, computed once for terminal, HTML, plot and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxeng.harness.attribution.drift import stored_rounds, stored_wordings
from ctxeng.harness.attribution.position import BUCKETS
from ctxeng.harness.reports.activity import Activity, activities
from ctxeng.harness.reports.drift import DriftRow, drift_rows
from ctxeng.harness.reports.losses import LossRow, loss_rows
from ctxeng.harness.reports.recall import ALL, RecallRow, grouped_rows, recall_rows
from ctxeng.harness.results.database import connect, rows, table_rows
from ctxeng.harness.results.run_folder import RunFolder

MIN_PROBES = 40
MAX_ERROR_SHARE = 0.01
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


def summarise(run: RunFolder) -> Summary:
    """Return the summary of a finished run."""
    manifest = run.manifest()
    with connect(run) as connection:
        cells = rows(connection, "SELECT * FROM cells")
        artifacts = rows(connection, "SELECT arm, session_id, kind, level FROM artifacts")
        failures = rows(connection, "SELECT arm, session_id, kind, reason FROM failures")
        costs = _costs(rows(connection, _COSTS))
    rounds = stored_rounds(table_rows(run, "rounds"))
    wordings = stored_wordings(table_rows(run, "wordings"))
    names = list(manifest["arms"])
    activity = activities(cells, artifacts, failures, manifest["arms"])
    recall = recall_rows(cells, names)
    return Summary(
        run_id=run.run_id,
        manifest=manifest,
        arms=tuple(n for n in names if manifest["arms"][n]["control"] is None),
        controls=tuple(n for n in names if manifest["arms"][n]["control"] is not None),
        buckets=tuple(b for b in BUCKETS if any(row.bucket == b for row in recall)),
        recall=tuple(recall),
        by_kind=tuple(grouped_rows(cells, names, lambda cell: cell["kind"])),
        by_category=tuple(grouped_rows(cells, names, lambda cell: cell["category"])),
        by_language=tuple(grouped_rows(cells, names, lambda cell: cell["language"])),
        by_depth=tuple(grouped_rows(cells, names, _depth_band)),
        activity=tuple(activity),
        survival=tuple(_survival(name, cells) for name in names),
        loss_rows=tuple(loss_rows(cells, names)),
        drift=tuple(drift_rows(rounds, wordings, names)),
        costs=tuple(costs),
        notices=tuple(_notices(manifest, activity, recall, cells)),
    )


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


def _depth_band(cell: Mapping[str, Any]) -> str | None:
    """Return the fifth of the session in which the fact is stated."""
    if cell["depth"] is None:
        return None
    low = min(4, int(cell["depth"] * 5)) * 20
    return f"{low:02d}-{low + 20} % of the session"


def _survival(arm: str, cells: Sequence[Mapping[str, Any]]) -> Survival:
    counts: Counter[tuple[bool, bool]] = Counter()
    guessed = []
    for cell in cells:
        present, right = cell["value_in_context"], cell["outcome"] == "recalled"
        is_decided = cell["outcome"] not in (*NOT_AN_ANSWER, "skipped")
        if cell["arm"] != arm or present is None or not is_decided:
            continue
        counts[present, right] += 1
        if right and not present:
            guessed.append(str(cell["probe_id"]))
    return Survival(
        arm=arm,
        in_answered=counts[True, True],
        in_missed=counts[True, False],
        out_missed=counts[False, False],
        out_answered=counts[False, True],
        out_answered_probes=tuple(dict.fromkeys(guessed)),
    )


def _notices(
    manifest: Mapping[str, Any],
    activity: Sequence[Activity],
    recall: Sequence[RecallRow],
    cells: Sequence[Mapping[str, Any]],
) -> list[str]:
    notices = [OFFLINE_NOTICE] if manifest["is_offline"] else []
    idle = [row.arm for row in activity if row.is_idle]
    if idle:
        notices.append(f"Idle arms, which measure nothing: {', '.join(idle)}.")
    notices += _error_notices(cells)
    notices += _control_notices(manifest, recall)
    thin = _thin_buckets(manifest, recall)
    if thin:
        notices.append(f"Too few probes for a claim (under {MIN_PROBES}): {', '.join(thin)}.")
    return notices


def _error_notices(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    counts = Counter(cell["outcome"] for cell in cells)
    notices = []
    if counts["error"] > MAX_ERROR_SHARE * len(cells):
        notices.append(f"Incomplete: {counts['error']} of {len(cells)} cells are errors.")
    left = {name: counts[name] for name in NOT_AN_ANSWER if counts[name]}
    if left:
        listed = ", ".join(f"{n} {name}" for name, n in left.items())
        notices.append(f"Not counted as misses: {listed} of {len(cells)} cells.")
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
        f"{row.bucket} n={row.n}"
        + (f" sees drops of {row.mde:.0%} and more" if row.mde else " sees no drop at all")
        for row in recall
        if row.arm == manifest["reference_arm"] and row.bucket in BUCKETS and row.n < MIN_PROBES
    ]
