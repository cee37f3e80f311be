"""The literal scorer: pass, fail or ambiguous, and the rule that decided.

It passes only what is plainly right and fails only what is plainly wrong; everything else is for a
judge. A value that stands near a negation, beside a value that must not be asserted, or in a
rambling answer is never a literal pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ctxeng.harness.scoring import beside, cues, near_misses, rivals
from ctxeng.harness.scoring.abstention import abstains_in_part, is_abstention
from ctxeng.harness.scoring.amounts import is_other_amount
from ctxeng.harness.scoring.cue import CUES, Around
from ctxeng.harness.scoring.found import (
    Places,
    in_order,
    in_some_group,
    is_plain_list,
    is_reordered,
    places_in,
    read_as,
    stale_places,
)
from ctxeng.harness.scoring.matching import Value, value_of
from ctxeng.harness.scoring.text import content_words, normal, word_sizes

Verdict = Literal["pass", "fail", "ambiguous"]

VERBOSE_WORDS = 90
# A probe's value is said in its evidence alone, so that a sentence quoted with it is the statement:
# whom and what else that names takes nothing back. Who said it is a name, said in many places.
OF_ANOTHER = ("other_value_beside", "other_person_beside", "change_after_value", "limited")
MAY_DENY = ("rejection", "constraint", "wording")  # a right answer may itself say "not"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked, and what a right answer holds and does not hold.

    Args:
        extract: the answer is a sentence of the session as it stands, never a rewording.
    """

    question: str
    kind: str
    expect: Sequence[Sequence[str]]
    forbid: Sequence[str]
    extract: bool = False

    @property
    def own(self) -> str:
        """Return the normal form of every expected value."""
        return normal(" ".join(value for group in self.expect for value in group))

    @property
    def known(self) -> list[str]:
        """Return every text whose names and values an answer may repeat."""
        return [self.question, *(value for group in self.expect for value in group), *self.forbid]


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
    missing = [group for group, met in zip(asked.expect, found.met, strict=True) if not met]
    return _not_met(text, missing, found, asked, verbose)


def _unanswerable(text: str, abstained: bool, verbose: bool) -> LiteralVerdict:
    if abstained:
        return LiteralVerdict(verdict="pass", rule="abstained", abstained=True)
    if abstains_in_part(text):
        return LiteralVerdict(verdict="ambiguous", rule="abstains_in_part", verbose=verbose)
    return LiteralVerdict(verdict="fail", rule="answered_unanswerable", verbose=verbose)


def _all_met(text: str, asked: Asked, found: Places, verbose: bool) -> LiteralVerdict:
    doubt = _doubt(text, asked, found, verbose)
    if doubt == "forbidden_value_beside" and _prefers_forbidden(normal(text), asked, found):
        return LiteralVerdict(
            verdict="fail", rule="forbidden_value", matched=found.stale, stale=True, verbose=verbose
        )
    if doubt is None:
        return LiteralVerdict(verdict="pass", rule="value_found", matched=found.matched)
    if doubt == "other_order" and is_plain_list(normal(text), found.places):
        return LiteralVerdict(verdict="fail", rule="other_order", matched=found.matched)
    return LiteralVerdict(
        verdict="ambiguous",
        rule=doubt,
        matched=found.matched,
        stale=bool(found.stale) and doubt == "forbidden_value_beside",
        verbose=verbose,
    )


def _doubt(text: str, asked: Asked, found: Places, verbose: bool) -> str | None:
    """Return why an answer that holds every value is not plainly right, None when it is."""
    shown, own = normal(text), asked.own
    met = found.places
    denied = asked.kind not in MAY_DENY and not cues.denies(own)
    doubts: dict[str, Callable[[], bool]] = {
        "verbose_answer": lambda: verbose,
        "forbidden_value_beside": lambda: bool(found.stale),
        "abstains_beside_value": lambda: is_abstention(text) and not abstains_in_part(own),
        "negation_near_value": lambda: denied and in_some_group(met, shown, cues.is_negated),
        "hedged": lambda: cues.hedges(shown, normal(asked.question)) and not cues.hedges(own),
        "one_of_several": lambda: in_some_group(met, shown, cues.is_offered),
        "answers_with_question": lambda: text.endswith(("?", "？")),
        "other_order": lambda: asked.kind == "order" and not in_order(met),
    }
    plain = next((rule for rule, holds in doubts.items() if holds()), None)
    return plain or _beside(text, asked, found)


