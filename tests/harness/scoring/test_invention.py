"""Values that a summary has and no message states."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.harness.scoring.invention import Stated, invented
from tests.support.hostile import hostile_texts

SAID = (
    "The budget is $500 and the order number is CB-20418.",
    "発売は2024年3月15日、予算は三千円です。",
    "It took 90 minutes; the file is report_v2.pdf, commit 9f514c.",
    "3월 20일 오후에 12명이 와요.",
)


@pytest.mark.parametrize(
    ("text", "seen", "unheard"),
    [
        ("Budget: $500, order CB-20418.", 2, ()),
        ("Budget: $5,000, order CB-20418.", 2, ("$5,000",)),
        ("予算は3,000円。", 1, ()),
        ("予算は8,000円。", 1, ("8,000円",)),
        ("Launch on 15 March 2024", 1, ()),
        ("Launch on 16 March 2024", 1, ("16 march 2024",)),
        ("Order CB-20419, cb-20418", 2, ("cb-20419",)),
        ("It took 1.5 hours", 0, ()),
        ("It took 90 min, and 12 people came", 2, ()),
        ("commit 9f514c", 0, ()),
        ("1. first\n2) second\n- 12. twelfth", 0, ()),
        ("There are three options and 4 risks", 0, ()),
        ("CB-204", 1, ("cb-204",)),
        ("17 17 17", 3, ("17",)),
        ("", 0, ()),
    ],
)
def test_values_are_checked_by_value(text: str, seen: int, unheard: tuple[str, ...]) -> None:
    """Numbers by value and unit, dates by their parts, identifiers as whole words."""
    assert invented(text, Stated.of(SAID)) == (seen, unheard)


def test_a_speakers_name_was_stated() -> None:
    """A name with a digit stands before the message, not in it."""
    assert invented("user42 agrees", Stated.of(SAID)) == (1, ("user42",))
    assert invented("user42 agrees", Stated.of(SAID, ["user42"])) == (1, ())


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(hostile_texts, st.sampled_from(SAID)), max_size=4))
def test_nothing_that_was_said_is_an_invention(texts: list[str]) -> None:
    """A text that repeats its source word for word invents nothing, whatever the source is."""
    stated = Stated.of(texts)
    for text in texts:
        assert invented(text, stated)[1] == ()
