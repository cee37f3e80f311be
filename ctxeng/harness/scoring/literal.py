"""The literal scorer: pass, fail or ambiguous, and the rule that decided.

It passes only what is plainly right and fails only what is plainly wrong; everything else is for a
judge. A value that stands near a negation, beside a value that must not be asserted, or in a
rambling answer is never a literal pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ctxeng.harness.scoring import cues, rivals
from ctxeng.harness.scoring.abstention import abstains_in_part, is_abstention
from ctxeng.harness.scoring.matching import Found, Value, find, is_version, value_of, version_of
from ctxeng.harness.scoring.text import content_words, normal, word_sizes

Verdict = Literal["pass", "fail", "ambiguous"]

VERBOSE_WORDS = 90
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
    asked = Asked(question=question, kind=kind, expect=expect, forbid=forbid)
    return _against_values(text, asked, verbose)


def is_verbose(answer: str) -> bool:
    """Return whether an answer is far longer than an answer: a dump of its context, say."""
    spaced, spaceless = word_sizes(answer)
    return spaced + spaceless / 3 > VERBOSE_WORDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked, and what a right answer holds and does not hold."""

    question: str
    kind: str
    expect: Sequence[Sequence[str]]
    forbid: Sequence[str]

    @property
    def own(self) -> str:
        """Return the normal form of every expected value."""
        return normal(" ".join(value for group in self.expect for value in group))

    @property
    def known(self) -> list[str]:
        """Return every text whose names and values an answer may repeat."""
        return [self.question, *(value for group in self.expect for value in group), *self.forbid]


def _against_values(text: str, asked: Asked, verbose: bool) -> LiteralVerdict:
    found = _found(text, asked.kind, asked.expect, asked.forbid)
    if found.met and all(found.met):
        return _all_met(text, asked, found, verbose)
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
    missing = [group for group, met in zip(asked.expect, found.met, strict=True) if not met]
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


def _read(value: str, kind: str) -> Value:
    """Return a value as its kind has it: 15.4 as an identifier is a version, not a number."""
    return version_of(value) if kind == "identifier" and is_version(value) else value_of(value)


def _found(text: str, kind: str, expect: Sequence[Sequence[str]], forbid: Sequence[str]) -> _Places:
    """Return where the expected and the forbidden values stand.

    A value that stands only inside a longer value of the other side does not count: an answer
    "dark green" does not say the forbidden "green", nor the expected one.
    """
    wrong = {value: find(_read(value, kind), text) for value in forbid}
    right = [[(value, find(_read(value, kind), text)) for value in group] for group in expect]
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


def _all_met(text: str, asked: Asked, found: _Places, verbose: bool) -> LiteralVerdict:
    doubt = _doubt(text, asked, found, verbose)
    if doubt == "forbidden_value_beside" and _prefers_forbidden(normal(text), asked, found):
        return LiteralVerdict(
            verdict="fail", rule="forbidden_value", matched=found.stale, stale=True, verbose=verbose
        )
    if doubt is None:
        return LiteralVerdict(verdict="pass", rule="value_found", matched=found.matched)
    return LiteralVerdict(
        verdict="ambiguous",
        rule=doubt,
        matched=found.matched,
        stale=bool(found.stale),
        verbose=verbose,
    )


def _doubt(text: str, asked: Asked, found: _Places, verbose: bool) -> str | None:
    """Return why an answer that holds every value is not plainly right, None when it is."""
    shown, own = normal(text), asked.own
    met = [group.places for group in found.met if group]
    denied = asked.kind not in MAY_DENY and not cues.denies(own)
    doubts: dict[str, Callable[[], bool]] = {
        "verbose_answer": lambda: verbose,
        "forbidden_value_beside": lambda: bool(found.stale),
        "abstains_beside_value": lambda: is_abstention(text) and not abstains_in_part(own),
        "negation_near_value": lambda: denied and _each(met, shown, cues.is_negated),
        "hedged": lambda: cues.hedges(shown) and not cues.hedges(own),
        "one_of_several": lambda: _each(met, shown, cues.is_offered),
        "answers_with_question": lambda: text.endswith(("?", "？")),
        "other_order": lambda: asked.kind == "order" and not _in_order(met),
    }
    plain = next((rule for rule, holds in doubts.items() if holds()), None)
    return plain or _beside(text, asked, found)


def _prefers_forbidden(shown: str, asked: Asked, found: _Places) -> bool:
    """Return whether an answer takes the expected value back and leaves a forbidden one standing."""
    if asked.kind in MAY_DENY or cues.denies(asked.own) or cues.hedges(shown):
        return False
    if cues.denies(normal(asked.question)):
        return False
    wrong = [find(_read(value, asked.kind), shown) for value in found.stale]
    return _each(
        [group.places for group in found.met if group], shown, cues.is_negated
    ) and not any(cues.is_negated(shown, p.start, p.end) for places in wrong for p in places)


def _beside(text: str, asked: Asked, found: _Places) -> str | None:
    """Return what else an answer says that may take the value back, None when nothing does."""
    if asked.kind == "wording":
        return None
    shown = normal(text)
    values = [_read(group.value, asked.kind) for group in found.met if group]
    met = [group.places for group in found.met if group]
    places = [place for group in met for place in group]
    denied = asked.kind not in MAY_DENY and not cues.denies(asked.own)
    doubts: dict[str, Callable[[], bool]] = {
        "taken_back": lambda: denied and any(rivals.is_taken_back(shown, p) for p in places),
        "permitted": lambda: not denied and any(rivals.is_permitted(shown, p) for p in places),
        "other_value_beside": lambda: rivals.other_value(values, text, asked.known),
        "other_person_beside": lambda: rivals.other_person(text, asked.known, places),
        "change_after_value": lambda: (
            asked.kind != "order" and any(rivals.changes_after(shown, p) for p in places)
        ),
        "other_word": lambda: any(
            all(rivals.is_other_word(text, value, place) for place in group)
            for value, group in zip(values, met, strict=True)
        ),
        "only_proposed": lambda: any(rivals.is_proposed(shown, p, asked.question) for p in places),
        "named_beside": lambda: (
            asked.kind == "speaker" and all(rivals.is_indirect(shown, p) for p in places)
        ),
        "other_order": lambda: asked.kind == "order" and rivals.is_reordered(shown, met),
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
        vague = any(v.type == "date" for v in values) and not rivals.other_value(values, text, ())
        if typed and not (shares and vague):
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
