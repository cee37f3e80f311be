"""Objects of a file that is one JSON value or JSON Lines."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxeng.core.errors import DatasetError
from ctxeng.harness.importers.json_records import json_records
from ctxeng.harness.importers.model import Account
from ctxeng.harness.importers.source import Source
from tests.harness.importers.conftest import Write

A, B = {"a": 1}, {"b": "予"}


@pytest.mark.parametrize(
    ("name", "values", "records", "skipped"),
    [
        ("x.jsonl", [A, B], [(1, A), (2, B)], {}),
        ("x.jsonl", [A], [(1, A)], {}),
        ("x.jsonl", [b"", A, b" ", B, b""], [(2, A), (4, B)], {}),
        ("x.jsonl", [b"{broken", A], [(2, A)], {"damaged line": 1}),
        ("x.jsonl", [A, b'{"a": 1', B], [(1, A), (3, B)], {"damaged line": 1}),
        ("x.jsonl", [b'"header"', A], [(2, A)], {"not an object": 1}),
        ("x.jsonl", [b"[1]", A, b"null", b"5"], [(2, A)], {"not an object": 3}),
        ("x.jsonl", [[A, B]], [(1, A), (2, B)], {}),
        ("x.jsonl", [b"{broken"], [], {"damaged line": 1}),
        ("x.json", [A], [(1, A)], {}),
        ("x.json", [[A, B]], [(1, A), (2, B)], {}),
        ("x.json", [[A, 5, None, B]], [(1, A), (4, B)], {"not an object": 2}),
        ("x.json", [A, B], [(1, A), (2, B)], {}),
        ("x.json", [b"[", b'{"a": 1},', b'{"b": "\xe4\xba\x88"}', b"]"], [(1, A), (2, B)], {}),
        ("x.json", [b'{"a":', b"1}"], [(1, A)], {}),
        ("x.json", [b"[]"], [], {}),
        ("x.json", [b"5"], [], {}),
        ("x.log", [A, B], [(1, A), (2, B)], {}),
    ],
)
def test_records_are_found_in_either_shape(
    name: str,
    values: list[Any],
    records: list[tuple[int, Any]],
    skipped: dict[str, int],
    source: Write,
) -> None:
    """The place is the line in JSON Lines and the position in a list; all else is accounted for."""
    account = Account(file=name)
    assert list(json_records(Source(source(*values, name=name)), account)) == records
    assert account.skipped == skipped
    assert (account.read, account.balanced) == (sum(skipped.values()), True)


def test_what_is_skipped_is_reported_with_its_line(source: Write) -> None:
    """One finding for each line that is no record."""
    account = Account(file="x.jsonl")
    path = source(A, b'{"a": 1} {', b'"text"', B)
    list(json_records(Source(path), account))
    assert [(finding.line, finding.what) for finding in account.findings] == [
        (2, "damaged line: unexpected content after document at character 9"),
        (3, "a str is no record"),
    ]


def test_one_broken_value_is_an_error(source: Write) -> None:
    """A JSON file that is cut off has no lines to save."""
    path = source(b"[\n" + b'{"a": 1},\n' + b'{"b": ', name="x.json")
    with pytest.raises(DatasetError, match="must be one whole value"):
        list(json_records(Source(path), Account(file="x.json")))


lines = st.lists(
    st.one_of(
        st.sampled_from([A, B, b"", b"  ", b"{broken", b"[1, 2]", b"null", b"\xff", b"\x00\x00"]),
        st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
    ),
    max_size=8,
)


@given(lines)
@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_after_a_first_object_no_line_is_lost(source: Write, rest: list[Any]) -> None:
    """Whatever stands in a file of lines, each filled line is a record or is skipped."""
    account = Account(file="x.jsonl")
    found = list(json_records(Source(source(A, *rest)), account))
    filled = [value for value in rest if not isinstance(value, bytes) or value.strip()]
    assert len(found) + account.skipped.total() == 1 + len(filled)
    assert account.balanced
