"""Recall over nights: a band for every position, and where the conditions changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ctxeng.core.errors import InputError
from ctxeng.harness.attribution.position import BUCKETS
from ctxeng.harness.results.conditions import differences
from ctxeng.harness.results.history import History, Night, read_history
from ctxeng.harness.results.pairing import ALL, Measure, asked, trend_rows
from ctxeng.harness.stats.counts import SessionCounts
from ctxeng.harness.stats.interval import share_interval

# Code and packages change nearly every night: a change point is a change of what is measured.
_NOT_A_CHANGE = ("hashes.source", "versions.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """Recall in one night and position, 0..1, with its 95 % interval."""

    n: int
    sessions: int
    share: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendPoint:
    """One night of a trend.

    Args:
        changes: conditions that differ from the night before: a change point where any does.
    """

    run_id: str
    started_at: str
    recall: Mapping[str, Band]
    changes: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        """Return the night as plain JSON."""
        return asdict(self)

    def shown(self, bucket: str) -> str:
        """Return ``62 48-75``: recall and interval in per cent, ``-`` where undefined."""
        band = self.recall.get(bucket)
        if band is None or band.share is None:
            return "-"
        bounds = "" if band.low is None or band.high is None else (
            f" {100 * band.low:.0f}-{100 * band.high:.0f}"
        )  # fmt: skip
        return f"{100 * band.share:.0f}{bounds}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """The nights of one experiment and arm; ``damaged``: files that could not be read."""

    experiment: str
    arm: str
    measure: Measure
    points: tuple[TrendPoint, ...]
    damaged: tuple[str, ...]


def open_trend(
    folder: Path, *, experiment: str | None, arm: str | None, measure: Measure | None
) -> Trend:
    """Return the trend of an experiment in a history folder.

    Raises:
        InputError: no such experiment or arm, or several experiments and none named.
    """
    history = read_history(folder)
    nights = history.of(_experiment(history, folder, experiment))
    return trend_of(nights, arm=arm, measure=measure, damaged=history.damaged)


def trend_of(
    nights: Sequence[Night],
    *,
    arm: str | None = None,
    measure: Measure | None = None,
    damaged: tuple[str, ...] = (),
) -> Trend:
    """Return the trend of nights of one experiment, oldest first; of the reference arm by default.

    Raises:
        InputError: the last night has no such arm.
    """
    last = nights[-1].conditions
    shown = arm or str(last["reference_arm"])
    if shown not in last["arms"]:
        raise InputError(f"arm must be one of {', '.join(last['arms'])}, got {shown!r}.")
    used: Measure = measure or ("answer" if asked(nights[-1]) else "in_context")
    return Trend(
        experiment=str(last["experiment"]),
        arm=shown,
        measure=used,
        points=tuple(trend(nights, shown, used)),
        damaged=damaged,
    )


def _experiment(history: History, folder: Path, wanted: str | None) -> str:
    names = sorted({str(night.conditions["experiment"]) for night in history.nights})
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted in names:
        return str(wanted)
    if not names:
        raise InputError(f"no nights yet in {folder}. Run `ctxeng nightly EXPERIMENT.toml`.")
    said = "several" if wanted is None else repr(wanted)
    raise InputError(
        f"experiment must be one of the history's ({', '.join(names)}), got {said} ({folder}). "
        "`ctxeng nightly` adds a night."
    )


def trend(nights: Sequence[Night], arm: str, measure: Measure) -> list[TrendPoint]:
    """Return the trend of one arm over nights, oldest first."""
    counts: dict[tuple[int, str], list[tuple[float, float]]] = {}
    for row in trend_rows(nights, arm, measure):
        held = counts.setdefault((row["night"], row["bucket"]), [])
        held.append((row["successes"], row["trials"]))
    order = [bucket for bucket in (ALL, *BUCKETS) if any(b == bucket for _, b in counts)]
    return [
        TrendPoint(
            run_id=night.run_id,
            started_at=night.started_at,
            recall={b: band(counts[at, b]) for b in order if (at, b) in counts},
            changes=_changes(nights[at - 1], night) if at else (),
        )
        for at, night in enumerate(nights)
    ]


def _changes(before: Night, after: Night) -> tuple[str, ...]:
    found = differences(before.conditions, after.conditions)
    return tuple(line for line in found if not line.startswith(_NOT_A_CHANGE))


def band(sessions: Sequence[tuple[float, float]]) -> Band:
    """Return recall and interval of (successes, trials) by session."""
    table = np.array(sessions, dtype=np.float64)
    counts = SessionCounts(successes=table[:, 0], trials=table[:, 1])
    bounds = share_interval(counts)
    return Band(
        n=round(counts.n),
        sessions=counts.sessions,
        share=counts.share,
        low=bounds.low if bounds else None,
        high=bounds.high if bounds else None,
    )
