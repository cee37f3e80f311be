"""Recall by the position of the fact: one row for every arm and bucket, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from ctxeng.harness.attribution.position import BUCKETS
from ctxeng.harness.scoring.outcome import is_right
from ctxeng.harness.stats.counts import SessionCounts
from ctxeng.harness.stats.interval import share_interval
from ctxeng.harness.stats.power import detectable_drop

Cell = Mapping[str, Any]
ALL = "all"
SPLITS = {True: "distilled", False: "not distilled"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRow:
    """One line of the recall table.

    Args:
        bucket: a position, ``all`` (answerable probes only), or a position split by whether the
            fact has been distilled (``interior: distilled``).
        n: probes with a decided outcome; where nobody was asked, probes with a presence verdict.
        recall: answer recall 0..1, None where nobody was asked; for bucket ``none`` the share of
            unanswerable probes that were answered by an abstention.
        low, high: 95 % interval of ``recall``; of ``in_context`` where nobody was asked.
        in_context: share of probes whose value is in the prompt, None where not defined.
        evidence: mean share of evidence messages that are raw in the prompt.
        undecided: probes left out of ``recall``: errors, refusals, undecided.
        mde: smallest drop that a paired test on this many probes shows with 80 % power.
    """

    arm: str
    bucket: str
    n: int
    sessions: int
    recall: float | None
    low: float | None
    high: float | None
    in_context: float | None
    in_context_low: float | None
    in_context_high: float | None
    evidence: float | None
    undecided: int
    mde: float | None

    def record(self) -> dict[str, Any]:
        """Return the row as plain JSON."""
        return asdict(self)


def recall_rows(cells: Sequence[Cell], arms: Sequence[str]) -> list[RecallRow]:
    """Return the rows of every arm, in the order of ``arms``, buckets in their fixed order."""
    rows: list[RecallRow] = []
    for arm in arms:
        own = [cell for cell in cells if cell["arm"] == arm]
        rows.append(recall_row(arm, ALL, [cell for cell in own if cell["answerable"]]))
        for bucket in BUCKETS:
            inside = [cell for cell in own if cell["bucket"] == bucket]
            if not inside:
                continue
            rows.append(recall_row(arm, bucket, inside))
            rows += _split(arm, bucket, inside)
    return rows


def grouped_rows(
    cells: Sequence[Cell], arms: Sequence[str], by: Callable[[Cell], str | None]
) -> list[RecallRow]:
    """Return a row for every arm and group, ``bucket`` naming it; None groups are left out."""
    groups = sorted({name for cell in cells if (name := by(cell)) is not None})
    return [
        recall_row(arm, group, inside)
        for arm in arms
        for group in groups
        if (inside := [c for c in cells if c["arm"] == arm and by(c) == group])
    ]


def recall_row(arm: str, bucket: str, cells: Sequence[Cell]) -> RecallRow:
    """Return one row over the given cells; replicates of a probe count once, by their mean."""
    answered = _by_probe(cells, lambda cell: is_right(cell["outcome"]))
    present = _by_probe(cells, lambda cell: cell["value_in_context"])
    shown = _by_probe(cells, lambda cell: cell["evidence_in_context"])
    recall, in_context = SessionCounts.of(answered), SessionCounts.of(present)
    asked = any(cell["outcome"] != "skipped" for cell in cells)
    main = recall if asked else in_context
    bounds, context_bounds = share_interval(main), share_interval(in_context)
    return RecallRow(
        arm=arm,
        bucket=bucket,
        n=round(main.n),
        sessions=main.sessions,
        recall=recall.share if asked else None,
        low=bounds.low if bounds else None,
        high=bounds.high if bounds else None,
        in_context=in_context.share,
        in_context_low=context_bounds.low if context_bounds else None,
        in_context_high=context_bounds.high if context_bounds else None,
        evidence=fmean(share for _, share in shown) if shown else None,
        undecided=len(_probes(cells)) - round(recall.n) if asked else 0,
        mde=detectable_drop(round(bounds.effective_n)) if bounds else None,
    )


def _split(arm: str, bucket: str, cells: Sequence[Cell]) -> list[RecallRow]:
    halves = {flag: [c for c in cells if c["distilled"] is flag] for flag in SPLITS}
    if not all(halves.values()):
        return []
    return [recall_row(arm, f"{bucket}: {SPLITS[flag]}", half) for flag, half in halves.items()]


def _probes(cells: Iterable[Cell]) -> set[tuple[str, str]]:
    return {(cell["session_id"], cell["probe_id"]) for cell in cells}


def _by_probe(
    cells: Iterable[Cell], value: Callable[[Cell], bool | float | None]
) -> list[tuple[str, float]]:
    found: dict[tuple[str, str], list[float]] = {}
    for cell in cells:
        measured = value(cell)
        if measured is not None:
            found.setdefault((cell["session_id"], cell["probe_id"]), []).append(float(measured))
    return [(session, fmean(values)) for (session, _), values in found.items()]
