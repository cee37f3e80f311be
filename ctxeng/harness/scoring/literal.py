"""The literal scorer: pass, fail or ambiguous, and the rule that decided.

It passes only what is plainly right and fails only what is plainly wrong; everything else is for a
judge. A value that stands near a negation, beside a value that must not be asserted, or in a
rambling answer is never a literal pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ctxeng.harness.scoring import choice, contrast, cues, near_misses, rivals
from ctxeng.harness.scoring.abstention import abstains_in_part, is_abstention
from ctxeng.harness.scoring.doubts import MAY_DENY, Asked, doubt_of
from ctxeng.harness.scoring.found import (
    Places,
    in_some_group,
    is_told_once,
    places_in,
    stale_places,
)
from ctxeng.harness.scoring.matching import Value, value_of
from ctxeng.harness.scoring.text import content_words, normal, word_sizes

Verdict = Literal["pass", "fail", "ambiguous"]

VERBOSE_WORDS = 90
_NO_WORDS = ".!?…-"


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
    extract: bool = False,
) -> LiteralVerdict:
    """Return the literal verdict on an answer.

    Args:
        expect: all groups must be met, each by any of its values.
        forbid: values a right answer does not assert.
        answerable: False: the only right answer is to abstain.
        extract: the answer can only be a sentence of the session as it stands. One that holds no
            word of the value is then no rewording of it; one that holds the value is its statement.
    """
    text = answer.strip()
    verbose = is_verbose(text)
    if not normal(text).strip(_NO_WORDS):
        return LiteralVerdict(verdict="fail", rule="empty_answer")
    if not answerable:
        return _unanswerable(text, is_abstention(text), verbose)
    if not is_abstention(text) and _echoes(text, question, expect):
        return LiteralVerdict(verdict="fail", rule="echoes_question", verbose=verbose)
    asked = Asked(question=question, kind=kind, expect=expect, forbid=forbid, extract=extract)
    return _against_values(text, asked, verbose)


def is_verbose(answer: str) -> bool:
    """Return whether an answer is far longer than an answer: a dump of its context, say."""
    spaced, spaceless = word_sizes(answer)
    return spaced + spaceless / 3 > VERBOSE_WORDS


def _against_values(text: str, asked: Asked, verbose: bool) -> LiteralVerdict:
    found = places_in(text, asked.kind, asked.expect, asked.forbid)
    if found.met and all(found.met):
        return _all_met(text, asked, found, verbose)
    if is_abstention(text):
        return LiteralVerdict(verdict="fail", rule="abstained", abstained=True, verbose=verbose)
    if not found.matched and _stale_stands(normal(text), asked, found):
        return LiteralVerdict(
            verdict="fail",
            rule="forbidden_value",
            matched=found.stale,
            stale=True,
            verbose=verbose,
        )
    if found.stale and not found.matched and choice.sets_aside(text, asked.question):
        return LiteralVerdict(verdict="ambiguous", rule="forbidden_value_aside", verbose=verbose)
    missing = [group for group, met in zip(asked.expect, found.met, strict=True) if not met]
    return _not_met(text, missing, found, asked, verbose)


def _unanswerable(text: str, abstained: bool, verbose: bool) -> LiteralVerdict:
    if abstained:
        return LiteralVerdict(verdict="pass", rule="abstained", abstained=True)
    if abstains_in_part(text):
        return LiteralVerdict(verdict="ambiguous", rule="abstains_in_part", verbose=verbose)
    return LiteralVerdict(verdict="fail", rule="answered_unanswerable", verbose=verbose)


def _all_met(text: str, asked: Asked, found: Places, verbose: bool) -> LiteralVerdict:
    doubt = doubt_of(text, asked, found, verbose=verbose)
    if doubt == "forbidden_value_beside":
        if _chooses(text, asked, found):
            return LiteralVerdict(
                verdict="pass", rule="forbidden_value_denied", matched=found.matched
            )
        if _chooses(text, asked, found, wrong=True) or _prefers_forbidden(text, asked, found):
            return LiteralVerdict(
                verdict="fail", rule="forbidden_value", matched=found.stale, stale=True
            )
    if doubt is None:
        return LiteralVerdict(verdict="pass", rule="value_found", matched=found.matched)
    if doubt == "other_order" and is_told_once(normal(text), found.places):
        return LiteralVerdict(verdict="fail", rule="other_order", matched=found.matched)
    return LiteralVerdict(
        verdict="ambiguous",
        rule=doubt,
        matched=found.matched,
        stale=bool(found.stale) and doubt == "forbidden_value_beside",
        verbose=verbose,
    )


def _chooses(text: str, asked: Asked, found: Places, *, wrong: bool = False) -> bool:
    """Return whether an answer asserts one side's values and plainly sets the other's aside.

    Args:
        wrong: whether it chooses the forbidden ones.
    """
    if asked.kind in (*MAY_DENY, "order") or cues.denies(f"{asked.own}\n{normal(asked.question)}"):
        return False
    right = [place for group in found.places for place in group]
    stale = stale_places(normal(text), asked.kind, found)
    kept, aside = (stale, right) if wrong else (right, stale)
    rest = choice.without_aside(text, asked.question, kept, aside)
    if rest is None:
        rest = contrast.about_asked(text, asked.question, kept, aside)
    if rest is None:
        return False
    if wrong:
        own = [value for group in asked.expect for value in group]
        asked = replace(asked, expect=[found.stale], forbid=own)
    return _against_values(rest, asked, verbose=False).verdict == "pass"


def _prefers_forbidden(text: str, asked: Asked, found: Places) -> bool:
    """Return whether an answer takes the expected value back and leaves a forbidden one."""
    shown = normal(text)
    if asked.kind in MAY_DENY or cues.denies(asked.own) or cues.hedges(shown):
        return False
    if cues.denies(normal(asked.question)) or choice.asks_of_other(asked.question):
        return False
    wrong = stale_places(shown, asked.kind, found)
    return in_some_group(found.places, shown, cues.is_negated) and not any(
        cues.is_negated(shown, p.start, p.end) for p in wrong
    )


def _stale_stands(shown: str, asked: Asked, found: Places) -> bool:
    """Return whether a forbidden value stands in the answer and is not plainly denied."""
    wrong = stale_places(shown, asked.kind, found)
    return (
        bool(found.stale)
        and not choice.sets_aside(shown, asked.question)
        and not all(cues.is_negated(shown, p.start, p.end) for p in wrong)
    )


def _not_met(
    text: str,
    missing: Sequence[Sequence[str]],
    found: Places,
    asked: Asked,
    verbose: bool,
) -> LiteralVerdict:
    matched, stale = found.matched, bool(found.stale)
    if verbose:
        return LiteralVerdict(
            verdict="fail", rule="verbose_without_value", matched=matched, verbose=True, stale=stale
        )
    for group in missing:
        spelled = near_misses.respelled([value_of(value) for value in group], text)
        if spelled is not None:
            return _against_values(spelled, asked, verbose)
        rule = _plainly_missing(text, [value_of(value) for value in group], asked)
        if rule is not None:
            return LiteralVerdict(verdict="fail", rule=rule, matched=matched, stale=stale)
    return LiteralVerdict(verdict="ambiguous", rule="partial_overlap", matched=matched, stale=stale)


def _plainly_missing(text: str, values: Sequence[Value], asked: Asked) -> str | None:
    """Return the rule by which none of a group's values is in an answer, None where one may be."""
    said, may_count = content_words(text), _may_say(values, text)
    plainly: dict[str, Callable[[], bool]] = {
        "other_wording": lambda: (
            asked.kind == "wording" and near_misses.is_other_wording(values, said)
        ),
        "says_nothing": lambda: near_misses.says_nothing(text),
        "no_number": lambda: not may_count and near_misses.counts_nothing(values, text),
    }
    rule = next((rule for rule, holds in plainly.items() if holds()), None)
    if rule == "no_number" and near_misses.is_spelled_in_spanish(values, text):
        return None
    if rule or may_count or near_misses.is_spelled_apart(values, text):
        return rule
    if near_misses.is_spelled_in_spanish(values, text):
        return None
    shares = near_misses.shares_words(values, said)
    if all(v.type in ("number", "date", "identifier") for v in values):
        open_date = shares and any(v.type == "date" for v in values)
        may_be = open_date and not rivals.other_value(values, text, ())
        return None if may_be else f"no_{values[0].type}"
    reworded = not asked.extract and near_misses.may_paraphrase(values, text, asked.kind)
    if not shares and not reworded:
        return "no_overlap"
    much_else = near_misses.tells_of_more(values, said, content_words(asked.question))
    return "tells_of_other" if asked.extract and much_else else None


def _may_say(values: Sequence[Value], text: str) -> bool:
    return near_misses.may_count(values, text) or near_misses.may_amount(values, text)


def _echoes(text: str, question: str, expect: Sequence[Sequence[str]]) -> bool:
    """Return whether an answer says nothing that the question did not say."""
    said, asked = content_words(text), content_words(question)
    if not said or not asked or not said <= asked:
        return False
    wanted = {w for group in expect for v in group for w in content_words(v)}
    return not (wanted and wanted <= asked)