def _prefers_forbidden(shown: str, asked: Asked, found: Places) -> bool:
    """Return whether an answer takes the expected value back and leaves a forbidden one."""
    if asked.kind in MAY_DENY or cues.denies(asked.own) or cues.hedges(shown):
        return False
    if cues.denies(normal(asked.question)):
        return False
    wrong = stale_places(shown, asked.kind, found)
    return in_some_group(found.places, shown, cues.is_negated) and not any(
        cues.is_negated(shown, p.start, p.end) for p in wrong
    )


def _stale_stands(shown: str, asked: Asked, found: Places) -> bool:
    """Return whether a forbidden value stands in the answer and is not plainly denied."""
    wrong = stale_places(shown, asked.kind, found)
    return bool(found.stale) and not all(cues.is_negated(shown, p.start, p.end) for p in wrong)


def _beside(text: str, asked: Asked, found: Places) -> str | None:
    """Return what else an answer says that may take the value back, None when nothing does."""
    if asked.kind == "wording":
        return None
    shown = normal(text)
    values = [read_as(group.value, asked.kind) for group in found.met if group]
    met = found.places
    places = [place for group in met for place in group]
    kept = beside.without_clauses(shown, stale_places(shown, asked.kind, found), places)
    said = [Around(kept, place) for place in places]
    whole = said if kept == shown else [Around(shown, place) for place in places]
    of_value = [value for value, group in zip(values, met, strict=True) for _ in group]
    valued = list(zip(of_value, whole, strict=True))
    denied = asked.kind not in MAY_DENY and not cues.denies(asked.own)
    question = asked.question
    doubts: dict[str, Callable[[], bool]] = {
        "taken_back": lambda: denied and any(beside.is_taken_back(a, question) for a in said),
        "denied_in_spanish": lambda: (
            denied and any(beside.is_denied_in_spanish(a, asked.own) for a in said)
        ),
        "longer_word": lambda: any(
            beside.is_part_of_longer(a, text, value, question)
            or beside.is_someone_elses(a, asked.kind, question)
            for value, a in valued
        ),
        "denied_again": lambda: any(a.says(CUES["denied_again"]) for a in said),
        "permitted": lambda: not denied and any(a.says(CUES["permitted"]) for a in said),
        "limited": lambda: any(
            beside.is_limited(a, asked.own) or is_other_amount(a, text, value, question)
            for value, a in valued
            if value.type in ("number", "date") or any(c.isdigit() for c in value.text)
        ),
        "other_value_beside": lambda: rivals.other_value(values, text, asked.known),
        "other_person_beside": lambda: rivals.other_person(text, question, asked.known, places),
        "change_after_value": lambda: (
            asked.kind != "order" and any(beside.changes_after(a) for a in said)
        ),
        "other_word": lambda: any(
            all(rivals.is_other_word(text, value, place) for place in group)
            for value, group in zip(values, met, strict=True)
        ),
        "only_proposed": lambda: any(beside.is_proposed(a, question) for a in said),
        "named_beside": lambda: (
            asked.kind == "speaker" and all(a.says(CUES["indirect"]) for a in said)
        ),
        "other_order": lambda: asked.kind == "order" and is_reordered(shown, met),
    }
    told = OF_ANOTHER if asked.extract and asked.kind != "speaker" else ()
    return next((rule for rule, holds in doubts.items() if rule not in told and holds()), None)


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
