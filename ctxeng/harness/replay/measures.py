"""What one built prompt holds of one probe, without asking a model. Pure functions.

A value is *in context* when the typed matchers find it in the blocks that carry history; negation
and forbidden values play no part (a full history holds the old value too).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ctxeng.core.artifacts import Artifact
from ctxeng.core.context import Context
from ctxeng.core.messages import Message
from ctxeng.harness.probes.model import Probe
from ctxeng.harness.scoring.presence import values_present


@dataclass(frozen=True, slots=True, kw_only=True)
class InContext:
    """Presence of one probe's fact in one prompt.

    Args:
        value: None for unanswerable probes and probes without expected values.
        evidence_share: share of the evidence messages that are raw in the prompt, 0..1; None
            where the probe has no evidence.
        value_in_artifact: a visible artifact that covers the evidence holds the value; None where
            no artifact covers it or the value is not literal in the evidence.
    """

    value: bool | None
    evidence_share: float | None
    value_in_artifact: bool | None


def in_context(
    probe: Probe, context: Context, messages: Sequence[Message], visible: Sequence[Artifact]
) -> InContext:
    """Return what the prompt holds of the probe's fact."""
    return InContext(
        value=_value(probe, context),
        evidence_share=evidence_share(probe, context),
        value_in_artifact=_value_in_artifact(probe, messages, visible),
    )


def evidence_share(probe: Probe, context: Context) -> float | None:
    """Return the share of evidence messages that stand raw in the prompt, 0..1."""
    wanted = set(probe.evidence_seqs)
    if not wanted:
        return None
    raw = {seq for block in context.blocks if block.is_raw for seq in block.message_seqs}
    return len(wanted & raw) / len(wanted)


def is_literal(probe: Probe, messages: Sequence[Message]) -> bool:
    """Return whether the evidence messages hold the expected values word for word."""
    wanted = set(probe.evidence_seqs)
    return values_present(probe.expect, [m.text for m in messages if m.seq in wanted])


def tokens_from_end(probe: Probe, messages: Sequence[Message]) -> int | None:
    """Return the tokens of the messages after the statement's span."""
    if not probe.evidence:
        return None
    end = probe.evidence[0].to_seq
    return sum(message.tokens or 0 for message in messages if message.seq > end)


def rounds(probe: Probe, artifacts: Sequence[Artifact], as_of: int) -> int | None:
    """Return how many times the fact's text went through a compaction by ``as_of``."""
    if not probe.evidence:
        return None
    seq = probe.evidence[0].from_seq
    return sum(1 for a in artifacts if a.covers(seq) and a.visible_from_seq <= as_of)


def _value(probe: Probe, context: Context) -> bool | None:
    if not probe.answerable or not probe.expect:
        return None
    if probe.kind == "speaker":
        return _speaker_shown(probe, context)
    return values_present(probe.expect, [block.text for block in context.history])


def _speaker_shown(probe: Probe, context: Context) -> bool:
    """A who-said-it fact is in context with its message raw, or named by a covering artifact."""
    wanted = set(probe.evidence_seqs)
    if evidence_share(probe, context) == 1.0:
        return True
    covering = [
        block.text
        for block in context.history
        if not block.is_raw and wanted & set(block.message_seqs)
    ]
    return values_present(probe.expect, covering)


def _value_in_artifact(
    probe: Probe, messages: Sequence[Message], visible: Sequence[Artifact]
) -> bool | None:
    if not probe.answerable or not probe.expect or not probe.evidence:
        return None
    wanted = set(probe.evidence_seqs)
    covering = [a.text for a in visible if any(a.covers(seq) for seq in wanted)]
    if not covering or not is_literal(probe, messages):
        return None
    return values_present(probe.expect, covering)
