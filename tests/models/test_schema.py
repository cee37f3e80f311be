"""Tool inputs against their schemas: the words of JSON Schema that our tools use."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng.compaction.models import MEMORY_TOOL
from ctxeng.models.schema import first_fault

SCHEMA: dict[str, Any] = MEMORY_TOOL["input_schema"]
GOOD = {
    "kind": "preference",
    "text": "赤が好き",
    "scope": "conversation",
    "confidence": 1,
    "sources": [0, 3],
    "speaker": None,
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"items": []}, None),
        ({"items": [GOOD, {**GOOD, "speaker": "佐伯", "replaces": "a1"}]}, None),
        ({"items": [{**GOOD, "confidence": 0}]}, None),
        ([], "t must be object"),
        (None, "t must be object"),
        ({}, "t must hold items"),
        ({"items": None}, "t.items must be array"),
        ({"items": {}}, "t.items must be array"),
        ({"items": [], "note": "x"}, "t must hold nothing but items"),
        ({"items": ["x"]}, "t.items[0] must be object"),
        ({"items": [GOOD, {}]}, "t.items[1] must hold kind, text, scope, confidence, sources"),
        ({"items": [{**GOOD, "text": 3}]}, "t.items[0].text must be string"),
        ({"items": [{**GOOD, "speaker": 3}]}, "t.items[0].speaker must be string or null"),
        ({"items": [{**GOOD, "confidence": "1"}]}, "t.items[0].confidence must be number"),
        ({"items": [{**GOOD, "confidence": True}]}, "t.items[0].confidence must be number"),
        ({"items": [{**GOOD, "confidence": 1.1}]}, "t.items[0].confidence must be at most 1"),
        ({"items": [{**GOOD, "confidence": -0.1}]}, "t.items[0].confidence must be at least 0"),
        (
            {"items": [{**GOOD, "confidence": float("nan")}]},
            "t.items[0].confidence must be at least 0",
        ),
        ({"items": [{**GOOD, "sources": [1.5]}]}, "t.items[0].sources[0] must be integer"),
        ({"items": [{**GOOD, "sources": [True]}]}, "t.items[0].sources[0] must be integer"),
        (
            {"items": [{**GOOD, "scope": "world"}]},
            "t.items[0].scope must be one of conversation, project, user",
        ),
    ],
)
def test_the_first_fault_of_a_memory_is_named_with_its_place(
    value: Any, expected: str | None
) -> None:
    """The schema of the real tool; the value itself is not repeated."""
    assert first_fault(value, SCHEMA, where="t") == expected


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(JSON)
@settings(max_examples=50, deadline=None)
def test_a_schema_that_asks_for_nothing_takes_anything(value: Any) -> None:
    """Unknown words of a schema are no faults either."""
    assert first_fault(value, {}, where="t") is None
    assert first_fault(value, {"description": "x", "type": "something"}, where="t") is not None


@given(JSON)
@settings(max_examples=50, deadline=None)
def test_every_json_value_is_of_exactly_one_basic_type(value: Any) -> None:
    """But that an integer is a number too; a boolean is neither."""
    basic = ("object", "array", "string", "number", "boolean", "null")
    fitting = [kind for kind in basic if first_fault(value, {"type": kind}, where="t") is None]
    assert len(fitting) == 1
    assert first_fault(value, {"type": list(basic)}, where="t") is None
