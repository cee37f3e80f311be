"""Where the noise comes from: summariser, reader or judge, and how large it is without a change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

ONE_REPLICATE = "one replicate: repeat the role to see its variance"
NO_PROBE = "no probe has every replicate decided"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanVariances:
    """Mean sample variances of outcomes 0..1 over probes with every replicate decided.

    Args:
        judges: between judge replicates of one answer. readers: between readers' means of one
            summary. summarisers: between summarisers' means of one probe. None: one replicate.
        replicates: number of (summariser, reader, judge) replicates.
    """

    judges: float | None
    readers: float | None
    summarisers: float | None
    replicates: tuple[int, int, int]
    probes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VarianceSplit:
    """Variance of one answer by role, in squared shares; None with a reason where undefined."""

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
    """

    discordant_share: float | None
    difference_sd: float | None
    replicates: int
    reason: str = ""

    def record(self) -> dict[str, Any]:
        """Return the floor as plain JSON."""
        return asdict(self)


def split_variance(seen: MeanVariances) -> VarianceSplit:
    """Return the variance that each role adds to one answer.

    The roles are nested: the judge repeats within an answer, the reader within a summary. Each
    component is what its mean variance has over its share of those below; a negative estimate
    (the role adds less than chance shows) is 0.

    Source: Searle, Casella & McCulloch (1992), Variance Components, ch. 3 (balanced nested ANOVA).
    """
    if not seen.probes:
        roles = ("summariser", "reader", "judge")
        return VarianceSplit(summariser=None, reader=None, judge=None, probes=0,
                             reasons=dict.fromkeys(roles, NO_PROBE))  # fmt: skip
    _, readers, judges = seen.replicates
    judge = seen.judges
    reader = _above(seen.readers, (judge or 0.0) / judges)
    below = (reader or 0.0) / readers + (judge or 0.0) / (readers * judges)
    values = {"summariser": _above(seen.summarisers, below), "reader": reader, "judge": judge}
    return VarianceSplit(
        **values,
        probes=seen.probes,
        reasons={role: ONE_REPLICATE for role, value in values.items() if value is None},
    )


def _above(total: float | None, below: float) -> float | None:
    return None if total is None else max(0.0, total - below)


def noise_floor(*, disagreement: float | None, recalls: Sequence[float]) -> Floor:
    """Return the A/A floor of one arm.

    Args:
        disagreement: mean over probes of 2p(1−p)·R/(R−1), p being the share of R replicates that
            succeed: the chance that two of them differ. recalls: recall of each replicate, 0..1.
    """
    if len(recalls) < 2 or disagreement is None:
        return Floor(discordant_share=None, difference_sd=None, replicates=len(recalls),
                     reason=ONE_REPLICATE)  # fmt: skip
    return Floor(
        discordant_share=disagreement,
        difference_sd=float(np.sqrt(2 * np.var(recalls, ddof=1))),
        replicates=len(recalls),
    )
