"""The literal scorer: pass, fail or ambiguous, and the rule that decided.

It passes only what is plainly right and fails only what is plainly wrong; everything else is for a
judge. A value that stands near a negation, beside a value that must not be asserted, or in a
rambling answer is never a literal pass.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ctxeng.harness.scoring.matching import Found, Value, find, value_of
from ctxeng.harness.scoring.text import content_words, is_spaceless, normal

Verdict = Literal["pass", "fail", "ambiguous"]

VERBOSE_WORDS = 90
_ABSTAIN = re.compile(
    r"^(?:unknown|n/?a|none|not (?:mentioned|stated|specified|known|provided|available|discussed|given)"
    r"|i (?:do not|don't|cannot|can't) (?:know|recall|remember|tell|find|say|see)\b.*"
    r"|i'm not (?:sure|aware)\b.*|no (?:idea|information|mention|record)\b.*"
    r"|(?:that|this|it)(?: information)? (?:is|was|isn't|wasn't) (?:not |never )?(?:mentioned|stated|"
    r"specified|discussed|in the (?:context|conversation))\b.*"
    r"|(?:the )?(?:conversation|context|transcript|chat)(?: history)? (?:does not|doesn't|did not|didn't|"
    r"never) (?:mention|say|state|specify|contain|include|provide|discuss)\b.*"
    r"|(?:there is|there's|there was) no (?:mention|information|record)\b.*"
    r"|.{0,40}(?:was|were|is|are) (?:not|never) (?:mentioned|stated|specified|discussed|given|provided)\b.*"
    r"|不明|分かりません|わかりません|知りません|.{0,40}(?:記載|言及|情報)(?:は|が|も)?(?:ありません|ない|されていません|なし)"
    r"|.{0,40}(?:述べられて|話されて|触れられて)いません"
    r"|알 수 없(?:음|습니다|어요)|모르겠(?:습니다|어요)|모름|.{0,40}(?:언급|정보|기록)(?:이|가|은|는)?\s?(?:없|되지 않|안 )\S*"
    r"|不知道|未知|未提及|没有(?:提到|提及|说明|信息).*|.{0,30}(?:未|没有)(?:被)?(?:提及|提到|说明)"
    r"|no (?:lo )?sé|desconocido|no se (?:menciona|menciono|mencionó|indica|especifica)\b.*)[.!。！]?$",
    re.IGNORECASE | re.DOTALL,
)
_NEGATION = re.compile(
    r"\b(?:not|no|never|isn't|wasn't|aren't|weren't|don't|doesn't|didn't|won't|can't|cannot|without|"
    r"neither|nor|instead of|rather than|ruled out|rejected|refused|against|except|other than|"
    r"used to be|formerly|previously|originally|was going to be|initially|anything but|"
    r"away from|dropped|scrapped|changed from|moved from|switched from|up from|down from)\b"
    r"|ではな|じゃな|なく|ません|以前|元々|もともと|最初は|やめ|却下|から変|아니|않|말고|대신|원래|처음에는|이전|不是|没有|不再|"
    r"原来|之前|本来|而不|别用",
)
_AFTER_NEGATION = re.compile(
    r"^\W{0,3}(?:is not|was not|isn't|wasn't|not |any ?more|no longer|is wrong|was (?:ruled out|rejected|"
    r"dropped|scrapped|replaced|changed|the old)|(?:is|was) (?:incorrect|out)|instead\b.*not|before\b|"
    r"at first|initially|originally|until|but (?:changed|later|then|now|that)|and (?:then )?(?:changed|"
    r"later))|^(?:ではな|じゃな|でした?が|だったが|から|は却下|はやめ|が아|는 아니|은 아니|이 아니|가 아니|에서|였지만|였다가|이었지만|不是|但)"
)
_HEDGE = re.compile(
    r"\b(?:maybe|perhaps|possibly|might be|could be|may be|probably|either|i think|i guess|not sure|"
    r"unclear|or possibly|something like|one of)\b|たぶん|おそらく|かもしれ|か、?または|아마|일지도|인지|可能|也许|大概|或者",
)
_QUESTIONED = re.compile(r"[?？]\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteralVerdict:
    """The verdict, the rule that gave it, and what it was about.

    Args:
        abstained: the answer says that it does not know.
        stale: a forbidden (old or opposite) value stands in the answer.
        verbose: the answer is far longer than an answer.
    """

    verdict: Verdict
    rule: str
    matched: tuple[str, ...] = ()
    abstained: bool = False
    stale: bool = False
    verbose: bool = False


def score_literal(
    *,
    question: str,
    kind: str,
    expect: Sequence[Sequence[str]],
    forbid: Sequence[str],
    answer: str,
    answerable: bool = True,
    language: str = "und",
) -> LiteralVerdict:
    """Return the literal verdict on an answer.

    Args:
        expect: all groups must be met, each by any of its values.
        forbid: values a right answer does not assert.
        answerable: False: the only right answer is to abstain.
    """
    text = answer.strip()
    verbose = is_verbose(text)
    if not normal(text).strip(".!?…-"):
        return LiteralVerdict(verdict="fail", rule="empty_answer")
    abstained = is_abstention(text)
    if not answerable:
        return _unanswerable(text, abstained, verbose)
    if abstained or _echoes(text, question, expect):
        rule = "abstained" if abstained else "echoes_question"
        return LiteralVerdict(verdict="fail", rule=rule, abstained=abstained, verbose=verbose)
    return _against_values(text, kind, expect, forbid, verbose)


def is_abstention(answer: str) -> bool:
    """Return whether an answer says nothing but that it does not know."""
    return len(answer) < 240 and bool(_ABSTAIN.match(normal(answer)))


def is_verbose(answer: str) -> bool:
    """Return whether an answer is far longer than an answer: a dump of its context, say."""
    if is_spaceless(answer):
        return len(answer) > VERBOSE_WORDS * 3
    return len(answer.split()) > VERBOSE_WORDS


def _against_values(
    text: str,
    kind: str,
    expect: Sequence[Sequence[str]],
    forbid: Sequence[str],
    verbose: bool,
) -> LiteralVerdict:
    stale = tuple(v for v in forbid if find(value_of(v), text))
    met = [_met(group, text) for group in expect]
    matched = tuple(hit.text for hit, _ in met if hit is not None)
    if all(hit is not None for hit, _ in met) and met:
        return _all_met(text, kind, [found for _, found in met], matched, stale, verbose, expect)
    if stale and not matched:
        return LiteralVerdict(
            verdict="fail", rule="forbidden_value", matched=stale, stale=True, verbose=verbose
        )
    missing = [group for group, (hit, _) in zip(expect, met, strict=True) if hit is None]
    return _not_met(text, missing, matched, stale=bool(stale), verbose=verbose)


def _unanswerable(text: str, abstained: bool, verbose: bool) -> LiteralVerdict:
    if abstained:
        return LiteralVerdict(verdict="pass", rule="abstained", abstained=True)
    if _ABSTAINS_SOMEWHERE.search(normal(text)):
        return LiteralVerdict(verdict="ambiguous", rule="abstains_in_part", verbose=verbose)
    return LiteralVerdict(verdict="fail", rule="answered_unanswerable", verbose=verbose)


_ABSTAINS_SOMEWHERE = re.compile(
    r"\b(?:not|never|no|n't)\b|ない|ません|없|않|모르|没|不|未|\bunknown\b|\bno se\b"
)


def _met(group: Sequence[str], text: str) -> tuple[Value | None, list[Found]]:
    for value in map(value_of, group):
        found = find(value, text)
        if found:
            return value, found
    return None, []


def _all_met(
    text: str,
    kind: str,
    places: Sequence[Sequence[Found]],
    matched: tuple[str, ...],
    stale: tuple[str, ...],
    verbose: bool,
    expect: Sequence[Sequence[str]],
) -> LiteralVerdict:
    def ambiguous(rule: str) -> LiteralVerdict:
        return LiteralVerdict(
            verdict="ambiguous", rule=rule, matched=matched, stale=bool(stale), verbose=verbose
        )

    if verbose:
        return ambiguous("verbose_answer")
    if stale:
        return ambiguous("forbidden_value_beside")
    shown = normal(text)
    own = " ".join(value for group in expect for value in group)
    if kind not in ("rejection", "wording") and not _NEGATION.search(normal(own)):
        for found in places:
            if all(_negated(shown, place) for place in found):
                return ambiguous("negation_near_value")
    if _HEDGE.search(shown) and not _HEDGE.search(normal(own)):
        return ambiguous("hedged")
    if _QUESTIONED.search(text):
        return ambiguous("answers_with_question")
    return LiteralVerdict(verdict="pass", rule="value_found", matched=matched)


def _not_met(
    text: str,
    missing: Sequence[Sequence[str]],
    matched: tuple[str, ...],
    *,
    stale: bool,
    verbose: bool,
) -> LiteralVerdict:
    if verbose:
        return LiteralVerdict(
            verdict="fail", rule="verbose_without_value", matched=matched, verbose=True, stale=stale
        )
    said = content_words(text)
    for group in missing:
        values = [value_of(v) for v in group]
        typed = all(v.type in ("number", "date", "identifier") for v in values)
        shares = any(content_words(v.text) & said for v in values)
        if typed and not (shares and any(v.type == "date" for v in values)):
            return LiteralVerdict(
                verdict="fail", rule=f"no_{values[0].type}", matched=matched, stale=stale
            )
        if not shares:
            return LiteralVerdict(verdict="fail", rule="no_overlap", matched=matched, stale=stale)
    return LiteralVerdict(verdict="ambiguous", rule="partial_overlap", matched=matched, stale=stale)


def _negated(shown: str, place: Found) -> bool:
    """Return whether a negation or a word of the past stands close to the value, in its clause."""
    before = re.split(
        r"[.;!?。；！？\n]|, but |, and ", shown[max(0, place.start - 48) : place.start]
    )[-1]
    after = re.split(r"[.;!?。；！？\n]", shown[place.end : place.end + 40])[0]
    return bool(_NEGATION.search(before) or _AFTER_NEGATION.search(after))


def _echoes(text: str, question: str, expect: Sequence[Sequence[str]]) -> bool:
    """Return whether an answer says nothing that the question did not say."""
    said, asked = content_words(text), content_words(question)
    if not said or not asked or not said <= asked:
        return False
    wanted = {w for group in expect for v in group for w in content_words(v)}
    return not (wanted and wanted <= asked)
