"""Did an arm do anything? A run whose arms compacted nothing measures nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What one arm did, over all sessions.

    Args:
        artifacts: by kind, for example ``{"episode": 61, "memory": 18}``.
        rounds: mean number of compactions a fact went through by the time it was asked about.
        outside_share: share of answerable probes whose evidence is not raw in the recent part.
        differs_share: share of prompts that differ from the whole history.
        sessions_idle: sessions in which a compacting arm wrote nothing.
        context_tokens, full_tokens: mean prompt size, and that of the whole history.
    """

    arm: str
    artifacts: dict[str, int]
    rounds: float | None
    outside_share: float | None
    differs_share: float | None
    sessions: int
    sessions_idle: int
    context_tokens: float
    full_tokens: float
    failures: int
    is_idle: bool

    def record(self) -> dict[str, Any]:
        """Return the row as plain JSON."""
        return asdict(self)


def activities(
    means: Mapping[str, Row],
    artifacts: Mapping[str, Row],
    failures: Mapping[str, int],
    arms: Mapping[str, Mapping[str, Any]],
) -> list[Activity]:
    """Return what each arm did.

    Args:
        means, artifacts: by arm, see ``results.aggregates``. failures: refused compactions by arm.
        arms: the manifest's table of arms.
    """
    return [
        _activity(
            name,
            means.get(name, {}),
            artifacts.get(name, {}),
            failures.get(name, 0),
            compacts=bool(arm["compacts"]),
            is_control=arm["control"] is not None,
        )
        for name, arm in arms.items()
    ]


def _activity(
    name: str, means: Row, artifacts: Row, failures: int, *, compacts: bool, is_control: bool
) -> Activity:
    sessions = int(means.get("sessions", 0))
    idle = max(0, sessions - int(artifacts.get("sessions", 0))) if compacts else 0
    differs = means.get("differs_share")
    is_idle = not is_control and (differs == 0 or (compacts and idle == sessions))
    return Activity(
        arm=name,
        artifacts=dict(artifacts.get("kinds", {})),
        rounds=means.get("rounds"),
        outside_share=means.get("outside_share"),
        differs_share=differs,
        sessions=sessions,
        sessions_idle=idle,
        context_tokens=float(means.get("context_tokens", 0.0)),
        full_tokens=float(means.get("full_tokens", 0.0)),
        failures=failures,
        is_idle=bool(sessions) and is_idle,
    )
