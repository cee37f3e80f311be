"""The gate: is retrieval needed for this question at all?

Three reasons, each recorded: the question refers to the past, it asks for an exact earlier detail,
or it leaves the topic of the recent window. Cue lists cover English, Japanese, Korean and Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ctxeng.core.protocols import Vectors

Reason = Literal["always", "past_reference", "exact_detail", "topic_shift"]

TOPIC_SHIFT_COSINE = 0.15

_PAST = re.compile(
    r"\b(?:earlier|previous(?:ly)?|before|last (?:time|week|month|session|night|year|monday|"
    r"tuesday|wednesday|thursday|friday|saturday|sunday)|yesterday|ago|originally|"
    r"at the (?:start|beginning)|back when|again\b.{0,200}\bwhat was|"
    r"we (?:discussed|decided|agreed|chose|picked|settled|talked|said|used|had|went|ruled)|"
    r"(?:i|you|he|she|they|we) (?:mentioned|told|said|gave|suggested|proposed|"
    r"asked|wanted|rejected|named|promised|wrote|drafted|called)|did (?:i|we|you|he|she|they)|"
    r"remind me|remember|recall|so far|until now|first (?:time|mentioned|version))\b"
    r"|前回|以前|さっき|先ほど|先日|先週|昨日|最初に|はじめに|前に|言って(?:い)?た|話して(?:い)?た|決めた|"
    r"覚えて|でしたっけ|だったっけ|だっけ|ましたか|言いました|述べ|"
    r"아까|지난번|지난주|이전에|전에|어제|처음에|말했|얘기했|이야기했|정했|결정했|기억|했었|였지|더라|했지|했나요|"
    r"之前|上次|刚才|昨天|上周|最初|说过|提到|决定过|记得",
    re.IGNORECASE,
)
_EXACT = re.compile(
    r"\b(?:exact(?:ly)?|precise(?:ly)?|verbatim|word for word|wording|quote|"
    r"which (?:of|file|function|port|version|ticket|branch|table|endpoint|address|date|"
    r"day|number|name|colou?r|model)|"
    r"what (?:was|were|is|are|s|did|time|date|day|number|port|version|name|kind|type|colou?r|size)|"
    r"(?:what|who|when|where|whose name)['’]s|"
    r"how (?:much|many|long|old|far|often)|when (?:was|is|did|does|do|are|were)|who (?:said|is|was|"
    r"asked|suggested|proposed|did|wanted)|where (?:is|was|did|does|do|are)|whose|id of|number of|"
    r"name of|address|serial|order number|deadline|tell me (?:my|our|his|her|their))\b"
    r"|正確|具体的に|いくら|いくつ|いつ|どこ|誰|だれ|どの|どんな|どちら|どれ|何(?![かも])|なに(?![かも])|なぜ|どうして|"
    r"どう(?:なっ|なり|でし|だっ|し(?:まし)?た)|教えて|(?:名前|番号|型番)(?:[はがをって]|[?？])|原文|そのまま|"
    r"一字一句|は[?？]|"
    r"정확|얼마|몇|언제|어디|누가|누구|어느|어떤|어떻게|무슨|무엇|뭐|뭘|왜|이름|번호|그대로|원문|알려|[은는][?？]|"
    r"准确|具体|多少|几点|几号|哪|什么|怎么|为何|谁|原话|编号|名字|告诉我",
    re.IGNORECASE,
)
# A sentence that asks for a fact: "Why was Redis rejected?", "Does Anna have a sister?"; not one
# that asks for advice or work: "How can I …?", "What do you think?", "Could you …?".
_ASKS = re.compile(
    r"(?:^|[.!?:;,]\s+|\b(?:and|so|but|then)\s+)"
    r"(?!(?:what|how|why) (?:if|about|to|not|don['’]t|do you|do i|are you|"
    r"(?:can|could|should|would) (?:i|we|you))\b)"
    r"(?:(?:(?:in|on|at|to|for|from|with|of|by) )?(?:what|which|whom?|when|where|why|how)\b"
    r"|(?:do|does|did|is|are|am|was|were|has|have|had|will|would) "
    r"(?!(?:you|that|this|it|there|these|those)\b)"
    r"|(?:can|could|should) (?!(?:you|that|this|it|there|these|those|i|we)\b))"
    r"[^.!?]{0,300}[?？]",
    re.IGNORECASE,
)


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
    reasons: list[Reason] = []
    if _PAST.search(question):
        reasons.append("past_reference")
    exact = bool(_EXACT.search(question) or _ASKS.search(question))
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
