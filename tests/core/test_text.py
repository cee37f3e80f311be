"""Well-formed text: what every encoder takes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.core.text import nearest, numbered, points, well_formed
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


def test_names_are_called_nearest_only_where_they_are() -> None:
    """Alike or holding what was given; else some that there are, by that word."""
    known = ["batch-error-ja-01", "kitchen-renovation-03", "kitchen-renovation-04", "plan"]
    assert nearest("kitchen-renovation-3", known) == (
        "Nearest: kitchen-renovation-03, kitchen-renovation-04."
    )
    assert nearest("kitchen", known[:2]) == "Nearest: kitchen-renovation-03."
    assert nearest("x", known) == (
        "One of: batch-error-ja-01, kitchen-renovation-03, kitchen-renovation-04 and others."
    )


def test_a_count_has_the_number_of_its_noun() -> None:
    """One is singular, none and many are plural."""
    assert [numbered(n, "draft") for n in (0, 1, 1200)] == ["0 drafts", "1 draft", "1,200 drafts"]
    assert numbered(2, "memory", "memories") == "2 memories"


def test_points_are_told_as_they_are() -> None:
    """One point is one; halves stay."""
    assert [points(s) for s in (0.01, 0.05, 0.025)] == ["1 point", "5 points", "2.5 points"]
