"""Replayed rows as a finished run, without an experiment file."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ctxeng.harness.replay.plan import ReplayPlan
from ctxeng.harness.replay.runner import replay
from ctxeng.harness.results.run_folder import RunFolder, write_run
from ctxeng.store import Store
from tests.conftest import HASHING

Rows = Mapping[str, Sequence[Mapping[str, Any]]]


def replayed_run(plan: ReplayPlan, out: Path, *, server: Path, database: str) -> RunFolder:
    """Replay a plan once, outside of any test's event loop, and return it as a finished run."""

    async def play() -> Rows:
        async with await Store.open(
            workspace=server, database=database, disposable=True, embedding=HASHING
        ) as store:
            return await replay(plan, store=store)

    return as_run(plan, asyncio.run(play()), out)


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
