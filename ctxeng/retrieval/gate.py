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
    r"at the (?:start|beginning)|back when|again\b.*\bwhat was|"
    r"we (?:discussed|decided|agreed|chose|picked|settled|talked|said|used|had|went|ruled)|(?:i|you|he|she|they|we) (?:mentioned|told|said|gave|suggested|proposed|"
    r"asked|wanted|rejected|named|promised|wrote|drafted|called)|did (?:i|we|you|he|she|they)|"
    r"remind me|remember|recall|so far|until now|first (?:time|mentioned|version))\b"
    r"|前回|以前|さっき|先ほど|先日|先週|昨日|最初に|はじめに|前に|言って(?:い)?た|話して(?:い)?た|決めた|"
    r"覚えて|でしたっけ|だったっけ|だっけ|ましたか|言いました|述べ|"
    r"아까|지난번|지난주|이전에|전에|어제|처음에|말했|얘기했|이야기했|정했|결정했|기억|했었|였지|더라|했지|했나요|"
    r"之前|上次|刚才|昨天|上周|最初|说过|提到|决定过|记得",
    re.IGNORECASE,
)
_EXACT = re.compile(
    r"\b(?:exact(?:ly)?|precise(?:ly)?|verbatim|word for word|wording|quote|which (?:file|function|"
    r"port|version|ticket|branch|table|endpoint|address|date|day|number|name|colou?r|model)|"
    r"what (?:was|were|is|are|s|did|time|date|day|number|port|version|name|kind|type|colou?r|size)|"
    r"how (?:much|many|long|old|far|often)|when (?:was|is|did|does|do|are|were)|who (?:said|is|was|"
    r"asked|suggested|proposed|did|wanted)|where (?:is|was|did|does|do|are)|whose|id of|number of|"
    r"name of|address|serial|order number|deadline)\b"
    r"|正確|具体的に|いくら|何時|何日|何月|何個|何人|何番|いつ|どこ|誰|どの|何という|名前は|番号|型番|原文|そのまま|一字一句|"
    r"정확|얼마|몇|언제|어디|누가|누구|어느|무슨|이름|번호|그대로|원문|"
    r"准确|具体|多少|几点|几号|哪个|哪一|什么时候|哪里|谁|原话|编号|名字",
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
    exact = bool(_EXACT.search(question))
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
