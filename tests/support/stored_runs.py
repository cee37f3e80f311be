"""Replayed rows as a finished run, without an experiment file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ctxeng.harness.replay.plan import ReplayPlan
from ctxeng.harness.results.run_folder import RunFolder, write_run

Rows = Mapping[str, Sequence[Mapping[str, Any]]]


def as_run(plan: ReplayPlan, rows: Rows, out: Path, *, run_id: str = "made") -> RunFolder:
    """Write the rows of a replay as a run with the manifest that reports read."""
    cells = rows["cells"]
    manifest = {
        "run_id": run_id,
        "started_at": "2026-03-02T09:14:00+00:00",
        "experiment": {
            "name": "made",
            "models": {"reader": "made", "summariser": "made", "judge": "none"},
        },
        "arms": {
            arm.name: {
                "control": arm.control,
                "compacts": arm.settings.compacts,
                "settings": arm.settings.model_dump(mode="json"),
            }
            for arm in plan.arms
        },
        "reference_arm": plan.reference_arm,
        "is_offline": False,
        "counts": {
            "sessions": len(plan.sessions),
            "messages": sum(len(s.messages) for s in plan.sessions),
            "probes": sum(map(len, plan.probes.values())),
            "cells": len(cells),
            "calls": 0,
            "calls_made": 0,
            "outcomes": {},
        },
        "hashes": {"source": "made"},
        "versions": {"ctxeng": "0"},
    }
    return write_run(out, manifest=manifest, tables=rows)
