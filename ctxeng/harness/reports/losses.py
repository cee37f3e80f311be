"""Where facts were lost: survived x used and the loss stages, for every arm and position."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ctxeng.harness.attribution.loss import STAGES
from ctxeng.harness.attribution.position import BUCKETS
from ctxeng.harness.reports.recall import ALL
from ctxeng.harness.scoring.outcome import is_right

Cell = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class LossRow:
    """One arm in one position; every count is of cells, so replicates count each.

    Args:
        bucket: a position, or ``all``.
        n: cells of answerable probes with a presence verdict. present: the value is in the prompt.
        in_answered, in_missed, out_missed, out_answered: survived x used, decided cells only.
        stages: cells by loss stage, in the order of the way into the prompt; only those that occur.
        untold: neither value nor evidence in the prompt, not recalled, and no stage can be named:
            the value is not literal in its evidence, and a summary stands for it.
    """

    arm: str
    bucket: str
    n: int
    present: int
    in_answered: int
    in_missed: int
    out_missed: int
    out_answered: int
    stages: Mapping[str, int]
    untold: int

    @property
    def undecided(self) -> int:
        """Return the cells in no used column: errors, refusals, undecided, nobody asked."""
        return self.n - self.in_answered - self.in_missed - self.out_missed - self.out_answered

    @property
    def kept(self) -> int:
        """Return the cells without a loss: all others, failed and undecided answers included."""
        return self.n - self.lost - self.untold

    @property
    def lost(self) -> int:
        """Return the cells with a loss stage."""
        return sum(self.stages.values())

    def record(self) -> dict[str, Any]:
        """Return the row as plain JSON."""
        return {**asdict(self), "undecided": self.undecided}


def loss_rows(cells: Sequence[Cell], arms: Sequence[str]) -> list[LossRow]:
    """Return a row for every arm, and for each of its positions, in their fixed orders.

    Args:
        cells: alike cells with their number ``n``, see ``results.aggregates.tally``.
    """
    rows = []
    for arm in arms:
        own = [c for c in cells if c["arm"] == arm and c["value_in_context"] is not None]
        rows.append(_row(arm, ALL, own))
        for bucket in BUCKETS:
            inside = [cell for cell in own if cell["bucket"] == bucket]
            if inside:
                rows.append(_row(arm, bucket, inside))
    return rows


def stages_of(rows: Sequence[LossRow]) -> list[str]:
    """Return the stages that occur in any of the rows, in their order."""
    return [stage for stage in STAGES if any(row.stages.get(stage) for row in rows)]


def _row(arm: str, bucket: str, cells: Sequence[Cell]) -> LossRow:
    used: Counter[tuple[bool, bool | None]] = Counter()
    lost: Counter[str] = Counter()
    for cell in cells:
        used[bool(cell["value_in_context"]), is_right(cell["outcome"])] += cell["n"]
        if cell["loss_stage"]:
            lost[cell["loss_stage"]] += cell["n"]
    return LossRow(
        arm=arm,
        bucket=bucket,
        n=sum(c["n"] for c in cells),
        present=sum(c["n"] for c in cells if c["value_in_context"]),
        in_answered=used[True, True],
        in_missed=used[True, False],
        out_missed=used[False, False],
        out_answered=used[False, True],
        stages={stage: lost[stage] for stage in STAGES if lost[stage]},
        untold=sum(c["n"] for c in cells if _is_untold(c)),
    )


def _is_untold(cell: Cell) -> bool:
    is_there = cell["value_in_context"] or cell["has_evidence"]
    is_other = cell["loss_stage"] or cell["outcome"] in ("recalled", "error", "refused")
    return not (is_there or is_other)
