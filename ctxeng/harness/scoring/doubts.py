"""Why an answer that holds every expected value is not plainly right.

The doubts stand in two tables, rule by rule in the order they are asked in: what is plain from the
whole answer, then what stands beside the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ctxeng.harness.scoring import beside, cues, rivals
from ctxeng.harness.scoring.abstention import abstains_in_part, is_abstention
from ctxeng.harness.scoring.amounts import is_other_amount
from ctxeng.harness.scoring.cue import CUES, Around
from ctxeng.harness.scoring.found import (
    Places,
    in_order,
    in_some_group,
    is_reordered,
    read_as,
    stale_places,
)
from ctxeng.harness.scoring.matching import Found, Value
from ctxeng.harness.scoring.text import normal

# A probe's value is said in its evidence alone, so that a sentence quoted with it is the statement:
# whom and what else that names takes nothing back. Who said it is a name, said in many places.
OF_ANOTHER = ("other_value_beside", "other_person_beside", "change_after_value", "limited")
MAY_DENY = ("rejection", "constraint", "wording")  # a right answer may itself say "not"


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


def doubt_of(text: str, asked: Asked, found: Places, *, verbose: bool) -> str | None:
    """Return the rule by which an answer that holds every value is open, None when it is right."""
    if verbose:
        return "verbose_answer"
    answer = Answer(text, asked, found)
    plain = next((rule for rule, holds in _PLAIN.items() if holds(answer)), None)
    if plain or asked.kind == "wording":
        return plain
    told = OF_ANOTHER if asked.extract and asked.kind != "speaker" else ()
    return next((r for r, holds in _BESIDE.items() if r not in told and holds(answer)), None)


@dataclass(frozen=True)
class Answer:
    """An answer that holds every expected value, and what stands around each of its places."""

    text: str
    asked: Asked
    found: Places

    @cached_property
    def shown(self) -> str:
        return normal(self.text)

    @cached_property
    def denies(self) -> bool:
        """Whether a denial beside a value takes it back: where the value holds none itself."""
        return self.asked.kind not in MAY_DENY and not cues.denies(self.asked.own)

    @cached_property
    def places(self) -> list[Found]:
        return [place for group in self.found.places for place in group]

    @cached_property
    def values(self) -> list[Value]:
        return [read_as(group.value, self.asked.kind) for group in self.found.met if group]

    @cached_property
    def said(self) -> list[Around]:
        """What stands around each place, without the clauses of forbidden values."""
        stale = stale_places(self.shown, self.asked.kind, self.found)
        kept = beside.without_clauses(self.shown, stale, self.places)
        return [Around(kept, place) for place in self.places]

    def valued(self) -> Iterator[tuple[Value, Around]]:
        """Yield each place's value and all that stands around it."""
        for value, group in zip(self.values, self.found.places, strict=True):
            yield from ((value, Around(self.shown, place)) for place in group)


def _is_negated(answer: Answer) -> bool:
    return answer.denies and in_some_group(answer.found.places, answer.shown, cues.is_negated)


def _is_hedged(answer: Answer) -> bool:
    question = normal(answer.asked.question)
    return cues.hedges(answer.shown, question) and not cues.hedges(answer.asked.own)


def _is_taken_back(answer: Answer) -> bool:
    question = answer.asked.question
    return answer.denies and any(beside.is_taken_back(a, question) for a in answer.said)


def _is_denied_in_spanish(answer: Answer) -> bool:
    own = answer.asked.own
    return answer.denies and any(beside.is_denied_in_spanish(a, own) for a in answer.said)


def _is_longer_word(answer: Answer) -> bool:
    question = answer.asked.question
    return any(
        beside.is_part_of_longer(around, answer.text, value, question)
        or beside.is_someone_elses(around, answer.asked.kind, question)
        for value, around in answer.valued()
    )


def _is_limited(answer: Answer) -> bool:
    asked = answer.asked
    return any(
        beside.is_limited(around, asked.own)
        or is_other_amount(around, answer.text, value, asked.question)
        for value, around in answer.valued()
        if value.type in ("number", "date") or any(c.isdigit() for c in value.text)
    )


def _is_other_person(answer: Answer) -> bool:
    asked = answer.asked
    return rivals.other_person(answer.text, asked.question, asked.known, answer.places)


def _is_other_word(answer: Answer) -> bool:
    return any(
        all(rivals.is_other_word(answer.text, value, place) for place in group)
        for value, group in zip(answer.values, answer.found.places, strict=True)
    )


def _says(answer: Answer, name: str) -> bool:
    return any(around.says(CUES[name]) for around in answer.said)


_PLAIN: Mapping[str, Callable[[Answer], bool]] = {
    "forbidden_value_beside": lambda a: bool(a.found.stale),
    "abstains_beside_value": lambda a: is_abstention(a.text) and not abstains_in_part(a.asked.own),
    "negation_near_value": _is_negated,
    "hedged": _is_hedged,
    "one_of_several": lambda a: in_some_group(a.found.places, a.shown, cues.is_offered),
    "answers_with_question": lambda a: a.text.endswith(("?", "？")),
    "other_order": lambda a: a.asked.kind == "order" and not in_order(a.found.places),
}
_BESIDE: Mapping[str, Callable[[Answer], bool]] = {
    "taken_back": _is_taken_back,
    "denied_in_spanish": _is_denied_in_spanish,
    "longer_word": _is_longer_word,
    "denied_again": lambda a: _says(a, "denied_again"),
    "permitted": lambda a: not a.denies and _says(a, "permitted"),
    "limited": _is_limited,
    "other_value_beside": lambda a: rivals.other_value(a.values, a.text, a.asked.known),
    "other_person_beside": _is_other_person,
    "change_after_value": lambda a: (
        a.asked.kind != "order" and any(beside.changes_after(one) for one in a.said)
    ),
    "other_word": _is_other_word,
    "only_proposed": lambda a: any(beside.is_proposed(one, a.asked.question) for one in a.said),
    "named_beside": lambda a: (
        a.asked.kind == "speaker" and all(one.says(CUES["indirect"]) for one in a.said)
    ),
    "other_order": lambda a: a.asked.kind == "order" and is_reordered(a.shown, a.found.places),
}
