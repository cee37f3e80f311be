"""Score stored answers again, and judge them again: no reader is asked, the first run stays as is.

The result is a run of its own whose manifest names the run it came from. Presence in the prompt,
outcome and loss stage are computed by today's rules from what the run stored.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ctxeng.core.context import Context
from ctxeng.core.errors import InputError
from ctxeng.harness.attribution.stored import StoredRun, unit_of
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.replay import measures
from ctxeng.harness.replay.asking import Answered
from ctxeng.harness.replay.cells import score_columns, stage_of
from ctxeng.harness.replay.plan import Readers
from ctxeng.harness.replay.unit import visible_at
from ctxeng.harness.replay.verdicts import Scored, audited, only_extracts, score, with_judge
from ctxeng.harness.results.tables import Row
from ctxeng.harness.scoring.judge import JudgeVerdict

IN_FLIGHT = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescored:
    """The new cells, in the order of the old ones, and how outcomes moved.

    Args:
        moved: counts by (outcome before, outcome now), only where they differ.
        stages_moved: cells whose loss stage differs.
    """

    cells: tuple[dict[str, Any], ...]
    moved: Mapping[tuple[str, str], int]
    stages_moved: int


async def rescored(stored: StoredRun, readers: Readers | None = None) -> Rescored:
    """Return every cell scored again from its stored answer.

    Args:
        readers: with a judge: ambiguous answers and the audit sample are judged anew. None: the
            verdicts of the stored judge stand, and an answer that only now is ambiguous and was
            never judged becomes undecided.

    Raises:
        InputError: the run stores no prompts or no probes.
        LimitReached: a limit on calls or money.
    """
    if not stored.probes or not stored.tables.get("contexts"):
        raise InputError(
            f"run must hold its probes and prompts to be scored again, got none in "
            f"{stored.manifest.get('run_id')}. Run the experiment again."
        )
    gate = asyncio.Semaphore(IN_FLIGHT)

    async def one(cell: Row) -> dict[str, Any]:
        async with gate:
            return await _rescored(stored, cell, readers)

    cells = await asyncio.gather(*(one(cell) for cell in stored.cells))
    pairs = list(zip(stored.cells, cells, strict=True))
    moved = Counter(
        (old["outcome"], new["outcome"]) for old, new in pairs if old["outcome"] != new["outcome"]
    )
    return Rescored(
        cells=tuple(cells),
        moved=dict(sorted(moved.items())),
        stages_moved=sum(old["loss_stage"] != new["loss_stage"] for old, new in pairs),
    )


async def _rescored(stored: StoredRun, cell: Row, readers: Readers | None) -> dict[str, Any]:
    probe = stored.probes[cell["session_id"], cell["probe_id"]]
    context = stored.context(cell)
    kept = {name: value for name, value in cell.items() if name != "run_id"}
    if cell["answer"] is not None:
        scored = await _score(stored, cell, probe, context, readers)
        kept |= score_columns(scored)
    if context is None:
        return kept
    said = stored.messages.get(cell["session_id"], ())
    made = stored.artifacts(*unit_of(cell))
    present = measures.in_context(probe, context, said, visible_at(made, context.as_of))
    kept |= {
        "value_in_context": present.value,
        "evidence_in_context": present.evidence_share,
        "value_in_artifact": present.value_in_artifact,
    }
    return kept | {"loss_stage": _stage(stored, kept, probe, context)}


async def _score(
    stored: StoredRun, cell: Row, probe: Probe, context: Context | None, readers: Readers | None
) -> Scored:
    experiment = stored.manifest["experiment"]
    audit = audited(
        probe,
        arm=cell["arm"],
        share=experiment.get("audit_share", 0.0),
        seed=experiment.get("seed", 0),
    )
    if readers is None:
        judge = JudgeVerdict(verdict=cell["judge_verdict"]) if cell["judge_verdict"] else None
        extract = only_extracts(experiment["models"])
        found = with_judge(probe, cell["answer"], judge, audit=audit, extract=extract)
        return replace(found, error=cell["error"])
    said = stored.messages.get(cell["session_id"], ())
    seen = [m.timestamp for m in said if m.timestamp and (not context or m.seq <= context.as_of)]
    return await score(
        probe,
        Answered(text=cell["answer"]),
        readers,
        asked_on=seen[-1].date().isoformat() if seen else None,
        audit=audit,
        replicate=cell["judge_replicate"],
    )


def _stage(stored: StoredRun, cell: Row, probe: Probe, context: Context) -> str | None:
    unit = unit_of(cell)
    judged = stored.paraphrases(cell)
    return stage_of(
        probe,
        context,
        stored.settings[cell["arm"]],
        messages=stored.messages.get(cell["session_id"], ()),
        artifacts=stored.artifacts(*unit),
        inputs=stored.inputs(*unit),
        value_in_context=cell["value_in_context"],
        outcome=cell["outcome"],
        paraphrased=frozenset(i for i, states_it in judged.items() if states_it),
    )
