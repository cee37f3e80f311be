"""The loss stage: for every lost fact, the last station of its way into the prompt that held it.

A fact has several paths: raw in the window, through the artifact that covers it, through memory or
a higher level, through retrieval. The furthest station reached on any path names the loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from ctxeng.core.artifacts import Artifact
from ctxeng.core.context import Context
from ctxeng.core.settings import StrategySettings
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.scoring.presence import values_present

LossStage = Literal[
    "never_reached", "lost_in_summary", "lost_in_rewrite", "lost_in_distillation", "not_loaded",
    "gated", "not_retrieved", "deduplicated", "over_budget", "reader_missed",
]  # fmt: skip
STAGES: tuple[LossStage, ...] = get_args(LossStage)

# How far along the way to the prompt each loss lies: the furthest over all paths is reported.
_PROGRESS: dict[LossStage, int] = {
    "never_reached": 0,
    "lost_in_summary": 1,
    "lost_in_rewrite": 2,
    "lost_in_distillation": 3,
    "gated": 4,
    "not_retrieved": 5,
    "not_loaded": 6,
    "deduplicated": 7,
    "over_budget": 8,
    "reader_missed": 9,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What an arm stored about one session, and the prompt it built for one probe."""

    probe: Probe
    context: Context
    artifacts: Sequence[Artifact]
    settings: StrategySettings
    value_in_context: bool
    right: bool | None


def loss_stage(trace: Trace) -> LossStage | None:
    """Return where a fact was lost, None when it was not lost or nothing can be said.

    Nothing can be said for unanswerable probes, and for a fact that is in context when nobody
    answered.
    """
    probe = trace.probe
    if not probe.answerable or not probe.expect or not probe.evidence:
        return None
    if trace.value_in_context:
        return "reader_missed" if trace.right is False else None
    if trace.right:
        return None
    stages: list[LossStage] = ["never_reached"]
    stages += [*_retrieval_path(trace), *_artifact_paths(trace), *_raw_path(trace)]
    return max(stages, key=lambda stage: _PROGRESS[stage])


def _raw_path(trace: Trace) -> list[LossStage]:
    """The raw message itself was loaded and then cut."""
    evidence = set(trace.probe.evidence_seqs)
    return [
        "deduplicated" if out.reason == "duplicate" else "over_budget"
        for out in trace.context.left_out
        if out.kind in ("recent", "tail", "retrieved") and evidence & set(out.message_seqs)
    ]


def _retrieval_path(trace: Trace) -> list[LossStage]:
    if not trace.settings.retrieval.enabled:
        return []
    record = trace.context.retrieval
    if not record.get("retrieve", False):
        return ["gated"]
    found = {seq for group in record.get("groups", ()) for seq in group["seqs"]}
    evidence = set(trace.probe.evidence_seqs)
    return ["not_retrieved"] if not evidence & found else []


def _artifact_paths(trace: Trace) -> list[LossStage]:
    stages: list[LossStage] = []
    for kind in ("rolling", "episode", "node"):
        chain = sorted(
            (a for a in trace.artifacts if a.kind == kind and _covers(a, trace.probe)),
            key=lambda a: (a.level, a.version),
        )
        if chain:
            stages.append(_along(chain, trace))
    memory = sorted((a for a in trace.artifacts if a.kind == "memory"), key=lambda a: a.version)
    reached = [a for a in memory if _covers(a, trace.probe)]
    if reached and "lost_in_summary" not in stages:
        stages.append(_along(reached, trace, first="lost_in_distillation"))
    return stages


def _along(
    chain: Sequence[Artifact], trace: Trace, *, first: LossStage = "lost_in_summary"
) -> LossStage:
    """Return where a value was lost along the versions or levels that should have carried it."""
    held = [values_present(trace.probe.expect, [artifact.text]) for artifact in chain]
    as_of = trace.context.as_of
    loaded = {
        artifact_id
        for part in (trace.context.blocks, trace.context.left_out)
        for item in part
        for artifact_id in item.artifact_ids
    }
    if not any(held):
        return first
    holders = [a for a, has in zip(chain, held, strict=True) if has]
    out = {a for item in trace.context.left_out for a in item.artifact_ids}
    if any(a.artifact_id in out for a in holders):
        return "over_budget"
    if any(a.visible_from_seq > as_of or a.status == "stale" for a in holders):
        return "not_loaded"
    if any(a.artifact_id in loaded for a in chain) and not held[-1]:
        return "lost_in_distillation" if first == "lost_in_distillation" else "lost_in_rewrite"
    return "not_loaded"


def _covers(artifact: Artifact, probe: Probe) -> bool:
    return any(artifact.covers(seq) for seq in probe.evidence_seqs)
