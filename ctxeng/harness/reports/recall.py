"""Recall by the position of the fact: one row for every arm and bucket, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ctxeng.harness.attribution.position import BUCKETS
from ctxeng.harness.results.aggregates import Grouping
from ctxeng.harness.stats.counts import SessionCounts
from ctxeng.harness.stats.detectable import ChangeModel, Power, detectable_drop
from ctxeng.harness.stats.interval import share_interval

Counted = Mapping[str, Any]
ALL = "all"
SPLITS = ("distilled", "not distilled")


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
        in_context: share of the ``in_context_n`` probes with a presence verdict whose value is in
            the prompt, None where there are none.
        evidence: mean share of evidence messages that are raw in the prompt.
        undecided: probes left out of ``recall``: errors, refusals, undecided.
        mde: smallest drop that a paired test by session on these probes shows with 80 % power,
            where chance changes 2 % of them in each direction; None: none, or not worked out.
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
    in_context_n: int
    evidence: float | None
    undecided: int
    mde: float | None

    def record(self) -> dict[str, Any]:
        """Return the row as plain JSON."""
        return asdict(self)


def recall_rows(
    counted: Mapping[Grouping, Sequence[Counted]], arms: Sequence[str]
) -> list[RecallRow]:
    """Return the rows of every arm, in the order of ``arms``, buckets in their fixed order.

    Args:
        counted: session counts of the groupings ``all``, ``bucket`` and ``distilled``.
    """
    groups = {name: _grouped(counted[name]) for name in ("all", "bucket", "distilled")}
    found: list[RecallRow] = []
    for arm in arms:
        found.append(recall_row(arm, ALL, groups["all"].get((arm, ALL), ()), detectable=True))
        for bucket in BUCKETS:
            inside = groups["bucket"].get((arm, bucket))
            if inside is None:
                continue
            found.append(recall_row(arm, bucket, inside, detectable=True))
            splits = [(f"{bucket}: {split}", groups["distilled"].get((arm, f"{bucket}: {split}")))
                      for split in SPLITS]  # fmt: skip
            if all(half for _, half in splits):
                found += [recall_row(arm, name, half or (), detectable=True)
                          for name, half in splits]  # fmt: skip
    return found


def grouped_rows(counted: Sequence[Counted], arms: Sequence[str]) -> list[RecallRow]:
    """Return a row for every arm and group, ``bucket`` naming it."""
    groups = _grouped(counted)
    names = sorted({group for _, group in groups})
    return [
        recall_row(arm, name, groups[arm, name])
        for arm in arms
        for name in names
        if (arm, name) in groups
    ]


def recall_row(
    arm: str, bucket: str, sessions: Sequence[Counted], *, detectable: bool = False
) -> RecallRow:
    """Return one row over session counts, see ``results.aggregates.session_counts``.

    Args:
        detectable: whether to say what drop these probes could show.
    """
    recall, in_context = _counts(sessions, "correct"), _counts(sessions, "present")
    asked = any(row["asked"] for row in sessions)
    main = recall if asked else in_context
    bounds, context_bounds = share_interval(main), share_interval(in_context)
    shown = sum(row["evidence_n"] for row in sessions)
    sizes = tuple(sorted(int(row["probes"]) for row in sessions))
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
        in_context_n=round(in_context.n),
        evidence=sum(row["evidence"] for row in sessions) / shown if shown else None,
        undecided=sum(sizes) - round(recall.n) if asked else 0,
        mde=_detectable(sizes) if bounds and detectable else None,
    )


def _grouped(counted: Sequence[Counted]) -> dict[tuple[str, str], list[Counted]]:
    groups: dict[tuple[str, str], list[Counted]] = {}
    for row in counted:
        groups.setdefault((row["arm"], str(row["grp"])), []).append(row)
    return groups


def _counts(sessions: Sequence[Counted], name: str) -> SessionCounts:
    held = [(row[name], row[f"{name}_n"]) for row in sessions if row[f"{name}_n"]]
    table = np.array(held, dtype=np.float64).reshape(-1, 2)
    return SessionCounts(successes=table[:, 0], trials=table[:, 1])


@lru_cache(maxsize=512)
def _detectable(sizes: tuple[int, ...]) -> float | None:
    """Return what sessions of these sizes can show, by the assumed chance changes."""
    rng = np.random.default_rng(20260101)
    return detectable_drop(Power.of(sizes, ChangeModel(), rng=rng, draws=500))
