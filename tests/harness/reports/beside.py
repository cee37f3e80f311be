"""What a page shows beside its run, by hand."""

from __future__ import annotations

from types import SimpleNamespace

from ctxeng.harness.reports.beside import Beside
from ctxeng.harness.reports.economics import Grid


def band(share: float | None) -> SimpleNamespace:
    low, high = (None, None) if share is None else (share - 0.1, share + 0.1)
    return SimpleNamespace(n=16, share=share, low=low, high=high)


def night(day: int, share: float | None, *changes: str) -> SimpleNamespace:
    recall = {"all": band(share), "boundary": band(0.5)}
    return SimpleNamespace(
        run_id=f"n{day}", started_at=f"2026-03-0{day}T02:00:00", recall=recall, changes=changes
    )


CHANGE = SimpleNamespace(
    arm="episodes", bucket="boundary", n=6, before=0.8, difference=-0.47, low=-0.7, high=-0.2,
    verdict="worse", reason="",
)  # fmt: skip
BESIDE = Beside(
    previous=SimpleNamespace(  # type: ignore[arg-type]
        before="made-yesterday", measure="answer", changes=("prompt of the summariser",),
        comparisons=(CHANGE,), borders="Positions on both sides are by the borders of made",
    ),
    trend=SimpleNamespace(  # type: ignore[arg-type]
        arm="episodes", measure="answer",
        points=(night(1, 0.6), night(2, None), night(3, 0.7, "window 800 <b>→</b> 600")),
    ),
    economics=(Grid(title="USD per 1,000 turns", header=["arm", "$"], rows=[["episodes", "1.25"]]),),
)  # fmt: skip
