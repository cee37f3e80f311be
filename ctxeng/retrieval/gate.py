"""The gate: is retrieval needed for this question at all?

Three reasons, each recorded: the question refers to the past, it asks for an exact earlier detail,
or it leaves the topic of the recent window. What is wanted of the last messages, or known of the
world, needs none. A needless search costs milliseconds and some tokens, a missing one the answer:
in doubt the gate is open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ctxeng.core.protocols import Vectors
from ctxeng.retrieval.cues import ASIDE, ASKS, EXACT, GENERAL, NEAR, OWN, PAST

Reason = Literal["always", "past_reference", "exact_detail", "topic_shift"]

TOPIC_SHIFT_COSINE = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class GateDecision:
    """Whether to search, and why.

    Args:
        exact: the question asks for an exact detail, so that retrieved text moves up in priority.
    """

    retrieve: bool
    exact: bool
    reasons: tuple[Reason, ...] = ()


def should_retrieve(question: str, *, topic_cosine: float | None = None) -> GateDecision:
    """Return the gate's decision for a question.

    Args:
        topic_cosine: similarity of the question to the recent window (-1..1), None if unknown.
    """
    text = ASIDE.sub(" ", question)
    near = bool(NEAR.search(text))
    past = bool(PAST.search(NEAR.sub(" ", text)) or OWN.search(text))
    exact = bool(EXACT.search(text) or ASKS.search(text))
    if not past and (near or GENERAL.search(text)):
        exact = False
    reasons: list[Reason] = []
    if past:
        reasons.append("past_reference")
    if exact:
        reasons.append("exact_detail")
    if topic_cosine is not None and topic_cosine < TOPIC_SHIFT_COSINE:
        reasons.append("topic_shift")
    return GateDecision(retrieve=bool(reasons), exact=exact, reasons=tuple(reasons))


def topic_cosine(question: Vectors, recent: Sequence[Vectors]) -> float | None:
    """Return the best cosine between a question and the recent messages, None without any."""
    if not len(recent):
        return None
    return max(float(vector @ question) for vector in recent)
