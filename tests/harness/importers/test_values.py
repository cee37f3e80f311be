"""Readings of foreign values, none of which can raise."""

from __future__ import annotations

import base64
import itertools
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.harness.importers.values import (
    base64_bytes,
    first_text,
    joined,
    listed,
    mapped,
    moment,
    placeholder,
    spans_of,
    text_of,
)

anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    max_leaves=5,
)
AT = datetime(2026, 3, 2, 9, 14, tzinfo=UTC)
SECONDS = 1772442840
"""AT as seconds since 1970, by `date -u -d 2026-03-02T09:14:00Z +%s`."""


@pytest.mark.parametrize(
    ("value", "as_list", "as_object", "as_text"),
    [
        (None, [], {}, ""),
        (True, [], {}, ""),
        (False, [], {}, ""),
        (0, [], {}, "0"),
        (-3, [], {}, "-3"),
        (1.5, [], {}, "1.5"),
        ("予算", [], {}, "予算"),
        ("", [], {}, ""),
        ([1, None], [1, None], {}, ""),
        ([], [], {}, ""),
        ({"a": 1}, [{"a": 1}], {"a": 1}, ""),
        ({}, [{}], {}, ""),
    ],
)
def test_a_value_is_taken_as_what_is_wanted_or_as_nothing(
    value: Any, as_list: list[Any], as_object: dict[str, Any], as_text: str
) -> None:
    """A null, a flag or a wrong type is the empty value of the wanted type."""
    assert listed(value) == as_list
    assert mapped(value) == as_object
    assert text_of(value) == as_text


@given(anything)
@settings(max_examples=50, deadline=None)
def test_no_reading_raises(value: Any) -> None:
    """Whatever a file holds, the readings give their own type."""
    assert isinstance(listed(value), list)
    assert isinstance(mapped(value), dict)
    assert isinstance(text_of(value), str)
    assert moment(value) is None or moment(value).tzinfo is not None
    assert base64_bytes(value) is None or isinstance(value, str)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("2026-03-02T09:14:00Z", AT),
        ("2026-03-02T18:14:00+09:00", AT),
        ("2026-03-02T09:14:00", AT),
        (SECONDS, AT),
        (float(SECONDS), AT),
        (SECONDS * 1000, AT),
        (str(SECONDS), AT),
        (f"{SECONDS}.0", AT),
        (str(SECONDS * 1000), AT),
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        (1e300, None),
        (float("inf"), None),
        (float("nan"), None),
        (-1e18, None),
        (True, None),
        ("soon", None),
        ("", None),
        (None, None),
        ([SECONDS], None),
        ("9" * 14, None),
    ],
)
def test_a_moment_is_iso_text_or_seconds_or_milliseconds(
    value: Any, wanted: datetime | None
) -> None:
    """What is no time is None; every time is aware."""
    assert moment(value) == wanted


@given(st.sets(st.integers(0, 40)))
@settings(max_examples=50, deadline=None)
def test_spans_cover_the_seqs_and_nothing_else(seqs: set[int]) -> None:
    """Neighbours share a span, and two spans never touch."""
    spans = spans_of(sorted(seqs))
    assert [seq for span in spans for seq in span.seqs] == sorted(seqs)
    for before, after in itertools.pairwise(spans):
        assert after.from_seq > before.to_seq + 1


@given(st.binary(max_size=40))
@settings(max_examples=50, deadline=None)
def test_the_size_of_base64_is_that_of_its_bytes(data: bytes) -> None:
    """The standard library's encoder is the reference."""
    assert base64_bytes(base64.b64encode(data).decode("ascii")) == len(data)


@pytest.mark.parametrize(
    ("about", "wanted"),
    [
        ({}, {"type": "image"}),
        ({"media_type": "image/png"}, {"type": "image", "media_type": "image/png"}),
        ({"size": 0}, {"type": "image", "bytes": 0}),
        ({"title": "図"}, {"type": "image", "title": "図"}),
    ],
)
def test_a_placeholder_says_what_is_known(about: dict[str, Any], wanted: dict[str, Any]) -> None:
    """A size of zero is known, an empty title is not."""
    assert placeholder("image", **about) == wanted


@pytest.mark.parametrize(
    ("parts", "wanted"),
    [([], ""), (["", " ", "\n"], ""), (["a"], "a"), (["a", "", "b"], "a\n\nb"), ([" a "], " a ")],
)
def test_parts_are_joined_by_a_blank_line(parts: list[str], wanted: str) -> None:
    """Blank parts leave no trace; what is kept is not trimmed."""
    assert joined(parts) == wanted


@pytest.mark.parametrize(
    ("record", "wanted"),
    [({}, ""), ({"a": ""}, ""), ({"a": None, "b": "x"}, "x"), ({"b": "x", "a": "y"}, "y"), ({"a": 5}, "5")],
)  # fmt: skip
def test_the_first_text_follows_the_order_asked_for(record: dict[str, Any], wanted: str) -> None:
    """Keys are tried as named, not as they stand in the record."""
    assert first_text(record, "a", "b") == wanted
