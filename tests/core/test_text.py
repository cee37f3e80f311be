"""Well-formed text: what every encoder takes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.core.text import well_formed
from tests.support.hostile import hostile_texts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("plain", "plain"),
        ("予算は三千円です", "予算は三千円です"),
        ("예산은 삼천원", "예산은 삼천원"),
        ("a\0b", "a\0b"),
        ("a\ud83d", "a\ufffd"),
        ("\ude00b", "\ufffdb"),
        ("\ud83d\ude00", "😀"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
    ],
)
def test_a_lone_surrogate_becomes_the_replacement_character_and_a_pair_is_joined(
    text: str, expected: str
) -> None:
    """Halves of an emoji that stand together are one character again (values by hand)."""
    assert well_formed(text) == expected


@given(hostile_texts)
@settings(max_examples=50, deadline=None)
def test_any_text_can_be_encoded_afterwards_and_a_second_pass_changes_nothing(text: str) -> None:
    """The result is UTF-8 and the function is idempotent."""
    once = well_formed(text)
    assert once.encode().decode() == once
    assert well_formed(once) == once


@given(st.text(max_size=30))
@settings(max_examples=50, deadline=None)
def test_text_that_was_well_formed_is_returned_as_it_was(text: str) -> None:
    """Nothing but lone surrogates is touched."""
    assert well_formed(text) == text
