"""The literal scorer: pass, fail or ambiguous, and the rule that decided.

It passes only what is plainly right and fails only what is plainly wrong; everything else is for a
judge. A value that stands near a negation, beside a value that must not be asserted, or in a
rambling answer is never a literal pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ctxeng.harness.scoring import cues
from ctxeng.harness.scoring.abstention import abstains_in_part, is_abstention
from ctxeng.harness.scoring.matching import Found, find, value_of
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
) -> LiteralVerdict:
    """Return the literal verdict on an answer.

    Args:
        expect: all groups must be met, each by any of its values.
        forbid: values a right answer does not assert.
        answerable: False: the only right answer is to abstain.
    """
    text = answer.strip()
    verbose = is_verbose(text)
    if not normal(text).strip(_NO_WORDS):
        return LiteralVerdict(verdict="fail", rule="empty_answer")
    if not answerable:
        return _unanswerable(text, is_abstention(text), verbose)
    if not is_abstention(text) and _echoes(text, question, expect):
        return LiteralVerdict(verdict="fail", rule="echoes_question", verbose=verbose)
    return _against_values(text, kind, expect, forbid, verbose)


def is_verbose(answer: str) -> bool:
    """Return whether an answer is far longer than an answer: a dump of its context, say."""
    spaced, spaceless = word_sizes(answer)
    return spaced + spaceless / 3 > VERBOSE_WORDS


def _against_values(
    text: str, kind: str, expect: Sequence[Sequence[str]], forbid: Sequence[str], verbose: bool
) -> LiteralVerdict:
    found = _found(text, expect, forbid)
    if found.met and all(found.met):
        return _all_met(text, kind, found, verbose, expect)
    if is_abstention(text):
        return LiteralVerdict(verdict="fail", rule="abstained", abstained=True, verbose=verbose)
    if found.stale and not found.matched:
        return LiteralVerdict(
            verdict="fail",
            rule="forbidden_value",
            matched=found.stale,
            stale=True,
            verbose=verbose,
        )
    missing = [group for group, met in zip(expect, found.met, strict=True) if not met]
    return _not_met(text, missing, found.matched, stale=bool(found.stale), verbose=verbose)


def _unanswerable(text: str, abstained: bool, verbose: bool) -> LiteralVerdict:
    if abstained:
        return LiteralVerdict(verdict="pass", rule="abstained", abstained=True)
    if abstains_in_part(text):
        return LiteralVerdict(verdict="ambiguous", rule="abstains_in_part", verbose=verbose)
    return LiteralVerdict(verdict="fail", rule="answered_unanswerable", verbose=verbose)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Met:
    """The value that met a group, and where."""

    value: str
    places: tuple[Found, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """What met each expected group (None: nothing did), and the forbidden values in the answer."""

    met: tuple[_Met | None, ...]
    stale: tuple[str, ...]

    @property
    def matched(self) -> tuple[str, ...]:
        return tuple(group.value for group in self.met if group)


def _found(text: str, expect: Sequence[Sequence[str]], forbid: Sequence[str]) -> _Places:
    """Return where the expected and the forbidden values stand.

    A value that stands only inside a longer value of the other side does not count: an answer
    "dark green" does not say the forbidden "green", nor the expected one.
    """
    wrong = {value: find(value_of(value), text) for value in forbid}
    right = [[(value, find(value_of(value), text)) for value in group] for group in expect]
    all_wrong = [place for places in wrong.values() for place in places]
    all_right = [place for group in right for _, places in group for place in places]
    met = [
        next(
            (
                _Met(value=value, places=tuple(kept))
                for value, places in group
                if (kept := _outside(places, all_wrong))
            ),
            None,
        )
        for group in right
    ]
    stale = tuple(value for value, places in wrong.items() if _outside(places, all_right))
    return _Places(met=tuple(met), stale=stale)


def _outside(places: Sequence[Found], longer: Sequence[Found]) -> list[Found]:
    """Return the places that do not lie within a longer one."""

    def within(place: Found, other: Found) -> bool:
        inside = other.start <= place.start and place.end <= other.end
        return inside and other.end - other.start > place.end - place.start

    return [place for place in places if not any(within(place, other) for other in longer)]


def _all_met(
    text: str, kind: str, found: _Places, verbose: bool, expect: Sequence[Sequence[str]]
) -> LiteralVerdict:
    own = normal(" ".join(value for group in expect for value in group))
    doubt = _doubt(text, kind, found, verbose, own)
    if doubt is None:
        return LiteralVerdict(verdict="pass", rule="value_found", matched=found.matched)
    return LiteralVerdict(
        verdict="ambiguous",
        rule=doubt,
        matched=found.matched,
        stale=bool(found.stale),
        verbose=verbose,
    )


def _doubt(text: str, kind: str, found: _Places, verbose: bool, own: str) -> str | None:
    """Return why an answer that holds every value is not plainly right, None when it is."""
    shown = normal(text)
    met = [group.places for group in found.met if group]
    denied = kind not in ("rejection", "wording") and not cues.denies(own)
    doubts: dict[str, Callable[[], bool]] = {
        "verbose_answer": lambda: verbose,
        "forbidden_value_beside": lambda: bool(found.stale),
        "abstains_beside_value": lambda: is_abstention(text) and not abstains_in_part(own),
        "negation_near_value": lambda: denied and _each(met, shown, cues.is_negated),
        "hedged": lambda: cues.hedges(shown) and not cues.hedges(own),
        "one_of_several": lambda: _each(met, shown, cues.is_offered),
        "answers_with_question": lambda: text.endswith(("?", "？")),
        "other_order": lambda: kind == "order" and not _in_order(met),
    }
    return next((rule for rule, holds in doubts.items() if holds()), None)


def _each(met: Sequence[Sequence[Found]], shown: str, cue: Callable[[str, int, int], bool]) -> bool:
    """Return whether some group has a cue at each of its places."""
    return any(all(cue(shown, place.start, place.end) for place in group) for group in met)


def _in_order(met: Sequence[Sequence[Found]]) -> bool:
    """Return whether the groups stand in the order expected, at one place each."""
    at = -1
    for group in met:
        later = [place.start for place in group if place.start > at]
        if not later:
            return False
        at = min(later)
    return True


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


def _echoes(text: str, question: str, expect: Sequence[Sequence[str]]) -> bool:
    """Return whether an answer says nothing that the question did not say."""
    said, asked = content_words(text), content_words(question)
    if not said or not asked or not said <= asked:
        return False
    wanted = {w for group in expect for v in group for w in content_words(v)}
    return not (wanted and wanted <= asked)
