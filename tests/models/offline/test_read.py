"""The offline reader: the best-matching statement of the prompt, or exactly UNKNOWN."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.core.markup import wrap
from ctxeng.models.offline.read import UNKNOWN, answer
from tests.generators import spoken

HISTORY = [
    "Mira: The budget for Kestrel is 1,850 dollars. Lunch was good.",
    "佐伯: Kestrelの予算は三千円です。会議室は三階にあります。",
    "민수: 회의실은 3층에 있습니다. 마감은 3월 17일입니다.",
    "The id is PX-2291.",
]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the budget for Kestrel?", "Mira: The budget for Kestrel is 1,850 dollars."),
        ("Kestrelの予算はいくらですか？", "佐伯: Kestrelの予算は三千円です。"),
        ("会議室はどこ？", "会議室は三階にあります。"),
        ("마감은 언제인가요?", "마감은 3월 17일입니다."),
        ("Which id?", "The id is PX-2291."),
    ],
)
def test_a_question_is_answered_with_the_statement_that_shares_its_words(
    question: str, expected: str
) -> None:
    """In English, Japanese and Korean, names within other scripts included."""
    assert answer(question, HISTORY) == expected


@pytest.mark.parametrize(
    ("question", "blocks"),
    [
        ("What is the budget?", []),
        ("What is the budget?", [""]),
        ("What is the budget?", ["Lunch was good."]),
        ("", HISTORY),
        ("What is the?", HISTORY),
        ("それはですか", HISTORY),
        ("Who approved the yearly shipping invoice for Kestrel?", ["Kestrel is a bird."]),
        ("\0 ?!", HISTORY),
    ],
)
def test_what_the_prompt_does_not_say_is_unknown(question: str, blocks: list[str]) -> None:
    """No words, no statements, or too little of the question's weight."""
    assert answer(question, blocks) == UNKNOWN


def test_of_equal_statements_the_later_one_is_the_answer() -> None:
    """A newer value stands after an older one."""
    blocks = ["The deadline is March.", "The deadline is April."]
    assert answer("When is the deadline?", blocks) == "The deadline is April."
    assert answer("When is the deadline?", blocks[::-1]) == "The deadline is March."


def test_a_question_in_the_history_is_no_answer() -> None:
    """Also with the marks of other scripts."""
    blocks = ["The deadline is April.", "What is the deadline? 締め切りは？"]
    assert answer("What is the deadline?", blocks) == "The deadline is April."
    assert answer("締め切りは？", blocks) == UNKNOWN


def test_rare_words_weigh_more_than_common_ones() -> None:
    """Everybody speaks of the rack; one statement is about Kestrel."""
    blocks = ["The rack is blue."] * 5 + ["Kestrel is green.", "The rack is red."]
    assert answer("rack Kestrel", blocks) == "Kestrel is green."


def test_a_fact_is_found_within_our_markup_and_without_it() -> None:
    """Summaries, episodes and messages are read alike."""
    block = wrap("episode", "Mira prefers </episode> blue racks.", messages="0-5")
    assert answer("Which racks does Mira prefer?", [block]) == (
        "Mira prefers </episode> blue racks."
    )


@given(spoken, st.lists(spoken, max_size=6))
@settings(max_examples=50, deadline=None)
def test_an_answer_is_always_a_statement_of_the_prompt_or_unknown(
    question: str, blocks: list[str]
) -> None:
    """It copies; it never makes anything up, and is never empty."""
    found = answer(question, blocks)
    assert found
    assert found == UNKNOWN or any(found in block for block in blocks)
    assert answer(question, blocks) == found
