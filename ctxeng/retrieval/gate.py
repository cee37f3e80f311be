"""The gate: is retrieval needed for this question at all?

Three reasons, each recorded: the question refers to the past, it asks for an exact earlier detail,
or it leaves the topic of the recent window. What is wanted of the last messages, or known of the
world, needs none. A needless search costs milliseconds and some tokens, a missing one the answer:
in doubt the gate is open.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ctxeng.core.protocols import Vectors
from ctxeng.retrieval.analyser import STOP_WORDS
from ctxeng.retrieval.cues import (
    ADVICE,
    ASIDE,
    ASKS,
    EXACT,
    FAR,
    GENERAL,
    KNOWN_SCRIPT,
    NEAR,
    OWN,
    PAST,
    SAID_HERE,
    WORLD,
)
from ctxeng.retrieval.window import answered_in

Reason = Literal["always", "past_reference", "exact_detail", "topic_shift"]

TOPIC_SHIFT_COSINE = 0.15
MIN_WORDS = 3  # fewer tell no language


@dataclass(frozen=True, slots=True, kw_only=True)
class GateDecision:
    """Whether to search, and why.

    Args:
        exact: the question asks for an exact detail, so that retrieved text moves up in priority.
    """

    retrieve: bool
    exact: bool
    reasons: tuple[Reason, ...] = ()


def should_retrieve(
    question: str, *, recent: Sequence[str] = (), topic_cosine: float | None = None
) -> GateDecision:
    """Return the gate's decision for a question.

    Args:
        recent: texts of the recent window, oldest first; where they hold the answer, none is
            looked for elsewhere.
        topic_cosine: similarity of the question to the recent window (-1..1), None if unknown.
    """
    text = ASIDE.sub(" ", question)
    if _is_in_another_language(text):
        return GateDecision(retrieve=True, exact=True, reasons=("exact_detail",))
    near = bool(NEAR.search(text))
    past = bool(PAST.search(NEAR.sub(" ", text)) or OWN.search(text))
    if near and not FAR.search(NEAR.sub(" ", text)):
        past = False
    exact = bool(EXACT.search(text) or ASKS.search(text))
    general = not past and bool(GENERAL.search(text))
    if general or (near and not past):
        exact = False
    if _is_of_the_world(text) or answered_in(text, recent, refers_back=past):
        return GateDecision(retrieve=False, exact=False)
    reasons: list[Reason] = []
    if past:
        reasons.append("past_reference")
    if exact:
        reasons.append("exact_detail")
    if topic_cosine is not None and topic_cosine < TOPIC_SHIFT_COSINE and not general:
        reasons.append("topic_shift")
    return GateDecision(retrieve=bool(reasons), exact=exact, reasons=tuple(reasons))


def _is_in_another_language(text: str) -> bool:
    """Return whether a question is in a language without cues, for which the gate is open."""
    words = re.findall(r"[^\W\d_]+", text.casefold())
    if not re.search(r"[?¿;؟]", text) or len(words) < MIN_WORDS or KNOWN_SCRIPT.search(text):
        return False
    return "¿" in text or not STOP_WORDS.intersection(words)


def _is_of_the_world(text: str) -> bool:
    """Return whether the past in a question is the world's or the asker's day, not this talk's."""
    return bool(WORLD.search(text) or ADVICE.search(text)) and not SAID_HERE.search(text)


def topic_cosine(question: Vectors, recent: Sequence[Vectors]) -> float | None:
    """Return the best cosine between a question and the recent messages, None without any."""
    if not len(recent):
        return None
    return max(float(vector @ question) for vector in recent)
