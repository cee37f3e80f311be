"""The loss stage: for every lost fact, the last station of its way into the prompt that held it.

A fact has several paths: raw in the window, through the artifact that covers it, through memory or
a higher level, through retrieval. The furthest station reached on any path names the loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from ctxeng.core.artifacts import Artifact, ArtifactKind
from ctxeng.core.context import Context
from ctxeng.core.settings import StrategySettings
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.scoring.presence import groups_present, values_present

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
    """What an arm stored about one session, and the prompt it built for one probe.

    Args:
        literal: the expected values stand in their evidence word for word. Where they do not, no
            text can be searched for them, and only provenance is followed.
    """

    probe: Probe
    context: Context
    artifacts: Sequence[Artifact]
    settings: StrategySettings
    value_in_context: bool
    right: bool | None
    literal: bool = True


def loss_stage(trace: Trace) -> LossStage | None:
    """Return where a fact was lost, None when it was not lost or nothing can be said.

    Of several lost values the one that got least far decides. Nothing can be said for
    unanswerable probes, for a fact that is in context when nobody answered, and for a value that
    is not literal in its evidence once a summary stands for it.
    """
    probe = trace.probe
    if not probe.answerable or not probe.expect or not probe.evidence:
        return None
    if trace.value_in_context or _raw_and_whole(trace):
        return "reader_missed" if trace.right is False else None
    if trace.right:
        return None
    by_provenance = [*_retrieval_path(trace), *_raw_path(trace)]
    if not trace.literal:
        covered = any(
            artifact.covers(s) for artifact in trace.artifacts for s in probe.evidence_seqs
        )
        return _furthest(by_provenance) if by_provenance or not covered else None
    stages = [_furthest([*by_provenance, *_artifact_paths(v, trace)]) for v in _missing(trace)]
    return min(stages, key=lambda stage: _PROGRESS[stage])


def _furthest(stages: Sequence[LossStage]) -> LossStage:
    return max(stages, key=lambda stage: _PROGRESS[stage], default="never_reached")


def _missing(trace: Trace) -> list[Sequence[str]]:
    """Return the groups of values that the prompt lacks; all where that is not the question."""
    expect = trace.probe.expect
    shown = {i for b in trace.context.history for i in groups_present(expect, b.text)}
    return [group for i, group in enumerate(expect) if i not in shown] or list(expect)


def _raw_and_whole(trace: Trace) -> bool:
    """Return whether all of the evidence stands in the prompt in its own words, uncut."""
    raw = (b for b in trace.context.blocks if b.is_raw and not b.shortened)
    return set(trace.probe.evidence_seqs) <= {seq for block in raw for seq in block.message_seqs}


def _raw_path(trace: Trace) -> list[LossStage]:
    """The raw message itself was loaded and then cut, whole or in part."""
    evidence = set(trace.probe.evidence_seqs)
    stages: list[LossStage] = [
        "deduplicated" if out.reason == "duplicate" else "over_budget"
        for out in trace.context.left_out
        if out.kind in ("recent", "tail", "retrieved") and evidence & set(out.message_seqs)
    ]
    if any(
        b.is_raw and b.shortened and evidence & set(b.message_seqs) for b in trace.context.blocks
    ):
        stages.append("over_budget")
    return stages


def _retrieval_path(trace: Trace) -> list[LossStage]:
    if not trace.settings.retrieval.enabled:
        return []
    record = trace.context.retrieval
    if not record.get("retrieve", False):
        return ["gated"]
    found = {seq for group in record.get("groups", ()) for seq in group["seqs"]}
    evidence = set(trace.probe.evidence_seqs)
    return ["not_retrieved"] if not evidence & found else []


def _artifact_paths(group: Sequence[str], trace: Trace) -> list[LossStage]:
    """Follow one expected value through the artifacts that stand for its evidence."""
    stages: list[LossStage] = []
    for kind in ("rolling", "episode", "node"):
        for chain in _chains(kind, trace):
            stages += _along(chain, group, trace, first="lost_in_summary", later="lost_in_rewrite")
    memory = _covering("memory", trace)
    told = _holders(group, [*_covering("episode", trace), *memory])
    if memory and told:
        lost: LossStage = "lost_in_distillation"
        stages += _along(memory, group, trace, first=lost, later=lost)
    return stages


def _covering(kind: ArtifactKind, trace: Trace) -> list[Artifact]:
    """Return the artifacts of a kind that stand for any of the evidence, in order of rewriting."""
    evidence = trace.probe.evidence_seqs
    found = [a for a in trace.artifacts if a.kind == kind and any(map(a.covers, evidence))]
    return sorted(found, key=lambda a: (a.level, a.version))


def _chains(kind: ArtifactKind, trace: Trace) -> list[list[Artifact]]:
    """Return for each evidence message the artifacts that should have carried it on."""
    covering = _covering(kind, trace)
    chains = ([a for a in covering if a.covers(seq)] for seq in trace.probe.evidence_seqs)
    return [chain for chain in chains if chain]


def _holders(group: Sequence[str], artifacts: Sequence[Artifact]) -> list[Artifact]:
    return [a for a in artifacts if values_present([group], [a.text])]


def _along(
    chain: Sequence[Artifact],
    group: Sequence[str],
    trace: Trace,
    *,
    first: LossStage,
    later: LossStage,
) -> list[LossStage]:
    """Return where a value was lost along the versions or levels that should have carried it.

    Empty where it was not lost here: its episode has given way to the memory made from it.
    """
    held = {a.artifact_id for a in _holders(group, chain)}
    if not held:
        return [first]
    cut = {i: out.reason for out in trace.context.left_out for i in out.artifact_ids}
    reasons = {cut[i] for i in held if i in cut}
    if reasons:
        return [] if reasons == {"folded"} else ["over_budget"]
    shown = {i for block in trace.context.blocks for i in block.artifact_ids}
    as_of = trace.context.as_of
    usable = [a.artifact_id for a in chain if a.visible_from_seq <= as_of and a.status != "stale"]
    loaded = shown.union(cut).intersection(a.artifact_id for a in chain)
    rewritten = held.intersection(usable) and usable[-1] not in held
    return [later] if loaded and rewritten else ["not_loaded"]
