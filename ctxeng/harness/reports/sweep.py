"""The arms of a run as points of recall against prompt tokens: the front, and what is uncertain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ctxeng.core.errors import InputError
from ctxeng.harness.reports.comparing import SEED, measure_of
from ctxeng.harness.reports.trend import band
from ctxeng.harness.results.aggregates import arm_costs
from ctxeng.harness.results.database import reading
from ctxeng.harness.results.history import Night, night_of
from ctxeng.harness.results.pairing import (
    ALL,
    Measure,
    Side,
    paired_rows,
    prompt_tokens,
    trend_rows,
)
from ctxeng.harness.results.run_folder import RunFolder
from ctxeng.harness.stats.paired import Pairs
from ctxeng.harness.stats.pareto import Front, Point, pareto


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Every arm of a run with recall and tokens, and the front among them."""

    run_id: str
    measure: Measure
    points: tuple[Point, ...]
    front: Front

    def record(self) -> dict[str, Any]:
        """Return the sweep as plain JSON."""
        return asdict(self)


def sweep_of(
    run: RunFolder, measure: Measure | None, *, costs: Mapping[str, float] | None = None
) -> Sweep:
    """Return the front of a run's arms, controls left out.

    Args:
        costs: money by arm instead of that for the run's own calls.

    Raises:
        InputError: the run has fewer than two arms with a recall.
    """
    night = night_of(run)
    used = measure_of(night, night, measure)
    tokens = prompt_tokens(night)
    if costs is None:
        with reading(run) as connection:
            spent: Mapping[str, float | None] = arm_costs(connection)
    else:
        spent = {arm: costs.get(arm) for arm in tokens}
    arms = [a for a in night.conditions["arms"] if a not in night.conditions["controls"]]
    points = [
        p
        for arm in arms
        if (p := _point(night, arm, used, tokens.get(arm, 0.0), spent.get(arm, 0.0))) is not None
    ]
    if len(points) < 2:
        raise InputError(
            f"a sweep needs at least two arms, got {len(points)} ({night.run_id}). "
            "Add arms, or a [sweeps] table, to the experiment."
        )
    front = pareto(
        points,
        lambda one, other: _pairs(night, one, other, used),
        rng=np.random.default_rng(SEED),
    )
    return Sweep(run_id=night.run_id, measure=used, points=tuple(points), front=front)


def front_of(run: RunFolder) -> Front | None:
    """Return the front of a run's arms; None where there are fewer than two."""
    try:
        return sweep_of(run, None).front
    except InputError:
        return None


def _point(
    night: Night, arm: str, measure: Measure, tokens: float, cost_usd: float | None
) -> Point | None:
    rows = trend_rows([night], arm, measure)
    answerable = [(row["successes"], row["trials"]) for row in rows if row["bucket"] == ALL]
    if not answerable:
        return None
    found = band(answerable)
    return Point(
        arm=arm,
        recall=found.share or 0.0,
        low=found.low,
        high=found.high,
        tokens=tokens,
        cost_usd=cost_usd,
    )


def _pairs(night: Night, one: str, other: str, measure: Measure) -> Pairs:
    sides = (Side(night=night, arm=one), Side(night=night, arm=other))
    return Pairs.by_session(paired_rows(*sides, measure).buckets.get(ALL, ()))
