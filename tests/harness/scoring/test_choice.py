"""What an answer says once the value it sets aside is left out; None where nothing is plain."""

from __future__ import annotations

import pytest

from ctxeng.harness.scoring.choice import without_aside
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
        ("不是牛奶，而是红茶。", "红茶", "牛奶", "而是红茶。"),
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
