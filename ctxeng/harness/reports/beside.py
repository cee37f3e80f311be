"""What a page shows beside its run, when it is given: an earlier night, a trend, costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxeng.harness.reports.comparing import Compared
    from ctxeng.harness.reports.economics import Grid
    from ctxeng.harness.reports.trend import Trend
    from ctxeng.harness.stats.compare import Comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What is known beside the run; ``economics``: tables shown below the run's own calls."""

    previous: Compared | None = None
    trend: Trend | None = None
    economics: Sequence[Grid] = ()

    def change(self, arm: str, bucket: str, measure: str) -> Comparison | None:
        """Return what changed in one cell of the recall table of a measure."""
        if self.previous is None or self.previous.measure != measure:
            return None
        found = self.previous.comparisons
        return next((c for c in found if (c.arm, c.bucket) == (arm, bucket)), None)
