"""Text and JSON on their way into Postgres."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.store.text import clean_json, clean_text

anything = st.text(st.characters(), max_size=60)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | anything,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(anything, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("", ""),
        ("a\0b", "ab"),
        ("\0\0", ""),
        ("予\0算", "予算"),
        ("a\ud800b", "a\ufffdb"),
        ("\udfff", "\ufffd"),
        ("예산 \udc00\0", "예산 \ufffd"),
        ("😀", "😀"),
        ("\ud83d\ude00 \ude00", "😀 \ufffd"),  # two halves that belong together are joined
        ("tab\tbell\x07", "tab\tbell\x07"),
    ],
)
def test_only_what_postgres_cannot_hold_is_replaced(text: str, expected: str) -> None:
    """NUL goes, a lone surrogate becomes U+FFFD, every other character stays (by hand)."""
    assert clean_text(text) == expected


@settings(max_examples=50, deadline=None)
@given(anything)
def test_clean_text_can_be_encoded_and_is_clean(text: str) -> None:
    """Cleaning any text gives UTF-8 without NUL, and cleaning twice changes nothing."""
    cleaned = clean_text(text)
    assert b"\0" not in cleaned.encode("utf-8")
    assert clean_text(cleaned) == cleaned


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60))
def test_storable_text_is_left_alone(text: str) -> None:
    """A text without NUL and lone surrogates comes back unchanged."""
    assert clean_text(text) == text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a\0": ["b\0", {"c": "\ud800"}]}, {"a": ["b", {"c": "\ufffd"}]}),
        ((1, 2.5, None, True), [1, 2.5, None, True]),
        ({3: "number as a key"}, {"3": "number as a key"}),
        ([math.nan, math.inf, -math.inf], [None, None, None]),
        ({}, {}),
        ([], []),
        ("予\0算", "予算"),
    ],
)
def test_json_is_cleaned_at_every_depth(value: object, expected: object) -> None:
    """Strings and keys are cleaned wherever they stand; JSON has no NaN or infinity (by hand)."""
    assert clean_json(value) == expected


@settings(max_examples=50, deadline=None)
@given(json_values)
def test_clean_json_is_json(value: object) -> None:
    """Any value made of JSON's types becomes strict JSON that encodes as UTF-8."""
    encoded = json.dumps(clean_json(value), allow_nan=False, ensure_ascii=False)
    assert "\0" not in encoded
    assert encoded.encode("utf-8")


def test_keys_keep_their_order() -> None:
    """A tool call's arguments stay in the order they were written in."""
    cleaned = clean_json({"path": 1, "a": 2, "content": {"z": 1, "b": 2}})
    assert json.dumps(cleaned) == '{"path": 1, "a": 2, "content": {"z": 1, "b": 2}}'
