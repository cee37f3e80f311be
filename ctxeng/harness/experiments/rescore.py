"""From a finished run to another one with the same answers: scored again, or judged again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ctxeng.core.errors import SettingsError
from ctxeng.harness.attribution.stored import StoredRun, Tables
from ctxeng.harness.experiments.prepared import NOBODY, source_hash
from ctxeng.harness.experiments.prompts import Prompt, judge_prompt
from ctxeng.harness.replay.asking import READER_PROMPT_ID
from ctxeng.harness.replay.paraphrasing import paraphrase_rows
from ctxeng.harness.replay.plan import Readers
from ctxeng.harness.replay.recording import RecordingClient, was_sent
from ctxeng.harness.replay.rescoring import Rescored, rescored
from ctxeng.harness.replay.verdicts import only_extracts
from ctxeng.harness.results.run_folder import RunFolder, check_writable, write_run
from ctxeng.harness.results.tables import Row
from ctxeng.models import CacheMode, Delivery, Ledger, Limits, open_client


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOptions:
    """Who judges anew.

    Args:
        judge: model that judges answers; None: the one the run had.
        artifact_judge: model that reads artifacts for facts in other words; None: nobody.
        workspace: folder of the ledger.
    """

    workspace: Path
    judge: str | None = None
    artifact_judge: str | None = None
    mode: CacheMode = "normal"
    max_calls: int | None = None
    max_cost_usd: float | None = None


async def rescore_run(run: RunFolder) -> tuple[RunFolder, Rescored]:
    """Write a run beside ``run`` with its answers scored by today's rules; no model is asked.

    Raises:
        InputError: the run lacks what scoring needs, or its folder cannot be written.
    """
    stored = StoredRun.open(run)
    found = await rescored(stored)
    return _written(run, stored, found, calls=(), suffix="rescored"), found


async def rejudge_run(run: RunFolder, options: JudgeOptions) -> tuple[RunFolder, Rescored]:
    """Write a run beside ``run`` with its answers judged anew; no reader is asked.

    Raises:
        SettingsError: the run has no judge and none is named.
        InputError: the run lacks what scoring needs, or its folder cannot be written.
        LimitReached: a limit on calls or money; answered calls are kept for the next try.
    """
    check_writable(run.path.parent)
    stored = StoredRun.open(run)
    models = stored.manifest["experiment"]["models"]
    judge = options.judge or models["judge"]
    if judge == NOBODY:
        raise SettingsError(
            f"--judge must name a model, got none: {run.run_id} was made without a judge."
        )
    ledger = Ledger.open(options.workspace / ".ctxeng" / "ledger.sqlite")
    try:
        opened = open_client(
            ledger=ledger,
            mode=options.mode,
            limits=Limits(max_calls=options.max_calls, max_cost_usd=options.max_cost_usd),
            delivery=Delivery(
                concurrency=models.get("concurrency", 8), base_url=models.get("base_url")
            ),
        )
        extra = models.get("extra", {})
        async with opened:
            client = RecordingClient(opened)
            if options.artifact_judge is not None:
                told = await paraphrase_rows(
                    stored, client, model=options.artifact_judge, extra=extra.get("judge")
                )
                stored = replace(stored, tables={**stored.tables, "paraphrases": told}, _made={})
            prompt = judge_prompt(models.get("judge_prompt"), options.workspace)
            found = await rescored(stored, _judging(client, judge, prompt, models))
    finally:
        ledger.close()
    changed = {"judge": judge, "artifact_judge": options.artifact_judge or NOBODY}
    made = _written(run, stored, found, calls=client.rows, suffix="rejudged", models=changed)
    return made, found


def _judging(
    client: RecordingClient, judge: str, prompt: Prompt, models: Mapping[str, Any]
) -> Readers:
    return Readers(
        reader=None,
        reader_model=NOBODY,
        reader_max_tokens=1,
        reader_system="",
        reader_prompt_id=READER_PROMPT_ID,
        judge=client,
        judge_model=judge,
        judge_system=prompt.text,
        judge_prompt_id=prompt.name,
        extract=only_extracts(models),
        extra=models.get("extra", {}),
    )


def _written(
    run: RunFolder,
    stored: StoredRun,
    found: Rescored,
    *,
    calls: Sequence[Row],
    suffix: str,
    models: Mapping[str, str] | None = None,
) -> RunFolder:
    old = stored.manifest
    tables: dict[str, Sequence[Row]] = {
        name: rows for name, rows in _without_run_id(stored.tables).items() if name != "cells"
    }
    tables["cells"] = found.cells
    replaced = ("judge",) if calls or models else ()
    kept = [{**c, "from_ledger": True} for c in tables["calls"] if c["role"] not in replaced]
    tables["calls"] = [*kept, *calls]
    manifest = {
        **old,
        "run_id": _free_name(run, old.get("answers_root", run.run_id), suffix),
        "started_at": datetime.now(UTC).isoformat(),
        "finished_at": datetime.now(UTC).isoformat(),
        "answers_from": run.run_id,
        "answers_root": old.get("answers_root", run.run_id),
        "experiment": {
            **old["experiment"],
            "models": {**old["experiment"]["models"], **(models or {})},
        },
        "counts": {
            **old["counts"],
            "calls": len(tables["calls"]),
            "calls_made": sum(map(was_sent, tables["calls"])),
            "outcomes": dict(sorted(Counter(cell["outcome"] for cell in found.cells).items())),
        },
        "hashes": {
            **old["hashes"],
            "scoring_source": source_hash(),
            "scorer": source_hash("harness/scoring"),
        },
    }
    return write_run(run.path.parent, manifest=manifest, tables=tables)


def _without_run_id(tables: Tables) -> dict[str, Sequence[Row]]:
    return {
        name: [{key: value for key, value in row.items() if key != "run_id"} for row in rows]
        for name, rows in tables.items()
    }


def _free_name(run: RunFolder, root: str, suffix: str) -> str:
    """Return a name that nothing in the folder has: ``ROOT-rescored``, ``ROOT-rescored-2``, …"""
    name, number = f"{root}-{suffix}", 1
    while (run.path.parent / name).exists():
        number += 1
        name = f"{root}-{suffix}-{number}"
    return name
