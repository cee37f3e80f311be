"""One outcome for one cell: every combination of literal verdict and judge, by hand."""

from __future__ import annotations

from itertools import product
from typing import get_args

import pytest

from ctxeng.harness.probes.model import Probe
from ctxeng.harness.scoring.judge import JudgeVerdict, JudgeWord
from ctxeng.harness.scoring.literal import LiteralVerdict
from ctxeng.harness.scoring.outcome import DECIDED, Outcome, is_right, outcome_of

STATED = Probe(probe_id="p", session_id="s", question="?", kind="number", expect=(("$500",),))
ABSENT = Probe(probe_id="p", session_id="s", question="?", kind="absent", answerable=False)

PASS = LiteralVerdict(verdict="pass", rule="value_found")
FAIL = LiteralVerdict(verdict="fail", rule="no_number")
EMPTY = LiteralVerdict(verdict="fail", rule="empty_answer")
STALE = LiteralVerdict(verdict="fail", rule="forbidden_value", stale=True)
ABSTAINED = LiteralVerdict(verdict="fail", rule="abstained", abstained=True)
OPEN = LiteralVerdict(verdict="ambiguous", rule="hedged")
OPEN_STALE = LiteralVerdict(verdict="ambiguous", rule="forbidden_value_beside", stale=True)


@pytest.mark.parametrize(
    ("probe", "literal", "outcome"),
    [
        (STATED, PASS, "recalled"),
        (STATED, FAIL, "missed"),
        (STATED, EMPTY, "missed"),
        (STATED, STALE, "stale"),
        (STATED, ABSTAINED, "abstained"),
        (ABSENT, PASS, "recalled"),
        (ABSENT, FAIL, "fabricated"),
        (ABSENT, EMPTY, "missed"),
    ],
)
def test_a_literal_verdict_decides_alone(
    probe: Probe, literal: LiteralVerdict, outcome: Outcome
) -> None:
    """Pass and fail need no judge, and a judge's audit of them changes nothing."""
    for word in (None, *get_args(JudgeWord)):
        judge = JudgeVerdict(verdict=word) if word else None
        decision = outcome_of(probe, literal, judge)
        assert (decision.outcome, decision.judged_by) == (outcome, "literal")


@pytest.mark.parametrize(
    ("probe", "literal", "word", "outcome"),
    [
        (STATED, OPEN, "correct", "recalled"),
        (STATED, OPEN, "incorrect", "missed"),
        (STATED, OPEN, "abstained", "abstained"),
        (STATED, OPEN_STALE, "incorrect", "stale"),
        (STATED, OPEN_STALE, "correct", "recalled"),
        (ABSENT, OPEN, "abstained", "recalled"),
        (ABSENT, OPEN, "correct", "recalled"),
        (ABSENT, OPEN, "incorrect", "fabricated"),
    ],
)
def test_the_judge_decides_what_the_rules_left_open(
    probe: Probe, literal: LiteralVerdict, word: JudgeWord, outcome: Outcome
) -> None:
    """An ambiguous verdict becomes what the judge says of it."""
    decision = outcome_of(probe, literal, JudgeVerdict(verdict=word))
    assert (decision.outcome, decision.judged_by) == (outcome, "judge")


@pytest.mark.parametrize("judge", [None, JudgeVerdict(verdict="undecided")])
@pytest.mark.parametrize("probe", [STATED, ABSENT])
def test_what_nobody_decides_is_undecided_and_no_miss(
    probe: Probe, judge: JudgeVerdict | None
) -> None:
    """Without a judge, or with one that cannot tell, nothing is averaged in as a miss."""
    decision = outcome_of(probe, OPEN, judge)
    assert (decision.outcome, decision.judged_by) == ("undecided", None)
    assert is_right(decision.outcome) is None


def test_only_decided_outcomes_are_right_or_wrong() -> None:
    """Errors, refusals, skips and undecided answers have no place in a mean."""
    right = {outcome: is_right(outcome) for outcome in get_args(Outcome)}
    assert right == {
        "recalled": True,
        "missed": False,
        "abstained": False,
        "stale": False,
        "fabricated": False,
        "refused": None,
        "undecided": None,
        "error": None,
        "skipped": None,
    }
    assert {outcome for outcome, known in right.items() if known is not None} == set(DECIDED)


def test_every_combination_has_an_outcome() -> None:
    """No pair of verdicts falls through."""
    literals = (PASS, FAIL, EMPTY, STALE, ABSTAINED, OPEN, OPEN_STALE)
    judges = [None, *(JudgeVerdict(verdict=word) for word in get_args(JudgeWord))]
    for probe, literal, judge in product((STATED, ABSENT), literals, judges):
        assert outcome_of(probe, literal, judge).outcome in get_args(Outcome)
