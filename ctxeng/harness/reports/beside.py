"""What a page shows beside its run when it is given: an earlier night, a trend, costs, the front.

Named by shape alone, so that whatever measures them need not know the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ctxeng.harness.reports.economics import Grid


class Change(Protocol):
    """Recall 0..1 of one arm and bucket, before and after; ``difference`` with its interval."""

    @property
    def arm(self) -> str: ...
    @property
    def bucket(self) -> str: ...
    @property
    def n(self) -> int: ...
    @property
    def before(self) -> float | None: ...
    @property
    def difference(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def verdict(self) -> str: ...
    @property
    def reason(self) -> str: ...


class Previous(Protocol):
    """An earlier run: its name, what else changed since, the measure and the changes of recall."""

    @property
    def before(self) -> str: ...
    @property
    def measure(self) -> str: ...
    @property
    def changes(self) -> Sequence[str]: ...
    @property
    def comparisons(self) -> Sequence[Change]: ...


class Band(Protocol):
    """Recall 0..1 with its interval."""

    @property
    def n(self) -> int: ...
    @property
    def share(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...


class Night(Protocol):
    """One night of a trend; ``changes``: conditions that differ from the night before."""

    @property
    def run_id(self) -> str: ...
    @property
    def started_at(self) -> str: ...
    @property
    def recall(self) -> Mapping[str, Band]: ...
    @property
    def changes(self) -> Sequence[str]: ...


class Trend(Protocol):
    """The nights of one arm, oldest first."""

    @property
    def arm(self) -> str: ...
    @property
    def measure(self) -> str: ...
    @property
    def points(self) -> Sequence[Night]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What is known beside the run.

    Args:
        economics: tables of costs, shown below the run's own calls.
        front: arms that no other arm beats in recall and tokens at once, fewest tokens first.
        inseparable: pairs of arms whose recall the probes do not show to differ.
    """

    previous: Previous | None = None
    trend: Trend | None = None
    economics: Sequence[Grid] = ()
    front: Sequence[str] = ()
    inseparable: Sequence[tuple[str, str]] = ()

    def change(self, arm: str, bucket: str, measure: str) -> Change | None:
        """Return what changed in one cell of the recall table of a measure."""
        if self.previous is None or self.previous.measure != measure:
            return None
        found = self.previous.comparisons
        return next((c for c in found if (c.arm, c.bucket) == (arm, bucket)), None)
