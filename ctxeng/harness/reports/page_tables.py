"""The tables and sentences of a page of results, from numbers that others worked out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from ctxeng.core.text import numbered, points
from ctxeng.harness.economics.money import NO_CACHE
from ctxeng.harness.experiments.economics import Economics
from ctxeng.harness.reports.comparing import Compared
from ctxeng.harness.reports.drift import SHOWN_ROUNDS, DriftRow
from ctxeng.harness.reports.economics import MOVING, Grid, shown_saving
from ctxeng.harness.reports.losses import stages_of
from ctxeng.harness.reports.markdown import (
    interval,
    plain,
    sees,
    shown_change,
    shown_verdict,
    worst_first,
)
from ctxeng.harness.reports.recall import ALL, RecallRow
from ctxeng.harness.reports.summary import Summary
from ctxeng.harness.reports.sweep import Sweep
from ctxeng.harness.reports.terminal import percent
from ctxeng.harness.stats.compare import Comparison, position

MAX_TOLD = 12  # differences told in a sentence; the table has them all
_MEASURED = {"answer": "answered rightly", "in_context": "in the prompt"}
ROUND_GROUPS = {"4": "4–5", "6": "6–9", "10": "10 and more"}
Upkeep = Mapping[str, Mapping[str, float | None]]


def comparison_sentences(compared: Compared) -> list[str]:
    """Return which arms differ from the reference arm, which are alike, which cannot be told.

    The verdicts decide, as everywhere; where they are shown, the interval may still reach 0.
    """
    reference = plain(compared.before.partition(":")[2])
    shown = [c for c in worst_first(compared.comparisons) if c.verdict in ("better", "worse")]
    said = []
    if shown:
        listed = "; ".join(map(_difference, shown[:MAX_TOLD]))
        more = f"; and {len(shown) - MAX_TOLD} more" if len(shown) > MAX_TOLD else ""
        said.append(f"Shown to differ from {reference}, in points: {listed}{more}.")
    differing = {c.arm for c in shown}
    alike = [
        plain(c.arm)
        for c in compared.comparisons
        if c.bucket == ALL and c.verdict == "equivalent within margin" and c.arm not in differing
    ]
    if alike:
        margin = points(compared.rule.margin)
        said.append(
            f"The same over all positions within {margin} as {reference}: {', '.join(alike)}."
        )
    names = dict.fromkeys(plain(c.arm) for c in compared.comparisons if c.arm not in differing)
    unclear = [name for name in names if name not in alike]
    if unclear:
        said.append(
            f"These probes cannot separate from {reference} at any position: {', '.join(unclear)}."
        )
    return said


def position_sentence(c: Comparison) -> str:
    """Return what the same facts say about standing across a border."""
    if c.difference is None or c.before is None or c.after is None:
        return f"No fact stood at both positions: {shown_verdict(c)}."
    return (
        f"{numbered(c.n, 'fact')} stood both inside an episode and across a border: "
        f"{percent(c.before)} of "
        f"them were in the prompt where they stood inside and {percent(c.after)} where they stood "
        f"across, {shown_change(c)} points ({shown_verdict(c)})."
    )


def recall_grid(summary: Summary, *, asked: bool) -> Grid:
    """Return recall by position for every arm and control, with intervals."""
    reference = str(summary.manifest["reference_arm"])
    shown = (ALL, *summary.buckets)
    header = ["arm"]
    for bucket in shown:
        n = getattr(summary.row(reference, bucket), "n" if asked else "in_context_n", 0)
        header.append(f"{position(bucket)}, n = {n}")
    rows = [
        [plain(arm), *(_share(summary.row(arm, bucket), asked=asked) for bucket in shown)]
        for arm in (*summary.arms, *summary.controls)
    ]
    what = "Answered rightly" if asked else "In the prompt"
    note = plain(summary.n_line) if asked else ""
    return Grid(title=f"{what}, % and 95 % interval", header=header, rows=rows, note=note)


def front_grid(sweep: Sweep, *, priced: bool) -> Grid:
    """Return every arm's recall, tokens and money, the front first."""
    front = {point.arm for point in sweep.front.front}
    rest = sorted((p for p in sweep.points if p.arm not in front), key=lambda p: -p.recall)
    rows = [
        [
            plain(p.arm),
            interval(p.recall, p.low, p.high),
            f"{p.tokens:,.0f}",
            "unknown" if p.cost_usd is None else f"{p.cost_usd:.{2 if priced else 4}f}",
            "front" if p.arm in front else f"no better than {plain(sweep.front.beaten_by[p.arm])}",
        ]
        for p in (*sweep.front.front, *rest)
    ]
    what = _MEASURED[sweep.measure]
    money = "USD per 1,000 turns" if priced else "USD of all calls"
    return Grid(
        title="Recall against prompt tokens and money",
        header=["arm", f"{what}, %", "prompt tokens", money, "place"],
        rows=rows,
    )


def compared_grid(compared: Compared) -> Grid:
    """Return every arm beside the reference arm, position by position."""
    rows = [
        [
            plain(c.arm),
            position(c.bucket),
            str(c.n),
            percent(c.before),
            percent(c.after),
            shown_change(c),
            "–" if c.adjusted_p is None else f"{c.adjusted_p:.3f}",
            sees(c),
            shown_verdict(c),
        ]
        for c in compared.comparisons
    ]
    reference = plain(compared.before.partition(":")[2])
    return Grid(
        title=f"Each arm beside {reference}, on the same probes: {_MEASURED[compared.measure]}, %",
        header=["arm", "position", "n", reference, "arm's", "change, 95 %", "p (Holm)",
                "sees a drop of", "verdict"],
        rows=rows,
    )  # fmt: skip


