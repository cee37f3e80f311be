"""The loss stage: for every lost fact, the last station of its way into the prompt that held it.

A fact has several paths: raw in the window, through the artifact that covers it, through memory or
a higher level, through retrieval. The furthest station reached on any path names the loss.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from ctxeng.core.artifacts import Artifact
from ctxeng.core.context import RAW_KINDS, Context
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
        evidence: the words of the evidence messages by seq, so that a value is followed from the
            message that states it; without them every evidence message counts as stating it.
        cut: messages that a compactor was handed shortened: ``{artifact id: {seq: text}}``.
        paraphrased: artifacts that state the fact in other words, as a judge has found.
    """

    probe: Probe
    context: Context
    artifacts: Sequence[Artifact]
    settings: StrategySettings
    value_in_context: bool
    right: bool | None
    literal: bool = True
    evidence: Mapping[int, str] = field(default_factory=dict)
    cut: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    paraphrased: Collection[str] = ()


def loss_stage(trace: Trace) -> LossStage | None:
    """Return where a fact was lost, None when it was not lost or nothing can be said.

    Of several lost values the one that got least far decides. Nothing can be said for
    unanswerable probes, for a fact that is in context when nobody answered, and for a value that
    is not literal in its evidence once a summary stands for it that no judge has read.
    """
    probe = trace.probe
    if not probe.answerable or not probe.expect or not probe.evidence:
        return None
    if trace.value_in_context or _raw_and_whole(trace) or _shown_in_other_words(trace):
        return "reader_missed" if trace.right is False else None
    if trace.right:
        return None
    if not trace.literal and not trace.paraphrased and _written(probe.evidence_seqs, trace):
        by_provenance = _by_provenance((), trace)
        return _furthest(by_provenance) if by_provenance else None
    return min((_furthest(_paths(v, trace)) for v in _missing(trace)), key=_PROGRESS.__getitem__)


def _furthest(stages: Sequence[LossStage]) -> LossStage:
    return max(stages, key=lambda stage: _PROGRESS[stage], default="never_reached")


def _paths(group: Sequence[str], trace: Trace) -> list[LossStage]:
    return [*_by_provenance(group, trace), *_artifact_paths(group, trace)]


def _by_provenance(group: Sequence[str], trace: Trace) -> list[LossStage]:
    """Return how far the messages themselves got: retrieved, loaded raw, cut."""
    stating = set(stating_seqs(group, trace))
    return [*_retrieval_path(stating, trace), *_raw_path(stating, trace)]


def stating_seqs(group: Sequence[str], trace: Trace) -> tuple[int, ...]:
    """Return the evidence messages that state a value; all of them where that cannot be told."""
    seqs = trace.probe.evidence_seqs
    if not group:
        return seqs
    found = tuple(s for s in seqs if values_present([group], [trace.evidence.get(s, "")]))
    return found or seqs


def _missing(trace: Trace) -> list[Sequence[str]]:
    """Return the groups of values that the prompt lacks; all where that is not the question."""
    expect = trace.probe.expect
    shown = {i for b in trace.context.history for i in groups_present(expect, b.text)}
    return [group for i, group in enumerate(expect) if i not in shown] or list(expect)


def _raw_and_whole(trace: Trace) -> bool:
    """Return whether all of the evidence stands in the prompt in its own words, uncut."""
    raw = (b for b in trace.context.blocks if b.is_raw and not b.shortened)
    return set(trace.probe.evidence_seqs) <= {seq for block in raw for seq in block.message_seqs}


def _shown_in_other_words(trace: Trace) -> bool:
    shown = {i for block in trace.context.blocks for i in block.artifact_ids}
    return bool(shown.intersection(trace.paraphrased))


def _raw_path(stating: set[int], trace: Trace) -> list[LossStage]:
    """The raw message itself was loaded and then cut, whole or in part."""
    stages: list[LossStage] = [
        "deduplicated" if out.reason == "duplicate" else "over_budget"
        for out in trace.context.left_out
        if out.kind in RAW_KINDS
        and out.reason in ("duplicate", "over_budget", "keep_raw")
        and stating & set(out.message_seqs)
    ]
    if any(
        b.is_raw and b.shortened and stating & set(b.message_seqs) for b in trace.context.blocks
    ):
        stages.append("over_budget")
    return stages


def _retrieval_path(stating: set[int], trace: Trace) -> list[LossStage]:
    if not trace.settings.retrieval.enabled:
        return []
    record = trace.context.retrieval
    if not record.get("retrieve", False):
        return ["gated"]
    found = {seq for group in record.get("groups", ()) for seq in group["seqs"]}
    return ["not_retrieved"] if not stating & found else []


def _artifact_paths(group: Sequence[str], trace: Trace) -> list[LossStage]:
    """Follow one expected value through the artifacts that stand for the messages stating it."""
    stages: list[LossStage] = []
    covering = _written(stating_seqs(group, trace), trace)
    for kind in ("rolling", "episode", "node"):
        for seq in stating_seqs(group, trace):
            chain = [a for a in covering if a.kind == kind and a.covers(seq)]
            if chain and not _was_given(group, chain, seq, trace):
                stages.append("never_reached")
            elif chain:
                first: LossStage = "lost_in_summary"
                stages += _along(chain, group, trace, first=first, later="lost_in_rewrite")
    memory = [a for a in covering if a.kind == "memory"]
    if memory and _holders(group, [a for a in covering if a.kind in ("episode", "memory")], trace):
        lost: LossStage = "lost_in_distillation"
        stages += _along(memory, group, trace, first=lost, later=lost)
    return stages


def _written(seqs: Sequence[int], trace: Trace) -> list[Artifact]:
    """Return what stood for any of the messages when the question came, in order of rewriting."""
    lag, as_of = trace.settings.compaction.lag_messages, trace.context.as_of

    def is_there(artifact: Artifact) -> bool:
        last = artifact.to_seq if lag is None else artifact.visible_from_seq - lag
        return last <= as_of and any(map(artifact.covers, seqs))

    return sorted(filter(is_there, trace.artifacts), key=lambda a: (a.level, a.version))


def _was_given(group: Sequence[str], chain: Sequence[Artifact], seq: int, trace: Trace) -> bool:
    """Return whether a compactor was handed the words that state a value, not cut away."""
    if _holders(group, chain, trace):
        return True
    shown = (trace.cut.get(a.artifact_id, {}).get(seq) for a in chain)
    cut = [text for text in shown if text is not None]
    return not cut or values_present([group], cut)


def _holders(group: Sequence[str], artifacts: Sequence[Artifact], trace: Trace) -> list[Artifact]:
    return [
        a
        for a in artifacts
        if a.artifact_id in trace.paraphrased or values_present([group], [a.text])
    ]


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
    held = {a.artifact_id for a in _holders(group, chain, trace)}
    if not held:
        return [first]
    cut = {i: out.reason for out in trace.context.left_out for i in out.artifact_ids}
    reasons = {cut[i] for i in held if i in cut}
    if reasons:
        if reasons == {"duplicate"}:
            return ["deduplicated"]
        return [] if reasons == {"folded"} else ["over_budget"]
    loaded = cut.keys() | {i for block in trace.context.blocks for i in block.artifact_ids}
    return [later] if loaded.intersection(a.artifact_id for a in chain) else ["not_loaded"]
