"""Where the noise comes from: summariser, reader or judge, and how large it is without a change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ctxeng.harness.stats.counts import Floats
from ctxeng.harness.stats.paired import Pairs

ONE_REPLICATE = "one replicate: repeat the role to see its variance"
UNBALANCED = "some replicates are missing: no variance can be split"


@dataclass(frozen=True, slots=True, kw_only=True)
class VarianceSplit:
    """Variance of one answer by role, in squared shares; None with a reason where undefined.

    Args:
        probes: probes with every replicate decided.
    """

    summariser: float | None
    reader: float | None
    judge: float | None
    probes: int
    reasons: Mapping[str, str]

    def record(self) -> dict[str, Any]:
        """Return the split as plain JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """How much two runs of the same arm differ (A/A): a change below it is noise.

    Args:
        discordant_share: share of probes whose outcome differs between two replicates, 0..1.
        difference_sd: standard deviation of the difference of two replicates' recall.
        replicates: replicates compared, every pair of them.
    """

    discordant_share: float | None
    difference_sd: float | None
    replicates: int
    reason: str = ""

    def record(self) -> dict[str, Any]:
        """Return the floor as plain JSON."""
        return asdict(self)


def split_variance(outcomes: Iterable[tuple[str, int, int, int, float]]) -> VarianceSplit:
    """Return the variance that each role adds to one answer.

    The roles are nested: the judge repeats within an answer, the reader within a summary. Each
    component is what its mean square has over that of the role below; a negative estimate (the
    role adds less than chance shows) is 0.

    Args:
        outcomes: (probe, summariser, reader, judge replicate, success 0..1).

    Source: Searle, Casella & McCulloch (1992), Variance Components, ch. 3 (balanced nested ANOVA).
    """
    table, incomplete = _balanced(outcomes)
    probes = int(table.shape[0])
    if probes == 0:
        why = UNBALANCED if incomplete else "no decided probe"
        return VarianceSplit(
            summariser=None, reader=None, judge=None, probes=0,
            reasons=dict.fromkeys(("summariser", "reader", "judge"), why),
        )  # fmt: skip
    judge, reader, summariser = _components(table)
    values = {"summariser": summariser, "reader": reader, "judge": judge}
    return VarianceSplit(
        **values,
        probes=probes,
        reasons={role: ONE_REPLICATE for role, value in values.items() if value is None},
    )


def _components(table: Floats) -> tuple[float | None, float | None, float | None]:
    """Return the components of judge, reader and summariser of a (p, s, r, j) table."""
    readers, judges = table.shape[2:]
    within = _mean_variance(table)
    between_readers = _mean_variance(table.mean(axis=3))
    between_summarisers = _mean_variance(table.mean(axis=(2, 3)))
    reader = _above(between_readers, (within or 0.0) / judges)
    below = (reader or 0.0) / readers + (within or 0.0) / (readers * judges)
    return within, reader, _above(between_summarisers, below)


def _mean_variance(values: Floats) -> float | None:
    """Return the mean sample variance along the last axis, None for a single value."""
    if values.shape[-1] < 2:
        return None
    return float(values.var(axis=-1, ddof=1).mean())


def _above(total: float | None, below: float) -> float | None:
    return None if total is None else max(0.0, total - below)


def _balanced(outcomes: Iterable[tuple[str, int, int, int, float]]) -> tuple[Floats, bool]:
    """Return the (probe, summariser, reader, judge) table of complete probes; whether some lack."""
    listed = list(outcomes)
    shape = [1 + max((int(row[axis]) for row in listed), default=0) for axis in (1, 2, 3)]
    names = sorted({row[0] for row in listed})
    index = {name: i for i, name in enumerate(names)}
    table = np.full((len(names), *shape), np.nan)
    for name, summariser, reader, judge, value in listed:
        table[index[name], summariser, reader, judge] = value
    whole = ~np.isnan(table).any(axis=(1, 2, 3))
    return table[whole], bool((~whole).any())


def noise_floor(replicates: Mapping[tuple[int, int], Pairs]) -> Floor:
    """Return the A/A floor of one arm.

    Args:
        replicates: pairs of outcomes by (replicate, other replicate) of the same arm.
    """
    held = [pairs for pairs in replicates.values() if pairs.n]
    count = len({number for pair in replicates for number in pair})
    if not held:
        return Floor(discordant_share=None, difference_sd=None, replicates=count,
                     reason=ONE_REPLICATE)  # fmt: skip
    discordant = [float((p.gained + p.lost).sum()) / p.n for p in held]
    squares = [(p.difference or 0.0) ** 2 for p in held]
    return Floor(
        discordant_share=float(np.mean(discordant)),
        difference_sd=float(np.sqrt(np.mean(squares))),
        replicates=count,
    )
