"""What an answer says once the value it sets aside is left out; None where nothing is plain."""

from __future__ import annotations

import pytest

from ctxeng.harness.scoring.choice import without_aside
from ctxeng.harness.scoring.literal import score_literal
from ctxeng.harness.scoring.matching import find, value_of


def rest_of(text: str, kept: str, aside: str, question: str = "Which one is it?") -> str | None:
    """Return what is left of an answer."""
    places = (find(value_of(value), text) for value in (kept, aside))
    return without_aside(text, question, *places)


@pytest.mark.parametrize(
    ("text", "kept", "aside", "rest"),
    [
        ("Tea, not milk.", "tea", "milk", "Tea ."),
        ("Not milk but tea", "tea", "milk", "tea"),
        ("**Tea** instead of `milk`", "tea", "milk", "Tea"),
        ("We moved from room 2 to room 3.", "room 3", "room 2", "We room 3."),
        ("牛乳ではなくお茶です。", "お茶", "牛乳", "お茶です。"),
        ("우유 말고 홍차예요.", "홍차", "우유", "홍차예요."),
        ("不是牛奶，而是红茶。", "红茶", "牛奶", "红茶。"),
        ("Té en lugar de leche.", "té", "leche", "Té ."),
    ],
)
def test_a_phrase_that_sets_a_value_aside_is_left_out(
    text: str, kept: str, aside: str, rest: str
) -> None:
    """In five languages, with marks around the values."""
    assert (rest_of(text, kept, aside) or "").split() == rest.split()


@pytest.mark.parametrize(
    "text",
    [
        "Tea and milk.",
        "Tea, not milk, was rejected.",
        "If not milk, then tea.",
        "Tea instead of milk was proposed.",
        "Not milk, but not tea either.",
        "Tea, not milk. " + "And so on and on it goes. " * 3,
    ],
)
def test_what_is_not_plain_is_left_as_it_is(text: str) -> None:
    """Both, denied again, only proposed, on a condition, or with much else."""
    assert rest_of(text, "tea", "milk") is None


def test_what_is_of_the_past_is_not_set_aside_where_the_question_asks_for_it() -> None:
    """What it was at first may be the answer."""
    text = "It used to be milk, now tea."
    assert rest_of(text, "tea", "milk") is not None
    assert rest_of(text, "tea", "milk", "What did we order originally?") is None
    assert rest_of(text, "tea", "milk", "What was it before?") is None


ASKED_FOR_THE_OTHER = [
    ("What was the budget originally?", "$500", "$700", "$500, not $700"),
    ("What did we pay before?", "$500", "$700", "It used to be $700, now $500."),
    ("Which database did we drop?", "Postgres", "MySQL", "MySQL instead of Postgres"),
    ("Which database should we avoid?", "Postgres", "MySQL", "MySQL, not Postgres"),
    ("Where was it to be at first?", "Madrid", "Lisbon", "It moved from Madrid to Lisbon."),
    ("Which city did it move away from?", "Madrid", "Lisbon", "It moved from Madrid to Lisbon."),
    ("原来的会议室是哪间？", "A101", "B203", "从A101换到了B203。"),
    ("変更前は何曜日でしたか？", "火曜日", "木曜日", "火曜日から木曜日に変更されました。"),
    ("바뀌기 전에는 몇 시였죠?", "오후 2시", "오후 3시", "오후 2시에서 오후 3시로 바뀌었어요."),
    ("¿Dónde era antes?", "Madrid", "Lisboa", "Se trasladó de Madrid a Lisboa."),
    ("¿Qué ciudad se descartó?", "Madrid", "Lisboa", "Se trasladó de Madrid a Lisboa."),
]


@pytest.mark.parametrize(("question", "old", "new", "answer"), ASKED_FOR_THE_OTHER)
def test_where_the_question_asks_for_what_is_no_more_nothing_is_chosen(
    question: str, old: str, new: str, answer: str
) -> None:
    """What an answer sets aside may be what was asked for: neither reading is plain."""
    for expect, forbid in ((old, new), (new, old)):
        said = score_literal(
            question=question, kind="update", expect=[[expect]], forbid=[forbid], answer=answer
        )
        assert (said.verdict, said.rule) == ("ambiguous", "forbidden_value_beside")
