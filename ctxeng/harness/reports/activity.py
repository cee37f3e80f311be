"""Did an arm do anything? A run whose arms compacted nothing measures nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
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
    cells: Sequence[Row],
    artifacts: Sequence[Row],
    failures: Sequence[Row],
    arms: Mapping[str, Mapping[str, Any]],
) -> list[Activity]:
    """Return what each arm did; ``arms`` is the manifest's table of arms."""
    return [
        _activity(
            name,
            [row for row in cells if row["arm"] == name],
            [row for row in artifacts if row["arm"] == name],
            sum(1 for row in failures if row["arm"] == name),
            compacts=bool(arm["compacts"]),
            is_control=arm["control"] is not None,
        )
        for name, arm in arms.items()
    ]


def _activity(
    name: str,
    cells: Sequence[Row],
    artifacts: Sequence[Row],
    failures: int,
    *,
    compacts: bool,
    is_control: bool,
) -> Activity:
    kinds: dict[str, int] = {}
    for row in artifacts:
        kinds[row["kind"]] = kinds.get(row["kind"], 0) + 1
    stated = [cell for cell in cells if cell["bucket"] != "none"]
    sessions = {cell["session_id"] for cell in cells}
    quiet = sessions - {row["session_id"] for row in artifacts} if compacts else set()
    differs = _mean([cell["differs_from_full"] for cell in cells])
    is_idle = not is_control and (differs == 0 or (compacts and len(quiet) == len(sessions)))
    return Activity(
        arm=name,
        artifacts=dict(sorted(kinds.items())),
        rounds=_mean([cell["rounds"] for cell in stated]),
        outside_share=_mean([cell["arm_bucket"] != "recent" for cell in stated]),
        differs_share=differs,
        sessions=len(sessions),
        sessions_idle=len(quiet),
        context_tokens=_mean([cell["context_tokens"] for cell in cells]) or 0.0,
        full_tokens=_mean([cell["full_tokens"] for cell in cells]) or 0.0,
        failures=failures,
        is_idle=bool(sessions) and is_idle,
    )


def _mean(values: Sequence[Any]) -> float | None:
    known = [float(value) for value in values if value is not None]
    return fmean(known) if known else None
