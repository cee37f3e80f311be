"""Drift in a report: how facts fade over rewrites, other languages, values nobody stated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ctxeng.harness.attribution.drift import DecayPoint, Round, Wording, decay

SHOWN_ROUNDS = (1, 2, 3, 5, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftRow:
    """One arm and kind of artifact.

    Args:
        curve: how facts fade, by round; empty for episodes, which nobody rewrites.
        at_risk, dropped: over all rewrites, facts there one version before, and of those gone.
        other_language: artifacts in another language than what they summarise.
        values, invented: values in the artifacts, and those that no message contains.
    """

    arm: str
    kind: str
    artifacts: int
    curve: tuple[DecayPoint, ...]
    at_risk: int
    dropped: int
    other_language: int
    values: int
    invented: int
    invented_values: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        """Return the row as plain JSON."""
        return asdict(self)

    def kept_after(self, number: int) -> float | None:
        """Return the share kept through a round, None where no fact got that far."""
        return next((point.kept for point in self.curve if point.round == number), None)


def drift_rows(
    rounds: Sequence[Round], wordings: Sequence[Wording], arms: Sequence[str]
) -> list[DriftRow]:
    """Return a row for every arm and kind of artifact it wrote, in the order of ``arms``."""
    points = decay(rounds)
    rows = []
    for arm in arms:
        own = [one for one in wordings if one.arm == arm]
        for kind in dict.fromkeys(one.kind for one in own):
            written = [one for one in own if one.kind == kind]
            curve = tuple(p for p in points if (p.arm, p.kind) == (arm, kind))
            found = [value for one in written for value in one.invented]
            rows.append(
                DriftRow(
                    arm=arm,
                    kind=kind,
                    artifacts=len(written),
                    curve=curve,
                    at_risk=sum(point.at_risk for point in curve),
                    dropped=sum(point.dropped for point in curve),
                    other_language=sum(one.is_other_language for one in written),
                    values=sum(one.values for one in written),
                    invented=len(found),
                    invented_values=tuple(dict.fromkeys(found)),
                )
            )
    return rows
