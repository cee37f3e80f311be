"""Limits on calls and money, shared by every client of a run."""

from __future__ import annotations

from dataclasses import dataclass, field

from ctxeng.core.errors import LimitReached


@dataclass(slots=True, kw_only=True)
class Limits:
    """Counts what is spent and refuses the call that would go over.

    Args:
        max_calls: None means no limit. max_cost_usd: the same; a call of unknown price counts 0.
        held_usd: what the calls in flight are expected to cost; it counts as spent meanwhile.
    """

    max_calls: int | None = None
    max_cost_usd: float | None = None
    calls: int = field(default=0)
    cost_usd: float = field(default=0.0)
    held_usd: float = field(default=0.0)

    def reserve(self, *, expected_cost_usd: float = 0.0) -> None:
        """Count a call that is about to be made and hold its price until :meth:`settle`.

        Raises:
            LimitReached: the call would exceed a limit; it has not been made.
        """
        if self.max_calls is not None and self.calls + 1 > self.max_calls:
            raise LimitReached(
                f"max_calls must allow another call, got a limit of {self.max_calls}. "
                "Raise --max-calls and run the same command again to go on."
            )
        committed = self.cost_usd + self.held_usd + expected_cost_usd
        if self.max_cost_usd is not None and committed > self.max_cost_usd:
            raise LimitReached(
                f"max_cost must allow another call, got {self.cost_usd:.4f} spent and "
                f"{self.held_usd:.4f} in flight of {self.max_cost_usd:.4f} USD. "
                "Raise --max-cost and run again to go on."
            )
        self.calls += 1
        self.held_usd += expected_cost_usd

    def settle(self, *, expected_cost_usd: float, cost_usd: float | None) -> None:
        """Let go of what was held for a call, and add what it cost."""
        self.held_usd = max(0.0, self.held_usd - expected_cost_usd)
        self.spend(cost_usd)

    def spend(self, cost_usd: float | None) -> None:
        """Add the price of a finished call."""
        self.cost_usd += cost_usd or 0.0
