"""Small finished runs with a whole manifest, for what compares runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ctxeng.harness.results.run_folder import RunFolder, write_run

Outcome = Callable[[int, int], str]


def recalled_below(limit: int) -> Outcome:
    """Return outcomes by (session, probe): the first probes of each session are recalled."""
    return lambda session, probe: "recalled" if probe < limit else "missed"


def made_run(
    out: Path,
    run_id: str,
    arms: Mapping[str, Outcome],
    *,
    sessions: int = 12,
    probes: int = 10,
    bucket: str = "interior",
    started_at: str = "2026-03-01T03:00:00+00:00",
    changed: Mapping[str, Any] | None = None,
    gate: Mapping[str, Any] | None = None,
    replicates: int = 1,
    settings: Mapping[str, Any] | None = None,
) -> RunFolder:
    """Return a run of made outcomes; ``changed`` replaces hashes, ``settings`` those of an arm."""
    cells = [
        {
            "arm": arm,
            "is_control": arm in ("none", "restated"),
            "session_id": f"s{s:02}",
            "probe_id": f"s{s:02}-p{p:02}",
            "replicate": r,
            "summariser_replicate": 0,
            "reader_replicate": r,
            "judge_replicate": 0,
            "kind": "decision",
            "language": "en",
            "answerable": True,
            "bucket": bucket,
            "arm_bucket": bucket,
            "distilled": False,
            "depth": p / probes,
            "rounds": 1,
            "value_in_context": outcome(s, p) == "recalled",
            "evidence_in_context": 0.5,
            "outcome": outcome(s + r, p),
            "loss_stage": None if outcome(s, p) == "recalled" else "lost_in_summary",
            "context_tokens": 1000,
            "full_tokens": 4000,
            "differs_from_full": True,
        }
        for arm, outcome in arms.items()
        for s in range(sessions)
        for p in range(probes)
        for r in range(replicates)
    ]
    counted: dict[str, int] = {}
    for cell in cells:
        counted[cell["outcome"]] = counted.get(cell["outcome"], 0) + 1
    reference = next(iter(arms))
    manifest = {
        "run_id": run_id,
        "key": "k",
        "started_at": started_at,
        "finished_at": started_at,
        "experiment": {
            "name": "nightly",
            "models": {"reader": "offline", "summariser": "offline", "judge": "offline", "extra": {}},
            "replicates": {"summariser": 1, "reader": replicates, "judge": 1},
            "gate": {"margin_share": 0.1, "buckets": ["interior", "recent"], **(gate or {})},
        },
        "arms": {
            arm: {
                "control": arm if arm in ("none", "restated") else None,
                "compacts": False,
                "settings": (settings or {}).get(arm, {"episodes": {"size": 6}}),
            }
            for arm in arms
        },
        "reference_arm": reference,
        "is_offline": True,
        "counts": {"sessions": sessions, "messages": 10 * sessions, "probes": sessions * probes,
                   "cells": len(cells), "calls": 0, "calls_made": 0, "outcomes": counted},
        "hashes": {"probes": "p1", "sessions": {"s": "h"}, "scorer": "c1", "source": "x",
                   **(changed or {})},
        "versions": {"ctxeng": "0.1.0", "python": "3.11", "platform": "Linux"},
    }  # fmt: skip
    return write_run(out, manifest=manifest, tables={"cells": cells})