def positions_grid(c: Comparison) -> Grid:
    """Return the one comparison of facts with themselves at another position."""
    row = [str(c.n), str(c.sessions), percent(c.before), percent(c.after), shown_change(c),
           "–" if c.permutation_p is None else f"{c.permutation_p:.4f}", sees(c),
           shown_verdict(c)]  # fmt: skip
    return Grid(
        title="The same facts inside an episode and across a border",
        header=["facts", "sessions", "inside", "across", "change, 95 %", "p", "sees a drop of",
                "verdict"],
        rows=[row],
    )  # fmt: skip


def money_grid(economics: Economics) -> Grid:
    """Return money and prompt cache of every arm along the sessions, whole history included."""
    rows = [
        [
            plain(arm.arm),
            *(f"{arm.cost(c).usd_per_1000_turns:.2f}" for c in (NO_CACHE, *MOVING)),
            *(shown_saving(arm.cost(c)) for c in (NO_CACHE, *MOVING)),
            *(percent(arm.cost(c).read_share) for c in MOVING),
            f"{sum(cost.calls for cost in arm.compaction.values()):,}",
        ]
        for arm in economics.arms
    ]
    payers = economics.payers
    return Grid(
        title=f"Money and prompt cache along the sessions, at the prices of {payers.reader} "
        f"(reader), {payers.summariser} (summaries) and {payers.distiller} (memory), "
        f"{economics.prices_date}",
        header=["arm", "USD per 1,000 turns, no cache", *(c.label for c in MOVING),
                "saved against full, no cache", *(c.label for c in MOVING),
                *(f"read from the cache, {c.label}" for c in MOVING), "compactions"],
        rows=rows,
    )  # fmt: skip


def activity_grid(summary: Summary, upkeep: Upkeep) -> Grid:
    """Return what every arm wrote and read for it, how late it was, how big its prompts were."""
    rows = []
    for row in summary.activity:
        about = upkeep.get(row.arm, {})
        age, read = about.get("memory_age"), about.get("read_tokens")
        rows.append([
            plain(row.arm) + (" (idle)" if row.is_idle else ""),
            ", ".join(f"{n} {kind}" for kind, n in row.artifacts.items()) or "none",
            "–" if read is None else f"{read:,.0f}",
            "–" if row.rounds is None else f"{row.rounds:.1f}",
            percent(row.outside_share),
            percent(about.get("late_share")),
            "–" if age is None else f"{age:.1f}",
            f"{row.context_tokens:,.0f}",
            percent(row.context_tokens / row.full_tokens if row.full_tokens else None),
        ])  # fmt: skip
    return Grid(
        title="What each arm did",
        header=["arm", "artifacts", "tokens read for them", "rounds a fact", "evidence not raw",
                "prompts with a late compaction", "messages memory lags", "prompt tokens",
                "of full"],
        rows=rows,
    )  # fmt: skip


def rounds_grid(found: Sequence[RecallRow]) -> Grid:
    """Return presence in the prompt by how many compactions a fact went through."""
    numbers = sorted({int(row.bucket) for row in found})
    by_arm = {arm: {int(r.bucket): r for r in rows} for arm, rows in groupby(found, _arm)}
    rows = [
        [plain(arm), *(_counted(rows.get(number)) for number in numbers)]
        for arm, rows in by_arm.items()
    ]
    header = ["arm", *(ROUND_GROUPS.get(str(number), str(number)) for number in numbers)]
    title = "In the prompt, % and 95 % interval, by compactions the fact went through (n)"
    return Grid(title=title, header=header, rows=rows)


def decay_grid(found: Sequence[DriftRow]) -> Grid:
    """Return how many facts are still in the artifact that carries them, writing by writing."""
    rows = [
        [
            plain(row.arm),
            row.kind,
            str(point.round),
            str(point.n),
            interval(point.share, point.low, point.high),
            percent(point.kept),
            f"{point.dropped} of {point.at_risk}" if point.at_risk else "–",
        ]
        for row in found
        for point in row.curve
        if point.round in SHOWN_ROUNDS
    ]
    return Grid(
        title="In the summary itself, by the number of times it was written",
        header=["arm", "artifact", "writing", "facts", "in it, % and 95 %", "kept since the first",
                "dropped now"],
        rows=rows,
    )  # fmt: skip


def losses_grid(summary: Summary) -> Grid:
    """Return where the facts that are not in the prompt, or not answered, were lost."""
    shown = [row for row in summary.loss_rows if row.bucket == ALL and row.arm in summary.arms]
    stages = stages_of(shown)
    rows = [
        [plain(row.arm), str(row.n), str(row.kept), *(str(row.stages.get(s, 0)) for s in stages),
         str(row.untold)]
        for row in shown
    ]  # fmt: skip
    header = ["arm", "facts", "not lost", *(s.replace("_", " ") for s in stages), "cannot be told"]
    return Grid(title="Where facts were lost", header=header, rows=rows)


def _arm(row: RecallRow) -> str:
    return row.arm


def _counted(row: RecallRow | None) -> str:
    if row is None or row.in_context is None:
        return "–"
    return (
        f"{interval(row.in_context, row.in_context_low, row.in_context_high)} ({row.in_context_n})"
    )


def _share(row: RecallRow | None, *, asked: bool) -> str:
    if row is None:
        return "–"
    if asked:
        return interval(row.recall, row.low, row.high)
    return interval(row.in_context, row.in_context_low, row.in_context_high)


def _difference(c: Comparison) -> str:
    return f"{plain(c.arm)} {position(c.bucket)} {shown_change(c)} (n = {c.n})"
