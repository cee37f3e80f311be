"""One row of the cells table: everything measured about one probe in one prompt."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxeng.core.artifacts import Artifact
from ctxeng.core.context import Context
from ctxeng.core.messages import Message
from ctxeng.core.settings import StrategySettings
from ctxeng.harness.attribution.inputs import cuts_of
from ctxeng.harness.attribution.loss import LossStage, Trace, loss_stage
from ctxeng.harness.attribution.position import Position, position, seams_of
from ctxeng.harness.probes.coverage import depth
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.replay import measures
from ctxeng.harness.replay.plan import Arm
from ctxeng.harness.replay.unit import Built, Played, visible_at
from ctxeng.harness.replay.verdicts import Scored
from ctxeng.harness.scoring.outcome import Outcome, is_right


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometry:
    """What the reference arm and the whole history say about one probe.

    Args:
        bucket, distilled, tail: position under the reference arm.
        full_tokens: size of the prompt with the whole history.
        full_seqs: the messages that prompt shows.
    """

    bucket: str
    distilled: bool
    tail: bool
    full_tokens: int
    full_seqs: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A built prompt with what it holds of its probe; no model was asked yet."""

    built: Built
    visible: Sequence[Artifact]
    own: Position
    presence: measures.InContext


def measure(played: Played, built: Built) -> Measured:
    """Return where the fact stands in a built prompt, and whether it is there."""
    visible = visible_at(played.artifacts, built.as_of)
    return Measured(
        built=built,
        visible=visible,
        own=position(built.probe, built.context, visible, seams_of(played.artifacts)),
        presence=measures.in_context(built.probe, built.context, played.messages, visible),
    )


def cell_row(
    arm: Arm, played: Played, measured: Measured, geometry: Geometry, scored: Scored
) -> dict[str, Any]:
    """Return a cell without its run id, arm, session and replicate."""
    built, probe, presence = measured.built, measured.built.probe, measured.presence
    return {
        **_probe_columns(probe),
        "bucket": geometry.bucket,
        "arm_bucket": measured.own.bucket,
        "distilled": geometry.distilled,
        "tail": geometry.tail,
        "retrieved": measured.own.retrieved,
        "evicted": measured.own.evicted,
        **_distance_columns(probe, played.messages, played.artifacts, built.as_of),
        "value_in_context": presence.value,
        "evidence_in_context": presence.evidence_share,
        "value_in_artifact": presence.value_in_artifact,
        **score_columns(scored),
        "loss_stage": _loss(arm, played, measured, scored),
        "context_tokens": built.context.tokens,
        "full_tokens": geometry.full_tokens,
        "differs_from_full": shown_history(built.context) != geometry.full_seqs,
    }


def shown_history(context: Context) -> tuple[int, ...]:
    """Return the messages a prompt shows in their own words, in the order shown.

    Empty if it shows artifacts, or a message cut short: such a prompt is not the whole history.
    """
    if any(not block.is_raw or block.shortened for block in context.history):
        return ()
    return tuple(seq for block in context.history for seq in block.message_seqs)


def _probe_columns(probe: Probe) -> dict[str, Any]:
    return {
        "probe_id": probe.probe_id,
        "kind": probe.kind,
        "category": probe.category,
        "language": probe.language,
        "answerable": probe.answerable,
    }


def _distance_columns(
    probe: Probe, messages: Sequence[Message], artifacts: Sequence[Artifact], as_of: int
) -> dict[str, Any]:
    seen = [message for message in messages if message.seq <= as_of]
    return {
        "depth": depth(probe, as_of),
        "tokens_from_end": measures.tokens_from_end(probe, seen),
        "rounds": measures.rounds(probe, artifacts, as_of),
    }


def score_columns(scored: Scored) -> dict[str, Any]:
    """Return the columns that an answer and its verdicts fill."""
    literal, judge = scored.literal, scored.judge
    return {
        "outcome": scored.outcome,
        "literal_verdict": literal.verdict if literal else None,
        "literal_rule": literal.rule if literal else None,
        "verbose": literal.verbose if literal else None,
        "judge_verdict": judge.verdict if judge else None,
        "judged_by": scored.judged_by,
        "audited": scored.audited,
        "answer": scored.answer,
        "error": scored.error,
    }


def _loss(arm: Arm, played: Played, measured: Measured, scored: Scored) -> str | None:
    return stage_of(
        measured.built.probe,
        measured.built.context,
        arm.settings,
        messages=played.messages,
        artifacts=played.artifacts,
        inputs=played.inputs,
        value_in_context=measured.presence.value,
        outcome=scored.outcome,
    )


def stage_of(
    probe: Probe,
    context: Context,
    settings: StrategySettings,
    *,
    messages: Sequence[Message],
    artifacts: Sequence[Artifact],
    inputs: Sequence[Mapping[str, Any]],
    value_in_context: bool | None,
    outcome: Outcome,
    paraphrased: Collection[str] = (),
) -> LossStage | None:
    """Return the loss stage of a cell; None also where nobody could answer.

    Args:
        inputs: rows of the inputs table. paraphrased: see :class:`Trace`.
    """
    if outcome in ("error", "refused"):
        return None
    return loss_stage(
        Trace(
            probe=probe,
            context=context,
            artifacts=artifacts,
            settings=settings,
            value_in_context=value_in_context is True,
            right=is_right(outcome),
            literal=probe.kind == "speaker" or measures.is_literal(probe, messages),
            evidence={m.seq: m.text for m in messages if m.seq in probe.evidence_seqs},
            cut=cuts_of(artifacts, inputs),
            paraphrased=paraphrased,
        )
    )
